"""`/`: every plan, where it is, who drives it, what waits for whom, and what it cost."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbound.errors import PlanboundError
from planbound.page.parts import kept_live, say
from planbound.page.visit import (
    PageAnswer,
    PageRoute,
    PartOfPage,
    ShownPage,
    Visit,
    address,
)
from planbound.plan.model import PlanStatus
from planbound.receipts.costs import CostSum, GroupBy, grouped, total
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.page_costs import spent_words
from planbound.receipts.pieces import heading, moment, said, table, word
from planbound.state.plan import PlanState
from planbound.workspace.context import Context
from planbound.workspace.overview import PlanLine

SHOWN = {"all": "All", "open": "Not proved", "waiting": "Waits for me", "live": "Runs now"}


class PlansBeside(NamedTuple):
    """What is said of all plans besides their lines."""

    drivers: Mapping[str, str]
    """By plan who drives it now."""
    costs: Mapping[str, CostSum]


def show_plans(visit: Visit) -> PageAnswer:
    """Show all plans, or those that somebody asks for."""
    shown = visit.query.get("show", "all")
    shown = shown if shown in SHOWN else "all"
    seen = visit.board.overview(visit.context)
    groups = grouped(visit.board.attempts(), GroupBy.PLAN)
    now = PlansBeside(drivers(visit.context), {slug: total(each) for slug, each in groups.items()})
    lines = [each for each in seen.lines if _is_wanted(each, shown, now)]
    own = address(show=None if shown == "all" else shown)
    part = kept_live(
        "plans",
        own,
        element("p", _counted(seen.lines, now), role="status"),
        _lines(lines, now, whole=len(lines) == len(seen.lines)),
    )
    if visit.accepts_part:
        return PartOfPage(part)
    return ShownPage(
        "Plans",
        (heading(1, "Plans"), _filter(shown), part, *(say(each) for each in seen.warnings)),
        at="/",
        live=address("live", after=visit.board.head.seq, quiet=1),
    )


def drivers(context: Context) -> dict[str, str]:
    """Return by plan who drives it now."""
    try:
        if context.existing_journal() is None:
            return {}
        held = context.leases().held()
    except PlanboundError:  # what is wrong with the journal is said elsewhere
        return {}
    return {each.claim.plan: each.claim.holder for each in held if not each.expired}


def can_go_on(state: PlanState, driver: str | None) -> bool:
    """Say whether a run stands still, and nothing but a command is lacking."""
    return state.is_under_way and driver is None and state.waiting is None


def resume_command(slug: str) -> str:
    """Return what goes on with a run."""
    return f"planbound resume {shlex.quote(slug)}"


def _is_wanted(line: PlanLine, shown: str, now: PlansBeside) -> bool:
    match shown:
        case "open":
            return line.status is not PlanStatus.DONE or line.done < line.steps
        case "waiting":
            return line.state is not None and line.state.waiting is not None
        case "live":
            return line.file.slug in now.drivers
        case _:
            return True


def _counted(lines: Sequence[PlanLine], now: PlansBeside) -> str:
    waiting = sum(each.state is not None and each.state.waiting is not None for each in lines)
    runs = sum(each.file.slug in now.drivers for each in lines)
    plans = f"{len(lines):,} plan{'' if len(lines) == 1 else 's'}"
    return f"{plans}, {runs} running, {waiting} waiting for a person"


def _filter(shown: str) -> Html:
    links = (
        element("li", served("a", name, href=address(show=None if key == "all" else key),
                             aria_current="true" if key == shown else None))
        for key, name in SHOWN.items()
    )  # fmt: skip
    return served("nav", element("ul", links), class_="choices", aria_label="Which plans")


def _lines(lines: Sequence[PlanLine], now: PlansBeside, *, whole: bool) -> Html:
    if not lines and not whole:
        return element("p", "No plan is like that now.")
    if not lines:
        return element("p", "There is no plan here yet: ", element("code", "planbound new NAME"),
                       " begins one.")  # fmt: skip
    titles = ("plan", "state", "steps", "waits for", "driven by", "since", "cost")
    return table("Plans", titles, [_line(each, now) for each in lines])


def _line(line: PlanLine, now: PlansBeside) -> Html:
    slug, state = line.file.slug, line.state
    driver = now.drivers.get(slug)
    page = address("plan", slug, "run") if driver is not None else address("plan", slug)
    cost = now.costs.get(slug)
    return element(
        "tr",
        element(
            "th",
            served("a", slug, href=page),
            join(" ", said(line.objective, 160)) if line.objective else None,
            said(f" {line.problem}") if line.problem else None,
            scope="row",
        ),
        element("td", word(line.word or "unknown"), _shelf(line)),
        element("td", _progress(line), class_="number"),
        element("td", _waits(slug, state.waiting if state is not None else None)),
        element("td", said(driver, 80) if driver is not None else ""),
        element("td", moment(state.last) if state is not None and state.last else ""),
        element("td", spent_words(cost) if cost is not None else "", class_="number"),
        class_="item",
    )


def _shelf(line: PlanLine) -> str | None:
    return f" {line.shelf.name.lower()}" if line.shelf.value else None


def _progress(line: PlanLine) -> Content:
    others = [f"{line.holds} hold"] if line.holds else []
    others += [f"{line.attested} attested"] if line.attested else []
    words = ", ".join((f"{line.done} of {line.steps} proved", *others))
    return (
        served("progress", max=max(1, line.steps), value=line.done + line.holds + line.attested,
               aria_label=f"steps of {line.file.slug}"),
        f" {words}",
    )  # fmt: skip


def _waits(slug: str, waiting: str | None) -> Content:
    if waiting is None:
        return ""
    return served("a", f"a person: {waiting}", href=address("inbox", plan=slug))


ROUTES = [PageRoute("GET", "/", show_plans)]
