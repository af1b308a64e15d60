"""Where a plan's work is, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.engine.team.state import TeamState
from planbound.source.visible import visible


def team_data(state: TeamState) -> dict[str, object]:
    """Return where a plan's work is, for programs; nulls where it has no worktree."""
    binding, merge = state.binding, state.integrated
    return {
        "worktree": binding.path if binding else None,
        "branch": binding.branch if binding else None,
        "commit": state.commit,
        "integrated": {"into": merge.into, "commit": merge.commit} if merge else None,
    }


def team_lines(state: TeamState) -> Iterator[str]:
    """Yield where a plan's work is, for people."""
    if state.binding is not None:
        half = "" if state.binding.is_whole else ", half-made"
        path, branch = visible(state.binding.path), visible(state.binding.branch)
        yield f"  worktree {path}, branch `{branch}`{half}"
    if state.integrated is not None:
        into, commit = visible(state.integrated.into), state.integrated.commit[:12]
        yield f"  merged into `{into}` as {commit}"
    elif state.stop is not None:
        yield f"  not merged: {state.stop.kind}: {visible(state.stop.reason)}"
