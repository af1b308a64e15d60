"""What the steps of a plan are taken to use at the least, beside what they may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from planbound.plan.limits import Budget, format_duration
from planbound.plan.model import Attest, Step
from planbound.source import Span
from planbound.verify.facts import MINIMUM
from planbound.verify.subject import Subject

_USUAL_TARGET = "coder"


class Short(NamedTuple):
    """A limit that is lower than what one attempt at each step uses."""

    span: Span
    kind: str
    """`tokens`, `dollars` or `seconds`."""
    limit: str
    needed: str
    steps: int | None
    """How many attempts that is; None: one, at a step that has this limit for itself."""
    in_turn: bool
    """Whether these steps wait for each other, and others take their time beside them."""


def below_minimum(subject: Subject) -> Iterator[Short]:
    """Yield the limits that no attempt fits into, by the least that there is."""
    least = subject.facts.estimate

    def need(_: Step) -> Budget:
        return _lower(MINIMUM, least)

    yield from _short(subject, need, declared=False)


def below_estimate(subject: Subject) -> Iterator[Short]:
    """Yield the limits that are too low by what the steps declare, else by the estimate."""
    facts = subject.facts

    def need(step: Step) -> Budget:
        target = step.target.value if step.target else _USUAL_TARGET
        return facts.estimates.get(target, facts.estimate)

    refused = {(short.span, short.kind) for short in below_minimum(subject)}
    for short in _short(subject, need, declared=True):
        if (short.span, short.kind) not in refused:
            yield short


def _short(subject: Subject, need: Callable[[Step], Budget], *, declared: bool) -> Iterator[Short]:
    plan = subject.plan
    # Of a step that a person attests nobody knows whether an agent works on it at all.
    needs = [Budget() if isinstance(step.contract, Attest) else need(step) for step in plan.steps]
    for kind in Budget._fields:
        each = [_amount(one, kind) for one in needs]
        for place, step in enumerate(plan.steps):
            own = _amount(step.budget.value, kind) if step.budget else None
            if step.budget is None or own is None:
                continue
            if (wanted := each[place]) is not None and own < wanted:
                words = (format_amount(own, kind), format_amount(wanted, kind))
                yield Short(step.budget.span, kind, *words, None, in_turn=False)
            each[place] = own if declared else each[place]
        limit = _amount(plan.budget.value, kind) if plan.budget else None
        if plan.budget is None or limit is None:
            continue
        steps, total = _together(subject, kind, [amount or Decimal(0) for amount in each])
        if limit < total:
            words = (format_amount(limit, kind), format_amount(total, kind))
            yield Short(plan.budget.span, kind, *words, steps, in_turn=kind == "seconds")


def _together(subject: Subject, kind: str, each: Sequence[Decimal]) -> tuple[int, Decimal]:
    """Return how many steps count, and their sum; of time the longest chain of steps."""
    if kind != "seconds":
        return sum(1 for amount in each if amount), sum(each, Decimal(0))
    if subject.graph.cycles or not each:
        return 0, Decimal(0)
    last = max(longest(subject.graph.edges, [(amount, bool(amount)) for amount in each]))
    return last[1], last[0]


def longest(
    edges: Sequence[Sequence[int]], own: Sequence[tuple[Decimal, int]]
) -> list[tuple[Decimal, int]]:
    """Return for each step the longest chain of steps that ends with it: its time, its length."""
    ends = list(own)
    waiting = [len(before) for before in edges]
    following: list[list[int]] = [[] for _ in edges]
    for step, before in enumerate(edges):
        for other in before:
            following[other].append(step)
    ready = [step for step, count in enumerate(waiting) if count == 0]
    while ready:
        step = ready.pop()
        for other in following[step]:
            chain = (ends[step][0] + own[other][0], ends[step][1] + own[other][1])
            ends[other] = max(ends[other], chain)
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return ends


def format_amount(amount: Decimal, kind: str) -> str:
    """Return an amount of one limit, with every digit that counts."""
    if kind == "tokens":
        return f"{amount:,} token{'' if amount == 1 else 's'}"
    if kind == "seconds":
        return format_duration(amount)
    return f"${amount:.2f}" if amount == round(amount, 2) else f"${amount.normalize():f}"


def _lower(one: Budget, other: Budget) -> Budget:
    """Return the lower of two amounts of each limit."""
    tokens, dollars, seconds = (
        min((part for part in pair if part is not None), default=None)
        for pair in zip(one, other, strict=True)
    )
    return Budget(
        tokens=None if tokens is None else int(tokens),
        dollars=None if dollars is None else Decimal(dollars),
        seconds=None if seconds is None else Decimal(seconds),
    )


def _amount(budget: Budget, kind: str) -> Decimal | None:
    found: int | Decimal | None = getattr(budget, kind)
    return None if found is None else Decimal(found)
