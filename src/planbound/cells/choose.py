"""The kinds of cells, and which this machine can have: the strongest that nothing gets out of."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from planbound.cells.cell import Cell, Outcome, Overseer, Request
from planbound.cells.copies import copy_tree, has_strangers
from planbound.cells.host import run_order
from planbound.cells.inside.order import ROOMS, Order
from planbound.cells.inside.tree import make_place
from planbound.cells.isolation import Isolation
from planbound.cells.launcher import prepare
from planbound.cells.orders import hideable, order_for, put_places
from planbound.cells.probe import BreakOut, try_to_break_out
from planbound.cells.scratch import Scratch
from planbound.errors import CellProblem

# -- I1 and I0: a copy of the tree, where there are no namespaces --------------------------------


_OWN = ("tmp", "home")


class CopyCell:
    """A process in a copy of the tree; what is walled off depends on the level."""

    name = "process group"
    isolation = Isolation.I0

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `Cell`."""
        if request.egress is not None:
            raise CellProblem(
                f"`network` names hosts, and a cell at {self.isolation.value} ({self.name}) cannot"
                " keep a program from all others",
                hint="say `network = false` or `network = true`; `planbound selftest` says why"
                " there are no namespaces",
            )
        with self.scratch.large_room() as room:
            workspace = os.path.realpath(request.workspace)
            if not request.writable:
                workspace = os.path.join(room, "tree")
                whole = self.isolation is Isolation.I0
                copy_workspace(request.workspace, workspace, whole=whole, hidden=left_out(request))
            for name in _OWN:
                os.mkdir(os.path.join(room, name), 0o700)
            environment = dict(request.environment)
            environment["TMPDIR"] = os.path.join(room, "tmp")
            home = request.kept_home or os.path.join(room, "home")
            self._link_shared(request, home)
            order = order_for(
                request._replace(
                    environment=environment,
                    masked=(*request.masked, self.scratch.folder),
                    # A copy has links to large folders of the workspace.
                    exposed=(*request.exposed, os.path.realpath(request.workspace)),
                ),
                level=self.isolation.value,
                workspace=workspace,
                scratch=room,
                home=home,
            )
            return run_order(order, request, overseer)

    def _link_shared(self, request: Request, home: str) -> None:
        """Let an agent find its log-in: without mounts there is only a link to it."""
        view = request.view
        for path in view.shared if view.home is not None else ():
            name = os.path.relpath(path, view.home)
            if os.path.exists(path) and not name.startswith(".."):
                make_place(home, name, folder=False)
                os.unlink(os.path.join(home, name))
                os.symlink(path, os.path.join(home, name))


class LandlockCell(CopyCell):
    """The same behind Landlock and a seccomp filter."""

    name = "Landlock"
    isolation = Isolation.I1


def left_out(request: Request) -> tuple[str, ...]:
    """Return what is not copied: what is masked, and what would be taken out again."""
    masked = (os.path.realpath(path) for path in request.masked)
    top = os.path.realpath(request.workspace)
    # A link that is removed is not copied itself; what it leads to is.
    removed = (os.path.join(top, name) for name in request.remove)
    return (*masked, *removed)


def copy_workspace(source: str, target: str, *, whole: bool, hidden: tuple[str, ...] = ()) -> None:
    """Copy the workspace for a cell; raise CellProblem where that cannot be."""
    try:
        copy_tree(os.path.realpath(source), target, whole=whole, hidden=frozenset(hidden))
    except OSError as error:
        raise CellProblem(
            f"the workspace cannot be copied: {str(error.filename)[-200:]}: {error.strerror}",
            hint="a cell of namespaces needs no copy; `planbound selftest` says why there is none",
        ) from error


# -- I2: Linux namespaces, by our own hand -------------------------------------------------------


HOME = "/tmp/home"  # noqa: S108 - of the cell's own /tmp


@contextmanager
def _hiding(request: Request, scratch: Scratch) -> Iterator[tuple[Request, str, str]]:
    """Yield the request so that all it masks can be hidden, its workspace, and a small room."""
    workspace = os.path.realpath(request.workspace)
    request = hideable(request, workspace)
    with scratch.room() as room, scratch.placeholders(room, workspace, request.absent):
        yield request._replace(masked=(*request.masked, scratch.folder)), workspace, room


class NamespaceCell:
    """User, mount, PID, IPC and network namespaces; an overlay over the workspace."""

    name = "namespaces"
    isolation = Isolation.I2

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `Cell`."""
        with _hiding(request, self.scratch) as (hiding, workspace, room):
            order = order_for(
                hiding,
                level="I2",
                workspace=workspace,
                scratch=room,
                home=hiding.view.home or HOME,
                shown_at=hiding.shown_at,
            )
            put_places(order)
            overlay = hiding.writable or not has_strangers(workspace)
            if overlay:
                try:
                    return run_order(order, hiding, overseer)
                except CellProblem as problem:
                    # Not every file system can lie under an overlay.
                    if "mount overlay" not in problem.message:
                        raise
            with self.scratch.large_room() as large:
                tree = os.path.join(large, "tree")
                copy_workspace(workspace, tree, whole=True, hidden=left_out(hiding))
                return run_order(order.but(stand_in=tree), hiding, overseer)


# -- I2 by bubblewrap: where only that program may make namespaces -------------------------------


# By absolute path: Ubuntu's AppArmor profile knows only this one, and PATH is anybody's.
PROGRAM = "/usr/bin/bwrap"


class BubblewrapCell:
    """Namespaces made by `/usr/bin/bwrap`; our own process in them keeps the command."""

    name = "bubblewrap"
    isolation = Isolation.I2

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `Cell`."""
        with (
            _hiding(request, self.scratch) as (hiding, workspace, _room),
            self.scratch.large_room() as large,
        ):
            tree = workspace
            if not hiding.writable:
                tree = os.path.join(large, "tree")
                copy_workspace(workspace, tree, whole=True, hidden=left_out(hiding))
            # Its log-in is where the agent looks for it; what else is shown is read-only here, and
            # a home in which tools cannot write their caches would be in their way.
            shared = bool(hiding.view.shared)
            exposed = (*hiding.exposed, sys.prefix, sys.base_prefix, _PACKAGES)
            order = order_for(
                hiding._replace(exposed=exposed),
                level="inner",
                workspace=workspace,
                scratch=large,
                home=(hiding.view.home if shared else None) or HOME,
                shown_at=hiding.shown_at,
            )
            put_places(order)
            return run_order(order, hiding, overseer, _arguments(order, tree))


_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Inside, /proc is read-only: what the kernel takes first where memory runs out is said here.
_OFFERED = (
    "/bin/sh", "-c", 'echo 1000 2> /dev/null > /proc/self/oom_score_adj; exec "$@"', "sh",
)  # fmt: skip


def _arguments(order: Order, tree: str) -> tuple[str, ...]:
    workspace = order.workspace
    words = [
        *_OFFERED,
        *(PROGRAM, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--as-pid-1"),
        *(() if order.network else ("--unshare-net",)),
        # As root all capabilities would be kept, and a remount would open everything.
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    ]
    words += _closed(order)
    for room in ROOMS:
        if os.path.isdir(room):
            words += ["--size", str(order.temporary), "--tmpfs", room]
    words += ["--dir", HOME, "--file", "0", "/run/planbound-cell"]
    words += _shown(order)
    masked = [_on_host(order, path) for path in order.masked]
    inside = [path for path in masked if path.startswith(order.source + os.sep)]
    outside = [path for path in masked if path not in inside]
    words += [*_masks(order, outside), "--bind", tree, workspace, *_masks(order, inside)]
    for path in order.pinned:
        words += ["--bind", path, order.shown(path)]
    for path in order.read_only:
        words += ["--ro-bind", path, order.shown(path)]
    for path in order.absent:
        words += ["--ro-bind", "/dev/null", order.shown(path)]
    words += _untracked(order)
    # As our own cells have it: one process could write to the memory of another.
    words += ["--ro-bind", "/proc/sys", "/proc/sys", "--remount-ro", "/proc"]
    for path in masked:
        # At the end: the workspace may lie in a folder that is masked.
        if os.path.isdir(path):
            words += ["--remount-ro", order.shown(path)]
    for path in order.closed:
        words += ["--remount-ro", path]
    return (*words, "--")


def _shown(order: Order) -> list[str]:
    """Put the home where it is looked for, and what is shown of the host into closed folders."""
    words: list[str] = []
    if order.kept_home is not None:
        words += ["--bind", order.kept_home, order.home or HOME]
    elif order.home is not None:
        words += ["--size", str(order.temporary), "--tmpfs", order.home]
    for path in sorted({*order.exposed, *order.tools, *order.caches, *order.shared}):
        if os.path.exists(path):
            words += ["--bind" if path in order.shared else "--ro-bind", path, path]
    return words


def _closed(order: Order) -> list[str]:
    words: list[str] = []
    for path in order.closed:
        words += ["--tmpfs", path]
        for name in sorted(os.listdir(path)) if path == "/var" else ():
            link = os.path.join(path, name)
            if os.path.islink(link):
                words += ["--symlink", os.readlink(link), link]
    return words


def _untracked(order: Order) -> list[str]:
    """Let git's file of what it does not look at say something else."""
    if order.untracked is None:
        return []
    path, content = order.untracked
    other = os.path.join(order.scratch, "untracked")
    with open(other, "wb") as file:
        file.write(content)
    return ["--ro-bind", other, order.shown(path)]


def _on_host(order: Order, path: str) -> str:
    """Return where the host has what the command would see at a path."""
    inside = path.startswith(order.workspace + os.sep)
    return order.source + path[len(order.workspace) :] if inside else path


def _masks(order: Order, paths: list[str]) -> list[str]:
    words: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            words += ["--tmpfs", order.shown(path)]
        elif os.path.exists(path):
            words += ["--ro-bind", "/dev/null", order.shown(path)]
    return words


# -- what the kernel offers, asked without changing anything -------------------------------------


def is_there() -> bool:
    """Say whether the numbers of this machine's system calls are known."""
    from planbound.cells.inside.seccomp import is_supported  # noqa: PLC0415 - loads ctypes

    return is_supported()


def landlock_version() -> int:
    """Return how much the kernel's Landlock can do; 0 where there is none."""
    from planbound.cells.inside.landlock import version  # noqa: PLC0415 - loads ctypes

    return version()


# -- which cell this machine can have: the strongest one that nothing gets out of ----------------


class CellTrial(NamedTuple):
    """A kind of cell, tried on this machine."""

    cell: Cell
    findings: tuple[BreakOut, ...]
    reason: str | None
    """Why it cannot be had; None where it can."""

    @property
    def works(self) -> bool:
        """Whether it keeps what its level promises."""
        return self.reason is None


def trials(scratch: Scratch, *, writable: bool = False) -> Iterator[CellTrial]:
    """Try every kind of cell, the strongest first."""
    prepare()
    for make in _KINDS:
        yield _try(make(scratch), scratch, writable=writable)


def choose(scratch: Scratch, *, demanded: Isolation = Isolation.I0) -> Cell:
    """Return the strongest cell that holds; raise CellProblem where that is less than demanded."""
    reasons: list[str] = []
    for trial in trials(scratch):
        if trial.works:
            if trial.cell.isolation.reaches(demanded):
                return trial.cell
            reasons.append(f"{trial.cell.name}: only {trial.cell.isolation.value}")
            break
        reasons.append(f"{trial.cell.name}: {trial.reason}")
    raise CellProblem(
        f"isolation {demanded.value} is demanded, and cannot be had here ({'; '.join(reasons)})",
        hint="`planbound selftest` shows what this machine can do",
    )


# Our own first: an overlay needs no copy of the tree, and its size has a limit.
_KINDS: tuple[Callable[[Scratch], Cell], ...] = (
    NamespaceCell,
    BubblewrapCell,
    LandlockCell,
    CopyCell,
)


def _try(cell: Cell, scratch: Scratch, *, writable: bool) -> CellTrial:
    missing = _missing(cell)
    if missing:
        return CellTrial(cell, (), missing)
    try:
        findings = tuple(try_to_break_out(cell, scratch.folder + "-probe", writable=writable))
    except CellProblem as error:
        return CellTrial(cell, (), error.message)
    except OSError as error:
        # Not a weaker cell instead: a disk that is full says nothing about walls.
        raise CellProblem(
            f"no cell can be tried in `{scratch.folder}-probe`: {error.strerror or error}",
            hint="`planbound doctor` names the disk",
        ) from error
    broken = [
        item.probe.name
        for item in findings
        if not item.held and cell.isolation.reaches(item.probe.needed)
    ]
    reason = f"a program in it {broken[0]}" if broken else None
    return CellTrial(cell, findings, reason)


def _missing(cell: Cell) -> str | None:
    """Return what a kind of cell needs and is not there, so that it need not be tried."""
    if not sys.platform.startswith("linux"):
        return "only on Linux"
    if cell.isolation.reaches(Isolation.I1) and not is_there():
        return f"system calls of {os.uname().machine} are not known"
    if isinstance(cell, BubblewrapCell) and not os.access(PROGRAM, os.X_OK):
        return f"{PROGRAM} is not installed"
    if isinstance(cell, LandlockCell) and not landlock_version():
        return "the kernel has no Landlock"
    return None
