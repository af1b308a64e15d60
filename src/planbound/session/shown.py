"""How an agent is to work with the plan tools: the one text that every surface hands out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from msgspec import Struct

from planbound.journal.event import SessionOutcome
from planbound.journal.words import ToolStatus
from planbound.plan.model import (
    Attest,
    Condition,
    Contract,
    Judged,
    Plan,
    PlanStatus,
    Step,
    StepStatus,
)
from planbound.session.decide import Agenda, AgendaItem, command_of, line_of
from planbound.state.item import Dropped, Item, tool_word
from planbound.state.session import LoopState
from planbound.state.step import held, tally

# -- how an agent is to work with the plan tools: the one text that every surface hands out ------


INSTRUCTIONS = """\
Planbound holds you to a plan. A step with a contract (a shell command) is done when Planbound has
run the contract and seen it pass. Saying so is not enough, and you may end when the plan is done.

1. Before a task of more than one step: `plan_create(objective, steps, postconditions)`, or
   `plan_show()` where there is a plan. Give each step a contract where there is a command that
   fails now and passes when the step is done: `{"title": "Add the parser", "contract":
   "pytest tests/test_parser.py -q", "touches": ["src/parser.py"]}`.
2. `step_update(step, "in_progress")`, do the work, then `step_update(step, "done",
   evidence="what shows it")`. A contract is run then: the answer says proved, or what failed. What
   was green before the work only *holds*; a step without a contract is only *claimed*.
3. Only what is missing outside of the workspace (a credential, a service, a person's decision) is
   set to `blocked`, with the reason. Tests that fail are the work.
4. `postcondition_verify(postcondition, evidence)` for each postcondition.
5. `plan_finish(summary)` before you say that you are done: it judges once more, and says what is
   missing. A refusal is no error: do what it lists.

`plan_show(only="open")` is short: call it after a break. `plan_amend` changes what is not proved.
`.harness/`, `planbound.toml` and the tests that judge are not yours to edit. People, not you,
approve, waive, attest, answer and release: where that is needed, say so and wait.
"""
# -- A plan as an agent reads it: short, one line an item ----------------------------------------
MARKS = {
    StepStatus.PENDING: "[ ]",
    StepStatus.IN_PROGRESS: "[.]",
    StepStatus.DONE: "[x]",
    StepStatus.HOLDS: "[=]",
    StepStatus.CLAIMED: "[~]",
    StepStatus.BLOCKED: "[!]",
    StepStatus.WAIVED: "[x]",
    StepStatus.ATTESTED: "[x]",
}
"""Of a step in the loop: nobody skips one there, and none fails for good."""
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
            AgendaItem(
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
            AgendaItem(
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


def _start(plan: Plan, state: LoopState, probed: Sequence[str]) -> Iterator[AgendaItem]:
    for each in plan.preconditions:
        name, attested = f"precondition {each.number}", isinstance(each.contract, Attest)
        yield AgendaItem(
            name=name,
            title=each.statement,
            item=state.preconditions.get(str(each.number), Item()),
            has_contract=each.contract is not None or name in probed,
            call="a person attests it by `planbound attest`" if attested else "",
            id=str(each.number),
            command=_command(each.contract, state, name),
        )


def _command(contract: Contract | None, state: LoopState, name: str) -> str:
    if isinstance(contract, Judged):
        return contract.text
    return state.probes[name].name if name in state.probes else ""


def _call(step: Step, name: str) -> str:
    if isinstance(step.contract, Attest):
        return f'step_update({name!r}, "blocked", evidence="a person has to attest ...")'
    return f'step_update({name!r}, "done", evidence="...")'


def _condition_call(condition: Condition) -> str:
    if isinstance(condition.contract, Attest):
        return f'postcondition_block({condition.number}, reason="a person has to attest ...")'
    return f'postcondition_verify({condition.number}, evidence="...")'


class Heading(Struct, frozen=True):
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
    named = f"Plan `{heading.slug}`, {heading.status.value}, revision {max(1, state.revision)}"
    yield f"{named}: {line_of(heading.objective, _OBJECTIVE)}"
    if state.outcome is not None:
        by = (
            f" {line_of(state.ended_by, _DETAIL)}"
            if state.outcome is SessionOutcome.RELEASED
            else ""
        )
        yield f"It ended: {state.outcome.value}{by}."
    if agenda.preconditions:
        held = sum(each.item.status.is_settled for each in agenda.preconditions)
        yield f"Preconditions, {held} of {len(agenda.preconditions)} hold"
        yield from _entries(agenda.preconditions, only_open=only_open)
    settled = sum(each.item.status.is_settled for each in agenda.steps)
    yield f"{settled} of {len(agenda.steps)} steps settled{_holding(agenda)}"
    yield from _entries(agenda.steps, only_open=only_open)
    if agenda.conditions:
        held = sum(each.item.status.is_settled for each in agenda.conditions)
        yield f"Postconditions, {held} of {len(agenda.conditions)} hold"
        yield from _entries(agenda.conditions, only_open=only_open)
    if state.dropped and not only_open:
        yield "Dropped by a rewrite: " + ", ".join(_dropped(each) for each in state.dropped)


def _holding(agenda: Agenda) -> str:
    told = tallied([each.item.status for each in agenda.steps])
    return f": {told}" if told else ""


def tallied(found: Sequence[StepStatus]) -> str:
    """Return what steps came to, where not all that are settled are proved."""
    holds, attested = found.count(StepStatus.HOLDS), found.count(StepStatus.ATTESTED)
    if not holds and not attested:
        return ""
    return tally(found.count(StepStatus.DONE), len(found), holds, attested)


def _entries(entries: Sequence[AgendaItem], *, only_open: bool) -> Iterator[str]:
    for entry in entries:
        if only_open and entry.item.status.is_settled:
            continue
        number = entry.name.rpartition(" ")[2]
        mark, title = MARKS[entry.item.status], line_of(entry.title, _TITLE)
        yield f"{mark} {number} {title}{_detail(entry)}"
        if evidence_of(entry):
            yield f"    evidence: {evidence_of(entry)}"
        if entry.item.notes:
            yield f"    notes: {line_of(entry.item.notes, _NOTES)}"


def evidence_of(entry: AgendaItem) -> str:
    """Return what the harness saw of an item that is green: the command, what it said, when."""
    item = entry.item
    if not item.status.is_green or not item.at:
        return ""
    command = f"`{command_of(entry.command, _COMMAND)}`, " if entry.command else ""
    return f"{command}{line_of(item.saw, _DETAIL)}, {item.at[:19].replace('T', ' ')}Z"


def _detail(entry: AgendaItem) -> str:
    item = entry.item
    match item.status:
        case StepStatus.DONE:
            return ": proved"
        case StepStatus.HOLDS:
            return f": {held(line_of(item.reason, _DETAIL))}"
        case StepStatus.CLAIMED:
            return f": claimed, {line_of(item.evidence, _DETAIL)}"
        case StepStatus.BLOCKED:
            return f": blocked, {line_of(item.reason, _DETAIL)}"
        case StepStatus.WAIVED | StepStatus.ATTESTED:
            return f": {line_of(item.reason, _DETAIL)}"
        case _:
            return _open_detail(entry)


def _open_detail(entry: AgendaItem) -> str:
    item = entry.item
    if item.regressed:
        return f": was green, broken since, {line_of(item.reason, _DETAIL)}"
    if item.reason:
        what = "does not hold" if entry.name.startswith("precondition") else "not proved"
        return f": {what}, {line_of(item.reason, _DETAIL)}"
    return "" if entry.has_contract else ": no contract, needs evidence"


def _dropped(each: Dropped) -> str:
    return f"“{line_of(each.title, _TITLE)}” ({tool_word(each.status).value})"


class ItemData(Struct, frozen=True):
    """A step or a condition, for programs."""

    id: str
    number: str
    title: str
    status: ToolStatus
    """What the plan tools call it."""
    has_contract: bool
    evidence: str
    reason: str
    notes: str
    proof: str


class DroppedData(Struct, frozen=True):
    """A step that a later revision left out, for programs."""

    id: str
    title: str
    was: ToolStatus
    revision: int


class AgendaData(Struct, frozen=True):
    """Where a plan is, for programs."""

    revision: int
    outcome: SessionOutcome | None
    preconditions: list[ItemData]
    steps: list[ItemData]
    postconditions: list[ItemData]
    dropped: list[DroppedData]


def agenda_data(agenda: Agenda, state: LoopState) -> AgendaData:
    """Return the same for programs."""
    return AgendaData(
        revision=max(1, state.revision),
        outcome=state.outcome,
        preconditions=[_data(each) for each in agenda.preconditions],
        steps=[_data(each) for each in agenda.steps],
        postconditions=[_data(each) for each in agenda.conditions],
        dropped=[
            DroppedData(each.id, each.title, tool_word(each.status), each.revision)
            for each in state.dropped
        ],
    )


def _data(entry: AgendaItem) -> ItemData:
    item = entry.item
    return ItemData(
        id=entry.id,
        number=entry.name.rpartition(" ")[2],
        title=entry.title,
        status=tool_word(item.status),
        has_contract=entry.has_contract,
        evidence=item.evidence,
        reason=item.reason,
        notes=item.notes,
        proof=evidence_of(entry),
    )


# -- what an agent is told that begins, or begins anew after its context was compacted -----------


_HOW = (
    "Work on the first open step. Call `step_update` when you begin one and when it is done: the"
    " harness then runs its contract itself. You may end when the plan is done. Only what is"
    " missing outside of the workspace is set to blocked, with the reason; tests that fail are the"
    " work."
)

_MOST_TEXT = 7000
"""So many characters say which plans there are; what is said around them is short."""


def orient(slug: str, shown: str, names: Sequence[str], *, waiting: str | None) -> str:
    """Return the plan, what is next, and which other plans there are."""
    parts = [f"This session works on the plan `{slug}`.", shown, waiting or _HOW]
    others = [name for name in names if name != slug]
    if others:
        listed = ", ".join(f"`{name}`" for name in others)
        parts.append(f"Other plans here, which are not yours: {listed}.")
    return "\n\n".join(parts)


OWN = (
    "`plan_create(objective, steps, postconditions)` goes on with none of them: it makes a new plan"
    " of your own beside them, where that is what is wanted."
)
"""What an agent that has the plan tools has to know, too."""


class PlanChoice(Struct, frozen=True):
    """A plan that a session could be bound to."""

    slug: str
    status: PlanStatus | None
    """None where it cannot be read."""
    steps: int
    proved: int


def offer(plans: Sequence[PlanChoice], more: int) -> str:
    """Return which plans there are for a session that is bound to none, and how it gets one.

    All that there are, as far as that stays a text that can be read.
    """
    listed: list[str] = []
    room = _MOST_TEXT
    for plan in plans:
        steps = f"{plan.proved}/{plan.steps} steps proved" if plan.steps else "no steps"
        status = plan.status.value if plan.status else "cannot be read"
        line = f"- `{line_of(plan.slug, 100)}`: {status}, {steps}"
        room -= len(line) + 1
        if room < 0:
            break
        listed.append(line)
    more += len(plans) - len(listed)
    if more:
        listed.append(f"- and {more} more: `planbound list` names them all")
    name = shlex.quote(line_of(plans[0].slug, 100)) if plans else "NAME"
    how = (
        "None of them is yours before a person binds this worktree to one: by its name in"
        f" `.harness/active-plan` (`echo {name} > .harness/active-plan`), or by"
        f" `PLANBOUND_PLAN={name}` in the environment of the session. Ask which one is meant;"
        " do not choose by yourself."
    )
    return "\n".join(["This session is bound to no plan. The plans here:", *listed, how])
