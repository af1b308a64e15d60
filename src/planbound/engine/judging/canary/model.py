"""What a failing test needs to be part of a contract's run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from planbound.plan.command import Call
from planbound.plan.command.word import words

# A product must not be able to tell an added test from others by how it is called.
_WORDS = sorted(
    words(
        "reads writes keeps takes finds sorts joins splits counts loads saves merges parses prints "
        "rounds shifts trims wraps folds lists"
    )
)


class Canary(NamedTuple):
    """Failing tests, as files and environment."""

    files: tuple[tuple[str, bytes], ...]
    """Path seen from the workspace root, and content."""
    names: tuple[str, ...]
    """The names of the failing tests: each has to be seen as failed."""
    environment: tuple[tuple[str, str], ...] = ()
    """Added to the environment; `{workspace}` stands for the workspace's path."""
    reports: str | None = None
    """Where the run writes a JUnit report, seen from the workspace root."""
    failing: str = "{name}"
    """An expression for how the output says that a test failed."""
    passing: str | None = None
    """An expression for how it says that one passed, where it names those too."""
    programs: tuple[tuple[str, bytes], ...] = ()
    """Files that can be executed."""
    marker: str = ""
    """Where the output is without this, the runner may have stopped at the first failure."""
    besides: tuple[str, ...] = ()
    """More expressions: how the runner says that the processes of the tests failed."""

    def says_failed(self, name: str, text: str) -> bool:
        """Say whether an output shows that one of the tests failed."""
        return _says(self.failing, name, text)

    def says_passed(self, name: str, text: str) -> bool:
        """Say whether an output shows that one of the tests passed."""
        return self.passing is not None and _says(self.passing, name, text)


def _says(template: str, name: str, text: str) -> bool:
    return re.search(template.replace("{name}", re.escape(name)), text, re.MULTILINE) is not None


class Project(NamedTuple):
    """The tree that a contract judges."""

    paths: Sequence[str]
    read: Callable[[str], bytes | None]
    nonce: str

    @property
    def name(self) -> str:
        """Return the first of the names."""
        return self.called(0)

    def called(self, *what: object) -> str:
        """Return a name that nobody can guess, fit for an identifier; another one for each use."""
        made = hashlib.sha256(repr((self.nonce, *what)).encode()).hexdigest()
        return f"{_WORDS[int(made[:4], 16) % len(_WORDS)]}_{made[4:14]}"

    def several(self, count: int, *what: object) -> tuple[str, ...]:
        """Return so many names."""
        return tuple(self.called(*what, number) for number in range(count))

    def text(self, path: str) -> str | None:
        """Return a file's text."""
        data = self.read(path)
        return None if data is None else data.decode("utf-8", "replace")

    def below(self, directory: str) -> Iterable[str]:
        """Yield the paths in a directory, at any depth."""
        if not directory:
            return iter(self.paths)
        start = f"{directory}/"
        return (path for path in self.paths if path.startswith(start))

    def holds(self, directory: str) -> bool:
        """Say whether there is such a directory."""
        return any(True for _path in self.below(directory))


class Found(NamedTuple):
    """The call that runs the tests, and where it runs."""

    call: Call
    directory: str
    text: str
    """The script that the call stands in."""

    @property
    def prefix(self) -> str:
        """Return what stands in front of the program: assignments and wrappers."""
        end = self.call.word.start if self.call.word is not None else self.call.start
        return self.text[self.call.start : end]

    @property
    def around(self) -> str:
        """Return the script without the call."""
        return self.text[: self.call.start] + self.text[self.call.end :]

    def unknown(self, allowed: frozenset[str], valued: frozenset[str] = frozenset()) -> bool:
        """Say whether there are options that may change which tests run."""
        skip = False
        for word in self.call.arguments:
            value = word.value
            if skip:
                skip = False
            elif value is None:
                return True
            elif value[:1] == "-" and value != "-":
                option = value.partition("=")[0]
                if value in valued:
                    skip = True
                elif value not in allowed and option not in allowed | valued:
                    return True
        return False

    def is_quoted(self, operand: str) -> bool:
        """Say whether the shell leaves an operand as it is."""
        return any(
            word.value == operand and word.text[:1] in {"'", '"'} for word in self.call.arguments
        )

    def operands(self, valued: frozenset[str] = frozenset()) -> list[str]:
        """Return the words that are no options."""
        return [word.value or "" for word in self.call.operands(valued)]


def joined(directory: str, name: str) -> str:
    """Return the path of a file in a directory; the root is the empty one."""
    return f"{directory}/{name}" if directory else name


def parent(path: str) -> str:
    """Return the directory of a path."""
    return path.rpartition("/")[0]


def base(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]
