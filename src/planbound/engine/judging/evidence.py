"""How well a pass is founded."""

from __future__ import annotations

from typing import NamedTuple

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.summary import Summary
from planbound.engine.judging.verdict import CanaryRun
from planbound.plan.model import Evidence


class Grounds(NamedTuple):
    """What a pass rests on."""

    isolation: Isolation
    baseline: str | None = None
    """The verdict before the work; None where nobody looked."""
    same_tree: bool = False
    """Whether the tree is the one that the baseline was taken of."""
    runner: str | None = None
    """The test runner that the contract starts, where it starts one."""
    summary: Summary | None = None
    missing_tests: tuple[str, ...] = ()
    fewer_tests: int = 0
    """How many tests the step took away, of those that it may change."""
    skipped_tests: int = 0
    """How many were skipped without a judge that speaks of it."""
    canary: CanaryRun = CanaryRun.NONE
    held_out: bool = False
    """Whether there are judges that the agent's cell never held."""
    held_out_seen: bool = False
    """Whether they were seen to run."""


class Founded(NamedTuple):
    """A level of evidence, and what keeps it from the next one."""

    level: Evidence
    short_of: tuple[str, ...]


_GREEN = "pass"


def founded(grounds: Grounds) -> Founded:
    """Return the level that the grounds carry."""
    if not grounds.isolation.reaches(Isolation.I1):
        return Founded(Evidence.E1, ("no clean room: the cell is a plain process",))
    missing = _missing_for_corroboration(grounds)
    if missing:
        return Founded(Evidence.E2, missing)
    if not grounds.held_out:
        return Founded(Evidence.E3, ("no judges are held out",))
    if not grounds.held_out_seen:
        return Founded(Evidence.E3, ("the judges that are held out were not seen to run",))
    return Founded(Evidence.E4, ("not judged in another process or on another machine",))


def _missing_for_corroboration(grounds: Grounds) -> tuple[str, ...]:
    missing: list[str] = []
    if grounds.baseline is None:
        missing.append("no baseline: nobody saw the contract red before the work")
    elif grounds.baseline == _GREEN:
        missing.append("the contract was green before the work")
    elif grounds.baseline not in {"fail", "vacuous"}:
        missing.append(f"the baseline was `{grounds.baseline}`: nobody saw an expectation fail")
    if grounds.runner is not None:
        if grounds.summary is None or not grounds.summary.passed:
            missing.append(f"no summary of {grounds.runner} shows a test that passed")
        if grounds.missing_tests:
            missing.append(f"required tests did not pass: {', '.join(grounds.missing_tests[:5])}")
        if grounds.fewer_tests > 0:
            missing.append(f"{grounds.fewer_tests} tests fewer than were frozen")
        if grounds.skipped_tests:
            missing.append(f"{grounds.skipped_tests} tests were skipped, and no judge says so")
        if grounds.canary is CanaryRun.NONE:
            missing.append("no failing test could be added to see the runner go red")
        elif grounds.canary is CanaryRun.UNCLEAR:
            missing.append("with a failing test added the run failed for another reason")
    return tuple(missing)
