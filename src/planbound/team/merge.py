"""Which finished plans are merged, in which order, and what can come of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from planbound.journal.event import StopKind, VerdictKind
from planbound.plan.model import PlanStatus
from planbound.state.place import TeamState
from planbound.workspace.readiness import FINISHED, PlanInfo, arrows, cycle_through, knots

LEASE = ":integrate"
"""What one integration at a time holds the lease of; no plan can be called so."""
GATES = ":gates"
"""Whose contracts the gates of a branch are; no plan can be called so."""
_LISTED = 5


class Landed(NamedTuple):
    """A plan that is in the branch now."""

    plan: str
    commit: str | None
    """The merge; None where it is only foreseen."""
    contracts: int = 0
    """How many were judged."""
    note: str = ""
    """What the person should know."""


class Stopped(NamedTuple):
    """A plan that was not merged."""

    plan: str
    kind: StopKind
    reason: str
    target: str
    tip: str
    files: tuple[str, ...] = ()
    verdicts: Mapping[str, VerdictKind] = {}
    about: str | None = None
    """The plan whose contract does not hold, where that is another one."""
    output: str = ""
    """The end of what the contract or git printed."""
    tree: str | None = None
    """Of a conflict: the merged files, with its marks in them."""


class MergeNotTried(NamedTuple):
    """A plan whose merge was not tried."""

    plan: str
    reason: str


MergeResult = Landed | Stopped | MergeNotTried


class Note(NamedTuple):
    """What the person should know of an integration as a whole."""

    text: str


class Integrated(NamedTuple):
    """What was done, and what was not."""

    into: str
    before: str
    after: str
    results: tuple[MergeResult, ...]
    interrupted: bool = False

    @property
    def landed(self) -> list[Landed]:
        """Return what was merged, in its order."""
        return [each for each in self.results if isinstance(each, Landed)]

    @property
    def stopped(self) -> list[Stopped]:
        """Return what was tried and not merged."""
        return [each for each in self.results if isinstance(each, Stopped)]

    @property
    def not_tried(self) -> list[MergeNotTried]:
        return [each for each in self.results if isinstance(each, MergeNotTried)]


def choose(
    names: Sequence[str] | None,
    team: Mapping[str, TeamState],
    turns: Sequence[str],
    into: str,
    unproved: Mapping[str, str] | None = None,
) -> tuple[list[str], list[MergeNotTried]]:
    """Return which plans to merge, in the order of `turns`, and those that cannot be.

    `names` None: every plan that is proved in a worktree of its own and not merged anywhere.
    `unproved` says by plan why it is not enough that it is done.
    """
    short = unproved or {}
    if names is None:
        wanted = {
            slug
            for slug, state in team.items()
            if state.binding and state.proof and not state.integrated
        }
        lacking = [MergeNotTried(slug, short[slug]) for slug in sorted(wanted) if slug in short]
        return [slug for slug in turns if slug in wanted], lacking
    chosen: set[str] = set()
    held = []
    for slug in dict.fromkeys(names):
        state = team.get(slug) or TeamState(slug)
        if is_merged(state, into):
            continue
        reason = _unfit(state, turns, short.get(slug))
        if reason is None:
            chosen.add(slug)
        else:
            held.append(MergeNotTried(slug, reason))
    return [slug for slug in turns if slug in chosen], held


def is_merged(state: TeamState, into: str) -> bool:
    """Say whether the journal knows that a plan's work is in a branch."""
    return state.integrated is not None and state.integrated.into == into


def _unfit(state: TeamState, turns: Sequence[str], unproved: str | None) -> str | None:
    if state.binding is None:
        return f"has no worktree of its own: `planbound spawn {shlex.quote(state.plan)}` makes one"
    if state.proof is None:
        return f"is not proved: `planbound status {shlex.quote(state.plan)}` tells more"
    if unproved is not None:
        return unproved
    if state.plan not in turns:
        return "is not finished, or is archived"
    return None


def needed(slug: str, depends_on: Mapping[str, Sequence[str]]) -> list[str]:
    """Return all plans that one builds on, the nearest first."""
    found: dict[str, None] = {}
    pending = list(depends_on.get(slug, ()))
    while pending:
        other = pending.pop(0)
        if other not in found and other != slug:
            found[other] = None
            pending += depends_on.get(other, ())
    return list(found)


def conflict_reason(into: str, files: Sequence[str]) -> str:
    """Return what is said about a conflict."""
    return f"conflicts with `{into}` in {listed(files)}"


def gate_reason(plan: str, into: str, files: Sequence[str]) -> str:
    """Return what is said about a plan that changes what the gates of a branch judge by."""
    return (
        f"changes {listed(files)}, by which gates of `{into}` judge, and its approval does not name"
        f" {'it' if len(files) == 1 else 'them'}: take that out of its branch, or"
        f" {_approved_by_name(plan, files)} and let it run again"
    )


def without_reason(names: Sequence[str]) -> str:
    """Return how a tree is described in which gates have only the judges of their branch."""
    return f"without what the plan adds to its judges ({listed(names)})"


def named_cure(plan: str, files: Sequence[str]) -> str:
    """Return what to do where a gate needs what a plan adds to its judges."""
    it = "it" if len(files) == 1 else "them"
    by = _approved_by_name(plan, files)
    return f"if the gate needs {it}, name {it} by {by} and let it run again"


def _approved_by_name(plan: str, files: Sequence[str]) -> str:
    few = files[:_LISTED]
    named = " ".join(f"--gate {shlex.quote(name)}" for name in few)
    return f"`planbound approve {shlex.quote(plan)} {named}{' ...' if few != files else ''}`"


def listed(names: Sequence[str]) -> str:
    """Return some names as text."""
    shown = ", ".join(f"`{name}`" for name in names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def merge_subject(slug: str, objective: str) -> str:
    """Return the first line of a merge's message."""
    said = " ".join(objective.split())
    return f"Merge plan `{slug}`: {said}" if said else f"Merge plan `{slug}`"


def progress_heading(slug: str, commit: str) -> str:
    """Return the line under which a plan's progress stands in that of all."""
    return f"## {slug}, merged as {commit[:12]}"


def after_its_base(plan: PlanInfo, team: Mapping[str, TeamState]) -> PlanInfo:
    """Return a plan with all that is merged before it, whatever its text says of that."""
    state = team.get(plan.slug)
    before = state.binding.builds_on if state is not None and state.binding is not None else ()
    # What resolves the conflicts of a plan comes before it, and brings it in.
    resolving = resolved_by(plan.slug, team)
    more = (*before, *((resolving,) if resolving is not None else ()))
    return plan._replace(depends_on=tuple(dict.fromkeys((*plan.depends_on, *more))))


def resolved_by(slug: str, team: Mapping[str, TeamState]) -> str | None:
    """Return the plan in whose worktree the conflicts of this one are resolved, as it is now."""
    state = team.get(slug)
    if state is None or state.stop is None or state.stop.tip is None:
        return None
    for other in team.values():
        if other.binding is not None and other.binding.merges == state.stop.tip:
            return other.plan
    return None


# -- the order: what others build on first, small before large ---------------------------------


class PlaceInOrder(NamedTuple):
    """One plan's place in the order."""

    slug: str
    level: int
    """The longest chain of plans in the order that come before it."""
    size: int | None
    """How many lines it changes; None where that is not known."""
    reason: str


class MergeOrder(NamedTuple):
    """The order, or why there is none."""

    turns: tuple[PlaceInOrder, ...]
    cycle: tuple[str, ...] = ()
    """Plans that wait for each other, `(a, b, a)`."""


def merge_order(
    plans: Iterable[PlanInfo], sizes: Mapping[str, int | None], *, merged: bool = False
) -> MergeOrder:
    """Return the finished plans that are not archived, in the order to merge them.

    `merged`: those that were merged already, too.
    """
    known = {plan.slug: plan for plan in plans}
    edges = {
        slug: [other for other in plan.depends_on if other in known] for slug, plan in known.items()
    }
    finished = {
        slug
        for slug, plan in known.items()
        if plan.status in FINISHED and plan.unproved is None
        if not plan.archived and (merged or not plan.integrated)
    }
    reachable = _reachable(finished, edges)
    for slug in sorted(knots({slug: edges[slug] for slug in reachable})):
        cycle = cycle_through(slug, edges)
        if cycle is not None:
            return MergeOrder((), tuple(cycle))
    levels = _levels(reachable, finished, edges)
    turns = [
        PlaceInOrder(
            slug, levels[slug], sizes.get(slug), _reason(known[slug], levels, sizes, finished)
        )
        for slug in finished
    ]
    return MergeOrder(tuple(sorted(turns, key=_key)))


def describe_cycle(cycle: Iterable[str]) -> str:
    return f"these plans wait for each other: {arrows(cycle)}"


def _key(turn: PlaceInOrder) -> tuple[int, bool, int, str]:
    return turn.level, turn.size is None, turn.size or 0, turn.slug


def _reachable(roots: Iterable[str], edges: Mapping[str, list[str]]) -> set[str]:
    pending, seen = list(roots), set(roots)
    while pending:
        new = [other for other in edges[pending.pop()] if other not in seen]
        seen.update(new)
        pending += new
    return seen


def _levels(slugs: set[str], finished: set[str], edges: Mapping[str, list[str]]) -> dict[str, int]:
    """Return for each plan how many finished ones stand before it, on the longest chain."""
    levels: dict[str, int] = {}
    pending = sorted(slugs)
    while pending:
        slug = pending[-1]
        missing = [other for other in edges[slug] if other not in levels]
        if missing:
            pending += missing
            continue
        pending.pop()
        levels[slug] = max((levels[o] + (o in finished) for o in edges[slug]), default=0)
    return levels


def _reason(
    plan: PlanInfo,
    levels: Mapping[str, int],
    sizes: Mapping[str, int | None],
    finished: set[str],
) -> str:
    after = sorted({other for other in plan.depends_on if other in finished})
    if after:
        names = ", ".join(f"`{slug}`" for slug in after)
        order = f"level {levels[plan.slug]}, after {names}"
    else:
        order = f"level {levels[plan.slug]}"
        order += ", builds on none of these" if levels[plan.slug] == 0 else ""
    size = sizes.get(plan.slug)
    counted = (
        "size of its diff not known"
        if size is None
        else f"{size} changed line{'' if size == 1 else 's'}"
    )
    skips = "" if plan.status is PlanStatus.DONE else f"; {plan.status.value}"
    return f"{order}; {counted}{skips}"
