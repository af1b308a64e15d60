"""A run whose cell is the public fake: what is left is what the engine itself costs.

`python -m benchmarks.engine STEPS` runs the plan `bench` of the workspace that it is started in,
with the real journal, tree and plan file. It kills itself when the agent of a later step begins.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from planbound.cells.cell import CommandEnding, Outcome, Request
from planbound.journal.event import RunOutcome
from planbound.run.execution import Execution, RunOptions, RunWatcher
from planbound.run.loop import RunEnded
from planbound.run.start import StartedRun
from planbound.testing.cell import ScriptedCell
from planbound.workspace.context import Context
from planbound.workspace.locate import locate


class Script:
    """Lets every command end well, until so many agents have worked."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def __call__(self, request: Request) -> Outcome:
        """Answer for a command."""
        if request.writable:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return Outcome(CommandEnding.EXITED, exit_code=0)


class Watcher(RunWatcher):
    """Looks for what nobody needs any more from when the run begins, as the program does."""

    def started(self, run: StartedRun) -> None:  # noqa: ARG002 - of no interest here
        """Hear that the run begins."""
        gc.freeze()
        gc.enable()


def main() -> int:
    """Run the plan; 1 where it does not end."""
    gc.disable()  # as the program does
    context = Context()
    execution = Execution(context, locate("bench", context.tree), RunOptions(), Watcher())
    cell = ScriptedCell(Script(int(sys.argv[1])))
    run_context = execution.run_context
    run_context.judging = run_context.judging._replace(cell=cell)
    said = execution.execute()
    return 0 if isinstance(said, RunEnded) and said.status is RunOutcome.DONE else 1


if __name__ == "__main__":
    sys.exit(main())
