"""What the gates of a branch judge by, in a commit that nobody checks out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, dirname, splitext

from planbound.git.links import OtherNames, follow_links, other_names
from planbound.judging.judges import Judges, habits_of, judge_paths
from planbound.judging.protection import runs_by_itself
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.script import Script
from planbound.script.project import ProjectTree
from planbound.script.runners import RUNNERS
from planbound.script.walk import Ran, walk
from planbound.source import lazy_pattern
from planbound.workspace.manifest import ChangeKind, TreeChange

_NESTED = frozenset("ruff eslint prettier shellcheck".split())
_LARGE = 1 << 20
"""Larger files are read alone, and only when they are asked for."""
_LARGEST = 64 << 20

Fetch = Callable[[Sequence[str]], dict[str, bytes]]
"""Returns what is in some files of a commit, by name."""


class GateTree:
    """The files of a commit, each by all names that links give it."""

    def __init__(self, sizes: dict[str, int], links: dict[str, str], fetch: Fetch) -> None:
        """`links` says of each link where it leads."""
        self.links = links
        self._names = other_names(sizes, links) if links else OtherNames({}, frozenset())
        self.paths = [*sizes, *self._names.files]
        self._files = _Contents(fetch, sizes)

    def read(self, path: str) -> bytes | None:
        return self._files.read(self._names.files.get(path, path))

    def judges(self, scripts: Sequence[Script], declared: Sequence[Glob]) -> Judges:
        """Return the judges of gates: behind a link a file counts by both of its names."""
        found = judge_paths(scripts, declared, self.paths, self.read)
        if not self.links:
            return found
        names = self._names.files
        behind = {names[path] for path in found.files if path in names} - found.files
        if behind:
            # Programs look for what lies beside them by either name.
            globs = [*declared, *readable_globs(sorted(behind))]
            found = judge_paths(scripts, globs, self.paths, self.read)
        return found._replace(
            files=found.files | {names.get(path, path) for path in found.files},
            directories=self._by_both_names(found.directories) | self._names.left,
            names=self._by_both_names(found.names),
        )

    def nested(self, scripts: Sequence[Script]) -> frozenset[str]:
        """Return the settings that linters of gates also take from folders below theirs."""
        calls = (
            item.call
            for item in walk(scripts, ProjectTree(self.paths, self.read))
            if isinstance(item, Ran) and item.call.program in _NESTED
        )
        habits = (habits_of(call) for call in calls)
        return frozenset(name for each in habits if each is not None for name in each.settings)

    def _by_both_names(self, paths: frozenset[str]) -> frozenset[str]:
        behind = (follow_links(path, self.links) for path in paths)
        return paths | {path for path in behind if path}


_ENVIRONMENTS = frozenset({"conda-meta", ".venv"})
"""Folders in which nothing is the product."""
_PROGRAMS = lazy_pattern(r"(?:.*/)?venv/(?:bin|Scripts)/.*")
_MARK = "pyvenv.cfg"
_PROJECT = "pyproject.toml"
_INCLUDED = (".mk", ".mak", ".make")
_PLANTED = frozenset(name for runner in RUNNERS for name in runner.planted)
"""These are judges of the gates that read them; nobody else does."""


class GateSettings:
    """What changes how a gate runs, although no gate speaks of it."""

    def __init__(
        self,
        paths: Sequence[str],
        judges: Judges,
        nested: frozenset[str] = frozenset(),
        texts: Callable[[str], bytes] = lambda _path: b"",
    ) -> None:
        """`paths` are those of the commit that a merge begins with.

        `nested` are settings that count in any folder; `texts` returns what a file says there and
        in the merged files.
        """
        self._patterns = judges.patterns
        self._nested = nested
        self._texts = texts
        marks = (path for path in paths if basename(path) == _MARK)
        self._environments = tuple(f"{dirname(path)}/" for path in marks if dirname(path))

    def takes_effect(self, change: TreeChange) -> bool:
        """Say whether a change, of whatever kind, takes effect in gates by itself."""
        path = change.path
        if basename(path) == _MARK or not _ENVIRONMENTS.isdisjoint(path.split("/")):
            return True
        if _PROGRAMS.fullmatch(path) or path.startswith(self._environments):
            return True
        if basename(path) in self._nested and self._is_setting(path):
            return True
        if any(_may_include(word, path) for word in self._patterns):
            return True
        if change.kind is ChangeKind.ADDED:
            return runs_by_itself(path) is not None
        # A module of the product may be called as one of Python's: it runs wherever tests do.
        reason = runs_by_itself(path, stdlib=frozenset())
        return reason is not None and basename(path) not in _PLANTED

    def _is_setting(self, path: str) -> bool:
        # Each package of a repository has such a file; few of them say anything to a linter.
        return basename(path) != _PROJECT or b"ruff" in self._texts(path)


def _may_include(word: str, path: str) -> bool:
    """Say whether a Makefile that says `include` and this word may read a file."""
    if "$" in word:
        return path.endswith(_INCLUDED)
    return fnmatchcase(path, word) and path.count("/") == word.count("/")


class _Contents:
    """The files of a commit: with one, those beside it are read that are called alike."""

    def __init__(self, fetch: Fetch, sizes: dict[str, int]) -> None:
        self._fetch = fetch
        self._sizes = sizes
        self._known: dict[str, bytes] = {}
        self._beside: dict[tuple[str, str], list[str]] = {}
        for path, size in sizes.items():
            if size <= _LARGE:
                self._beside.setdefault(_kind(path), []).append(path)

    def read(self, path: str) -> bytes | None:
        size = self._sizes.get(path)
        if size is None or size > _LARGEST:
            return None
        if path not in self._known:
            beside = self._beside.pop(_kind(path), []) if size <= _LARGE else []
            self._known |= self._fetch(beside or [path])
        return self._known.get(path)


def _kind(path: str) -> tuple[str, str]:
    return dirname(path), splitext(path)[1]


def readable_globs(texts: Sequence[str]) -> list[Glob]:
    """Return patterns, without those that are none."""
    found = []
    for text in texts:
        try:
            found.append(parse_glob(text))
        except GlobError:  # taken for a secret when it was written: it names nothing
            continue
    return found
