"""What an agent may ask of its client, and what it tells about its work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import acp
from acp import schema

from planbound.agents.acp.metering import call_usage
from planbound.agents.acp.policy import Policy, chosen, paths_in
from planbound.agents.acp.telling import tell

_LARGEST_FILE = 10 << 20
_MOST_PATHS = 20

CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=False
)
"""Files of the workspace are read and written for an agent; it runs its commands by itself."""


class Callbacks:
    """The side of the connection that the agent talks to."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.is_heard = False
        """Whether what comes is about this turn: a session that is loaded tells of the past."""
        self._message: str | None = None
        self._speaks = False

    # -- what the agent tells ------------------------------------------------------------------

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002 - there is one
        """Pass on what the agent tells."""
        if isinstance(update, schema.UsageUpdate):
            cost = update.cost
            tell(
                "context",
                used=update.used,
                cost=None if cost is None else cost.amount,
                currency=None if cost is None else cost.currency,
            )
        if not self.is_heard:
            return
        if (usage := call_usage(update)) is not None:
            tell("call", **usage)
        if isinstance(update, schema.AgentMessageChunk):
            self._said(update)
            return
        if isinstance(update, schema.ToolCallStart | schema.ToolCallProgress):
            self._speaks = False
            tell("tool", **_call(update))
        elif isinstance(update, schema.AgentPlanUpdate):
            self._speaks = False
            tell("plan", entries=[[entry.status, entry.content] for entry in update.entries])

    def _said(self, chunk: schema.AgentMessageChunk) -> None:
        if not isinstance(chunk.content, schema.TextContentBlock) or not chunk.content.text:
            return
        # A message ends where another begins, or something is done.
        begins = not self._speaks or chunk.message_id != self._message
        self._speaks, self._message = True, chunk.message_id
        tell("said", text=chunk.content.text, begins=begins)

    # -- what the agent asks for ---------------------------------------------------------------

    async def request_permission(
        self,
        session_id: str,  # noqa: ARG002 - there is one
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        """Answer by the policy, for this once."""
        self._speaks = False
        call = _call(tool_call)
        executes = tool_call.kind == "execute"
        why = self.policy.forbidden(tool_call.raw_input, executes=executes)
        why = why or self.policy.objection(_paths(tool_call))
        place = chosen([option.kind for option in options], allow=why is None)
        if place is None and why is None:
            why = "there is no way to allow it"
            place = chosen([option.kind for option in options], allow=False)
        tell("permission", **call, allowed=why is None, why=why)
        if place is None:
            outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        else:
            option = options[place].option_id
            outcome = schema.AllowedOutcome(outcome="selected", option_id=option)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self,
        session_id: str,  # noqa: ARG002 - there is one
        path: str,
        line: int | None = None,
        limit: int | None = None,
        **_: Any,
    ) -> schema.ReadTextFileResponse:
        """Read a file of the workspace, or some lines of it."""
        text = _read(self._inside(path), path)
        if line is not None or limit is not None:
            first = max(1, line or 1) - 1
            lines = text.splitlines(keepends=True)
            text = "".join(lines[first : None if limit is None else first + limit])
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(
        self,
        session_id: str,  # noqa: ARG002 - there is one
        path: str,
        content: str,
        **_: Any,
    ) -> schema.WriteTextFileResponse:
        """Write a file of the workspace, where the policy allows it."""
        self._speaks = False
        if (why := self.policy.objection([path])) is not None:
            tell("permission", title=None, kind="edit", paths=[path], allowed=False, why=why)
            raise acp.RequestError.invalid_params({"details": f"refused: {why}"})
        _write(self._inside(path), content)
        return schema.WriteTextFileResponse()

    def _inside(self, path: str) -> str:
        real = os.path.realpath(os.path.join(self.policy.workspace, path))
        if not real.startswith(self.policy.workspace.rstrip("/") + "/"):
            raise acp.RequestError.invalid_params({"details": f"`{path}` is outside the workspace"})
        return real


def _read(place: str, path: str) -> str:
    try:
        with open(place, encoding="utf-8", errors="replace", newline="") as file:
            return file.read(_LARGEST_FILE)
    except FileNotFoundError:
        raise acp.RequestError.resource_not_found(path) from None
    except OSError as error:
        raise acp.RequestError.invalid_params({"details": str(error)}) from None


def _write(place: str, content: str) -> None:
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(content)
    except OSError as error:
        raise acp.RequestError.invalid_params({"details": str(error)}) from None


def _call(call: schema.ToolCall | schema.ToolCallUpdate) -> dict[str, Any]:
    return {
        "id": call.tool_call_id,
        "title": call.title,
        "kind": call.kind,
        "status": call.status,
        "paths": list(dict.fromkeys(_paths(call)))[:_MOST_PATHS],
        "command": _command(call.raw_input),
    }


def _paths(call: schema.ToolCall | schema.ToolCallUpdate) -> Iterable[str]:
    for place in call.locations or ():
        yield place.path
    for content in call.content or ():
        if isinstance(content, schema.FileEditToolCallContent):
            yield content.path
    yield from paths_in(call.raw_input)


def _command(given: object) -> str | None:
    """Return the command line of a tool that runs one."""
    found = given.get("command", given.get("cmd")) if isinstance(given, dict) else None
    if isinstance(found, list):
        found = " ".join(map(str, found))
    return found if isinstance(found, str) else None
