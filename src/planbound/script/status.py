"""What decides the exit code of a script, and whether it can be anything but 0.

Contracts run under `bash -e`: a command that fails ends the script, unless it stands in a
condition, behind `!`, or before `&&` or `||`. A pipeline has the exit code of its last command,
unless the script says `set -o pipefail`.
"""

import enum
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from planbound.script.tree import (
    Background,
    Branches,
    Call,
    Chain,
    Function,
    Loop,
    LoopKind,
    Pipeline,
    Script,
    Statement,
    StatementList,
    Subshell,
    Unread,
    words,
)
from planbound.source import lazy_pattern

ALWAYS_SUCCEED = words(
    "true : echo printf pwd date set export declare local readonly typeset unset alias trap umask "
    "sleep shopt whoami hostname uname clear shift id break continue"
)
_FILTERS = words(
    "tee cat head tail sort uniq wc tr sed cut nl less more column fold rev tac paste fmt expand "
    "awk gawk mawk pr ts"
)
_SHOWS = _FILTERS | ALWAYS_SUCCEED | words("ls git grep find ps env df du tree stat file jq")
_CLEANS = words(
    "rm rmdir kill pkill killall docker docker-compose umount popd deactivate wait mv cp"
)
_FILTER_FAILS = lazy_pattern(r"\bexit\b|[qQ]\s*[1-9]")
_TESTS = frozenset({"test", "[", "[["})
_WORTH_A_LOOK = ALWAYS_SUCCEED | _TESTS | words("exit return wait")
_COMPARES = words("= == != < > -eq -ne -lt -le -gt -ge =~")


class Reason(enum.Enum):
    """Why a script cannot fail."""

    EMPTY = "empty"
    NOTHING = "nothing"
    """It ends with `true`, `:` or `exit 0`."""
    FALLBACK = "fallback"
    """It ends with `|| true` or `|| echo ...`."""
    PIPE = "pipe"
    """It ends with a pipe into a command that always succeeds."""
    BRANCHES = "branches"
    """It ends with an `if` or `case` whose branches all succeed."""
    BACKGROUND = "background"
    CONSTANT = "constant"
    """It ends with a comparison of constants."""
    PRINTS = "prints"
    """All that it does always succeeds."""


# `pytest && exit 0` fails where pytest does.
_HARMLESS_BEHIND_AND = frozenset(
    {Reason.NOTHING, Reason.BRANCHES, Reason.CONSTANT, Reason.BACKGROUND}
)


class Unfailing(Struct, frozen=True):
    """Why a script cannot fail, and where that is written."""

    reason: Reason
    start: int
    end: int


class _Ends(NamedTuple):
    """How a statement may end."""

    fails: bool
    """Its exit code may be other than 0."""
    aborts: bool
    """It may end the script with such a code."""


_SUCCEEDS = _Ends(fails=False, aborts=False)
_OPEN = _Ends(fails=True, aborts=True)


def why_unfailing(script: Script) -> Unfailing | None:
    """Return why a script cannot fail; None where it can."""
    if script.broken:
        return None
    if not script.calls:
        return Unfailing(reason=Reason.EMPTY, start=0, end=len(script.text))
    if len(script.calls) == 1 and script.block.items == script.calls:
        only = script.calls[0]
        if only.program and only.program not in _WORTH_A_LOOK:
            return None
    return _Judge(script).why()


def deciding_calls(script: Script) -> list[Call]:
    """Return the calls whose exit codes decide the script's."""
    return list(_deciding(script.block, pipefail=script.pipefail))


def _deciding(statement: Statement, *, pipefail: bool) -> Iterator[Call]:
    items: Sequence[Statement] = ()
    match statement:
        case Call(body=None):
            yield statement
        case Call(body=StatementList() as body) | Subshell(body=body) | Loop(body=body):
            items = (body,)
        case Pipeline(negated=False):
            items = statement.items if pipefail else statement.items[-1:]
        case Branches():
            items = statement.bodies
        case StatementList() | Chain():
            items = statement.items
        case _:
            pass
    for item in items:
        yield from _deciding(item, pipefail=pipefail)


class _Judge:
    """Looks for a way to fail."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.functions: dict[str, Function] = {}
        self.called: dict[tuple[str, bool], _Ends] = {}
        """By function and `-e`: how it ends; open while it is being looked at."""
        self.depth = 0
        self.explicit = any(
            call.name == "set" and not call.nested and _errexit(call) for call in script.calls
        )

    def why(self) -> Unfailing | None:
        items, joined = _flat(self.script.block)
        last = items[-1]
        outcome = self._block(self.script.block, errexit=True)
        if not outcome.fails:
            masks = (mask for item in items if (mask := self._mask(item)) and self._checks(item))
            return next(masks, None) or self._mask(last) or _unfailing(Reason.PRINTS, last)
        mask = self._mask(last)
        if mask is None or (joined and mask.reason in _HARMLESS_BEHIND_AND):
            return None
        aborts = any(self._outcome(item, errexit=True).aborts for item in items[:-1])
        if mask.reason is Reason.NOTHING:
            # Whoever writes `set -e` or `exit 1` knows how the script ends before its end.
            knows = aborts and (self.explicit or self._exits())
            return None if knows else mask
        if mask.reason in {Reason.CONSTANT, Reason.BRANCHES}:
            return None if aborts and not _is_complete(last) else mask
        return mask if not aborts or self._checks(last) else None

    def _exits(self) -> bool:
        return any(_leaves(call) for call in self.script.calls if not call.nested)

    def _checks(self, statement: Statement) -> bool:
        """Say whether a statement that cannot fail looks like a check all the same."""
        return any(
            call.program not in _SHOWS and call.program not in _CLEANS
            for call in _calls(statement)
            if call.word is not None
        )

    def _mask(self, statement: Statement) -> Unfailing | None:
        """Return why a statement, taken by itself, cannot fail."""
        if self._outcome(statement, errexit=False).fails:
            return None
        reason: Reason | None = None
        place = statement
        match statement:
            case Call(body=StatementList(items=[_, *_]) as body):
                return self._mask(_flat(body)[0][-1])
            case Call() if statement.program in {"true", ":", "exit"}:
                reason = Reason.NOTHING
            case Call() if statement.program in _TESTS:
                reason = Reason.CONSTANT
            case Chain():
                reason, place = Reason.FALLBACK, statement.items[-1]
            case Pipeline():
                reason, place = Reason.PIPE, statement.items[-1]
            case Branches():
                reason = Reason.BRANCHES
            case Background():
                reason = Reason.BACKGROUND
            case _:
                pass
        return _unfailing(reason, place) if reason else None

    # -- how statements end ------------------------------------------------------------------

    def _outcome(self, statement: Statement, *, errexit: bool) -> _Ends:
        outcome = _SUCCEEDS
        match statement:
            case Call():
                outcome = self._call(statement, errexit=errexit)
            case StatementList():
                outcome = self._block(statement, errexit=errexit)
            case Chain():
                outcome = self._chain(statement, errexit=errexit)
            case Pipeline():
                outcome = self._pipeline(statement, errexit=errexit)
            case Subshell():
                fails = self._block(statement.body, errexit=errexit).fails
                outcome = _Ends(fails, errexit and fails)
            case Branches():
                bodies = [self._block(body, errexit=errexit) for body in statement.bodies]
                aborts = any(
                    self._block(each, errexit=False).aborts for each in statement.conditions
                ) or any(body.aborts for body in bodies)
                outcome = _Ends(aborts or any(body.fails for body in bodies), aborts)
            case Loop():
                outcome = self._loop(statement, errexit=errexit)
            case Function():
                self.functions[statement.name] = statement
            case Background():
                pass
            case Unread():
                outcome = _OPEN
        return outcome

    def _block(self, block: StatementList, *, errexit: bool) -> _Ends:
        aborts = fails = False
        for item in block.items:
            fails, ends = self._outcome(item, errexit=errexit)
            aborts = aborts or ends
            if isinstance(item, Call) and item.name == "set":
                errexit = (errexit or _errexit(item)) and "+e" not in item.values()
        return _Ends(aborts or fails, aborts)

    def _chain(self, chain: Chain, *, errexit: bool) -> _Ends:
        fails, aborts = self._outcome(chain.items[0], errexit=False)
        for index, operator in enumerate(chain.operators, start=1):
            if operator == "||" and not fails:
                continue  # never reached
            last = index == len(chain.operators)
            item = self._outcome(chain.items[index], errexit=errexit and last)
            fails = fails or item.fails if operator == "&&" else fails and item.fails
            aborts = aborts or item.aborts
        return _Ends(fails or aborts, aborts)

    def _pipeline(self, pipeline: Pipeline, *, errexit: bool) -> _Ends:
        if pipeline.negated:
            # `-e` does not look at it; but `! exit 1` ends the script.
            alone = len(pipeline.items) == 1
            return _Ends(
                fails=True,
                aborts=alone and self._outcome(pipeline.items[0], errexit=False).aborts,
            )
        last = pipeline.items[-1]
        if isinstance(last, Call) and _is_filter(last):
            decides = pipeline.items[:-1] if self.script.pipefail else ()
        else:
            decides = pipeline.items if self.script.pipefail else (last,)
        fails = any(self._outcome(item, errexit=True).fails for item in decides)
        return _Ends(fails, errexit and fails)

    def _loop(self, loop: Loop, *, errexit: bool) -> _Ends:
        reads = loop.condition is not None and any(
            call.name == "read" for call in _calls(loop.condition)
        )
        if loop.kind is LoopKind.EACH or reads:
            return self._block(loop.body, errexit=errexit)
        return _OPEN  # what it waits for may never come

    def _function(self, name: str, *, errexit: bool) -> _Ends:
        key = (name, errexit)
        if key not in self.called:
            self.called[key] = _OPEN
            if self.depth < _MAXIMUM_CALLS:
                self.depth += 1
                self.called[key] = self._outcome(self.functions[name].body, errexit=errexit)
                self.depth -= 1
        return self.called[key]

    def _call(self, call: Call, *, errexit: bool) -> _Ends:
        if call.word is None:
            # Assignments have the exit code of their last substitution.
            given = (each.value.text for each in call.assignments if each.value is not None)
            fails = any("$(" in text or "`" in text for text in given)
        elif call.name is None:
            fails = True
        elif call.name in {"exit", "return"}:
            return _OPEN if _leaves(call) else _SUCCEEDS
        elif call.name in self.functions:
            return self._function(call.name, errexit=errexit)
        elif call.name == "wait":
            fails = bool(call.arguments)
        elif call.body is not None:
            strict = call.program != "eval" and any(
                _SETS_ERREXIT.match(value) for value in call.values()
            )
            fails = self._block(call.body, errexit=strict).fails
        elif call.program in _TESTS:
            fails = not _is_constant(call)
        else:
            fails = call.program not in ALWAYS_SUCCEED
        fails = fails or any(redirect.operator == "<" for redirect in call.redirects)
        return _Ends(fails, errexit and fails)


_MAXIMUM_CALLS = 3
"""Of functions in functions; deeper ones may do anything."""
_SETS_ERREXIT = lazy_pattern(r"-[a-z]*e")


def _unfailing(reason: Reason, statement: Statement) -> Unfailing:
    return Unfailing(reason=reason, start=statement.start, end=statement.end)


def _errexit(call: Call) -> bool:
    """Say whether a `set` turns `-e` on."""
    values = call.values()
    return any(_SETS_ERREXIT.match(value) for value in values) or (
        "errexit" in values and "-o" in values
    )


def _flat(block: StatementList) -> tuple[list[Statement], bool]:
    """Return the statements that run one after the other: groups and `&&` are opened.

    Also say whether the last one stands behind `&&`.
    """
    found: list[Statement] = []
    pending: list[Statement] = [block]
    joined = False
    while pending:
        statement = pending.pop()
        joined = joined or (isinstance(statement, Chain) and not pending)
        if isinstance(statement, StatementList) and statement.items:
            pending += reversed(statement.items)
        elif isinstance(statement, Subshell) and statement.body.items:
            pending.append(statement.body)
        elif isinstance(statement, Chain) and "||" not in statement.operators:
            pending += reversed(statement.items)
        else:
            found.append(statement)
    return found, joined


def _calls(statement: Statement) -> Iterator[Call]:
    """Yield the calls of a statement, without those in substitutions."""
    match statement:
        case Call():
            yield statement
            if statement.body is not None:
                yield from _calls(statement.body)
        case StatementList() | Chain() | Pipeline():
            for item in statement.items:
                yield from _calls(item)
        case Branches():
            for body in statement.bodies:
                yield from _calls(body)
        case Subshell() | Loop() | Function():
            yield from _calls(statement.body)
        case Background():
            yield from _calls(statement.item)
        case Unread():
            return


def _leaves(call: Call) -> bool:
    """Say whether a call is an `exit` or `return` with a code that may be other than 0."""
    return call.name in {"exit", "return"} and [word.value for word in call.arguments] != ["0"]


def _is_filter(call: Call) -> bool:
    """Say whether a call at the end of a pipe succeeds whatever comes out of the pipe."""
    if call.program not in _FILTERS:
        return False
    if call.program == "sort":
        return not call.has("-c", "-C", "--check")
    if call.program in {"sed", "awk", "gawk", "mawk"}:
        return not any(_FILTER_FAILS.search(word.text) for word in call.arguments)
    return True


def _is_complete(statement: Statement) -> bool:
    return isinstance(statement, Branches) and statement.complete


def _is_constant(call: Call) -> bool:
    """Say whether a test compares only what is written in it."""
    if any(wrapper.value == "xargs" for wrapper in call.wrappers):
        return False
    values = [word.value for word in call.arguments]
    if call.name == "[" and values and values[-1] == "]":
        values.pop()
    while values and values[0] == "!":
        values.pop(0)
    if not values or None in values:
        return False
    if len(values) == 1:
        return True
    if len(values) == 2:
        return values[0] in {"-n", "-z"}
    return len(values) == 3 and values[1] in _COMPARES
