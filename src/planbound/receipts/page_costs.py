"""What a plan cost, on a page: over time, against its limits, and how sure the numbers are."""

from __future__ import annotations

from collections.abc import Callable

from planbound.receipts.chart import Used, chart, is_far, moments
from planbound.receipts.costs import AttemptCost, CostSum, RunBudget, total
from planbound.receipts.html import Content, Html, element, identity, join, text
from planbound.receipts.pieces import fold_away, heading, moment, table
from planbound.receipts.story import PlanStory


def spending(story: PlanStory, level: int) -> Html:
    """Return what was used over time, against the limit, and how sure the numbers are."""
    place, found = identity("plan", story.slug, "costs"), total(story.costs)
    parts: list[Content] = [heading(level, "Cost", id=place)]
    if not story.costs:
        parts.append(element("p", "No agent was paid for: no attempt is on record."))
    else:
        budget = story.budget
        parts.append(element("p", spent_words(found), ". ", _sure(found)))
        tokens: _Amounts = [(each, each.tokens) for each in story.costs]
        dollars: _Amounts = [
            (each, None if each.dollars is None else float(each.dollars)) for each in story.costs
        ]
        of_tokens = None if budget is None else budget.tokens
        parts.append(_drawn(story, "tokens", tokens, of_tokens, lambda value: f"{value:,.0f}"))
        parts.append(
            _drawn(story, "dollars", dollars, _dollars(budget), lambda value: f"${value:.2f}")
        )
        parts.append(fold_away("Attempts one by one", _attempts(story)))
    return element("section", *parts, aria_label=f"Cost of {story.slug}")


_Amounts = list[tuple[AttemptCost, float | None]]


def _dollars(budget: RunBudget | None) -> float | None:
    return None if budget is None or budget.dollars is None else float(budget.dollars)


def _sure(found: CostSum) -> str:
    words = (
        (found.measured, "measured by our own loop"),
        (found.claimed, "claimed by the agent itself"),
        (found.unknown, "unknown"),
    )
    said = ", ".join(f"{count} {each}" for count, each in words if count)
    guessed = f" {found.estimated:,} tokens are estimated." if found.estimated else ""
    return f"Attempts: {said}.{guessed}"


def _drawn(
    story: PlanStory, unit: str, amounts: _Amounts, limit: float | None, say: Callable[[float], str]
) -> Html:
    used = [
        Used(*moments(each.when, each.seconds), None if amount is None else float(amount))
        for each, amount in amounts
    ]
    known = sum(each.amount or 0.0 for each in used)
    unknown = sum(each.amount is None for each in used)
    bound = "no limit" if limit is None else f"the dashed line is the limit of {say(limit)}"
    if limit is not None and is_far(known, limit):
        bound = f"the limit of {say(limit)} lies above the drawing"
    sums = say(known) if unknown < len(used) else "nothing known"
    hatched = f"; hatched: {unknown} of {len(used)} attempts, unknown" if unknown else ""
    summary = f"{unit} over time: {sums} in the end; {bound}{hatched}"
    whens = sorted(each.when for each, _ in amounts)
    return join(
        element("p", element("strong", unit.capitalize()), f": {summary.partition(': ')[2]}."),
        chart(identity("plan", story.slug, "chart", unit), summary, used, limit),
        element("p", "from ", moment(whens[0]), " to ", moment(whens[-1]), class_="dim"),
    )


def _attempts(story: PlanStory) -> Html:
    rows = [
        element(
            "tr",
            element("th", f"step {each.number}, attempt {each.attempt}", scope="row"),
            element("td", text(each.agent or "not said")),
            element("td", "?" if each.tokens is None else f"{each.tokens:,}", class_="number"),
            element("td", "?" if each.dollars is None else f"${each.dollars}", class_="number"),
            element("td", each.source.value + ("" if each.ended else ", no end on record")),
        )
        for each in story.costs
    ]
    titles = ("attempt", "agent", "tokens", "dollars", "how sure")
    return table(f"Attempts of {story.slug}", titles, rows)


def spent_words(found: CostSum) -> str:
    tokens = "? tokens" if found.tokens is None else f"{found.tokens:,} tokens"
    dollars = "$?" if found.dollars is None else f"${found.dollars:.4f}".rstrip("0").rstrip(".")
    silent = max(found.no_tokens, found.no_dollars)
    more = f", and what {silent} of {found.attempts} attempts did not say" if silent else ""
    return f"{tokens}, {dollars}{more}"
