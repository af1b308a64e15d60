"""Where the repository of a workspace is, found by reading git's files."""

from __future__ import annotations

import os
from typing import NamedTuple

from planbound.errors import Refused
from planbound.workspace.tree import git_folder, has_worktree_setting, main_worktree, upwards


class GitPlace(NamedTuple):
    """The repository that a workspace is in."""

    top: str
    """The top of the worktree that the workspace is in."""
    main: str
    """The top of the main worktree."""
    common: str
    """Where the repository keeps what its worktrees share."""
    inside: str
    """The workspace as seen from the top; `.` where it is the top."""

    @property
    def is_linked(self) -> bool:
        """Whether this is another worktree than the main one."""
        return self.top != self.main


def refuse_lost(place: GitPlace) -> None:
    """Refuse a repository whose linked worktrees could not find the main one, and so no plan."""
    if os.path.isdir(os.path.join(place.main, ".git")) or has_worktree_setting(place.common):
        return
    raise Refused(
        f"the repository keeps its files in {place.common}, and does not say where its main"
        " worktree is: no other worktree could find the plans",
        hint=f"say it: `git config core.worktree {place.main}`",
    )


def find_git(root: str) -> GitPlace | None:
    """Return the place of the repository around a folder; None where there is none."""
    real = os.path.realpath(root)
    top = next((f for f in upwards(real) if os.path.lexists(os.path.join(f, ".git"))), None)
    if top is None:
        return None
    common = git_folder(top)
    if common is None:
        return None
    return GitPlace(top, main_worktree(top), common, os.path.relpath(real, top))


def demand_git(root: str) -> GitPlace:
    """Return the place of the repository; refuse where there is none."""
    place = find_git(root)
    if place is None:
        raise Refused(
            f"`{root}` is in no git repository, and worktrees are git's",
            hint="`git init`, and commit something first",
        )
    return place
