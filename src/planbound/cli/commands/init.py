"""`planbound init`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.usecases.create import initialise
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments: there are none."""
    del parser


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Make what a workspace needs; leave alone what is there."""
    parts = Parts(workspace=arguments.workspace)
    made = initialise(parts.root, workspace=parts.tree, files=parts.files, folders=parts.real_files)
    for name in made:
        terminal.out(f"made {name}")
    if ".harness/PLAN.md" in made:
        terminal.note("next: fill in what says TODO in .harness/PLAN.md, then `planbound verify`")
    return ExitCode.DONE
