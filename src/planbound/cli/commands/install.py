"""`planbound install`."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import os

from planbound.cli.terminal import Terminal
from planbound.engine.hosts.host import AgentHost
from planbound.errors import ExitCode, UsageError
from planbound.source.visible import visible
from planbound.usecases.extras import install_extra
from planbound.usecases.hosts.install import Change, install, uninstall
from planbound.wiring.hosts import host_parts, originals, program_words, settings_files
from planbound.wiring.parts import Parts

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_NO_GATE = "it has no hook that can refuse an end: `planbound status` tells the truth afterwards"
_NEXT = {
    AgentHost.CLAUDE: "approve the server `planbound` when Claude Code asks for it",
    AgentHost.CODEX: "trust the project and its hooks in Codex, or it skips them silently",
    AgentHost.GEMINI: "trust the folder in Gemini CLI: it skips the hooks of others",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("host", choices=[host.value for host in AgentHost], help="what to set up")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", action="store_true", help="for this project (the default)")
    scope.add_argument("--user", action="store_true", help="for all projects of the user")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--print", action="store_true", help="show what to put in, write nothing")
    what.add_argument("--uninstall", action="store_true", help="put back what was there")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Set a host up, or take everything away again; show what changed."""
    host = AgentHost(arguments.host)
    if arguments.project and not host.has_project:
        raise UsageError(
            f"`{host.value}` reads no settings of a project", hint="set it up with `--user`"
        )
    for_user = arguments.user or not host.has_project
    root = None if for_user else Parts(workspace=arguments.workspace).root
    program = program_words(os.environ)
    parts = host_parts(host, root, program, os.environ)
    if arguments.print:
        for part in parts:
            terminal.out(f"{part.path}:")
            terminal.out(part.fragment.shown)
        return ExitCode.DONE
    act = uninstall if arguments.uninstall else install
    kept = originals(arguments.state, os.environ)
    for change in act(host.value, parts, settings_files(root), kept):
        _show(change, terminal)
    if not arguments.uninstall:
        _say(host, program, terminal)
    return ExitCode.DONE


def _say(host: AgentHost, program: list[str], terminal: Terminal) -> None:
    if program != ["planbound"]:
        terminal.note(f"note: `planbound` is not on the PATH; hosts start {visible(program[0])}")
    if importlib.util.find_spec("mcp") is None:
        terminal.note(f"note: the plan tools need more: `{install_extra('mcp')}`")
    if not host.has_gate:
        terminal.note(f"note: {_NO_GATE}")
    if host in _NEXT:
        terminal.note(f"next: {_NEXT[host]}")
    if host.has_gate:
        terminal.note("next: `planbound doctor` proves that the hooks answer")


def _show(change: Change, terminal: Terminal) -> None:
    path = os.path.relpath(change.path)
    shown = visible(change.path if path.startswith("..") else path)
    old, new = _lines(change.before), _lines(change.after)
    names = (
        f"a/{shown}" if change.before is not None else "/dev/null",
        f"b/{shown}" if change.after is not None else "/dev/null",
    )
    for line in difflib.unified_diff(old, new, *names, lineterm=""):
        colour = _COLOURS.get(line[:1])
        text = visible(line)
        terminal.out(terminal.style(text, colour) if colour else text)
    if change.note:
        terminal.note(f"note: {shown} was {change.note}")


def _lines(data: bytes | None) -> list[str]:
    return data.decode("utf-8", "replace").splitlines() if data is not None else []
