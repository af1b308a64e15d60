"""Puts together what judges the plans that models propose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.engine.judging.case import Case
from planbound.engine.judging.level import Isolation
from planbound.engine.judging.verdict import Verdict
from planbound.errors import CellProblem
from planbound.ports.repository import Repository
from planbound.usecases.baseline import observe
from planbound.usecases.bench import Bench
from planbound.usecases.draft import Trial
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.workspace.repository import RealRepository

_SECONDS = 120.0
"""For one contract: a draft is only looked at."""


def open_repository(parts: Parts) -> Repository:
    """Return the workspace to look at."""
    return RealRepository(parts.root)


def open_trial(parts: Parts) -> tuple[Trial | None, str]:
    """Return what runs contracts of a draft; None, with the reason, where that cannot be.

    A model wrote them and no person has read them: they run behind walls or not at all.
    """
    if parts.configuration.judging.bare:
        return None, "`judging.bare` is set, and what a model wrote is not run without a cell"
    try:
        bench = _guarded(make_bench(parts))
    except CellProblem as problem:
        return None, problem.message
    if not bench.cell.isolation.reaches(Isolation.I1):
        return None, f"the cells here ({bench.cell.name}) have no walls"

    def trial(wanted: Sequence[Case]) -> Iterator[Verdict]:
        short = (
            case._replace(seconds=min(case.seconds or _SECONDS, _SECONDS), repeat=1)
            for case in wanted
        )
        yield from observe(bench, short)

    return trial, ""


def _guarded(bench: Bench) -> Bench:
    """Return the bench without what an approved contract is trusted with.

    What it prints goes back to the model: no credentials, no network, no judges that are held out.
    """
    contracts = bench.configuration.contracts
    passed = {name: text for name, text in bench.environment.items() if name not in contracts.env}
    kept = contracts._replace(env=(), network=False)
    return bench._replace(
        configuration=bench.configuration._replace(contracts=kept),
        environment=passed,
        held_out=lambda _: (),
    )
