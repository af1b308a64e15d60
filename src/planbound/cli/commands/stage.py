"""`planbound stage`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli.journalling import note_moved
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.usecases.stage import stage_copy, stage_draft
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="one path component, such as `rounding`")
    parser.add_argument("--objective", metavar="TEXT", help="what the plan is to reach")
    parser.add_argument("--from", metavar="FILE", dest="source", help="a plan to copy")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write a draft, or a copy of a file, where plans wait."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    if arguments.source is None:
        staged = stage_draft(
            arguments.name,
            arguments.objective,
            workspace=parts.tree,
            files=parts.files,
            folders=parts.real_files,
        )
    elif arguments.objective is not None:
        raise UsageError("`--objective` and `--from` do not go together")
    else:
        staged = stage_copy(
            arguments.name,
            arguments.source,
            workspace=parts.tree,
            files=parts.files,
            folders=parts.real_files,
        )
    note_moved(parts, "PLAN_STAGED", staged.file, staged.plan, terminal)
    terminal.out(f"wrote {staged.file.shown}")
    terminal.note(f"next: `planbound activate {shlex.quote(staged.file.slug)}` takes it into work")
    return ExitCode.DONE
