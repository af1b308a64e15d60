"""What waits for what, as a drawing made on the server, and the same in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planbound.page.visit import address
from planbound.receipts.html import Content, Html, element, identity, join, served
from planbound.receipts.pieces import fold_away, table, word
from planbound.source import columns_of, fitting
from planbound.team.graph import DrawnEdge, PlacedPlan, PlanGraph, Spot, lay_out_graph
from planbound.team.lanes import Lane, LanePlan

MOST = 150
"""So many plans are drawn; beyond, nobody could read it."""
_WIDTH, _HEIGHT = 176, 46
_BETWEEN, _BELOW, _EDGE = 56, 16, 8
_LONGEST_NAME = 20
_COLOURS = {
    Lane.HELD: "none",
    Lane.READY: "soft",
    Lane.RUNNING: "soft",
    Lane.WAITING: "warn",
    Lane.DONE: "good",
    Lane.MERGED: "good",
}
ELSEWHERE = "not on the board"
"""What is said of a plan that others name: it is archived, or there is none."""


def colour_of_lane(lane: Lane) -> str:
    """Return the colour of a lane: it says no more than the word does."""
    return _COLOURS[lane]


def plan_graph(plans: Sequence[LanePlan]) -> Html:
    """Return the drawing of all plans that wait for others, or that others wait for."""
    known = {plan.slug: plan for plan in plans}
    waits = {plan.slug: plan.depends_on for plan in plans if plan.depends_on}
    if not waits:
        return element("p", "No plan waits for another one.")
    names = {*waits, *(other for others in waits.values() for other in others)}
    listed = _in_words(waits, known)
    if len(names) > MOST:
        said = f"{len(names)} plans are joined: too many for a drawing that can be read."
        return join(element("p", said), listed)
    graph = lay_out_graph(waits)
    knotted = ", ".join(sorted(graph.knotted))
    return join(
        element("div", _drawing(graph, known), class_="scroll graph-of", tabindex=0,
                role="region", aria_label="What waits for what, drawn"),
        element("p", f"These plans wait for each other, so none of them can begin: {knotted}.",
                class_="notice") if knotted else None,
        listed,
    )  # fmt: skip


def _in_words(waits: Mapping[str, Sequence[str]], known: Mapping[str, LanePlan]) -> Html:
    rows = [
        element(
            "tr",
            element("th", _link(slug), scope="row"),
            element("td", word(known[slug].lane.value)),
            element("td", (join(_named(other, known), element("br")) for other in waits[slug])),
        )
        for slug in sorted(waits)
    ]
    words = table("What waits for what", ("plan", "is", "waits for"), rows)
    return fold_away("The same in words", words)


def _link(slug: str) -> Html:
    return served("a", slug, href=address("plan", slug))


def _named(slug: str, known: Mapping[str, LanePlan]) -> Content:
    plan = known.get(slug)
    said = plan.lane.value if plan is not None else ELSEWHERE
    return join(_link(slug) if plan is not None else slug, f" ({said})")


# -- the drawing ---------------------------------------------------------------------------------


def _drawing(graph: PlanGraph, known: Mapping[str, LanePlan]) -> Html:
    width = 2 * _EDGE + graph.columns * _WIDTH + (graph.columns - 1) * _BETWEEN
    height = 2 * _EDGE + graph.rows * _HEIGHT + (graph.rows - 1) * _BELOW
    title, about = identity("graph", "title"), identity("graph", "about")
    said = (
        f"{len(graph.plans)} plans and {len(graph.edges)} lines, each from a plan to one that"
        " waits for it; the table below says the same"
    )
    return element(
        "svg",
        element("title", "What waits for what", id=title),
        element("desc", said, id=about),
        (_edge(each) for each in graph.edges),
        (_plan(each, known.get(each.slug)) for each in graph.plans),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_labelledby=title,
        aria_describedby=about,
        class_="graph",
    )


def _corner(spot: Spot) -> tuple[int, int]:
    column, row = spot
    return _EDGE + column * (_WIDTH + _BETWEEN), _EDGE + row * (_HEIGHT + _BELOW)


def _plan(placed: PlacedPlan, plan: LanePlan | None) -> Html:
    x, y = _corner(placed.spot)
    colour = colour_of_lane(plan.lane) if plan is not None else "none"
    said = plan.lane.value if plan is not None else ELSEWHERE
    return element(
        "g",
        element("title", placed.slug),
        element("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, class_="graph-plan"),
        element("text", _short(placed.slug), x=x + 12, y=y + 19, class_="graph-name"),
        element("text", _short(said), x=x + 12, y=y + 36, class_="graph-word"),
        class_=f"graph-{colour}",
    )


def _short(name: str) -> str:
    if columns_of(name) <= _LONGEST_NAME:
        return name
    return f"{fitting(name, _LONGEST_NAME - 1)}…"


def _edge(edge: DrawnEdge) -> Html:
    return join(
        element("path", d=" ".join(_line(edge.way)), fill="none", class_="graph-line"),
        element("path", d=_head(edge.way[-1]), class_="graph-head"),
    )


def _line(way: Sequence[Spot]) -> Iterator[str]:
    """Yield a line from the right of the first spot to the left of the last one."""
    x, y = _corner(way[0])
    yield f"M{x + _WIDTH} {y + _HEIGHT // 2}"
    for at, spot in enumerate(way[1:], 1):
        left, middle = _corner(spot)[0], _corner(spot)[1] + _HEIGHT // 2
        before = _corner(way[at - 1])[1] + _HEIGHT // 2
        bend = left - _BETWEEN // 2
        yield f"C{bend} {before} {bend} {middle} {left} {middle}"
        if at < len(way) - 1:
            yield f"H{left + _WIDTH}"


def _head(spot: Spot) -> str:
    x, y = _corner(spot)
    middle = y + _HEIGHT // 2
    return f"M{x - 8} {middle - 5} L{x} {middle} L{x - 8} {middle + 5} Z"
