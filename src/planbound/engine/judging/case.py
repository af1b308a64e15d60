"""What there is to judge in a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from planbound.engine.judging.scope import Scope
from planbound.engine.judging.verdict import Subject
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Baseline, Condition, Contract, Evidence, Plan, Step
from planbound.verify.told_to_change import Told, told_by


class Case(NamedTuple):
    """One contract and what the plan demands of it."""

    subject: Subject
    number: str
    id: str | None
    title: str
    contract: Contract | None
    judges: tuple[str, ...] = ()
    seconds: float | None = None
    evidence: Evidence | None = None
    repeat: int = 1
    baseline: Baseline | None = None
    """How it must have been before the work; None: the plan does not say."""


def demands_red(step: Baseline | None, usual: Baseline) -> bool:
    """Say whether a step must have been red before; its own word counts before the usual one."""
    return (step or usual) is Baseline.RED


def cases(plan: Plan) -> Iterator[Case]:
    """Yield everything that has or should have a contract, in the order of the plan."""
    for condition in plan.preconditions:
        yield _condition(condition, Subject.PRECONDITION)
    for step in plan.steps:
        yield _step(step)
    for condition in plan.postconditions:
        yield _condition(condition, Subject.POSTCONDITION)


def _step(step: Step) -> Case:
    return Case(
        subject=Subject.STEP,
        number=step.label,
        id=step.id,
        title=step.title,
        contract=step.contract,
        judges=tuple(item.value for item in step.judges),
        seconds=float(step.contract_timeout.value) if step.contract_timeout else None,
        evidence=step.evidence.value if step.evidence else None,
        repeat=step.repeat.value if step.repeat else 1,
        baseline=step.baseline.value if step.baseline else None,
    )


def _condition(condition: Condition, subject: Subject) -> Case:
    return Case(
        subject=subject,
        number=str(condition.number),
        id=None,
        title=condition.statement,
        contract=condition.contract,
        judges=tuple(item.value for item in condition.judges),
        seconds=float(condition.contract_timeout.value) if condition.contract_timeout else None,
        evidence=condition.evidence.value if condition.evidence else None,
        repeat=condition.repeat.value if condition.repeat else 1,
    )


def plan_scope(plan: Plan) -> Scope:
    """Return what the steps of a plan may change together."""
    declared = [item.value for step in plan.steps for item in plan.touches_of(step)]
    free = [step for step in plan.steps if step.touches is None and not plan.touches_of(step)]
    if not free:
        return Scope(tuple(parse_glob(item) for item in dict.fromkeys(declared)))
    told = [told_by(step) for step in free]  # steps that may change anything
    named = (*_valid(declared), *(glob for each in told for glob in each.named))
    return Scope(None, told=Told(named, tuple(glob for each in told for glob in each.added)))


def judge_scope(plan: Plan) -> Scope:
    """Return what the steps of a plan may change of its judges, where other files do not count."""
    try:
        scope = plan_scope(plan)
    except GlobError:
        return Scope(None)  # nobody approved that, where nobody has to
    return scope if scope.patterns is None else Scope(None, told=Told(scope.patterns))


def _valid(patterns: Iterable[str]) -> Iterator[Glob]:
    for text in dict.fromkeys(patterns):
        with suppress(GlobError):
            yield parse_glob(text)
