"""Where a person has to approve the plan before an agent may begin."""

from __future__ import annotations

from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.usecases.loop.soundness import refuse_unapprovable
from planbound.usecases.loop.work import Work


def waits_for(work: Work) -> str | None:
    """Return what a person has to do before a step may start; None where nothing."""
    if work.state.was_changed and not work.state.asked:
        return (
            "the plan was changed since a person approved it: put it back as it was, or"
            " `plan_request_approval()`"
        )
    demanded = work.desk.configuration.gate.approval or work.state.was_changed
    if not demanded or work.state.approved == work.digest:
        return None
    if work.state.rejected is not None:
        return (
            f"a person rejected the plan: {work.state.rejected}; change it by `plan_amend`, then"
            " `plan_request_approval()`"
        )
    if work.state.approved is not None:
        return "the plan is not the one that was approved: `plan_request_approval()`"
    how = f"a person runs `planbound approve {work.slug}`"
    if work.state.asked:
        return f"waiting for approval: {how}"
    return f"nothing may start before the plan is approved: `plan_request_approval()`, then {how}"


def request(work: Work) -> str:
    """Ask a person; return what is told to the agent."""
    if work.state.approved == work.digest:
        return "the plan is approved: go on"
    if not work.state.asked:
        refuse_unapprovable(work.desk, work.data)
        details: dict[str, Json] = {"plan_id": work.slug, "digest": work.digest}
        draft = work.desk.recorder.draft(EventKind.GATE_APPROVAL_REQUESTED, work.slug, details)
        work.append(draft)
    return (
        f"a person is asked. Waiting for approval: `planbound approve {work.slug}` shows what it"
        " would do and records a yes. Until then no step may start."
    )
