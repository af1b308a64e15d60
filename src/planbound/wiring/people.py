"""Puts together what people's decisions about a run need."""

from __future__ import annotations

from contextlib import AbstractContextManager

from planbound.engine.run.decide import Finish, Pace, decide
from planbound.engine.run.layout import lay_out
from planbound.engine.run.state import RunState
from planbound.plan.parse import parse, write
from planbound.ports.files import PlanFile
from planbound.ports.journal import Query
from planbound.store.lock import this_process
from planbound.usecases.answer import Person, cancel, state_of
from planbound.usecases.stillness import nobody_runs
from planbound.wiring.judging import vault
from planbound.wiring.parts import Parts


def run_state(parts: Parts, file: PlanFile, data: bytes) -> RunState:
    """Return where a plan is, by the journal."""
    plan = parse(data, path=file.shown)
    state = RunState(lay_out(plan, parts.recorder().step_ids(plan)))
    journal = parts.existing_journal()
    if journal is not None:
        state.apply_all(journal.read(Query(plan=file.slug)))
    return state


def decided_state(parts: Parts, file: PlanFile, data: bytes) -> RunState:
    """Return what people decide about: the run as it was approved, whatever the file says now."""
    return state_of(parts.recorder(), vault(parts), file.slug, data)


def holder_of(parts: Parts, slug: str) -> str | None:
    """Return who drives a plan now."""
    for held in parts.leases().held():
        if held.claim.plan == slug and not held.expired:
            return held.claim.holder
    return None


def stillness(parts: Parts, slug: str) -> AbstractContextManager[None]:
    """Return what keeps everybody from running a plan while it is decided about."""
    me = this_process()
    return nobody_runs(parts.leases(), slug, holder=me.name, process=me.mark)


def cancel_run(
    parts: Parts, file: PlanFile, data: bytes, person: Person, reason: str
) -> str | None:
    """End a run; return who drives it and has to stop, None where nobody did."""
    recorder = parts.recorder()
    cancel(recorder, file.slug, decided_state(parts, file, data), person, reason)
    return end_run(parts, file, data)


def end_run(parts: Parts, file: PlanFile, data: bytes) -> str | None:
    """Write the end of a run that a person decided; return who drives it and will do that.

    Where nobody drives it, it is written here, under the lease.
    """
    holder = holder_of(parts, file.slug)
    if holder is not None:
        return holder
    from planbound.usecases.run.ending import Ending  # noqa: PLC0415 - only where nobody drives it
    from planbound.usecases.run.projection import Projection  # noqa: PLC0415
    from planbound.usecases.run.session import Session  # noqa: PLC0415
    from planbound.usecases.run.start import claim_of  # noqa: PLC0415
    from planbound.wiring.bound import at_worktree  # noqa: PLC0415
    from planbound.wiring.running import make_desk  # noqa: PLC0415

    desk = make_desk(at_worktree(parts, file), file)
    state = decided_state(parts, file, data)
    action = decide(state, Pace(now=parts.now()))
    if not isinstance(action, Finish):
        return None
    seconds = parts.configuration.run.lease
    # To write the end changes nothing that the plan touches, so nobody elsewhere is in the way.
    claim = claim_of(desk, state.layout.plan)._replace(touches=())
    fence = desk.leases.acquire(claim, seconds=seconds)
    try:
        plan = state.layout.plan
        session = Session(desk, state, fence, data=write(plan), run=state.run or "")
        session.append(Ending(session).drafts(action))
        Projection(session).finish()
    finally:
        desk.settle()
        desk.leases.release(fence)
    return None
