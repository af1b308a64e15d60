"""What people see of a plan in the loop, and what they decide about it."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from planbound.engine.fold import fold, plan_status
from planbound.engine.loop.finalization import Agenda
from planbound.engine.loop.owner import TOOLS
from planbound.engine.loop.shown import agenda_of
from planbound.engine.loop.state import INCOMPLETE, LoopState
from planbound.errors import NothingToDo, Refused, UsageError
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.ports.files import PlanFile
from planbound.ports.journal import Query
from planbound.ports.lease import Held
from planbound.usecases.answer import Person
from planbound.usecases.loop.release import refuse_idle, release
from planbound.usecases.revoke import revoke
from planbound.wiring.parts import Parts


class LoopView(NamedTuple):
    """Where a plan in the loop is, for people."""

    plan: Plan
    state: LoopState
    agenda: Agenda
    status: PlanStatus

    @property
    def is_changed(self) -> bool:
        """Whether the file says something that the journal does not know of."""
        return self.state.digest not in {None, digest(self.plan)}


def loop_view(parts: Parts, file: PlanFile, data: bytes) -> LoopView | None:
    """Return where a plan in the loop is; None where no agent works on it by itself."""
    journal = parts.existing_journal()
    if journal is None:
        return None
    state = LoopState()
    records = list(journal.read(Query(plan=file.slug)))
    state.apply_all(records)
    if state.origin != TOOLS and state.outcome is None and not state.all_refusals:
        return None
    plan = parse(data, path=file.shown)
    ids = parts.recorder().step_ids(plan)
    status = plan_status(fold(records).get(file.slug), digest(plan))
    return LoopView(plan, state, agenda_of(plan, ids, state, tuple(state.probes)), status)


def refuse_owed(parts: Parts, slug: str) -> None:
    """Refuse to put a plan away that an agent still owes: only a person lets it go."""
    journal = parts.existing_journal()
    state = LoopState()
    if journal is not None:
        state.apply_all(journal.read(Query(plan=slug)))
    if state.origin == TOOLS and state.is_open:
        raise Refused(
            f"an agent owes `{slug}`: its session is at work on it",
            hint=f"let it end, or let it go:"
            f" `planbound release {shlex.quote(slug)} --reason '...'`",
        )


class Released(NamedTuple):
    """What a person took from those who worked on a plan."""

    lease: Held | None
    """The lease that was held, as it was then."""
    session: bool
    """Whether an agent in the loop was let go."""


def release_plan(parts: Parts, file: PlanFile, person: Person, reason: str | None) -> Released:
    """Take a plan's lease from its holder, and end an agent's duty to it: what there is of both."""
    slug = file.slug
    state, held = LoopState(), None
    journal = parts.existing_journal()
    if journal is not None:
        state.apply_all(journal.read(Query(plan=slug)))
        held = next((each for each in parts.leases().held() if each.claim.plan == slug), None)
    owed = held is None or _works_by_itself(state)
    if owed:
        refuse_idle(slug, state)
        if reason is None:
            raise UsageError(
                f"an agent that works on `{slug}` by itself is let go only for a reason",
                hint=f"`planbound release {shlex.quote(slug)} --reason '...'`",
            )
    lease = None
    if held is not None:
        lease = revoke(parts.recorder(), parts.leases(), slug, person, reason)
        if lease is None and not owed:
            raise NothingToDo(f"nobody holds `{slug}` any more: {held.claim.holder} has ended")
    if owed and reason is not None:
        release(parts.recorder(), slug, state, person, reason)
    return Released(lease, session=owed)


def _works_by_itself(state: LoopState) -> bool:
    """Say whether it is an agent in the loop that owes a plan which somebody holds.

    An approval or a step that has begun does not show that: a run leaves these, too.
    """
    ended = state.outcome not in {None, INCOMPLETE}
    return not ended and (state.origin == TOOLS or state.all_refusals > 0)
