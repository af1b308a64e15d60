"""An agent that speaks the Agent Client Protocol and does what a script says.

`python acp_agent.py SCRIPT.json`. The script has by title of the step a list of turns, the last one
also for all attempts that follow; a turn is a list of actions, see `_act`. Sessions are kept in the
home, so that the next attempt can load them.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import acp
from acp import schema

SESSIONS = Path.home() / ".acp-agent"


class ScriptedAgent:
    """One process of it."""

    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.client: Any = None
        self.calls: list[str] = []
        self.session: dict[str, Any] = {}
        self.id = ""
        self.usage: schema.Usage | None = None
        self.stop: Any = "end_turn"

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    # -- the protocol --------------------------------------------------------------------------

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        self.calls.append("initialize")
        resumes = schema.SessionResumeCapabilities() if self.script.get("resumes") else None
        return schema.InitializeResponse(
            protocol_version=self.script.get("version", protocol_version),
            agent_capabilities=schema.AgentCapabilities(
                load_session=self.script.get("loads", True),
                session_capabilities=schema.SessionCapabilities(resume=resumes),
            ),
            auth_methods=[
                schema.AuthMethodAgent(id="key", name="A key", description="run `agent login`")
            ],
            agent_info=schema.Implementation(name="scripted", version="1"),
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        self.calls.append(f"authenticate {method_id}")
        self.script["auth"] = False
        return schema.AuthenticateResponse()

    async def new_session(self, **_: Any) -> schema.NewSessionResponse:
        self.calls.append("session/new")
        if self.script.get("auth"):
            raise acp.RequestError.auth_required({"message": "no key is known"})
        self.id = uuid.uuid4().hex
        self.session = {"title": None, "told": []}
        modes = schema.SessionModeState(
            current_mode_id="ask",
            available_modes=[
                schema.SessionMode(id=name, name=name.title()) for name in ("ask", "full")
            ],
        )
        return schema.NewSessionResponse(
            session_id=self.id, config_options=self._options(), modes=modes
        )

    async def load_session(self, session_id: str, **_: Any) -> schema.LoadSessionResponse:
        self.calls.append("session/load")
        self._open(session_id)
        for text in self.session["told"]:
            await self.client.session_update(session_id, acp.update_user_message_text(text))
            await self.client.session_update(
                session_id, acp.update_agent_message_text("BLOCKED: said long ago")
            )
        await self._tell_cost()
        return schema.LoadSessionResponse(config_options=self._options())

    async def resume_session(self, session_id: str, **_: Any) -> schema.ResumeSessionResponse:
        self.calls.append("session/resume")
        self._open(session_id)
        return schema.ResumeSessionResponse(config_options=self._options())

    async def set_session_mode(self, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        self.calls.append(f"mode={mode_id}")
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, value: Any, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        self.calls.append(f"{config_id}={value}")
        return schema.SetSessionConfigOptionResponse(config_options=[])

    async def prompt(self, prompt: Any, **_: Any) -> schema.PromptResponse:
        self.calls.append("session/prompt")
        text = "".join(block.text for block in prompt)
        self.session["told"].append(text)
        self.session["title"] = self.session["title"] or text.splitlines()[0].removeprefix("# ")
        self._keep()
        turns = self.script["turns"][self.session["title"]]
        attempt = int(os.environ["PLANBOUND_ATTEMPT"])
        for action in turns[min(attempt, len(turns)) - 1]:
            ((name, value),) = action.items()
            await self._act(name, value)
        self._keep()
        return schema.PromptResponse(stop_reason=self.stop, usage=self.usage)

    # -- actions -------------------------------------------------------------------------------

    async def _act(self, name: str, value: Any) -> None:
        match name:
            case "say":
                # In pieces, as a model speaks.
                for start in range(0, len(value), 7):
                    await self._say(value[start : start + 7])
            case "report":
                await self._say(f"calls: {', '.join(self.calls)}; told: {self.session['told'][-1]}")
            case "shell":
                call = acp.start_tool_call(
                    "1", "shell", kind="execute", raw_input={"command": value}
                )
                await self._update(call)
                run = await asyncio.create_subprocess_shell(value, stdin=subprocess.DEVNULL)
                await run.wait()
            case "write":
                await self._file(self.client.write_text_file(self.id, value[0], value[1]))
            case "read":
                await self._file(self.client.read_text_file(self.id, value))
            case "ask":
                await self._ask(value)
            case "plan":
                entries = [acp.plan_entry(text, status=status) for status, text in value]
                await self._update(acp.update_plan(entries))
            case "cost":
                self.session["cost"] = self.session.get("cost", 0) + value
                await self._tell_cost()
            case "tokens":
                self.usage = schema.Usage(
                    total_tokens=value, input_tokens=value - 1, output_tokens=1
                )
            case "fail":
                raise acp.RequestError(*value)
            case _:
                self._end(name, value)

    def _end(self, name: str, value: Any) -> None:
        match name:
            case "stop":
                self.stop = value
            case "print":
                print(value, flush=True)
            case "complain":
                print(value, file=sys.stderr, flush=True)
            case "exit":
                os._exit(value)
            case "kill":
                os.kill(os.getpid(), value)
            case "hang":
                signal.pause()
            case _:
                raise AssertionError(name)

    async def _ask(self, value: dict[str, Any]) -> None:
        call = schema.ToolCallUpdate(tool_call_id="2", **value)
        options = [
            schema.PermissionOption(option_id=f"my-{kind}", name=kind, kind=kind)
            for kind in ("allow_always", "allow_once", "reject_once")
        ]
        answer = await self.client.request_permission(self.id, call, options)
        outcome = answer.outcome
        await self._say(f"(answer: {getattr(outcome, 'option_id', outcome.outcome)})")

    async def _file(self, asked: Any) -> None:
        try:
            answer = await asked
        except acp.RequestError as error:
            await self._say(f"(file: {error.data})")
        else:
            await self._say(f"(file: {getattr(answer, 'content', 'written')})")

    async def _tell_cost(self) -> None:
        if "cost" in self.session:
            cost = schema.Cost(amount=self.session["cost"], currency="USD")
            await self._update(
                schema.UsageUpdate(session_update="usage_update", used=10, size=1000, cost=cost)
            )

    async def _say(self, text: str) -> None:
        await self._update(acp.update_agent_message_text(text))

    async def _update(self, update: Any) -> None:
        await self.client.session_update(self.id, update)

    # -- sessions ------------------------------------------------------------------------------

    def _open(self, session_id: str) -> None:
        path = SESSIONS / session_id
        if self.script.get("forgets") or not path.is_file():
            raise acp.RequestError.resource_not_found(session_id)
        self.id, self.session = session_id, json.loads(path.read_text())

    def _keep(self) -> None:
        SESSIONS.mkdir(exist_ok=True)
        (SESSIONS / self.id).write_text(json.dumps(self.session))

    def _options(self) -> list[Any]:
        models = self.script.get("models", [])
        if not models:
            return []
        options = [schema.SessionConfigSelectOption(value=name, name=name) for name in models]
        return [
            schema.SessionConfigOptionSelect(
                type="select",
                id="the-model",
                name="Model",
                category="model",
                current_value=models[0],
                options=options,
            )
        ]


def main() -> None:
    script = json.loads(Path(sys.argv[1]).read_text())
    for line in script.get("prints", []):
        print(line, flush=True)
    if "exits" in script:
        sys.exit(script["exits"])
    agent: Any = ScriptedAgent(script)
    asyncio.run(acp.run_agent(agent, use_unstable_protocol=True))


if __name__ == "__main__":
    main()
