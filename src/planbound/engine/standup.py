"""Who does what: building, mergeable, idle, waiting for a person."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from planbound.engine.readiness import EMPTY, FINISHED, PlanInfo
from planbound.journal.event import EventKind

IDLE_AFTER = timedelta(hours=2)


class Standing(NamedTuple):
    """Where one plan stands, and why it is told so."""

    slug: str
    status: str
    about: str


class Standup(NamedTuple):
    """Each plan that is not put away, in one group."""

    building: tuple[Standing, ...]
    mergeable: tuple[Standing, ...]
    idle: tuple[Standing, ...]
    """Nobody works at it: not begun, nothing happened for long, or put down."""
    waiting: tuple[Standing, ...]


_NEXT = {"draft": "to be verified", "verified": "to be approved", "approved": "to be run"}


def standup(plans: Iterable[PlanInfo], now: str, *, has_journal: bool = True) -> Standup:
    """Return the groups; without a journal nothing is known about idleness."""
    groups: dict[str, list[Standing]] = {name: [] for name in Standup._fields}
    for plan in sorted(plans, key=lambda each: each.slug):
        if not plan.archived:
            group, about = _place(plan, now, has_journal=has_journal)
            groups[group].append(Standing(plan.slug, plan.word, about))
    return Standup(**{name: tuple(found) for name, found in groups.items()})


def _place(plan: PlanInfo, now: str, *, has_journal: bool) -> tuple[str, str]:
    """Return the group that tells most, and why it is that one."""
    if plan.problem is not None:
        return "waiting", f"its file cannot be read: {plan.problem}"
    if plan.status == EMPTY:
        return "idle", plan.unwritten or plan.status
    if plan.waiting is not None:
        return "waiting", ", ".join(plan.open_questions) or plan.waiting
    ended = None if plan.staged else _ended(plan)
    if ended is not None:
        return ended
    quiet = _quiet(plan, now) if has_journal else None
    if quiet is None and not plan.staged and plan.status == "in-progress":
        return "building", plan.last_event or "no event"
    about = "staged" if plan.staged else _NEXT.get(plan.status, plan.status)
    return "idle", quiet or plan.unwritten or about


def _ended(plan: PlanInfo) -> tuple[str, str] | None:
    """Return where a plan stands whose work is over."""
    if plan.status in FINISHED:
        if plan.integrated:
            return "idle", "merged"
        short = plan.unproved
        return ("waiting", short) if short is not None else ("mergeable", plan.status)
    if plan.status == "failed":
        # Of a session that was released a person has decided already.
        released = plan.last_event == EventKind.SESSION_RELEASED.value
        return ("idle", "released") if released else ("waiting", "its run failed")
    if plan.status == "cancelled":
        return "idle", "its run was cancelled"
    if plan.status == "finished with blocked items":
        return "waiting", "some of it could not be done"
    return None


def _quiet(plan: PlanInfo, now: str) -> str | None:
    if plan.last is None:
        return "no event yet"
    if datetime.fromisoformat(now) - datetime.fromisoformat(plan.last) < IDLE_AFTER:
        return None
    return f"no event since {plan.last[:16].replace('T', ' ')} UTC"
