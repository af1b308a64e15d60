"""Programs that agents run in: `planbound install` and `mcp`."""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib.util
import os
import time
from functools import partial
from typing import TYPE_CHECKING

from planbound.approval.remind import Reminder
from planbound.cells.isolation import refuse_in_cell
from planbound.cli.person import refuse_agents
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.extras import install_extra
from planbound.errors import ExitCode, UsageError
from planbound.session.hosts.host import AgentHost
from planbound.session.hosts.install import (
    FileChange,
    host_parts,
    install,
    originals,
    program_words,
    settings_files,
    uninstall,
)
from planbound.source import visible
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.session.mcp.server import PlanServer


# -- `planbound install` -------------------------------------------------------------------------


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_NO_GATE = "it has no hook that can refuse an end: `planbound status` tells the truth afterwards"
_SIGN = (
    "let only a signature approve (`[gate] signed = true`): an agent with a shell can do what its"
    " user can, and a key that asks for its passphrase is what it does not have"
)
_NEXT = {
    AgentHost.CLAUDE: "approve the server `planbound` when Claude Code asks for it",
    AgentHost.CODEX: "trust the project and its hooks in Codex, or it skips them silently",
    AgentHost.GEMINI: "trust the folder in Gemini CLI: it skips the hooks of others",
}


class SettingsPart(JsonObject, frozen=True):
    """What belongs into a file of a host."""

    path: str
    text: str


class SettingsToAdd(JsonObject, frozen=True):
    host: str
    parts: list[SettingsPart]


class ChangedFile(JsonObject, frozen=True):
    """A file of a host's settings."""

    path: str
    change: str
    """`made`, `changed` or `removed`."""
    note: str | None


class HostSetUp(JsonObject, frozen=True):
    host: str
    installed: bool
    """False after `--uninstall`."""
    files: list[ChangedFile]
    gate: bool
    """Whether the host has a hook that can refuse an agent's end."""


def configure_install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", choices=[host.value for host in AgentHost], help="what to set up")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--project", action="store_true", help="set it up for this project (the default)"
    )
    scope.add_argument("--user", action="store_true", help="set it up for all projects of the user")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--print", action="store_true", help="show what to put in by hand, and write nothing"
    )
    what.add_argument("--uninstall", action="store_true", help="put back what was there")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_install(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Set a host up, or take everything away again; show what changed."""
    host = AgentHost(arguments.host)
    if arguments.project and not host.has_project:
        raise UsageError(
            f"`{host.value}` reads no settings of a project", hint="set it up with `--user`"
        )
    for_user = arguments.user or not host.has_project
    here = Context(workspace=arguments.workspace).root
    root = None if for_user else here
    program = program_words(os.environ)
    parts = host_parts(host, root, program, os.environ)
    if arguments.print and arguments.json:
        shown = [SettingsPart(path=part.path, text=part.fragment.shown) for part in parts]
        terminal.json(SettingsToAdd(host=host.value, parts=shown))
        return ExitCode.DONE
    if arguments.print:
        for part in parts:
            terminal.out(f"{part.path}:")
            terminal.out(part.fragment.shown)
        return ExitCode.DONE
    refuse_in_cell()
    refuse_agents(here, arguments.state)
    act = uninstall if arguments.uninstall else install
    kept = originals(arguments.state, os.environ)
    changes = act(host.value, parts, settings_files(root), kept)
    if arguments.json:
        terminal.json(
            HostSetUp(
                host=host.value,
                installed=not arguments.uninstall,
                files=[_changed(change) for change in changes],
                gate=host.has_gate,
            )
        )
    else:
        for change in changes:
            _show(change, terminal)
    if not arguments.uninstall:
        _say(host, program, root, terminal)
    return ExitCode.DONE


def _changed(change: FileChange) -> ChangedFile:
    kind = "made" if change.before is None else "changed"
    return ChangedFile(
        path=change.path,
        change="removed" if change.after is None else kind,
        note=change.note or None,
    )


def _say(host: AgentHost, program: list[str], root: str | None, terminal: Terminal) -> None:
    if program != ["planbound"]:
        terminal.note(f"note: `planbound` is not on the PATH; hosts start {visible(program[0])}")
    if importlib.util.find_spec("mcp") is None:
        terminal.note(f"note: the plan tools need more: `{install_extra('mcp')}`")
    if not host.has_gate:
        terminal.note(f"note: {_NO_GATE}")
    if host in _NEXT:
        terminal.note(f"next: {_NEXT[host]}")
    if root is not None and not Context(workspace=root).configuration.gate.signed:
        terminal.note(f"next: {_SIGN}")
    if host.has_gate:
        terminal.note("next: `planbound doctor` proves that the hooks answer")


def _show(change: FileChange, terminal: Terminal) -> None:
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


# -- `planbound mcp` -----------------------------------------------------------------------------


_HIGHEST = 65535


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plan", metavar="NAME", help="the plan of this session")
    parser.add_argument("--session", metavar="ID", help="the name of the session in the journal")
    parser.add_argument(
        "--http", action="store_true", help="serve on 127.0.0.1 instead of standard input"
    )
    parser.add_argument("--port", type=int, metavar="N", help="with `--http`; default: a free one")
    parser.add_argument(
        "--token-file", metavar="FILE", help="with `--http`: the token; default: a new one, shown"
    )


def run_mcp(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Offer the plan tools to a client of the Model Context Protocol."""
    refuse_in_cell()
    _check(arguments)
    gc.enable()  # it lives for hours
    token = _token(arguments, terminal) if arguments.http else ""
    server = _server(arguments)
    context = Context(workspace=arguments.workspace, state=arguments.state)
    with Reminder(context, terminal.note):
        _serve(server, arguments, token, terminal)
    return ExitCode.DONE


def _serve(
    server: PlanServer, arguments: argparse.Namespace, token: str, terminal: Terminal
) -> None:
    if not arguments.http:
        from planbound.session.mcp.server import serve_stdio  # noqa: PLC0415 - one of two

        serve_stdio(server)
        return
    from planbound.session.mcp.server import serve_http  # noqa: PLC0415 - the other

    serve_http(
        server,
        port=arguments.port or 0,
        token=token,
        listening=lambda address: terminal.note(f"listening on {address}"),
    )


def _check(arguments: argparse.Namespace) -> None:
    if not arguments.http and (arguments.port is not None or arguments.token_file):
        raise UsageError("`--port` and `--token-file` go with `--http`")
    if arguments.port is not None and not 0 <= arguments.port <= _HIGHEST:
        raise UsageError(f"`--port` is {arguments.port}, expected 0 to {_HIGHEST}")


def _server(arguments: argparse.Namespace) -> PlanServer:
    try:
        from planbound.session.mcp.server import (  # noqa: PLC0415 - an extra that may be missing
            Documents,
            PlanServer,
        )
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the package `{error.name}` is not here, and `planbound mcp` needs it",
            hint=install_extra("mcp"),
        ) from error
    from planbound.approval.elicitation import ElicitedApprovals  # noqa: PLC0415 - as late as the loop
    from planbound.cells.stages import Stages  # noqa: PLC0415 - only here
    from planbound.session.tools import open_tools  # noqa: PLC0415 - after what is told above

    places = {"workspace": arguments.workspace, "state": arguments.state}
    context = Context(**places)  # a workspace that is not there is told now, not at the first call
    session = arguments.session or f"mcp:{os.getpid()}-{int(time.time())}"
    stages = Stages()
    context.on_stage = stages.notice
    return PlanServer(
        partial(open_tools, **places, session=session, name=arguments.plan, stages=stages),
        Documents(partial(Context, **places)),
        ElicitedApprovals(context),
        stages=stages,
    )


def _token(arguments: argparse.Namespace, terminal: Terminal) -> str:
    """Return the token that is in a file, else a new one, which is shown."""
    if arguments.token_file:
        from planbound.session.mcp.server import read_token  # noqa: PLC0415 - only over HTTP

        return read_token(arguments.token_file)
    import secrets  # noqa: PLC0415 - only here

    token = secrets.token_urlsafe(32)
    terminal.note(f"token: {token}")
    return token


SHAPES: dict[str, Shapes] = {"install": {"": HostSetUp, "--print": SettingsToAdd}}
