"""What a run may spend, whether it did, and whether what is left will do for another attempt."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from planbound.journal.event import BudgetExceeded
from planbound.journal.words import Limit
from planbound.plan.limits import Budget, format_duration
from planbound.plan.model import USUAL_TARGET, StepStatus
from planbound.state.run import RunState, Slot
from planbound.state.step import Raised, Spent, Use

SAFE = Budget(tokens=2_000_000, dollars=Decimal(20), seconds=Decimal(8 * 3600))
"""What a plan may spend that does not say."""


class Allowance(NamedTuple):
    """How much may be spent in all."""

    tokens: int
    dollars: Decimal
    seconds: float


class Excess(NamedTuple):
    """A limit that was reached."""

    limit: Limit
    allowed: float
    spent: float
    needed: float
    """How much more the steps that remain are likely to need."""
    remaining: int

    def question(self) -> str:
        """Return what a person is asked."""
        steps = f"{self.remaining} steps remain" if self.remaining != 1 else "1 step remains"
        return (
            f"the budget is used up: {_amount(self.limit, self.spent)} of "
            f"{_amount(self.limit, self.allowed)}; {steps}, "
            f"about {_amount(self.limit, self.needed)} more needed"
        )

    def event(self, attempt: int) -> BudgetExceeded:
        """Return what the journal says of it."""
        return BudgetExceeded(
            limit=self.limit,
            allowed=round(self.allowed, 6),
            spent=round(self.spent, 6),
            needed=round(self.needed, 6),
            remaining=self.remaining,
            attempt=attempt,
        )


class Expected(NamedTuple):
    """What is known of an attempt at a step whatever the plan's own journal says."""

    usual: Budget = Budget()
    """The default estimate; what is None is not known."""
    most: Budget = Budget()
    """What role and agent may use for an attempt; None: they may use all."""
    elsewhere: tuple[Use, ...] = ()
    """What attempts of its role used in other plans."""


NOBODY = Expected(most=Budget(tokens=0, dollars=Decimal(0), seconds=Decimal(0)))
"""Of a step that a person answers for, and no agent works on."""


class Need(NamedTuple):
    """How much of one limit an attempt is likely to need."""

    amount: float
    basis: str
    """Where the number comes from, in words."""


class Shortage(NamedTuple):
    """A limit that leaves something, but too little for another attempt."""

    limit: Limit
    left: float
    allowed: float
    need: Need
    own: bool = False
    """Whether it is the step's own budget that is short."""

    def words(self) -> str:
        """Return it in words."""
        limit = self.limit
        whose = "its own " if self.own else ""
        return (
            f"{_exact(limit, self.left)} of {whose}{_exact(limit, self.allowed)} left,"
            f" {_exact(limit, self.need.amount)} needed ({self.need.basis})"
        )


class Shortages(NamedTuple):
    """Every limit that is too short for an attempt; at least one."""

    label: str
    found: tuple[Shortage, ...]
    remaining: int

    def question(self) -> str:
        """Return what a person is asked, before anything is spent."""
        words = "; ".join(each.words() for each in self.found)
        return f"too little of the budget is left for step {self.label}: {words}"

    def event(self, attempt: int) -> BudgetExceeded:
        """Return what the journal says of it: of the first of them."""
        first = self.found[0]
        return BudgetExceeded(
            limit=first.limit,
            allowed=round(first.allowed, 6),
            spent=round(first.allowed - first.left, 6),
            needed=round(first.need.amount, 6),
            left=round(first.left, 6),
            basis=first.need.basis,
            remaining=self.remaining,
            attempt=attempt,
        )


def allowance(budget: Budget | None, raised: Raised) -> Allowance:
    """Return what may be spent: what the plan says, the safe default for what it does not."""
    given = budget or Budget()
    tokens = given.tokens if given.tokens is not None else SAFE.tokens
    dollars = given.dollars if given.dollars is not None else SAFE.dollars
    seconds = given.seconds if given.seconds is not None else SAFE.seconds
    assert tokens is not None
    assert dollars is not None
    assert seconds is not None
    return Allowance(
        tokens=tokens + raised.tokens,
        dollars=dollars + raised.dollars,
        seconds=float(seconds) + raised.seconds,
    )


def room(state: RunState, slot: Slot) -> Allowance:
    """Return what an attempt at a step may use: of the plan's budget, and of its own."""
    allowed, spent = _plan(state)
    left = _less(allowed, spent)
    own = _step(state, slot)
    if own is None:
        return left
    mine = _less(*own)
    return Allowance(
        tokens=min(left.tokens, mine.tokens),
        dollars=min(left.dollars, mine.dollars),
        seconds=min(left.seconds, mine.seconds),
    )


def excess(state: RunState, slot: Slot, more: Spent = Spent()) -> Excess | None:  # noqa: B008 - frozen
    """Return the limit that leaves nothing for another attempt; None where there is none.

    `more` is what an attempt used that the state does not know of yet.
    """
    settled = len(state.steps) - state.unsettled
    for pair, done, remaining in (
        (_plan(state), settled, state.unsettled),
        (_step(state, slot), 0, 1),
    ):
        if pair is not None:
            found = _reached(pair[0], _more(pair[1], more), done, remaining)
            if found is not None:
                return found
    return None


def shortages(
    state: RunState, slot: Slot, expected: Mapping[int, Expected], *, beside: bool = False
) -> Shortages | None:
    """Return the limits of which too little is left for an attempt at a step; None: there are none.

    What is left has to cover the step's own budget. Where it has none: what an attempt of its role
    is likely to need, by the median of the earlier ones, or by the default estimate. Of an own
    budget of which something is used already, the rest has to do for one more attempt.

    `beside`: what the attempts need that are under way is not left any more.
    """
    step = state.steps[slot.place]
    if expected.get(slot.place) == NOBODY:
        return None
    own, (allowed, spent) = _step(state, slot), _plan(state)
    found: list[Shortage] = []
    for limit in Limit:
        if limit in step.covered:
            continue  # a person knows, and wants it so
        if own is not None and (short := _rest_of_own(own, limit, step.attempts)) is not None:
            found.append(short)
            continue
        mine = _declared(state, slot, limit)
        most, used = _part(allowed, limit), _part(spent, limit)
        if mine is None:
            need = _likely(state, slot, expected.get(slot.place, Expected()), limit)
        else:
            need = Need(mine, "the rest of its own budget" if step.attempts else "its own budget")
            # The plan's time is also that of the harness, which no step's budget counts.
            used = min(used, _part(_of_agents(state), limit))
        taken = _taken(state, slot, expected, limit) if beside else 0.0
        left = round(most - used - taken, 6)
        if need is not None and left < round(need.amount, 6):
            found.append(Shortage(limit, max(0.0, left), most, need))
    return Shortages(slot.label, tuple(found), state.unsettled) if found else None


def _declared(state: RunState, slot: Slot, limit: Limit) -> float | None:
    """Return what is left of the limit that a step itself declares; None where nothing is.

    What a person allowed on top is for whoever needs it, and no step's own.
    """
    budget, step = slot.step.budget, state.steps[slot.place]
    most = None if budget is None else _given(budget.value, limit)
    used = _part(Spent(step.tokens, step.dollars, seconds=step.seconds), limit)
    return None if most is None or most <= used else most - used


def _rest_of_own(own: tuple[Allowance, Spent], limit: Limit, attempts: int) -> Shortage | None:
    """Return that the rest of a step's own budget is less than an attempt at it has used so far."""
    allowed, used = _part(own[0], limit), _part(own[1], limit)
    each = used / max(1, attempts)
    if allowed - used >= each:
        return None
    return Shortage(
        limit, allowed - used, allowed, Need(each, "what an attempt at it used"), own=True
    )


def _likely(state: RunState, slot: Slot, expected: Expected, limit: Limit) -> Need | None:
    """Return what an attempt at a step is likely to need; None where nobody knows."""
    role = _role(slot)
    uses = state.uses.get(role) or expected.elsewhere
    most = _given(expected.most, limit)
    if uses:
        known = [value for use in uses if (value := _given(use, limit)) is not None]
        if 2 * len(known) <= len(uses):
            return None  # its agents do not say, or seldom: nobody knows
        count = f"{len(known)} attempts" if len(known) != 1 else "1 attempt"
        need = Need(median(known), f"the median of {count} of role `{role}`")
    elif (usual := _given(expected.usual, limit)) is not None:
        need = Need(usual, "the default estimate")
    else:
        return None
    return need if most is None or need.amount <= most else Need(most, "all that it may use")


def _taken(state: RunState, slot: Slot, expected: Mapping[int, Expected], limit: Limit) -> float:
    """Return what the attempts that are under way are likely to use still."""
    if limit is Limit.SECONDS:
        return 0.0  # time passes for all of them at once
    total = 0.0
    for index in state.open:
        if index == slot.place or state.steps[index].status is not StepStatus.IN_PROGRESS:
            continue
        other = state.layout.slots[index]
        declared = _declared(state, other, limit)
        likely = _likely(state, other, expected.get(index, Expected()), limit)
        known = likely.amount if likely is not None else 0.0
        total += known if declared is None else declared
    return total


def _of_agents(state: RunState) -> Spent:
    """Return what all agents used, and the time that they took, one after the other."""
    return state.spent._replace(seconds=sum(step.seconds for step in state.steps))


def _role(slot: Slot) -> str:
    return slot.step.target.value if slot.step.target else USUAL_TARGET


def _part(amounts: Allowance | Spent, limit: Limit) -> float:
    match limit:
        case Limit.TOKENS:
            return float(amounts.tokens)
        case Limit.DOLLARS:
            return float(amounts.dollars)
        case Limit.SECONDS:
            return amounts.seconds


def _given(amounts: Budget | Use, limit: Limit) -> float | None:
    match limit:
        case Limit.TOKENS:
            found: float | Decimal | None = amounts.tokens
        case Limit.DOLLARS:
            found = amounts.dollars
        case Limit.SECONDS:
            found = amounts.seconds
    return None if found is None else float(found)


def _plan(state: RunState) -> tuple[Allowance, Spent]:
    budget = state.layout.plan.budget
    allowed = allowance(budget.value if budget else None, state.raised)
    return allowed, state.spent._replace(seconds=state.session_seconds())


def _step(state: RunState, slot: Slot) -> tuple[Allowance, Spent] | None:
    budget = slot.step.budget
    if budget is None:
        return None
    step = state.steps[slot.place]
    spent = Spent(step.tokens, step.dollars, seconds=step.seconds)
    return allowance(budget.value, state.raised), spent


def _less(allowed: Allowance, spent: Spent) -> Allowance:
    return Allowance(
        tokens=allowed.tokens - spent.tokens,
        dollars=allowed.dollars - spent.dollars,
        seconds=allowed.seconds - spent.seconds,
    )


def _more(spent: Spent, more: Spent) -> Spent:
    return Spent(
        tokens=spent.tokens + more.tokens,
        dollars=spent.dollars + more.dollars,
        seconds=spent.seconds + more.seconds,
    )


def _reached(allowed: Allowance, spent: Spent, settled: int, remaining: int) -> Excess | None:
    for limit, most, used in (
        (Limit.TOKENS, float(allowed.tokens), float(spent.tokens)),
        (Limit.DOLLARS, float(allowed.dollars), float(spent.dollars)),
        (Limit.SECONDS, allowed.seconds, spent.seconds),
    ):
        if used >= most:
            each = used / max(1, settled)
            return Excess(limit, most, used, each * max(1, remaining), remaining)
    return None


def _exact(limit: Limit, value: float) -> str:
    """Return an amount so that two that differ look different."""
    if limit is Limit.DOLLARS and round(value, 2) != round(value, 6):
        return f"${Decimal(str(round(value, 6))).normalize():f}"
    if limit is Limit.SECONDS and value < 10:
        return format_duration(Decimal(str(round(value, 1))))
    return _amount(limit, value)


def _amount(limit: Limit, value: float) -> str:
    if limit is Limit.TOKENS:
        return f"{int(value):,} tokens"
    if limit is Limit.DOLLARS:
        return f"${value:.2f}"
    return format_duration(Decimal(max(1, round(value))))
