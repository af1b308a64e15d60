"""What a plan's worktree begins with: the target, and the work of all that the plan depends on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from planbound.engine.team.state import TeamState
from planbound.errors import Refused
from planbound.ports.git import Repository
from planbound.usecases.team.commit import CommitDesk, commit_proved


def base_of(
    desk: CommitDesk,
    slug: str,
    depends_on: Sequence[str],
    team: Mapping[str, TeamState],
    objective_of: Callable[[str], str],
) -> str:
    """Return the commit that a plan is to begin with.

    Finished dependencies that are not in the target yet are merged into it; raise Refused where
    they conflict, or where the work of one cannot be committed.
    """
    base = target(desk)
    into = desk.rules.into or "HEAD"
    taken: list[str] = []
    for name in depends_on:
        state = team.get(name)
        if state is None or state.binding is None or _is_inside(desk.repository, state, base):
            continue  # its work is in the target, or was done there
        try:
            tip = commit_proved(desk, state, objective_of(name))
        except Refused as refused:
            raise Refused(
                f"the work of `{name}` cannot be its base: {refused.message}", hint=refused.hint
            ) from refused
        base = _joined(desk, (slug, into), [*taken, name], base, tip)
        taken.append(name)
    return base


def target(desk: CommitDesk) -> str:
    """Return the commit that plans are brought together in."""
    into = desk.rules.into
    commit = desk.repository.commit_of("HEAD" if into is None else f"refs/heads/{into}")
    if commit is not None:
        return commit
    if into is not None:
        raise Refused(f"`[worktrees] into` names `{into}`, and there is no such branch")
    raise Refused(
        "the repository has no commit yet, and a worktree begins with one",
        hint="commit something first",
    )


def _is_inside(repository: Repository, state: TeamState, base: str) -> bool:
    done = state.integrated
    return done is not None and not repository.missing(done.tip, [base], remotes=False)


def _joined(
    desk: CommitDesk, about: tuple[str, str], names: Sequence[str], base: str, tip: str
) -> str:
    """Return a commit that holds both; `names` are the plans whose work is in it."""
    slug, into = about
    repository = desk.repository
    if not repository.missing(tip, [base], remotes=False):
        return base
    if not repository.missing(base, [tip], remotes=False):
        return tip
    state = repository.registered()[0]
    merged = repository.merge(state.path, base, tip)
    quoted = [f"`{name}`" for name in names]
    if merged.conflicts:
        shown = ", ".join(merged.conflicts[:5])
        if len(names) == 1:
            what = f"its dependency {quoted[0]} conflicts with `{into}` in {shown}"
            raise Refused(
                f"{what}: integrate it first", hint=f"`planbound integrate {shlex.quote(names[0])}`"
            )
        raise Refused(
            f"its dependencies {_listed(quoted)} conflict in {shown}: integrate them first",
            hint=f"`planbound integrate {shlex.join(names)}`",
        )
    message = f"Base of plan `{slug}`: {_listed(quoted)}\n"
    return repository.commit(merged.tree, [base, tip], message, desk.rules.author)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
