"""Who does what: building, mergeable, idle, waiting for a person."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from planbound.engine.readiness import FINISHED, PlanInfo
from planbound.journal.event import EventKind

IDLE_AFTER = timedelta(hours=2)


class Standing(NamedTuple):
    """Where one plan stands, and why it is told so."""

    slug: str
    status: str
    about: str


class Standup(NamedTuple):
    """Each active plan that there is something to say about, in one group."""

    building: tuple[Standing, ...]
    mergeable: tuple[Standing, ...]
    idle: tuple[Standing, ...]
    waiting: tuple[Standing, ...]


def standup(plans: Iterable[PlanInfo], now: str, *, has_journal: bool = True) -> Standup:
    """Return the groups; without a journal nothing is known about idleness."""
    groups: dict[str, list[Standing]] = {name: [] for name in Standup._fields}
    for plan in sorted(plans, key=lambda each: each.slug):
        if plan.staged or plan.archived or plan.problem is not None:
            continue
        group, about = _place(plan, now, has_journal=has_journal)
        if group is not None:
            groups[group].append(Standing(plan.slug, plan.status, about))
    return Standup(**{name: tuple(found) for name, found in groups.items()})


def _place(plan: PlanInfo, now: str, *, has_journal: bool) -> tuple[str | None, str]:
    if plan.waiting is not None:
        return "waiting", plan.waiting
    if plan.status in FINISHED:
        short, status = plan.unproved, plan.status
        found = ("waiting", short) if short is not None else ("mergeable", status)
        return (None, "") if plan.integrated else found
    if plan.status == "failed":
        # Of a session that was released a person has decided already.
        released = plan.last_event == EventKind.SESSION_RELEASED.value
        return (None, "") if released else ("waiting", "its run failed")
    quiet = _quiet(plan, now) if has_journal else None
    if plan.status == "cancelled":
        quiet = "its run was cancelled"
    if quiet is not None:
        return "idle", quiet
    if plan.is_in_progress and plan.status == "in-progress":
        return "building", plan.last_event or "no event"
    return None, ""


def _quiet(plan: PlanInfo, now: str) -> str | None:
    if plan.last is None:
        return "no event yet"
    if datetime.fromisoformat(now) - datetime.fromisoformat(plan.last) < IDLE_AFTER:
        return None
    return f"no event since {plan.last[:16].replace('T', ' ')} UTC"
