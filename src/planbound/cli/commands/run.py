"""`planbound run`."""

from __future__ import annotations

import argparse

from planbound.cli import running
from planbound.cli.inputs import read_bound_plan
from planbound.cli.pending import note_pending
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.locate import locate
from planbound.wiring.healing import heal
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    running.configure(parser)
    parser.add_argument(
        "--stage",
        action="store_true",
        help="take a file from elsewhere in first, as `stage --from` and `activate` do",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Run an approved plan, or go on where the proof ends."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    heal(parts)
    if getattr(arguments, "stage", False):  # `resume` has no such option
        arguments.plan = _taken_in(arguments.plan, parts, terminal)
    parts, file, _ = read_bound_plan(arguments.plan, parts)
    parts.demand_own(file)
    note_pending(parts, file.slug, terminal)
    if arguments.detach:
        from planbound.cli.detaching import detach  # noqa: PLC0415 - seldom

        return detach(arguments, parts, file, terminal)
    return running.Face(arguments, parts, file, terminal).execute()


def _taken_in(reference: str | None, parts: Parts, terminal: Terminal) -> str | None:
    """Take a file in that is no plan of the workspace yet; return where the plan is then."""
    file = locate(reference, parts.tree)
    if parts.holds(file.path):
        return reference
    from planbound.cli.journalling import note_moved  # noqa: PLC0415 - seldom
    from planbound.usecases.outside import take_in  # noqa: PLC0415
    from planbound.usecases.stage import Staged  # noqa: PLC0415

    taken = take_in(file, workspace=parts.tree, files=parts.files, folders=parts.real_files)
    for move in taken.moves:
        event = "PLAN_STAGED" if isinstance(move, Staged) else "PLAN_ACTIVATED"
        note_moved(parts, event, move.file, move.plan, terminal)
        terminal.note(f"wrote {visible(move.file.shown)}")
    return taken.file.path
