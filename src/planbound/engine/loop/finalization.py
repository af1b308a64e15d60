"""Whether an agent may end: the one decision behind every surface of the gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.engine.configuration import Require
from planbound.engine.judging.proof import held
from planbound.engine.loop.line import line_of
from planbound.engine.loop.state import INCOMPLETE, Item, LoopState, Standing
from planbound.engine.prompt import fenced
from planbound.source.visible import visible

REFUSALS = 5
"""So often in a row without progress, and it ends as incomplete."""
_MOST_REFUSALS = 60
"""So often in all: progress that never arrives anywhere is none."""
_TITLE, _REASON = 120, 300
_OUTPUT, _MOST_OUTPUTS = 1500, 3


class Entry(NamedTuple):
    """One step or postcondition, as the gate looks at it."""

    name: str
    """How it is called in a sentence: `step 2`."""
    title: str
    item: Item
    has_contract: bool
    call: str
    """The call that would settle it."""
    id: str = ""
    """How it is called for ever; a postcondition has its number only."""
    command: str = ""
    """What the harness runs, or looks at, to judge it."""


class Agenda(NamedTuple):
    """All that a plan asks for."""

    steps: tuple[Entry, ...]
    conditions: tuple[Entry, ...]
    preconditions: tuple[Entry, ...] = ()
    waits: str | None = None
    """Why nothing may be done yet, and what the agent has to call."""


class Accept(NamedTuple):
    """The agent may end."""

    outcome: str
    """`done`, or `finished with blocked items`."""
    claimed: tuple[str, ...] = ()
    """What is proved by nobody."""
    blocked: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    """The steps that pass, and that nobody saw red before the work."""
    preconditions: tuple[str, ...] = ()
    """The preconditions that were red first, or that nobody saw hold before the work began."""


class Reject(NamedTuple):
    """The agent has to go on."""

    message: str
    missing: tuple[str, ...]


class Capped(NamedTuple):
    """The agent may end, and it is not done."""

    message: str
    missing: tuple[str, ...]


class Silent(NamedTuple):
    """Nothing is demanded of the agent now."""

    reason: str


Decision = Accept | Reject | Capped


def decide(
    state: LoopState, agenda: Agenda, tree: str | None, require: Require, *, bound: int = REFUSALS
) -> Decision:
    """Return whether the agent may end, now that everything is judged on this tree."""
    missing = tuple(_missing(agenda, require))
    if not missing:
        return _accepted(agenda)
    if state.outcome == INCOMPLETE:
        return Capped(_capped(missing, "it ended so before"), missing)
    again = refusals_on(state, tree)
    if again >= bound:
        return Capped(_capped(missing, f"refused {again} times without progress"), missing)
    if state.all_refusals >= _MOST_REFUSALS:
        return Capped(_capped(missing, f"refused {state.all_refusals} times in all"), missing)
    return Reject(_refusal(missing, again + 1, bound, _outputs(agenda)), missing)


def refusals_on(state: LoopState, tree: str | None) -> int:
    """Return how often in a row it was refused without progress: another tree may be some."""
    return state.refusals if tree == state.refused_tree else 0


def _accepted(agenda: Agenda) -> Accept:
    everything = (*agenda.preconditions, *agenda.steps, *agenda.conditions)
    claimed = [_named(each) for each in everything if each.item.standing is Standing.CLAIMED]
    blocked = [
        f"{_named(each)}: {line_of(each.item.reason, _REASON)}"
        for each in everything
        if each.item.standing is Standing.BLOCKED
    ]
    holds = [
        f"{_named(each)} ({line_of(each.item.reason, _REASON)})"
        for each in agenda.steps
        if each.item.standing is Standing.HOLDS
    ]
    outcome = "finished with blocked items" if blocked else "done"
    start = [
        f"{_named(each)} ({line_of(each.item.reason, _REASON)})"
        for each in agenda.preconditions
        if each.item.reason
    ]
    return Accept(outcome, tuple(claimed), tuple(blocked), tuple(holds), tuple(start))


def _missing(agenda: Agenda, require: Require) -> Iterator[str]:
    """Yield exactly what is missing, each with the call that would settle it."""
    if agenda.waits is not None:
        yield agenda.waits
    if not agenda.steps:
        yield "the plan has no step: `plan_create(objective, steps, postconditions)`"
    for entry in agenda.preconditions:
        lack = lack_of_start(entry, require)
        if lack is not None:
            yield f"{_named(entry)} {lack}"
    for entry in (*agenda.steps, *agenda.conditions):
        lack = _lack(entry, require)
        if lack is None and entry in agenda.steps and require is Require.PROVED:
            lack = _only_holds(entry)  # of a postcondition nothing but the end is demanded
        if lack is not None:
            yield f"{_named(entry)} {lack}"
    if agenda.steps and all(each.item.standing is Standing.BLOCKED for each in agenda.steps):
        yield "every step is blocked: at least one has to be proved or claimed"


def _lack(entry: Entry, require: Require) -> str | None:
    standing = entry.item.standing
    if standing is Standing.BLOCKED:
        return None if entry.item.reason.strip() else "is blocked without a reason"
    if standing is Standing.CLAIMED and require is not Require.CLAIMED:
        return "is only claimed, and has to be proved: give it a contract by `plan_amend(...)`"
    if standing.is_settled:
        return None
    what = "is begun and not done" if standing is Standing.IN_PROGRESS else "is not done"
    if entry.item.reason:
        what = f"is not proved ({line_of(entry.item.reason, _REASON)})"
    if entry.item.regressed:
        what = f"was green, and a later edit broke it ({line_of(entry.item.reason, _REASON)})"
    return f"{what}: `{entry.call}`"


def lack_of_start(entry: Entry, require: Require, *, step: str | None = None) -> str | None:
    """Return why a precondition lets no step begin, and no agent end; None where it holds.

    `step`: the step that is to begin, for the call that settles it.
    """
    standing, item = entry.item.standing, entry.item
    if standing is Standing.CLAIMED and require is not Require.CLAIMED:
        return "is only claimed, and has to be checked: it needs a contract"
    if standing.is_settled:
        return None
    if not entry.has_contract:
        call = f'step_update({step or "..."!r}, "in_progress", evidence="...")'
        return f"has no contract, so say what shows that it holds: `{call}`"
    if entry.call:
        return f"does not hold yet: {entry.call}"
    if not item.reason:
        return "was not judged yet: " + f'`step_update({step or "..."!r}, "in_progress")`'
    return (
        f"does not hold ({line_of(item.reason, _REASON)}): no step may begin before it does; what"
        " is missing outside of the workspace is for a person"
    )


def _only_holds(entry: Entry) -> str | None:
    if entry.item.standing is not Standing.HOLDS:
        return None
    return (
        f"{held(line_of(entry.item.reason, _REASON))}, and has to be proved: give it a contract"
        " that fails without the work by `plan_amend(...)`"
    )


def _named(entry: Entry) -> str:
    return f"{entry.name} “{line_of(entry.title, _TITLE)}”"


def _outputs(agenda: Agenda) -> Iterator[str]:
    """Yield the end of what each contract printed that fails, a bounded number of them."""
    failing = [
        each
        for each in (*agenda.preconditions, *agenda.steps, *agenda.conditions)
        if not each.item.standing.is_settled
        and each.item.standing is not Standing.BLOCKED
        and each.item.output.strip()
    ]
    for entry in failing[:_MOST_OUTPUTS]:
        lines = entry.item.output.strip()[-_OUTPUT:].splitlines()
        said = "\n".join(map(visible, lines))
        yield f"The end of what the contract of {entry.name} printed, as data:\n\n{fenced(said)}"


def _refusal(missing: Sequence[str], count: int, bound: int, outputs: Iterable[str]) -> str:
    listed = "\n".join(f"- {each}" for each in missing)
    what = "one thing is missing" if len(missing) == 1 else f"{len(missing)} things are missing"
    left = bound - count
    end = (
        f"After {left} more refusals without progress this ends as incomplete."
        if left > 0
        else "The next refusal without progress ends this as incomplete."
    )
    head = (
        f"The plan is not done, {what}:\n{listed}\n\n"
        "Do the work, then make the calls. Only what is missing outside of the workspace is set to"
        f" blocked, with the reason; tests that fail are the work. {end}"
    )
    return "\n\n".join((head, *outputs))


def _capped(missing: Sequence[str], why: str) -> str:
    listed = "\n".join(f"- {each}" for each in missing)
    return (
        f"NOT DONE ({INCOMPLETE}: {why}). Missing:\n{listed}\nA person decides what becomes of it."
    )
