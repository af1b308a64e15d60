"""`/`: every plan, where it is, what waits for whom, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.page.visit import PageAnswer, PageRoute, ShownPage, Visit, address
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.pieces import heading, moment, said, table, word
from planbound.workspace.overview import PlanLine


def show_plans(visit: Visit) -> PageAnswer:
    """Show all plans."""
    seen = visit.board.overview(visit.context)
    return ShownPage(
        "Plans",
        (heading(1, "Plans"), _lines(seen.lines), *(element("p", each) for each in seen.warnings)),
        at="/",
    )


def _lines(lines: Sequence[PlanLine]) -> Html:
    if not lines:
        return element("p", "There is no plan here yet: ", element("code", "planbound new"),
                       " begins one.")  # fmt: skip
    return table("All plans", ("plan", "state", "steps", "waits for", "since"), [
        _line(each) for each in lines
    ])  # fmt: skip


def _line(line: PlanLine) -> Html:
    slug = line.file.slug
    waiting = line.state.waiting if line.state is not None else None
    since: Content = None
    if line.state is not None and line.state.last is not None:
        since = moment(line.state.last)
    return element(
        "tr",
        element(
            "th",
            served("a", slug, href=address("plan", slug)),
            join(" ", said(line.objective, 120)) if line.objective else None,
            scope="row",
        ),
        element("td", word(line.word or "unknown")),
        element("td", f"{line.done} of {line.steps} proved", class_="number"),
        element("td", waiting or ""),
        element("td", since),
    )


ROUTES = [PageRoute("GET", "/", show_plans)]
