"""Whether a shell may end before something is reached, and whether it ends with a failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.script import Script
from planbound.script.comparison import is_number
from planbound.script.tree import (
    Background,
    Branches,
    Call,
    Chain,
    Function,
    Loop,
    Pipeline,
    Statement,
    StatementList,
    Subshell,
    Unread,
    words,
)
from planbound.source import lazy_pattern

DEEPEST = 6
_OVERRULES = words("alias unalias enable hash eval . source")
_LEAVES = words("exit return")
_ENDING = lazy_pattern(r"\b(?:exit|exec|return)\b")


class ShellSource(NamedTuple):
    """A text that is run."""

    path: str | None
    script: Script
    base: str = ""
    """Where it is run."""
    is_fixed: bool = False
    """Whether it stands in a build file, and is not changed."""


class ShellFunction(NamedTuple):
    body: Statement
    source: ShellSource


class RunningShell:
    """One shell: what it knows, and whether it goes on in any case."""

    def __init__(
        self,
        *,
        strict: bool,
        looks: list[int],
        functions: dict[str, ShellFunction] | None = None,
    ) -> None:
        self.strict = strict
        """Whether `-e` is set."""
        self.looks = looks
        """How many functions and files are looked into yet, by all shells of a contract."""
        self.functions = functions if functions is not None else {}
        self.is_over = False
        """Whether it may have ended, by what is written in the judges themselves."""

    def child(self) -> RunningShell:
        """Return a shell that is started with what this one knows."""
        return RunningShell(strict=self.strict, looks=self.looks, functions=dict(self.functions))

    def within(self) -> RunningShell:
        """Return the same shell, within a function."""
        return RunningShell(strict=self.strict, looks=self.looks, functions=self.functions)

    def looks_on(self, depth: int) -> bool:
        """Say whether one more function or file is looked into."""
        self.looks[0] -= 1
        return self.looks[0] >= 0 and depth <= DEEPEST


def gives_up(
    item: Statement, shell: RunningShell, *, decides: bool, returns: bool, depth: int = 0
) -> bool:
    """Say whether a statement makes the contract fail, whatever else it does.

    `decides`: the contract fails where the statement does; `returns`: where `return 1` is called.
    """
    if isinstance(item, StatementList) and item.items:
        *front, last = item.items
        leaves = any(may_leave(each, shell) for each in front)
        return not leaves and gives_up(last, shell, decides=decides, returns=returns, depth=depth)
    if not isinstance(item, Call) or not shell.looks_on(depth):
        return False
    if item.name == "exit" or (item.name == "return" and returns):
        return _is_failing(item)
    if item.name == "false":
        return decides
    defined = shell.functions.get(item.name or "")
    return defined is not None and gives_up(
        defined.body, shell, decides=False, returns=False, depth=depth + 1
    )


def may_leave(
    item: Statement, shell: RunningShell, depth: int = 0, *, called: bool = False
) -> bool:
    """Say whether a statement may end the shell, or the function, with success."""
    parts: Sequence[Statement] = ()
    match item:
        case Call():
            return _leaves(item, shell, depth, called=called)
        case StatementList() | Chain():
            parts = item.items
        case Branches():
            parts = (*item.conditions, *item.bodies)
        case Loop():
            parts = (item.body,) if item.condition is None else (item.condition, item.body)
        case Pipeline(items=[only]):
            parts = (only,)
        case Subshell() | Pipeline() | Background():
            pass
        case Function() | Unread():
            return True
    return any(may_leave(part, shell, depth, called=called) for part in parts)


def loosens(item: Statement, source: ShellSource, shell: RunningShell, depth: int = 0) -> bool:
    """Say whether `-e` may be taken back somewhere in a statement."""
    if not shell.looks_on(depth):
        return True
    for call in source.script.calls:
        if not item.start <= call.start < item.end:
            continue
        defined = shell.functions.get(call.name or "")
        if call.name == "set" and not strict_after(call, strict=True):
            return True
        if defined is not None and loosens(defined.body, defined.source, shell, depth + 1):
            return True
    return False


def _leaves(call: Call, shell: RunningShell, depth: int, *, called: bool) -> bool:
    if call.name in _LEAVES:
        # A function that returns goes on where it was called.
        return not _is_failing(call) and not (called and call.name == "return")
    if call.name == "trap":
        return _traps(call, shell, depth)
    if call.name == "set":
        return not strict_after(call, strict=True)
    if call.name in _OVERRULES or any(word.value == "exec" for word in call.wrappers):
        return True
    defined = shell.functions.get(call.name or "")
    if defined is None:
        return False
    return not shell.looks_on(depth) or may_leave(defined.body, shell, depth + 1, called=True)


def _traps(call: Call, shell: RunningShell, depth: int) -> bool:
    """Say whether what a judge does at its end may make a success of a failure."""
    said = call.arguments[0].value if call.arguments else ""
    defined = shell.functions.get(said or "")
    if defined is not None:
        return not shell.looks_on(depth) or may_leave(defined.body, shell, depth + 1)
    # A function that is not known yet is one word.
    return said is None or _ENDING.search(said) is not None or said.isidentifier()


def strict_after(call: Call, *, strict: bool) -> bool:
    """Say whether `-e` is set after a call of `set`."""
    values = call.values()
    for index, value in enumerate(values):
        if value == "--":
            break
        named = "o" in value and values[index + 1 : index + 2] == ["errexit"]
        if value[:1] in {"-", "+"} and ("e" in value or named):
            strict = value[0] == "-"
    return strict


def _is_failing(call: Call) -> bool:
    """Say whether `exit` or `return` is called with a number that is not 0."""
    values = [word.value for word in call.arguments]
    return len(values) == 1 and is_number(values[0]) and int(values[0] or 0) % 256 != 0
