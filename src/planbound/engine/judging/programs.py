"""The programs whose version a verdict depends on: interpreters, test runners, what builds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.engine.judging.finder import Finder
from planbound.engine.judging.listing import Listing
from planbound.plan.command import Call, Script
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_KNOWN = words("""
    bun bundle cargo clang cmake composer coverage ctest deno dotnet elixir eslint flake8 gcc go
    gradle hatch java javac jest julia mix mocha mvn mypy node nox npm npx pdm perl php phpunit pip
    pipenv pnpm poetry pyright py.test pypy pytest python rake rspec ruby ruff rustc swift tox tsc
    uv uvx vitest yarn
    """)
_READS = words("bash bun dash gmake just make npm pnpm sh source yarn zsh .")
_ARGUMENTS = {"go": "version", "java": "-version"}
_PYTHON = lazy_pattern(r"(?:python|pypy)[\d.]*")
_VERSION = lazy_pattern(r"\d+(?:\.\d+)+[\w.+-]*")
_LONGEST = 60


class Wanted(NamedTuple):
    """A program that contracts call."""

    word: str
    """As it is called."""
    module_of: str | None = None
    """The interpreter that runs it by `-m`."""


class Tool(NamedTuple):
    """A program that contracts will use."""

    name: str
    version: str
    """Empty where it does not say."""
    path: str
    """Where it is, as seen from the workspace; or how it is run."""

    @property
    def said(self) -> str:
        """Return what an approval is bound to."""
        return f"{self.version} {self.path}".strip()

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.name} {self.version} ({self.path})".replace("  ", " ")


def called_programs(
    contracts: Iterable[Script], tree: Sequence[str], read: Callable[[str], bytes | None]
) -> tuple[Wanted, ...]:
    """Return the programs that contracts call, also in recipes and scripts that they run."""
    finder = Finder(Listing(tree), read)
    for script in contracts:
        finder.script(script)
    wanted = dict.fromkeys(item for call in finder.calls for item in _of_call(call))
    return tuple(sorted(wanted, key=lambda item: (item.module_of is not None, item)))


def needed_programs(contracts: Iterable[Script]) -> tuple[Wanted, ...]:
    """Return those without which a contract cannot start: what it calls itself, in any case."""
    found: dict[Wanted, None] = {}
    for script in contracts:
        for call in script.calls:
            if call.optional or call.name in script.functions:
                continue
            # What a wrapper runs, it finds by itself.
            wanted = list(_of_call(call))
            for first in wanted[:1]:
                if first.word.startswith("/"):
                    continue  # also what the contract makes in a folder of its own
                found[first] = None
                found |= dict.fromkeys(
                    each for each in wanted if each == Wanted("pytest", first.word)
                )
    return tuple(found)


def runs_files(script: Script) -> bool:
    """Say whether what a contract calls is also written in files: recipes, scripts."""
    return any(
        call.program in _READS or "/" in (call.name or "/") or call.program.endswith(".sh")
        for call in script.calls
    )


def _of_call(call: Call) -> Iterator[Wanted]:
    named = [word.value for word in (*call.wrappers, call.word) if word is not None and word.value]
    for before, name in zip([None, *named], named, strict=False):
        if not _is_known(name):
            continue
        if before is not None and _PYTHON.fullmatch(_base(before)) and "/" not in name:
            yield Wanted(name, module_of=before)
        else:
            yield Wanted(name)


def _is_known(name: str) -> bool:
    base = _base(name)
    return base in _KNOWN or _PYTHON.fullmatch(base) is not None


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def version_words(wanted: Wanted) -> tuple[str, ...]:
    """Return the command that says the version of a program."""
    if wanted.module_of is not None:
        name = {"py.test": "pytest"}.get(wanted.word, wanted.word)
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        # Isolated: what lies in the workspace is no module of it.
        return (wanted.module_of, "-I", "-c", code)
    return (wanted.word, _ARGUMENTS.get(_base(wanted.word), "--version"))


def read_version(output: str) -> str:
    """Return the version in what a program said about itself."""
    if found := _VERSION.search(output):
        return found[0][:_LONGEST]
    return ""
