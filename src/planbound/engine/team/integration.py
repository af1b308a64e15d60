"""What comes of bringing plans together: which, in which order, and what stopped them."""

from __future__ import annotations

import enum
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbound.engine.judging.verdict import VerdictKind
from planbound.engine.team.state import TeamState

LEASE = ":integrate"
"""What one integration at a time holds the lease of; no plan can be called so."""
_LISTED = 5
_RED = frozenset(
    {VerdictKind.FAIL, VerdictKind.TAMPERED, VerdictKind.VACUOUS, VerdictKind.OUT_OF_SCOPE}
)


class StopKind(enum.Enum):
    """Why a plan was not merged, and nothing moved."""

    CONFLICT = "conflict"
    """Both sides changed the same."""
    RED = "red"
    """A contract does not hold on the merged tree."""
    INCONCLUSIVE = "inconclusive"
    """Nobody can tell whether all contracts hold."""
    MOVING = "moving"
    """The branch was moved by others again and again."""
    IN_THE_WAY = "in the way"
    """Files that are not committed would be written over."""


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
    verdicts: Mapping[str, str] = {}
    about: str | None = None
    """The plan whose contract does not hold, where that is another one."""
    output: str = ""
    """The end of what the contract or git printed."""
    tree: str | None = None
    """Of a conflict: the merged files, with its marks in them."""


class HeldBack(NamedTuple):
    """A plan that was not tried."""

    plan: str
    reason: str


Result = Landed | Stopped | HeldBack


class Integrated(NamedTuple):
    """What was done, and what was not."""

    into: str
    before: str
    after: str
    results: tuple[Result, ...]
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
    def held_back(self) -> list[HeldBack]:
        """Return what was not tried."""
        return [each for each in self.results if isinstance(each, HeldBack)]


def choose(
    names: Sequence[str] | None,
    team: Mapping[str, TeamState],
    turns: Sequence[str],
    into: str,
    unproved: Mapping[str, str] | None = None,
) -> tuple[list[str], list[HeldBack]]:
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
        lacking = [HeldBack(slug, short[slug]) for slug in sorted(wanted) if slug in short]
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
            held.append(HeldBack(slug, reason))
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


def kind_of(verdicts: Sequence[VerdictKind]) -> StopKind | None:
    """Return why verdicts on a merged tree stop the merge; None where all of them pass."""
    if any(verdict in _RED for verdict in verdicts):
        return StopKind.RED
    if any(verdict is not VerdictKind.PASS for verdict in verdicts):
        return StopKind.INCONCLUSIVE
    return None


def is_red(verdict: VerdictKind) -> bool:
    """Say whether a contract ran, and says no."""
    return verdict in _RED


def conflict_reason(into: str, files: Sequence[str]) -> str:
    """Return what is said about a conflict."""
    return f"conflicts with `{into}` in {listed(files)}"


def listed(names: Sequence[str]) -> str:
    """Return some names as text."""
    shown = ", ".join(f"`{name}`" for name in names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def merge_subject(slug: str, objective: str) -> str:
    """Return the first line of a merge's message."""
    said = " ".join(objective.split())
    return f"Merge plan `{slug}`: {said}" if said else f"Merge plan `{slug}`"


def fold_heading(slug: str, commit: str) -> str:
    """Return the line under which a plan's progress stands in that of all."""
    return f"## {slug}, merged as {commit[:12]}"
