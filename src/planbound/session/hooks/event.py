"""What a host tells a hook, whatever its shape, and what it is answered, in the shape it takes."""

import enum
import json
import os
import select
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.errors import BindingError, UsageError

if TYPE_CHECKING:
    from planbound.session.context import SessionContext
    from planbound.session.guard import ToolCall

# -- what a host tells a hook: read from its standard input, whatever its shape ------------------


MAX_BYTES = 64 * 1024 * 1024
_IDLE_SECONDS = 5.0
"""So long is waited for a host that neither writes nor closes."""
_LOOK_SECONDS = 0.25
"""So long is waited for the next piece before it is tried whether this was all."""
_CHUNK = 1024 * 1024
_ENDED = frozenset({"completed", "failed", "killed", "stopped", "cancelled", "done"})


class HookMoment(enum.Enum):
    """When a host asks."""

    STOP = "stop"
    SUBAGENT_STOP = "subagent-stop"
    SESSION_START = "session-start"
    PRE_TOOL_USE = "pre-tool-use"
    USER_PROMPT_SUBMIT = "user-prompt-submit"


class Host(enum.Enum):
    """Who asks."""

    CLAUDE = "claude"
    CODEX = "codex"
    QWEN = "qwen"
    GEMINI = "gemini"


class HookCall(NamedTuple):
    """One question of a host."""

    host: Host
    session: str
    """The host's own name of the session."""
    agent: str | None
    """The sub-agent that it is about."""
    text: str
    """The agent's last words."""
    running: tuple[str, ...]
    """What still runs in the background."""
    tool: str
    arguments: Mapping[str, object]
    folder: str | None
    """Where the agent is."""
    problem: str | None = None
    """Why nothing of it could be read."""

    @property
    def call(self) -> "ToolCall":
        """What the call of a tool would do."""
        from planbound.session.guard import read_call  # noqa: PLC0415 - start-up

        return read_call(self.tool, self.arguments)

    @property
    def key(self) -> str:
        """What the session is called in the journal."""
        name = f"{self.host.value}:{self.session}"
        return f"{name}:{self.agent}" if self.agent else name


_GEMINI_EVENTS = frozenset({"AfterAgent", "BeforeAgent", "BeforeTool"})


def read_event(forced: Host | None, environment: Mapping[str, str]) -> HookCall:
    """Return what is on standard input; never raises for what stands there."""
    fields: Mapping[str, object] = {}
    problem = None
    try:
        found = json.loads(_read_all())
        if isinstance(found, dict):
            fields = found
        else:
            problem = "the host's event is not a JSON object"
    except (ValueError, RecursionError, OSError) as error:
        problem = f"the host's event cannot be read: {error}"
    return _event(fields, forced or _host(fields, environment), problem)


def _event(fields: Mapping[str, object], host: Host, problem: str | None) -> HookCall:
    arguments = fields.get("tool_input")
    spoken = fields.get("last_assistant_message", fields.get("prompt_response"))
    return HookCall(
        host=host,
        session=_text(fields.get("session_id")) or "unknown",
        agent=_text(fields.get("agent_id")) or None,
        text=_text(spoken),
        running=_running(fields.get("background_tasks")),
        tool=_text(fields.get("tool_name")),
        arguments=arguments if isinstance(arguments, dict) else {"input": arguments},
        folder=_text(fields.get("cwd")) or None,
        problem=problem,
    )


def _host(fields: Mapping[str, object], environment: Mapping[str, str]) -> Host:
    """Tell who asks: by what only one of them sends, else by what it puts into the environment."""
    if fields.get("hook_event_name") in _GEMINI_EVENTS or "prompt_response" in fields:
        return Host.GEMINI
    transcript = _text(fields.get("transcript_path"))
    if "turn_id" in fields or os.path.basename(transcript).startswith("rollout-"):
        return Host.CODEX
    # Qwen Code sets the variables of all three, Gemini CLI those of two.
    if environment.get("QWEN_PROJECT_DIR"):
        return Host.QWEN
    if environment.get("GEMINI_PROJECT_DIR"):
        return Host.GEMINI
    return Host.CLAUDE


def _running(tasks: object) -> tuple[str, ...]:
    if not isinstance(tasks, list):
        return ()
    found = []
    for task in tasks:
        fields = task if isinstance(task, dict) else {}
        if _text(fields.get("status")) not in _ENDED:
            name = _text(fields.get("description")) or _text(fields.get("command"))
            found.append(name or _text(fields.get("id")) or "a task")
    return tuple(found)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _read_all() -> bytes:
    """Return what the host wrote; a host that leaves its end open is not waited for for ever."""
    if os.isatty(0):
        raise OSError("standard input is a terminal")
    data, end = b"", time.monotonic() + _IDLE_SECONDS
    while time.monotonic() < end:
        if not select.select([0], [], [], _LOOK_SECONDS if data else _IDLE_SECONDS)[0]:
            if _is_whole(data):
                break
            continue
        chunk = os.read(0, _CHUNK)
        if not chunk:
            break
        data += chunk
        if len(data) > MAX_BYTES:
            raise OSError(f"it has more than {MAX_BYTES:,} bytes")
        end = time.monotonic() + _IDLE_SECONDS
    return data


def _is_whole(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


# -- what a hook answers, in the shape that each host takes --------------------------------------


Answer = Mapping[str, object]
NOTHING: Answer = {}
_CALLED = {
    HookMoment.SESSION_START: "SessionStart",
    HookMoment.PRE_TOOL_USE: "PreToolUse",
    HookMoment.USER_PROMPT_SUBMIT: "UserPromptSubmit",
    HookMoment.STOP: "Stop",
    HookMoment.SUBAGENT_STOP: "SubagentStop",
}
_CALLED_BY_GEMINI = {
    HookMoment.SESSION_START: "SessionStart",
    HookMoment.PRE_TOOL_USE: "BeforeTool",
    HookMoment.USER_PROMPT_SUBMIT: "BeforeAgent",
    HookMoment.STOP: "AfterAgent",
    HookMoment.SUBAGENT_STOP: "AfterAgent",
}


def host_event(host: Host, moment: HookMoment) -> str:
    """Return what a host calls the moment."""
    return (_CALLED_BY_GEMINI if host is Host.GEMINI else _CALLED)[moment]


def go_on(host: Host, reason: str) -> Answer:
    """The agent may not stop."""
    word = "deny" if host is Host.GEMINI else "block"
    return {"decision": word, "reason": reason.strip() or "the plan is not done"}


def said(text: str) -> Answer:
    """The person reads it, and nothing is decided: the one way to give up that all hosts have."""
    return {"systemMessage": text}


def also_said(answer: Answer, lines: Sequence[str]) -> Answer:
    """The person reads this, too."""
    before = answer.get("systemMessage")
    text = "\n".join([*([str(before)] if before else []), *lines])
    return {**answer, **said(text)} if lines else answer


def context(host: Host, moment: HookMoment, text: str) -> Answer:
    """The agent reads it before it goes on."""
    event = host_event(host, moment)
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def deny(host: Host, reason: str) -> Answer:
    """The tool is not called."""
    if host is Host.GEMINI:
        return {"decision": "deny", "reason": reason}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


# -- where the workspace of a host's session is, and whether there is anything to guard in it ----


_PROJECTS = ("QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_OWN = "PLANBOUND_ATTEMPT"
_CELL = "/run/planbound-cell"


class HookWorkspace(NamedTuple):
    """A workspace that has plans, or had some."""

    folder: str
    root: str
    workspace: str | None
    """As it was named on the command line."""
    given_state: str | None
    state: str | None
    """The state home."""


def is_own_child(environment: Mapping[str, str]) -> bool:
    """Say whether this is inside of an attempt that the harness started and judges itself."""
    return bool(environment.get(_OWN)) or os.path.exists(_CELL)


def find_place(
    event: HookCall, workspace: str | None, state: str | None, *, agent_only: bool
) -> HookWorkspace | None:
    """Return the first folder of the session whose workspace has plans; None where none has.

    A sub-agent has a plan of its own only in a worktree of its own, by that worktree's marker.
    """
    if workspace is not None:
        if not os.path.isdir(workspace):
            raise UsageError(f"the workspace `{workspace}` is not a directory")
        return None if agent_only else _place(workspace, workspace, state)
    if agent_only:
        return _agents_own(event, state)
    for folder in _folders(event):
        place = _place(folder, None, state)
        if place is not None:
            return place
    return None


def _folders(event: HookCall) -> Iterator[str]:
    """Yield where the session may be: first what an agent cannot leave by `cd`."""
    seen = set()
    for folder in (*(os.environ.get(name) for name in _PROJECTS), event.folder, _current()):
        if folder and folder not in seen and os.path.isdir(folder):
            seen.add(folder)
            yield folder


def _agents_own(event: HookCall, state: str | None) -> HookWorkspace | None:
    from planbound.workspace.root import HARNESS, MARKER, find_root  # noqa: PLC0415 - start-up

    if event.folder is None or not os.path.isdir(event.folder):
        return None
    root = find_root(event.folder)
    others = {find_root(folder) for folder in _folders(event) if folder != event.folder}
    if root in others or not os.path.lexists(os.path.join(root, HARNESS, MARKER)):
        return None
    return _place(event.folder, None, state)


def _place(folder: str, workspace: str | None, state: str | None) -> HookWorkspace | None:
    from planbound.workspace.root import (  # noqa: PLC0415 - start-up
        HARNESS,
        MARKER,
        find_root,
        plans_root,
    )
    from planbound.workspace.state_home import find_state_home  # noqa: PLC0415 - start-up

    root = os.path.realpath(workspace) if workspace is not None else find_root(folder)
    try:
        main = plans_root(root)
    except BindingError:  # a worktree whose main one is lost: said when it is opened
        return HookWorkspace(folder, root, workspace, state, None)
    home = find_state_home(main, given=state, environment=os.environ)
    named = os.environ.get("PLANBOUND_PLAN") or os.path.lexists(os.path.join(root, HARNESS, MARKER))
    elsewhere = os.environ.get("PLANBOUND_DATABASE_URL") and os.path.isdir(
        os.path.join(main, HARNESS)
    )
    # Plans can be removed, and the journal knows of them. Where there is none, nothing was begun.
    begun = named or elsewhere or os.path.exists(home.journal)
    if not begun and not _has_named_plans(os.path.join(main, HARNESS)):
        return None
    return HookWorkspace(folder, root, workspace, state, home.folder)


def _has_named_plans(harness: str) -> bool:
    """Say whether there are plans that a session could be bound to."""
    try:
        with os.scandir(harness) as found:
            return any(each.name.startswith("PLAN-") for each in found)
    except OSError:
        return False


def _current() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def session_at(place: HookWorkspace, event: HookCall) -> "SessionContext":
    """Return the session that a host asks about."""
    from planbound.session.context import SessionContext  # noqa: PLC0415 - start-up
    from planbound.workspace.context import Context  # noqa: PLC0415 - start-up

    context = Context(workspace=place.workspace, state=place.given_state)
    return SessionContext(context, event.key, None, journal=context.journal(), probes={})
