"""Which worktrees hold nothing that would be lost, and the words for what the others hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.judging.caches import is_cache
from planbound.engine.manifest import SUMMARISED
from planbound.engine.team.state import TeamState
from planbound.plan.glob import Glob, GlobError, parse_glob

_SHOWN = 3
_ID = 12
_INSTALLED = frozenset(name.decode() for name in SUMMARISED)


class Owner(NamedTuple):
    """The plan that a worktree belongs to, as it is by now."""

    status: str | None = None
    """None: its file is gone."""
    is_archived: bool = False
    touches: tuple[str, ...] = ()
    """All that the plan may change."""
    artifacts: tuple[str, ...] = ()
    """What is to be there at its end."""
    problem: str | None = None
    """Why its file cannot be read."""


def in_use(state: TeamState, owner: Owner, tip: str) -> str | None:
    """Return why a worktree is needed still, although all its commits are elsewhere too."""
    if owner.problem is not None:
        return f"its plan cannot be read: {owner.problem}"
    if owner.status is None or owner.is_archived:
        return None
    if owner.status == "in-progress":
        return "the plan is in progress"
    if state.integrated is None and state.binding is not None and tip == state.binding.base:
        return f"nothing is committed in it yet, and the plan is `{owner.status}`"
    return None


def results(paths: Sequence[str], owner: Owner) -> list[str]:
    """Return those of the files that git ignores that the plan was to make.

    They are seen from the workspace.
    """
    artifacts = [text for name in owner.artifacts for text in (name, f"{name.rstrip('/')}/**")]
    globs = _globs((*owner.touches, *artifacts))
    return [
        path for path in paths if not is_cache(path) and any(_names(glob, path) for glob in globs)
    ]


def _globs(patterns: Sequence[str]) -> list[Glob]:
    found = []
    for text in patterns:
        try:
            found.append(parse_glob(text))
        except GlobError:  # `verify` tells; it never was anybody's to change
            continue
    return found


def _names(glob: Glob, path: str) -> bool:
    if not glob.matches(path):
        return False
    names = path.split("/")
    deepest = next((place for place, name in enumerate(names) if name in _INSTALLED), None)
    # `**` matches in `.venv` too, but nobody who wrote it meant that.
    return deepest is None or glob.literal_prefix[: deepest + 1] == tuple(names[: deepest + 1])


def lonely(commits: Sequence[str], targets: Sequence[str]) -> str:
    """Say that commits would be lost."""
    where = " nor in ".join(f"`{name}`" for name in dict.fromkeys(targets))
    elsewhere = f"neither in {where} nor on a remote" if where else "on no remote"
    are = "commit is" if len(commits) == 1 else "commits are"
    return f"{len(commits)} {are} {elsewhere}: {listed([each[:_ID] for each in commits])}"


def files(names: Sequence[str], what: str) -> str:
    """Say how many files are something, and name the first ones."""
    are = "file is" if len(names) == 1 else "files are"
    return f"{len(names)} {are} {what}: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
