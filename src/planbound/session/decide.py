"""Whether an agent may end: the one decision behind every surface of the gate."""

import enum
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from planbound.journal.event import SessionOutcome
from planbound.plan.model import StepStatus
from planbound.source import fenced, lazy_pattern, visible
from planbound.state.item import Item
from planbound.state.session import LoopState
from planbound.state.step import held
from planbound.workspace.configuration import Require


def line_of(text: str, most: int) -> str:
    """Return a text on one line, cut, with nothing in it that a terminal would hide or obey."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def command_of(text: str, most: int) -> str:
    """Return a command on one line; of one that has several the first, which says that it does.

    Lines that are joined by blanks would be another command, which nobody ran.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    first = line_of(lines[0], most) if lines else ""
    return f"{first} …" if len(lines) > 1 and not first.endswith("…") else first


REFUSALS = 5
"""So often in a row without progress, and it ends as incomplete."""
_MOST_REFUSALS = 60
"""So often in all: progress that never arrives anywhere is none."""
STOPS, STOP_MINUTES = 5, 10
"""So often in a row, and for so long, may something in the background be waited for."""
_MOST_STOPS = 60
_TITLE, _REASON = 120, 300
_OUTPUT, _MOST_OUTPUTS = 1500, 3


class AgendaItem(Struct, frozen=True):
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

    steps: tuple[AgendaItem, ...]
    conditions: tuple[AgendaItem, ...]
    preconditions: tuple[AgendaItem, ...] = ()
    waits: str | None = None
    """Why nothing may be done yet, and what the agent has to call."""


class LoopOutcome(enum.StrEnum):
    """How the loop of an agent ended, for the program that drives it."""

    DONE = SessionOutcome.DONE.value
    FINISHED_BLOCKED = SessionOutcome.FINISHED_BLOCKED.value
    INCOMPLETE = SessionOutcome.INCOMPLETE.value
    UNDECIDED = "undecided"
    """The gate had nothing to decide: there is no plan, or a person is asked."""


class Accept(Struct, frozen=True):
    """The agent may end."""

    outcome: LoopOutcome
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


class Capped(Struct, frozen=True):
    """The agent may end, and it is not done."""

    message: str
    missing: tuple[str, ...]


class Silent(Struct, frozen=True):
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
    if state.outcome is SessionOutcome.INCOMPLETE:
        return Capped(_capped(missing, "it ended so before"), missing)
    again = refusals_on(state, tree)
    if again >= bound:
        return Capped(_capped(missing, f"refused {again} times without progress"), missing)
    if state.all_refusals >= _MOST_REFUSALS:
        return Capped(_capped(missing, f"refused {state.all_refusals} times in all"), missing)
    return Reject(_refusal(missing, again + 1, bound, _outputs(agenda)), missing)


def may_wait(state: LoopState, now: str) -> bool:
    """Say whether an agent may stop unasked, because something of its own still runs.

    A task that never ends would keep it from being asked for ever. Progress begins a new wait.
    """
    deferred = state.deferred
    if deferred.stops >= STOPS or deferred.in_all >= _MOST_STOPS:
        return False
    if deferred.since is None:
        return True
    waited = datetime.fromisoformat(now) - datetime.fromisoformat(deferred.since)
    return timedelta() <= waited < timedelta(minutes=STOP_MINUTES)


def refusals_on(state: LoopState, tree: str | None) -> int:
    """Return how often in a row it was refused without progress: another tree may be some."""
    return state.refusals if tree == state.refused_tree else 0


def _accepted(agenda: Agenda) -> Accept:
    everything = (*agenda.preconditions, *agenda.steps, *agenda.conditions)
    claimed = [_named(each) for each in everything if each.item.status is StepStatus.CLAIMED]
    blocked = [
        f"{_named(each)}: {line_of(each.item.reason, _REASON)}"
        for each in everything
        if each.item.status is StepStatus.BLOCKED
    ]
    holds = [
        f"{_named(each)} ({line_of(each.item.reason, _REASON)})"
        for each in agenda.steps
        if each.item.status is StepStatus.HOLDS
    ]
    outcome = LoopOutcome.FINISHED_BLOCKED if blocked else LoopOutcome.DONE
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
    if agenda.steps and all(each.item.status is StepStatus.BLOCKED for each in agenda.steps):
        yield "every step is blocked: at least one has to be proved or claimed"


def _lack(entry: AgendaItem, require: Require) -> str | None:
    status = entry.item.status
    if status is StepStatus.BLOCKED:
        return None if entry.item.reason.strip() else "is blocked without a reason"
    if status is StepStatus.CLAIMED and require is not Require.CLAIMED:
        return "is only claimed, and has to be proved: give it a contract by `plan_amend(...)`"
    if status.is_settled:
        return None
    what = "is begun and not done" if status is StepStatus.IN_PROGRESS else "is not done"
    if entry.item.reason:
        what = f"is not proved ({line_of(entry.item.reason, _REASON)})"
    if entry.item.regressed:
        what = f"was green, and a later edit broke it ({line_of(entry.item.reason, _REASON)})"
    return f"{what}: `{entry.call}`"


def lack_of_start(entry: AgendaItem, require: Require, *, step: str | None = None) -> str | None:
    """Return why a precondition lets no step begin, and no agent end; None where it holds.

    `step`: the step that is to begin, for the call that settles it.
    """
    status, item = entry.item.status, entry.item
    if status is StepStatus.CLAIMED and require is not Require.CLAIMED:
        return "is only claimed, and has to be checked: it needs a contract"
    if status.is_settled:
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


def _only_holds(entry: AgendaItem) -> str | None:
    if entry.item.status is not StepStatus.HOLDS:
        return None
    return (
        f"{held(line_of(entry.item.reason, _REASON))}, and has to be proved: give it a contract"
        " that fails without the work by `plan_amend(...)`"
    )


def _named(entry: AgendaItem) -> str:
    return f"{entry.name} “{line_of(entry.title, _TITLE)}”"


def _outputs(agenda: Agenda) -> Iterator[str]:
    """Yield the end of what each contract printed that fails, a bounded number of them."""
    failing = [
        each
        for each in (*agenda.preconditions, *agenda.steps, *agenda.conditions)
        if not each.item.status.is_settled
        and each.item.status is not StepStatus.BLOCKED
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
    more = "1 more refusal" if left == 1 else f"{left} more refusals"
    end = (
        f"After {more} without progress this ends as incomplete."
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
        f"NOT DONE ({SessionOutcome.INCOMPLETE.value}: {why}). Missing:\n{listed}\n"
        "A person decides what becomes of it."
    )


_WORDS = lazy_pattern(r"\w+")
_LEAST = 3
"""So many characters that count."""
_EMPTY_WORDS = frozenset(
    "done complete completed finished ok okay yes true fixed works working implemented ready"
    " pass passed passes success successful successfully verified checked tested all it is was the"
    " this that step task item has been now and good fine see above as i have did n a na none"
    " everything evidence tbd todo".split()
)


def lack_of_substance(evidence: str, *titles: str) -> str | None:
    """Return why a text is no evidence; None where it may be some."""
    if not evidence.strip():
        return "the evidence is blank"
    words = [word.casefold() for word in _WORDS.findall(evidence)]
    if sum(map(len, words)) < _LEAST:
        return "the evidence is too short to say anything"
    said = set(words)
    if said <= _EMPTY_WORDS:
        return "the evidence says only that it is done, not what shows it"
    for title in titles:
        known = {word.casefold() for word in _WORDS.findall(title)}
        if known and said <= known | _EMPTY_WORDS:
            return "the evidence repeats what was to be done, and shows nothing"
    return None
