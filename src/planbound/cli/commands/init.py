"""`planbound init`."""

from __future__ import annotations

import argparse

from planbound.cli.journalling import note_created
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.plan.slug import UNNAMED
from planbound.usecases.create import initialise
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments: there are none."""
    del parser


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Make what a workspace needs; leave alone what is there."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    made = initialise(parts.root, workspace=parts.tree, files=parts.files, folders=parts.real_files)
    if ".harness/PLAN.md" in made:
        note_created(parts, parts.tree.planned_path(UNNAMED), terminal, origin="init")
    for name in made:
        terminal.out(f"made {name}")
    if ".harness/PLAN.md" in made:
        terminal.note("next: fill in what says TODO in .harness/PLAN.md, then `planbound verify`")
    return ExitCode.DONE
