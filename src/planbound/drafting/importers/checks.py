"""Plain Markdown: check lists, or numbered lists where there is no check box."""

from __future__ import annotations

import re

from planbound.drafting.importers.task import (
    Document,
    ForeignTask,
    SourceFile,
    TaskItem,
    TaskList,
    inside_out,
    stated_dependencies,
    without_dependencies,
)
from planbound.source import lazy_pattern

_NAMED = lazy_pattern(
    r"(?P<id>[A-Z][A-Z0-9]{0,9}-\d{1,6}|[A-Z]{1,3}\d{1,6}|\d{1,4}(?:\.\d{1,4})+)[.:)]?\s+(?P<words>\S.*)"
)
_ID = re.compile(
    r"(?<![\w.-])(?:[A-Z][A-Z0-9]{0,9}-\d{1,6}|[A-Z]{1,3}\d{1,6}|\d{1,4}(?:\.\d{1,4})*)(?![\w-])"
)


def read_checks(file: SourceFile) -> TaskList:
    document = Document(file.text)
    items = tuple(inside_out(document.boxes() or document.numbered()))
    numbers = [item.number for item in items if item.number]
    counted = len(numbers) == len(set(numbers)) == len(items)
    ids = {item.line: _id_of(item, counted=counted) for item in items}
    found = []
    for item in items:
        match = _NAMED.match(item.words)
        text = f"{item.words}\n\n{item.detail}".strip()
        nested = tuple(ids[child.line] for child in item.children)
        stated = stated_dependencies(text, _ID)
        found.append(
            ForeignTask(
                id=ids[item.line],
                title=without_dependencies(match["words"] if match else item.words),
                text=text,
                place=item.place,
                depends=(*nested, *(stated or ())) or None,
                status="ticked" if item.ticked else "",
                named=match is not None or counted,
            )
        )
    return TaskList(tuple(found), objective=document.title)


def _id_of(item: TaskItem, *, counted: bool) -> str:
    match = _NAMED.match(item.words)
    if match:
        return match["id"]
    # Numbers that begin anew under each heading name nothing.
    return item.number if counted else f"line {item.line}"
