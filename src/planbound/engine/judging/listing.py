"""The paths of a tree, ready to be asked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from posixpath import dirname

from planbound.source.pattern import lazy_pattern

_INSTALLED = lazy_pattern(
    r"(?:^|/)(?:node_modules|\.?venv|site-packages|vendor|\.git|\.tox|\.nox|__pycache__)/"
)


class Listing:
    """Which files and directories there are."""

    def __init__(self, tree: Sequence[str]) -> None:
        folders = {""}
        for path in tree:
            parent = dirname(path)
            while parent not in folders:
                folders.add(parent)
                parent = dirname(parent)
        self.folders = frozenset(folders)
        self.files = frozenset(tree) - self.folders
        # What is installed has tests of its own, which judge nothing here.
        self._own = sorted(path for path in self.files if not _INSTALLED.search(path))

    def under(self, folder: str) -> Iterator[str]:
        """Yield the files below a directory, without what is installed."""
        start = bisect_left(self._own, f"{folder}/") if folder else 0
        for index in range(start, len(self._own)):
            if folder and not self._own[index].startswith(f"{folder}/"):
                return
            yield self._own[index]


def joined(folder: str, name: str) -> str:
    """Return the path of a name in a directory."""
    return f"{folder}/{name}" if folder else name


def chain(folder: str) -> list[str]:
    """Return the directories from the root, which is empty, to this one."""
    names = folder.split("/") if folder else []
    return ["/".join(names[:length]) for length in range(len(names) + 1)]
