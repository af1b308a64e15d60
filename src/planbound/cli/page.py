"""`planbound page`: plans, runs and questions in a browser."""

from __future__ import annotations

import argparse
import gc
import ipaddress
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from planbound.cells.isolation import Isolation, refuse_in_cell
from planbound.cli.person import refuse_agents
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.extras import install_extra
from planbound.errors import ExitCode, PlanboundError, UsageError
from planbound.workspace.configuration import USUAL_PAGE_PORT
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.page.visit import PageRights
    from planbound.workspace.page_home import RunningPage

_HIGHEST = 65535


def configure_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="open it in a browser")
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help=f"default: `[page] port`, else {USUAL_PAGE_PORT}; 0: a free one",
    )
    parser.add_argument("--decide", action="store_true", help="let a person decide there, too")
    parser.add_argument(
        "--decide-anyway",
        action="store_true",
        help="the same where agents are not kept from this machine's network",
    )
    parser.add_argument(
        "--host", metavar="ADDRESS", help="listen on this address; it says what that means"
    )
    parser.add_argument(
        "--url", action="store_true", help="print a new link to the page that runs, and end"
    )
    parser.add_argument("--json", action="store_true", help="with `--url`: for programs")


class PageLink(JsonObject, frozen=True):
    """A link to the page that runs."""

    url: str
    """It lets one browser in, once, within ten minutes."""
    port: int


def run_page(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Serve plans, runs and questions to a browser on this machine."""
    refuse_in_cell()
    _check(arguments)
    places = {"workspace": arguments.workspace, "state": arguments.state}
    context = Context(**places)
    if arguments.url:
        return _print_link(arguments, context, terminal)
    try:
        from planbound.page.server import PageSettings, serve  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the package `{error.name}` is not here, and `planbound page` needs it",
            hint=install_extra("page"),
        ) from error
    from planbound.page.visit import PageRights  # noqa: PLC0415 - behind the extra

    gc.enable()  # it lives for hours
    host = arguments.host or "127.0.0.1"
    if arguments.host:
        _say_what_host_means(host, terminal)
    if arguments.decide or arguments.decide_anyway:
        refuse_agents(context.root, arguments.state)
    settings = PageSettings(
        host,
        _port(arguments, context),
        _names(host),
        PageRights(_why_read_only(arguments, context)),
        is_named=bool(arguments.host),
    )
    # Ctrl-C is said once more while it ends.
    with suppress(KeyboardInterrupt), _delivering(context, settings.rights):
        serve(partial(Context, **places), settings, partial(_listening, arguments, terminal))
    with suppress(OSError):  # the terminal may be what is gone
        terminal.note("\nthe page has ended")
    return ExitCode.DONE


@contextmanager
def _delivering(context: Context, rights: PageRights) -> Iterator[None]:
    """Tell receivers of what happens while a person may decide here: of what is asked here, too."""
    courier = None
    if rights.decides and context.configuration.notify:
        from planbound.workspace.receivers import make_courier  # noqa: PLC0415 - few have receivers

        courier = make_courier(context)
    if courier is not None:
        courier.start()
    try:
        yield
    finally:
        if courier is not None:
            courier.finish()


def _check(arguments: argparse.Namespace) -> None:
    if arguments.port is not None and not 0 <= arguments.port <= _HIGHEST:
        raise UsageError(f"`--port` is {arguments.port}, expected 0 to {_HIGHEST}")
    if arguments.json and not arguments.url:
        raise UsageError("`--json` goes with `--url`")
    if arguments.url and (arguments.decide or arguments.decide_anyway or arguments.host):
        raise UsageError("`--url` asks for a link to a page that runs already: it starts none")
    if arguments.host:
        try:
            ipaddress.ip_address(arguments.host)
        except ValueError as error:
            raise UsageError(f"`--host` is `{arguments.host}`, expected an IP address") from error


def _print_link(arguments: argparse.Namespace, context: Context, terminal: Terminal) -> ExitCode:
    from planbound.page.keys import entry_address  # noqa: PLC0415 - behind the extra
    from planbound.workspace.page_home import PageFolder, find_running  # noqa: PLC0415 - seldom

    folder = PageFolder(context.state.folder)
    running = find_running(folder, arguments.port)
    if running.decides:
        refuse_agents(context.root, arguments.state)
    link = entry_address(running, folder.key())
    if arguments.json:
        terminal.json(PageLink(url=link, port=running.port))
    else:
        terminal.out(link)
    if arguments.open:
        webbrowser.open(link)
    return ExitCode.DONE


def _port(arguments: argparse.Namespace, context: Context) -> int | None:
    """Return the port that is asked for; None: the usual one, or else a free one."""
    if arguments.port is not None:
        return int(arguments.port)
    return context.configuration.page.port


def _names(host: str) -> tuple[str, ...]:
    from planbound.page.guard import LOOPBACK  # noqa: PLC0415 - behind the extra

    found = ipaddress.ip_address(host)
    if found.is_unspecified:
        return LOOPBACK
    name = f"[{found}]" if found.version == 6 else str(found)
    return tuple(dict.fromkeys((*LOOPBACK, name)))


def _say_what_host_means(host: str, terminal: Terminal) -> None:
    found = ipaddress.ip_address(host)
    if found.is_loopback:
        return
    terminal.note(
        f"note: everybody who reaches {host} can try to guess a link of this page,"
        " and whoever is on the way reads all of it: there is no encryption here.\n"
        "note: put a proxy with TLS before it, or use `ssh -L` from the other machine instead."
    )
    if found.is_unspecified:
        terminal.note(
            "note: that stands for every address of this machine, and browsers are let in by none"
            " of them but `localhost`; name one address to be reached by it."
        )


def _why_read_only(arguments: argparse.Namespace, context: Context) -> str | None:
    """Return why nothing is decided on the page; None where a person may decide."""
    if arguments.decide_anyway:
        return None
    if not arguments.decide:
        return "This page only shows: `planbound page --decide` lets a person decide here."
    level = _agents_at(context)
    if level is not None and level.reaches(Isolation.I2):
        return None
    at = level.value if level is not None else "no cell at all"
    return (
        f"This page only shows: agents are kept apart at {at} here, and could reach it as you do."
        " `planbound page --decide-anyway` lets a person decide here all the same."
    )


def _agents_at(context: Context) -> Isolation | None:
    """Return how well agents are kept apart from this machine."""
    from planbound.cells.choose import trials  # noqa: PLC0415 - only with `--decide`
    from planbound.judging.context import hide_harness, scratch  # noqa: PLC0415 - the same

    hide_harness()
    found = (trial for trial in trials(scratch(context), writable=True) if trial.works)
    best = next(found, None)
    return best.cell.isolation if best is not None else None


def _listening(
    arguments: argparse.Namespace, terminal: Terminal, running: RunningPage, key: bytes
) -> None:
    from planbound.page.keys import entry_address  # noqa: PLC0415 - behind the extra

    link = entry_address(running, key)
    terminal.note(f"the page is at {running.address}; this link lets one browser in, once:")
    terminal.out(link)
    terminal.note("`planbound page --url` prints another one; Ctrl-C ends the page")
    sys.stdout.flush()
    if arguments.open and not _opened(link):
        terminal.note("note: no browser could be opened from here")


def _opened(link: str) -> bool:
    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError, PlanboundError):
        return False


SHAPES: dict[str, Shapes] = {"page": {"--url": PageLink}}
