"""A plan as an agent reads it: short, one line an item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planbound.engine.judging.proof import held, tally
from planbound.engine.loop.finalization import Agenda, Entry
from planbound.engine.loop.line import command_of, line_of
from planbound.engine.loop.state import RELEASED, Dropped, Item, LoopState, Standing
from planbound.journal.record import Json
from planbound.plan.model import Attest, Command, Condition, Contract, Plan, PlanStatus, Step

MARKS = {
    Standing.PENDING: "[ ]",
    Standing.IN_PROGRESS: "[.]",
    Standing.PROVED: "[x]",
    Standing.HOLDS: "[=]",
    Standing.CLAIMED: "[~]",
    Standing.BLOCKED: "[!]",
    Standing.WAIVED: "[x]",
    Standing.ATTESTED: "[x]",
}
_TITLE, _DETAIL, _OBJECTIVE = 60, 70, 300
_COMMAND, _NOTES = 80, 200


def agenda_of(plan: Plan, ids: dict[str, str], state: LoopState, probed: Sequence[str]) -> Agenda:
    """Return all that a plan asks for, with where each item is.

    `probed` are the names, such as `postcondition 2`, of what the harness looks at itself.
    """
    steps = []
    for step in plan.steps:
        name = f"step {step.label}"
        steps.append(
            Entry(
                name=name,
                title=step.title,
                item=state.steps.get(ids[step.label], Item()),
                has_contract=step.contract is not None or name in probed,
                call=_call(step, ids[step.label]),
                id=ids[step.label],
                command=_command(step.contract, state, name),
            )
        )
    conditions = []
    for each in plan.postconditions:
        name = f"postcondition {each.number}"
        conditions.append(
            Entry(
                name=name,
                title=each.statement,
                item=state.conditions.get(str(each.number), Item()),
                has_contract=each.contract is not None or name in probed,
                call=_condition_call(each),
                id=str(each.number),
                command=_command(each.contract, state, name),
            )
        )
    return Agenda(tuple(steps), tuple(conditions), tuple(_start(plan, state, probed)))


def _start(plan: Plan, state: LoopState, probed: Sequence[str]) -> Iterator[Entry]:
    for each in plan.preconditions:
        name, attested = f"precondition {each.number}", isinstance(each.contract, Attest)
        yield Entry(
            name=name,
            title=each.statement,
            item=state.preconditions.get(str(each.number), Item()),
            has_contract=each.contract is not None or name in probed,
            call="a person attests it by `planbound attest`" if attested else "",
            id=str(each.number),
            command=_command(each.contract, state, name),
        )


def _command(contract: Contract | None, state: LoopState, name: str) -> str:
    if isinstance(contract, Command):
        return contract.text
    return str(state.probes[name].get("name")) if name in state.probes else ""


def _call(step: Step, name: str) -> str:
    if isinstance(step.contract, Attest):
        return f'step_update({name!r}, "blocked", evidence="a person has to attest ...")'
    return f'step_update({name!r}, "done", evidence="...")'


def _condition_call(condition: Condition) -> str:
    if isinstance(condition.contract, Attest):
        return f'postcondition_block({condition.number}, reason="a person has to attest ...")'
    return f'postcondition_verify({condition.number}, evidence="...")'


class Heading(NamedTuple):
    """What stands above the items of a plan."""

    slug: str
    objective: str
    status: PlanStatus


def heading_of(slug: str, plan: Plan, status: PlanStatus) -> Heading:
    """Return what stands above the items of a plan."""
    return Heading(slug, plan.objective.value if plan.objective else slug, status)


def show(heading: Heading, state: LoopState, agenda: Agenda, *, only_open: bool) -> str:
    """Return the plan in a few lines."""
    return "\n".join(_lines(heading, state, agenda, only_open=only_open))


def _lines(heading: Heading, state: LoopState, agenda: Agenda, *, only_open: bool) -> Iterator[str]:
    slug, objective, status = heading
    named = f"Plan `{slug}`, {status.value}, revision {max(1, state.revision)}"
    yield f"{named}: {line_of(objective, _OBJECTIVE)}"
    if state.outcome is not None:
        by = f" {line_of(state.ended_by, _DETAIL)}" if state.outcome == RELEASED else ""
        yield f"It ended: {state.outcome}{by}."
    if agenda.preconditions:
        held = sum(each.item.standing.is_settled for each in agenda.preconditions)
        yield f"Preconditions, {held} of {len(agenda.preconditions)} hold"
        yield from _entries(agenda.preconditions, only_open=only_open)
    settled = sum(each.item.standing.is_settled for each in agenda.steps)
    yield f"{settled} of {len(agenda.steps)} steps settled{_holding(agenda)}"
    yield from _entries(agenda.steps, only_open=only_open)
    if agenda.conditions:
        held = sum(each.item.standing.is_settled for each in agenda.conditions)
        yield f"Postconditions, {held} of {len(agenda.conditions)} hold"
        yield from _entries(agenda.conditions, only_open=only_open)
    if state.dropped and not only_open:
        yield "Dropped by a rewrite: " + ", ".join(_dropped(each) for each in state.dropped)


def _holding(agenda: Agenda) -> str:
    told = tallied([each.item.standing for each in agenda.steps])
    return f": {told}" if told else ""


def tallied(found: Sequence[Standing]) -> str:
    """Return what steps came to, where not all that are settled are proved."""
    holds, attested = found.count(Standing.HOLDS), found.count(Standing.ATTESTED)
    if not holds and not attested:
        return ""
    return tally(found.count(Standing.PROVED), len(found), holds, attested)


def _entries(entries: Sequence[Entry], *, only_open: bool) -> Iterator[str]:
    for entry in entries:
        if only_open and entry.item.standing.is_settled:
            continue
        number = entry.name.rpartition(" ")[2]
        mark, title = MARKS[entry.item.standing], line_of(entry.title, _TITLE)
        yield f"{mark} {number} {title}{_detail(entry)}"
        if evidence_of(entry):
            yield f"    evidence: {evidence_of(entry)}"
        if entry.item.notes:
            yield f"    notes: {line_of(entry.item.notes, _NOTES)}"


def evidence_of(entry: Entry) -> str:
    """Return what the harness saw of an item that is green: the command, what it said, when."""
    item = entry.item
    if not item.standing.is_green or not item.at:
        return ""
    command = f"`{command_of(entry.command, _COMMAND)}`, " if entry.command else ""
    return f"{command}{line_of(item.saw, _DETAIL)}, {item.at[:19].replace('T', ' ')}Z"


def _detail(entry: Entry) -> str:
    item = entry.item
    match item.standing:
        case Standing.PROVED:
            return ": proved"
        case Standing.HOLDS:
            return f": {held(line_of(item.reason, _DETAIL))}"
        case Standing.CLAIMED:
            return f": claimed, {line_of(item.evidence, _DETAIL)}"
        case Standing.BLOCKED:
            return f": blocked, {line_of(item.reason, _DETAIL)}"
        case Standing.WAIVED | Standing.ATTESTED:
            return f": {line_of(item.reason, _DETAIL)}"
        case Standing.PENDING | Standing.IN_PROGRESS:
            return _open_detail(entry)


def _open_detail(entry: Entry) -> str:
    item = entry.item
    if item.regressed:
        return f": was green, broken since, {line_of(item.reason, _DETAIL)}"
    if item.reason:
        what = "does not hold" if entry.name.startswith("precondition") else "not proved"
        return f": {what}, {line_of(item.reason, _DETAIL)}"
    return "" if entry.has_contract else ": no contract, needs evidence"


def _dropped(each: Dropped) -> str:
    return f"“{line_of(each.title, _TITLE)}” ({each.standing})"


def agenda_data(agenda: Agenda, state: LoopState) -> dict[str, Json]:
    """Return the same for programs."""
    return {
        "revision": max(1, state.revision),
        "outcome": state.outcome,
        "preconditions": [_data(each) for each in agenda.preconditions],
        "steps": [_data(each) for each in agenda.steps],
        "postconditions": [_data(each) for each in agenda.conditions],
        "dropped": [
            {"id": each.id, "title": each.title, "was": each.standing, "revision": each.revision}
            for each in state.dropped
        ],
    }


def _data(entry: Entry) -> Json:
    item = entry.item
    return {
        "id": entry.id,
        "number": entry.name.rpartition(" ")[2],
        "title": entry.title,
        "status": item.standing.value,
        "has_contract": entry.has_contract,
        "evidence": item.evidence,
        "reason": item.reason,
        "notes": item.notes,
        "proof": evidence_of(entry),
    }
