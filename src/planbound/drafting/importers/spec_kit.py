"""`tasks.md` of Spec Kit: `- [ ] T012 [P] [US1] Create the model in src/models/user.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from planbound.drafting.importers.task import (
    Document,
    ForeignTask,
    SourceFile,
    TaskItem,
    TaskList,
    inside_out,
    paths_in,
    stated_dependencies,
    without_dependencies,
)
from planbound.plan.markdown import BlockKind
from planbound.plan.skeleton import opaque_lines
from planbound.source import lazy_pattern

_TASK = lazy_pattern(
    r"(?:\*\*)?(?P<id>T\d{1,6}[a-z]?)\b(?:\*\*)?[:.]?\s*"
    r"(?P<flags>(?:\[(?:P|US\s?\d+|Story\s?\w+)\]\s*)*)(?P<words>.*)"
)
_ID = re.compile(r"\bT\d{1,6}[a-z]?\b")
_RANGE = lazy_pattern(r"\bT(\d{1,6})\s*(?:-|–|—|\.\.+|to)\s*T?(\d{1,6})\b")
_BACKWARD = lazy_pattern(r"\b(?:depends? on|requires?|needs?|after|blocked by)\b", re.IGNORECASE)
_FORWARD = lazy_pattern(r"\b(?:before|blocks?)\b|→|->|⇒|=>", re.IGNORECASE)
_TEST = lazy_pattern(
    r"\*\*(?:Independent Test|Checkpoint)\*\*\s*:|\*\*(?:Independent Test|Checkpoint):\*\*"
)
_MAX_RANGE = 1000


def read_spec_kit(file: SourceFile) -> TaskList:
    document = Document(file.text)
    items = tuple(inside_out(document.boxes()))
    orders = dict(_orders(document))
    phases, tests = _phases(document)
    last_of = {phases[item.section]: index for index, item in enumerate(items)}
    groups = _groups(items)
    tasks = []
    for index, item in enumerate(items):
        match = _TASK.match(item.words)
        words = match["words"] if match else item.words
        text = f"{item.words}\n\n{item.detail}".strip()
        phase = phases[item.section]
        if last_of[phase] == index and phase in tests:
            text = f"{text}\n\n{tests[phase]}"
        stated = stated_dependencies(_spread(text), _ID)
        waits = stated if stated is not None else groups[index]
        own = _id_of(item)
        more = orders.get(own, ())
        tasks.append(
            ForeignTask(
                id=own,
                title=without_dependencies(words),
                text=text,
                place=item.place,
                depends=_joined(waits, more, items, index),
                touches=paths_in(f"{words}\n{item.detail}"),
                status="ticked" if item.ticked else "",
                named=match is not None,
            )
        )
    objective = re.sub(r"^Tasks\s*[:—–-]\s*", "", document.title)
    return TaskList(tuple(tasks), objective=objective)


def _id_of(item: TaskItem) -> str:
    match = _TASK.match(item.words)
    return match["id"] if match else f"line {item.line}"


def _joined(
    waits: tuple[str, ...] | None, more: tuple[str, ...], items: tuple[TaskItem, ...], index: int
) -> tuple[str, ...] | None:
    """Return dependencies with those that the section about the order adds."""
    nested = tuple(_id_of(child) for child in items[index].children)
    if not more and not nested:
        return waits
    before = (_id_of(items[index - 1]),) if index else ()
    return tuple(dict.fromkeys((*(before if waits is None else waits), *nested, *more)))


def _groups(items: tuple[TaskItem, ...]) -> list[tuple[str, ...] | None]:
    """Return what each task waits for: neighbours with `[P]` wait for the same ones."""
    found: list[tuple[str, ...] | None] = []
    before: list[str] = []
    group: list[str] = []
    last: TaskItem | None = None
    for item in items:
        together = last is not None and last.section == item.section
        if not (together and last is not None and _is_parallel(last) and _is_parallel(item)):
            before, group = group, []
        alone = len(before) == 1 and not group
        found.append(None if alone or last is None else tuple(before))
        group.append(_id_of(item))
        last = item
    return found


def _is_parallel(item: TaskItem) -> bool:
    match = _TASK.match(item.words)
    return match is not None and "[P]" in match["flags"]


def _orders(document: Document) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what the section about dependencies says: `T008 blocks T009`, `T004 → T006`."""
    found: dict[str, dict[str, None]] = {}
    for line in _lines_about_order(document):
        for verb, backward in ((_BACKWARD, True), (_FORWARD, False)):
            parts = verb.split(_spread(line))
            for left, right in pairwise(parts):
                first, second = _ID.findall(left), _ID.findall(right)
                waiting, needed = (first, second) if backward else (second, first)
                for task in waiting:
                    found.setdefault(task, {}).update(dict.fromkeys(needed))
            if len(parts) > 1:
                break
    return ((task, tuple(needed)) for task, needed in found.items())


def _lines_about_order(document: Document) -> Iterator[str]:
    opaque = opaque_lines(document.blocks)
    headings = [block for block in document.blocks if block.kind is BlockKind.HEADING]
    level = 0
    for index, block in enumerate(headings):
        if level and block.level > level:
            pass
        elif "dependenc" in document.heading(block).casefold():
            level = block.level
        else:
            level = 0
        end = headings[index + 1].line if index + 1 < len(headings) else None
        if level:
            lines = enumerate(document.source.lines[block.after : end], block.after)
            yield from (line for number, line in lines if number not in opaque)


def _phases(document: Document) -> tuple[list[int], dict[int, str]]:
    """Return the phase of each heading by count, and how each phase is tested."""
    found: dict[int, list[str]] = {}
    phases = [0]
    phase = 0
    for block in document.blocks:
        if block.kind is BlockKind.HEADING:
            phase = len(phases) if block.level <= 2 else phase
            phases.append(phase)
        elif block.kind is BlockKind.PARAGRAPH:
            text = document.lines(block.line, block.after)
            if _TEST.match(text):
                found.setdefault(phase, []).append(text)
    return phases, {key: "\n\n".join(texts) for key, texts in found.items()}


def _spread(text: str) -> str:
    """Return a text with `T004-T007` written out."""

    def spread(match: re.Match[str]) -> str:
        low, high, width = int(match[1]), int(match[2]), len(match[1])
        if not low < high <= low + _MAX_RANGE:
            return match.group()
        return ", ".join(f"T{number:0{width}}" for number in range(low, high + 1))

    return _RANGE.sub(spread, text)
