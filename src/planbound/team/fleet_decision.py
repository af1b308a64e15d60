"""Which plans a fleet starts next: they wait for nothing, and touch no file of what runs."""

from __future__ import annotations

import contextlib
import enum
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import ExitCode
from planbound.plan.glob import Glob, GlobError, meeting_pairs, parse_glob
from planbound.plan.model import PlanStatus
from planbound.state.place import TeamState
from planbound.workspace.readiness import (
    FINISHED,
    HeldBack,
    PlanInfo,
    Readiness,
    ScopeKind,
    needs_approval,
    readiness,
    why_not_ready,
)

_BEGUN = frozenset({PlanStatus.IN_PROGRESS, PlanStatus.FAILED})
"""Has a run that can go on."""


class FleetOutcome(enum.Enum):
    """Why a plan is not started again in this fleet, as it is said about it."""

    FAILED = "failed"
    REFUSED = "was refused"
    ASKING = "waits for a person"
    INTERRUPTED = "was interrupted"
    UNPLACED = "got no worktree"


class FleetScene(NamedTuple):
    """All that is decided from."""

    plans: Mapping[str, PlanInfo]
    team: Mapping[str, TeamState]
    asked: tuple[str, ...]
    """The plans that this fleet is for."""
    running: frozenset[str] = frozenset()
    """Started by this fleet, and not ended."""
    elsewhere: frozenset[str] = frozenset()
    """Run by somebody else."""
    ended: Mapping[str, FleetOutcome] = {}
    """How plans ended in this fleet that are not done."""
    jobs: int = 4

    @property
    def busy(self) -> frozenset[str]:
        """Return all plans for which somebody may be changing files."""
        return self.running | self.elsewhere


class FleetDecision(NamedTuple):
    """What is to be done next."""

    start: tuple[str, ...]
    held: tuple[HeldBack, ...]
    over: bool
    """Whether nothing will ever change by waiting."""


def asked_for(plans: Mapping[str, PlanInfo]) -> tuple[str, ...]:
    """Return what a fleet is for where no plan is named: all that are neither done nor away."""
    return tuple(
        slug
        for slug in sorted(plans)
        if not (plans[slug].archived or plans[slug].staged or plans[slug].status in FINISHED)
    )


def decide(scene: FleetScene) -> FleetDecision:
    """Return which plans to start now, why others are not, and whether it is over."""
    reasons: dict[str, str] = {}
    able = []
    for slug in scene.asked:
        if slug in scene.busy or slug in scene.ended or scene.plans[slug].status in FINISHED:
            continue
        reason = _unable(scene, scene.plans[slug])
        if reason is None:
            able.append(slug)
        else:
            reasons[slug] = reason
    start = _chosen(scene, able, reasons)
    held = tuple(HeldBack(slug, reasons[slug]) for slug in sorted(reasons))
    over = not (start or scene.running or _awaits_others(scene, able))
    return FleetDecision(start, held, over)


def _unable(scene: FleetScene, plan: PlanInfo) -> str | None:
    """Return why a plan cannot be run by a fleet, whatever the others do."""
    reason = "it is archived" if plan.archived else why_not_ready(plan)
    if reason is not None:
        return reason
    if plan.status in _BEGUN:
        state = scene.team.get(plan.slug)
        if state is None or state.binding is None:
            resume = f"`planbound resume {shlex.quote(plan.slug)}`"
            return f"it was begun without a worktree: go on there with {resume}"
        return None
    return None if plan.status is PlanStatus.APPROVED else f"it is {plan.status.value}"


def _chosen(scene: FleetScene, able: Iterable[str], reasons: dict[str, str]) -> tuple[str, ...]:
    """Return what to start, interrupted plans first; note why the others are not."""
    begun = [slug for slug in able if scene.plans[slug].status in _BEGUN]
    fresh = [slug for slug in able if scene.plans[slug].status not in _BEGUN]
    start: list[str] = []
    alone: list[str] = []
    for candidates in (begun, fresh):
        found = _beside(scene, candidates, scene.busy | set(start))
        free = max(0, scene.jobs - len(scene.running) - len(start))
        start += found.safe_together[:free]
        alone += [slug for slug in found.ready if scene.plans[slug].scope is not ScopeKind.DECLARED]
        for held in found.held_back:
            reasons[held.slug] = _waits(scene, held.slug) or held.reason
        for slug in found.safe_together[free:]:
            reasons[slug] = f"waits for a free place: `--jobs` is {scene.jobs}"
    if not start and not scene.busy and alone:
        # Nobody can tell what it touches, so nothing else runs beside it.
        start = alone[:1]
        reasons.pop(start[0], None)
    return tuple(start)


def _beside(
    scene: FleetScene, candidates: Iterable[str], busy: frozenset[str] | set[str]
) -> Readiness:
    """Return which candidates are safe together, and beside the busy ones."""
    wanted = frozenset(candidates)
    seen = []
    for slug, plan in scene.plans.items():
        if slug in busy:
            # What somebody runs is not done before they have let go of it.
            seen.append(plan._replace(started=True, archived=False, status=PlanStatus.IN_PROGRESS))
        elif slug in wanted:
            seen.append(plan._replace(started=False, archived=False, staged=False))
        else:
            # Known, so that others can wait for it; neither to be started nor in the way.
            seen.append(plan._replace(started=True, archived=True, staged=False))
    return readiness(seen)


def _waits(scene: FleetScene, slug: str) -> str | None:
    """Return for which plans one waits that no waiting brings; None where there are none."""
    found = []
    for name in sorted(scene.plans[slug].depends_on):
        other = scene.plans.get(name)
        if other is None or name in scene.busy:
            continue
        if other.status in FINISHED:
            found += [f"waits for `{name}`: {other.unproved}"] if other.unproved else []
            continue
        if name in scene.ended:
            found.append(f"waits for `{name}`, which {scene.ended[name].value}")
        elif name not in scene.asked:
            found.append(f"waits for `{name}` ({other.status.value}), which is not asked for")
        elif needs_approval(other):
            found.append(f"waits for `{name}`: {why_not_ready(other) or other.status.value}")
    return "; ".join(found) or None


def builds_on(plans: Mapping[str, PlanInfo], plan: PlanInfo) -> tuple[str, ...]:
    """Return the plans whose work a plan is to begin with.

    What it depends on; and what is finished, not merged, and changed the same files: from the
    target both would be sure to conflict.
    """
    found = list(plan.depends_on)
    mine = _globs(plan)
    for slug in sorted(plans):
        other = plans[slug]
        is_finished = other.status in FINISHED and not (other.archived or other.integrated)
        if slug == plan.slug or slug in found or not is_finished:
            continue
        if next(meeting_pairs([mine, _globs(other)], lambda _first, _second: True), None):
            found.append(slug)
    return tuple(found)


def _globs(plan: PlanInfo) -> list[Glob]:
    found = []
    for text in plan.touches:
        with contextlib.suppress(GlobError):
            found.append(parse_glob(text))
    return found


def _awaits_others(scene: FleetScene, able: Iterable[str]) -> bool:
    """Say whether somebody else runs what has to end before this fleet can."""
    if not scene.elsewhere:
        return False
    if any(slug in scene.elsewhere and slug not in scene.ended for slug in scene.asked):
        return True
    if any(scene.elsewhere & _needed(scene.plans, slug) for slug in able):
        return True
    return bool(_chosen(scene._replace(elsewhere=frozenset()), able, {}))


def _needed(plans: Mapping[str, PlanInfo], slug: str) -> set[str]:
    """Return all that a plan depends on, however far."""
    found: set[str] = set()
    pending = [slug]
    while pending:
        plan = plans.get(pending.pop())
        new = set(plan.depends_on) - found if plan is not None else set()
        found |= new
        pending += new
    return found


# -- where the plans of a fleet are, and what the fleet says when it ends ------------------------


class FleetState(enum.Enum):
    """Where a plan of a fleet is, in the words of its table."""

    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"
    ASKING = "waits for you"
    FAILED = "failed"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    ELSEWHERE = "runs elsewhere"
    HELD = "held back"


class FleetRow(NamedTuple):
    """What there is to say about one plan of a fleet."""

    plan: str
    state: FleetState
    reason: str = ""
    """Why it is held back, failed, or waits."""
    proved: int = 0
    holds: int = 0
    attested: int = 0
    steps: int = 0
    current: str = ""
    """The step that is worked on."""
    seconds: float = 0.0
    """How long it was run by this fleet."""
    worktree: str | None = None
    branch: str | None = None
    exit_code: int | None = None
    log: str | None = None
    tail: tuple[str, ...] = ()
    """What it said last, where it did not end well."""
    needs_approval: bool = False


def exit_code_of(rows: Sequence[FleetRow], *, started: bool, stopped: bool) -> ExitCode:
    """Return what a fleet says when it ends."""
    states = {row.state for row in rows}
    if stopped:
        return ExitCode.INTERRUPTED
    if states <= {FleetState.DONE}:
        return ExitCode.DONE if started else ExitCode.NOTHING_TO_DO
    if states & {FleetState.FAILED, FleetState.REFUSED, FleetState.INTERRUPTED}:
        return ExitCode.FAILED
    if FleetState.ASKING in states or any(row.needs_approval for row in rows):
        return ExitCode.WAITING
    return ExitCode.FAILED
