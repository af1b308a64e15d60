"""What a run may spend, and whether it did."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from planbound.engine.run.state import Raised, Spent
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
        steps = f"{self.remaining} step{'' if self.remaining == 1 else 's'} remain"
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


def excess(allowed: Allowance, spent: Spent, *, settled: int, remaining: int) -> Excess | None:
    """Return the limit that leaves nothing for another attempt; None where there is none."""
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
