"""Change what is not proved yet of an approved plan: a new revision, through the gate again."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from planbound.engine.run.layout import lay_out
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.digest import digest, step_digest
from planbound.plan.model import Plan
from planbound.ports.journal import Query
from planbound.usecases.record import Recorder

_KEPT = frozenset({Phase.PROVED, Phase.HOLDS, Phase.ATTESTED, Phase.WAIVED, Phase.SKIPPED})


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
    state = RunState(lay_out(approved, ids))
    history: set[str] = set()
    for record in recorder.journal.read(Query(plan=slug)):
        state.apply(record)
        if record.draft.event is EventKind.PLAN_CREATED:
            history.clear()
        elif record.draft.task_id is not None:
            history.add(record.draft.task_id)
    under_way = state.run is not None or state.amended is not None
    if state.amended is not None and state.amended.digest == digest(wanted):
        raise NotUnderWay(
            f"`{slug}` is amended to exactly this already",
            hint=f"look at it and decide: `planbound approve {shlex.quote(slug)}`",
        )
    if not under_way or state.ended in {"done", "done with skips", "cancelled"}:
        raise NotUnderWay(
            f"no run of `{slug}` is under way, so there is nothing to amend",
            hint=f"change the plan, then `planbound approve {shlex.quote(slug)}`",
        )
    old = {slot.id: slot for slot in state.layout.slots}
    new = lay_out(wanted, recorder.step_ids(wanted))
    kept = [slot for slot in state.layout.slots if state.steps[slot.place].phase in _KEPT]
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


def amend(
    recorder: Recorder,
    slug: str,
    plans: tuple[Plan, Plan],
    amendment: Amendment,
    *,
    by: str,
    reason: str,
) -> None:
    """Record the new revision: a draft, in which what was settled stays settled."""
    approved, wanted = plans
    details: dict[str, Json] = {
        "from": digest(approved),
        "to": digest(wanted),
        "digest": digest(wanted),
        "revision": amendment.revision,
        "kept": list(amendment.kept),
        "by": by,
    }
    if reason:
        details["reason"] = reason
    recorder.record(EventKind.PLAN_AMENDED, slug, details)
