"""`planbound archive`."""

from __future__ import annotations

import argparse
import time

from planbound.cli.journalling import note_archived
from planbound.cli.terminal import Terminal
from planbound.engine.fold import fold
from planbound.errors import ExitCode
from planbound.ports.journal import Query
from planbound.usecases.archive import archive_plan
from planbound.wiring.looped import refuse_owed
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="an active plan that is not in progress")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Move a plan and its progress to the archive."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    slug = parts.tree.planned_path(arguments.name).slug
    refuse_owed(parts, slug)
    journal = parts.existing_journal()
    archived = archive_plan(
        arguments.name,
        time.strftime("%Y%m%d", time.gmtime()),
        workspace=parts.tree,
        files=parts.files,
        folders=parts.real_files,
        state=fold(journal.read(Query(plan=slug))).get(slug) if journal is not None else None,
    )
    note_archived(parts, archived, terminal)
    terminal.out(f"moved to {archived.file.shown}")
    if archived.progress is not None:
        terminal.out(f"moved to {archived.progress.shown}")
    if archived.still_marked:
        terminal.note(
            f"note: the marker `.harness/active-plan` still names `{archived.slug}`; "
            "correct it, or remove it"
        )
    return ExitCode.DONE
