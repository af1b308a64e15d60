"""Which cell this machine can have: the strongest one that nothing gets out of."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from planbound.engine.judging.level import Isolation
from planbound.errors import CellProblem
from planbound.ports.cell import Cell
from planbound.shell.cell import bubblewrap, kernel_support
from planbound.shell.cell.bubblewrap import BubblewrapCell
from planbound.shell.cell.copied import CopyCell, LandlockCell
from planbound.shell.cell.namespaces import NamespaceCell
from planbound.shell.cell.probe import Finding, try_to_break_out
from planbound.shell.cell.scratch import Scratch


class Trial(NamedTuple):
    """A kind of cell, tried on this machine."""

    cell: Cell
    findings: tuple[Finding, ...]
    reason: str | None
    """Why it cannot be had; None where it can."""

    @property
    def works(self) -> bool:
        """Whether it keeps what its level promises."""
        return self.reason is None


def trials(scratch: Scratch, *, writable: bool = False) -> Iterator[Trial]:
    """Try every kind of cell, the strongest first."""
    for make in _KINDS:
        yield _try(make(scratch), scratch, writable=writable)


def choose(scratch: Scratch, *, demanded: Isolation = Isolation.I0) -> Cell:
    """Return the strongest cell that holds; raise CellProblem where that is less than demanded."""
    reasons: list[str] = []
    for trial in trials(scratch):
        if trial.works:
            if trial.cell.isolation.reaches(demanded):
                return trial.cell
            reasons.append(f"{trial.cell.name}: only {trial.cell.isolation.value}")
            break
        reasons.append(f"{trial.cell.name}: {trial.reason}")
    raise CellProblem(
        f"isolation {demanded.value} is demanded, and cannot be had here ({'; '.join(reasons)})",
        hint="`planbound selftest` shows what this machine can do",
    )


# Our own first: an overlay needs no copy of the tree, and its size has a limit.
_KINDS: tuple[Callable[[Scratch], Cell], ...] = (
    NamespaceCell,
    BubblewrapCell,
    LandlockCell,
    CopyCell,
)


def _try(cell: Cell, scratch: Scratch, *, writable: bool) -> Trial:
    missing = _missing(cell)
    if missing:
        return Trial(cell, (), missing)
    try:
        findings = tuple(try_to_break_out(cell, scratch.folder + "-probe", writable=writable))
    except CellProblem as error:
        return Trial(cell, (), error.message)
    except OSError as error:
        # Not a weaker cell instead: a disk that is full says nothing about walls.
        raise CellProblem(
            f"no cell can be tried in `{scratch.folder}-probe`: {error.strerror or error}",
            hint="`planbound doctor` names the disk",
        ) from error
    broken = [
        item.probe.name
        for item in findings
        if not item.held and cell.isolation.reaches(item.probe.needed)
    ]
    reason = f"a program in it {broken[0]}" if broken else None
    return Trial(cell, findings, reason)


def _missing(cell: Cell) -> str | None:
    """Return what a kind of cell needs and is not there, so that it need not be tried."""
    if not sys.platform.startswith("linux"):
        return "only on Linux"
    if cell.isolation.reaches(Isolation.I1) and not kernel_support.is_there():
        return f"system calls of {os.uname().machine} are not known"
    if isinstance(cell, BubblewrapCell) and not os.access(bubblewrap.PROGRAM, os.X_OK):
        return f"{bubblewrap.PROGRAM} is not installed"
    if isinstance(cell, LandlockCell) and not kernel_support.landlock_version():
        return "the kernel has no Landlock"
    return None
