"""`planbound gc`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.store.disk import size_text
from planbound.wiring.clearing import Cleared, clear_out
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Remove what no run, approval or receipt needs."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    cleared = clear_out(parts, dry=arguments.dry_run)
    if arguments.json:
        data = cleared._asdict() | {"items": [item._asdict() for item in cleared.items]}
        terminal.json(data | {"dry_run": arguments.dry_run})
        return ExitCode.DONE
    _tell(cleared, terminal, dry=arguments.dry_run)
    return ExitCode.DONE


def _tell(cleared: Cleared, terminal: Terminal, *, dry: bool) -> None:
    verb = "would remove" if dry else "removed"
    for item in cleared.items:
        terminal.out(f"{verb} {item.kind}: {visible(item.path)}, {size_text(item.size)}")
    if cleared.contents:
        of_all = f"{cleared.contents} of {cleared.contents + cleared.kept} kept contents"
        shown = "leaves" if cleared.busy and not dry else verb
        terminal.out(f"{shown} {of_all}, {size_text(cleared.contents_size)}")
    if cleared.busy:
        terminal.note("note: a planbound that works here may need kept contents: try again later")
    if cleared.elsewhere:
        terminal.note(
            "note: kept contents belong to a journal on PostgreSQL, too, and stay:"
            " say where it is by `PLANBOUND_DATABASE_URL`"
        )
    if not cleared.items and not cleared.contents:
        terminal.out("nothing to remove")
    terminal.out(f"the state home has {size_text(cleared.size)}")
