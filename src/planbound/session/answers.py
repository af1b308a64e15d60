"""What a tool answers: in words for the agent, and as data for programs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import to_builtins

from planbound.journal.event import SessionOutcome, VerdictKind, reason_of
from planbound.journal.fields import ControlResult
from planbound.journal.record import Json, Query
from planbound.journal.words import SubjectKind
from planbound.judging.case import cases, demands_red
from planbound.plan.model import Command, StepStatus
from planbound.session.context import SessionContext
from planbound.session.contracts import seen_before
from planbound.session.decide import Accept, Capped, Decision, Reject, Silent
from planbound.session.shown import agenda_data, evidence_of, heading_of, show, tallied
from planbound.session.work import Work
from planbound.state.item import Item
from planbound.state.step import foretold, held

if TYPE_CHECKING:
    from planbound.judging.verdict import Verdict


class Told(NamedTuple):
    """An answer to an agent, in words and for programs."""

    ok: bool
    """False: refused, or not proved; the text says why, and what to do."""
    text: str
    data: Mapping[str, Json] = {}


_MOST_LOGGED = 200
_OUTPUT_LINES = 2000


def judged(work: Work, name: str, item: Item, settled: str = "done") -> Told:
    """Say what a contract came to, with the end of its output."""
    head = f"{name.partition(' “')[0]} → {settled}\n"
    if item.status is StepStatus.DONE:
        text = f"{head}{name} is proved{_seen(work, name)}."
        return Told(ok=True, text=text, data={**data_of(work), "proved": True})
    if item.status is StepStatus.HOLDS:
        text = (
            f"{head}{name} {held(item.reason)}: it is settled, and not proved{_seen(work, name)}."
        )
        return Told(ok=True, text=text, data={**data_of(work), "proved": False, "holds": True})
    text = f"{name} is not proved: {item.reason or 'its contract did not pass'}"
    if item.output.strip():
        text += f"\nThe end of the output, as data:\n{item.output.strip()[-_OUTPUT_LINES:]}"
    data: dict[str, Json] = {**data_of(work), "proved": False, "reason": item.reason}
    return Told(ok=False, text=text, data=data)


def _seen(work: Work, name: str) -> str:
    """Return what the harness saw of an item, in brackets."""
    short = name.partition(" “")[0]
    agenda = work.agenda
    entry = next(each for each in (*agenda.steps, *agenda.conditions) if each.name == short)
    evidence = evidence_of(entry)
    return f" ({evidence})" if evidence else ""


def created(work: Work, what: str, looked_at: "Sequence[Verdict]" = ()) -> Told:
    """Say that a plan was written, with how much of what, and show it."""
    plan = work.plan
    counted = [
        f"{count} {kind}{'' if count == 1 else 's'}"
        for kind, count in (
            ("step", len(plan.steps)),
            ("precondition", len(plan.preconditions)),
            ("postcondition", len(plan.postconditions)),
        )
        if count
    ]
    listed = ", ".join(counted[:-1]) + (" and " if counted[1:] else "") + counted[-1]
    head = f"plan {what} with {listed}: `{work.file.shown}`"
    return shown(work, f"{head}{before_work(work)}{_of_controls(looked_at)}")


def _of_controls(looked_at: "Sequence[Verdict]") -> str:
    """Say which contracts do not notice what they have to reject."""
    lines = [
        f"{verdict.subject.value} {verdict.number}: "
        + (
            f"the contract does not notice `{run.name}`: it passes with it."
            if run.result is ControlResult.UNNOTICED
            else f"`{run.name}` shows nothing: {run.reason}."
        )
        for verdict in looked_at
        for run in verdict.controls
        if run.result is not ControlResult.NOTICED
    ]
    if lines:
        lines.append("Let the contract see the difference, or give another control: `plan_amend`.")
    return "".join(f"\n{line}" for line in lines)


def before_work(work: Work, *labels: str) -> str:
    """Say which steps cannot be proved as they are now: of all that are open, or of some."""
    lines = []
    usual = work.session.context.configuration.baseline
    for case in cases(work.plan):
        item = work.state.steps.get(work.ids.get(case.number, ""), Item())
        is_step = case.subject is SubjectKind.STEP and (not labels or case.number in labels)
        if not is_step or item.status.is_settled or item.status is StepStatus.BLOCKED:
            continue
        look, probe = seen_before(work, case), work.state.probes.get(f"step {case.number}")
        seen = look.attempt or look.approval
        if seen is not None and seen.verdict is VerdictKind.PASS:
            red = demands_red(case.baseline, usual)
            lines.append(f"step {case.number} is {foretold(red=red)}.")
        elif seen is None and (probe is not None or isinstance(case.contract, Command)):
            call = f'`step_update({case.number}, "in_progress")`'
            lines.append(f"step {case.number} was not looked at yet: {call} before any work on it.")
    if any(" is green now" in line for line in lines):
        lines.append(
            "A step is proved by a contract that is red until its work is done: `plan_amend`."
        )
    return "".join(f"\n{line}" for line in lines)


def finished(decision: Decision | Silent, *, done: bool, dropped: str) -> Told:
    """Say what the gate decided; `done`: it accepted the plan before."""
    match decision:
        case Accept():
            text = f"Accepted: {decision.outcome}."
            for what, items in (
                ("Only claimed", decision.claimed),
                ("Only blocked", decision.blocked),
                ("Holds, and is not proved", decision.holds),
                ("Of the start", decision.preconditions),
            ):
                text += f"\n{what}: {'; '.join(items)}" if items else ""
            data: dict[str, Json] = {
                "accepted": True,
                "outcome": decision.outcome.value,
                "claimed": list(decision.claimed),
                "blocked": list(decision.blocked),
                "holds": list(decision.holds),
                "preconditions": list(decision.preconditions),
            }
            return Told(ok=True, text=text + dropped, data=data)
        case Reject() | Capped():
            refused: dict[str, Json] = {
                "accepted": False,
                "outcome": SessionOutcome.INCOMPLETE.value
                if isinstance(decision, Capped)
                else None,
                "missing": list(decision.missing),
            }
            return Told(ok=False, text=decision.message, data=refused)
        case Silent():
            silent: dict[str, Json] = {"accepted": done, "waiting": decision.reason}
            return Told(ok=done, text=decision.reason, data=silent)


def shown(work: Work, head: str = "", *, only_open: bool = False) -> Told:
    """Show the plan below a sentence."""
    heading = heading_of(work.slug, work.plan, work.status)
    plan = show(heading, work.state, work.agenda, only_open=only_open)
    text = f"{head}\n\n{plan}" if head else plan
    return Told(ok=True, text=text, data=data_of(work))


def data_of(work: Work) -> dict[str, Json]:
    """Return where a plan is, for programs."""
    agenda: dict[str, Json] = to_builtins(agenda_data(work.agenda, work.state))
    return {"plan": work.slug, "status": work.status.value, **agenda}


def status_line(work: Work, waiting: str | None) -> Told:
    """Say in a line where a plan is; `waiting`: what a person has to do first."""
    agenda = work.agenda
    settled = sum(each.item.status.is_settled for each in agenda.steps)
    held = sum(each.item.status.is_settled for each in agenda.conditions)
    ended = work.state.outcome
    outcome = ended.value if ended else waiting or "open"
    status = work.status.value
    where = outcome if outcome == status else f"{status}, {outcome}"
    statuses = [each.item.status for each in agenda.steps]
    came_to = tallied(statuses)
    came_to = f" ({came_to})" if came_to else ""
    text = (
        f"`{work.slug}`: {settled}/{len(agenda.steps)} steps{came_to},"
        f" {held}/{len(agenda.conditions)} postconditions, {where}"
    )
    return Told(ok=True, text=text, data=data_of(work))


def logged(session: SessionContext, slug: str, last: int) -> Told:
    """Show the last events of a plan."""
    most = max(1, min(last, _MOST_LOGGED))
    records = list(session.journal.read(Query(plan=slug)))[-most:]
    lines = [
        f"{each.draft.timestamp[:19]}Z {each.kind.value}"
        f"{' ' + each.draft.task_id if each.draft.task_id else ''}"
        for each in records
    ]
    events: list[Json] = [
        {
            "time": each.draft.timestamp,
            "event": each.kind.value,
            "step": each.draft.task_id,
            "reason": reason_of(each.event),
        }
        for each in records
    ]
    data: dict[str, Json] = {"plan": slug, "events": events}
    return Told(ok=True, text="\n".join(lines), data=data)
