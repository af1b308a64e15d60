"""All plans at once: who does what, one line for each, and the order in which to merge them."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from planbound.disk.files import Shelf
from planbound.errors import PlanboundError
from planbound.journal.event import EventKind
from planbound.plan.model import PlanStatus
from planbound.plan.slug import progress_name
from planbound.source import visible
from planbound.state.place import TeamState
from planbound.team.merge import MergeOrder, after_its_base, merge_order
from planbound.workspace.configuration import Require
from planbound.workspace.overview import PlanLine, PlanOverview, plan_infos
from planbound.workspace.progress_file import last_line
from planbound.workspace.readiness import FINISHED, FileStatus, PlanInfo, why_not_ready
from planbound.workspace.tree import Workspace

# -- who does what: building, mergeable, idle, waiting for a person ------------------------------


IDLE_AFTER = timedelta(hours=2)


class StandupLine(NamedTuple):
    """Where one plan stands, and why it is told so."""

    slug: str
    status: PlanStatus | FileStatus
    about: str


class Standup(NamedTuple):
    """Each plan that is not put away, in one group."""

    building: tuple[StandupLine, ...]
    mergeable: tuple[StandupLine, ...]
    idle: tuple[StandupLine, ...]
    """Nobody works at it: not begun, nothing happened for long, or put down."""
    waiting: tuple[StandupLine, ...]


def standup(plans: Iterable[PlanInfo], now: str, *, has_journal: bool = True) -> Standup:
    """Return the groups; without a journal nothing is known about idleness."""
    groups: dict[str, list[StandupLine]] = {name: [] for name in Standup._fields}
    for plan in sorted(plans, key=lambda each: each.slug):
        if not plan.archived:
            group, about = _place(plan, now, has_journal=has_journal)
            groups[group].append(StandupLine(plan.slug, plan.shown, about))
    return Standup(**{name: tuple(found) for name, found in groups.items()})


def _place(plan: PlanInfo, now: str, *, has_journal: bool) -> tuple[str, str]:
    """Return the group that tells most, and why it is that one."""
    if plan.problem is not None:
        return "waiting", f"its file cannot be read: {plan.problem}"
    if plan.waiting is not None:
        return "waiting", ", ".join(plan.open_questions) or plan.waiting
    ended = None if plan.staged else _ended(plan)
    if ended is not None:
        return ended
    quiet = _quiet(plan, now) if has_journal else None
    if quiet is None and not plan.staged and plan.status is PlanStatus.IN_PROGRESS:
        return "building", _happened(plan.last_event)
    told = "; ".join(each for each in (why_not_ready(plan), quiet) if each is not None)
    return "idle", told or (
        "to be run" if plan.status is PlanStatus.APPROVED else plan.status.value
    )


_IN_WORDS = {
    EventKind.EXECUTION_STARTED: "the run began",
    EventKind.EXECUTION_PAUSED: "the run stopped",
    EventKind.EXECUTION_CANCELLED: "the run is cancelled",
    EventKind.TASK_STARTED: "a step is worked on",
    EventKind.ATTEMPT_ENDED: "an attempt at a step is over",
    EventKind.CONTRACT_STARTED: "a contract is judged",
    EventKind.CONTRACT_EVALUATED: "a contract was judged",
    EventKind.TASK_COMPLETED: "a step is done",
    EventKind.TASK_FAILED: "a step failed",
    EventKind.TASK_SKIPPED: "a step was skipped",
    EventKind.TASK_BLOCKED: "a step is said to be blocked",
    EventKind.TASK_REOPENED: "a step is open again",
    EventKind.FAILURE_DETECTED: "something failed",
    EventKind.FAILURE_CLASSIFIED: "something failed",
    EventKind.RECOVERY_APPLIED: "a step is tried again",
    EventKind.RECOVERY_ESCALATION: "a question was answered",
    EventKind.BUDGET_RAISED: "the budget was raised",
    EventKind.WAIVED: "somebody waived a pass",
    EventKind.ATTESTED: "somebody attested",
    EventKind.FINALIZATION_DEFERRED: "the agent waits for something of its own",
    EventKind.FINALIZATION_REJECTED: "the agent said that it is done, and is not",
    EventKind.LEASE_RELEASED: "its lease was taken away",
    EventKind.WORKTREE_SPAWNED: "it got a worktree",
    EventKind.PLAN_VERIFIED: "it was verified",
}


def _happened(event: str | None) -> str:
    """Return what happened last to a plan that is worked on."""
    if event is None:
        return "no event yet"
    return _IN_WORDS.get(EventKind(event)) or event.lower().replace("_", " ")


def _ended(plan: PlanInfo) -> tuple[str, str] | None:
    """Return where a plan stands whose work is over."""
    if plan.status in FINISHED:
        if plan.integrated:
            return "idle", "merged"
        short = plan.unproved
        return ("waiting", short) if short is not None else ("mergeable", plan.status.value)
    if plan.status is PlanStatus.FAILED:
        # Of a session that was released a person has decided already.
        released = plan.last_event == EventKind.SESSION_RELEASED.value
        return ("idle", "released") if released else ("waiting", "its run failed")
    if plan.status is PlanStatus.CANCELLED:
        return "idle", "its run was cancelled"
    if plan.status is PlanStatus.FINISHED_BLOCKED:
        return "waiting", "some of it could not be done"
    return None


def _quiet(plan: PlanInfo, now: str) -> str | None:
    if plan.last is None:
        return "no event yet"
    if datetime.fromisoformat(now) - datetime.fromisoformat(plan.last) < IDLE_AFTER:
        return None
    return f"no event since {plan.last[:16].replace('T', ' ')} UTC"


# -- all plans at once: the standup, one line for each, and the order in which to merge them -----


MAX_PROGRESS = 120
"""How many characters of a line of progress are shown."""


class StandupReport(NamedTuple):
    """The groups, and what could not be found out."""

    standup: Standup
    warnings: tuple[str, ...]


def find_standup(seen: PlanOverview, now: str, require: Require = Require.CLAIMED) -> StandupReport:
    """Return where each active plan stands at a time, UTC as the journal writes it."""
    warnings = list(seen.warnings)
    infos = plan_infos(seen, warnings, require)
    return StandupReport(standup(infos, now, has_journal=seen.has_journal), tuple(warnings))


class QueueWord(enum.Enum):
    """What the queue says of a plan in place of where it is."""

    STAGED = "staged"
    UNREADABLE = "unreadable"


class QueueLine(NamedTuple):
    """One plan of the queue."""

    slug: str
    status: PlanStatus | FileStatus | QueueWord
    progress: str


class Queue(NamedTuple):
    """The lines, and what could not be found out."""

    lines: tuple[QueueLine, ...]
    warnings: tuple[str, ...]


def queue_status(seen: PlanOverview, workspace: Workspace) -> Queue:
    """Return the active and the staged plans; reads and never writes."""
    active = {line.file.slug for line in seen.lines if line.shelf is Shelf.ACTIVE}
    lines = []
    for line in seen.lines:
        # The staged copy of an active plan is no second plan.
        if line.shelf is Shelf.ACTIVE:
            lines.append(_line(line, line.shown or PlanStatus.DRAFT, workspace))
        elif line.shelf is Shelf.STAGED and line.file.slug not in active:
            status = FileStatus.EMPTY if line.is_empty else QueueWord.STAGED
            lines.append(_line(line, status, workspace))
    return Queue(tuple(lines), seen.warnings)


def _line(
    line: PlanLine, status: PlanStatus | FileStatus | QueueWord, workspace: Workspace
) -> QueueLine:
    place = workspace.place(Shelf.ACTIVE, progress_name(line.file.slug))
    try:
        progress = last_line(place.path) or ""
    except PlanboundError as error:
        progress = f"({error.message})"
    return QueueLine(
        slug=line.file.slug,
        status=QueueWord.UNREADABLE if line.problem is not None else status,
        progress=_cut(visible(progress.strip())),
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PROGRESS else text[: MAX_PROGRESS - 1] + "…"


class OrderedPlans(NamedTuple):
    """The order, and what could not be found out."""

    order: MergeOrder
    warnings: tuple[str, ...]


def find_merge_order(
    seen: PlanOverview,
    team: Mapping[str, TeamState],
    sizes: Mapping[str, int | None],
    require: Require = Require.CLAIMED,
) -> OrderedPlans:
    """Return the order; `sizes` are the lines that each plan changes since its merge base."""
    warnings = list(seen.warnings)
    infos = [after_its_base(info, team) for info in plan_infos(seen, warnings, require)]
    return OrderedPlans(merge_order(infos, sizes), tuple(warnings))
