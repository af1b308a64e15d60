"""See that programs which judge come to their own end, though they take in code of the product.

Such a program is run once more with a failure where it ends. A contract that passes all the same
never came there: what was taken in ended it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planbound.cells.cell import Laid, Request
from planbound.judging.corroborate import not_seen_to_fail
from planbound.judging.verdict import CanaryRun
from planbound.script import Call, Script
from planbound.script.runners.runner import joined
from planbound.script.tree import Function
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.watched import WalkedContract

_TAKES_IN = frozenset({".", "source", "eval"})
_LEAVES = frozenset({"exit", "exec"})
_TAIL = "\nexit 97\n"
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


def shell_end(walked: WalkedContract) -> tuple[CanaryRun, str]:
    """Return whether shells come to their own end, and which of them nobody saw there."""
    from planbound.judging.watched import passes  # noqa: PLC0415 - it asks for these runs

    contract = walked.contract
    ran, unseen = CanaryRun.NONE, ""
    for number, script in enumerate(walked.scripts):
        if not _takes_in(walked, script):
            continue
        at, is_sure = _end_of(script)
        request = _continued(walked, script, at, is_contract=number == 0)
        if request is None or not is_sure:
            unseen = unseen or not_seen_to_fail(_name(walked, script))
        if request is None:
            continue
        ran = CanaryRun.OVER
        if passes(contract, contract.judging.cell.run(request)):
            return CanaryRun.CUT, ""
    return ran, unseen


# -- programs in other languages -----------------------------------------------------------------


def other_ends(walked: WalkedContract) -> Iterator[tuple[str, bool]]:
    """Yield the programs of other languages, and whether a failure at their end arrives."""
    from planbound.judging.watched import passes  # noqa: PLC0415 - it asks for these runs

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
        yield path, not passes(contract, contract.judging.cell.run(request))


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
    return any(_takes_in(walked, script) for script in walked.scripts)


def unsure_end(walked: WalkedContract) -> str:
    """Return a script of which nobody can say where it ends; empty: there is none."""
    for script in walked.scripts:
        if _takes_in(walked, script) and not _end_of(script)[1]:
            return _name(walked, script)
    return ""


def _takes_in(walked: WalkedContract, script: Script) -> bool:
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
    walked: WalkedContract, script: Script, at: int, *, is_contract: bool
) -> Request | None:
    """Return a run in which a script ends with a failure at a place of its text."""
    request = walked.contract.request
    if is_contract:
        *start, text = request.command
        if text != walked.contract.command.text or script.text != text:
            return None
        return request._replace(command=(*start, f"{text[:at]}{_TAIL}{text[at:]}"))
    for path in walked.files:
        if not _holds(walked, path, script):
            continue
        whole = (walked.project.read(path) or b"").decode("utf-8", "replace")
        place = whole.index(script.text) + at
        entry = walked.contract.manifest.entry(path)
        changed = f"{whole[:place]}{_TAIL}{whole[place:]}".encode()
        laid = Laid(path, changed, entry.mode if entry else 0o755)
        kept = [item for item in request.lay if item.path != path]
        return request._replace(lay=(*kept, laid))
    return None
