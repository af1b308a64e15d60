"""What a failing test needs to be part of a contract's run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from planbound.plan.command import Call


class Canary(NamedTuple):
    """A failing test, as files and environment."""

    files: tuple[tuple[str, bytes], ...]
    """Path seen from the workspace root, and content."""
    name: str
    """The name of the failing test."""
    environment: tuple[tuple[str, str], ...] = ()
    """Added to the environment; `{workspace}` stands for the workspace's path."""
    reports: str | None = None
    """Where the run writes a JUnit report, seen from the workspace root."""


class Project(NamedTuple):
    """The tree that a contract judges."""

    paths: Sequence[str]
    read: Callable[[str], bytes | None]
    nonce: str

    @property
    def name(self) -> str:
        """Return the canary's name, fit for an identifier."""
        return f"planbound_canary_{self.nonce}"

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
