"""What judges, and of which nobody knows whether it can fail: it is good for no more than E2.

A program that Python reads from a here-document, from its input, from `-c` or out of a folder is
no file that could be laid with other values. And who reads its cases from an input that the
product has, too, does not notice when these are gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename
from typing import TYPE_CHECKING

from planbound.judging.corroborate import not_seen_to_fail
from planbound.script import Call, Script
from planbound.script.comparison import expectations
from planbound.script.runners import runner_of
from planbound.script.runners.javascript import DECLARED
from planbound.script.runners.runner import Language, joined
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
from planbound.script.understood import PYTHONS, inline_programs, inline_text, reads_program
from planbound.script.wrapper import SHELLS, program_of
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.watched import WalkedContract

_VALUED = words("-W -X --check-hash-based-pycs")
_READS = lazy_pattern(r"\bstdin\b|\binput\(|\bfileinput\b|\bopen\(0\b|readFileSync\(0\b|<STDIN>")
HARMLESS = words(
    "echo printf test [ [[ (( : true false read mapfile readarray local export shift break "
    "continue return exit set cd pwd trap type command declare typeset unset let wait kill diff "
    "cmp grep egrep fgrep sed awk sort uniq head tail cut tr wc basename dirname mkdir rm cp mv ls "
    "touch mktemp sleep date expr seq tee comm paste jq rev cat readlink realpath chmod rmdir"
)
"""What runs no code of the product."""
_COUNTS = lazy_pattern(r"\b(\w+)=\$\(\(\s*\$?\{?\1\b[^\n]{0,20}\+|\(\(\s*(\w+)\s*(?:\+\+|\+=)")
_RESULT = r"\b(?:exit|return)\s+\"?\$\{{?{name}\b|\$?\b{name}\}}?\"?\s+(?:-\w\w|[=!]?=|>)\s+0"
_TESTS = words("test [ [[")
_LIBRARY = lazy_pattern(
    r"(?:\brequire\(\s*|\bfrom\s+|\bimport\s+)[\"'](chai|should|must|unexpected|expect\.js|power-assert)\b"
)
_OTHER_RUNNERS = words("prove busted tclsh rake tape testem tsd")
_READERS = words("read mapfile readarray select")


def untried(walked: WalkedContract) -> str:
    """Return why nobody knows whether all that judges can fail; empty: it can be seen."""
    return (
        next(_inline(walked), "")
        or next(_without_input(walked), "")
        or next(_other_runners(walked), "")
        or next((why for script in walked.scripts for why in _counted(script)), "")
        or next(_of_libraries(walked), "")
        or next((why for script in walked.scripts for why in _shared_input(script)), "")
    )


# -- programs in Python that are no files --------------------------------------------------------


def _inline(walked: WalkedContract) -> Iterator[str]:
    yield from inline_programs(walked.calls)
    for call in walked.calls:
        if call.program not in PYTHONS or inline_text(call) is not None or reads_program(call):
            continue
        if folder := _folder(walked, call):
            yield f"what the folder `{folder}` expects cannot be changed: name the file in it"


def _folder(walked: WalkedContract, call: Call) -> str:
    """Return the folder that a Python runs; empty: it is a file."""
    word = next(call.operands(_VALUED), None)
    if word is None or not word.value or call.has("-m"):
        return ""
    path = joined(call.directory or "", word.value.removeprefix("./").rstrip("/"))
    if path in {"", "."}:
        return word.value
    return path if any(each.startswith(f"{path}/") for each in walked.project.paths) else ""


def _other_runners(walked: WalkedContract) -> Iterator[str]:
    """Yield runners that have code under test in their own process, and no failing test."""
    for call in walked.calls:
        row = runner_of(call)
        is_script = row is not None and row.language is Language.JAVASCRIPT and row.canary is None
        if is_script or call.program in _OTHER_RUNNERS:
            yield not_seen_to_fail(call.name or call.program)


def _of_libraries(walked: WalkedContract) -> Iterator[str]:
    """Yield libraries of JavaScript whose assertions the product can replace, and nobody asks."""
    for path in sorted(walked.judges):
        if path.endswith(DECLARED.endings):
            text = (walked.project.read(path) or b"").decode("utf-8", "replace")
            if match := _LIBRARY.search(text):
                yield f"what `{match[1]}` asserts cannot be tried: use `node:assert`"


# -- cases that the product can take away --------------------------------------------------------


def _without_input(walked: WalkedContract) -> Iterator[str]:
    """Yield programs that read cases from their input while code of the product is in them."""
    fed = [call for call in walked.calls if call.fed]
    if not fed:
        return
    for path in (*walked.mains, *walked.foreign_mains):
        text = (walked.project.read(path) or b"").decode("utf-8", "replace")
        if _READS.search(text) and any(_runs(call, path) for call in fed):
            yield f"code under test can take away what `{path}` reads from its input"


def _runs(call: Call, path: str) -> bool:
    return any(basename(value) == basename(path) for value in (call.name or "", *call.values()))


def _shared_input(script: Script) -> Iterator[str]:
    """Yield calls that can read what a shell reads its cases, or itself, from."""
    for call in script.calls:
        is_shell = call.program in SHELLS and call.body is None and not call.has("-c")
        if is_shell and all(value[:1] in {"-", "+"} for value in call.values()):
            yield f"what `{call.name}` reads as its script can be taken away by what it runs"
    reading = [
        call
        for call in script.calls
        if call.program in _READERS and not call.has("-u") and not _has_own_input(script, call)
    ]
    if not reading:
        return
    loops = list(_loops(script.block))
    functions = [item for item in script.block.items if isinstance(item, Function)]
    for each in reading:
        around = next((loop for loop in loops if loop.start <= each.start < loop.end), script.block)
        spans: list[Statement] = [around]
        inside = [call for call in script.calls if around.start <= call.start < around.end]
        if any(call.program in script.functions for call in inside):
            spans += functions
        for call in script.calls:
            is_there = any(span.start <= call.start < span.end for span in spans)
            if is_there and call.word is not None and not _is_harmless(script, call):
                shown = script.text[call.start : call.end].partition("\n")[0][:80]
                yield f"`{shown}` can take away the cases that the loop around it reads"


def _counted(script: Script) -> Iterator[str]:
    """Yield variables that count the failures of comparisons: nobody tries these with others."""
    for match in _COUNTS.finditer(script.text):
        name = match[1] or match[2]
        result = re.compile(_RESULT.format(name=name))
        if result.search(script.text) is None:
            continue
        for call in script.calls:
            text = script.text[call.start : call.end]
            compared = (*expectations(call), *expectations(call, unequal=True))
            if call.program in _TESTS and compared and not result.search(text):
                yield f"what is counted in `${name}` cannot be tried: write `exit 1` where it fails"


def _is_harmless(script: Script, call: Call) -> bool:
    if call.program in HARMLESS or call.program in script.functions:
        return True
    through_xargs = any(program_of(word.value or "") == "xargs" for word in call.wrappers)
    return through_xargs or _has_own_input(script, call)


def _has_own_input(script: Script, call: Call) -> bool:
    if any(redirect.feeds for redirect in call.redirects):
        return True
    before = script.text[: call.start].rstrip()
    # Behind wrappers and assignments there may be more than this; then it counts as shared.
    return re.search(r"(?:^|[^|])\|&?$", before[-3:]) is not None


def _loops(item: Statement) -> Iterator[Loop]:
    """Yield the loops of a script, the innermost first."""
    match item:
        case Loop():
            yield from _loops(item.body)
            yield item
        case StatementList() | Chain() | Pipeline():
            for each in item.items:
                yield from _loops(each)
        case Subshell():
            yield from _loops(item.body)
        case Branches():
            for each in (*item.conditions, *item.bodies):
                yield from _loops(each)
        case Background():
            yield from _loops(item.item)
        case Function():
            yield from _loops(item.body)
        case _:
            pass
