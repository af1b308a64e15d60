"""`planbound resume`."""

from __future__ import annotations

import argparse

from planbound.cli import running
from planbound.cli.commands.run import run as run_plan
from planbound.cli.pending import pending
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, UsageError
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    running.configure(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Go on with a run that was stopped, cut off, or failed."""
    if arguments.plan is None:
        parts = Parts(workspace=arguments.workspace, state=arguments.state)
        found = pending(parts)
        if not found:
            raise NothingToDo("no run was stopped before its end")
        if len(found) > 1:
            raise UsageError(
                f"several runs can go on: {', '.join(found)}", hint=f"`planbound resume {found[0]}`"
            )
        arguments.plan = found[0]
    return run_plan(arguments, terminal)
