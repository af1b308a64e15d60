"""`planbound mcp`."""

from __future__ import annotations

import argparse
import gc
import os
import time
from functools import partial
from typing import TYPE_CHECKING

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.usecases.extras import install_extra
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.reminding import Reminding

if TYPE_CHECKING:
    from planbound.mcp_server.server import PlanServer

_HIGHEST = 65535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--plan", metavar="NAME", help="the plan of this session")
    parser.add_argument("--session", metavar="ID", help="how the session is called in the journal")
    parser.add_argument(
        "--http", action="store_true", help="serve on 127.0.0.1 instead of standard input"
    )
    parser.add_argument("--port", type=int, metavar="N", help="with `--http`; default: a free one")
    parser.add_argument(
        "--token-file", metavar="FILE", help="with `--http`: the token; default: a new one, shown"
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Offer the plan tools to a client of the Model Context Protocol."""
    refuse_in_cell()
    _check(arguments)
    gc.enable()  # it lives for hours
    token = _token(arguments, terminal) if arguments.http else ""
    server = _server(arguments)
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    with Reminding(parts, terminal.note):
        _serve(server, arguments, token, terminal)
    return ExitCode.DONE


def _serve(
    server: PlanServer, arguments: argparse.Namespace, token: str, terminal: Terminal
) -> None:
    if not arguments.http:
        from planbound.mcp_server.stdio import serve_stdio  # noqa: PLC0415 - one of two

        serve_stdio(server)
        return
    from planbound.mcp_server.http import serve_http  # noqa: PLC0415 - the other

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
        from planbound.mcp_server.documents import WorkspaceDocuments  # noqa: PLC0415 - an extra
        from planbound.mcp_server.server import PlanServer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the package `{error.name}` is not here, and `planbound mcp` needs it",
            hint=install_extra("mcp"),
        ) from error
    from planbound.wiring.elicited import ElicitedApprovals  # noqa: PLC0415 - as late as the loop
    from planbound.wiring.loop import open_loop  # noqa: PLC0415 - after what is told above

    places = {"workspace": arguments.workspace, "state": arguments.state}
    parts = Parts(**places)  # a workspace that is not there is told now, not at the first call
    session = arguments.session or f"mcp:{os.getpid()}-{int(time.time())}"
    return PlanServer(
        partial(open_loop, **places, session=session, name=arguments.plan),
        WorkspaceDocuments(partial(Parts, **places)),
        ElicitedApprovals(parts),
    )


def _token(arguments: argparse.Namespace, terminal: Terminal) -> str:
    """Return the token that is in a file, else a new one, which is shown."""
    if arguments.token_file:
        from planbound.mcp_server.token import read_token  # noqa: PLC0415 - only over HTTP

        return read_token(arguments.token_file)
    import secrets  # noqa: PLC0415 - only here

    token = secrets.token_urlsafe(32)
    terminal.note(f"token: {token}")
    return token
