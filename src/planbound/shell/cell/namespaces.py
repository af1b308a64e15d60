"""I2: Linux namespaces, by our own hand."""

from __future__ import annotations

import os

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.errors import CellProblem
from planbound.ports.cell import Request
from planbound.shell.cell.host import order_for, run_order
from planbound.shell.cell.scratch import Scratch

HOME = "/tmp/home"  # noqa: S108 - of the cell's own /tmp


class NamespaceCell:
    """User, mount, PID, IPC and network namespaces; an overlay over the workspace."""

    name = "namespaces"
    isolation = Isolation.I2

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request) -> Outcome:
        """Run a command; see `ports.cell.Cell`."""
        workspace = os.path.realpath(request.workspace)
        with self.scratch.room() as room:
            mask = (*request.masked, self.scratch.folder)
            order = order_for(
                request._replace(masked=mask),
                level="I2",
                workspace=workspace,
                scratch=room,
                home=request.home or HOME,
            )
            if not request.absent:
                outcome = run_order(order, needles=request.needles)
            else:
                with self.scratch.placeholders(room, workspace, request.absent):
                    outcome = run_order(order, needles=request.needles)
        return refused(outcome, order.command[0])


def refused(outcome: Outcome, program: str) -> Outcome:
    """Tell a cell that could not be made from a command that could not be started."""
    if outcome.ending is Ending.NOT_STARTED and program not in outcome.reason:
        raise CellProblem(f"the cell could not be made: {outcome.reason}")
    return outcome
