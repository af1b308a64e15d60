"""`/team`: every plan by its lane, what waits for what, who holds what, and what is merged next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import PlanboundError
from planbound.journal.leases import Held
from planbound.page.parts import kept_live, links, say, ticked
from planbound.page.team_forms import INTEGRATE, PRUNE, ROUTES_OF_FORMS, spawn_form
from planbound.page.team_graph import colour_of_lane, plan_graph
from planbound.page.visit import (
    PageAnswer,
    PageRoute,
    PartOfPage,
    ShownPage,
    Visit,
    address,
)
from planbound.plan.model import PlanStatus
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.pieces import (
    ROWS,
    facts,
    fold_away,
    heading,
    listed,
    moment,
    said,
    table,
)
from planbound.team.lanes import Lane, LanePlan, PlanLanes, find_lanes
from planbound.team.merge import MergeOrder, describe_cycle
from planbound.team.standup import find_merge_order
from planbound.team.target import plan_sizes
from planbound.workspace.root import find_git, plans_root

_TITLES = {
    Lane.HELD: "Held back",
    Lane.READY: "Ready",
    Lane.RUNNING: "Running",
    Lane.WAITING: "Waits for a person",
    Lane.DONE: "Done, not merged",
    Lane.MERGED: "Merged",
}
_MOST_CARDS = 12
"""So many plans of a lane have a card; of the others a line says why they are there."""
_MOST_ASKED = 3


class TeamNow(NamedTuple):
    """All that the page shows, at one moment."""

    lanes: PlanLanes
    held: Sequence[Held]
    order: MergeOrder
    seq: Mapping[str, int]
    """By plan the last event that is known."""
    has_git: bool


def show_team(visit: Visit) -> PageAnswer:
    """Show what all plans do."""
    now = team_now(visit)
    part = kept_live("team", address("team"), *_whole(visit, now))
    if visit.accepts_part:
        return PartOfPage(part)
    return ShownPage(
        "Team",
        (heading(1, "Team"), part),
        at="/team",
        live=address("live", after=visit.board.head.seq, quiet=1),
    )


def team_now(visit: Visit) -> TeamNow:
    """Return where all plans are; git is asked after the fold is let go."""
    context, board = visit.context, visit.board
    require = context.configuration.gate.require
    with board.lock:
        board.refresh()
        held = _held(visit)
        seen = board.overview(context)
        lanes = find_lanes(seen, held, context.now(), require)
        places = {slug: state.place for slug, state in board.states.items()}
        seqs = {slug: state.seq for slug, state in board.states.items()}
    done = {plan.slug for plan in lanes.of(Lane.DONE)}
    sizes = plan_sizes(context, done) if done else {}
    order, _ = find_merge_order(seen, places, sizes, require)
    has_git = find_git(plans_root(context.root)) is not None
    return TeamNow(lanes, held, order, seqs, has_git)


def _held(visit: Visit) -> tuple[Held, ...]:
    try:
        if visit.context.existing_journal() is None:
            return ()
        return tuple(visit.context.leases().held())
    except PlanboundError:  # what is wrong with the journal is said elsewhere
        return ()


def _whole(visit: Visit, now: TeamNow) -> Iterator[Content]:
    yield element("p", _counted(now.lanes), role="status")
    for warning in now.lanes.warnings:
        yield say(f"{warning}.")
    if now.has_git:
        yield links("Merge and tidy", ("Merge what is proved", INTEGRATE),
                    ("Remove worktrees", PRUNE))  # fmt: skip
    yield element("div", (_lane(visit, now, lane) for lane in Lane), class_="lanes")
    yield element("section", heading(2, "What waits for what"), plan_graph(now.lanes.plans))
    yield element("section", heading(2, "Merge order"), _order(now.order))
    yield element("section", heading(2, "Claims"), _claims(now.held))


def _counted(lanes: PlanLanes) -> str:
    counts = (f"{len(lanes.of(lane))} {lane.value}" for lane in Lane if lanes.of(lane))
    many = len(lanes.plans)
    return f"{many} plan{'' if many == 1 else 's'}" + "".join(f", {each}" for each in counts)


# -- the board -----------------------------------------------------------------------------------


def _lane(visit: Visit, now: TeamNow, lane: Lane) -> Html:
    plans = now.lanes.of(lane)
    title = f"lane-{lane.value.replace(' ', '-')}"
    return element(
        "section",
        heading(2, f"{_TITLES[lane]} ({len(plans)})", id=title),
        (_card(visit, now, plan) for plan in plans[:_MOST_CARDS]),
        _others(plans[_MOST_CARDS:]),
        element("p", "nothing", class_="dim") if not plans else None,
        aria_labelledby=title,
        class_="lane" if plans else "lane is-empty",
    )


def _others(plans: Sequence[LanePlan]) -> Html | None:
    if not plans:
        return None
    lines = (
        join(served("a", plan.slug, href=address("plan", plan.slug)), " ", ticked(plan.about))
        for plan in plans[:ROWS]
    )
    left_out = len(plans) - ROWS
    return fold_away(
        f"and {len(plans)} more",
        listed(lines),
        element("p", f"{left_out:,} more are left out.") if left_out > 0 else None,
    )


def _card(visit: Visit, now: TeamNow, plan: LanePlan) -> Html:
    is_live = plan.lane is Lane.RUNNING
    page = address("plan", plan.slug, "run") if is_live else address("plan", plan.slug)
    where = join(element("code", plan.worktree)) if plan.worktree else None
    return element(
        "article",
        element("h3", served("a", plan.slug, href=page)),
        element("p", said(plan.objective, 120), class_="dim") if plan.objective else None,
        _progress(plan),
        element("p", ticked(plan.about)) if plan.about and not plan.questions else None,
        _asked(plan),
        (element("p", "now: ", said(each, 160)) for each in plan.at_work),
        facts(
            ("by", plan.holder),
            ("in", where),
            ("branch", element("code", plan.branch) if plan.branch else None),
            ("last event", moment(plan.last) if plan.last else None),
        ),
        _spawn(visit, now, plan),
        class_=f"item is-{colour_of_lane(plan.lane)}",
    )


def _asked(plan: LanePlan) -> Html | None:
    return listed(
        join(
            served("a", question.id, href=f"{address('inbox')}#question-{question.id}"),
            " ",
            said(question.reason, 160),
        )
        for question in plan.questions[:_MOST_ASKED]
    )


def _progress(plan: LanePlan) -> Html | None:
    if not plan.steps:
        return None
    bar = served("progress", max=str(plan.steps), value=str(plan.settled),
                 aria_label=f"Steps of {plan.slug} that are settled")  # fmt: skip
    return element("p", bar, " ", plan.tally)


def _spawn(visit: Visit, now: TeamNow, plan: LanePlan) -> Html | None:
    waits = plan.lane in {Lane.READY, Lane.HELD} and plan.status == PlanStatus.APPROVED.value
    if not (waits and plan.branch is None and now.has_git) or not visit.rights.decides:
        return None
    return spawn_form(visit, plan.slug, now.seq.get(plan.slug, 0))


# -- what is merged next, and who holds what -----------------------------------------------------


def _order(order: MergeOrder) -> Html:
    if order.cycle:
        return say(f"{describe_cycle(order.cycle)}: take one of them out of a `depends_on`.")
    if not order.turns:
        return element("p", "No plan is done and not merged.", class_="dim")
    rows = (
        element("li", served("a", turn.slug, href=address("plan", turn.slug)), ": ",
                ticked(turn.reason))
        for turn in order.turns
    )  # fmt: skip
    return element("ol", rows)


def _claims(held: Sequence[Held]) -> Html:
    if not held:
        return element("p", "Nobody works on anything.", class_="dim")
    titles = ("plan", "who", "where", "nobody else may touch", "until")
    return table("Who holds what", titles, [_claim(each) for each in held])


def _claim(held: Held) -> Html:
    claim = held.claim
    touches: Content = "anything: it does not say what it touches"
    if claim.touches is not None:
        touches = join(*(join(element("code", each), " ") for each in claim.touches)) or "nothing"
    until = "over: anybody may take it" if held.expired else f"{held.expires_in:.0f} s, or renewed"
    return element(
        "tr",
        element("th", claim.plan, scope="row"),
        element("td", said(claim.holder, 200)),
        element("td", element("code", claim.worktree)),
        element("td", touches),
        element("td", until),
    )


ROUTES = [PageRoute("GET", "/team", show_team, reads_fold=False), *ROUTES_OF_FORMS]
