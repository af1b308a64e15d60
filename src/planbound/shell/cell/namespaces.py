"""I2: Linux namespaces, by our own hand."""

from __future__ import annotations

import os

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.errors import CellProblem
from planbound.ports.cell import Overseer, Request
from planbound.shell.cell.copied import copy_workspace, left_out
from planbound.shell.cell.copy import has_strangers
from planbound.shell.cell.host import run_order
from planbound.shell.cell.orders import hideable, order_for
from planbound.shell.cell.scratch import Scratch

HOME = "/tmp/home"  # noqa: S108 - of the cell's own /tmp


class NamespaceCell:
    """User, mount, PID, IPC and network namespaces; an overlay over the workspace."""

    name = "namespaces"
    isolation = Isolation.I2

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `ports.cell.Cell`."""
        workspace = os.path.realpath(request.workspace)
        request = hideable(request, workspace)
        with (
            self.scratch.room() as room,
            self.scratch.placeholders(room, workspace, request.absent),
        ):
            mask = (*request.masked, self.scratch.folder)
            order = order_for(
                request._replace(masked=mask),
                level="I2",
                workspace=workspace,
                scratch=room,
                home=request.home or HOME,
                shown_at=request.shown_at,
            )
            overlay = request.writable or not has_strangers(workspace)
            if overlay:
                try:
                    return run_order(order, request, overseer)
                except CellProblem as problem:
                    # Not every file system can lie under an overlay.
                    if "mount overlay" not in problem.message:
                        raise
            with self.scratch.large_room() as large:
                tree = os.path.join(large, "tree")
                copy_workspace(workspace, tree, whole=True, hidden=left_out(request))
                return run_order(order.but(stand_in=tree), request, overseer)
