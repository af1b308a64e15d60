"""Files of cases that are held out: outside the workspace, and read by the harness alone."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterator, Sequence

from planbound.errors import BindingError
from planbound.plan.check import HELD_OUT_SUFFIX
from planbound.verify.facts import HeldOutCases
from planbound.workspace.root import GitPlace, find_git

_MAX_BYTES = 16 << 20
_READABLE = "and whoever works in the workspace can read it there"
_MOVE_OUT = "keep it outside of the repository, with other cases: those are in its history"


def is_file_of_cases(path: str) -> bool:
    """Say whether a file that is held out is read by the harness, and laid into no cell."""
    return path.endswith(HELD_OUT_SUFFIX)


def files_of_cases(paths: Sequence[str]) -> Iterator[str]:
    """Yield the files of cases among what is held out, those in folders, too."""
    for path in paths:
        if not os.path.isdir(path):
            yield from [path] if is_file_of_cases(path) else []
            continue
        for parent, _, names in os.walk(path):
            yield from (os.path.join(parent, name) for name in names if is_file_of_cases(name))


def read_held_out_cases(root: str, paths: Sequence[str], name: str) -> HeldOutCases:
    """Return the text of a file of cases by its name, or why there is none.

    What the repository around `root` has of it can be read by whoever has the repository.
    """
    files = list(files_of_cases(paths))
    found = [path for path in files if path.endswith(f"/{name}")]
    if not is_file_of_cases(name):
        return HeldOutCases(None, f"`{name}` is not called `*{HELD_OUT_SUFFIX}`")
    if len(found) != 1:
        what, base = "more than one" if found else "no", os.path.basename(name)
        if not found and any(os.path.basename(path) == base for path in files):
            return HeldOutCases(None, f"no `{name}` is held out", f"`{base}` is: name it so")
        return HeldOutCases(None, f"{what} `{name}` is held out")
    return _read(root, found[0], name)


def _read(root: str, path: str, name: str) -> HeldOutCases:
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            return HeldOutCases(None, f"`{name}` is no file", "lay a file with cases there")
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            return HeldOutCases(None, f"`{name}` is over {_MAX_BYTES >> 20} MB")
        if _is_in_repository(root, path, content):
            return HeldOutCases(None, f"the git repository has `{name}`, {_READABLE}", _MOVE_OUT)
        return HeldOutCases(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except OSError as error:
        reason = f"`{name}` cannot be read: {error.strerror}"
        return HeldOutCases(None, reason, "lay it where `held_out` says that it is")
    except UnicodeDecodeError:
        return HeldOutCases(None, f"`{name}` is not UTF-8", "write it as UTF-8")


# -- whether git has a file, found by reading git's files ----------------------------------------


_FAN_OUT = 8, 8 + 256 * 4
"""Where the index of a pack says how many names begin with at most a byte, and the names begin."""
_PACK_INDEX = b"\xfftOc"
_LONG = 0xFFF
_PLAIN_INDEX = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
"""How an index begins in which paths stand as they are."""


def _is_in_repository(root: str, path: str, content: bytes) -> bool:
    """Say whether a file is tracked, or its content is among git's objects, whatever its name."""
    try:
        git = find_git(root)
    except BindingError:
        return False  # a worktree without its repository, which nobody can read
    if git is None:
        return False
    names = [_blob(text, sort) for text in _stored_as(content) for sort in ("sha1", "sha256")]
    stores = list(_stores(os.path.join(git.common, "objects")))
    return _is_tracked(git, path) or any(_has(store, name) for store in stores for name in names)


def _stored_as(content: bytes) -> set[bytes]:
    """Return how git may have stored it, where it changes the ends of lines."""
    return {content, content.replace(b"\r\n", b"\n")}


def _blob(content: bytes, sort: str) -> str:
    return hashlib.new(
        sort, b"blob %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()


def _stores(objects: str, depth: int = 5) -> Iterator[str]:
    """Yield a folder of objects, and those that it borrows from."""
    yield objects
    try:
        with open(os.path.join(objects, "info", "alternates"), encoding="utf-8") as file:
            borrowed = [os.path.join(objects, line.strip()) for line in file if line.strip()]
    except (OSError, ValueError):
        return
    for path in borrowed if depth else ():
        yield from _stores(os.path.normpath(path), depth - 1)


def _has(objects: str, name: str) -> bool:
    if os.path.lexists(os.path.join(objects, name[:2], name[2:])):
        return True
    folder = os.path.join(objects, "pack")
    try:
        packs = [each for each in os.listdir(folder) if each.endswith(".idx")]
    except OSError:
        return False
    return any(_is_packed(os.path.join(folder, each), bytes.fromhex(name)) for each in packs)


def _is_packed(path: str, name: bytes) -> bool:
    """Say whether a pack has an object, by its index: sorted names of one length."""
    try:
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as index,
        ):
            if index[:4] != _PACK_INDEX:
                return index.find(name) >= 0  # of an old git
            first, size = name[0], len(name)
            low = _count(index, first - 1) if first else 0
            names = _FAN_OUT[1]
            return index.find(name, names + low * size, names + _count(index, first) * size) >= 0
    except (OSError, ValueError):
        return False


def _count(index: mmap.mmap, byte: int) -> int:
    place = _FAN_OUT[0] + byte * 4
    return int.from_bytes(index[place : place + 4], "big")


def is_tracked(root: str, path: str) -> bool:
    """Say whether git tracks a file, or one in this folder that is no file of cases."""
    try:
        git = find_git(root)
    except BindingError:
        return False
    return git is not None and _is_tracked(git, path, is_file_of_cases)


def _is_tracked(
    git: GitPlace, path: str, passed_by: Callable[[str], bool] = lambda _name: False
) -> bool:
    """Say whether a worktree of the repository has something at this path under its control."""
    indexes = {git.main: os.path.join(git.common, "index")}
    worktrees = os.path.join(git.common, "worktrees")
    for name in os.listdir(worktrees) if os.path.isdir(worktrees) else ():
        try:
            with open(os.path.join(worktrees, name, "gitdir"), encoding="utf-8") as file:
                top = os.path.dirname(file.read().strip())
        except (OSError, ValueError):
            continue
        indexes[os.path.realpath(top)] = os.path.join(worktrees, name, "index")
    return any(
        not passed_by(found)
        for top, index in indexes.items()
        for found in _listed(index, os.path.relpath(path, top))
    )


def _listed(index: str, name: str) -> Iterator[str]:
    """Yield what an index has at a path, or below it."""
    if name.startswith(".."):
        return
    try:
        with open(index, "rb") as file:
            content = file.read()
    except OSError:
        return
    if not content.startswith(_PLAIN_INDEX):
        # Paths are shortened in it: what lies in the worktree is taken for tracked.
        yield name
        return
    start = os.fsencode(name)
    at = content.find(start)
    while at >= 0:
        end = content.find(b"\0", at)
        found = content[at:end]
        # Before a name, or two bytes before, its length is written: else this is a part of another.
        sizes = (int.from_bytes(content[at - back : at - back + 2], "big") for back in (2, 4))
        is_name = any(size & _LONG == min(len(found), _LONG) for size in sizes)
        if is_name and (found == start or found.startswith(start + b"/")):
            yield os.fsdecode(found)
        at = content.find(start, at + 1)
