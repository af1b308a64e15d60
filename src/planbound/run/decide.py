"""What a run does next, from nothing but its state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from planbound.journal.event import RunOutcome, VerdictKind
from planbound.judging.case import asks_git
from planbound.judging.reproduction import is_reproduction
from planbound.plan.model import StepStatus
from planbound.run.budget import Excess, Expected, Shortages, excess, shortages
from planbound.state.run import MET, RunState, Slot, are_disjoint
from planbound.state.step import trouble_words

"""The ends of a run that reached everything."""


class CheckPreconditions(NamedTuple):
    """Look whether the run may begin at all."""


class JudgeLeft(NamedTuple):
    """Judge what an attempt left that nobody saw the end of."""

    slot: Slot


class Begin(NamedTuple):
    """Begin an attempt at a step."""

    slot: Slot
    alone: bool
    """Whether it works in the workspace itself, so that nothing else may run meanwhile."""


class AskBudget(NamedTuple):
    """Ask a person before an attempt at a step begins that the budget does not cover."""

    slot: Slot
    found: Excess | Shortages


class Await(NamedTuple):
    """Wait until one of the steps that are being worked on has ended."""


class Sleep(NamedTuple):
    """Wait until a step may be tried again."""

    until: str


class AskPerson(NamedTuple):
    """Nothing is left to do before a person answers."""


class CheckEnd(NamedTuple):
    """Judge every step once more, and the postconditions, on the final tree."""


class Finish(NamedTuple):
    """The run is over."""

    status: RunOutcome
    reason: str = ""


Action = (
    CheckPreconditions
    | JudgeLeft
    | Begin
    | AskBudget
    | Await
    | Sleep
    | AskPerson
    | CheckEnd
    | Finish
)


class Pace(NamedTuple):
    """How a run may go about it."""

    now: str
    jobs: int = 1
    working: frozenset[int] = frozenset()
    """The steps that are being worked on in this very process."""
    alone: bool = False
    """Whether one of them works in the workspace itself."""
    final_tree: str | None = None
    """The tree on which the end was judged, where it was."""
    expected: Mapping[int, Expected] = MappingProxyType({})
    """By step what is known of an attempt at it beside what its plan has seen."""


def decide(state: RunState, pace: Pace) -> Action:
    """Return what is next. One thing at a time: whoever performs it asks again."""
    stop = _stop(state)
    if stop is not None:
        return Await() if pace.working else stop
    if not _begun(state) and not _preconditions_hold(state):
        return CheckPreconditions()
    action = _next_step(state, pace)
    if action is not None:
        return action
    if pace.working:
        return Await()
    return _rest(state, pace)


def _stop(state: RunState) -> Finish | None:
    """Return why nothing new begins, whatever is left to do."""
    if state.cancelled:
        return Finish(RunOutcome.CANCELLED, "cancelled by a person")
    if state.revised:
        return Finish(RunOutcome.REVISED, "back to the draft, by a person")
    if state.aborted is not None:
        return Finish(RunOutcome.FAILED, state.aborted)
    return None


def _begun(state: RunState) -> bool:
    return any(step.attempts for step in state.steps)


def _preconditions_hold(state: RunState) -> bool:
    return all(
        state.preconditions.get(str(condition.number)) is VerdictKind.PASS
        or f"precondition {condition.number}" in state.answered
        for condition in state.layout.plan.preconditions
    )


def failing_preconditions(state: RunState) -> list[str]:
    """Return the numbers of the preconditions that do not hold."""
    return [
        str(condition.number)
        for condition in state.layout.plan.preconditions
        if state.preconditions.get(str(condition.number)) is not VerdictKind.PASS
        and f"precondition {condition.number}" not in state.answered
    ]


def _next_step(state: RunState, pace: Pace) -> Action | None:
    for index in state.open:
        step, slot = state.steps[index], state.layout.slots[index]
        if index in pace.working:
            continue
        if step.status is StepStatus.IN_PROGRESS:
            return None if pace.working else JudgeLeft(slot)
        if step.status is not StepStatus.PENDING or _is_early(step.not_before, pace.now):
            continue
        if pace.working and not _may_join(state, slot, pace):
            continue
        short = excess(state, slot) or shortages(state, slot, pace.expected)
        if short is not None:
            return AskBudget(slot, short)
        if not pace.working:
            return Begin(slot, alone=pace.jobs == 1 or not _may_share(slot))
        # Where it depends on what the others need, they come to their end first.
        if shortages(state, slot, pace.expected, beside=True) is None:
            return Begin(slot, alone=False)
    return None


def _may_share(slot: Slot) -> bool:
    # What a person is to look at is in the workspace itself.
    return slot.touches is not None and not slot.is_attested


def _may_join(state: RunState, slot: Slot, pace: Pace) -> bool:
    if pace.alone or len(pace.working) >= pace.jobs or not _may_share(slot):
        return False
    return all(are_disjoint(slot, state.layout.slots[other]) for other in pace.working)


def why_alone(state: RunState, slot: Slot, working: Collection[int]) -> str | None:
    """Return why a step that is ready does not run beside the others; None where it may."""
    for other in working:
        beside = state.layout.slots[other]
        for each in (slot, beside):
            if each.touches is None:
                return f"step {each.label} does not say what it touches"
            if each.is_attested:
                return f"step {each.label} is judged by a person, in the workspace itself"
        if not are_disjoint(slot, beside):
            return f"steps {beside.label} and {slot.label} touch the same files"
    return None


def _is_early(not_before: str | None, now: str) -> bool:
    # Both are in UTC and written alike.
    return not_before is not None and not_before > now


def _rest(state: RunState, pace: Pace) -> Action:
    early = [
        step.not_before
        for step in (state.steps[index] for index in state.open)
        if step.status is StepStatus.PENDING and step.not_before is not None
    ]
    if early:
        return Sleep(min(early))
    if state.questions or state.count(StepStatus.WAITING):
        return AskPerson()
    failed = next(state.failed(), None)
    if failed is not None:
        return Finish(RunOutcome.FAILED, _why_failed(state, failed))
    if state.unsettled:
        return Finish(RunOutcome.FAILED, "no step can go on")
    if not end_holds(state, pace.final_tree):
        return CheckEnd()
    skipped = state.count(StepStatus.SKIPPED)
    return Finish(RunOutcome.DONE_WITH_SKIPS if skipped else RunOutcome.DONE)


def _why_failed(state: RunState, index: int) -> str:
    """Return which step failed, and what it was that failed, where that was not its contract."""
    wrong = state.steps[index].trouble
    words = trouble_words(*wrong) if wrong is not None else ""
    return f"step {state.layout.slots[index].label} failed" + (f": {words}" if words else "")


def end_holds(state: RunState, final_tree: str | None) -> bool:
    """Say whether everything was judged on the final tree, and holds."""
    if final_tree is None:
        return False
    # What was judged at the end stands for the tree that was found then.
    unsure = unsure_steps(state, final_tree)
    if any(state.layout.slots[index].id not in state.final for index in unsure):
        return False
    return all(
        state.conditions.get(str(condition.number)) in MET for condition in state.layout.conditions
    )


def unsure_steps(state: RunState, tree: str) -> list[int]:
    """Return the steps that are proved or hold, and that nobody has judged on this tree.

    What shows a fault is not among them: it has to fail once the fault is mended. What asks for
    more than files is: another step may have changed what git knows, and no file.
    """
    found = []
    for index, (step, slot) in enumerate(zip(state.steps, state.layout.slots, strict=True)):
        contract = slot.step.contract
        is_seen = tree and step.judged_tree == tree and step.verdict is VerdictKind.PASS
        is_sure = state.final.get(slot.id) == tree or is_seen
        if not step.status.is_green or (is_sure and not (step.beyond or asks_git(contract))):
            continue
        if not is_reproduction(contract):
            found.append(index)
    return found
