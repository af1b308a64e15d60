"""A harness of its own process: runs one cell, so that it can be interrupted, killed, measured.

`python cell_harness.py <kind> <scratch folder> [afresh]`: a pickled request comes on standard
input, what came of it goes to standard output; `afresh`: the cell is started by a fresh
interpreter. It needs nothing but `planbound` and the standard library, so that another user's
interpreter can run it too.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import NamedTuple

from planbound.cells import launcher
from planbound.cells.cell import Cell, Outcome, Request
from planbound.cells.choose import BubblewrapCell, CopyCell, LandlockCell, NamespaceCell
from planbound.cells.scratch import Scratch
from planbound.errors import CellProblem

AFRESH = "afresh"
KINDS: dict[str, Callable[[Scratch], Cell]] = {
    "namespaces": NamespaceCell,
    "bubblewrap": BubblewrapCell,
    "landlock": LandlockCell,
    "copy": CopyCell,
}


class NoLauncher(launcher.Launcher):
    """One that is never there, so that every cell is started by a fresh interpreter."""

    def prepare(self) -> None:
        pass

    def start(self, ends: launcher.CellEnds) -> None:
        pass


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
    if AFRESH in sys.argv[3:]:
        launcher.WARM = NoLauncher()
    outcome, problem = None, ""
    before = _peak()
    try:
        outcome = KINDS[sys.argv[1]](Scratch(sys.argv[2])).run(request)
    except CellProblem as error:
        problem = error.message
    told = Told(outcome, problem, _peak() - before)
    pickle.dump(tuple(told), sys.stdout.buffer)


if __name__ == "__main__":
    main()
