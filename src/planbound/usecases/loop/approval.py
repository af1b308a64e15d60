"""Where a person has to approve the plan before an agent may begin."""

from __future__ import annotations

import shlex

from planbound.engine.configuration import ApprovalDemand
from planbound.engine.loop.owner import TOOLS
from planbound.engine.loop.state import LoopState
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.usecases.loop.soundness import refuse_unapprovable
from planbound.usecases.loop.work import Work


def waits_for(work: Work) -> str | None:
    """Return what a person has to do before a step may start; None where nothing."""
    state, how = work.state, f"a person runs `planbound approve {shlex.quote(work.slug)}`"
    if state.was_changed and not state.asked:
        return (
            "the plan was changed since a person approved it: put it back as it was, or"
            f" `plan_request_approval()`, then {how}"
        )
    demanded = _is_demanded(work.desk.configuration.gate.approval, state)
    if not demanded or state.approved == work.digest:
        return None
    if state.asked:
        return f"waiting for approval: {how}"
    if state.rejected is not None:
        return (
            f"a person rejected the plan: {state.rejected}; change it by `plan_amend`, then"
            " `plan_request_approval()`"
        )
    if state.approved is not None:
        return f"the plan is not the one that was approved: `plan_request_approval()`, then {how}"
    return f"{_why(state)}: `plan_request_approval()`, then {how}"


def _is_demanded(demand: ApprovalDemand, state: LoopState) -> bool:
    # What a person was asked for, or said no to, waits for a yes, whoever else needs none.
    if state.was_changed or state.owes_yes or demand is ApprovalDemand.ALL:
        return True
    return demand is ApprovalDemand.PEOPLE and state.by_people


def _why(state: LoopState) -> str:
    if not state.by_people:
        return "nothing may start before the plan is approved"
    if state.origin == TOOLS:
        return "people had a hand in this plan, so nothing may start before it is approved"
    return "a person wrote this plan and nobody approved it, so nothing may start"


def request(work: Work) -> str:
    """Ask a person; return what is told to the agent."""
    if work.state.approved == work.digest:
        return "the plan is approved: go on"
    faults = ""
    if not work.state.asked:
        try:
            refuse_unapprovable(work.desk, work.data)
        except Refused as refused:
            if not work.state.by_people:
                raise
            # The agent cannot mend what people wrote: they are asked, and told.
            faults = f" Tell the person: {refused.message}."
        from planbound.usecases.gate import keep_text  # noqa: PLC0415 - start-up: hooks ask nothing

        kept = keep_text(work.desk.vault, work.data)
        details: dict[str, Json] = {"plan_id": work.slug, "digest": work.digest, "text": kept}
        draft = work.desk.recorder.draft(EventKind.GATE_APPROVAL_REQUESTED, work.slug, details)
        work.append(draft)
    return (
        "a person is asked. Waiting for approval:"
        f" `planbound approve {shlex.quote(work.slug)}` shows what it would do and"
        f" records a yes. Until then no step may start.{faults}"
    )
