"""What agents used, on what, and how sure that is: from what the journal says of each attempt."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from planbound.journal.event import (
    AttemptEnded,
    BudgetRaised,
    EventKind,
    ExecutionStarted,
    TaskStarted,
)
from planbound.journal.record import Provenance, Record
from planbound.plan.model import USUAL_TARGET
from planbound.state.step import decimal_of, dollars_of, tokens_of

KINDS = (
    EventKind.TASK_STARTED,
    EventKind.ATTEMPT_ENDED,
    EventKind.EXECUTION_STARTED,
    EventKind.BUDGET_RAISED,
)
"""The events that tell of it."""
OWN_LOOP = "model"
"""The kind of agent whose model our own loop asks, so that the numbers are those of its service."""


class CostSource(enum.Enum):
    """Where the numbers of an attempt come from."""

    MEASURED = "measured"
    """Our own loop asked the model, and counted what the service said of each request."""
    CLAIMED = "claimed"
    """The agent's program said so itself."""
    UNKNOWN = "unknown"
    """Nobody said anything."""


class AttemptCost(Struct, frozen=True):
    """One attempt, and what it is known to have used; None: nobody knows."""

    plan: str
    step: str
    """As the journal calls it."""
    title: str
    number: str
    attempt: int
    run: str | None
    when: str
    """When it ended, or when it began where no end is on record."""
    agent: str | None = None
    kind: str | None = None
    model: str | None = None
    role: str = USUAL_TARGET
    session: str | None = None
    """The session of an agent in the loop, which pays for itself."""
    tokens: int | None = None
    dollars: Decimal | None = None
    estimated: int = 0
    """How many of the tokens are estimated."""
    seconds: float | None = None
    ended: bool = True

    @property
    def source(self) -> CostSource:
        """Where its numbers come from."""
        if self.tokens is None and self.dollars is None:
            return CostSource.UNKNOWN
        return CostSource.MEASURED if self.kind == OWN_LOOP else CostSource.CLAIMED


def attempts(records: Iterable[Record]) -> list[AttemptCost]:
    """Return every attempt that somebody worked on, in the order in which they began.

    One without an end is there, too: it was cut off, is under way, or is that of an agent in the
    loop. What it used nobody knows. What a person attests without an agent costs nothing.
    """
    book = CostBook()
    for record in records:
        book.add(record)
    return book.attempts()


class CostBook:
    """The attempts of any plans, gathered one event after the other."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str | None, int], AttemptCost] = {}

    def attempts(self) -> list[AttemptCost]:
        """Return every attempt, in the order in which they began."""
        return list(self._found.values())

    def add(self, record: Record) -> None:
        """Take in what an event tells; most tell nothing of costs."""
        draft = record.draft
        if draft.provenance is not Provenance.LIVE or draft.task_id is None:
            return
        if draft.kind is EventKind.TASK_STARTED:
            event = record.event
            assert isinstance(event, TaskStarted)
            if event.agent is None and event.run is not None:
                return  # nobody works on it: a person answers for it
            key = (draft.plan, draft.task_id, event.run or event.session, event.attempt)
            self._found[key] = _begun(record, event)
        elif draft.kind is EventKind.ATTEMPT_ENDED:
            ended = record.event
            assert isinstance(ended, AttemptEnded)
            key = (draft.plan, draft.task_id, ended.run, ended.attempt)
            self._found[key] = _ended(record, ended, self._found.get(key))


def _begun(record: Record, event: TaskStarted) -> AttemptCost:
    found = _attempt(record, event.number, event.attempt, event.run)
    return replace(
        found,
        agent=event.agent,
        role=event.target or USUAL_TARGET,
        session=event.session,
        ended=False,
    )


def _ended(record: Record, event: AttemptEnded, begun: AttemptCost | None) -> AttemptCost:
    found = _attempt(record, event.number, event.attempt, event.run)
    return replace(
        found,
        agent=event.agent or (begun.agent if begun else None),
        kind=event.kind,
        model=event.model,
        role=event.role or (begun.role if begun else USUAL_TARGET),
        tokens=tokens_of(event),
        dollars=dollars_of(event),
        estimated=event.estimated or 0,
        seconds=None if event.duration is None else float(event.duration),
    )


def _attempt(record: Record, number: str | None, attempt: int, run: str | None) -> AttemptCost:
    draft = record.draft
    step = draft.task_id or ""
    return AttemptCost(
        plan=draft.plan,
        step=step,
        title=draft.task_name or step,
        number=number or "",
        attempt=attempt,
        run=run,
        when=draft.timestamp,
    )


# -- sums ----------------------------------------------------------------------------------------


class CostSum(Struct, frozen=True):
    """What some attempts used together; what is unknown is counted, and never taken for nothing."""

    attempts: int = 0
    tokens: int | None = None
    """Of those that said it; None: not one did."""
    dollars: Decimal | None = None
    estimated: int = 0
    seconds: float = 0.0
    measured: int = 0
    """How many attempts our own loop measured."""
    claimed: int = 0
    """How many attempts the agent itself told something of."""
    no_tokens: int = 0
    """How many did not say how many tokens they used."""
    no_dollars: int = 0

    @property
    def unknown(self) -> int:
        """How many attempts said nothing at all."""
        return self.attempts - self.measured - self.claimed


def total(found: Iterable[AttemptCost]) -> CostSum:
    """Return what attempts used together."""
    listed = list(found)
    tokens = [each.tokens for each in listed if each.tokens is not None]
    dollars = [each.dollars for each in listed if each.dollars is not None]
    sources = [each.source for each in listed]
    return CostSum(
        attempts=len(listed),
        tokens=sum(tokens) if tokens else None,
        dollars=sum(dollars, Decimal(0)) if dollars else None,
        estimated=sum(each.estimated for each in listed),
        seconds=round(sum(each.seconds or 0.0 for each in listed), 3),
        measured=sources.count(CostSource.MEASURED),
        claimed=sources.count(CostSource.CLAIMED),
        no_tokens=len(listed) - len(tokens),
        no_dollars=len(listed) - len(dollars),
    )


class GroupBy(enum.Enum):
    """On what it was spent."""

    PLAN = "plan"
    STEP = "step"
    AGENT = "agent"
    MODEL = "model"
    WEEK = "week"


NOT_SAID = "not said"
IN_THE_LOOP = "in the loop"
"""Who works in the loop is an agent of its own host: no configuration names it."""


def grouped(found: Iterable[AttemptCost], by: GroupBy) -> dict[str, list[AttemptCost]]:
    """Return attempts by what they were about, in the order in which each came up first."""
    name = _NAMES[by]
    groups: dict[str, list[AttemptCost]] = {}
    for each in found:
        groups.setdefault(name(each), []).append(each)
    return dict(sorted(groups.items())) if by is GroupBy.WEEK else groups


def _step(each: AttemptCost) -> str:
    return f"{each.plan}/{each.number or each.step} {each.title}"


def _agent(each: AttemptCost) -> str:
    if each.agent is None:
        return NOT_SAID if each.session is None else IN_THE_LOOP
    return f"{each.agent} ({each.kind})" if each.kind else each.agent


def _week(each: AttemptCost) -> str:
    year, week, _ = datetime.fromisoformat(each.when).isocalendar()
    return f"{year}-W{week:02}"


_NAMES: Mapping[GroupBy, Callable[[AttemptCost], str]] = {
    GroupBy.PLAN: lambda each: each.plan,
    GroupBy.STEP: _step,
    GroupBy.AGENT: _agent,
    GroupBy.MODEL: lambda each: each.model or (IN_THE_LOOP if each.session else NOT_SAID),
    GroupBy.WEEK: _week,
}


# -- what may be spent ---------------------------------------------------------------------------


class RunBudget(Struct, frozen=True):
    """What the last run of a plan may spend, with what people allowed on top; None: not said."""

    run: str
    tokens: int | None
    dollars: Decimal | None
    seconds: float | None


def budgets(records: Iterable[Record]) -> dict[str, RunBudget]:
    """Return by plan what its last run may spend."""
    found: dict[str, RunBudget] = {}
    for record in records:
        plan, event = record.draft.plan, record.event
        if record.draft.provenance is not Provenance.LIVE:
            continue
        if isinstance(event, ExecutionStarted) and event.budget is not None:
            given = event.budget
            found[plan] = RunBudget(
                run=event.run,
                tokens=given.tokens,
                dollars=decimal_of(given.dollars),
                seconds=None if given.seconds is None else float(given.seconds),
            )
        elif isinstance(event, BudgetRaised) and plan in found:
            found[plan] = _raised(found[plan], event)
    return found


def _raised(given: RunBudget, event: BudgetRaised) -> RunBudget:
    more = decimal_of(event.dollars) or Decimal(0)
    return RunBudget(
        run=given.run,
        tokens=None if given.tokens is None else given.tokens + (event.tokens or 0),
        dollars=None if given.dollars is None else given.dollars + more,
        seconds=None if given.seconds is None else given.seconds + float(event.seconds or 0),
    )


# -- what steps of a role cost before ------------------------------------------------------------


LOOKED_BACK = 200
"""So many attempts of all plans say what a step of a role is likely to cost."""


class PastCost(Struct, frozen=True):
    """What steps of a role cost agents of a kind before."""

    role: str
    agent: str
    kind: str
    runs: int
    steps: int
    tokens: tuple[int, int] | None
    """The least and the most for a step, all its attempts together; None: nobody said."""
    dollars: tuple[Decimal, Decimal] | None
    silent: int
    """How many of the steps are left out, since an attempt did not say what it used."""


def past_costs(
    found: Sequence[AttemptCost], wanted: Iterable[tuple[str, str, str]]
) -> Iterator[PastCost]:
    """Yield what is known for each role, agent and kind; nothing for those nobody has seen."""
    for role, agent, kind in wanted:
        steps: dict[tuple[str, str | None, str], list[AttemptCost]] = {}
        for each in found:
            # Older records do not say the kind: there it has to be the agent itself.
            same = each.kind == kind if each.kind is not None else each.agent == agent
            if same and each.role == role and each.ended and each.run is not None:
                steps.setdefault((each.plan, each.run, each.step), []).append(each)
        sums = [total(each) for each in steps.values()]
        tokens = [each.tokens for each in sums if each.tokens is not None and not each.no_tokens]
        dollars = [
            each.dollars for each in sums if each.dollars is not None and not each.no_dollars
        ]
        if not tokens and not dollars:
            continue
        yield PastCost(
            role=role,
            agent=agent,
            kind=kind,
            runs=len({key[:2] for key in steps}),
            steps=len(sums),
            tokens=(min(tokens), max(tokens)) if tokens else None,
            dollars=(min(dollars), max(dollars)) if dollars else None,
            silent=sum(bool(each.no_tokens and each.no_dollars) for each in sums),
        )


def range_words(past: PastCost) -> str:
    """Return it in words: `3 runs: 40–90k tokens, $0.05–0.12 a step`."""
    runs = f"{past.runs} run{'' if past.runs == 1 else 's'}"
    parts = []
    if past.tokens is not None:
        parts.append(f"{_from_to(*map(_short, past.tokens))} tokens")
    if past.dollars is not None:
        digits = 2 if past.dollars[0] >= _CENT else 4
        low, high = (f"{float(each):.{digits}f}" for each in past.dollars)
        parts.append(f"${_from_to(low, high)}")
    silent = f"; {past.silent} of {past.steps} steps did not say" if past.silent else ""
    return f"{runs}: {', '.join(parts)} a step{silent}"


_CENT = Decimal("0.01")


def _short(tokens: int) -> str:
    if tokens < 1000:
        return str(tokens)
    digits = 1 if tokens < 10_000 else 0
    return f"{tokens / 1000:.{digits}f}".removesuffix(".0") + "k"


def _from_to(low: str, high: str) -> str:
    if low == high:
        return low
    if low[-1:] == high[-1:] == "k":
        low = low[:-1]
    return f"{low}–{high}"
