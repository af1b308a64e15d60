"""The worktrees of plans: where they are, the files around them, and how they are set up."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from planbound.cells.cell import CommandEnding, Limits, Request
from planbound.disk.lock import kernel_lock
from planbound.errors import AlreadyExists, CellProblem, FileProblem, Refused
from planbound.git.place import git_place
from planbound.judging.context import judging_context
from planbound.state.place import POINTER
from planbound.workspace.context import Context
from planbound.workspace.environment import without_ours
from planbound.workspace.root import HARNESS, MARKER, plans_root
from planbound.workspace.worktrees import DEFAULT_ROOT

_SETUP_SECONDS = 1800.0
_PATIENCE = 600.0
_SHOWN = 400
_MAX_MARKER = 16 * 1024


def worktrees_root(context: Context) -> str:
    main = git_place(context).main
    root = context.configuration.worktrees.root
    # By the exact words: a folder's name may hold braces.
    root = root.replace("{repository}", os.path.basename(main)) if root == DEFAULT_ROOT else root
    return os.path.realpath(os.path.join(main, os.path.expanduser(root)))


@contextmanager
def spawn_lock(context: Context) -> Iterator[None]:
    """Hold the lock under which worktrees come and go, between the processes of this machine."""

    def busy() -> Refused:
        return Refused("another `planbound spawn` is at work in this repository")

    os.makedirs(context.state.locks, mode=0o700, exist_ok=True)
    path = os.path.join(context.state.locks, "spawn.lock")
    with kernel_lock(path, mode=0o600, seconds=_PATIENCE, busy=busy):
        yield


def occupied(path: str) -> str | None:
    """Say what is at a path, `a folder`, `a file`; None where nothing is."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # nobody can tell: that is not "nothing"
        raise FileProblem(f"cannot look at `{path}`: {error.strerror}") from error
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    return "a folder" if stat.S_ISDIR(mode) else "a file"


def run_setup(context: Context, command: str, workspace: str) -> str | None:
    """Run a command of the configuration in a new worktree, kept apart from everything else."""
    there = context.at(workspace)
    judging = judging_context(there)
    environment = dict(judging.environment)
    given = without_ours(os.environ, workspace).get("PATH", "")
    environment["PATH"] = os.pathsep.join((given, environment["PATH"]))
    # What makes an environment must not take another one for it.
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        environment.pop(name, None)
    request = Request(
        command=("/bin/bash", "-c", command),
        workspace=workspace,
        environment=environment,
        limits=Limits(seconds=_SETUP_SECONDS, file_size=20 << 30, temporary=20 << 30),
        network=True,
        writable=True,
        masked=judging.masked,
        exposed=(*judging.exposed, plans_root(context.root)),
        view=judging.view,
    )
    try:
        outcome = judging.cell.run(request)
    except CellProblem as problem:
        return problem.message
    if outcome.ending is CommandEnding.EXITED and outcome.exit_code == 0:
        return None
    tail = (outcome.stderr.text() or outcome.stdout.text()).strip()[-_SHOWN:]
    return tail or outcome.reason or f"exit code {outcome.exit_code}"


class WorktreeFiles:
    """The files around a plan's worktree that are neither git's nor the plan's.

    `main` is the workspace that holds the plans.
    """

    def __init__(self, main: str) -> None:
        self._main = main

    def mark(self, workspace: str, slug: str) -> None:
        path = os.path.join(workspace, HARNESS, MARKER)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # A marker that is in the repository came with the checkout.
            with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                if file.read(1024).strip() == slug.encode():
                    return
            _write(path, slug)
        except OSError as error:
            raise FileProblem(f"cannot write `{path}`: {error.strerror}") from error

    def unmark(self, workspace: str, slug: str) -> None:
        path = os.path.join(workspace, HARNESS, MARKER)
        try:
            with open(path, "rb") as file:
                if file.read(1024).strip() != slug.encode():
                    return
            os.unlink(path)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(path))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise FileProblem(f"cannot remove `{path}`: {error.strerror}") from error

    def point(self, slug: str, path: str | None) -> None:
        """Write where a plan's worktree is."""
        pointer = os.path.join(self._main, HARNESS, f"{POINTER}{slug}")
        try:
            if path is None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(pointer)
            else:
                _write(pointer, path)
        except OSError as error:
            raise FileProblem(f"cannot write `{pointer}`: {error.strerror}") from error

    def copy(self, name: str, workspace: str) -> bool:
        """Copy a file or folder of the main workspace."""
        source, target = os.path.join(self._main, name), os.path.join(workspace, name)
        if not os.path.lexists(source):
            return False
        if os.path.lexists(target):
            raise AlreadyExists(f"`{target}` came with the checkout: `{name}` needs no copy")
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source) and not os.path.islink(source):
                shutil.copytree(source, target, symlinks=True)
            else:
                shutil.copy2(source, target, follow_symlinks=False)
        except (OSError, shutil.Error) as error:
            raise FileProblem(f"cannot copy `{name}`: {error}") from error
        return True

    def marker(self, workspace: str) -> str | None:
        """Return the plan that a marker names."""
        path = os.path.join(workspace, HARNESS, MARKER)
        try:
            with open(_regular(path), encoding="utf-8", errors="replace") as file:
                return file.read(_MAX_MARKER).strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise FileProblem(f"cannot read `{path}`: {error.strerror}") from error

    def is_same(self, name: str, workspace: str) -> bool | None:
        """Say whether a copy still is one."""
        source, copy = os.path.join(self._main, name), os.path.join(workspace, name)
        if not os.path.lexists(source):
            return None
        try:
            return _content(source) == _content(copy)
        except OSError as error:
            raise FileProblem(f"cannot compare `{copy}`: {error.strerror}") from error

    def discard(self, name: str, workspace: str) -> None:
        path = os.path.join(workspace, name)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            with contextlib.suppress(OSError):
                while (path := os.path.dirname(path)) != workspace:
                    os.rmdir(path)
        except OSError as error:
            raise FileProblem(f"cannot remove `{path}`: {error.strerror}") from error


def _content(path: str) -> tuple[str, bytes]:
    """Return what is told apart at a path: the target of a link, or the digest of a file."""
    if os.path.islink(path):
        return "link", os.fsencode(os.readlink(path))
    with open(_regular(path), "rb") as file:
        return "file", hashlib.file_digest(file, "sha256").digest()


def _regular(path: str) -> int:
    """Open a file to read; nobody waits for the other end of a pipe."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise OSError(errno.EINVAL, "not a regular file")


def _write(path: str, text: str) -> None:
    fresh = f"{path}.{os.getpid()}~"
    try:
        with open(fresh, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
