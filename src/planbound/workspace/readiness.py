"""Which plans may begin: all that they depend on is done, and nobody else changes their files."""

from __future__ import annotations

import enum
import shlex
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from planbound.plan.glob import Glob, GlobError, meeting_pairs, parse_glob
from planbound.plan.model import PlanStatus

EXACT_LIMIT = 30
"""So many plans that overlap each other, and the largest safe set is found; beyond, a good one."""
FINISHED = frozenset({PlanStatus.DONE, PlanStatus.DONE_WITH_SKIPS})


class FileStatus(enum.Enum):
    """What a plan is by its file alone, where that is no status that a plan can have."""

    EMPTY = "empty"
    """It holds nothing, and so is no draft either."""
    CLAIMED = "claimed"
    """It says that it is done, and the journal knows nothing of it."""


_ENDED = FINISHED | {
    PlanStatus.FINISHED_BLOCKED,
    PlanStatus.FAILED,
    PlanStatus.CANCELLED,
    FileStatus.CLAIMED,
}


class ScopeKind(enum.Enum):
    """How a plan says what it may change."""

    DECLARED = "by the plan"
    BY_STEPS = "by each of its steps"
    OPEN = "not at all"


class PlanInfo(NamedTuple):
    """What has to be known about a plan to set it beside others."""

    slug: str
    status: PlanStatus | FileStatus = PlanStatus.DRAFT
    """By the journal, or by the file where there is none."""
    started: bool = False
    staged: bool = False
    archived: bool = False
    integrated: bool = False
    """Whether it was merged."""
    depends_on: tuple[str, ...] = ()
    touches: tuple[str, ...] = ()
    """All that it may change, its steps included."""
    scope: ScopeKind = ScopeKind.DECLARED
    last_event: str | None = None
    last: str | None = None
    """When the last event was; UTC as the journal writes it."""
    waiting: str | None = None
    """What a person is asked, while one is."""
    problem: str | None = None
    """Why the file could not be read."""
    unproved: str | None = None
    """Why others may not build on it although it is done."""
    unwritten: str | None = None
    """Why nobody could do it yet: it still has to be filled in."""
    open_questions: tuple[str, ...] = ()
    """All that a person is asked, where that is more than one thing."""
    rejected: str | None = None
    """Who said no to it as it is, and why, where nobody decided otherwise since."""

    @property
    def shown(self) -> PlanStatus | FileStatus:
        """Its status as every view tells it."""
        return PlanStatus.DRAFT if self.status is FileStatus.CLAIMED else self.status

    @property
    def is_candidate(self) -> bool:
        """Whether it could be begun: staged or active, and not started."""
        return self.staged or not (self.archived or self.started)

    @property
    def is_in_progress(self) -> bool:
        """Whether somebody may be changing files for it now."""
        return self.started and not self.archived and self.status not in _ENDED


class HeldBack(NamedTuple):
    """A plan that is not to be begun now."""

    slug: str
    reason: str


class Blocker(Struct, frozen=True):
    """A plan that another one waits for, and that waits for nobody itself."""

    way: tuple[str, ...]
    """From the plan that waits to this one."""
    lack: str | None
    """What it is instead of proved; None: there is no such plan."""

    @property
    def shown(self) -> str:
        """Return it as it is recorded and shown: `a → b → c (draft)`."""
        return f"{arrows(self.way)} ({self.lack or 'no such plan'})"


class Readiness(NamedTuple):
    """What may be begun."""

    ready: tuple[str, ...]
    """All that they depend on is done."""
    safe_together: tuple[str, ...]
    """The most of them that can work side by side, and beside what is in progress."""
    held_back: tuple[HeldBack, ...]
    warnings: tuple[str, ...]
    undecided: tuple[HeldBack, ...] = ()
    """Those that nobody holds back, and that have to be approved or activated first."""


# -- why a plan cannot begin, whatever the others do ---------------------------------------------


_UNDECIDED = frozenset({PlanStatus.DRAFT, PlanStatus.VERIFIED, PlanStatus.CANCELLED})
_ASKED = {
    "approval": "waits for approval: `planbound approve {0}`",
    "clarification": "waits for the answer to a question about it: `planbound inbox`",
}


def needs_approval(plan: PlanInfo) -> bool:
    """Say whether a person has to decide about a plan before it can run."""
    return plan.status in _UNDECIDED and not plan.archived


def why_unfit(plan: PlanInfo) -> str | None:
    """Return why nobody can begin a plan before its file or somebody's mind is another."""
    if plan.problem is not None:
        return f"its file cannot be read: {plan.problem}"
    if plan.status is FileStatus.CLAIMED:
        return "its file says that it is done, and the journal knows nothing of it"
    if plan.staged and (plan.started or plan.status in FINISHED):
        now = plan.status.value
        word = f"is {now} already" if plan.status in FINISHED else f"has started already ({now})"
        return f"it {word}; a staged copy of it is left over"
    if plan.status not in _UNDECIDED and plan.status is not FileStatus.EMPTY:
        return None  # who approved it saw what it says
    # Asked again, it is another decision.
    return plan.unwritten or (plan.rejected if plan.waiting not in _ASKED else None)


def why_not_ready(plan: PlanInfo) -> str | None:
    """Return why a plan that has not begun cannot be run as it is, in the words of every view.

    It is about this plan alone: whether another one is in its way is not asked.
    """
    unfit, slug = why_unfit(plan), shlex.quote(plan.slug)
    if unfit is not None:
        return unfit
    if plan.staged:
        return f"staged: `planbound activate {slug}`"
    if not needs_approval(plan):
        return None
    if plan.waiting in _ASKED:
        return _ASKED[plan.waiting].format(slug)
    if plan.status is PlanStatus.CANCELLED:
        return f"its run was cancelled: `planbound approve {slug}`"
    return f"not approved yet: `planbound approve {slug}`"


# -- which plans may begin -----------------------------------------------------------------------


def why_unproved(holds: int, *, demanded: bool) -> str | None:
    """Return why a plan that is done is not enough, where every step is to be proved."""
    if not holds or not demanded:
        return None
    steps = "1 step holds and is" if holds == 1 else f"{holds} steps hold and are"
    return f'{steps} not proved, which `[gate] require = "proved"` demands'


def readiness(plans: Iterable[PlanInfo]) -> Readiness:
    """Return which plans are ready, which of them are safe together, and why the rest is not."""
    known = {plan.slug: plan for plan in plans}
    reasons: dict[str, str] = {}
    warnings: list[str] = []
    ready: list[PlanInfo] = []
    graph = _Graph(known)
    for slug in sorted(known):
        plan = known[slug]
        if not plan.is_candidate:
            continue
        reason = graph.unready(plan)
        if reason is None:
            ready.append(plan)
        else:
            reasons[slug] = reason
    running = [known[slug] for slug in sorted(known) if known[slug].is_in_progress]
    chosen = _Selection(ready, running, reasons, warnings).choose()
    undecided = ((slug, why_not_ready(known[slug])) for slug in chosen)
    return Readiness(
        ready=tuple(plan.slug for plan in ready),
        safe_together=tuple(chosen),
        held_back=tuple(HeldBack(slug, reasons[slug]) for slug in sorted(reasons)),
        warnings=tuple(warnings),
        undecided=tuple(HeldBack(slug, why) for slug, why in undecided if why is not None),
    )


def blockers(slug: str, plans: Iterable[PlanInfo]) -> list[Blocker]:
    """Return what has to be proved before a plan may begin; nothing where it may."""
    graph = _Graph({plan.slug: plan for plan in plans})
    found: list[Blocker] = []
    seen = {slug}
    pending: deque[tuple[str, ...]] = deque([(slug,)])
    while pending:
        way = pending.popleft()
        for other in sorted(graph.edges.get(way[-1], ())):
            lack = graph.lack(other)
            if lack is None or (other in seen and other not in way):
                continue
            further = (*way, other)
            if other in way:
                found.append(Blocker(further, "waits for itself"))
            elif any(graph.lack(each) is not None for each in graph.edges.get(other, ())):
                pending.append(further)
            else:
                known = graph.known.get(other)
                found.append(Blocker(further, lack if known is not None else None))
            seen.add(other)
    return found


def dead_ends(plans: Iterable[PlanInfo]) -> list[str]:
    """Return why plans can never begin: a circle once, and each plan that is not there."""
    known = {plan.slug: plan for plan in plans}
    graph = _Graph(known)
    found: list[str] = []
    told: set[str] = set()
    for slug, cycle in graph.cycles.items():
        if slug not in told:
            told.update(cycle)
            found.append(f"these plans wait for each other: {arrows(cycle)}")
    for slug in sorted(known):
        if not known[slug].archived:
            missing = sorted(set(graph.edges[slug]) - known.keys())
            found += [f"`{slug}` waits for `{other}`, which is no plan" for other in missing]
    return found


def knots(edges: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the plans on a cycle or between two: none of them, and there is no cycle."""
    left = set(edges)
    for turned in (False, True):
        # Peel off what leads nowhere, then what nothing leads to; what stays is knotted.
        outward: dict[str, list[str]] = {slug: [] for slug in left}
        inward: dict[str, list[str]] = {slug: [] for slug in left}
        for slug in left:
            for other in set(edges[slug]) & left:
                start, end = (other, slug) if turned else (slug, other)
                outward[start].append(end)
                inward[end].append(start)
        loose = [slug for slug in left if not outward[slug]]
        degree = {slug: len(ends) for slug, ends in outward.items()}
        while loose:
            slug = loose.pop()
            left.discard(slug)
            for other in inward[slug]:
                degree[other] -= 1
                if not degree[other]:
                    loose.append(other)
    return left


def cycle_through(slug: str, edges: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Return the shortest way from a plan back to itself, `[a, b, a]`; None where there is none."""
    return _way(slug, edges, lambda at: at == slug)


def _way(
    start: str, edges: Mapping[str, Sequence[str]], is_end: Callable[[str], bool]
) -> list[str] | None:
    """Return the shortest way of at least one edge, ties by name."""
    before: dict[str, str] = {}
    pending = deque([start])
    while pending:
        at = pending.popleft()
        for following in sorted(edges.get(at, ())):
            if is_end(following):
                way = [following, at]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if following not in before and following != start:
                before[following] = at
                pending.append(following)
    return None


def arrows(way: Iterable[str]) -> str:
    """Return a way as it is shown: `a → b → a`."""
    return " → ".join(way)


class _Graph:
    """Which plan waits for which."""

    def __init__(self, known: Mapping[str, PlanInfo]) -> None:
        self.known = known
        # What is done needs nothing any more: a way through it leads nowhere.
        self.edges = {
            slug: () if plan.status is PlanStatus.DONE else plan.depends_on
            for slug, plan in known.items()
        }
        self.cycles = {
            slug: cycle
            for slug in sorted(knots(self.edges))
            if (cycle := cycle_through(slug, self.edges)) is not None
        }

    def lack(self, slug: str) -> str | None:
        """Return what a plan is instead of proved; None where others may build on it."""
        plan = self.known.get(slug)
        if plan is None:
            return "no such plan"
        return plan.unproved if plan.status is PlanStatus.DONE else plan.status.value

    def unready(self, plan: PlanInfo) -> str | None:
        """Return why a plan cannot begin by itself; None where it can."""
        unfit = why_unfit(plan)
        if plan.problem is not None or plan.started or plan.status in FINISHED:
            return unfit
        found = [] if unfit is None else [unfit]
        cycle = self.cycles.get(plan.slug, [])
        if cycle:
            found.append(f"it waits for itself: {arrows(cycle)}")
        for slug in sorted(set(plan.depends_on) - set(cycle)):
            lack, other = self.lack(slug), self.known.get(slug)
            if other is None:
                found.append(f"there is no plan `{slug}`: {arrows((plan.slug, slug))}")
            elif other.status is not PlanStatus.DONE:
                found.append(f"waits for `{slug}` ({lack}){self._hopeless(plan, slug)}")
            elif lack is not None:
                found.append(f"waits for `{slug}`: {lack}")
        return "; ".join(found) or None

    def _hopeless(self, plan: PlanInfo, slug: str) -> str:
        """Say why a dependency can never be done, where that is so."""
        if slug in self.cycles:
            lost: list[str] | None = [slug]
        else:
            lost = _way(slug, self.edges, lambda at: at not in self.known or at in self.cycles)
        if lost is None:
            return ""
        way = [plan.slug, *lost]
        cycle = self.cycles.get(way[-1])
        if cycle is None:
            return f", and there is no plan `{way[-1]}`: {arrows(way)}"
        return f", which waits for itself: {arrows([*way, *cycle[1:]])}"


class _Selection:
    """Finds the most plans that do not get in each other's way."""

    def __init__(
        self,
        ready: Sequence[PlanInfo],
        running: Sequence[PlanInfo],
        reasons: dict[str, str],
        warnings: list[str],
    ) -> None:
        self.ready = ready
        self.running = running
        self.reasons = reasons
        self.warnings = warnings
        self.globs: dict[str, list[Glob]] = {}

    def choose(self) -> list[str]:
        """Return the slugs, in order; note why each of the others is held back."""
        for plan in self.running:
            if not self._has_scope(plan):
                self.warnings.append(
                    f"`{plan.slug}` is in progress without `touches`: nothing is called safe "
                    "beside it"
                )
        plans = [plan for plan in self.ready if self._is_bounded(plan)]
        plans = [plan for plan in plans if self._is_free_beside_running(plan)]
        groups = [self.globs[plan.slug] for plan in plans]
        overlaps: dict[str, dict[str, str]] = {plan.slug: {} for plan in plans}
        for first, second, mine, theirs in meeting_pairs(groups, lambda _first, _second: True):
            left, right = plans[first].slug, plans[second].slug
            overlaps[left][right] = f"`{mine.text}` meets `{theirs.text}`"
            overlaps[right][left] = f"`{theirs.text}` meets `{mine.text}`"
        chosen: list[str] = []
        for component in _components(overlaps):
            chosen += self._largest(component, overlaps)
        for slug, met in overlaps.items():
            if slug not in chosen:
                other = min(other for other in met if other in chosen)
                self.reasons[slug] = f"waits for `{other}`: {met[other]}"
        return sorted(chosen)

    def _largest(self, component: list[str], overlaps: Mapping[str, Mapping[str, str]]) -> set[str]:
        if len(component) <= EXACT_LIMIT:
            return _largest_set(component, overlaps)
        self.warnings.append(
            f"{len(component)} plans overlap each other, from `{component[0]}` to "
            f"`{component[-1]}`: the set that is proposed is safe, but a larger one may exist"
        )
        return _greedy_set(component, overlaps)

    def _is_bounded(self, plan: PlanInfo) -> bool:
        if plan.scope is not ScopeKind.DECLARED:
            self.reasons[plan.slug] = (
                "its frontmatter has no `touches`, so nobody can tell whether it is safe"
            )
            self.warnings.append(f"`{plan.slug}` has no `touches` in its frontmatter")
            return False
        if not self._has_scope(plan):
            self.reasons[plan.slug] = "its `touches` cannot be read"
            return False
        return True

    def _has_scope(self, plan: PlanInfo) -> bool:
        if plan.scope is ScopeKind.OPEN:
            return False
        try:
            self.globs[plan.slug] = [parse_glob(text) for text in plan.touches]
        except GlobError as error:
            self.warnings.append(f"`touches` of `{plan.slug}` cannot be read: {error}")
            return False
        return True

    def _is_free_beside_running(self, plan: PlanInfo) -> bool:
        for other in self.running:
            theirs = self.globs.get(other.slug)
            if theirs is None:
                reason = "has no `touches` that can be read"
            else:
                both = [self.globs[plan.slug], theirs]
                met = next(meeting_pairs(both, lambda _first, _second: True), None)
                if met is None:
                    continue
                reason = f"`{met[2].text}` meets `{met[3].text}`"
            self.reasons[plan.slug] = f"waits for `{other.slug}`, which is in progress: {reason}"
            return False
        return True


_Overlaps = Mapping[str, Mapping[str, str]]


def _components(overlaps: _Overlaps) -> list[list[str]]:
    """Return the groups of plans that are linked by overlaps, each in order."""
    seen: set[str] = set()
    found = []
    for root in sorted(overlaps):
        if root in seen:
            continue
        seen.add(root)
        group = [root]
        for slug in group:
            new = [other for other in overlaps[slug] if other not in seen]
            seen.update(new)
            group += new
        found.append(sorted(group))
    return found


def _largest_set(component: Sequence[str], overlaps: _Overlaps) -> set[str]:
    """Return the largest set without an overlap; of several the first by name."""
    place = {slug: bit for bit, slug in enumerate(component)}
    near = [sum(1 << place[other] for other in overlaps[slug]) for slug in component]

    @cache
    def size(left: int) -> int:
        """Return how many of the plans that are left fit together."""
        most, degree, rest = -1, -1, left
        while rest:
            bit = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            here = (near[bit] & left).bit_count()
            if here <= 1:  # taking it costs nothing that a better choice would keep
                return 1 + size(left & ~near[bit] & ~(1 << bit))
            if here > degree:
                most, degree = bit, here
        if most < 0:
            return 0
        without = left & ~(1 << most)
        return max(1 + size(without & ~near[most]), size(without))

    chosen, left = set(), (1 << len(component)) - 1
    for bit, slug in enumerate(component):
        with_it = left & ~near[bit] & ~(1 << bit)
        if left >> bit & 1 and 1 + size(with_it) == size(left):
            chosen.add(slug)
            left = with_it
        else:
            left &= ~(1 << bit)
    return chosen


def _greedy_set(component: Sequence[str], overlaps: _Overlaps) -> set[str]:
    """Return a safe set to which nothing can be added: always the one that is in fewest ways."""
    chosen: set[str] = set()
    left = set(component)
    while left:
        slug = min(left, key=lambda each: (len(left & overlaps[each].keys()), each))
        chosen.add(slug)
        left -= {slug, *overlaps[slug]}
    return chosen
