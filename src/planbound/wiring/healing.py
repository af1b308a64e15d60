"""Puts together what keeps repositories from being lost to agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from planbound.errors import BindingError
from planbound.wiring.parts import Parts
from planbound.workspace.tree import plans_root

if TYPE_CHECKING:
    from planbound.shell.git.guard import GitGuard
    from planbound.shell.git.keeping import Level


def git_guard(parts: Parts, level: Level) -> GitGuard:
    """Return the guard of a workspace, for agents in a cell of some level."""
    from planbound.shell.git.guard import GitGuard  # noqa: PLC0415 - start-up
    from planbound.shell.git.repository import MOVES  # noqa: PLC0415

    folder = parts.state.folder
    moves = os.path.join(folder, "git", MOVES)
    plans = plans_root(parts.root)
    return GitGuard(os.path.join(folder, "gits"), parts.root, plans, level, moves)


def heal(parts: Parts) -> None:
    """Put back what an agent destroyed whose runner was killed before it could do that.

    First of all: without it nobody might find the worktree, the plan or the configuration.
    """
    try:
        folder = parts.state.folder
    except BindingError:  # told by who looks for the plans
        return
    if not os.path.isdir(os.path.join(folder, "gits")):
        return
    from planbound.shell.git.keeping import Level  # noqa: PLC0415 - start-up

    git_guard(parts, Level(mounts=False, walls=False, watched=False)).heal()
