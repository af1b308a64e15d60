"""What a host tells a hook: read from its standard input, whatever its shape."""

from __future__ import annotations

import enum
import json
import os
import select
import time
from collections.abc import Mapping
from typing import NamedTuple

MAX_BYTES = 64 * 1024 * 1024
_IDLE_SECONDS = 5.0
"""So long is waited for a host that neither writes nor closes."""
_LOOK_SECONDS = 0.25
"""So long is waited for the next piece before it is tried whether this was all."""
_CHUNK = 1024 * 1024
_ENDED = frozenset({"completed", "failed", "killed", "stopped", "cancelled", "done"})


class Moment(enum.Enum):
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


class Event(NamedTuple):
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
    def key(self) -> str:
        """What the session is called in the journal."""
        name = f"{self.host.value}:{self.session}"
        return f"{name}:{self.agent}" if self.agent else name


_GEMINI_EVENTS = frozenset({"AfterAgent", "BeforeAgent", "BeforeTool"})


def read_event(forced: Host | None, environment: Mapping[str, str]) -> Event:
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


def _event(fields: Mapping[str, object], host: Host, problem: str | None) -> Event:
    arguments = fields.get("tool_input")
    spoken = fields.get("last_assistant_message", fields.get("prompt_response"))
    return Event(
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
