"""The programs that a command needs on PATH."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from planbound.plan.command.tree import Call, ToolReference, Word
from planbound.plan.command.word import words
from planbound.plan.command.wrapper import provides
from planbound.source.pattern import lazy_pattern

BUILTINS = words("""
    ! . : [ [[ ]] (( alias bg bind break builtin caller case cd command compgen complete compopt
    continue coproc declare dirs disown do done echo elif else enable esac eval exec exit export
    false fc fg fi for function getopts hash help history if in jobs kill let local logout mapfile
    popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test
    then time times trap true type typeset ulimit umask unalias unset until wait while { }
    """)
"""What `compgen -b -k` of bash prints."""

_PROGRAM = lazy_pattern(r"[^\s/=\x00-\x20\x7f-\x9f\ud800-\udfff]+")
_LOOKUPS = frozenset({"which", "type", "hash", "whence", "command"})
_INSTALLS = frozenset({"install", "add", "get", "i"})
_INSTALLERS = words("""
    apt apt-get apk dnf yum pacman zypper brew port pip pip3 pipx uv npm pnpm yarn bun cargo go gem
    conda mamba snap nix-env choco
    """)

_LOOKS = _LOOKUPS | _INSTALLERS


def find_tools(calls: Iterable[Call], functions: frozenset[str]) -> tuple[ToolReference, ...]:
    """Return every program that must be on PATH, each once, where it is first named.

    Where the script changes PATH, what comes behind it is not known.
    """
    found: dict[str, ToolReference] = {}
    excused: set[str] = set()
    for call in calls:
        if call.name in _LOOKS:
            excused.update(_looked_for(call))
        if call.assignments and any(each.name == "PATH" for each in call.assignments):
            if call.word is None:
                break
            continue
        programs = _programs(call) if call.wrappers else (call.word,) if call.word else ()
        for word in programs:
            name = word.value
            if name and name not in BUILTINS and name not in found and _PROGRAM.fullmatch(name):
                found[name] = ToolReference(name=name, start=word.start, end=word.end)
        if call.name in {"source", "."} or (call.name == "export" and _sets_path(call)):
            break
    if excused or functions:
        return tuple(
            tool
            for tool in found.values()
            if tool.name not in excused and tool.name not in functions
        )
    return tuple(found.values())


def _programs(call: Call) -> Iterator[Word]:
    """Yield the words of a call that name programs."""
    for wrapper in call.wrappers:
        yield wrapper
        if provides(wrapper.value or ""):
            return
    if call.word is not None and not call.provided:
        yield call.word


def _looked_for(call: Call) -> Iterator[str]:
    """Yield the programs that the script looks for or installs itself."""
    values = call.values()
    if call.name not in _INSTALLERS:
        yield from values
    elif not _INSTALLS.isdisjoint(values):
        for value in values:
            yield re.split(r"[=<>@\[]", value.rsplit("/", 1)[-1], maxsplit=1)[0]


def _sets_path(call: Call) -> bool:
    return any(word.text.startswith("PATH=") for word in call.arguments)
