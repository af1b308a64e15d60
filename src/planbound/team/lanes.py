"""A board of all plans: in which lane each one is, why, and who works on it where."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.journal.leases import Held
from planbound.plan.model import PlanStatus, StepStatus
from planbound.state.plan import PlanState
from planbound.state.question import Question
from planbound.state.step import StepState, tally
from planbound.team.standup import Standup, standup
from planbound.workspace.configuration import Require
from planbound.workspace.overview import PlanLine, PlanOverview, plan_infos
from planbound.workspace.readiness import FINISHED, PlanInfo, Readiness, readiness, why_not_ready


class Lane(enum.Enum):
    """Where a plan is on the board."""

    HELD = "held back"
    READY = "ready"
    RUNNING = "running"
    WAITING = "waits for a person"
    DONE = "done"
    """Everything that it demands was seen to hold; how much of it is proved is said beside it."""
    MERGED = "merged"


class LanePlan(NamedTuple):
    """One plan on the board."""

    slug: str
    lane: Lane
    status: str
    """Where it is, as every view tells it."""
    about: str
    """Why it is in this lane."""
    tally: str
    """What its steps came to; empty where it has none."""
    settled: int = 0
    """How many steps need nothing more, in whatever way."""
    steps: int = 0
    at_work: tuple[str, ...] = ()
    """What is worked on now, in words."""
    holder: str | None = None
    """Who works on it."""
    worktree: str | None = None
    branch: str | None = None
    depends_on: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    """What a person is asked, the oldest first."""
    last: str | None = None
    """When something happened to it last."""
    objective: str | None = None


class PlanLanes(NamedTuple):
    """All plans that are not put away, and what could not be found out."""

    plans: tuple[LanePlan, ...]
    warnings: tuple[str, ...]

    def of(self, lane: Lane) -> tuple[LanePlan, ...]:
        """Return the plans of a lane."""
        return tuple(plan for plan in self.plans if plan.lane is lane)


def find_lanes(
    seen: PlanOverview, held: Sequence[Held], now: str, require: Require = Require.CLAIMED
) -> PlanLanes:
    """Return the board at a time, UTC as the journal writes it."""
    warnings = list(seen.warnings)
    infos = plan_infos(seen, warnings, require)
    scene = _LaneScene(
        {info.slug: info for info in infos},
        _first_of(seen.lines),
        {each.claim.plan: each for each in held if not each.expired},
        readiness(infos),
        standup(infos, now, has_journal=seen.has_journal),
    )
    plans = tuple(scene.place(slug) for slug in sorted(scene.infos) if scene.is_shown(slug))
    return PlanLanes(plans, tuple(warnings))


def _first_of(lines: Iterable[PlanLine]) -> dict[str, PlanLine]:
    found: dict[str, PlanLine] = {}
    for line in lines:
        found.setdefault(line.file.slug, line)
    return found


class _LaneScene:
    """All that is decided from."""

    def __init__(
        self,
        infos: Mapping[str, PlanInfo],
        lines: Mapping[str, PlanLine],
        held: Mapping[str, Held],
        ready: Readiness,
        groups: Standup,
    ) -> None:
        self.infos = infos
        self.lines = lines
        self.held = held
        undecided = {each.slug for each in ready.undecided}
        self.safe = frozenset(ready.safe_together) - undecided
        self.back = {each.slug: each.reason for each in (*ready.undecided, *ready.held_back)}
        self.groups = {
            line.slug: (name, line.about)
            for name, lines_of in zip(Standup._fields, groups, strict=True)
            for line in lines_of
        }

    def is_shown(self, slug: str) -> bool:
        return not self.infos[slug].archived

    def place(self, slug: str) -> LanePlan:
        """Return a plan with all that the board tells of it."""
        info, line = self.infos[slug], self.lines[slug]
        lane, about = self._lane(info)
        state = line.state
        lease = self.held.get(slug)
        binding = state.place.binding if state is not None else None
        where = lease.claim.worktree if lease is not None else None
        if where is None and binding is not None:
            where = binding.path
        return LanePlan(
            slug=slug,
            lane=lane,
            status=info.shown.value,
            about=about,
            tally=tally(line.done, line.steps, line.holds, line.attested) if line.steps else "",
            settled=_settled(line),
            steps=line.steps,
            at_work=tuple(_at_work(state)) if lane is Lane.RUNNING and state else (),
            holder=lease.claim.holder if lease is not None else None,
            worktree=where,
            branch=binding.branch if binding is not None else None,
            depends_on=info.depends_on,
            questions=tuple(state.questions.open.values()) if state is not None else (),
            last=info.last,
            objective=line.objective,
        )

    def _lane(self, info: PlanInfo) -> tuple[Lane, str]:
        """Return the lane of a plan, and why it is that one."""
        slug = info.slug
        group, about = self.groups[slug]
        if group == "waiting":
            return Lane.WAITING, about
        if slug in self.held:
            return Lane.RUNNING, ""
        if group == "mergeable":
            return Lane.DONE, "to be merged"
        if info.integrated and info.status in FINISHED:
            return Lane.MERGED, ""
        reason = self.back.get(slug)
        if reason is None and slug in self.safe:
            return Lane.READY, ""
        own = None if info.started else why_not_ready(info)
        if own is not None and reason is not None and own != reason:
            reason = f"{own}; {reason}"
        return (Lane.HELD, reason) if reason is not None else self._begun(info, about)

    def _begun(self, info: PlanInfo, about: str) -> tuple[Lane, str]:
        state = self.lines[info.slug].state
        if info.status is not PlanStatus.IN_PROGRESS or state is None:
            return Lane.HELD, about
        if state.is_under_way:
            resume = f"`planbound resume {shlex.quote(info.slug)}`"
            return Lane.HELD, f"its run stopped before its end: {resume}"
        return Lane.RUNNING, f"an agent works on it by itself: {about}"


def _settled(line: PlanLine) -> int:
    if line.state is None:
        return line.done + line.holds + line.attested
    steps = line.plan.steps if line.plan is not None else ()
    known = line.state.steps
    return sum(step.id in known and known[step.id].status.is_settled for step in steps)


def _at_work(state: PlanState) -> Iterator[str]:
    """Yield what is worked on now: the steps that somebody has."""
    for step in state.steps.values():
        if step.status is StepStatus.IN_PROGRESS:
            yield _step_words(step)


def _step_words(step: StepState) -> str:
    name = step.name or step.id
    return f"{name}, attempt {step.attempts}" if step.attempts > 1 else name
