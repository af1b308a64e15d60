"""The files of a project, and what its build files say they run."""

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import NamedTuple

from planbound.script.runners.runner import joined
from planbound.script.tree import below
from planbound.source import lazy_pattern

# -- the files of a project, ready to be asked what is there -------------------------------------


_INSTALLED = lazy_pattern(
    r"(?:^|/)(?:node_modules|\.?venv|site-packages|vendor|\.git|\.tox|\.nox|__pycache__)/"
)
_SPECIAL = frozenset("*?[")


class _PathsTogether:
    """What all paths of a tree say together."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self._paths = paths

    @cached_property
    def folders(self) -> frozenset[str]:
        found = {""}
        for path in self._paths:
            parent = path.rpartition("/")[0]
            while parent not in found:
                found.add(parent)
                parent = parent.rpartition("/")[0]
        return frozenset(found)

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(self._paths) - self.folders

    @cached_property
    def own(self) -> list[str]:
        # What is installed has tests of its own, which judge nothing here.
        return sorted(path for path in self.files if not _INSTALLED.search(path))


@lru_cache(maxsize=2)  # of a tree and what a contract sees of it: they are asked again and again
def _listing(paths: tuple[str, ...]) -> _PathsTogether:
    return _PathsTogether(paths)


class ProjectTree:
    """Which files and directories there are, and what is in them.

    What takes a look at every path is done when it is first asked for: most contracts are a call
    of a test runner, and need none of it.
    """

    def __init__(self, paths: Sequence[str], read: Callable[[str], bytes | None]) -> None:
        self._listing = _listing(tuple(paths))
        self.read = read
        """Returns the content of a file; None where there is none."""

    def text(self, path: str) -> str | None:
        """Return a file's text."""
        data = self.read(path)
        return None if data is None else data.decode("utf-8", "replace")

    @property
    def folders(self) -> frozenset[str]:
        """The directories, the root as the empty one."""
        return self._listing.folders

    @property
    def files(self) -> frozenset[str]:
        """All that is no directory."""
        return self._listing.files

    def under(self, folder: str) -> Iterator[str]:
        """Yield the files below a directory, without what is installed."""
        own = self._listing.own
        start = bisect_left(own, f"{folder}/") if folder else 0
        for index in range(start, len(own)):
            if folder and not own[index].startswith(f"{folder}/"):
                return
            yield own[index]

    def matching(self, directory: str, word: str) -> list[str]:
        """Return what the shell makes of a word: the path, or all that a pattern matches."""
        if _SPECIAL.isdisjoint(word):
            path = below(directory, word)
            return [] if path is None else [path]
        wanted = joined(directory, word.removeprefix("./")).split("/")
        return sorted(
            path for path in (*self.files, *self.folders) if _matches(path.split("/"), wanted)
        )


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Say whether a path is what a pattern means; `**` stands for any number of directories."""
    if not pattern or not names:
        return not pattern and not names
    if pattern[0] == "**" and _matches(names, pattern[1:]):
        return True
    rest = pattern if pattern[0] == "**" else pattern[1:]
    return fnmatchcase(names[0], pattern[0]) and _matches(names[1:], rest)


def above(folder: str) -> list[str]:
    """Return the directories from the root, which is empty, to this one."""
    names = folder.split("/") if folder else []
    return ["/".join(names[:length]) for length in range(len(names) + 1)]


# -- what build files say they run: the recipes of a Makefile, the scripts of a package.json -----


_RULE = lazy_pattern(r"([^\s:=#][^:=#]*?)\s*::?(?!=)\s*([^=\n]*)")
_JUST_RULE = lazy_pattern(r"@?([\w-]+)(?:\s[^\n]*?)?:(?!=)\s*([^\n]*)")
_VARIABLE = lazy_pattern(r"(?:export\s+|override\s+)*([\w.-]+)\s*(:{0,3}|\?|\+)=\s*(.*)")
_REFERENCE = lazy_pattern(r"\$(?:\(([\w.-]+)\)|\{([\w.-]+)\})")
_INCLUDE = lazy_pattern(r"^[ ]*(?:-include|sinclude|include|import\??)[ \t]+(.+)$", re.MULTILINE)
_WILDCARD = lazy_pattern(r"\$[({]wildcard\s+([^(){}$]*)[)}]")
_WORD = lazy_pattern(r"(?:\$\([^()]*\)|\$\{[^{}]*\}|\S)+")
_CONTINUED = lazy_pattern(r"\\\n[ \t]*")
_EXPANSIONS = 5


class RecipeLine(NamedTuple):
    """One command of a recipe."""

    target: str
    text: str
    may_fail: bool
    """Whether make goes on where it fails."""


class MakeRule(NamedTuple):
    """How one target is made."""

    needs: tuple[str, ...]
    lines: tuple[RecipeLine, ...]


class Recipes(NamedTuple):
    """What a Makefile or justfile says."""

    by_target: dict[str, MakeRule]
    default: str | None
    includes: tuple[str, ...]
    """Paths and patterns; with a `$` where only make knows what is meant."""


def read_recipes(text: str, *, just: bool = False) -> Recipes:
    """Read the rules that are written plainly; what needs a real make is left out."""
    given: dict[str, list[str]] = {}
    variables = {"MAKE": "make"}
    found: dict[str, tuple[list[str], list[str]]] = {}
    default: str | None = None
    current: list[str] = []
    for line in _CONTINUED.sub(" ", text).split("\n"):
        if current and line[:1] and line[0] in ("\t " if just else "\t"):
            for target in current:
                found[target][1].append(line.strip())
        elif variable := _VARIABLE.fullmatch(line.strip()):
            variables[variable[1]] = variable[3].strip("'\" ") if just else variable[3]
            # Twice, or only where nothing else says it: who knows what it is in the end.
            value = variable[3].partition("#")[0].strip()
            plain = variable[2] not in {"?", "+"} and variable[1] not in given
            given[variable[1]] = [value] if plain else []
        elif line[:1] not in {"", " ", "\t", "#"}:
            rule = (_JUST_RULE if just else _RULE).match(line)
            current = _expanded(rule[1], variables).split() if rule else []
            needs, _, command = (rule[2] if rule else "").partition(";")
            for target in current:
                known = found.setdefault(target, ([], []))
                known[0].extend(needs.split())
                known[1].extend([command.strip()] if command else [])
                default = default or (target if target[0] != "." or "/" in target else None)
    by_target = {
        target: MakeRule(
            tuple(_expanded(" ".join(needs), variables).replace("|", " ").split()),
            tuple(_line(target, _expanded(command, variables)) for command in commands),
        )
        for target, (needs, commands) in found.items()
    }
    surely = {name: value for name, values in given.items() for value in values}
    return Recipes(
        by_target, variables.get(".DEFAULT_GOAL", default), tuple(_includes(text, surely))
    )


def _includes(text: str, variables: dict[str, str]) -> dict[str, None]:
    lines = _INCLUDE.findall(_CONTINUED.sub(" ", text))
    found = (_WILDCARD.sub(r"\1", _expanded(line.partition("#")[0], variables)) for line in lines)
    return dict.fromkeys(word for line in found for word in _WORD.findall(line))


def needed(recipes: Recipes, targets: Sequence[str]) -> tuple[list[RecipeLine], list[str]]:
    """Return the lines that making the targets runs, and the files that they need."""
    waiting = list(targets) or ([recipes.default] if recipes.default else [])
    seen: set[str] = set()
    lines: list[RecipeLine] = []
    files: list[str] = []
    while waiting:
        target = waiting.pop(0)
        if target in seen:
            continue
        seen.add(target)
        if target in recipes.by_target:
            recipe = recipes.by_target[target]
            lines += recipe.lines
            waiting += recipe.needs
        else:
            files.append(target)
    return lines, files


def package_commands(data: bytes, script: str) -> list[str]:
    """Return the commands that `npm run SCRIPT` runs."""
    try:
        package = json.loads(data)
    except (ValueError, RecursionError):
        return []
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return []
    found = [scripts.get(name) for name in (f"pre{script}", script, f"post{script}")]
    return [command for command in found if isinstance(command, str)]


def _line(target: str, command: str) -> RecipeLine:
    text = command.lstrip("@-+ ")
    return RecipeLine(
        target, text.replace("$$", "$"), may_fail="-" in command[: len(command) - len(text)]
    )


def _expanded(text: str, variables: dict[str, str]) -> str:
    for _ in range(_EXPANSIONS):
        if "$" not in text or len(text) > 10_000:
            break
        text = _REFERENCE.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)
    return text
