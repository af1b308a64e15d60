"""A cell that runs nothing: every command ends as a script says.

With it a run costs what the engine itself costs, and needs no machine that can make cells.
"""

from __future__ import annotations

from collections.abc import Callable

from planbound.cells.cell import CommandEnding, Outcome, Overseer, Request
from planbound.cells.isolation import Isolation

_WENT_WELL = Outcome(CommandEnding.EXITED, exit_code=0)


class ScriptedCell:
    """Answers requests without a process; for any number of threads."""

    name = "scripted"
    isolation = Isolation.I2

    def __init__(self, script: Callable[[Request], Outcome] = lambda _: _WENT_WELL) -> None:
        self._script = script

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Answer a request."""
        outcome = self._script(request)
        reason = overseer.stop() if overseer is not None else None
        return outcome if reason is None else Outcome(CommandEnding.STOPPED, reason=reason)
