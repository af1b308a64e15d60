"""The recorded bindings: which plan has which worktree."""

from __future__ import annotations

from planbound.engine.team.slot import misplaced
from planbound.engine.team.state import KINDS, Binding, TeamState, team_states
from planbound.errors import GitProblem
from planbound.ports.git import Repository
from planbound.ports.journal import Journal, Query


def known_team(journal: Journal | None) -> dict[str, TeamState]:
    """Return what the journal says about every plan's worktree."""
    return team_states(journal.read(Query(events=KINDS))) if journal is not None else {}


def known_of(journal: Journal | None, slug: str) -> TeamState:
    """Return what the journal says about one plan's worktree."""
    if journal is None:
        return TeamState(slug)
    found = team_states(journal.read(Query(plan=slug, events=KINDS)))
    return found.get(slug) or TeamState(slug)


def mismatch(binding: Binding, repository: Repository) -> str | None:
    """Return why the folder of a binding is not the worktree that was recorded."""
    try:
        branch = repository.branch(binding.path)
    except GitProblem as problem:
        return problem.message
    return misplaced(binding, pointed=binding.path, branch=branch)
