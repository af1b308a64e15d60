"""Which places outside of the tree a contract names: where it is told to look, and where it may be.

What stands as a word of a command is read as the shell reads it. Everywhere else, in scripts of any
language, in variables and in recipes, whatever looks like a path counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from planbound.cells.orders import is_below
from planbound.script import Call
from planbound.source import lazy_pattern

OF_CELL = ("/dev", "/proc", "/sys")
"""A cell has its own."""
_HOMES = ("~/", "$HOME/", "${HOME}/", "$(HOME)/")
_QUOTES = str.maketrans("", "", "\"'")
_PATH = lazy_pattern(
    r"""(?:~|\$HOME|\$\{HOME\}|\$\(HOME\))?/(?![/\s])[^\s\x00-\x1f"'`;:,|&()<>{}\[\]$*?=\#%!\\]+"""
)


def called_places(calls: Iterable[Call], root: str, home: str | None) -> Iterator[str]:
    """Yield what calls name by a place outside of the tree.

    Of a place that the shell completes, all below the part that is written out.
    """
    for call in calls:
        words = (call.word, *call.wrappers, *call.arguments)
        for word in (*words, *(each.target for each in call.redirects)):
            if word is None:
                continue
            text = word.value if word.value is not None else word.text.translate(_QUOTES)
            path = _at_home(text.rpartition("=")[2], home)
            if word.value is None:
                path = _written_out(path)
            if path.startswith("/") or ".." in path.split("/"):
                place = os.path.normpath(os.path.join(root, path))
                if is_outside(place, root):
                    yield place


def mentioned_places(texts: Iterable[str], root: str, home: str | None) -> Iterator[str]:
    """Yield what may be a place outside of the tree, wherever it stands in a text."""
    for text in texts:
        for path in _PATH.findall(text):
            place = os.path.normpath(_at_home(path, home))
            if place.startswith("/") and is_outside(place, root):
                yield place


def is_outside(place: str, root: str) -> bool:
    """Say whether a place is neither in the tree nor one that every cell has for itself."""
    return not any(is_below(place, own) for own in (root, *OF_CELL))


def _at_home(path: str, home: str | None) -> str:
    mark = next((mark for mark in _HOMES if path.startswith(mark)), None)
    return path if mark is None or home is None else f"{home}/{path.removeprefix(mark)}"


def _written_out(text: str) -> str:
    """Return what a word names, or the folder before the shell puts something in."""
    ends = [text.find(mark) for mark in "*?[{$`\\" if mark in text]
    if not ends:
        return text
    return text[: min(ends)].rpartition("/")[0] or ("/" if text.startswith("/") else "")
