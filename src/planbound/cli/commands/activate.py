"""`planbound activate`."""

from __future__ import annotations

import argparse

from planbound.cli.journalling import note_moved
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.usecases.activate import activate_plan
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="a staged plan")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Copy a staged plan beside the active ones."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    activated = activate_plan(arguments.name, workspace=parts.tree, files=parts.files)
    note_moved(parts, "PLAN_ACTIVATED", activated.file, activated.plan, terminal)
    terminal.out(f"wrote {activated.file.shown}")
    terminal.note(f"note: {activated.staged.shown} stays as it is")
    return ExitCode.DONE
