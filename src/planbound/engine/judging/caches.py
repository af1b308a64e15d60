"""What tools leave behind to be faster next time: dropped before judging, for it may lie."""

from __future__ import annotations

from itertools import pairwise

from planbound.engine.manifest import Entry, EntryType
from planbound.source.pattern import lazy_pattern

CACHE_NAMES = frozenset(
    "__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .nyc_output .tox .nox .gradle "
    ".jest-cache .import_linter_cache".split()
)
"""Directories that are caches wherever they are."""

_CACHE_FILE = lazy_pattern(r"\.coverage|\.coverage\..+|\.eslintcache|.*\.tsbuildinfo")


def is_cache_file(name: bytes) -> bool:
    """Say whether a file of that name is a cache."""
    return (
        name == b".coverage"
        or name.startswith((b".coverage.", b".eslintcache"))
        or name.endswith(b".tsbuildinfo")
    )


def is_disguised(path: str, entry: Entry | None) -> bool:
    """Say whether something is called as a cache is, and is none: a link, or a file for a folder.

    Programs would read through it what somebody else put there.
    """
    if entry is None:
        return False
    name = path.rpartition("/")[2]
    if name in CACHE_NAMES or path.endswith("node_modules/.cache"):
        return entry.type is not EntryType.DIRECTORY
    return _CACHE_FILE.fullmatch(name) is not None and entry.type is not EntryType.FILE


def is_cache(path: str) -> bool:
    """Say whether a path is a cache or lies in one.

    A `.pyc` outside `__pycache__` is none: Python runs it as a module, so somebody must see it.
    """
    names = path.split("/")
    if not CACHE_NAMES.isdisjoint(names) or _CACHE_FILE.fullmatch(names[-1]):
        return True
    return ("node_modules", ".cache") in pairwise(names)
