"""Which calls print something that does not come out of a script as it is."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.script.tree import (
    Background,
    Branches,
    Call,
    Chain,
    Function,
    Loop,
    Pipeline,
    Script,
    Statement,
    StatementList,
    Subshell,
    words,
)
from planbound.source import lazy_pattern

_PASSES_ON = words("cat tee")
_OF_SEVERAL = lazy_pattern(
    r"(?:[})]|\bdone|\bfi|\besac)[ \t]*[&\d]?>(?!&\d)|\bexec[ \t][^;&|\n]*>(?!&\d)"
)
"""What several commands print goes into a file."""


def cut_calls(script: Script) -> set[int]:
    """Return where the calls start of which nobody knows that all they print can be seen.

    Known are what is printed plainly, `2>&1`, and a pipe through programs that pass everything on.
    """
    if _OF_SEVERAL.search(script.text):
        return {call.start for call in script.calls}
    spans = [
        (item.start, item.end)
        for pipeline in _pipelines(script.block)
        for number, item in enumerate(pipeline.items)
        if not all(map(_passes_on, pipeline.items[number + 1 :]))
    ]
    return {
        call.start
        for call in script.calls
        if call.nested
        or _is_written(call)
        or any(start <= call.start < end for start, end in spans)
    }


def _is_written(call: Call) -> bool:
    return any(
        ">" in each.operator and not (each.operator == ">&" and each.target.text.isdigit())
        for each in call.redirects
    )


def _passes_on(item: Statement) -> bool:
    return isinstance(item, Call) and item.program in _PASSES_ON and not _is_written(item)


def _pipelines(item: Statement) -> Iterator[Pipeline]:
    match item:
        case Pipeline():
            yield item
            parts: tuple[Statement, ...] = item.items
        case StatementList() | Chain():
            parts = item.items
        case Branches():
            parts = (*item.conditions, *item.bodies)
        case Loop():
            parts = (item.body,) if item.condition is None else (item.condition, item.body)
        case Subshell() | Function():
            parts = (item.body,)
        case Background():
            parts = (item.item,)
        case Call():
            parts = () if item.body is None else (item.body,)
        case _:
            parts = ()
    for each in parts:
        yield from _pipelines(each)
