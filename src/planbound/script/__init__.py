"""What a shell command calls, reads, can fail at."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.machinery import ExtensionFileLoader, PathFinder
from typing import TYPE_CHECKING

from planbound.script.call import Inside, Notes
from planbound.script.program import find_files
from planbound.script.statement import StatementReader
from planbound.script.tree import (
    Call,
    FileReference,
    FileUse,
    Redirect,
    Script,
    ShellAssignment,
    ToolReference,
    Word,
)
from planbound.script.wrapper import SHELLS, find_tools

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


__all__ = [
    "Call",
    "FileReference",
    "FileUse",
    "Redirect",
    "Script",
    "ShellAssignment",
    "ToolReference",
    "Word",
    "read_script",
]

_OPTION_SETTERS = SHELLS | {"set"}


@lru_cache(maxsize=256)
def read_script(text: str) -> Script:
    """Read a command. Never raises: what cannot be read makes the script `broken`."""
    notes = Notes(parse=_parse)
    block = StatementReader(text, notes, depth=0).read(Inside())
    if len(notes.calls) > 1:
        notes.calls.sort(key=_start)
    calls = tuple(notes.calls)
    functions = frozenset(notes.functions)
    return Script(
        text=text,
        block=block,
        calls=calls,
        functions=functions,
        heredocs=tuple(notes.heredocs),
        files=() if notes.broken else find_files(calls, notes.redirects, functions),
        tools=() if notes.broken else find_tools(calls, functions),
        pipefail="pipefail" in text
        and any(call.name in _OPTION_SETTERS and _sets_pipefail(call) for call in calls),
        broken=notes.broken,
    )


def _parse(data: bytes) -> Node:
    return _parser().parse(data).root_node


@cache
def _parser() -> Parser:
    # Not at the top: it would be most of the time that importing this module takes.
    from tree_sitter import Language, Parser  # noqa: PLC0415 - see above

    return Parser(Language(_grammar()))


def _grammar() -> object:
    """Return the compiled grammar without the rest of its package.

    The package itself imports `importlib.resources`, for files that we do not use: 10 ms of every
    start. Its one extension module is found and loaded by hand; where that fails, as usual.
    """
    package = PathFinder.find_spec("tree_sitter_bash")
    places = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec("tree_sitter_bash._binding", places) if places else None
    if spec is None or not isinstance(spec.loader, ExtensionFileLoader):
        import tree_sitter_bash  # noqa: PLC0415 - as a last resort

        return tree_sitter_bash.language()
    module = spec.loader.create_module(spec)
    spec.loader.exec_module(module)
    return module.language()


def _start(call: Call) -> int:
    return call.start


def _sets_pipefail(call: Call) -> bool:
    values = call.values()
    return "pipefail" in values and not any(value.startswith("+") for value in values)
