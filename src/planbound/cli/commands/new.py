"""`planbound new`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli.journalling import note_created
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.usecases.create import create_plan
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="one path component, such as `rounding`")
    parser.add_argument("--objective", metavar="TEXT", help="what the plan is to reach")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write a draft to fill in."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file = create_plan(
        arguments.name,
        arguments.objective,
        workspace=parts.tree,
        files=parts.files,
        folders=parts.real_files,
    )
    note_created(parts, file, terminal, origin="new")
    terminal.out(f"wrote {file.shown}")
    terminal.note(f"next: fill in what says TODO, then `planbound verify {shlex.quote(file.slug)}`")
    return ExitCode.DONE
