"""See that programs which judge come to their own end, though they take in code of the product.

Such a program is run once more with a failure where it ends. A contract that passes all the same
never came there: what was taken in ended it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.cell import Laid, Request
from planbound.judging.corroborate import not_seen_to_fail, with_added
from planbound.judging.shell_state import ShellState, changes, look, read_state
from planbound.judging.untried import HARMLESS
from planbound.judging.verdict import CanaryRun
from planbound.plan.model import ExitCodeIs
from planbound.script import Call, Script
from planbound.script.runners.runner import Canary, Variable, joined
from planbound.script.tree import (
    Background,
    Branches,
    Chain,
    Function,
    Loop,
    Pipeline,
    Statement,
    StatementList,
    Subshell,
    words,
)
from planbound.script.wrapper import SHELLS
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.watched import WalkedContract

_TAKES_IN = frozenset({".", "source", "eval"})
_LEAVES = frozenset({"exit", "exec"})
_KNOWN = HARMLESS | _TAKES_IN | SHELLS | words("python node git make jq curl tar find npm docker")
_MOST = 30
"""So often a shell is looked at while it goes on."""
_SCRIPTS = ("js", "cjs", "mjs")
_TAILS = {
    # When nothing is left to do: code that waits for something is over only then.
    **dict.fromkeys(_SCRIPTS, ';process.once("beforeExit", () => process.exit(97));\n'),
    "rb": "exit 97\n",
    "pl": "exit 97;\n",
    "lua": "os.exit(97)\n",
}
_LEAVES_WORD = lazy_pattern(r"\b(?:exit|quit|abort|kill|reallyExit|__END__|__DATA__|Deno)\b")
"""A program with such a word may end elsewhere than at its end."""


_WAITS = lazy_pattern(r"\b(?:await|async|Promise)\b|\.(?:then|on|once)\(")
"""Code that waits: where it waits for ever, node ends well, and what comes after is not run."""
_LAST_CALL = lazy_pattern(
    r"(?m)^(;?)([A-Za-z_$][\w$]*\(\)|\(async\b[^\n]*(?:\n(?:[ \t}][^\n]*)?)*?\)\(\))"
    r"(?=(?:\s*\.catch\([^\n]*(?:\n[ \t}][^\n]*)*)?;?\s*\Z)"
)
"""The last statement: `main();`, or a function that is called where it stands."""
_AT_TOP = lazy_pattern(r"(?m)^(?!async\b)\S.*\bawait\b.*$")
"""A module that waits for ever there ends with a code of its own."""
_KEPT = r"\1globalThis.{name} = \2"
_AFTER = ";Promise.resolve(globalThis.{name}).then(() => process.exit(97), () => {{}});\n"


class ShellEnd(NamedTuple):
    """What became of the shells that take in code of the product."""

    canary: CanaryRun
    why: str = ""
    """What was seen, where that code changed or ended its shell."""
    unseen: str = ""
    """Why nobody knows of some shell whether it came to its own end."""


def shell_end(walked: WalkedContract) -> ShellEnd:
    """Return whether shells come to their own end, being what they were."""
    contract = walked.contract
    ran, unseen = CanaryRun.NONE, ""
    for number, script in enumerate(walked.scripts):
        if not takes_in(walked, script):
            continue
        name = _name(walked, script)
        at, is_sure = _end_of(script)
        looks = _Looks(script, walked.project.called("shell"), at)
        request = _continued(walked, script, looks, is_contract=number == 0)
        if request is None or not is_sure:
            unseen = unseen or not_seen_to_fail(name)
        unseen = unseen or _kept_result(script)
        if request is None:
            continue
        ran = CanaryRun.OVER
        outcome = contract.judging.cell.run(request)
        if why := next(looks.seen(outcome.collected), ""):
            return ShellEnd(CanaryRun.CUT, f"what `{name}` takes in changed its shell: {why}")
        if contract.passes(outcome):
            return ShellEnd(CanaryRun.CUT, "what the contract takes in ended its shell")
        if not looks.is_whole(outcome.collected):
            unseen = unseen or f"nobody saw what became of the shell of `{name}`"
    return ShellEnd(ran, unseen=unseen)


class _Looks:
    """The places of a script at which its shell is looked at."""

    def __init__(self, script: Script, name: str, at: int) -> None:
        self.script = script
        self.folder = f".{name}"
        self.variable = name.upper()
        self.at = at
        self.taken = [each for each in map(self._around, _taken(script)) if each is not None]
        last = max((end for _start, end in self.taken), default=at)
        ends = {
            item.end
            for call in _called(script)
            for item in script.block.items
            if item.start <= call.start < item.end and not isinstance(item, Background)
        }
        # Looking takes the status of the last command away, and at the end it is done anyway.
        is_told = "$?" in script.text or "<<" in script.text
        self.called = [] if is_told else sorted(end for end in ends if last < end < at)[:_MOST]

    def _around(self, call: Call) -> tuple[int, int] | None:
        """Return where the statement begins and ends in which a call stands."""
        found = [
            (item.start, item.end)
            for block in _blocks(self.script.block)
            for item in block.items
            if item.start <= call.start < item.end and not isinstance(item, Background)
        ]
        start, end = min(found, key=lambda each: each[1] - each[0], default=(0, 0))
        # A here-document ends behind its statement.
        return (start, end) if end and "<<" not in self.script.text[start:end] else None

    def changed(self, text: str, tail: str) -> str:
        """Return the script with looks at its shell, and a failure at its end."""
        called = {call.program for call in self.script.calls} | self.script.functions
        added: list[tuple[int, int, str]] = []
        for number, (start, end) in enumerate(self.taken):
            before, after = (look(called, f"{self.variable}{number}{each}") for each in "ba")
            added += [(start, 1, f"{before}; "), (end, 0, f"; {after}")]
        for number, end in enumerate(self.called):
            added.append((end, 0, f"; {look(called, f'{self.variable}{number}c')}"))
        last = look(called, f"{self.variable}e")
        added.append((self.at, 2, f"\n{last}\n{tail}"))
        for at, _order, inserted in sorted(added, reverse=True):
            text = f"{text[:at]}{inserted}{text[at:]}"
        return text

    @property
    def names(self) -> list[str]:
        pairs = (f"{number}{each}" for number in range(len(self.taken)) for each in "ba")
        return [*pairs, *self._later]

    def added(self) -> Canary:
        """Return the folder for what is written down, and the variables that name its files."""
        variables = (
            Variable(f"{self.variable}{name}", f"{{workspace}}/{self.folder}/{name}")
            for name in self.names
        )
        return Canary(((f"{self.folder}/here", b""),), (), tuple(variables))

    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.folder}/{name}" for name in self.names)

    @property
    def _later(self) -> list[str]:
        return [*(f"{number}c" for number in range(len(self.called))), "e"]

    def _state(self, collected: Mapping[str, bytes], name: str) -> ShellState | None:
        return read_state(collected.get(f"{self.folder}/{name}", b""))

    def seen(self, collected: Mapping[str, bytes]) -> Iterator[str]:
        """Yield what of its shell was changed by what a script takes in."""
        for number, (start, _end) in enumerate(self.taken):
            before = self._state(collected, f"{number}b")
            for name in (f"{number}a", *self._later):
                after = self._state(collected, name)
                if before is not None and after is not None:
                    since = start if name[-1] == "a" else None
                    yield from changes(before, after, self.script, since)
                elif before is not None and f"{self.folder}/{name}" in collected:
                    yield "it no longer says what it is like"

    def is_whole(self, collected: Mapping[str, bytes]) -> bool:
        """Say whether the shell was looked at wherever it took something in."""
        found = {name for name in self.names if f"{self.folder}/{name}" in collected}
        # What stands in a branch need not be met.
        begun = [number for number in range(len(self.taken)) if f"{number}b" in found]
        return all(f"{number}a" in found for number in begun) and (not begun or "e" in found)


def _called(script: Script) -> Iterator[Call]:
    """Yield the calls that may be functions of the product, run in the shell itself."""
    for call in script.calls:
        is_known = call.program in _KNOWN or call.program in script.functions
        if call.word is not None and not call.nested and not is_known:
            yield call


def _kept_result(script: Script) -> str:
    """Return why a result that a script keeps in a variable says little; empty: it does not."""
    keeps = any(
        call.program == "exit" and call.arguments and call.arguments[0].value is None
        for call in script.calls
    )
    if not keeps:
        return ""
    called = next((call.name for call in _called(script) if "/" not in (call.name or "")), "")
    if called == "":
        return ""
    return f"`{called or 'what a variable holds'}` is run in the shell that keeps the result"


def _blocks(item: Statement) -> Iterator[StatementList]:
    match item:
        case StatementList():
            yield item
            for each in item.items:
                yield from _blocks(each)
        case Chain() | Pipeline():
            for each in item.items:
                yield from _blocks(each)
        case Subshell() | Loop() | Function():
            yield from _blocks(item.body)
        case Branches():
            for each in item.bodies:
                yield from _blocks(each)
        case _:
            pass


# -- programs in other languages -----------------------------------------------------------------


def other_ends(walked: WalkedContract) -> Iterator[tuple[str, bool]]:
    """Yield the programs of other languages, and whether a failure at their end arrives."""
    contract = walked.contract
    for path in walked.foreign_mains:
        if not _has_tail(walked, path):
            continue
        text = (walked.project.read(path) or b"").decode("utf-8", "surrogateescape")
        entry = contract.manifest.entry(path)
        content = _with_tail(path, text).encode("utf-8", "surrogateescape")
        laid = Laid(path, content, entry.mode if entry else 0o755)
        kept = [item for item in contract.request.lay if item.path != path]
        request = contract.request._replace(lay=(*kept, laid))
        yield path, not contract.passes(contract.judging.cell.run(request))


def is_continued(walked: WalkedContract, path: str) -> bool:
    """Say whether it is seen that a program came to its end: all of it was run by then."""
    if _ending(path) not in _SCRIPTS:
        # Code under test can change what `die` and `==` mean there, and nobody tries other values.
        return False
    text = (walked.project.read(path) or b"").decode("utf-8", "replace")
    is_told = not _waits(path, text) or _LAST_CALL.search(text) is not None
    return is_told and _has_tail(walked, path)


def _has_tail(walked: WalkedContract, path: str) -> bool:
    """Say whether a program can be continued: it is known how, and it does not end by itself."""
    text = (walked.project.read(path) or b"").decode("utf-8", "replace")
    return _ending(path) in _TAILS and bool(text.strip()) and _LEAVES_WORD.search(text) is None


def _waits(path: str, text: str) -> bool:
    if path.endswith(".mjs"):
        text = _AT_TOP.sub("", text)
    return _ending(path) in _SCRIPTS and _WAITS.search(text) is not None


def _with_tail(path: str, text: str) -> str:
    """Return a program that fails where it ends: what its last call promises is over by then."""
    if not _waits(path, text) or _LAST_CALL.search(text) is None:
        return f"{text}\n{_TAILS[_ending(path)]}"
    name = f"kept{os.urandom(6).hex()}"
    kept = _LAST_CALL.sub(_KEPT.format(name=name), text)
    return f"{kept}\n{_AFTER.format(name=name)}"


def _ending(path: str) -> str:
    return path.rpartition(".")[2]


# -- shells --------------------------------------------------------------------------------------


def taking_in(walked: WalkedContract) -> bool:
    """Say whether a shell of a contract takes code of the product into itself."""
    return any(takes_in(walked, script) for script in walked.scripts)


def unsure_end(walked: WalkedContract) -> str:
    """Return why nobody can say of some script that it comes to its end; empty: all do."""
    for script in walked.scripts:
        if not takes_in(walked, script):
            continue
        if not _end_of(script)[1]:
            return not_seen_to_fail(_name(walked, script))
        if why := _kept_result(script):
            return why
    return ""


def takes_in(walked: WalkedContract, script: Script) -> bool:
    """Say whether a script takes code of the product into its own shell."""
    return not script.broken and any(_is_foreign(walked, call) for call in _taken(script))


def _taken(script: Script) -> Iterator[Call]:
    return (call for call in script.calls if call.program in _TAKES_IN and not call.nested)


def _is_foreign(walked: WalkedContract, call: Call) -> bool:
    """Say whether something else than a judge is taken in."""
    name = next(iter(call.values()), "")
    if call.program == "eval" or not name:
        return True
    path = joined(call.directory or "", name.removeprefix("./"))
    return call.directory is None or not (path in walked.judges and path in walked.project.paths)


def _end_of(script: Script) -> tuple[int, bool]:
    """Return where a script ends, and whether it surely comes there when all is well.

    Where it may leave before, it is the place behind the last code that it takes in.
    """
    items = script.block.items
    last = items[-1] if items else None
    functions = [item for item in items if isinstance(item, Function)]
    leaving = last if isinstance(last, Call) and last.program in _LEAVES else None
    is_sure = not any(
        _may_leave(call, functions)
        for call in script.calls
        if not call.nested and (leaving is None or call.start != leaving.start)
    )
    if is_sure:
        return (leaving.start if leaving is not None else len(script.text)), True
    behind = max(call.end for call in _taken(script))
    ends = (item.end for item in items if item.end >= behind)
    return min(ends, default=len(script.text)), False


def _may_leave(call: Call, functions: list[Function]) -> bool:
    """Say whether a call may end a script although nothing is wrong."""
    values = call.values()
    match call.program:
        case "exit":
            return not (values and values[0].isdigit() and int(values[0]))
        case "exec":
            return bool(call.arguments)
        case "return":
            return not any(item.start <= call.start < item.end for item in functions)
        case "trap":
            return any("exit" in (word.value or word.text) for word in call.arguments[:1])
        case _:
            return False


def _name(walked: WalkedContract, script: Script) -> str:
    return next((path for path in walked.files if _holds(walked, path, script)), "the contract")


def _holds(walked: WalkedContract, path: str, script: Script) -> bool:
    content = walked.project.read(path)
    return content is not None and script.text in content.decode("utf-8", "replace")


def _continued(
    walked: WalkedContract, script: Script, looks: _Looks, *, is_contract: bool
) -> Request | None:
    """Return a run in which a script ends with a failure, and its shell is looked at."""
    request = with_added(walked.contract.request, looks.added())._replace(collect=looks.paths())
    tail = _tail(walked, script)
    if is_contract:
        *start, text = request.command
        if text != walked.contract.command.text or script.text != text:
            return None
        return request._replace(command=(*start, looks.changed(text, tail)))
    for path in walked.files:
        if not _holds(walked, path, script):
            continue
        whole = (walked.project.read(path) or b"").decode("utf-8", "replace")
        entry = walked.contract.manifest.entry(path)
        changed = whole.replace(script.text, looks.changed(script.text, tail), 1).encode()
        laid = Laid(path, changed, entry.mode if entry else 0o755)
        kept = [item for item in request.lay if item.path != path]
        return request._replace(lay=(*kept, laid))
    return None


def _tail(walked: WalkedContract, script: Script) -> str:
    """Return a failure as the script's own is: by its code, and by `-e` where that is set."""
    codes = {item.code for item in walked.contract.expectations if isinstance(item, ExitCodeIs)}
    given = [call.values()[:1] for call in script.calls if call.program == "exit"]
    own = [int(each[0]) for each in given if each and each[0].isdigit()]
    code = next((each for each in (*own, 1) if each and each not in codes), 97)
    return f"\n(exit {code})\nexit {code}\n"
