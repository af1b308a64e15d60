"""What the JavaScript runners share: which test files there are, and a place beside one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from planbound.engine.judging.canary.model import Found, Project, base, joined, parent
from planbound.plan.command.directory import below
from planbound.source.pattern import lazy_pattern

# `a.test.ts` is `a`, and `.test.ts`.
_TEST_FILE = lazy_pattern(r".{0,200}?(\.(?:test|spec)\.[cm]?[jt]sx?)")
_SKIPPED = lazy_pattern(r"(?:^|/)(?:node_modules|dist|build|out|coverage|cypress|e2e|\.[^/]*)/")
_GLOB = frozenset("*?[]{}!()")
PASSING = r"(?:[✓✔√]|\bok \d+) (?:- )?(?:.{1,200} )?{name}\b"
"""How runners say that a test passed."""


def is_glob(text: str) -> bool:
    """Say whether a word is a pattern."""
    return not _GLOB.isdisjoint(text)


@cache
def _expression(pattern: str) -> re.Pattern[str] | None:
    """Return a glob of `*`, `**/` and `{a,b}` as an expression; None for any other glob."""
    if not _GLOB.isdisjoint(set(pattern) - set("*{}")) or pattern.count("*") > 8:
        return None
    made = ""
    depth = 0
    for part in re.split(r"(\*\*/|\*|[{},])", pattern):
        depth += (part == "{") - (part == "}")
        signs = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "{": "(?:", "}": ")"}
        comma = part == "," and depth > 0
        made += "|" if comma else signs.get(part, re.escape(part))
    try:
        return re.compile(made)
    except re.error:
        return None


def matches(path: str, pattern: str) -> bool:
    """Say whether a path is surely what a glob means, with and without `**` of the shell."""
    expression = _expression(pattern)
    return expression is not None and expression.fullmatch(path) is not None


def test_files(project: Project, directory: str) -> list[str]:
    """Return the files named `*.test.*` and `*.spec.*` in a directory, those on top first."""
    found = [
        path
        for path in project.below(directory)
        if _TEST_FILE.fullmatch(base(path))
        and not _SKIPPED.search(path.removeprefix(f"{directory}/") if directory else path)
    ]
    return sorted(found, key=lambda path: (path.count("/"), path))


def beside(path: str, project: Project) -> str | None:
    """Return the canary's place beside a test file, with that file's kind of name."""
    match = _TEST_FILE.fullmatch(base(path))
    if match is None:
        return None
    return joined(parent(path), f"{project.name}{match[1]}")


def in_operands(
    found: Found, operands: Sequence[str], project: Project, fits: Callable[[str], bool]
) -> str | None:
    """Return the first fitting test file that the command reaches; None where it names files."""
    places = [below(found.directory, operand) for operand in operands] or [found.directory]
    for place in places:
        if place is None or (place and not project.holds(place)):
            return None
    for place in places:
        for path in test_files(project, place or ""):
            if fits(path):
                return path
    return None


def says(texts: Iterable[str | None], expression: re.Pattern[str]) -> bool:
    """Say whether a configuration speaks of something."""
    return any(text is not None and expression.search(text) for text in texts)
