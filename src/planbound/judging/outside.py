"""What a contract can see besides the files of its tree: the machine, and what git knows.

Two looks that are the same let what was measured at the first stand for the second. Where a
contract may see something that is not looked at, there is no look, and everything is measured anew.
"""

from __future__ import annotations

import hashlib
import os
import resource
import struct
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import planbound
from planbound.cells.orders import is_below
from planbound.judging.case import names_git
from planbound.judging.context import JudgingContext, git_folders
from planbound.judging.machine import (
    OF_PACKAGES,
    MachineLook,
    UnsureError,
    is_answering,
    machine_of,
)
from planbound.judging.named import called_places, is_outside, mentioned_places
from planbound.plan.model import Command
from planbound.script import Call, Script
from planbound.script.project import ProjectTree
from planbound.script.walk import Ran, walk
from planbound.workspace.manifest import EntryType, Manifest
from planbound.workspace.measured import progress_files
from planbound.workspace.root import HARNESS
from planbound.workspace.scan import is_link

if TYPE_CHECKING:
    from planbound.judging.contract import JudgedContract

MOST = 50_000
"""So many files outside of the tree are looked at; where there are more, nothing is taken over."""
_BY_LOOK = frozenset({"objects", "lfs", "annex"})
"""What git keeps there is called by its content: it is enough to see that nobody wrote to it."""
_LOOK = struct.Struct("=2sQQIQqq")
_LARGEST = 64 << 20
_LARGEST_TEXT = 1 << 20
"""What is larger is data, and names no places."""
_MOST_NAMED = 2_000
_OWN_LOOK = frozenset("PATH HOME PWD TMPDIR".split())
"""Variables that lead to what is looked at by itself, or to what each cell has for itself."""
_OF_JVM = frozenset("mvn mvnw mvnd gradle gradlew sbt lein clj clojure mill ant".split())
_BUILT_BY_JVM = (".m2/", ".gradle/", ".ivy2/")
"""Caches into which people put what they build, under names that stay the same."""


def surroundings(contract: JudgedContract) -> str | None:
    """Return a digest of what a contract sees besides its files; None where nobody can tell."""
    judging, manifest = contract.judging, contract.manifest
    if manifest.looks is None:
        return None  # nobody has looked at the times of the files
    looks = hashlib.sha256(_process().encode())
    looks.update(manifest.looks.encode())
    try:
        for line in _lines(contract):
            looks.update(line)
        for folder in _git_folders(judging.tree.root, judging.git_folders, manifest):
            for line in _of_git(folder):
                looks.update(line)
    except UnsureError:
        return None
    return looks.hexdigest()


ANYTHING = "any"
"""What nobody can look at again: it may be another one at any time."""


def beyond_files(contract: JudgedContract) -> str | None:
    """Return what a contract depends on besides files, as far as texts tell it; None: nothing.

    By the words of the contract, of what judges it, and of every file that it names. Who reads
    `git` there for nothing lets it be judged once more when git knows something else.
    """
    if not isinstance(contract.command, Command):
        return None
    judges = {**contract.frozen_judges, **contract.left_judges}
    named = (contract.read_now(path) for path in _named_files(contract.script))
    contents = (contract.command.text.encode(errors="replace"), *judges.values(), *named)
    texts = [each[:_LARGEST_TEXT].decode(errors="replace") for each in contents if each]
    if any(HARNESS in each for each in texts):
        return ANYTHING
    if not any(map(names_git, texts)):
        return None
    return known_to_git(contract.judging.tree.root, contract.manifest)


def known_to_git(root: str, manifest: Manifest) -> str:
    """Return a digest of what git knows of a workspace."""
    found = hashlib.sha256()
    try:
        for folder in _git_folders(root, tuple(git_folders(root)), manifest):
            for line in _of_git(folder):
                found.update(line)
    except UnsureError:
        return ANYTHING
    return found.hexdigest()


def _named_files(script: Script) -> Iterator[str]:
    """Yield every word of a contract that may be a file of the tree, whoever is given it."""
    for call in script.calls:
        yield from (os.path.normpath(value) for value in call.values() if value)


def _process() -> str:
    """Return what a contract inherits of this process, and the machine's names."""
    limits = [resource.getrlimit(number) for number in _limits()]
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    own = (os.getuid(), os.getgid(), os.getgroups(), os.getpriority(os.PRIO_PROCESS, 0))
    scheduler = os.sched_getscheduler(0) if hasattr(os, "sched_getscheduler") else None
    kept = [_of_kernel(name) for name in ("personality", "oom_score_adj")]
    return repr((tuple(os.uname()), own, scheduler, kept, cores, limits))


def _of_kernel(name: str) -> bytes:
    """Return what the kernel lets a process hand on to those that it starts."""
    try:
        with open(f"/proc/self/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


@cache
def _limits() -> tuple[int, ...]:
    names = sorted(name for name in vars(resource) if name.startswith("RLIMIT_"))
    return tuple(getattr(resource, name) for name in names)


def _lines(contract: JudgedContract) -> Iterator[bytes]:
    judging, manifest = contract.judging, contract.manifest
    root = judging.tree.root
    calls, texts = _read(contract)
    if any(HARNESS in text for text in texts):
        yield from _of_harness(root)
    folders = _folders(judging)
    home = judging.view.home
    machine = machine_of(tuple(folders), root, tuple(judging.view.tools), home).look()
    yield machine.digest
    whole = {*_shown(judging, root), *called_places(calls, root, home), *_linked(manifest, root)}
    whole.update(_links(machine, root), _built_elsewhere(calls, judging.view.caches, home))
    passed = [value for name, value in judging.environment.items() if name not in _OWN_LOOK]
    named = set(mentioned_places((*texts, *passed), root, home))
    if len(named) > _MOST_NAMED:
        raise UnsureError
    # A folder of the system, or one around a home, is too much to have been meant.
    folders_named = {path for path in named if os.path.isdir(path)}  # of a file one look is all
    visible = (*judging.exposed, *_of_view(judging)) if folders_named else ()
    places = [os.path.realpath(path) for path in visible]
    meant = {path for path in folders_named if _is_below_any(os.path.realpath(path), places)}
    whole.update(meant)
    outside = [path for path in folders if not is_below(path, root)]
    for path in dict.fromkeys([*_programs(calls, outside), *sorted(named - meant)]):
        yield look_at(path)
    left = MOST
    seen: set[str] = set()
    for path in sorted(whole):
        for look in _all_of(path, seen):
            left -= 1
            if left < 0:
                raise UnsureError
            yield look


def _read(contract: JudgedContract) -> tuple[list[Call], list[str]]:
    """Return the calls of a contract and of what it runs, and the texts in which they stand."""
    texts = [contract.command.text]

    def read(path: str) -> bytes | None:
        content = contract.read_now(path)
        if content is not None and len(content) <= _LARGEST_TEXT:
            texts.append(content.decode("utf-8", "replace"))
        return content

    tree = ProjectTree(contract.manifest.files(), read)
    calls = [item.call for item in walk([contract.script], tree) if isinstance(item, Ran)]
    return calls, texts


def _of_view(judging: JudgingContext) -> Iterator[str]:
    yield from judging.view.tools
    yield from judging.view.caches


def _is_below_any(place: str, folders: Iterable[str]) -> bool:
    return any(is_below(place, folder) for folder in folders)


def _built_elsewhere(
    calls: Iterable[Call], caches: Iterable[str], home: str | None
) -> Iterator[str]:
    """Yield the caches in which a build finds what another project built, where one is called."""
    names = {word.value for call in calls for word in (call.word, *call.wrappers) if word}
    if home is not None and any(os.path.basename(name) in _OF_JVM for name in names if name):
        tops = tuple(f"{home}/{name}" for name in _BUILT_BY_JVM)
        yield from (path for path in caches if path.startswith(tops))


def _folders(judging: JudgingContext) -> list[str]:
    return [path for path in judging.environment.get("PATH", "").split(os.pathsep) if path]


def look_at(path: str) -> bytes:
    """Return what a file or folder looks like, links followed, without its content.

    Of a socket or a pipe nobody knows what the one at its other end says.
    """
    try:
        found = os.stat(path)
    except OSError:
        return os.fsencode(path) + b"\0-"
    if is_answering(found.st_mode):
        raise UnsureError
    return os.fsencode(path) + _LOOK.pack(
        b"\0+",
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


def _listed(folder: str, most: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listed:
            found = sorted(listed, key=_name)
    except OSError:
        return []
    if len(found) > most:
        raise UnsureError
    return found


def _name(each: os.DirEntry[str]) -> str:
    return each.name


def _programs(calls: Iterable[Call], folders: Iterable[str]) -> Iterator[str]:
    """Yield the programs that are called, where others come with packages, too."""
    names = {
        word.value
        for call in calls
        for word in (call.word, *call.wrappers)
        if word is not None and word.value and "/" not in word.value
    }
    for folder in folders:
        if folder in OF_PACKAGES:
            yield from (os.path.join(folder, name) for name in sorted({"bash", *names}))


def _links(machine: MachineLook, root: str) -> Iterator[str]:
    """Yield the places outside of the tree of packages that are only linked in an environment."""
    for path in machine.linked:
        place = os.path.realpath(path)
        if os.path.exists(place) and not is_below(place, root):
            yield place


def _linked(manifest: Manifest, root: str) -> Iterator[str]:
    """Yield where links of the tree lead that lead out of it."""
    for path, entry in manifest.others():
        if entry.type is EntryType.LINK:
            place = os.path.realpath(os.path.join(root, os.fsdecode(path)))
            if not is_below(place, root):
                yield place
    for folder, looks in manifest.held.items():
        for name, look in looks.items():
            if is_link(look):
                place = os.path.realpath(os.path.join(root, os.fsdecode(folder + b"/" + name)))
                if is_outside(place, root):
                    yield place


def _shown(judging: JudgingContext, root: str) -> list[str]:
    """Return what a contract is shown on purpose, without Planbound's own places.

    Nor git's folders: they are read by content, wherever they lie.
    """
    own = {sys.prefix, sys.base_prefix, *judging.git_folders}
    package = os.path.dirname(os.path.dirname(os.path.abspath(planbound.__file__)))
    # A toolchain is looked at by its programs and its packages.
    tools = {*judging.view.tools, *judging.view.caches}
    return [
        path
        for path in set(judging.exposed) - own - tools
        if path != package and not is_below(path, root)
    ]


def _all_of(path: str, seen: set[str]) -> Iterator[bytes]:
    """Yield what everything below a path looks like, also where links lead, each once."""
    yield look_at(path)
    waiting = [path]
    while waiting:
        top = waiting.pop()
        place = os.path.realpath(top)
        if place in seen or not os.path.isdir(place):
            continue
        seen.add(place)
        for parent, folders, files in os.walk(top):
            folders.sort()
            for name in (*folders, *sorted(files)):
                yield look_at(os.path.join(parent, name))
            inner = (os.path.join(parent, name) for name in folders)
            waiting += [each for each in inner if os.path.islink(each)]


# -- what the harness writes beside the work, and what git knows ---------------------------------


def _of_harness(root: str) -> Iterator[bytes]:
    """Yield what is in the harness's own folder, which a run does not count among its files.

    Progress files are left out: no contract sees them.
    """
    told = {os.path.join(root, name) for name in progress_files(root)}
    for parent, folders, files in os.walk(os.path.join(root, HARNESS)):
        folders.sort()
        yield os.fsencode(parent) + b"\n"
        for name in sorted(files):
            if (path := os.path.join(parent, name)) not in told:
                yield _content_of(path)


def _git_folders(root: str, around: Iterable[str], manifest: Manifest) -> Iterator[str]:
    """Yield git's folders, those of the tree and those that it belongs to."""
    named = [
        os.path.join(root, os.fsdecode(path))
        for path, entry in manifest.others()
        if entry.type is EntryType.SUMMARY and os.path.basename(path) == b".git"
    ]
    yield from dict.fromkeys((*named, *around))


def _of_git(folder: str) -> Iterator[bytes]:
    """Yield what is in a folder of git's: of objects which there are, and how they look."""
    left = MOST
    waiting = [(folder, False)]
    while waiting:
        parent, is_called = waiting.pop()
        found = _listed(parent, left)
        left -= len(found)
        yield os.fsencode(parent) + b"\n"  # git asks whether a folder is there, too
        is_of_hooks = parent == os.path.join(folder, "hooks")  # a branch may be called so, too
        for each in found:
            if each.is_dir(follow_symlinks=False):
                waiting.append((each.path, is_called or each.name in _BY_LOOK))
            elif not (is_of_hooks and each.name.endswith(".sample")):
                yield look_at(each.path) if is_called else _content_of(each.path)


def _content_of(path: str) -> bytes:
    """Return what a file of git's holds: looking at a repository writes it again as it was."""
    own = os.fsencode(path) + b"\0"
    if os.path.islink(path):
        own += os.fsencode(os.readlink(path)) + b"\0"
        behind = os.path.realpath(path)
        if os.path.isdir(behind):
            raise UnsureError  # what is in a folder elsewhere is not walked
        path = behind
    try:
        with open(path, "rb", opener=_nonblocking) as file:
            data, mode = file.read(_LARGEST + 1), os.fstat(file.fileno()).st_mode
    except OSError:
        return own + look_at(path)
    if len(data) > _LARGEST:
        raise UnsureError
    return own + b"%o\0" % mode + hashlib.sha256(data).digest()


def _nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
