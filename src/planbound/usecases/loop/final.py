"""The finalization gate: everything is judged on the files as they are, then it is decided."""

from __future__ import annotations

from typing import assert_never

from planbound.engine.judging.case import Case, cases
from planbound.engine.judging.proof import proof_of
from planbound.engine.judging.reproduction import is_reproduction
from planbound.engine.judging.verdict import Subject
from planbound.engine.loop.finalization import (
    REFUSALS,
    Accept,
    Capped,
    Decision,
    Reject,
    Silent,
    decide,
    refusals_on,
)
from planbound.engine.loop.line import line_of
from planbound.engine.loop.shown import heading_of, show
from planbound.engine.loop.state import INCOMPLETE, Item, Standing
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.model import Attest, Command
from planbound.usecases.loop import preconditions
from planbound.usecases.loop.approval import waits_for
from planbound.usecases.loop.work import Work

_SAID = 500
_BROKEN = 3
"""So often a gate that cannot tell refuses, before it gives up loudly."""


def check(work: Work, final_text: str) -> Decision | Silent:
    """Decide whether the agent may end, and record it."""
    state = work.state
    if state.outcome not in {None, INCOMPLETE}:
        return Silent(f"the plan is at its end: {state.outcome}")
    waiting = waits_for(work)
    if waiting is not None and state.asked:
        return Silent(waiting)
    if waiting is None:  # else nothing runs that nobody approved
        preconditions.judge_open(work, begun=True)
        if preconditions.hold(work):  # else no step may have begun, so none is settled
            _judge_all(work)
    gate = work.desk.configuration.gate
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
    if work.state.outcome == INCOMPLETE:
        return Capped(f"NOT DONE: {missing[0]}, and it ended as incomplete before.", missing)
    count = work.state.broken + 1
    details: dict[str, Json] = {"missing": list(missing), "refusals": count}
    if count > _BROKEN:
        work.append(work.draft(EventKind.FINALIZATION_CAPPED, details))
        return Capped(f"NOT DONE: {missing[0]}. A person has to look at it.", missing)
    work.append(work.draft(EventKind.FINALIZATION_REJECTED, {**details, "broken": True}))
    return Reject(f"{missing[0]}. Try to end once more.", missing)


def _judge_all(work: Work) -> None:
    """Judge what has a contract and was not judged on these files yet."""
    judged = [case for case in cases(work.plan) if _is_judged(work, case)]
    wanted = [case for case in judged if _is_due(work, case)]
    if wanted:
        work.judge(wanted)
    for case in judged:
        if case.subject is Subject.STEP:
            settle(work, case)


def settle(work: Work, case: Case, **more: str) -> bool:
    """Note that a step is done, where its contract was seen to pass on these files."""
    step = work.step(case.number)
    item = work.state.steps.get(work.ids[step.label], Item())
    if not item.passed or item.standing.is_green or item.standing.is_by_person:
        return item.standing.is_green
    from planbound.usecases.verdict_events import proof_details  # noqa: PLC0415 - start-up

    proof = proof_of(work.before(case), item.tree or "")
    details: dict[str, Json] = {"verdict": "pass", "tree": item.tree, **more}
    details |= proof_details(proof)
    work.append(work.draft(EventKind.TASK_COMPLETED, details, step))
    return True


def _is_judged(work: Work, case: Case) -> bool:
    """Say whether the harness finds out about an item by itself."""
    if case.subject is Subject.PRECONDITION or isinstance(case.contract, Attest):
        return False
    if not isinstance(case.contract, Command) and not _is_probed(work, case):
        return False
    standing = _item(work, case).standing
    return not (standing is Standing.BLOCKED or standing.is_by_person)


def _is_due(work: Work, case: Case) -> bool:
    if _item(work, case).standing.is_green and is_reproduction(case.contract):
        return False  # it has to fail once the fault is mended
    # What is outside the tree, such as a service, may be another at any time.
    return _is_probed(work, case) or _item(work, case).tree != work.tree


def _is_probed(work: Work, case: Case) -> bool:
    return f"{case.subject.value} {case.number}" in work.state.probes


def _item(work: Work, case: Case) -> Item:
    if case.subject is Subject.STEP:
        return work.state.steps.get(work.ids[case.number], Item())
    return work.state.conditions.get(case.number, Item())


def _record(work: Work, decision: Decision, final_text: str) -> None:
    said = final_text.strip()[-_SAID:]
    details: dict[str, Json] = {"said": said} if said else {}
    match decision:
        case Accept():
            details |= {
                "outcome": decision.outcome,
                "digest": work.digest,
                "revision": max(1, work.state.revision),
                "tree": work.tree,
                "claimed": list(decision.claimed),
                "blocked": list(decision.blocked),
                "holds": list(decision.holds),
            }
            if decision.preconditions:
                details["preconditions"] = list(decision.preconditions)
            work.append(work.draft(EventKind.FINALIZATION_ACCEPTED, details))
        case Reject():
            details |= {
                "missing": list(decision.missing),
                "refusals": refusals_on(work.state, work.tree) + 1,
                "tree": work.tree,
            }
            work.append(work.draft(EventKind.FINALIZATION_REJECTED, details))
        case Capped():
            details = {"missing": list(decision.missing), "refusals": work.state.refusals}
            if work.state.outcome is None:
                work.append(work.draft(EventKind.FINALIZATION_CAPPED, details))
        case _:
            assert_never(decision)
