"""The gate before an agent may end: all is judged on the files as they are, then it is decided."""

from __future__ import annotations

import shlex
from typing import assert_never

from planbound.errors import Refused
from planbound.journal.event import (
    FinalizationAccepted,
    FinalizationCapped,
    FinalizationRejected,
    GateApprovalRequested,
    SessionOutcome,
    TaskCompleted,
    VerdictKind,
)
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, asks_git, cases
from planbound.plan.model import Attest, Judged, StepStatus
from planbound.session.context import SessionContext, defer
from planbound.session.contracts import judge_contracts, judge_open, preconditions_hold, seen_before
from planbound.session.decide import (
    REFUSALS,
    Accept,
    Capped,
    Decision,
    Reject,
    Silent,
    decide,
    line_of,
    refusals_on,
)
from planbound.session.shown import heading_of, show
from planbound.session.view import waits_for
from planbound.session.work import Work
from planbound.session.writing import plan_errors
from planbound.state.item import Item
from planbound.state.step import proof_of

_SAID = 500
_BROKEN = 3
"""So often a gate that cannot tell refuses, before it gives up loudly."""


def check_final(work: Work, final_text: str, *, runs: str | None = None) -> Decision | Silent:
    """Decide whether the agent may end, and record it; `runs`: what it still waits for."""
    state = work.state
    if state.outcome is not None and state.outcome.is_final:
        return Silent(f"the plan is at its end: {state.outcome.value}")
    waiting = waits_for(work)
    if waiting is not None and state.asked:
        return Silent(waiting)
    if runs is not None and defer(work.session, work.slug, state, runs):
        return Silent(runs)
    if waiting is None:  # else nothing runs that nobody approved
        judge_open(work, begun=True)
        if preconditions_hold(work):  # else no step may have begun, so none is settled
            _judge_all(work)
    gate = work.session.context.configuration.gate
    agenda = work.agenda._replace(waits=waiting)
    decision = decide(work.state, agenda, work.tree, gate.require, bound=gate.refusals or REFUSALS)
    _record(work, decision, final_text)
    if isinstance(decision, Reject):
        heading = heading_of(work.slug, work.plan, work.status)
        shown = show(heading, work.state, work.agenda, only_open=True)
        return decision._replace(message=f"{decision.message}\n\n{shown}")
    return decision


def broken(work: Work, error: str) -> Reject | Capped:
    """Decide where the gate itself failed: refuse a few times, then give up so that all see it."""
    missing = (f"the gate could not tell: {line_of(error, _SAID)}",)
    if work.state.outcome is SessionOutcome.INCOMPLETE:
        return Capped(f"NOT DONE: {missing[0]}, and it ended as incomplete before.", missing)
    count = work.state.broken + 1
    if count > _BROKEN:
        work.append(work.draft(FinalizationCapped(missing=missing, refusals=count)))
        return Capped(f"NOT DONE: {missing[0]}. A person has to look at it.", missing)
    event = FinalizationRejected(missing=missing, refusals=count, broken=True)
    work.append(work.draft(event))
    return Reject(f"{missing[0]}. Try to end once more.", missing)


def _judge_all(work: Work) -> None:
    """Judge what has a contract and was not judged on these files yet."""
    judged = [case for case in cases(work.plan) if _is_judged(work, case)]
    wanted = [case for case in judged if _is_due(work, case)]
    if wanted:
        judge_contracts(work, wanted)
    for case in judged:
        if case.subject is SubjectKind.STEP:
            settle(work, case)


def settle(
    work: Work, case: Case, *, evidence: str | None = None, notes: str | None = None
) -> bool:
    """Note that a step is done, where its contract was seen to pass on these files."""
    step = work.step(case.number)
    item = work.state.steps.get(work.ids[step.label], Item())
    if not item.passed or item.status.is_green or item.status.is_by_person:
        return item.status.is_green
    from planbound.judging.events import shown_proof  # noqa: PLC0415 - start-up

    proof = shown_proof(proof_of(seen_before(work, case), item.tree or ""))
    event = TaskCompleted(
        result=proof.result,
        verdict=VerdictKind.PASS,
        tree=item.tree,
        baseline=proof.baseline,
        baseline_at=proof.baseline_at,
        reason=proof.reason,
        evidence=evidence,
        notes=notes,
    )
    work.append(work.draft(event, step))
    return True


def _is_judged(work: Work, case: Case) -> bool:
    """Say whether the harness finds out about an item by itself."""
    if case.subject is SubjectKind.PRECONDITION or isinstance(case.contract, Attest):
        return False
    if not isinstance(case.contract, Judged) and not _is_probed(work, case):
        return False
    status = _item(work, case).status
    return not (status is StepStatus.BLOCKED or status.is_by_person)


def _is_due(work: Work, case: Case) -> bool:
    # What is outside the tree, such as a service or git's index, may be another at any time.
    item = _item(work, case)
    is_of_files = not _is_probed(work, case) and not asks_git(case.contract)
    if is_of_files and item.tree == work.tree and work.is_as_it_was(item.beyond):
        return False
    from planbound.judging.reproduction import is_reproduction  # noqa: PLC0415 - a judged tree is not judged again

    # A reproduction has to fail once the fault is mended.
    return not (item.status.is_green and is_reproduction(case.contract))


def _is_probed(work: Work, case: Case) -> bool:
    return f"{case.subject.value} {case.number}" in work.state.probes


def _item(work: Work, case: Case) -> Item:
    if case.subject is SubjectKind.STEP:
        return work.state.steps.get(work.ids[case.number], Item())
    return work.state.conditions.get(case.number, Item())


def _record(work: Work, decision: Decision, final_text: str) -> None:
    said = final_text.strip()[-_SAID:] or None
    match decision:
        case Accept():
            accepted = FinalizationAccepted(
                said=said,
                outcome=SessionOutcome(decision.outcome.value),
                digest=work.digest,
                revision=max(1, work.state.revision),
                tree=work.tree,
                claimed=decision.claimed,
                blocked=decision.blocked,
                holds=decision.holds,
                preconditions=decision.preconditions or None,
            )
            work.append(work.draft(accepted))
        case Reject():
            rejected = FinalizationRejected(
                said=said,
                missing=decision.missing,
                refusals=refusals_on(work.state, work.tree) + 1,
                tree=work.tree,
            )
            work.append(work.draft(rejected))
        case Capped():
            capped = FinalizationCapped(missing=decision.missing, refusals=work.state.refusals)
            if work.state.outcome is None:
                work.append(work.draft(capped))
        case _:
            assert_never(decision)


_MOST = 5


def refuse_unapprovable(session: SessionContext, data: bytes) -> None:
    """Refuse to ask a person for what no person can give: a plan with faults."""
    found = plan_errors(session, data)
    if found:
        listed = "; ".join(f"line {each.line}: {each.message}" for each in found[:_MOST])
        raise Refused(
            f"a person could not approve the plan as it is: {listed}",
            hint="mend it by `plan_amend`; each step needs a contract or a check",
        )


def request_approval(work: Work) -> str:
    """Ask a person; return what is told to the agent."""
    if work.state.approved == work.digest:
        return "the plan is approved: go on"
    faults = ""
    if not work.state.asked:
        try:
            refuse_unapprovable(work.session, work.data)
        except Refused as refused:
            if not work.state.by_people:
                raise
            # The agent cannot mend what people wrote: they are asked, and told.
            faults = f" Tell the person: {refused.message}."
        from planbound.approval.record import keep_text  # noqa: PLC0415 - few plans are asked for

        kept = keep_text(work.session.vault, work.data)
        event = GateApprovalRequested(plan_id=work.slug, digest=work.digest, text=kept)
        work.append(work.session.recorder.draft(event, work.slug))
    return (
        "a person is asked. Waiting for approval:"
        f" `planbound approve {shlex.quote(work.slug)}` shows what it would do and"
        f" records a yes. Until then no step may start.{faults}"
    )
