"""The hosts that can be set up: which files, and what goes into them."""

from __future__ import annotations

import enum
import json
import shlex
from collections.abc import Sequence
from typing import NamedTuple, assert_never

from planbound.session.hosts.settings import (
    HostFile,
    JsonFragment,
    TomlFragment,
    WholeFile,
    YamlFragment,
)
from planbound.session.shown import INSTRUCTIONS

# -- what an agent reads to learn the plan tools -------------------------------------------------


SKILL = f"""\
---
name: planbound
description: >-
  Keep a plan outside of the conversation and have every step proved. Use it when a task has more
  than two steps, when a plan is open in this workspace, or when stopping was refused.
---

# Planbound

{INSTRUCTIONS}"""


# -- the hosts that can be set up: which files, and what goes into them --------------------------


LONG, SHORT = 1800, 60
"""Seconds that a host waits: where contracts may be judged, and elsewhere."""


class AgentHost(enum.Enum):
    """A program that runs agents and can be set up by us."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    QWEN = "qwen"
    OPENCODE = "opencode"
    GOOSE = "goose"

    @property
    def has_gate(self) -> bool:
        """Whether a hook of it can refuse that the agent stops."""
        return self not in {AgentHost.OPENCODE, AgentHost.GOOSE}

    @property
    def has_project(self) -> bool:
        """Whether it reads settings of a project."""
        return self is not AgentHost.GOOSE


class Homes(NamedTuple):
    """Where hosts keep what belongs to a user."""

    user: str
    claude: str
    claude_servers: str
    """The file with the user's servers of Claude Code."""
    codex: str
    configuration: str


_EVENTS = {
    "SessionStart": ("session-start", SHORT),
    "UserPromptSubmit": ("user-prompt-submit", SHORT),
    "PreToolUse": ("pre-tool-use", SHORT),
    "Stop": ("stop", LONG),
    "SubagentStop": ("subagent-stop", LONG),
}
_GEMINI_EVENTS = {
    "SessionStart": ("session-start", SHORT),
    "BeforeAgent": ("user-prompt-submit", SHORT),
    "BeforeTool": ("pre-tool-use", SHORT),
    "AfterAgent": ("stop", LONG),
}


def events_of(host: AgentHost) -> dict[str, tuple[str, int]]:
    """Return a host's events with our word for each, and the seconds that it may take."""
    if not host.has_gate:
        return {}
    return _GEMINI_EVENTS if host is AgentHost.GEMINI else _EVENTS


def unit_of(host: AgentHost) -> int:
    """Return how many of a host's units of time are a second."""
    return 1000 if host in {AgentHost.GEMINI, AgentHost.QWEN} else 1


def parts_of(
    host: AgentHost, program: Sequence[str], *, root: str | None, homes: Homes
) -> list[HostFile]:
    """Return what is to be set up: in the project at a root, or where None for the user."""
    skills = ".claude/skills" if host is AgentHost.CLAUDE else ".agents/skills"
    base = root or homes.user
    if host is AgentHost.CLAUDE and root is None:
        skills, base = "skills", homes.claude
    skill = HostFile(f"{base}/{skills}/planbound/SKILL.md", WholeFile(SKILL))
    return [*_settings(host, program, root, homes), skill]


def settings_path(host: AgentHost, *, root: str | None, homes: Homes) -> str:
    """Return the file with a host's hooks."""
    match host:
        case AgentHost.CLAUDE:
            return f"{root}/.claude/settings.json" if root else f"{homes.claude}/settings.json"
        case AgentHost.CODEX:
            return f"{root}/.codex/hooks.json" if root else f"{homes.codex}/hooks.json"
        case AgentHost.GEMINI | AgentHost.QWEN:
            return f"{root or homes.user}/.{host.value}/settings.json"
        case AgentHost.OPENCODE:
            return f"{root or f'{homes.configuration}/opencode'}/opencode.json"
        case AgentHost.GOOSE:
            return f"{homes.configuration}/goose/config.yaml"
        case _:
            assert_never(host)


def _settings(
    host: AgentHost, program: Sequence[str], root: str | None, homes: Homes
) -> list[HostFile]:
    path = settings_path(host, root=root, homes=homes)
    command, arguments = program[0], [*program[1:], "mcp"]
    server: dict[str, object] = {"command": command, "args": arguments}
    match host:
        case AgentHost.CLAUDE:
            servers = f"{root}/.mcp.json" if root else homes.claude_servers
            return [
                HostFile(path, JsonFragment(_hooks(host, program))),
                HostFile(servers, JsonFragment(server=("mcpServers", server))),
            ]
        case AgentHost.CODEX:
            table = f"{root}/.codex/config.toml" if root else f"{homes.codex}/config.toml"
            return [
                HostFile(path, JsonFragment(_hooks(host, program))),
                HostFile(table, _codex(server)),
            ]
        case AgentHost.GEMINI | AgentHost.QWEN:
            patient = {**server, "timeout": LONG * 1000}
            return [HostFile(path, JsonFragment(_hooks(host, program), ("mcpServers", patient)))]
        case AgentHost.OPENCODE:
            local = {"type": "local", "command": [command, *arguments], "enabled": True}
            return [HostFile(path, JsonFragment(server=("mcp", local)))]
        case AgentHost.GOOSE:
            return [HostFile(path, _goose(command, arguments))]
        case _:
            assert_never(host)


def _hooks(host: AgentHost, program: Sequence[str]) -> dict[str, dict[str, object]]:
    unit = unit_of(host)
    found: dict[str, dict[str, object]] = {}
    for event, (word, seconds) in events_of(host).items():
        command = shlex.join([*program, "hook", word, "--host", host.value])
        found[event] = {
            "hooks": [{"type": "command", "command": command, "timeout": seconds * unit}]
        }
    return found


def _codex(server: dict[str, object]) -> TomlFragment:
    # A server that is not required is left out of the first turn where it starts too slowly.
    lines = (
        "[mcp_servers.planbound]\n"
        f"command = {json.dumps(server['command'])}\n"
        f"args = {json.dumps(server['args'])}\n"
        "required = true\n"
        f"tool_timeout_sec = {LONG}\n"
    )
    return TomlFragment(lines, ("mcp_servers", "planbound"))


def _goose(command: str, arguments: list[str]) -> YamlFragment:
    lines = (
        "planbound:\n"
        "  enabled: true\n"
        "  type: stdio\n"
        "  name: planbound\n"
        f"  cmd: {json.dumps(command)}\n"
        f"  args: {json.dumps(arguments)}\n"
        "  envs: {}\n"
        f"  timeout: {LONG}\n"
    )
    return YamlFragment(lines, "extensions")
