"""Let a model write a plan anew, for a reason; what is proved stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

from planbound.engine.drafting.feedback import Remark, Weight
from planbound.engine.drafting.prompt import Settled
from planbound.engine.gate.approval import is_noticed
from planbound.engine.run.layout import Slot
from planbound.engine.run.question import Choice
from planbound.engine.run.state import RunState
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.plan.digest import digest
from planbound.plan.model import Plan, StepStatus
from planbound.plan.parse import parse, write
from planbound.ports.files import Files, PlanFile
from planbound.ports.journal import Journal, Query
from planbound.ports.tree import Vault
from planbound.usecases import gate
from planbound.usecases.amend import Amendment, NotUnderWay, amend, examine
from planbound.usecases.answer import state_of
from planbound.usecases.draft import Proposal, Wanted
from planbound.usecases.record import Recorder

_FINISHED = frozenset({"done", "done with skips"})
_REASONS = (
    EventKind.GATE_REJECTED,
    EventKind.RECOVERY_ESCALATION,
    EventKind.GATE_APPROVED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_CREATED,
)


class Present(NamedTuple):
    """A plan as it is, and what of it must stay."""

    file: PlanFile
    data: bytes
    plan: Plan
    approved: Plan | None
    """The plan that was approved last."""
    settled: tuple[Slot, ...] = ()

    @property
    def names(self) -> list[Settled]:
        """Return what is settled, for a prompt."""
        return [Settled(slot.label, slot.title) for slot in self.settled]


class Origin(NamedTuple):
    """Who wrote a plan anew, and why."""

    by: str
    reason: str


def last_reason(journal: Journal, slug: str) -> str | None:
    """Return why a plan was sent back, where nothing has been made of that yet; perhaps empty."""
    reason: str | None = None
    for record in journal.read(Query(plan=slug, events=_REASONS)):
        details = record.draft.details
        if record.draft.event is EventKind.GATE_REJECTED:
            reason = str(details.get("reason") or "")
        elif record.draft.event is not EventKind.RECOVERY_ESCALATION:
            reason = reason if is_noticed(record.draft.event, details) else None
        elif details.get("user_decision") == Choice.REVISE.value:
            number = details.get("number")
            about = f"step {number}: " if isinstance(number, str) else ""
            guidance = details.get("guidance")
            said = f"\nThe person says: {guidance}" if guidance else ""
            reason = f"{about}{details.get('reason')}{said}"
    return reason


def find_present(recorder: Recorder, vault: Vault, file: PlanFile, data: bytes) -> Present:
    """Return a plan with what is settled of it; refuse one that is done."""
    state = state_of(recorder, vault, file.slug, data)
    if state.ended in _FINISHED:
        raise Refused(
            f"`{file.slug}` is done, so it is not drafted anew",
            hint="draft a plan for what is still wanted: `planbound draft`",
        )
    before = gate.last_text(recorder.journal, vault, file.slug)
    return Present(
        file=file,
        data=data,
        plan=parse(data, path=file.shown),
        approved=parse(before, path="approved") if before is not None else None,
        settled=_settled(state),
    )


def _settled(state: RunState) -> tuple[Slot, ...]:
    if state.run is None and state.amended is None:
        return ()
    slots = state.layout.slots
    return tuple(slot for slot in slots if state.steps[slot.place].phase.is_settled)


def demands(recorder: Recorder, present: Present) -> Wanted:
    """Return what a new text of the plan is held to."""
    ids = frozenset(slot.id for slot in present.settled)
    shown = {step.id: step.status.value for step in present.plan.steps if step.status}
    marks = tuple((name, shown.get(name, StepStatus.DONE)) for name in sorted(ids))
    now = digest(present.plan)

    def objections(wanted: Plan) -> Iterator[Remark]:
        if digest(wanted) == now:
            yield Remark("the plan means exactly what it meant before", Weight.OPEN)
            return
        try:
            _amendment(recorder, present, wanted)
        except Refused as refusal:
            hint = f"; {refusal.hint}" if refusal.hint else ""
            yield Remark(f"{refusal.message}{hint}", Weight.OPEN)

    return Wanted(settled=ids, marks=marks, objections=objections)


def _amendment(recorder: Recorder, present: Present, wanted: Plan) -> Amendment | None:
    """Return what a new text means for the run that is under way; None where none is."""
    if present.approved is None:
        return None
    try:
        return examine(recorder, present.file.slug, present.approved, wanted)
    except NotUnderWay:
        return None


def is_placeable(proposal: Proposal, wanted: Wanted) -> bool:
    """Say whether a proposal may be put in the place of the plan: never one that is worse."""
    return not proposal.errors and not list(wanted.objections(proposal.plan))


def put_in_place(
    recorder: Recorder,
    present: Present,
    wanted: Plan,
    origin: Origin,
    *,
    files: Files,
    stillness: AbstractContextManager[None],
) -> Amendment | None:
    """Write the new text over the old one, as a draft; return the amendment of a run, if it is one.

    Nothing is written where the plan, or what is settled of it, changed meanwhile.
    """
    slug = present.file.slug
    with stillness:
        amendment = _amendment(recorder, present, wanted)
        files.replace(present.file.path, write(wanted), expected=present.data)
        if amendment is None:
            said = gate.Rewriting(origin.by, f"redraft: {origin.reason}")
            gate.rewrite(recorder, slug, digest(present.plan), digest(wanted), said)
        else:
            assert present.approved is not None
            plans = (present.approved, wanted)
            amend(recorder, slug, plans, amendment, by=origin.by, reason=origin.reason)
    return amendment
