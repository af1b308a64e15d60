"""Change a plan as somebody at the gate says; what comes of it has to be looked at again."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, assert_never

from planbound.approval.decision import Add, EditStep, Move, Remove, Reorder, Skip, Swap
from planbound.approval.record import Rewriting
from planbound.errors import Refused, UsageError
from planbound.journal.event import EventKind, PlanAmended, RunOutcome
from planbound.journal.record import Query
from planbound.plan.digest import digest, step_digest
from planbound.plan.edit import set_plan_status
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.plan.revise import (
    add_step,
    move_step,
    remove_step,
    reorder_steps,
    replace_step,
    swap_steps,
)
from planbound.plan.rewrite import RevisionError
from planbound.source import Diagnostic, Severity
from planbound.state.append import Recorder
from planbound.state.plan import PlanState
from planbound.state.run import RunState, lay_out, needed_by
from planbound.verify.examine import Verified

# -- change a plan as somebody at the gate says; what comes of it has to be looked at again ------


TextChange = Remove | Move | Swap | Reorder | EditStep | Add
"""A change of the plan's text; skipping a step leaves it as it is."""


def modify(plan: Plan, changes: Sequence[TextChange], text: str | None = None) -> Plan:
    """Return the plan with the changes made; raise Refused, with the reason, where one cannot be.

    `text` is that of the one step that is edited or added.
    """
    written = sum(isinstance(change, EditStep | Add) for change in changes)
    if written > 1:
        raise UsageError("one step is edited or added at a time")
    if written and text is None:
        raise UsageError(
            "what should the step say?", hint="give its text with `--with FILE`; `-` is the input"
        )
    ids = {step.label: step.id for step in plan.steps}
    path = plan.source.path
    try:
        for change in changes:
            plan = parse(_revised(plan, change, ids, text or ""), path=path)
    except RevisionError as error:
        raise Refused(f"the plan cannot be changed like that: {error}") from error
    return set_plan_status(plan, PlanStatus.DRAFT) if plan.status is not PlanStatus.DRAFT else plan


def _revised(plan: Plan, change: TextChange, ids: dict[str, str], text: str) -> str:
    match change:
        case Remove():
            return remove_step(plan, ids[change.step])
        case Swap():
            return swap_steps(plan, ids[change.first], ids[change.second])
        case Reorder():
            return reorder_steps(plan, [ids[label] for label in change.order])
        case EditStep():
            return replace_step(plan, ids[change.step], text)
        case Move() | Add():
            anchor = ids.get(change.anchor, change.anchor)
            before, after = (None, anchor) if change.after else (anchor, None)
            if isinstance(change, Add):
                return add_step(plan, text, before=before, after=after)
            return move_step(plan, ids[change.step], before=before, after=after)
        case _:
            assert_never(change)


def say_change(change: TextChange | Skip) -> str:  # noqa: PLR0911 - one for each change
    """Return a change in the words in which it is recorded."""
    match change:
        case Skip():
            return f"skip {change.step}"
        case Remove():
            return f"remove {change.step}"
        case EditStep():
            return f"edit {change.step}"
        case Swap():
            return f"swap {change.first} and {change.second}"
        case Reorder():
            return f"reorder {', '.join(change.order)}"
        case Move() | Add():
            what = f"move {change.step}" if isinstance(change, Move) else "add"
            if change.anchor in {"first", "last"}:
                return f"{what} {change.anchor}"
            return f"{what} {'after' if change.after else 'before'} {change.anchor}"
        case _:
            assert_never(change)


def new_errors(before: Verified, after: Verified) -> list[Diagnostic]:
    """Return the errors that a change brought: of each kind, where there are more than before."""
    errors = [item for item in after.diagnostics if item.severity is Severity.ERROR]
    more = Counter(item.code for item in errors)
    more.subtract(item.code for item in before.diagnostics if item.severity is Severity.ERROR)
    return [item for item in errors if more[item.code] > 0]


def refuse_needed(plan: Plan, labels: Sequence[str]) -> None:
    """Refuse to skip steps that another one, which is not skipped, declares to need."""
    held = needed_by(plan, labels)
    for step in held:
        needed = [item.value for item in step.depends or () if item.value in labels]
        if needed:
            both = "both" if len(held) == 1 else f"{', '.join(each.label for each in held)}, too"
            raise Refused(
                f"step {needed[0]} cannot be skipped: step {step.label} depends on it",
                hint=f"remove it from the plan, or skip {both}",
            )


# -- change what is not proved yet of an approved plan: a new revision, through the gate again ---


class NotUnderWay(Refused):
    """There is no run whose proofs could be kept."""


class Amendment(NamedTuple):
    """What an amendment keeps, and what it changes."""

    revision: int
    kept: tuple[str, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]
    changed: tuple[str, ...]


def examine(recorder: Recorder, slug: str, approved: Plan, wanted: Plan) -> Amendment:
    """Return what changing the approved plan into the wanted one means; refuse what may not be.

    The two may be the same: then it is about judges that are to be others from now on.
    """
    ids = recorder.step_ids(approved)
    state = RunState(lay_out(approved, ids), PlanState(slug))
    history: set[str] = set()
    for record in recorder.journal.read(Query(plan=slug)):
        state.apply(record)
        if record.kind is EventKind.PLAN_CREATED:
            history.clear()
        elif record.draft.task_id is not None:
            history.add(record.draft.task_id)
    under_way = state.run is not None or state.amended is not None
    if state.amended is not None and state.amended.digest == digest(wanted):
        raise NotUnderWay(
            f"`{slug}` is amended to exactly this already",
            hint=f"look at it and decide: `planbound approve {shlex.quote(slug)}`",
        )
    if not under_way or (
        state.ended is not None and (state.ended.is_complete or state.ended is RunOutcome.CANCELLED)
    ):
        raise NotUnderWay(
            f"no run of `{slug}` is under way, so there is nothing to amend",
            hint=f"change the plan, then `planbound approve {shlex.quote(slug)}`",
        )
    old = {slot.id: slot for slot in state.layout.slots}
    new = lay_out(wanted, recorder.step_ids(wanted))
    kept = [slot for slot in state.layout.slots if state.steps[slot.place].status.is_settled]
    for slot in kept:
        place = new.by_id.get(slot.id)
        if place is None:
            raise Refused(
                f"step {slot.label} (`{slot.id}`) is settled and cannot be taken out",
                hint="only what is not proved yet can be changed",
            )
        if step_digest(wanted, new.slots[place].step) != step_digest(approved, slot.step):
            raise Refused(
                f"step {slot.label} (`{slot.id}`) is settled and cannot be changed",
                hint="put its text back, and add a step behind it",
            )
    for slot in new.slots:
        if slot.id not in old and slot.id in history:
            raise Refused(
                f"`{slot.id}` was the id of a step that is gone: ids are not used again",
                hint=f"give step {slot.label} another title",
            )
    same = {
        slot.id
        for slot in new.slots
        if slot.id in old
        and step_digest(wanted, slot.step) == step_digest(approved, old[slot.id].step)
    }
    return Amendment(
        revision=state.revision + 1,
        kept=tuple(slot.id for slot in kept),
        added=tuple(slot.id for slot in new.slots if slot.id not in old),
        dropped=tuple(name for name in old if name not in new.by_id),
        changed=tuple(name for name in old if name in new.by_id and name not in same),
    )


def record_amendment(
    recorder: Recorder,
    slug: str,
    plans: tuple[Plan, Plan],
    amendment: Amendment,
    said: Rewriting,
) -> None:
    """Record the new revision: a draft, in which what was settled stays settled."""
    approved, wanted = plans
    event = PlanAmended(
        from_=digest(approved),
        to=digest(wanted),
        digest=digest(wanted),
        revision=amendment.revision,
        kept=tuple(amendment.kept),
        by=said.by,
        reason=said.how or None,
        method=said.method,
    )
    recorder.record(event, slug)
