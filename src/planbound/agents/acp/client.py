"""The process in the agent's cell that speaks the Agent Client Protocol with it.

It reads a `Job` from its standard input, starts the agent as its child, and has one turn with it.
What happens is printed, one object of JSON a line, see `transcript`. The agent's own messages of
error go to the standard error that both share. It is a part of the agent as far as the harness is
concerned: nothing that it says is believed about the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import acp
from acp import schema
from pydantic import ValidationError

from planbound import __version__
from planbound.agents.acp.transcript import Job, Permissions, call_usage, read_job, tell, turn_usage
from planbound.workspace.agents import command_objection

if TYPE_CHECKING:
    from asyncio.subprocess import Process


# -- what an agent may have that asks: the answer to its requests for permission -----------------


_PATH_KEYS = frozenset(
    "path paths file files filepath filename absolutepath relativepath targetfile sourcepath"
    " destinationpath oldpath newpath dir directory dirpath cwd workdir workingdirectory"
    " notebookpath movepath".split()
)
_COMMAND_KEYS = frozenset("command commands cmd commandline script".split())
_DEEPEST = 4


class ToolPolicy(NamedTuple):
    """What is allowed in a workspace."""

    permissions: Permissions
    workspace: str
    """By its real path."""
    protected: tuple[str, ...]
    commands: tuple[str, ...] | None = None
    """The programs that may be called; None: any."""

    def objection(self, paths: Iterable[str]) -> str | None:
        """Return why what names these paths is refused; None where it is allowed."""
        if self.permissions is Permissions.ALLOW:
            return None
        if self.permissions is Permissions.REJECT:
            return "everything is refused"
        return next(filter(None, map(self.obstacle, paths)), None)

    def forbidden(self, given: object, *, executes: bool) -> str | None:
        """Return why the input of a tool is refused that runs a command; None where it is not.

        What a role may call holds whatever `permissions` says.
        """
        if self.commands is None:
            return None
        lines = list(commands_in(given))
        if executes and not lines:
            return "it does not say which command it runs"
        return next(filter(None, (command_objection(line, self.commands) for line in lines)), None)

    def obstacle(self, path: str) -> str | None:
        """Return why a path is out of bounds; None where it is not."""
        # What a link leads to counts, and not where it lies.
        real = os.path.realpath(os.path.join(self.workspace, os.path.expanduser(path)))
        if real != self.workspace and not real.startswith(self.workspace.rstrip("/") + "/"):
            return f"`{path}` is outside the workspace"
        inside = os.path.relpath(real, self.workspace)
        for name in self.protected:
            if inside == name or inside.startswith(f"{name}/"):
                return f"`{name}` is protected"
        return None


def paths_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yield what the input of a tool names as a path, by the names of its fields."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            if _plain(str(key)) in _PATH_KEYS:
                yield from _texts(inner)
            if not isinstance(inner, str):
                yield from paths_in(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from paths_in(inner, depth + 1)


def commands_in(value: object) -> Iterator[str]:
    """Yield the command lines that the input of a tool names, by the names of its fields."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if _plain(str(key)) in _COMMAND_KEYS:
            if isinstance(inner, str) and inner.strip():
                yield inner
            elif isinstance(inner, list) and inner:
                yield shlex.join(map(str, inner))


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _texts(value: object) -> Iterator[str]:
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and text:
            yield text.removeprefix("file://")


def chosen(kinds: Sequence[str], *, allow: bool) -> int | None:
    """Return which option is taken, by the kinds of all; None where none of them fits."""
    wanted = ("allow_once", "allow_always") if allow else ("reject_once", "reject_always")
    return next((kinds.index(kind) for kind in wanted if kind in kinds), None)


# -- the process in the agent's cell that speaks the Agent Client Protocol with it ---------------


_LARGEST_FILE = 10 << 20
_MOST_PATHS = 20
CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=False
)
"""Files of the workspace are read and written for an agent; it runs its commands by itself."""


class Callbacks:
    """The side of the connection that the agent talks to."""

    def __init__(self, policy: ToolPolicy) -> None:
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


_AUTHENTICATION_REQUIRED, _INVALID_PARAMS = -32000, -32602
_LARGEST_MESSAGE = 50 << 20
_GRACE = 2.0
_LONGEST = 1000
_MOST_LOGGED = 20


class TurnError(Exception):
    """What ends a turn: a kind of error that the transcript knows, and words."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Trouble(NamedTuple):
    """How a turn ended that did not come to its end."""

    kind: str
    message: str
    code: int = 1


class Turn:
    """One turn with an agent."""

    def __init__(self, job: Job, connection: Any, callbacks: Callbacks) -> None:
        self.job = job
        self.connection = connection
        self.callbacks = callbacks
        self.workspace = callbacks.policy.workspace
        self.capabilities = schema.AgentCapabilities()
        self.is_known = False
        """Whether it has shown that it speaks the protocol."""
        self.methods: list[str] = []
        """The ways to log in."""

    async def take(self) -> str:
        """Do all of it; return why the agent stopped."""
        await self._initialize()
        session, answer, goes_on = await self._session()
        tell("session", id=session, goes_on=goes_on)
        if self.job.mode is not None:
            await self._switch(self.job.mode, session, answer.modes)
        if self.job.model is not None:
            await self._choose(self.job.model, session, answer.config_options or [])
        text = self.job.follow_up if goes_on else self.job.prompt
        tell("prompted", follow_up=goes_on)
        self.callbacks.is_heard = True
        ended = await self.connection.prompt(session, [acp.text_block(text)])
        if (usage := turn_usage(ended)) is not None:
            tell("usage", **usage)
        return str(ended.stop_reason)

    async def _initialize(self) -> None:
        answer = await self.connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=CAPABILITIES,
            client_info=schema.Implementation(
                name="planbound", title="Planbound", version=__version__
            ),
        )
        self.is_known = True
        if answer.protocol_version != acp.PROTOCOL_VERSION:
            raise TurnError(
                "version",
                f"it speaks version {answer.protocol_version} of the protocol,"
                f" and version {acp.PROTOCOL_VERSION} is spoken here",
            )
        self.capabilities = answer.agent_capabilities or self.capabilities
        self.methods = [
            f"`{method.id}` ({method.description or method.name})"
            for method in answer.auth_methods or ()
        ]
        info = answer.agent_info
        tell("agent", name=info and info.name, version=info and info.version)
        if self.job.authentication is not None:
            await self.connection.authenticate(self.job.authentication)

    async def _session(self) -> tuple[str, Any, bool]:
        """Return the session, what can be set in it, and whether it is the one of before."""
        if self.job.session is not None:
            try:
                if (answer := await self._again(self.job.session)) is not None:
                    return self.job.session, answer, True
                why = "the agent cannot go on with a session"
            except acp.RequestError as error:
                if error.code == _AUTHENTICATION_REQUIRED:
                    raise
                why = words(error)
            tell("log", text=f"a new session is begun: {why}"[:_LONGEST])
        new = await self.connection.new_session(self.workspace)
        return new.session_id, new, False

    async def _again(self, session: str) -> Any:
        if self.capabilities.load_session:
            return await self.connection.load_session(self.workspace, session)
        able = self.capabilities.session_capabilities
        if able is not None and able.resume is not None:
            return await self.connection.resume_session(session, self.workspace)
        return None

    async def _switch(self, mode: str, session: str, modes: schema.SessionModeState | None) -> None:
        known = [] if modes is None else [each.id for each in modes.available_modes]
        if mode not in known:
            others = f"only {', '.join(known)}" if known else "and no other"
            raise TurnError("request", f"it knows no mode `{mode}`, {others}")
        await self.connection.set_session_mode(session, mode)

    async def _choose(self, model: str, session: str, options: list[Any]) -> None:
        """Choose the model, by its name or its title."""
        option = next((each for each in options if each.category == "model"), None)
        if option is None:
            raise TurnError(
                "request",
                f"it does not let `model` be chosen: name `{model}` in its own configuration,"
                " and leave `model` out",
            )
        known = {each.value: each.name for each in _values(option.options)}
        value = model if model in known else next((v for v, n in known.items() if n == model), None)
        if value is None:
            raise TurnError("model", f"it knows no model `{model}`, only {', '.join(known)}")
        await self.connection.set_config_option(option.id, session, value)


def _values(options: list[Any]) -> Iterator[Any]:
    for option in options:
        if isinstance(option, schema.SessionConfigSelectGroup):
            yield from option.options
        else:
            yield option


def words(error: acp.RequestError) -> str:
    """Return what an error of the protocol says."""
    data = error.data
    if isinstance(data, dict):
        found = (data.get(key) for key in ("details", "message", "error", "reason"))
        data = next((text for text in found if isinstance(text, str) and text), None)
    # That an error is internal says nothing beside what it says else.
    message = str(error).removeprefix("Internal error").lstrip(": ")
    return ": ".join(filter(None, (message, str(data or "")))) or str(error)


class _Log(logging.Handler):
    """Passes on what the protocol's package complains of, in a line and without its stack."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.garbage: str | None = None
        """The first line of the agent that was none of the protocol."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take a complaint."""
        text = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        printed = getattr(error, "doc", None)
        if printed is not None:
            printed = printed if isinstance(printed, str) else str(printed)
            text = f"the agent printed what is no message: {printed}"
            self.garbage = self.garbage or printed[:_LONGEST]
        elif error is not None:
            text = f"{text}: {error}"
        self.count += 1
        if self.count <= _MOST_LOGGED:
            tell("log", text=" ".join(text.split())[:_LONGEST])


async def _run(job: Job, workspace: str, log: _Log) -> int:
    callbacks = Callbacks(ToolPolicy(job.permissions, workspace, job.protected, job.commands))
    ended: Trouble | None = None
    # Taking leave of an agent that is gone already fails in many ways, all of no interest.
    with contextlib.suppress(OSError, RuntimeError):
        async with contextlib.AsyncExitStack() as stack:
            spawning = acp.spawn_agent_process(
                cast("acp.Client", callbacks),
                *job.command,
                env=os.environ,
                cwd=workspace,
                transport_kwargs={"stderr": None, "limit": _LARGEST_MESSAGE},
            )
            try:
                connection, process = await stack.enter_async_context(spawning)
            except OSError as error:
                ended = Trouble("start", f"it cannot be started: {error}", 126)
            else:
                ended = await _taken(Turn(job, connection, callbacks), process, log)
    if ended is None:
        return 0
    tell("error", kind=ended.kind, message=ended.message[:_LONGEST])
    return ended.code


async def _taken(turn: Turn, process: Process, log: _Log) -> Trouble | None:
    """Take the turn; return what went wrong."""
    taking = asyncio.create_task(turn.take())
    gone = asyncio.create_task(process.wait())
    await asyncio.wait({taking, gone}, return_when=asyncio.FIRST_COMPLETED)
    if not taking.done():
        # What it printed last may still be on its way.
        await asyncio.wait({taking}, timeout=_GRACE)
    if not taking.done():
        taking.cancel()
        return await _left(turn, gone, log)
    try:
        tell("stopped", reason=taking.result())
    except acp.RequestError as error:
        return _refused(error, turn.methods)
    except TurnError as error:
        return Trouble(error.kind, str(error))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        return Trouble("version", f"its answer is none of the protocol: {place}: {first['msg']}")
    except OSError:
        return await _left(turn, gone, log)
    return None


def _refused(error: acp.RequestError, methods: list[str]) -> Trouble:
    if error.code == _AUTHENTICATION_REQUIRED:
        ways = f"; it knows these ways to log in: {', '.join(methods)}" if methods else ""
        return Trouble("authentication", f"{words(error)}{ways}")
    return Trouble("request" if error.code == _INVALID_PARAMS else "other", words(error))


async def _left(turn: Turn, gone: asyncio.Task[int], log: _Log) -> Trouble:
    """Return how an agent ended that does not answer any more."""
    await asyncio.wait({gone}, timeout=_GRACE)
    if log.garbage is not None and not turn.is_known:
        printed = f"it does not speak the Agent Client Protocol: it printed `{log.garbage}`"
        return Trouble("version", printed)
    if not gone.done():
        return Trouble("crashed", "it closed its output in the middle of the turn")
    code = gone.result()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    # As a shell tells of a signal.
    told = 128 - code if code < 0 else code or 1
    return Trouble("crashed", f"it ended in the middle of the turn, with {how}", told)


def main() -> int:
    """Read the job, do it, and return the exit code: 0 where the turn came to its end."""
    log = _Log()
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    # An agent whose children live on leaves pipes behind, of which Python complains at its end.
    sys.unraisablehook = lambda _: None
    job = read_job(sys.stdin.buffer.read())
    return asyncio.run(_run(job, os.path.realpath(os.getcwd()), log))


if __name__ == "__main__":
    sys.exit(main())
