"""What an agent says of a step or a postcondition, and how it changes steps."""

from __future__ import annotations

from planbound.errors import Refused, UsageError
from planbound.journal.event import (
    PostconditionBlocked,
    PostconditionClaimed,
    Result,
    TaskBlocked,
    TaskCompleted,
    TaskReopened,
    TaskStarted,
)
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case
from planbound.plan.model import Attest, Step, StepStatus
from planbound.session import writing
from planbound.session.answers import Told, before_work, judged, shown
from planbound.session.contracts import demand_preconditions, judge_contracts, look_before
from planbound.session.decide import lack_of_substance
from planbound.session.gate import settle
from planbound.session.given import GivenAmendment
from planbound.session.view import waits_for
from planbound.session.work import Work
from planbound.state.item import Item, tool_word


def begin_step(work: Work, step: Step, said: str, notes: str | None) -> Told:
    """Note that a step is begun, unless it waits for another, or a precondition does not hold."""
    item = work.state.steps.get(work.ids[step.label], Item())
    if item.status.is_by_person:
        raise Refused(f"a person settled step {step.label}")
    for label in (each.value for each in step.depends or ()):
        other = work.step(label)
        before = work.state.steps.get(work.ids[other.label], Item())
        if not (before.status.is_settled or before.status is StepStatus.BLOCKED):
            raise Refused(f"step {step.label} waits for step {other.label}, which is not done")
    demand_preconditions(work, step, said)
    if item.status is not StepStatus.IN_PROGRESS:
        look_before(work, [work.case(SubjectKind.STEP, step.label)])
        event = TaskStarted(attempt=item.attempts + 1, notes=notes)
        work.append(work.draft(event, step))
    head = f"step {step.label} → in_progress\nIt is begun.{before_work(work, step.label)}"
    return shown(work, head, only_open=True)


def reopen_step(work: Work, step: Step, said: str, notes: str | None) -> Told:
    """Take a step back; what was said of it stays."""
    item = work.state.steps.get(work.ids[step.label], Item())
    if item.status.is_by_person:
        raise Refused(f"a person settled step {step.label}")
    if item.status is not StepStatus.PENDING:
        event = TaskReopened(before=tool_word(item.status), reason=said or None, notes=notes)
        work.append(work.draft(event, step))
    return shown(work, f"step {step.label} → pending\nWhat was said of it stays.")


def block_step(work: Work, step: Step, reason: str, notes: str | None) -> Told:
    """Note that a step cannot be done, and why."""
    if lack_of_substance(reason, step.title) is not None:
        raise UsageError(
            "a step is blocked for a reason", hint="give it as `evidence`: what is in the way"
        )
    if work.state.steps.get(work.ids[step.label], Item()).status.is_by_person:
        raise Refused(f"a person settled step {step.label}")
    work.append(work.draft(TaskBlocked(reason=reason, notes=notes), step))
    return shown(work, f"step {step.label} → blocked\nA person sees why.")


def finish_step(work: Work, step: Step, said: str, notes: str | None) -> Told:
    """Judge a step now, or note what is claimed of it, which takes evidence."""
    if isinstance(step.contract, Attest):
        raise Refused(f"step {step.label} is attested by a person, not by an agent")
    item = work.state.steps.get(work.ids[step.label], Item())
    if item.status.is_by_person:
        return shown(work, f"a person settled step {step.label} already.")
    is_claim = step.contract is None and f"step {step.label}" not in work.state.probes
    task = step.task.text if step.task is not None else ""
    if is_claim and (lack := lack_of_substance(said, step.title, task)) is not None:
        raise UsageError(lack, hint="say what you ran or looked at, and what you saw")
    demand_preconditions(work, step, "", begun=True)
    name = f"step {step.label} “{step.title}”"
    if is_claim:
        event = TaskCompleted(result=Result.CLAIMED, evidence=said, notes=notes)
        work.append(work.draft(event, step))
        head = f"step {step.label} → done\n{name} is claimed, which nobody has proved."
        return shown(work, head, only_open=True)
    case = work.case(SubjectKind.STEP, step.label)
    judge_contracts(work, [case])
    settle(work, case, evidence=said or None, notes=notes)
    return judged(work, name, work.state.steps.get(work.ids[step.label], Item()))


def amend_steps(work: Work, change: GivenAmendment, reason: str) -> None:
    """Write the plan with some steps changed, added or left out."""
    given = writing.given_of(work)
    steps = list(given.steps)
    place = {step.label: index for index, step in enumerate(work.plan.steps)}
    for name, step in change.edit.items():
        steps[place[work.step(name).label]] = step
    gone = {place[work.step(name).label] for name in change.remove}
    wanted = [*writing.without(steps, gone), *change.add]
    if not wanted:
        raise UsageError("nothing would be left of the plan")
    objective = given.objective or work.slug
    writing.rewrite_plan(work, given._replace(objective=objective, steps=wanted), reason)


def verify_postcondition(work: Work, case: Case, said: str) -> Told:
    """Judge a postcondition now, or note what is claimed of it, which takes evidence."""
    number, name = case.number, f"postcondition {case.number}"
    if (waiting := waits_for(work)) is not None:
        raise Refused(waiting)
    item = work.state.conditions.get(number, Item())
    if item.status.is_by_person:
        return shown(work, f"a person settled {name} already.")
    if isinstance(case.contract, Attest):
        raise Refused(f"{name} is attested by a person, not by an agent")
    if case.contract is not None or name in work.state.probes:
        judge_contracts(work, [case])
        item = work.state.conditions.get(number, Item())
        return judged(work, f"{name} “{case.title}”", item, "verified")
    if (lack := lack_of_substance(said, case.title)) is not None:
        raise UsageError(lack, hint="say what you ran or looked at, and what you saw")
    work.append(work.draft(PostconditionClaimed(number=number, evidence=said)))
    return shown(work, f"{name} → claimed\n{name} is claimed, which nobody has proved.")


def block_postcondition(work: Work, case: Case, said: str) -> Told:
    """Note that a postcondition cannot be reached, and why."""
    number = case.number
    if lack_of_substance(said, case.title) is not None:
        raise UsageError("a postcondition is blocked for a reason: say which one")
    work.append(work.draft(PostconditionBlocked(number=number, reason=said)))
    return shown(work, f"postcondition {number} → blocked\nA person sees why.")
