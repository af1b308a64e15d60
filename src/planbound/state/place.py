"""Where a plan's work is, by the journal: its worktree, its branch, whether it was merged."""

import re
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from msgspec import Struct

from planbound.journal.event import (
    Event,
    EventKind,
    ExecutionComplete,
    ExecutionStarted,
    FinalizationAccepted,
    GateApproved,
    IntegrationJudged,
    IntegrationStarted,
    IntegrationStopped,
    PlanAmended,
    PlanCreated,
    PlanIntegrated,
    PlanRewritten,
    RunOutcome,
    StopKind,
    WorkCommitted,
    WorktreeRemoved,
    WorktreeRequested,
    WorktreeSpawned,
)
from planbound.plan.model import PlanStatus
from planbound.source import lazy_pattern
from planbound.state.approval import is_noticed

# -- where a plan's work is, by the journal: its worktree, its branch, whether it was merged -----


_PROVED = {
    RunOutcome.DONE: PlanStatus.DONE,
    RunOutcome.DONE_WITH_SKIPS: PlanStatus.DONE_WITH_SKIPS,
}
"""The ends of a run that reached everything."""


class Binding(NamedTuple):
    """A plan's own worktree and branch, as they were recorded when they were made."""

    plan: str
    path: str
    """The top of the worktree."""
    branch: str
    base: str
    """The commit that the branch began with."""
    workspace: str
    """The folder in it that is worked in."""
    machine: str = ""
    is_whole: bool = True
    """Whether it was made to its end; otherwise somebody was cut off in the middle."""
    merges: str | None = None
    """The commit whose conflicts are to be resolved in it."""
    copied: tuple[str, ...] = ()
    """Untracked files that were copied into it, seen from the workspace."""
    builds_on: tuple[str, ...] = ()
    """The plans whose work it began with: they are merged before it."""
    made: tuple[str, ...] = ()
    """What its setup made and git does not ignore, seen from its top; folders end with `/`."""


class Proof(Struct, frozen=True):
    """A tree on which everything that the plan demands was seen to hold."""

    tree: str
    digest: str | None
    status: PlanStatus


class Integration(Struct, frozen=True):
    """A merge: judged, or done."""

    into: str
    before: str
    """The commit that the branch led to before."""
    commit: str
    tip: str


class Stop(Struct, frozen=True):
    """Why a plan was not merged when that was tried last."""

    kind: StopKind
    reason: str
    into: str
    target: str | None
    tip: str | None


class TeamState(NamedTuple):
    """What is known of one plan."""

    plan: str
    binding: Binding | None = None
    proof: Proof | None = None
    commit: str | None = None
    """What the harness committed of the proved work."""
    judged: Integration | None = None
    """A merge that holds, and of which nobody noted whether the branch moved."""
    integrated: Integration | None = None
    stop: Stop | None = None


KINDS = (
    EventKind.PLAN_CREATED,
    EventKind.PLAN_STAGED,
    EventKind.PLAN_ACTIVATED,
    EventKind.PLAN_ARCHIVED,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_REWRITTEN,
    EventKind.GATE_APPROVED,
    EventKind.EXECUTION_STARTED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.FINALIZATION_ACCEPTED,
    EventKind.WORKTREE_REQUESTED,
    EventKind.WORKTREE_SPAWNED,
    EventKind.WORKTREE_REMOVED,
    EventKind.WORK_COMMITTED,
    EventKind.INTEGRATION_STARTED,
    EventKind.INTEGRATION_JUDGED,
    EventKind.INTEGRATION_STOPPED,
    EventKind.PLAN_INTEGRATED,
)
"""The events that matter here."""


def begun_anew(state: TeamState) -> TeamState:
    """Return what stays where the plan is another one: the worktree is whose it was."""
    return TeamState(state.plan, binding=state.binding)


def placed(state: TeamState, event: Event) -> TeamState:  # noqa: PLR0911 - one for each kind
    """Return where the work is after an event of `KINDS`."""
    match event:
        case PlanCreated() | PlanAmended() | PlanRewritten() | GateApproved():
            # What was proved in it is proved no more.
            return state if is_noticed(event) else begun_anew(state)
        case ExecutionStarted():
            return state._replace(proof=None, commit=None, judged=None)
        case ExecutionComplete():
            status = _PROVED.get(event.status) if event.status is not None else None
            return state._replace(proof=_proof(event, status))
        case FinalizationAccepted():
            # What an agent in the loop only claims is not proved.
            status = None if event.claimed or event.blocked else PlanStatus.DONE
            return state._replace(proof=_proof(event, status))
        case WorktreeRequested() | WorktreeSpawned():
            return state._replace(binding=_binding(state.plan, event))
        case WorktreeRemoved():
            return state._replace(binding=None)
        case WorkCommitted():
            return state._replace(commit=event.commit)
        case IntegrationStarted():
            return state._replace(judged=None)
        case IntegrationJudged(into=into, target=before, commit=commit, tip=tip):
            return state._replace(judged=Integration(into, before, commit, tip), stop=None)
        case IntegrationStopped():
            return state._replace(judged=None, stop=_stop(event))
        case PlanIntegrated(into=into, before=before, commit=commit, tip=tip):
            merged = Integration(into, before, commit, tip)
            return state._replace(judged=None, stop=None, integrated=merged)
        case _:
            return state


def _proof(
    event: ExecutionComplete | FinalizationAccepted, status: PlanStatus | None
) -> Proof | None:
    if status is None or event.tree is None:
        return None
    return Proof(event.tree, event.digest, status)


def _binding(plan: str, event: WorktreeRequested | WorktreeSpawned) -> Binding:
    found = Binding(
        plan=plan,
        path=event.path,
        branch=event.branch,
        base=event.base,
        workspace=event.workspace or event.path,
        machine=event.machine or "",
        is_whole=False,
        builds_on=event.builds_on or (),
    )
    if isinstance(event, WorktreeRequested):
        return found
    return found._replace(
        is_whole=True,
        merges=event.merges,
        copied=event.copied or (),
        made=event.made or (),
    )


def _stop(event: IntegrationStopped) -> Stop:
    return Stop(
        kind=event.kind, reason=event.reason, into=event.into, target=event.target, tip=event.tip
    )


# -- the place of a plan's work: how it is called, and whether it still is what was recorded -----


PREFIX = "planbound/"
POINTER = "worktree-for-"
"""How the file in the main `.harness/` begins that says where a plan's worktree is."""
HARNESS_OWN = (
    ".harness/active-plan",
    ".harness/PLAN*.md",
    ".harness/progress*.md",
    ".harness/worktree-for-*",
    ".harness/queued-plans/**",
    ".harness/archive/**",
)
"""What is the harness's own in a worktree, and never committed with a plan's work."""
_UNFIT = lazy_pattern(r"[\x00-\x20\x7f~^:?*\[\\]+|\.\.+|@\{|\.lock$|\.$|/")


def branch_names(slug: str, taken: Iterable[str]) -> str:
    """Return a free branch for a plan; it is recorded, and never derived again."""
    used = {name.casefold() for name in taken}
    plain = re.sub(r"-+", "-", _UNFIT.sub("-", slug)).strip("-") or "plan"
    for number in count(1):
        name = f"{PREFIX}{plain}" if number == 1 else f"{PREFIX}{plain}-{number}"
        if name.casefold() not in used:
            return name
    raise AssertionError(slug)


def misplaced(binding: Binding, *, pointed: str | None, branch: str | None) -> str | None:
    """Return why a folder is not the worktree that was recorded; None where it is.

    `pointed` is the repository that the folder's `.git` names, if it is one of its worktrees;
    `branch` is what is checked out there.
    """
    if pointed is None:
        return f"`{binding.path}` is no worktree of this repository any more"
    if branch != binding.branch:
        found = f"`{branch}`" if branch else "no branch (HEAD is detached)"
        return f"`{binding.path}` has {found} checked out, and `{binding.branch}` is recorded"
    return None
