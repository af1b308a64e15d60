"""What can be said of a step, and how steps are changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planbound.engine.judging.verdict import Subject
from planbound.engine.loop.given import read_steps
from planbound.engine.loop.state import Item, Standing
from planbound.engine.loop.substance import lack_of_substance
from planbound.errors import Refused, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.model import Attest, Step
from planbound.usecases.loop import final, preconditions, writing
from planbound.usecases.loop.answers import judged, shown
from planbound.usecases.loop.told import Told
from planbound.usecases.loop.work import Work


def begin(work: Work, step: Step, said: str, more: dict[str, str]) -> Told:
    """Note that a step is begun, unless it waits for another, or a precondition does not hold."""
    item = work.state.steps.get(work.ids[step.label], Item())
    if item.standing.is_by_person:
        raise Refused(f"a person settled step {step.label}")
    for label in (each.value for each in step.depends or ()):
        other = work.step(label)
        before = work.state.steps.get(work.ids[other.label], Item())
        if not (before.standing.is_settled or before.standing is Standing.BLOCKED):
            raise Refused(f"step {step.label} waits for step {other.label}, which is not done")
    preconditions.demand(work, step, said)
    if item.standing is not Standing.IN_PROGRESS:
        work.look([work.case(Subject.STEP, step.label)])
        details: dict[str, Json] = {"attempt": item.attempts + 1, **more}
        work.append(work.draft(EventKind.TASK_STARTED, details, step))
    return shown(work, f"step {step.label} → in_progress\nIt is begun.", only_open=True)


def reopen(work: Work, step: Step, said: str, more: dict[str, str]) -> Told:
    """Take a step back; what was said of it stays."""
    item = work.state.steps.get(work.ids[step.label], Item())
    if item.standing.is_by_person:
        raise Refused(f"a person settled step {step.label}")
    if item.standing is not Standing.PENDING:
        details: dict[str, Json] = {"before": item.standing.value, **more}
        if said:
            details["reason"] = said
        work.append(work.draft(EventKind.TASK_REOPENED, details, step))
    return shown(work, f"step {step.label} → pending\nWhat was said of it stays.")


def block(work: Work, step: Step, reason: str, more: dict[str, str]) -> Told:
    """Note that a step cannot be done, and why."""
    if lack_of_substance(reason, step.title) is not None:
        raise UsageError(
            "a step is blocked for a reason", hint="give it as `evidence`: what is in the way"
        )
    if work.state.steps.get(work.ids[step.label], Item()).standing.is_by_person:
        raise Refused(f"a person settled step {step.label}")
    details: dict[str, Json] = {"reason": reason, **more}
    work.append(work.draft(EventKind.TASK_BLOCKED, details, step))
    return shown(work, f"step {step.label} → blocked\nA person sees why.")


def finish(work: Work, step: Step, said: str, more: dict[str, str]) -> Told:
    """Judge a step now, or note what is claimed of it, which takes evidence."""
    if isinstance(step.contract, Attest):
        raise Refused(f"step {step.label} is attested by a person, not by an agent")
    item = work.state.steps.get(work.ids[step.label], Item())
    if item.standing.is_by_person:
        return shown(work, f"a person settled step {step.label} already.")
    is_claim = step.contract is None and f"step {step.label}" not in work.state.probes
    task = step.task.text if step.task is not None else ""
    if is_claim and (lack := lack_of_substance(said, step.title, task)) is not None:
        raise UsageError(lack, hint="say what you ran or looked at, and what you saw")
    preconditions.demand(work, step, "", begun=True)
    name = f"step {step.label} “{step.title}”"
    if is_claim:
        details: dict[str, Json] = {"result": "claimed", "evidence": said, **more}
        work.append(work.draft(EventKind.TASK_COMPLETED, details, step))
        head = f"step {step.label} → done\n{name} is claimed, which nobody has proved."
        return shown(work, head, only_open=True)
    case = work.case(Subject.STEP, step.label)
    work.judge([case])
    final.settle(work, case, **({"evidence": said} if said else {}), **more)
    return judged(work, name, work.state.steps.get(work.ids[step.label], Item()))


def amend(
    work: Work,
    add: Sequence[str | Mapping[str, object]],
    edit: Mapping[str, str | Mapping[str, object]],
    remove: Sequence[str],
    reason: str,
) -> None:
    """Write the plan with some steps changed, added or left out."""
    writing.refuse_of_people(work)
    given = writing.given_of(work)
    steps = list(given.steps)
    place = {step.label: index for index, step in enumerate(work.plan.steps)}
    for name, value in edit.items():
        found = work.step(name)
        (steps[place[found.label]],) = read_steps([value])
    gone = {place[work.step(name).label] for name in remove}
    wanted = [*writing.without(steps, gone), *read_steps(add)]
    if not wanted:
        raise UsageError("nothing would be left of the plan")
    objective = given.objective or work.slug
    writing.rewrite(work, given._replace(objective=objective, steps=wanted), reason)
