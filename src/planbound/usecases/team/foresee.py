"""What an integration would come to: nothing is judged, moved or recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planbound.engine.team.integration import (
    HeldBack,
    Integrated,
    Landed,
    Result,
    StopKind,
    Stopped,
    conflict_reason,
)
from planbound.engine.team.state import Integration, TeamState
from planbound.errors import GitProblem, Refused
from planbound.usecases.team.commit import CommitDesk, proved_work
from planbound.usecases.team.containment import Branch, contains, waits_for


def foresee(
    desk: CommitDesk,
    branch: Branch,
    slugs: Sequence[str],
    depends_on: Mapping[str, Sequence[str]],
    team: Mapping[str, TeamState],
    *,
    main: str,
) -> Integrated:
    """Return which plans could be merged one after the other, and what would stop the others.

    `main` is a worktree whose attributes hold.
    """
    known = dict(team)
    results: list[Result] = []
    now = branch
    for slug in slugs:
        try:
            now, result = _foresee(desk, now, known[slug], depends_on, known, main=main)
        except (Refused, GitProblem) as problem:
            result = HeldBack(slug, problem.message)
        results.append(result)
        if isinstance(result, Landed):
            merge = Integration(branch.name, branch.commit, now.commit, now.commit)
            known[slug] = known[slug]._replace(integrated=merge)
    return Integrated(branch.name, branch.commit, branch.commit, tuple(results))


def _foresee(
    desk: CommitDesk,
    branch: Branch,
    state: TeamState,
    depends_on: Mapping[str, Sequence[str]],
    team: Mapping[str, TeamState],
    *,
    main: str,
) -> tuple[Branch, Result]:
    repository, author = desk.repository, desk.rules.author
    waits = waits_for(repository, branch, state.plan, depends_on, team)
    if waits is not None:
        return branch, HeldBack(state.plan, waits)
    work = proved_work(desk, state)
    tip = work.parents[0]
    if work.tree != repository.tree_of(tip) or len(work.parents) > 1:
        # Commits that nothing leads to, so that the next plan meets the ones before it.
        tip = repository.commit(work.tree, work.parents, "foreseen", author)
    if contains(repository, branch.commit, tip):
        return branch, Landed(state.plan, None, note=f"is in `{branch.name}` already")
    merged = repository.merge(main, branch.commit, tip)
    if merged.conflicts:
        reason = conflict_reason(branch.name, merged.conflicts)
        kind = StopKind.CONFLICT
        return branch, Stopped(
            *(state.plan, kind, reason, branch.commit, tip),
            files=merged.conflicts,
            output=merged.said,
            tree=merged.tree,
        )
    commit = repository.commit(merged.tree, [branch.commit, tip], "foreseen", author)
    return branch._replace(commit=commit), Landed(state.plan, None)
