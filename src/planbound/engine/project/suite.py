"""The tests of a project, as its files tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from planbound.source.pattern import lazy_pattern

_PLAIN = lazy_pattern(r"[A-Za-z0-9_@%+=:,./-]+")


class Seen:
    """What there is to look at."""

    def __init__(
        self,
        paths: Sequence[str],
        read: Callable[[str], bytes | None],
        *,
        made: Iterable[str] = (),
        has_environment: bool = False,
        programs: Iterable[str] = (),
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.paths = paths
        """The files of the workspace, without environments, caches and plans."""
        self.names = frozenset(paths)
        self.made = frozenset(made)
        """Folders that tools made: virtual environments, `node_modules`.

        One outside of the workspace, which only its tool knows of, has its whole path.
        """
        self.has_environment = has_environment
        """Whether a contract has a virtual environment without a word about it."""
        self.programs = frozenset(programs)
        """Which programs a contract would find, of those that matter here."""
        self.elsewhere = elsewhere or {}
        """Of the others those that the caller would find: the folder of each."""
        self._read = read

    def text(self, path: str) -> str:
        """Return a file as text; nothing where there is none."""
        data = self._read(path) if path in self.names else None
        return (data or b"").decode("utf-8", "replace")


class Suite(NamedTuple):
    """How the tests of one place are run."""

    language: str
    place: str
    """The folder, seen from the workspace; empty for the workspace itself."""
    signs: tuple[str, ...]
    """The files that told of it."""
    commands: tuple[str, ...] = ()
    """The first is proposed; the others are for where it does not start. None: no tests."""
    work: tuple[str, ...] = ()
    """Patterns of the files that work on it changes: sources and tests."""
    setup: str = ""
    """The command that makes its environment."""
    is_set_up: bool = True
    """Whether there is an environment, as far as one is needed."""
    path: tuple[str, ...] = ()
    """What contracts need in front of their `PATH` for it, that is not found by itself."""

    @property
    def title(self) -> str:
        """Return what it is called: the language, and where."""
        return f"{self.language} in {self.place}/" if self.place else self.language


def below(place: str, name: str) -> str:
    """Return a path of a place, seen from the workspace."""
    return f"{place}/{name}" if place else name


def at(place: str, command: str) -> str:
    """Return a command as it is run from the workspace."""
    return f"cd {quoted(place)} && {command}" if place else command


def quoted(word: str) -> str:
    """Return a word as bash takes it for one."""
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def inside(seen: Seen, place: str) -> list[str]:
    """Return the files of a place, seen from it."""
    if not place:
        return list(seen.paths)
    start = f"{place}/"
    return [path[len(start) :] for path in seen.paths if path.startswith(start)]


def folders_of(paths: Sequence[str], place: str, otherwise: str = "") -> tuple[str, ...]:
    """Return patterns for the folders that files are in, seen from the workspace."""
    tops = dict.fromkeys(path.split("/", 1)[0] for path in paths if "/" in path)
    found = [below(place, f"{top}/**") for top in tops]
    if any("/" not in path for path in paths) and otherwise:
        found.append(below(place, otherwise))
    return tuple(found)
