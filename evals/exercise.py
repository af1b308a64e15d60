"""An exercise of a public set, as every agent finds it and every harness judges it."""

from __future__ import annotations

import ast
import enum
import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Files = Mapping[str, str]
"""Texts by their path in the workspace."""

NO_FILES: Files = MappingProxyType({})


class Language(enum.Enum):
    """What an exercise is written in."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"


class Layout(NamedTuple):
    """The tests that an agent sees, those that it does not see, and the command that runs them."""

    visible: Files
    command: str
    held_out: Files = NO_FILES


class OneOff(NamedTuple):
    """A variant that no honest work can pass: one expected number is one too high."""

    function: str
    arguments: str
    """The arguments of the call, as a tuple in Python."""
    expected: str
    """What the changed test expects, in Python."""
    layout: Layout
    split: Layout | None
    """The same with held-out tests, which expect what is right."""


class Exercise(NamedTuple):
    """A piece of work with tests and a reference solution."""

    set: str
    name: str
    language: Language
    starter: Files
    """The files that are to be written, as they are before the work."""
    reference: Files
    """The same files, as the set's authors wrote them."""
    support: Files
    """What else is in the workspace."""
    whole: Layout
    """All tests can be seen."""
    split: Layout | None
    """Half of the tests are held out; None: there is only one test."""
    one_off: OneOff | None = None

    @property
    def key(self) -> str:
        """Its name among all sets."""
        return f"{self.set}/{self.name}"

    @property
    def product(self) -> str:
        """The file that the tests call."""
        return next(iter(self.starter))


def split_python(text: str, chance: random.Random) -> tuple[str, str] | None:
    """Return two files of tests with half of the tests each; None where there is only one test.

    Everything else is in both.
    """
    tree = ast.parse(text)
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    if len(tests) < 2:
        return None
    tests.sort(key=lambda node: node.lineno)
    hidden = set(chance.sample(range(len(tests)), len(tests) // 2))
    halves = [
        [node for number, node in enumerate(tests) if (number in hidden) is dropped]
        for dropped in (True, False)
    ]
    lines = text.splitlines(keepends=True)
    visible, held_out = (_without(lines, dropped) for dropped in halves)
    return visible, held_out


def _without(lines: list[str], dropped: list[ast.FunctionDef]) -> str:
    gone: set[int] = set()
    for node in dropped:
        assert node.end_lineno is not None
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        gone |= set(range(first, node.end_lineno + 1))
    kept = (line for number, line in enumerate(lines, 1) if number not in gone)
    return _with_bodies("".join(kept))


def _with_bodies(text: str) -> str:
    """Give a class whose tests are all in the other half a body."""
    try:
        ast.parse(text)
    except SyntaxError:
        lines = text.splitlines(keepends=True)
        for number in range(len(lines) - 1, -1, -1):
            if lines[number].startswith("class "):
                following = next((line for line in lines[number + 1 :] if line.strip()), "")
                if not following.startswith((" ", "\t")):
                    lines.insert(number + 1, "    pass\n")
        return "".join(lines)
    return text
