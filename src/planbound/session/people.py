"""What people see of a plan in the loop, and what they decide about it."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from planbound.disk.files import PlanFile
from planbound.errors import NothingToDo, Refused, UsageError
from planbound.journal.event import LeaseReleased, SessionReleased
from planbound.journal.leases import Held, Leases
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.run.people import Person
from planbound.session.decide import Agenda
from planbound.session.shown import agenda_of
from planbound.state.append import Recorder
from planbound.state.owner import TOOLS
from planbound.state.plan import known_plan, plan_status
from planbound.state.session import LoopState
from planbound.workspace.context import Context

# -- A person, never an agent, ends what an agent owes to a plan ---------------------------------


def refuse_idle(slug: str, state: LoopState) -> None:
    """Raise NothingToDo where no agent in the loop can owe anything to a plan."""
    if state.outcome is not None and state.outcome.is_final:
        raise NothingToDo(f"nobody owes anything to `{slug}`: it ended as {state.outcome.value}")
    if not state.is_known:
        raise NothingToDo(f"no agent works on `{slug}` by itself, so there is nothing to end")


def release(recorder: Recorder, slug: str, state: LoopState, person: Person, reason: str) -> None:
    """Put on record who lets the agent go, and why; what is not done stays not done."""
    refuse_idle(slug, state)
    event = SessionReleased(
        by=person.name, method=person.method, reason=reason, session=state.session
    )
    recorder.record(event, slug)


# -- A person, never an agent, takes the lease of a plan away ------------------------------------


def revoke(
    recorder: Recorder, leases: Leases, slug: str, person: Person, reason: str | None
) -> Held | None:
    """End the lease of a plan and put that on record; return it, None where nobody holds one."""
    # In this order: what is on record has happened, and its holder was shut out before.
    held = leases.revoke(slug, by=person.name)
    if held is None:
        return None
    event = LeaseReleased(
        by=person.name,
        method=person.method,
        holder=held.claim.holder,
        number=held.number,
        reason=reason,
    )
    recorder.record(event, slug)
    return held


# -- what people see of a plan in the loop, and what they decide about it ------------------------


class SessionView(NamedTuple):
    """Where a plan in the loop is, for people."""

    plan: Plan
    state: LoopState
    agenda: Agenda
    status: PlanStatus

    @property
    def is_changed(self) -> bool:
        """Whether the file says something that the journal does not know of."""
        return self.state.digest not in {None, digest(self.plan)}


def session_view(context: Context, file: PlanFile, data: bytes) -> SessionView | None:
    """Return where a plan in the loop is; None where no agent works on it by itself."""
    journal = context.existing_journal()
    if journal is None:
        return None
    known = known_plan(journal, file.slug)
    state = known.session
    if state.origin != TOOLS and state.outcome is None and not state.all_refusals:
        return None
    plan = parse(data, path=file.shown)
    ids = context.recorder().step_ids(plan)
    status = plan_status(known, digest(plan))
    return SessionView(plan, state, agenda_of(plan, ids, state, tuple(state.probes)), status)


def refuse_owed(context: Context, slug: str) -> None:
    """Refuse to put a plan away that an agent still owes: only a person lets it go."""
    state = known_plan(context.existing_journal(), slug).session
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


def release_plan(context: Context, file: PlanFile, person: Person, reason: str | None) -> Released:
    """Take a plan's lease from its holder, and end an agent's duty to it: what there is of both."""
    slug = file.slug
    journal, held = context.existing_journal(), None
    state = known_plan(journal, slug).session
    if journal is not None:
        held = next((each for each in context.leases().held() if each.claim.plan == slug), None)
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
        lease = revoke(context.recorder(), context.leases(), slug, person, reason)
        if lease is None and not owed:
            raise NothingToDo(f"nobody holds `{slug}` any more: {held.claim.holder} has ended")
    if owed and reason is not None:
        release(context.recorder(), slug, state, person, reason)
    return Released(lease, session=owed)


def _works_by_itself(state: LoopState) -> bool:
    """Say whether it is an agent in the loop that owes a plan which somebody holds.

    An approval or a step that has begun does not show that: a run leaves these, too.
    """
    ended = state.is_over
    return not ended and (state.origin == TOOLS or state.all_refusals > 0)
