"""The tree that a command sees: what is laid over it, taken out of it, and written to it."""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False  # importing `typing` would take longer than everything here
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_COLLECTED = 16 << 20
MAX_NAMES = 1000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Marks = dict[str, tuple[int, ...]]


def lay(top: str, path: str, content: bytes, mode: int) -> None:
    """Put a file at a path of the tree, whatever is in its way."""
    folder = _parents(top, path)
    target = os.path.join(folder, os.path.basename(path))
    remove_entry(target)
    opened = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(opened, "wb") as file:
        file.write(content)
        os.fchmod(opened, mode)


def make_place(top: str, path: str, *, folder: bool) -> None:
    """Make a place in a tree to put something over: a folder or an empty file, and no link."""
    if not path:
        return
    target = os.path.join(_parents(top, path), os.path.basename(path))
    if os.path.islink(target) or os.path.isdir(target) != folder:
        remove_entry(target)
    if folder:
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def take_over(source: str, target: str) -> None:
    """Give a folder the mode and the owner of another one."""
    state = os.stat(source)
    if (state.st_uid, state.st_gid) != (os.getuid(), os.getgid()):
        os.chown(target, state.st_uid, state.st_gid)
    os.chmod(target, stat.S_IMODE(state.st_mode))


def _parents(top: str, path: str) -> str:
    """Return the folder of a path, made of real folders only: a link in the way is removed."""
    folder = top
    for name in os.path.dirname(path).split("/"):
        if not name:
            continue
        folder = os.path.join(folder, name)
        if os.path.islink(folder) or not os.path.isdir(folder):
            remove_entry(folder)
            os.mkdir(folder)
    return folder


def remove_entry(path: str, parent: int | None = None) -> None:
    """Remove what is at a path, links not followed; nothing there is fine.

    However deep it is: one folder is open at a time, and no path gets longer than a name.
    """
    try:
        state = os.stat(path, dir_fd=parent, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(state.st_mode):
        os.unlink(path, dir_fd=parent)
        return
    _open_up(path, parent)
    names: list[str] = []
    folder = os.open(path, _FOLDER, dir_fd=parent)
    try:
        while True:
            below = _empty(folder)
            if below is not None:
                names.append(below)
                _open_up(below, folder)
                folder = _instead(os.open(below, _FOLDER, dir_fd=folder), folder)
            elif names:
                folder = _instead(os.open("..", _FOLDER, dir_fd=folder), folder)
                os.rmdir(names.pop(), dir_fd=folder)
            else:
                break
    finally:
        os.close(folder)
    os.rmdir(path, dir_fd=parent)


def _instead(opened: int, folder: int) -> int:
    os.close(folder)
    return opened


def _open_up(path: str, folder: int | None) -> None:
    try:
        os.chmod(path, 0o700, dir_fd=folder)
    except OSError:
        pass  # then removing what is in it says why


def _empty(folder: int) -> str | None:
    """Remove what is no folder; return the name of one that is still there."""
    below = None
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        if is_folder:
            below = name
        else:
            os.unlink(name, dir_fd=folder)
    return below


def take_out(top: str, path: str) -> None:
    """Remove a path of the tree, unless a link leads out of it; raise where it stays."""
    *folders, name = path.split("/")
    folder = os.open(top, _FOLDER)
    try:
        for each in folders:
            try:
                folder = _instead(os.open(each, _FOLDER, dir_fd=folder), folder)
            except OSError as error:
                if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                    return  # it is not there, or somewhere else
                raise
        try:
            remove_entry(name, folder)
        except OSError as error:
            if error.errno == errno.EBUSY:
                return  # a mask is over it
            os.fchmod(folder, 0o700)
            remove_entry(name, folder)
    finally:
        os.close(folder)


def white_out(source: str, upper: str, paths: tuple[str, ...]) -> None:
    """Hide paths of a tree in what will be laid over it: one entry each, however much is there.

    An environment has hundreds of caches with thousands of files. What cannot be hidden like this
    (a kernel before 5.8, a link on the way) is taken out afterwards.
    """
    made = {"": True}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if not name or not _made_alike(source, upper, folder, made):
            continue
        try:
            os.lstat(os.path.join(source, path))
            os.mknod(os.path.join(upper, path), stat.S_IFCHR, 0)
        except (FileNotFoundError, NotADirectoryError, FileExistsError):
            continue
        except OSError:
            return


def _made_alike(source: str, upper: str, folder: str, made: dict[str, bool]) -> bool:
    """Make a folder as it is in the source; say whether it is there, and really a folder."""
    missing: list[str] = []
    while folder not in made:
        missing.append(folder)
        folder = folder.rpartition("/")[0]
    there = made[folder]
    for each in reversed(missing):
        there = there and _copy_folder(os.path.join(source, each), os.path.join(upper, each))
        made[each] = there
    return there


def _copy_folder(source: str, target: str) -> bool:
    try:
        state = os.lstat(source)
        if not stat.S_ISDIR(state.st_mode):
            return False
        os.mkdir(target, 0o700)
    except OSError:
        return False  # also where it is hidden itself
    try:
        take_over(source, target)
    except OSError:
        os.rmdir(target)
        return False
    return True


def marks(folder: int) -> Marks:
    """Return what is in a folder, each with what changes when it is written."""
    return {
        path: (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_mode)
        for path, state in _walk(folder)
    }


def _walk(top: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield files, and folders that cannot be looked into or hide what was there before.

    What is too deep for a path counts as a folder that cannot be looked into.
    """
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            folder = os.open(prefix or ".", _FOLDER, dir_fd=top)
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            state = _state(prefix, top)
            if state is not None:
                yield prefix.rstrip("/"), state
            continue
        if prefix and _is_opaque(folder):
            yield prefix.rstrip("/"), os.fstat(folder)
        for name in names:
            state = _state(name, folder)
            if state is not None and stat.S_ISDIR(state.st_mode):
                pending.append(f"{prefix}{name}/")
            elif state is not None:
                yield prefix + name, state
        os.close(folder)


def _is_opaque(folder: int) -> bool:
    """Say whether a folder of an overlay stands in the place of another one."""
    try:
        return os.getxattr(f"/proc/self/fd/{folder}", "user.overlay.opaque") == b"y"
    except OSError:
        return False


def _state(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def weight(folder: str) -> tuple[int, int]:
    """Return how much is in a folder, in bytes on the disk, and how many files."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return 0, 0
    size = count = 0
    try:
        for _, state in _walk(opened):
            size += state.st_blocks * 512
            count += 1
    finally:
        os.close(opened)
    return size, count


def written(before: Marks, after: Marks) -> set[str]:
    """Return what was written or removed."""
    changed = {path for path, mark in after.items() if before.get(path) != mark}
    return changed | (before.keys() - after.keys())


def collect(top: str, paths: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
    """Return the content of files of the tree that are there; no link is followed."""
    found: list[tuple[str, bytes]] = []
    for path in paths:
        opened = _opened(top, path)
        if opened is None:
            continue
        try:
            if stat.S_ISREG(os.fstat(opened).st_mode):
                with open(opened, "rb", closefd=False) as file:
                    found.append((path, file.read(_MAX_COLLECTED)))
        finally:
            os.close(opened)
    return tuple(found)


def _opened(top: str, path: str) -> int | None:
    *folders, name = path.split("/")
    folder = os.open(top, _FOLDER)
    try:
        for each in folders:
            folder = _instead(os.open(each, _FOLDER, dir_fd=folder), folder)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(name, flags, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
