"""A harness of its own process: runs one cell, so that it can be interrupted, killed, measured.

`python cell_harness.py <kind> <scratch folder>`: a pickled request comes on standard input, what
came of it goes to standard output. It needs nothing but `planbound` and the standard library, so
that another user's interpreter can run it too.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import NamedTuple

from planbound.engine.judging.outcome import Outcome
from planbound.errors import CellProblem
from planbound.ports.cell import Cell, Request
from planbound.shell.cell.bare import BareCell
from planbound.shell.cell.bubblewrap import BubblewrapCell
from planbound.shell.cell.copied import CopyCell, LandlockCell
from planbound.shell.cell.namespaces import NamespaceCell
from planbound.shell.cell.scratch import Scratch

KINDS: dict[str, Callable[[Scratch], Cell]] = {
    "namespaces": NamespaceCell,
    "bubblewrap": BubblewrapCell,
    "landlock": LandlockCell,
    "copy": CopyCell,
}
STARTED: dict[str, Callable[[Scratch], Cell]] = {**KINDS, "bare": lambda _: BareCell()}
"""No cell at all counts here too."""


class Told(NamedTuple):
    """What a harness in its own process says in the end."""

    outcome: Outcome | None
    problem: str
    grown: int
    """By how many KiB its peak of memory rose while the cell ran."""


def _peak() -> int:
    # Not `ru_maxrss`: that of the process before `exec` is counted in it.
    with open("/proc/self/status", encoding="ascii") as file:
        return int(file.read().partition("VmHWM:")[2].split()[0])


def main() -> None:
    request: Request = pickle.load(sys.stdin.buffer)
    outcome, problem = None, ""
    before = _peak()
    try:
        outcome = STARTED[sys.argv[1]](Scratch(sys.argv[2])).run(request)
    except CellProblem as error:
        problem = error.message
    told = Told(outcome, problem, _peak() - before)
    pickle.dump(tuple(told), sys.stdout.buffer)


if __name__ == "__main__":
    main()
