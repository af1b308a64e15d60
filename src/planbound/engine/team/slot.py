"""The place of a plan's work: how it is called, and whether it still is what was recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from planbound.engine.team.state import Binding
from planbound.source.pattern import lazy_pattern

PREFIX = "planbound/"
POINTER = "worktree-for-"
"""How the file in the main `.harness/` begins that says where a plan's worktree is."""
HARNESS_OWN = (
    ".harness/active-plan",
    ".harness/PLAN*.md",
    ".harness/progress*.md",
    ".harness/worktree-for-*",
    ".harness/queued-plans/**",
    ".harness/archive/**",
)
"""What is the harness's own in a worktree, and never committed with a plan's work."""
_UNFIT = lazy_pattern(r"[\x00-\x20\x7f~^:?*\[\\]+|\.\.+|@\{|\.lock$|\.$|/")


def branch_names(slug: str, taken: Iterable[str]) -> str:
    """Return a free branch for a plan; it is recorded, and never derived again."""
    used = {name.casefold() for name in taken}
    plain = re.sub(r"-+", "-", _UNFIT.sub("-", slug)).strip("-") or "plan"
    for number in count(1):
        name = f"{PREFIX}{plain}" if number == 1 else f"{PREFIX}{plain}-{number}"
        if name.casefold() not in used:
            return name
    raise AssertionError(slug)


def misplaced(binding: Binding, *, pointed: str | None, branch: str | None) -> str | None:
    """Return why a folder is not the worktree that was recorded; None where it is.

    `pointed` is the repository that the folder's `.git` names, if it is one of its worktrees;
    `branch` is what is checked out there.
    """
    if pointed is None:
        return f"`{binding.path}` is no worktree of this repository any more"
    if branch != binding.branch:
        found = f"`{branch}`" if branch else "no branch (HEAD is detached)"
        return f"`{binding.path}` has {found} checked out, and `{binding.branch}` is recorded"
    return None
