"""What a new text of a plan demands less than the one that was approved, or allows more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple, TypeVar, assert_never

from msgspec.structs import replace

from planbound.plan.digest import contract_digest
from planbound.plan.glob import Glob, GlobError, parse_glob, within
from planbound.plan.model import (
    Attest,
    Baseline,
    CaseTable,
    Command,
    Condition,
    Contains,
    Contract,
    Evidence,
    ExitCodeIs,
    Expectation,
    Judged,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OutputIs,
    Plan,
    Rejected,
    Step,
    named_controls,
)
from planbound.source import Located

Value = TypeVar("Value")


class _StepDemand(NamedTuple):
    """What is demanded of one step or condition."""

    name: str
    contract: Contract | None
    judges: tuple[str, ...]
    evidence: Evidence | None
    repeat: int
    baseline: Baseline | None = None
    rejects: tuple[Rejected, ...] = ()


def weakenings(before: Plan, after: Plan) -> list[str]:
    """Return what became weaker or another, a sentence each; contracts first."""
    old = {step.id: step for step in before.steps}
    new = {step.id: step for step in after.steps}
    found: list[str] = []
    for name, step in new.items():
        if name in old:
            found += _demands(_of_step(old[name]), _of_step(step))
    found += _conditions(before.preconditions, after.preconditions, "precondition")
    found += _conditions(before.postconditions, after.postconditions, "postcondition")
    found += (f"the step `{step.title}` is gone" for name, step in old.items() if name not in new)
    for name, step in new.items():
        if name in old:
            found += _widened(before, old[name], after, step)
    return found


def _conditions(
    before: Sequence[Condition], after: Sequence[Condition], kind: str
) -> Iterator[str]:
    new = {condition.statement: condition for condition in after}
    for old in before:
        if old.statement in new:
            now = new[old.statement]
            yield from _demands(_of_condition(old, kind), _of_condition(now, kind))
        else:
            yield f"the {kind} `{old.statement}` is gone"


def _of_step(step: Step) -> _StepDemand:
    return _StepDemand(
        name=f"step {step.label}" if step.label else f"step `{step.title}`",
        contract=step.contract,
        judges=_texts(step.judges),
        evidence=_value(step.evidence),
        repeat=_value(step.repeat) or 1,
        baseline=_value(step.baseline),
        rejects=step.rejects,
    )


def _of_condition(condition: Condition, kind: str) -> _StepDemand:
    return _StepDemand(
        name=f"{kind} {condition.number}",
        contract=condition.contract,
        judges=_texts(condition.judges),
        evidence=_value(condition.evidence),
        repeat=_value(condition.repeat) or 1,
        rejects=condition.rejects,
    )


def _demands(old: _StepDemand, new: _StepDemand) -> Iterator[str]:
    name = new.name
    yield from _contracts(name, old.contract, new.contract)
    if old.evidence is not None and (
        new.evidence is None or new.evidence.value < old.evidence.value
    ):
        now = new.evidence.value if new.evidence else "none"
        yield f"{name} demanded evidence {old.evidence.value}, now {now}"
    if old.baseline is Baseline.RED and new.baseline is not Baseline.RED:
        yield f"{name} demanded a red baseline, now any"
    elif old.baseline is None and new.baseline is Baseline.ANY:
        yield f"{name} may be green before the work now, whatever the configuration demands"
    if new.repeat < old.repeat:
        yield f"{name} had to pass {old.repeat} times, now {new.repeat}"
    for judge in old.judges:
        if judge not in new.judges:
            yield f"{name} does not name `{judge}` as a judge any more"
    kept = {(each.path, each.text) for each in new.rejects}
    for control, each in named_controls(old.rejects):
        if (each.path, each.text) not in kept:
            yield f"{name} does not have to reject `{control}` any more"


def _contracts(name: str, old: Contract | None, new: Contract | None) -> Iterator[str]:
    if old is None or (new is not None and contract_digest(old) == contract_digest(new)):
        return
    match new:
        case None:
            yield f"{name} has no contract any more"
        case Attest():
            became = "states something else" if isinstance(old, Attest) else "became an attestation"
            yield f"the contract of {name} {became}"
        case Command() | CaseTable():
            same = type(old) is type(new) and contract_digest(_bare(old)) == contract_digest(
                _bare(new)
            )
            if not same:
                yield f"the contract of {name} is another"
            if type(old) is type(new) and not isinstance(old, Attest):
                yield from _expectations(name, old, new)
        case _:
            assert_never(new)


def _bare(contract: Contract) -> Contract:
    """Return a contract without what is expected of it."""
    return contract if isinstance(contract, Attest) else replace(contract, expectations=())


def _expectations(name: str, old: Judged, new: Judged) -> Iterator[str]:
    then = [item.value for item in old.expectations]
    now = [item.value for item in new.expectations]
    before, after = _exit_code(then), _exit_code(now)
    if before != after:
        yield f"{name} expected exit code {before}, now {after}"
    tests, fewer = _tests(then), _tests(now)
    if fewer < tests:
        yield f"{name} expected at least {tests} tests, now {fewer or 'any number'}"
    most, more = _failures(then), _failures(now)
    if more > most:
        yield f"{name} may have {_many(most)}, now {_many(more)}"
    for item in then:
        if isinstance(item, Contains | OutputIs | NoNewFailures) and item not in now:
            yield f"{name} does not expect {say_expectation(item)} any more"


def _exit_code(expectations: Sequence[Expectation]) -> int:
    codes = [item.code for item in expectations if isinstance(item, ExitCodeIs)]
    return codes[0] if codes else 0


def _tests(expectations: Sequence[Expectation]) -> int:
    return max((item.minimum for item in expectations if isinstance(item, MinimumTests)), default=0)


def _failures(expectations: Sequence[Expectation]) -> float:
    """Return how many tests may fail: none where nothing else is said of failures."""
    most = [item.maximum for item in expectations if isinstance(item, MaximumFailures)]
    return min(most) if most else inf if NoNewFailures() in expectations else 0


def _many(failures: float) -> str:
    return "those failures that there were" if failures == inf else f"{failures:g} failures"


def say_expectation(expectation: Expectation) -> str:
    """Return an expectation as it is written in a plan."""
    match expectation:
        case ExitCodeIs():
            return f"exit_code == {expectation.code}"
        case Contains():
            return f'{expectation.stream.value} contains "{expectation.text}"'
        case OutputIs():
            return f'stdout == "{expectation.text}"'
        case MinimumTests():
            return f"tests >= {expectation.minimum}"
        case MaximumFailures():
            return f"failed <= {expectation.maximum}"
        case NoNewFailures():
            return "no new failures"
        case _:
            assert_never(expectation)


def _widened(before: Plan, old: Step, after: Plan, new: Step) -> Iterator[str]:
    """Yield what a step may touch now and could not before."""
    then, now = _texts(before.touches_of(old)), _texts(after.touches_of(new))
    if not then and old.touches is None:
        return  # it could touch anything
    name = f"step {new.label}" if new.label else f"step `{new.title}`"
    if not now and new.touches is None:
        yield f"{name} may touch anything now"
    allowed = [glob for glob in map(_glob, then) if glob is not None]
    for text in now:
        glob = _glob(text)
        if text not in then and (glob is None or not within(glob, allowed)):
            yield f"{name} may touch `{text}` now"


def _glob(text: str) -> Glob | None:
    try:
        return parse_glob(text)
    except GlobError:
        return None


def _value(item: Located[Value] | None) -> Value | None:
    return item.value if item is not None else None


def _texts(items: Sequence[Located[str]]) -> tuple[str, ...]:
    return tuple(item.value for item in items)
