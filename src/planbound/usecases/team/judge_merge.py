"""Judge a merged tree: everything that the plan demands, and what others reached before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from planbound.engine.judging.case import Case, cases
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.reproduction import is_reproduction
from planbound.engine.judging.scope import Scope
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.engine.team.integration import is_red
from planbound.plan.digest import contract_digest
from planbound.plan.model import Baseline, Command
from planbound.usecases.bench import Bench
from planbound.usecases.judge import Setting, judge

_BY_PEOPLE = frozenset({"waived", "attested"})
_LEFT_OUT = frozenset({Phase.SKIPPED, Phase.WAIVED})


class Demand(NamedTuple):
    """What a plan demands of a tree, without what a person decided to do without."""

    plan: str
    objective: str
    steps: tuple[Case, ...]
    conditions: tuple[Case, ...]


class Charge(NamedTuple):
    """One contract, and whose it is."""

    plan: str
    case: Case
    command: Command


class Judged(NamedTuple):
    """What was found on a merged tree."""

    found: tuple[tuple[str, Verdict], ...]
    """Each with the plan whose contract it is."""

    def verdicts(self, own: str) -> dict[str, str]:
        """Return the verdicts by what they are about, for the journal."""
        return {_label(plan, verdict, own): verdict.kind.value for plan, verdict in self.found}

    @property
    def seconds(self) -> float:
        """Return how long it took."""
        outcomes = (verdict.outcome for _, verdict in self.found)
        return round(sum(outcome.duration for outcome in outcomes if outcome is not None), 3)

    def worst(self) -> tuple[str, Verdict] | None:
        """Return what to tell first about; None where everything passed."""
        bad = [each for each in self.found if each[1].kind is not VerdictKind.PASS]
        return next((each for each in bad if is_red(each[1].kind)), bad[0] if bad else None)


def demand_of(slug: str, state: RunState) -> Demand:
    """Return what a plan demands, by the text that was approved and the run of it."""
    plan = state.layout.plan
    found = [case._replace(baseline=Baseline.ANY, evidence=None) for case in cases(plan)]
    steps = [case for case in found if case.subject is Subject.STEP]
    kept = [
        case
        for case, step in zip(steps, state.steps, strict=True)
        if step.phase not in _LEFT_OUT
        and step.phase is not Phase.ATTESTED
        and not is_reproduction(case.contract)
    ]
    conditions = [
        case
        for case in found
        if case.subject is Subject.POSTCONDITION
        and state.conditions.get(case.number) not in _BY_PEOPLE
    ]
    objective = plan.objective.value if plan.objective else ""
    return Demand(slug, objective, tuple(kept), tuple(conditions))


def charges(own: Demand, others: Iterable[Demand]) -> list[Charge]:
    """Return what to judge: all of the plan's own, and the postconditions of others, each once."""
    named = [(own.plan, case) for case in (*own.steps, *own.conditions)]
    named += [(other.plan, case) for other in others for case in other.conditions]
    found: dict[tuple[str, tuple[str, ...]], Charge] = {}
    for plan, case in named:
        if isinstance(case.contract, Command):
            key = (contract_digest(case.contract), case.judges)
            found.setdefault(key, Charge(plan, case, case.contract))
    return list(found.values())


def judge_merge(
    bench: Bench, wanted: Sequence[Charge], is_stopped: Callable[[], bool]
) -> Judged | None:
    """Judge a tree by contracts; the tree itself says what their judges are. None: stopped."""
    frozen = None
    if not bench.bare:
        frozen = Frozen(
            id="merge",
            manifest=bench.tree.manifest(bench.rules),
            plan="",
            configuration="",
            verdicts={},
        )
    judging = bench.configuration.judging._replace(evidence=None)
    bench = bench._replace(configuration=bench.configuration._replace(judging=judging))
    # What failed before the merge is known to the branches only.
    setting = Setting(frozen=frozen, scope=Scope(None), observing=True)
    found = []
    verdicts = judge(bench, [charge.case for charge in wanted], setting)
    for charge, verdict in zip(wanted, verdicts, strict=True):
        if is_stopped():  # what it says then is only that it was ended
            return None
        found.append((charge.plan, verdict))
    return Judged(tuple(found))


def describe(plan: str, verdict: Verdict, own: str) -> str:
    """Return what is said about a contract that does not hold after a merge."""
    title = f" ({verdict.title})" if verdict.title else ""
    found = f"is {verdict.kind.value} after the merge: {verdict.reason}"
    return f"{_label(plan, verdict, own)}{title} {found}"


def _label(plan: str, verdict: Verdict, own: str) -> str:
    label = f"{verdict.subject.value} {verdict.number}"
    return label if plan == own else f"{label} of `{plan}`"
