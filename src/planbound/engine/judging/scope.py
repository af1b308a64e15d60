"""What a step changed although it may not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.manifest import Change, ChangeKind, EntryType
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.source.pattern import lazy_pattern
from planbound.verify.told_to_change import Told

# With these git runs code, or looks away. Everything else is what a commit writes.
_GIT_MOVES = lazy_pattern(r"\.git/(?:modules/.+/|worktrees/[^/]+/)?HEAD", re.DOTALL)
"""What changes when people switch branches. The rest that a manifest shows makes git run programs,
or is nothing that git has put there."""
_HARNESS_OPEN = lazy_pattern(r"\.harness/(?:progress[^/]*\.md|topics(?:/.+)?)", re.DOTALL)
_SPECIAL = lazy_pattern(r"[*?\[{]")


class Scope(NamedTuple):
    """What may be changed."""

    patterns: tuple[Glob, ...] | None
    """None: no touches are declared anywhere, everything is allowed."""
    also: tuple[Glob, ...] | None = None
    """What a role may change: a change has to be allowed by both; None: the role has no limit."""
    told: Told = Told()
    """Where no touches are declared: which judges the task tells to change, or to add to."""


def covers(scope: Scope, path: str) -> bool:
    """Say whether a file is named by what may be changed: by touches, or by the task."""
    named = scope.told.named if scope.patterns is None else scope.patterns
    if not any(glob.matches(path) for glob in named):
        return False
    return scope.also is None or any(glob.matches(path) for glob in scope.also)


def may_add(scope: Scope, path: str) -> bool:
    """Say whether the task tells to add files here, where no touches say what may be changed."""
    if scope.patterns is not None or not any(glob.matches(path) for glob in scope.told.added):
        return False
    return scope.also is None or any(glob.matches(path) for glob in scope.also)


def outside(changes: Sequence[Change], scope: Scope) -> tuple[Change, ...]:
    """Return the changes that the scope does not allow.

    The plan itself is never in scope: what is in `.harness` belongs to the harness, apart from
    progress and topics.
    """
    return tuple(change for change in changes if not _allowed(change, scope))


def _allowed(change: Change, scope: Scope) -> bool:
    path = change.path
    if path == ".harness" or path.startswith(".harness/"):
        return _harness_allowed(change, scope)
    # A `.git` further down is no place of ours: anything could be hidden in it.
    if _GIT_MOVES.fullmatch(path):
        return True
    if _is_git_summary(change):
        return True
    return _covered(change, scope)


def _harness_allowed(change: Change, scope: Scope) -> bool:
    if change.path == ".harness":
        # It comes to be with the first topic, but nobody may take it away.
        return change.kind is ChangeKind.ADDED and _is_folder(change) and _covered(change, scope)
    return _HARNESS_OPEN.fullmatch(change.path) is not None and _covered(change, scope)


def _is_git_summary(change: Change) -> bool:
    """Say whether git's own directory only looks different: people commit."""
    if change.path != ".git" or change.kind is not ChangeKind.CHANGED:
        return False
    kinds = {entry.type for entry in (change.before, change.after) if entry is not None}
    return kinds == {EntryType.SUMMARY}


def _covered(change: Change, scope: Scope) -> bool:
    return _named(change, scope.patterns) and _named(change, scope.also)


def _named(change: Change, patterns: Sequence[Glob] | None) -> bool:
    if patterns is None:
        return True
    path = change.path
    if any(glob.matches(path) for glob in patterns):
        return True
    entry = change.after or change.before
    if entry is not None and entry.type is EntryType.SUMMARY:
        return any(_reaches_into(glob, path) for glob in patterns)
    if change.kind is not ChangeKind.CHANGED and _is_folder(change):
        return _may_hold(path, patterns)
    return False


def _is_folder(change: Change) -> bool:
    entry = change.after or change.before
    return entry is not None and entry.type is EntryType.DIRECTORY


def _reaches_into(glob: Glob, path: str) -> bool:
    """Say whether a pattern speaks of a summarised directory.

    `**/*.py` could match in `.venv` too, but nobody who wrote it meant that, and the summary does
    not say whether it was a `.py`.
    """
    names = tuple(path.split("/"))
    return glob.literal_prefix[: len(names)] == names or glob.matches(f"{path}/x")


def _may_hold(path: str, patterns: Sequence[Glob]) -> bool:
    """Say whether a path below a directory could match."""
    try:
        below = parse_glob("./" + _SPECIAL.sub(r"[\g<0>]", path) + "/**")
    except GlobError:
        # A name that no pattern can write: only wildcards could match below it.
        return any(glob.matches(f"{path}/x") for glob in patterns)
    return any(glob.intersects(below) for glob in patterns)
