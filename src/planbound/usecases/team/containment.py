"""What is in a branch already, and what has to be there first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbound.engine.team.integration import is_merged, needed
from planbound.engine.team.state import TeamState
from planbound.errors import GitProblem
from planbound.ports.git import Repository


class Branch(NamedTuple):
    """The branch that plans are brought together in."""

    name: str
    commit: str
    """What it leads to."""


def contains(repository: Repository, target: str, commit: str) -> bool:
    """Say whether a commit leads to another; no, where that cannot be read."""
    try:
        return not repository.missing(commit, [target], remotes=False)
    except GitProblem:
        return False


def waits_for(
    repository: Repository,
    branch: Branch,
    slug: str,
    depends_on: Mapping[str, Sequence[str]],
    team: Mapping[str, TeamState],
) -> str | None:
    """Return why a plan cannot be merged yet; None where all that it builds on is there."""
    for other in needed(slug, depends_on):
        state = team.get(other)
        if state is None or state.binding is None:
            continue  # it was done in the main worktree, or its worktree was pruned
        if not is_merged(state, branch.name) and not _is_in(repository, branch.commit, state):
            return f"waits for `{other}`, which was not merged"
    return None


def _is_in(repository: Repository, target: str, state: TeamState) -> bool:
    """Say whether the proved work of a plan is in a branch, whoever brought it there."""
    binding = state.binding
    if binding is None or state.proof is None:
        return False
    commit = state.integrated.tip if state.integrated else state.commit
    if commit is None:
        tip = repository.commit_of(f"refs/heads/{binding.branch}")
        commit = tip if tip != binding.base else None
    return commit is not None and contains(repository, target, commit)
