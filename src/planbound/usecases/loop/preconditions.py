"""What must be true before the first step: judged by the harness, once, and as early as it can."""

from __future__ import annotations

from planbound.engine.judging.case import Case, cases
from planbound.engine.judging.verdict import Subject
from planbound.engine.loop.finalization import Entry, lack_of_start
from planbound.engine.loop.given import read_note
from planbound.engine.loop.state import Item, Standing
from planbound.engine.loop.substance import lack_of_substance
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.model import Attest, Command, Step
from planbound.usecases.loop.work import Work

_OUTPUT = 1500


def demand(work: Work, step: Step, evidence: str, *, begun: bool = False) -> None:
    """Raise Refused where a precondition does not hold, so that no step begins.

    `begun`: a step is said to be done, so that the work has begun whatever the journal says.
    """
    judge_open(work, begun=begun)
    _claim(work, read_note(evidence, "`evidence`"), begun=begun)
    require = work.desk.configuration.gate.require
    missing = [
        f"{entry.name} “{entry.title}” {lack}"
        for entry in work.agenda.preconditions
        if (lack := lack_of_start(entry, require, step=work.ids[step.label])) is not None
    ]
    if missing:
        printed = next(filter(None, map(_printed, work.agenda.preconditions)), "")
        raise Refused("; ".join(missing) + printed)


def judge_open(work: Work, *, within: float | None = None, begun: bool = False) -> None:
    """Judge what has a contract and was not seen to hold; what held once is not looked at again."""
    wanted = [case for case in _open(work) if _is_judged(work, case)]
    if wanted:
        work.judge_start(wanted, within=within, late=begun or _has_begun(work))


def hold(work: Work) -> bool:
    """Say whether nothing is left of the preconditions."""
    return not _open(work)


def _claim(work: Work, evidence: str, *, begun: bool) -> None:
    """Note what is claimed of the preconditions that nobody can judge."""
    for case in _open(work):
        said_nothing = lack_of_substance(evidence, case.title) is not None
        if case.contract is not None or _is_judged(work, case) or said_nothing:
            continue
        details: dict[str, Json] = {"number": case.number, "evidence": evidence}
        if begun or _has_begun(work):
            details["late"] = True
        work.append(work.draft(EventKind.PRECONDITION_CLAIMED, details))


def _open(work: Work) -> list[Case]:
    return [
        case
        for case in cases(work.plan)
        if case.subject is Subject.PRECONDITION
        and not work.state.preconditions.get(case.number, Item()).standing.is_settled
    ]


def _is_judged(work: Work, case: Case) -> bool:
    if isinstance(case.contract, Attest):
        return False
    return isinstance(case.contract, Command) or f"precondition {case.number}" in work.state.probes


def _has_begun(work: Work) -> bool:
    """Say whether any step was begun or settled already."""
    untouched = (Standing.PENDING, Standing.BLOCKED)
    items = work.state.steps.values()
    return any(each.attempts or each.standing not in untouched for each in items)


def _printed(entry: Entry) -> str:
    output = entry.item.output.strip()[-_OUTPUT:]
    return f"\nThe end of the output, as data:\n{output}" if output else ""
