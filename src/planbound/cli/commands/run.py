"""`planbound run`."""

from __future__ import annotations

import argparse

from planbound.cli import running
from planbound.cli.inputs import read_bound_plan
from planbound.cli.pending import note_pending
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.wiring.healing import heal
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.reminding import remind_waiting


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    running.configure(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Run an approved plan, or go on where the proof ends."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    heal(parts)
    remind_waiting(parts)
    parts, file, _ = read_bound_plan(arguments.plan, parts)
    if not parts.holds(file.path):
        raise UsageError("only a plan in `.harness/` is run")
    note_pending(parts, file.slug, terminal)
    if arguments.detach:
        from planbound.cli.detaching import detach  # noqa: PLC0415 - seldom

        return detach(arguments, parts, file, terminal)
    return running.Face(arguments, parts, file, terminal).execute()
