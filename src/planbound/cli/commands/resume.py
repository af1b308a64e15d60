"""`planbound resume`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli import running
from planbound.cli.commands.run import run as run_plan
from planbound.cli.inputs import read_plan
from planbound.cli.pending import pending
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, UsageError
from planbound.journal.event import EventKind
from planbound.ports.journal import Query
from planbound.wiring.healing import heal
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    running.configure(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Go on with a run that was stopped, cut off, or failed."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    heal(parts)
    if arguments.plan is None:
        found = pending(parts)
        if len(found) > 1:
            raise UsageError(
                f"several runs can go on: {', '.join(found)}",
                hint=f"`planbound resume {shlex.quote(found[0])}`",
            )
        # Without one that was stopped: that of the plan which this place is bound to.
        arguments.plan = found[0] if found else None
        if not found and not _has_begun(parts):
            raise NothingToDo("there is no run that could go on")
    return run_plan(arguments, terminal)


def _has_begun(parts: Parts) -> bool:
    """Say whether the plan that this place is bound to was ever run."""
    journal = parts.existing_journal()
    if journal is None:
        return False
    file, _ = read_plan(None, parts)
    query = Query(plan=file.slug, events=(EventKind.EXECUTION_STARTED,), last=1)
    return any(True for _ in journal.read(query))
