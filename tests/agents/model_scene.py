"""One attempt of the kind `model`: a scripted model, a real cell, and what came of it."""

import importlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from planbound.agents.agent import Agent, Assignment, Dispatch, Usage, Worked
from planbound.agents.control import Protected, agent_request
from planbound.agents.kind import find_kind
from planbound.cells.cell import HostView, Outcome
from planbound.cells.choose import choose
from planbound.cells.scratch import Scratch
from planbound.workspace.agents import AgentRules
from tests.agents.model_server import ModelServer
from tests.agents.script import Asked, Reply

KEY = "sk-a-secret-that-nobody-may-see"


@dataclass
class ModelScene:
    """A workspace, and an agent that is given attempts at one step in it."""

    folder: Path
    read_only: tuple[str, ...] = ()
    limit: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    launched: list[Dispatch] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.workspace.mkdir(exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self._cell = choose(Scratch(str(self.folder / "cells")))
        # Taking seconds, these would be counted as time of the first attempt.
        for module in ("planbound.agents.model.attempt", "pydantic_ai.models.openai"):
            importlib.import_module(module)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        return self.folder / "agent-home"

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def works(
        self,
        *replies: Reply,
        attempt: int = 1,
        session: str | None = None,
        seconds: float = 60.0,
        environment: dict[str, str] | None = None,
        **rules: Any,
    ) -> Worked:
        """Let the agent make an attempt; the model says what is scripted."""
        with ModelServer(replies) as model:
            rules.setdefault("base_url", f"{model.url}/v1")
            rules.setdefault("options", {"retries": 0})
            try:
                agent = self._agent(rules, environment)
                return agent.work(self.assignment(attempt, session, seconds))
            finally:
                self.asked = model.asked

    def assignment(
        self, attempt: int = 1, session: str | None = None, seconds: float = 60.0
    ) -> Assignment:
        """Return one attempt at the step."""
        return Assignment(
            prompt="# Do it\n\nAll that is to know.",
            follow_up="That was not it.",
            workspace=str(self.workspace),
            attempt=attempt,
            session=session,
            seconds=seconds,
            launch=self._launch,
            home=lambda: str(self.home),
            spend=self._spend,
            limit=self.limit,
            stopped=lambda: "told to stop" if self.stop.is_set() else None,
            note=self.notes.append,
        )

    def says(self, tool: str, **arguments: Any) -> str:
        """Return what a tool answers to the model."""
        worked = self.works(Reply(tool=tool, arguments=arguments), Reply("Seen."))
        assert worked.outcome.exit_code == 0, worked
        (answer,) = self.asked[-1].results
        return answer

    def says_all(self, *calls: tuple[str, dict[str, Any]]) -> list[str]:
        """Return what tools answer to the model, one after the other."""
        replies: Iterable[Reply] = (Reply(tool=tool, arguments=given) for tool, given in calls)
        worked = self.works(*replies, Reply("Seen."))
        assert worked.outcome.exit_code == 0, worked
        return list(self.asked[-1].results)

    def _agent(self, rules: dict[str, Any], environment: dict[str, str] | None) -> Agent:
        kind = find_kind("model")
        assert kind is not None
        rules = {"name": "coder", "kind": "model", "model": "scripted", **rules}
        given = {"PATH": "/usr/local/bin:/usr/bin:/bin"} if environment is None else environment
        return kind.make(AgentRules(**rules), given)

    def _launch(self, dispatch: Dispatch) -> Outcome:
        self.launched.append(dispatch)
        keep = Protected(self.read_only, ())
        return self._cell.run(
            agent_request(dispatch, str(self.workspace), keep, (), (), HostView())
        )

    def _spend(self, usage: Usage) -> str | None:
        if usage.tokens is not None and usage.tokens > (self.limit.tokens or 10**9):
            return "budget: tokens"
        dollars = usage.dollars or Decimal(0)
        return "budget: cost" if dollars > (self.limit.dollars or Decimal(10**9)) else None
