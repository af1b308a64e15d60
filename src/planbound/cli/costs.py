"""`planbound costs`: what agents used, on what, and how sure that is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from planbound.cli.progress import money
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NoSuchPlan, UsageError
from planbound.journal.record import Journal, Query, Record
from planbound.plan.slug import SlugError, parse_slug
from planbound.plan.vocabulary import nearest
from planbound.receipts.costs import (
    KINDS,
    AttemptCost,
    CostSum,
    GroupBy,
    RunBudget,
    attempts,
    budgets,
    grouped,
    total,
)
from planbound.source import visible
from planbound.state.plan import plan_states
from planbound.workspace.context import Context


class CostsOf(JsonObject, frozen=True):
    """What some attempts used together."""

    name: str
    attempts: int
    tokens: int | None
    """Of the attempts that said it; null where not one did."""
    dollars: str | None
    estimated_tokens: int
    """How many of the tokens are estimated: a request was cut off."""
    seconds: float
    """How long the agents worked."""
    measured: int
    """How many attempts our own loop measured, which asks the model itself."""
    claimed: int
    """How many attempts have the numbers that the agent told of itself."""
    unknown: int
    """How many attempts said nothing: they are in no sum."""
    without_tokens: int
    without_dollars: int


class BudgetOf(JsonObject, frozen=True):
    """What the last run of a plan may spend, and what it is known to have spent."""

    plan: str
    run: str
    tokens: int | None
    dollars: str | None
    seconds: float | None
    spent: CostsOf


class Costs(JsonObject, frozen=True):
    by: GroupBy
    groups: list[CostsOf]
    total: CostsOf
    budgets: list[BudgetOf]


SHAPES: dict[str, Shapes] = {"costs": {"": Costs}}


def configure_costs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plans", nargs="*", metavar="PLAN", help="plans by name (default: all, also archived ones)"
    )
    parser.add_argument(
        "--by",
        choices=[each.value for each in GroupBy],
        default=GroupBy.PLAN.value,
        help="what a line is about (default: plan)",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_costs(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say what was spent."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    journal = context.existing_journal()
    names = plan_names(arguments.plans, context, journal)
    records = list(_records(journal, names))
    by, found, allowed = GroupBy(arguments.by), attempts(records), budgets(records)
    if arguments.json:
        terminal.json(_costs(by, found, allowed))
        return ExitCode.DONE
    if not found:
        terminal.out("nothing was spent yet: no attempt of an agent is on record")
        return ExitCode.DONE
    for line in _lines(by, found, allowed, terminal):
        terminal.out(line)
    return ExitCode.DONE


def plan_names(given: Sequence[str], context: Context, journal: Journal | None) -> list[str]:
    """Return the slugs of plans that were named; the journal has to know them, or a file."""
    names = []
    for reference in given:
        file = context.tree.find(reference)
        if file is not None:
            context.demand_own(file)
            names.append(file.slug)
            continue
        try:
            slug = "PLAN" if reference in {"PLAN", "PLAN.md"} else parse_slug(reference)
        except SlugError as error:
            raise UsageError(f"not a plan's name: {error}") from error
        if journal is None or next(iter(journal.read(Query(plan=slug, last=1))), None) is None:
            known = list(plan_states(journal)) if journal is not None else []
            known += [each.slug for each in context.tree.plans()]
            near = nearest(slug, dict.fromkeys(known))
            raise NoSuchPlan(
                f"there is no plan `{visible(reference)}`, and the journal knows of none",
                hint=f"did you mean `{near}`?" if near else "`planbound list` has the plans",
            )
        names.append(slug)
    return list(dict.fromkeys(names))


def _records(journal: Journal | None, names: Sequence[str]) -> Iterator[Record]:
    if journal is None:
        return
    for query in [Query(plan=name, events=KINDS) for name in names] or [Query(events=KINDS)]:
        yield from journal.read(query)


# -- for programs --------------------------------------------------------------------------------


def _costs(by: GroupBy, found: Sequence[AttemptCost], allowed: Mapping[str, RunBudget]) -> Costs:
    return Costs(
        by=by,
        groups=[_sum(name, total(each)) for name, each in grouped(found, by).items()],
        total=_sum("total", total(found)),
        budgets=[
            BudgetOf(
                plan=plan,
                run=given.run,
                tokens=given.tokens,
                dollars=None if given.dollars is None else f"{given.dollars:f}",
                seconds=given.seconds,
                spent=_sum(plan, total(_of_run(found, plan, given))),
            )
            for plan, given in allowed.items()
        ],
    )


def _sum(name: str, found: CostSum) -> CostsOf:
    return CostsOf(
        name=name,
        attempts=found.attempts,
        tokens=found.tokens,
        dollars=None if found.dollars is None else f"{found.dollars:f}",
        estimated_tokens=found.estimated,
        seconds=found.seconds,
        measured=found.measured,
        claimed=found.claimed,
        unknown=found.unknown,
        without_tokens=found.no_tokens,
        without_dollars=found.no_dollars,
    )


def _of_run(found: Sequence[AttemptCost], plan: str, given: RunBudget) -> list[AttemptCost]:
    return [each for each in found if (each.plan, each.run) == (plan, given.run)]


# -- for people ----------------------------------------------------------------------------------


_TITLES = ("attempts", "tokens", "dollars", "how sure")


def _lines(
    by: GroupBy,
    found: Sequence[AttemptCost],
    allowed: Mapping[str, RunBudget],
    terminal: Terminal,
) -> Iterator[str]:
    groups = grouped(found, by)
    rows = [(visible(name), *_cells(total(each))) for name, each in groups.items()]
    rows.append(("total", *_cells(total(found))))
    widths = [max(len(row[at]) for row in (*rows, (by.value, *_TITLES))) for at in range(4)]
    yield terminal.style(_row((by.value, *_TITLES), widths), "bold")
    for row in rows[:-1]:
        yield _row(row, widths)
    yield terminal.style(_row(rows[-1], widths), "bold")
    if by is GroupBy.PLAN:
        for plan, given in allowed.items():
            spent = total(_of_run(found, plan, given))
            yield f"budget of the last run of {visible(plan)}: {_against(spent, given)}"
    yield from _notes(total(found))


def _cells(found: CostSum) -> tuple[str, str, str, str]:
    tokens = None if found.tokens is None else f"{found.tokens:,}"
    dollars = None if found.dollars is None else money(float(found.dollars))
    sure = (
        (found.measured, "measured"), (found.claimed, "claimed"), (found.unknown, "unknown"),
    )  # fmt: skip
    return (
        str(found.attempts),
        at_least(tokens, found.no_tokens),
        at_least(dollars, found.no_dollars),
        ", ".join(f"{count} {word}" for count, word in sure if count),
    )


def at_least(known: str | None, unknown: int) -> str:
    """Return an amount that has to be read as more where something of it is not known."""
    if known is None:
        return "?"
    return f"{known} + ?" if unknown else known


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers, last = row
    middle = "  ".join(cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
    return f"{name.ljust(widths[0])}  {middle}  {last}"


def _against(spent: CostSum, given: RunBudget) -> str:
    parts = []
    if given.tokens is not None:
        used = at_least(None if spent.tokens is None else f"{spent.tokens:,}", spent.no_tokens)
        parts.append(f"{used} of {given.tokens:,} tokens")
    if given.dollars is not None:
        known = None if spent.dollars is None else money(float(spent.dollars))
        parts.append(
            f"{at_least(known, spent.no_dollars)} of {money(float(Decimal(given.dollars)))}"
        )
    return ", ".join(parts)


def _notes(found: CostSum) -> Iterator[str]:
    if found.claimed:
        yield "claimed: the agent said so itself; measured: our own loop asked the model"
    if found.no_tokens or found.no_dollars:
        yield "`?`: attempts that did not say; what they used is in no sum"
    if found.estimated:
        yield f"{found.estimated:,} of the tokens are estimated: a request was cut off"
