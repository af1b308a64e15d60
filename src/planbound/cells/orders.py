"""What a cell's own process is told, made from what is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from planbound.cells.cell import Request
from planbound.cells.inside import tree
from planbound.cells.inside.order import ROOMS, Order

if TYPE_CHECKING:
    from planbound.cells.egress import Destination

# -- keeps git in a cell from showing what only the cell has put into the workspace --------------


_SPECIAL = re.compile(r"([\\*?\[\]! #])")
_LONGEST = 1 << 20
_ACROSS = "GIT_DISCOVERY_ACROSS_FILESYSTEM"


def exclusion(workspace: str, names: tuple[str, ...]) -> tuple[str, bytes] | None:
    """Return git's file of what it does not look at, and what it is to say: these names, too.

    None where there is no repository. Raise LookupError where there is one without that file.
    """
    top = _top(workspace)
    if top is None:
        return None
    path = os.path.join(_common(top), "info", "exclude")
    if os.path.islink(path) or not os.path.isfile(path):
        raise LookupError(path)
    with open(path, "rb") as file:
        lines = [file.read(_LONGEST).rstrip(b"\n")]
    inside = (os.path.relpath(os.path.join(workspace, name), top) for name in names)
    lines += [b"/" + os.fsencode(_SPECIAL.sub(r"\\\1", name)) for name in inside]
    return path, b"\n".join(lines) + b"\n"


def _top(workspace: str) -> str | None:
    folder = workspace
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return None
    return folder


def _common(top: str) -> str:
    """Return where the repository of a worktree keeps what all of them share."""
    pointer = os.path.join(top, ".git")
    if os.path.isdir(pointer):
        return os.path.realpath(pointer)
    text = _text(pointer).removeprefix("gitdir:").strip()
    folder = os.path.realpath(os.path.join(top, text))
    return os.path.realpath(os.path.join(folder, _text(os.path.join(folder, "commondir"))))


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(16 * 1024).strip()
    except OSError:
        return ""


# -- what a cell's own process is told, made from what is asked for ------------------------------


def order_for(
    request: Request,
    *,
    level: str,
    workspace: str,
    scratch: str,
    home: str,
    shown_at: str | None = None,
) -> Order:
    """Return what the cell's own process is told.

    `home` is where the command finds its own; the view's, or another one.
    """
    view = request.view
    closed = _outermost(filter(os.path.isdir, map(os.path.realpath, view.closed)))
    exposed, tools, caches, shared = (
        tuple(in_walls(paths, closed))
        for paths in (request.exposed, view.tools, view.caches, view.shared)
    )
    own_home = os.path.realpath(home) if home == view.home else None
    # A room is empty anyway, where there are mounts.
    empty = () if level in {"I0", "I1"} else ROOMS
    # One mount for all of a toolchain.
    tools, caches = _outermost(tools), tuple(path for path in caches if not _is_within(path, tools))
    open_places = (*exposed, *tools, *caches, *shared, workspace)
    hidden = (*request.masked, *view.sealed, *_answering(open_places, closed))
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
        network=request.network and request.egress is None,
        doors=() if request.egress is None else _doors(request.egress),
        stand_in=None,
        writable=request.writable,
        lay=tuple((item.path, item.content, item.mode) for item in request.lay),
        remove=request.remove,
        pinned=tuple(_above(workspace, (*kept, *absent))),
        read_only=tuple(kept),
        absent=tuple(absent),
        untracked=exclusion(workspace, request.absent) if absent else None,
        masked=tuple(dict.fromkeys(path for _, path in _resolved(hidden))),
        closed=tuple(path for path in closed if path != own_home and not _is_within(path, empty)),
        exposed=exposed,
        tools=tools,
        caches=caches,
        shared=shared,
        home=own_home,
        kept_home=request.kept_home and os.path.realpath(request.kept_home),
        watched=request.watched,
        collect=request.collect,
    )


def _doors(allowed: tuple[Destination, ...]) -> tuple[int, ...]:
    from planbound.cells.egress import local_ports  # noqa: PLC0415 - start-up

    return local_ports(allowed)


def hideable(request: Request, workspace: str) -> Request:
    """Return a request without what would be kept from coming to be, where git would show it.

    What stands there in the cell is no file, and `git add` fails on it.
    """
    try:
        exclusion(workspace, request.absent)
    except (LookupError, OSError):
        return request._replace(absent=())
    return request


def in_walls(paths: Iterable[str], closed: tuple[str, ...] = ()) -> list[str]:
    """Return what lies in a folder that a cell has of its own, or that is closed.

    Everything else can be read anyway; and `/` over the cell's own root would bury its rooms.
    """
    found = _resolved(path for path in map(os.path.normpath, paths) if os.path.exists(path))
    walls = (*ROOMS, *closed)
    real = dict.fromkeys(path for _, path in found if _is_within(path, walls))
    # What is named by a link is found there, too, unless the link itself is shown.
    links = (named for named, path in found if _is_within(named, walls) and named != path)
    also = [
        path for path in dict.fromkeys(links) if not any(path.startswith(f"{r}/") for r in real)
    ]
    return [*real, *also]


def _resolved(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return each path twice: so that only its last name may be a link, and without links."""
    folders: dict[str, str] = {}  # many lie in the same one
    found = []
    for path in paths:
        if path != os.path.normpath(path):  # `..` leads on from where a link leads
            found.append((os.path.realpath(path), os.path.realpath(path)))
            continue
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        named = os.path.join(folders[folder], name)
        found.append((named, os.path.realpath(named) if os.path.islink(named) else named))
    return found


def _is_within(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def is_below(path: str, folder: str) -> bool:
    """Say whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    # With a `/` behind it a folder stands right before all that is in it.
    for path in sorted(set(paths), key=_as_folder):
        if not found or not path.startswith(f"{found[-1]}/"):
            found.append(path)
    return tuple(sorted(found))


def _as_folder(path: str) -> str:
    return f"{path}/"


_SOCKETS = "/proc/net/unix"


def _answering(shown: tuple[str, ...], closed: tuple[str, ...]) -> Iterator[str]:
    """Yield sockets of the host that would be seen: on a read-only mount they answer, too."""
    try:
        with open(_SOCKETS, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        path = line.split(maxsplit=7)[7:]
        if not path or not path[0].startswith("/"):
            continue
        real = os.path.realpath(path[0])
        # By `/proc/self/fd/7/socket` its own process named it: that is another place to us.
        if _is_within(real, ("/proc",)):
            continue
        if not _is_within(real, (*ROOMS, *closed)) or any(is_below(real, each) for each in shown):
            yield real


def put_places(order: Order) -> None:
    """Make the places in a home that stays, so that nothing in it leads a mount elsewhere."""
    home, kept = order.home, order.kept_home
    if home is None or kept is None:
        return
    shown = (*order.exposed, *order.tools, *order.caches, *order.shared)
    places = [(path, os.path.isdir(path)) for path in shown]
    for path, folder in (*places, (order.workspace, True)):
        if path != home and is_below(path, home):
            tree.make_place(kept, os.path.relpath(path, home), folder=folder)


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
    # A workspace in a repository is a mount of its own, and git would not look beyond it.
    beyond = {} if _top(workspace) in {None, workspace} else {_ACROSS: "1"}
    return beyond | {
        name: value.replace("{workspace}", workspace).replace("{home}", home)
        if "{" in value
        else value
        for name, value in request.environment.items()
    }
