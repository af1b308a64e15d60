"""Where a plan's work is, by the journal: its worktree, its branch, whether it was merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from planbound.engine.gate.approval import is_noticed
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record

PROVED = frozenset({"done", "done with skips"})


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


class Proof(NamedTuple):
    """A tree on which everything that the plan demands was seen to hold."""

    tree: str
    digest: str | None
    status: str


class Integration(NamedTuple):
    """A merge: judged, or done."""

    into: str
    before: str
    """The commit that the branch led to before."""
    commit: str
    tip: str


class Stop(NamedTuple):
    """Why a plan was not merged when that was tried last."""

    kind: str
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
_ANEW = frozenset(
    {
        EventKind.PLAN_CREATED,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_REWRITTEN,
        EventKind.GATE_APPROVED,
    }
)


def team_states(records: Iterable[Record]) -> dict[str, TeamState]:
    """Return what is known of every plan that the records speak of."""
    found: dict[str, TeamState] = {}
    for record in records:
        draft = record.draft
        if draft.plan and draft.provenance is Provenance.LIVE:
            before = found.get(draft.plan) or TeamState(draft.plan)
            found[draft.plan] = _applied(before, draft.event, draft.details)
    return found


def _applied(  # noqa: PLR0911 - one for each kind
    state: TeamState, kind: EventKind, details: Mapping[str, Json]
) -> TeamState:
    if kind in _ANEW and not is_noticed(kind, details):
        # The worktree stays whose it is; what was proved in it is proved no more.
        return TeamState(state.plan, binding=state.binding)
    match kind:
        case EventKind.EXECUTION_STARTED:
            return state._replace(proof=None, commit=None, judged=None)
        case EventKind.EXECUTION_COMPLETE | EventKind.FINALIZATION_ACCEPTED:
            return state._replace(proof=_proof(kind, details))
        case EventKind.WORKTREE_REQUESTED | EventKind.WORKTREE_SPAWNED:
            whole = kind is EventKind.WORKTREE_SPAWNED
            return state._replace(binding=_binding(state.plan, details, is_whole=whole))
        case EventKind.WORKTREE_REMOVED:
            return state._replace(binding=None)
        case EventKind.WORK_COMMITTED:
            return state._replace(commit=str(details["commit"]))
        case EventKind.INTEGRATION_STARTED:
            return state._replace(judged=None)
        case EventKind.INTEGRATION_JUDGED:
            return state._replace(judged=_merge(details, "target"), stop=None)
        case EventKind.INTEGRATION_STOPPED:
            return state._replace(judged=None, stop=_stop(details))
        case EventKind.PLAN_INTEGRATED:
            return state._replace(judged=None, stop=None, integrated=_merge(details, "before"))
        case _:
            return state


def _proof(kind: EventKind, details: Mapping[str, Json]) -> Proof | None:
    tree, digest = details.get("tree"), details.get("digest")
    if kind is EventKind.EXECUTION_COMPLETE:
        status = str(details.get("status"))
    else:  # what an agent in the loop only claims is not proved
        status = "claimed" if details.get("claimed") or details.get("blocked") else "done"
    if status not in PROVED or not isinstance(tree, str):
        return None
    return Proof(tree, digest if isinstance(digest, str) else None, status)


def _binding(plan: str, details: Mapping[str, Json], *, is_whole: bool) -> Binding:
    path, copied, merges = str(details["path"]), details.get("copied"), details.get("merges")
    made, before = details.get("made"), details.get("builds_on")
    return Binding(
        plan=plan,
        path=path,
        branch=str(details["branch"]),
        base=str(details["base"]),
        workspace=str(details.get("workspace") or path),
        machine=str(details.get("machine") or ""),
        is_whole=is_whole,
        merges=merges if isinstance(merges, str) else None,
        copied=tuple(str(name) for name in copied) if isinstance(copied, list) else (),
        builds_on=tuple(str(name) for name in before) if isinstance(before, list) else (),
        made=tuple(str(name) for name in made) if isinstance(made, list) else (),
    )


def _merge(details: Mapping[str, Json], before: str) -> Integration:
    return Integration(
        into=str(details["into"]),
        before=str(details[before]),
        commit=str(details["commit"]),
        tip=str(details["tip"]),
    )


def _stop(details: Mapping[str, Json]) -> Stop:
    target, tip = details.get("target"), details.get("tip")
    return Stop(
        kind=str(details["kind"]),
        reason=str(details["reason"]),
        into=str(details["into"]),
        target=target if isinstance(target, str) else None,
        tip=tip if isinstance(tip, str) else None,
    )
