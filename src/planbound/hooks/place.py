"""Where the workspace of a host's session is, and whether there is anything to guard in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planbound.errors import BindingError, UsageError
from planbound.hooks.event import Event

_PROJECTS = ("QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
_OWN = "PLANBOUND_ATTEMPT"
_CELL = "/run/planbound-cell"


class Place(NamedTuple):
    """A workspace that has plans, or had some."""

    folder: str
    root: str
    workspace: str | None
    """As it was named on the command line."""
    given_state: str | None
    state: str | None
    """The state home."""


def is_own_child(environment: Mapping[str, str]) -> bool:
    """Say whether this is inside of an attempt that the harness started and judges itself."""
    return bool(environment.get(_OWN)) or os.path.exists(_CELL)


def find_place(
    event: Event, workspace: str | None, state: str | None, *, agent_only: bool
) -> Place | None:
    """Return the first folder of the session whose workspace has plans; None where none has.

    A sub-agent has a plan of its own only in a worktree of its own, by that worktree's marker.
    """
    if workspace is not None:
        if not os.path.isdir(workspace):
            raise UsageError(f"the workspace `{workspace}` is not a directory")
        return None if agent_only else _place(workspace, workspace, state)
    if agent_only:
        return _agents_own(event, state)
    for folder in _folders(event):
        place = _place(folder, None, state)
        if place is not None:
            return place
    return None


def _folders(event: Event) -> Iterator[str]:
    """Yield where the session may be: first what an agent cannot leave by `cd`."""
    seen = set()
    for folder in (*(os.environ.get(name) for name in _PROJECTS), event.folder, _current()):
        if folder and folder not in seen and os.path.isdir(folder):
            seen.add(folder)
            yield folder


def _agents_own(event: Event, state: str | None) -> Place | None:
    from planbound.workspace.tree import HARNESS, MARKER, find_root  # noqa: PLC0415 - start-up

    if event.folder is None or not os.path.isdir(event.folder):
        return None
    root = find_root(event.folder)
    others = {find_root(folder) for folder in _folders(event) if folder != event.folder}
    if root in others or not os.path.lexists(os.path.join(root, HARNESS, MARKER)):
        return None
    return _place(event.folder, None, state)


def _place(folder: str, workspace: str | None, state: str | None) -> Place | None:
    from planbound.workspace.state_home import find_state_home  # noqa: PLC0415 - start-up
    from planbound.workspace.tree import (  # noqa: PLC0415 - start-up
        HARNESS,
        MARKER,
        find_root,
        plans_root,
    )

    root = os.path.realpath(workspace) if workspace is not None else find_root(folder)
    try:
        main = plans_root(root)
    except BindingError:  # a worktree whose main one is lost: said when it is opened
        return Place(folder, root, workspace, state, None)
    home = find_state_home(main, given=state, environment=os.environ)
    named = os.environ.get("PLANBOUND_PLAN") or os.path.lexists(os.path.join(root, HARNESS, MARKER))
    elsewhere = os.environ.get("PLANBOUND_DATABASE_URL") and os.path.isdir(
        os.path.join(main, HARNESS)
    )
    # Plans can be removed, and the journal knows of them. Where there is none, nothing was begun.
    begun = named or elsewhere or os.path.exists(home.journal)
    if not begun and not _has_named_plans(os.path.join(main, HARNESS)):
        return None
    return Place(folder, root, workspace, state, home.folder)


def _has_named_plans(harness: str) -> bool:
    """Say whether there are plans that a session could be bound to."""
    try:
        with os.scandir(harness) as found:
            return any(each.name.startswith("PLAN-") for each in found)
    except OSError:
        return False


def _current() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
