"""Whether a command line calls only programs that a role may call.

A rail, and no wall: what an allowed program starts by itself is not seen here. What confines an
agent is its cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from planbound.plan.command import Call, read_script
from planbound.plan.command.wrapper import SHELLS, provides

_HARMLESS = frozenset(
    ": [ [[ (( break builtin cd command continue declare dirs echo exec exit export false getopts"
    " let local popd printf pushd pwd read readonly return set shift test time times true type"
    " typeset ulimit umask unset wait".split()
)
"""What the shell does itself without running anything; what is behind `exec` is a call, too."""
_READ = frozenset(
    f"{folder}{shell}" for folder in ("", "/bin/", "/usr/bin/") for shell in SHELLS
) | {"eval"}
"""What only runs a script: where that can be read, its calls count instead."""


def command_objection(text: str, allowed: Collection[str]) -> str | None:
    """Return why a command line is refused; None where it calls only what is allowed."""
    script = read_script(text)
    if script.broken:
        return "it cannot be read as a command line, so that nobody knows which programs it calls"
    known = {*allowed, *script.functions}
    for call in script.calls:
        if _changes_path(call):
            return "it changes `PATH`, so that nobody knows which programs it calls"
        for name in _programs(call):
            if name is None:
                return "it names a program by what the shell puts in, which nobody can know before"
            if name not in known and name not in _HARMLESS:
                listed = ", ".join(f"`{each}`" for each in allowed) or "none"
                return f"`{name}` is not among the programs that may be called: {listed}"
    return None


def _programs(call: Call) -> Iterator[str | None]:
    """Yield what a call starts, as it is written; None where that cannot be said."""
    for wrapper in call.wrappers:
        yield wrapper.value
        if provides(wrapper.value or ""):
            return  # what it brings along is its own
    if call.word is not None and not (call.name in _READ and call.body is not None):
        yield call.name


def _changes_path(call: Call) -> bool:
    named = any(each.name == "PATH" for each in call.assignments)
    return named or any(word.text.startswith("PATH=") for word in call.arguments)
