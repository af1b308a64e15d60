"""What a run may spend, and whether it did."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from planbound.engine.run.layout import Slot
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Raised, Spent
from planbound.plan.limits import Budget, format_duration

SAFE = Budget(tokens=2_000_000, dollars=Decimal(20), seconds=Decimal(8 * 3600))
"""What a plan may spend that does not say."""


class Allowance(NamedTuple):
    """How much may be spent in all."""

    tokens: int
    dollars: Decimal
    seconds: float


class Excess(NamedTuple):
    """A limit that was reached."""

    limit: str
    """`tokens`, `cost` or `time`."""
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
        ("tokens", float(allowed.tokens), float(spent.tokens)),
        ("cost", float(allowed.dollars), float(spent.dollars)),
        ("time", allowed.seconds, spent.seconds),
    ):
        if used >= most:
            each = used / max(1, settled)
            return Excess(limit, most, used, each * max(1, remaining), remaining)
    return None


def _amount(limit: str, value: float) -> str:
    if limit == "tokens":
        return f"{int(value):,} tokens"
    if limit == "cost":
        return f"${value:.2f}"
    return format_duration(Decimal(max(1, round(value))))
