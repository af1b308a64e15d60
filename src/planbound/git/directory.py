"""What is in a git directory: files that never change, files that do, and the refs they hold."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Collection, Container, Iterable, Iterator
from typing import NamedTuple

TEMPORARY = "planbound.tmp"
"""What is written before it takes its place."""
_OBJECT = re.compile(
    r"objects/(?:[0-9a-f]{2}/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack/pack-[0-9a-f]+\.\w+)"
)
_LARGE = re.compile(r"(?:lfs|annex)/objects/")
_IGNORED = re.compile(r"(?:lfs|annex)/(?!objects/)")
_PASSING = re.compile(
    r"(?:.*/)?(?:[^/]*\.lock|gc\.pid|gc\.log|[^/]*_EDITMSG|AUTO_MERGE"
    r"|fsmonitor--daemon[^/]*|SQUASH_MSG|REBASE_HEAD|tmp_[^/]*|planbound\.tmp)"
    r"|.+/(?:ORIG_HEAD|FETCH_HEAD)",
    re.DOTALL,
)
"""What comes and goes with any command."""
_UNDER_WAY = re.compile(
    r"(?:worktrees/[^/]+/)?(?:MERGE_[A-Z]+|CHERRY_PICK_HEAD|REVERT_HEAD|BISECT_[A-Z_]+"
    r"|(?:rebase-(?:merge|apply)|sequencer)/.+)",
    re.DOTALL,
)
"""What says that a merge, a rebase or the like is not finished."""
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LONGEST = 4096


class SeenFile(NamedTuple):
    """A file of a git directory, and what changes when it is written."""

    kind: int
    size: int
    changed: int
    """The time of the last change of anything about it, which no program can set."""


def is_stored(name: str) -> bool:
    """Say whether a path is in a store of contents, whose files never change."""
    return _OBJECT.fullmatch(name) is not None or is_large(name)


def is_large(name: str) -> bool:
    """Say whether a path is in a store of large files."""
    return _LARGE.match(name) is not None


def is_passing(name: str) -> bool:
    """Say whether a file comes and goes with any command."""
    return _PASSING.fullmatch(name) is not None or _IGNORED.match(name) is not None


def is_under_way(name: str) -> bool:
    """Say whether a file says that something is not finished."""
    return _UNDER_WAY.fullmatch(name) is not None


def is_git_folder(path: str) -> bool:
    """Say whether a folder is a git directory."""
    return os.path.isfile(f"{path}/HEAD") and os.path.isdir(f"{path}/objects")


def modules_of(folder: str) -> list[str]:
    """Return the git directories of submodules that a git directory keeps, at any depth."""
    found = []
    pending = [f"{folder}/modules"]
    while pending:
        each = pending.pop()
        if is_git_folder(each):
            found.append(each)
            pending.append(f"{each}/modules")
            continue
        try:
            with os.scandir(each) as entries:
                pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
    return sorted(found)


def walk(
    folder: str, *, but: frozenset[str] = frozenset()
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what is no folder in a git directory; folders in `but` are another one's."""
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(f"{folder}/{prefix}") as listed:
                entries = list(listed)
        except OSError:
            continue
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                yield prefix + entry.name, entry
            elif entry.path not in but:
                pending.append(f"{prefix}{entry.name}/")


def seen(entry: os.DirEntry[str]) -> SeenFile | None:
    """Return what a file or a link looks like; None where it is neither."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    kind = stat.S_IFMT(found.st_mode)
    if kind not in {stat.S_IFREG, stat.S_IFLNK}:
        return None
    return SeenFile(kind, found.st_size, found.st_ctime_ns)


# -- refs ----------------------------------------------------------------------------------------

Refs = dict[str, str]
"""By name the id of what it leads to, or `ref: ` and another name."""


def read_refs(folder: str) -> tuple[Refs, set[str]]:
    """Return the refs of a git directory, and the names of those that say nothing."""
    refs = _packed(f"{folder}/packed-refs")
    broken: set[str] = set()
    for name, entry in walk(f"{folder}/refs"):
        ref = f"refs/{name}"
        if name.endswith(".lock") or not entry.is_file(follow_symlinks=False):
            continue
        value = meaning(_line(f"{folder}/{ref}"))
        if value is None:
            broken.add(ref)
            refs.pop(ref, None)
        else:
            refs[ref] = value
    return refs, broken


def meaning(text: str | None) -> str | None:
    """Return what the text of a ref says; None where it says nothing."""
    if text is None:
        return None
    if text.startswith("ref:"):
        name = text.removeprefix("ref:").strip()
        return f"ref: {name}" if name.startswith("refs/") else None
    return text if _NAME.fullmatch(text) else None


def head_of(folder: str) -> str | None:
    """Return what the HEAD in a folder says; None where it says nothing."""
    path = f"{folder}/HEAD"
    if os.path.islink(path):
        target = os.readlink(path)
        return f"ref: {target}" if target.startswith("refs/") else None
    return meaning(_line(path))


def linked_worktrees(folder: str) -> list[str]:
    """Return the linked worktrees of a git directory, as `worktrees/NAME`."""
    try:
        return [f"worktrees/{name}" for name in os.listdir(f"{folder}/worktrees")]
    except OSError:
        return []


def worktree_of(folder: str, name: str) -> str | None:
    """Return the folder of a worktree; "" is the main one. None where nobody says it."""
    if not name:
        return os.path.dirname(folder)
    try:
        with open(f"{folder}/{name}/gitdir", encoding="utf-8", errors="surrogateescape") as file:
            return os.path.dirname(file.read(5000).strip()) or None
    except OSError:
        return None


def checked_out(
    folder: str, but: str | None = None, among: Collection[str] | None = None
) -> set[str]:
    """Return the branches that worktrees have checked out, apart from the one that is named.

    A worktree is named by where its HEAD is, seen from the git directory; the main one by "".
    """
    found = [own for own in ("", *linked_worktrees(folder)) if among is None or own in among]
    heads = [head_of(f"{folder}/{own}") for own in found if own != but]
    return {head.removeprefix("ref: ") for head in heads if head is not None}


def resolved(value: str | None, refs: Refs) -> str | None:
    """Return the id that a value leads to; None where that is nothing yet."""
    for _ in range(5):
        if value is None or not value.startswith("ref: "):
            return value
        value = refs.get(value.removeprefix("ref: "))
    return None


def _packed(path: str) -> Refs:
    refs: Refs = {}
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                value, _, name = line.rstrip("\n").partition(" ")
                if _NAME.fullmatch(value) and name.startswith("refs/"):
                    refs[name] = value
    except OSError:
        return refs
    return refs


def _line(path: str) -> str | None:
    try:
        # Not blocking: whatever is there must give an answer and not a wait.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        return os.read(opened, _LONGEST).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return None
    finally:
        os.close(opened)


# -- what is in a git directory and is nothing that git reads -------------------------------------


_ID = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_SHAPES = tuple(
    (re.compile(rf"(?:modules/(?:[^/]+/)+?)?(?:worktrees/[^/]+/)?(?:{name})", re.DOTALL), content)
    for name, content in (
        # By its first bytes, where those are none of a text.
        (r"objects/[0-9a-f]{2}/(?:[0-9a-f]{38}|[0-9a-f]{62})", rb"x[\x01\x5e\x9c\xda]"),
        (r"objects/pack/pack-[0-9a-f]+\.pack", rb"PACK\0"),
        (r"objects/pack/pack-[0-9a-f]+\.idx", rb"\xfftOc"),
        (r"objects/pack/[\w-]+\.(?:rev|bitmap|mtimes)", rb"(?:RIDX|BITM|MTME)\0"),
        (r"objects/pack/multi-pack-index(?:\.d/[\w-]+\.midx)?", rb"MIDX[\0-\x09]"),
        (r"objects/info/commit-graph(?:s/graph-[0-9a-f]+\.graph)?", rb"CGPH[\0-\x09]"),
        (r"index|sharedindex\.[0-9a-f]+", rb"DIRC\0"),
        (r"reftable/[\w-]+\.ref", rb"REFT[\0-\x09]"),
        # By all of it, line by line.
        (r"objects/info/packs", rb"(?:P pack-[0-9a-f]+\.pack\n|\n)*\Z"),
        (r"objects/info/(?:http-)?alternates", rb"(?:[^\n]*/objects/?\n?)*\Z"),
        (r"objects/info/commit-graphs/commit-graph-chain|shallow", rb"(?:%s\n)*\Z" % _ID),
        (r"objects/pack/pack-[0-9a-f]+\.promisor", rb"(?:%s [^\n]*\n)*\Z" % _ID),
        (
            r"packed-refs",
            rb"(?:# pack-refs[ a-z:-]*\n)?(?:\^%s\n|%s refs/[^\n]*\n)*\Z" % (_ID, _ID),
        ),
        (r"logs/.+", rb"(?:%s %s [^\n]* \d+ [+-]\d{4}(?:\t[^\n]*)?\n)*\Z" % (_ID, _ID)),
        (r"FETCH_HEAD|MERGE_HEAD", rb"(?:%s(?:\t[^\n]*)?\n)*\Z" % _ID),
        (r"(?:[A-Z_]+_)?HEAD|refs/.+", rb"(?:%s|ref: refs/[^\n]*)\n?\Z" % _ID),
        (r"reftable/tables\.list", rb"(?:0x[\w-]+\.ref\n)*\Z"),
        (r"commondir", rb"\.\./\.\.\n?\Z"),
        (r"gitdir", rb"/?[^\n]*/\.git\n?\Z"),
    )
)
"""How files of git look: what is called like this, and begins or is like that."""
_LINKED = frozenset({"objects", "refs", "logs", "packed-refs"})
"""What may be a link: a worktree as `git-new-workdir` makes it."""
_ASIDE = "annex/"


def foreign_files(folder: str, known: Container[str]) -> Iterator[str]:
    """Yield the files of a git directory that git does not read, or that are not what it wrote.

    `known` are left out: somebody compares them by their content.
    """
    for name, entry in walk(folder):
        if name in known or name.startswith(_ASIDE):
            continue
        if not (name in _LINKED and entry.is_symlink()) and not _is_gits(name, entry.path):
            yield name


def _is_gits(name: str, path: str) -> bool:
    content = next((content for pattern, content in _SHAPES if pattern.fullmatch(name)), None)
    if content is None:
        return False
    data = _bytes(path, -1 if content.endswith(b"\\Z") else 8)
    return data is not None and re.match(content, data) is not None


def _bytes(path: str, count: int) -> bytes | None:
    """Return the first bytes of a file, or all; None where it is none, or cannot be read."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            return None
        return os.read(opened, found.st_size if count < 0 else count)
    except OSError:
        return None
    finally:
        os.close(opened)


# -- packs ---------------------------------------------------------------------------------------


def packed_objects(index: str, width: int) -> set[str]:
    """Return the objects that the index of a pack names, their ids `width` bytes long."""
    start = 8 + 4 * 256
    try:
        with open(index, "rb") as file:
            data = file.read()
    except OSError:
        return set()
    count = int.from_bytes(data[start - 4 : start], "big")
    whole = len(data) >= start + count * (width + 8) + 2 * width
    if not data.startswith(b"\xfftOc\x00\x00\x00\x02") or not whole:
        return set()
    end = start + count * width
    return {data[place : place + width].hex() for place in range(start, end, width)}


# -- opens again what was closed in a git directory: permissions are taken away as files are -----


_FOLDER = 0o700
_READ, _WRITE = 0o400, 0o200


def open_folders(top: str, since: int) -> bool:
    """Let the owner read and write all folders of a git directory; say whether one was closed.

    Only what changed since then: what was closed before is somebody's wish.
    """
    opened = [path for path in _above(top) if open_folder(path, since)]
    pending = [top]
    while pending:
        folder = pending.pop()
        if open_folder(folder, since):
            opened.append(folder)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return bool(opened)


def _above(top: str) -> Iterator[str]:
    """Yield the folders between `.git` and the git directory of a submodule, from the top."""
    above, marker, below = top.rpartition("/.git/")
    if marker:
        folder = f"{above}/.git"
        for name in below.split("/"):
            yield folder
            folder = f"{folder}/{name}"


def open_folder(path: str, since: int) -> bool:
    """Let the owner read and write a folder that changed since; say whether it was closed."""
    try:
        found = os.lstat(path)
        if (
            not stat.S_ISDIR(found.st_mode)
            or found.st_mode & _FOLDER == _FOLDER
            or found.st_ctime_ns < since
        ):
            return False
        os.chmod(path, stat.S_IMODE(found.st_mode) | _FOLDER)
    except OSError:
        return False
    return True


def open_file(entry: os.DirEntry[str], kept: str, since: int) -> bool:
    """Let a file have the permissions of its copy, where its owner has fewer; say whether so."""
    try:
        found = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or found.st_ctime_ns < since:
            return False
        wanted = _mode(kept, found.st_mode) | _READ
        if not wanted & (_READ | _WRITE) & ~found.st_mode:
            return False
        os.chmod(entry.path, wanted)
    except OSError:
        return False
    return True


def _mode(kept: str, otherwise: int) -> int:
    try:
        return stat.S_IMODE(os.lstat(kept).st_mode)
    except OSError:
        return stat.S_IMODE(otherwise)


# -- where git directories are -------------------------------------------------------------------


class GitFolder(NamedTuple):
    """A git directory that a command could reach."""

    path: str
    own: str = ""
    pointers: tuple[str, ...] = ()


def git_folders(root: str, nested: Iterable[str], *, walled: bool) -> list[GitFolder]:
    """Return the git directories that a command in a workspace could write to."""
    root = os.path.realpath(root)
    found: dict[str, GitFolder] = {}
    top = _top(root)
    tops = [*([top] if top is not None else []), *(f"{root}/{each}" for each in nested)]
    for each in tops:
        place = _place(each)
        if place is not None and not (walled and not place.path.startswith(f"{root}/")):
            found.setdefault(place.path, place)
    return list(found.values())


def _top(root: str) -> str | None:
    folder = root
    while True:
        if os.path.lexists(f"{folder}/.git"):
            return folder
        if folder == (folder := os.path.dirname(folder)):
            return None


def _place(top: str) -> GitFolder | None:
    pointer = f"{top}/.git"
    if os.path.isdir(pointer):
        real = os.path.realpath(pointer)
        links = (pointer,) if os.path.islink(pointer) else ()
        return GitFolder(real, pointers=links) if is_git_folder(real) else None
    text = _text(pointer)
    if not text.startswith("gitdir:"):
        return None
    folder = os.path.realpath(os.path.join(top, text.removeprefix("gitdir:").strip()))
    shared = _text(f"{folder}/commondir")
    common = os.path.realpath(os.path.join(folder, shared)) if shared else folder
    if not is_git_folder(common):
        return None
    own = os.path.relpath(folder, common)
    return GitFolder(common, own="" if own == "." else own, pointers=(pointer,))


def _text(path: str) -> str:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(16 * 1024).strip()
    except OSError:
        return ""


def pointer_text(path: str) -> str:
    """Return what a `.git` that is no folder says: a link where it leads, a file its content."""
    try:
        if os.path.islink(path):
            return f"link {os.readlink(path)}"
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                return f"file {file.read(16 * 1024)}"
    except OSError:
        pass
    return ""
