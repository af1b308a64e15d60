"""The branch that plans are merged into: which it is, what is in it, and what shows it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import GitProblem, PlanboundError, Refused, UsageError
from planbound.git.place import make_repository
from planbound.git.repository import Registered, Repository
from planbound.state.place import Integration, TeamState
from planbound.state.plan import known_team
from planbound.team.merge import is_merged, listed, needed
from planbound.team.standup import OrderedPlans, find_merge_order
from planbound.workspace.context import Context
from planbound.workspace.overview import overview
from planbound.workspace.root import find_git, plans_root


class Branch(NamedTuple):
    """The branch that plans are merged into."""

    name: str
    commit: str
    """What it leads to."""


def find_target(context: Context, repository: Repository, given: str | None) -> Branch:
    """Return the branch that plans are merged into, `given` or by the configuration."""
    rules = context.configuration.worktrees
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


def plan_sizes(context: Context, plans: Container[str] | None = None) -> dict[str, int | None]:
    """Return how many lines the recorded branches of plans change, where that can be told."""
    sizes: dict[str, int | None] = {}
    try:
        team = known_team(context.existing_journal())
        bound = [
            state.binding
            for slug, state in team.items()
            if state.binding is not None and (plans is None or slug in plans)
        ]
        if not bound or find_git(plans_root(context.root)) is None:
            return {}
        repository = make_repository(context)
        target = find_target(context, repository, None).commit
    except PlanboundError:
        return {}  # an order without sizes is still an order
    for binding in bound:
        try:
            tip = repository.commit_of(f"refs/heads/{binding.branch}")
            sizes[binding.plan] = None if tip is None else repository.size(target, tip)
        except GitProblem:
            sizes[binding.plan] = None
    return sizes


def merge_order_now(context: Context) -> OrderedPlans:
    """Return in which order the finished plans are to be merged; reads and never writes."""
    seen = overview(context.tree, context.files, context.existing_journal)
    team = known_team(context.existing_journal() if seen.has_journal else None)
    return find_merge_order(seen, team, plan_sizes(context), context.configuration.gate.require)


# -- what is in the branch already, and what has to be there first -------------------------------


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


# -- the worktrees that show the branch, whose files follow it -----------------------------------


def worktrees_on(repository: Repository, branch: str) -> list[Registered]:
    """Return the worktrees that have a branch checked out."""
    found = repository.registered()
    return [each for each in found if each.branch == branch and not each.missing]


def would_overwrite(
    repository: Repository, shown: Registered, target: str, commit: str
) -> tuple[str, tuple[str, ...]] | None:
    """Return what is not committed in a worktree and would be written over, with the files."""
    text = repository.check_out(shown.path, target, commit, try_only=True)
    if text is None:
        return None
    left = repository.leftovers(shown.path, target)
    changed = set(repository.differences(target, commit))
    files = tuple(name for name in (*left.changed, *left.untracked) if name in changed)
    named = listed(files) if files else text
    return f"uncommitted changes in {shown.path} are in the way: {named}", files


def update_worktrees(repository: Repository, merge: Integration) -> str:
    """Let the files of worktrees follow their branch; return what could not."""
    said = ""
    try:
        for each in worktrees_on(repository, merge.into):
            text = repository.check_out(each.path, merge.before, merge.commit)
            if text is not None:
                said += f"; the files in {each.path} do not show it yet: {text}"
    except GitProblem as problem:  # the branch has moved: that stays
        said += f"; {problem.message}"
    return said
