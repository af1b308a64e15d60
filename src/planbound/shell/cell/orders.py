"""What a cell's own process is told, made from what is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable

from planbound.ports.cell import Request
from planbound.shell.cell.inside.order import ROOMS, Order
from planbound.shell.cell.untracked import exclusion


def order_for(
    request: Request,
    *,
    level: str,
    workspace: str,
    scratch: str,
    home: str,
    shown_at: str | None = None,
) -> Order:
    """Return what the cell's own process is told."""
    limits = request.limits
    shown = os.path.realpath(shown_at or workspace)
    kept = protected_paths(workspace, request.read_only) if request.writable else []
    absent = protected_paths(workspace, request.absent) if request.writable else []
    return Order(
        level=level,
        command=request.command,
        environment=filled(request, shown, os.path.realpath(home)),
        workspace=shown,
        source=workspace,
        scratch=scratch,
        timeout=limits.seconds,
        memory=limits.memory,
        processes=limits.processes,
        file_size=limits.file_size,
        temporary=limits.temporary,
        inodes=limits.inodes,
        network=request.network,
        stand_in=None,
        writable=request.writable,
        lay=tuple((item.path, item.content, item.mode) for item in request.lay),
        remove=request.remove,
        pinned=tuple(_above(workspace, (*kept, *absent))),
        read_only=tuple(kept),
        absent=tuple(absent),
        untracked=exclusion(workspace, request.absent) if absent else None,
        masked=tuple(dict.fromkeys(os.path.realpath(path) for path in request.masked)),
        exposed=tuple(in_rooms(request.exposed)),
        home=request.home and os.path.realpath(request.home),
        kept_home=request.kept_home and os.path.realpath(request.kept_home),
        watched=request.watched,
        collect=request.collect,
    )


def hideable(request: Request, workspace: str) -> Request:
    """Return a request without what would be kept from coming to be, where git would show it.

    What stands there in the cell is no file, and `git add` fails on it.
    """
    try:
        exclusion(workspace, request.absent)
    except (LookupError, OSError):
        return request._replace(absent=())
    return request


def in_rooms(paths: Iterable[str]) -> list[str]:
    """Return what lies in a folder that a cell has of its own.

    Everything else can be read anyway; and `/` over the cell's own root would bury its rooms.
    """
    named = [os.path.normpath(path) for path in paths if os.path.exists(path)]
    real = dict.fromkeys(path for path in map(os.path.realpath, named) if _is_in_room(path))
    # What is named by a link is found there, too, unless the link itself is shown.
    links = (path for path in named if _is_in_room(path) and os.path.realpath(path) != path)
    also = [
        path for path in dict.fromkeys(links) if not any(path.startswith(f"{r}/") for r in real)
    ]
    return [*real, *also]


def _is_in_room(path: str) -> bool:
    return any(path.startswith(f"{room}/") for room in ROOMS)


def protected_paths(workspace: str, names: tuple[str, ...]) -> list[str]:
    """Return what names of the workspace are really, where that is in the workspace and there.

    A link cannot be protected, only what it leads to; that it was replaced is seen afterwards.
    """
    real = (os.path.realpath(os.path.join(workspace, name)) for name in names)
    return [
        path
        for path in dict.fromkeys(real)
        if path.startswith(workspace + os.sep) and os.path.exists(path)
    ]


def _above(workspace: str, paths: tuple[str, ...]) -> list[str]:
    """Return the folders between the workspace and the paths, the upper ones first."""
    found: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder != workspace and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found)


def filled(request: Request, workspace: str, home: str) -> dict[str, str]:
    """Return the environment with the places in it filled in."""
    return {
        name: value.replace("{workspace}", workspace).replace("{home}", home)
        if "{" in value
        else value
        for name, value in request.environment.items()
    }
