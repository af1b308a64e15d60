"""`/costs`: what agents used, on what, and how sure that is, with drawings made here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.page.parts import kept_live, links
from planbound.page.visit import PageAnswer, PageRoute, PartOfPage, ShownPage, Visit, address
from planbound.receipts.chart import Used, chart, moments
from planbound.receipts.costs import AttemptCost, CostSum, GroupBy, grouped, total
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.page_costs import spent_words
from planbound.receipts.pieces import heading, moment, table

_DRAWN = 400
"""So many of the last attempts are drawn."""


class _Unit(NamedTuple):
    name: str
    of: Callable[[AttemptCost], float | None]
    say: Callable[[float], str]


_UNITS = (
    _Unit(
        "dollars",
        lambda each: None if each.dollars is None else float(each.dollars),
        lambda amount: f"${amount:.2f}",
    ),
    _Unit(
        "tokens",
        lambda each: None if each.tokens is None else float(each.tokens),
        lambda amount: f"{amount:,.0f}",
    ),
)


def show_costs(visit: Visit) -> PageAnswer:
    """Show what was spent, over time and by what it was spent on."""
    by = next((each for each in GroupBy if each.value == visit.query.get("by")), GroupBy.PLAN)
    found = visit.board.attempts()
    own = address("costs", by=None if by is GroupBy.PLAN else by.value)
    part = kept_live("costs", own, _costs(found, by))
    if visit.accepts_part:
        return PartOfPage(part)
    choices = [(each.value.capitalize(), address("costs", by=each.value)) for each in GroupBy]
    content = (
        heading(1, "Costs"),
        links("By what", *choices, here=address("costs", by=by.value)),
        part,
    )
    live = address("live", after=visit.board.head.seq, quiet=1)
    return ShownPage("Costs", content, at="/costs", live=live)


def _costs(found: Sequence[AttemptCost], by: GroupBy) -> Html:
    if not found:
        return element("p", "No agent was paid for: no attempt is on record.")
    groups = grouped(found, by)
    rows = [_row(by, name, total(each)) for name, each in groups.items()]
    rows.append(_row(by, "total", total(found)))
    titles = (by.value, "attempts", "tokens", "dollars", "how sure")
    return join(
        element("p", spent_words(total(found)), ".", role="status"),
        (_drawn(unit, found) for unit in _UNITS),
        table(f"By {by.value}", titles, rows),
    )


def _drawn(unit: _Unit, found: Sequence[AttemptCost]) -> Html:
    shown = sorted(found, key=lambda each: each.when)[-_DRAWN:]
    used = [Used(*moments(each.when, each.seconds), unit.of(each)) for each in shown]
    known = sum(each.amount or 0.0 for each in used)
    unknown = sum(each.amount is None for each in used)
    hatched = f"; hatched: {unknown} of {len(used)} attempts, unknown" if unknown else ""
    sums = unit.say(known) if unknown < len(used) else "nothing known"
    summary = f"{unit.name} over time: {sums} in the end{hatched}"
    return join(
        element("p", element("strong", unit.name.capitalize()), f": {summary.partition(': ')[2]}."),
        chart(f"chart-{unit.name}", summary, used, None),
        element("p", "from ", moment(shown[0].when), " to ", moment(shown[-1].when), class_="dim"),
    )


def _row(by: GroupBy, name: str, found: CostSum) -> Html:
    told: Content = name
    if by is GroupBy.PLAN and name != "total":
        told = served("a", name, href=address("plan", name))
    sure = (
        (found.measured, "measured"),
        (found.claimed, "claimed"),
        (found.unknown, "unknown"),
    )
    return element(
        "tr",
        element("th", told, scope="row"),
        # On a phone there are no headings: each cell says what it is about.
        element("td", f"{found.attempts:,} attempt{'' if found.attempts == 1 else 's'}"),
        element("td", f"{'?' if found.tokens is None else format(found.tokens, ',')} tokens"),
        element("td", "$?" if found.dollars is None else f"${found.dollars:.4f}"),
        element("td", ", ".join(f"{count} {how}" for count, how in sure if count)),
        class_="item",
    )


ROUTES = [PageRoute("GET", "/costs", show_costs)]
