"""`planbound archive`."""

from __future__ import annotations

import argparse
import time

from planbound.cli.journalling import note_moved
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.usecases.archive import archive_plan
from planbound.wiring.looped import refuse_owed
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="an active plan that is not in progress")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Move a plan and its progress to the archive."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    refuse_owed(parts, parts.tree.planned_path(arguments.name).slug)
    archived = archive_plan(
        arguments.name,
        time.strftime("%Y%m%d", time.gmtime()),
        workspace=parts.tree,
        files=parts.files,
        folders=parts.real_files,
    )
    note_moved(parts, "PLAN_ARCHIVED", archived.file, archived.plan, terminal, slug=archived.slug)
    terminal.out(f"moved to {archived.file.shown}")
    if archived.progress is not None:
        terminal.out(f"moved to {archived.progress.shown}")
    if archived.still_marked:
        terminal.note(
            f"note: the marker `.harness/active-plan` still names `{archived.slug}`; "
            "correct it, or remove it"
        )
    return ExitCode.DONE
