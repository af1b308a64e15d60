"""Puts together what is asked about plans that are to be merged."""

from __future__ import annotations

from planbound.errors import GitProblem, PlanboundError, Refused, UsageError
from planbound.ports.git import Repository
from planbound.usecases.team.bindings import known_team
from planbound.usecases.team.containment import Branch
from planbound.wiring.parts import Parts
from planbound.workspace.git_place import find_git
from planbound.workspace.tree import plans_root


def plan_sizes(parts: Parts) -> dict[str, int | None]:
    """Return how many lines the recorded branch of each plan changes, where that can be told."""
    sizes: dict[str, int | None] = {}
    try:
        team = known_team(parts.existing_journal())
        bound = [state.binding for state in team.values() if state.binding is not None]
        if not bound or find_git(plans_root(parts.root)) is None:
            return {}
        from planbound.wiring.team import make_repository  # noqa: PLC0415 - only where there are any

        repository = make_repository(parts)
        target = find_target(parts, repository, None).commit
    except PlanboundError:
        return {}  # an order without sizes is still an order
    for binding in bound:
        try:
            tip = repository.commit_of(f"refs/heads/{binding.branch}")
            sizes[binding.plan] = None if tip is None else repository.size(target, tip)
        except GitProblem:
            sizes[binding.plan] = None
    return sizes


def find_target(parts: Parts, repository: Repository, given: str | None) -> Branch:
    """Return the branch that plans are brought together in."""
    rules = parts.configuration.worktrees
    main = next(each for each in repository.registered() if each.is_main)
    name = given or rules.into or main.branch
    if name is None:
        raise Refused(
            f"{main.path} has no branch checked out, so nobody can tell where to merge",
            hint="name the branch: `planbound integrate --into BRANCH`",
        )
    name = name.removeprefix("refs/heads/")
    commit = None
    if name in repository.branches():  # and no other word for a commit
        commit = repository.commit_of(f"refs/heads/{name}")
    if commit is None:
        hint = None if given else "`[worktrees] into` names another, or `--into`"
        raise UsageError(f"`{name}` is no branch of this repository", hint=hint)
    return Branch(name, commit)
