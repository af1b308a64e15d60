"""Task files of Backlog.md: frontmatter, description, acceptance criteria."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planbound.drafting.importers.task import ForeignTask, SourceFile, TaskList
from planbound.errors import UsageError
from planbound.plan.frontmatter import Pairs, WordList, frontmatter_lines, read_plain
from planbound.source import Located, Source, lazy_pattern

_MARKER = lazy_pattern(r"\s*<!--\s*(?:SECTION|AC|DOD)\b[^>]*-->\s*")
_NUMBERS = lazy_pattern(r"\d+")
_UNTOUCHED = frozenset({"", "to do", "todo", "backlog", "draft"})
_TICKED = frozenset({"done", "complete", "completed"})


class Card(NamedTuple):
    """One task file: its frontmatter and what stands below."""

    words: dict[str, str]
    lists: dict[str, tuple[str, ...]]
    body: str

    @property
    def id(self) -> str:
        """What it is called."""
        return self.words.get("id", "")


def read_card(file: SourceFile) -> Card | None:
    """Return a file as a task of Backlog.md; None where it is none."""
    source = Source(path=file.path, text=file.text)
    count = frontmatter_lines(source)
    pairs = _pairs(source, count) if count else None
    if pairs is None:
        return None
    words = {key.value: value.value for key, value in pairs if isinstance(value, Located)}
    lists = {
        key.value: tuple(item.value for item in value.items)
        for key, value in pairs
        if isinstance(value, WordList)
    }
    if not words.get("id") or "title" not in words or "status" not in words:
        return None
    lines = (line for line in source.lines[count:] if not _MARKER.fullmatch(line))
    return Card(words, lists, "\n".join(lines).strip("\n"))


def _pairs(source: Source, count: int) -> Pairs | None:
    found = read_plain(source, 1, count - 1)
    if found is not None:
        return found
    from planbound.plan.frontmatter_yaml import FrontmatterError, read_yaml  # noqa: PLC0415 - costs 15 ms, seldom needed

    try:
        return read_yaml(source, source.lines_span(1, count - 1))
    except FrontmatterError:
        return None


def read_backlog(files: Sequence[SourceFile]) -> TaskList:
    """Return the tasks of some task files, in the order of their ids."""
    read = [(file, read_card(file)) for file in files]
    cards = sorted((card for _, card in read if card), key=_place)
    others = [file.path for file, card in read if card is None]
    if not cards and others:
        raise UsageError(
            f"`{others[0]}` is no task of Backlog.md",
            hint="its frontmatter has to hold `id`, `title` and `status`",
        )
    remarks = tuple(f"`{path}` is no task of Backlog.md and was left out" for path in others)
    tasks = tuple(_tasks(cards))
    objective = tasks[0].title if len(tasks) == 1 else ""
    return TaskList(tasks, objective=objective, remarks=remarks)


def _place(card: Card) -> tuple[str, tuple[int, ...]]:
    numbers = tuple(int(number) for number in _NUMBERS.findall(card.id))
    return re.sub(r"[\d.]+", "", card.id).casefold(), numbers


def _tasks(cards: Sequence[Card]) -> Iterator[ForeignTask]:
    parents = {card.id.casefold(): card.words.get("parent_task_id", "") for card in cards}
    children: dict[str, list[str]] = {}
    for card in cards:
        children.setdefault(parents[card.id.casefold()].casefold(), []).append(card.id)
    children.pop("", None)
    for card in cards:
        named = card.lists.get("dependencies") or (card.words.get("dependencies", ""),)
        waits = (*(n for n in named if n), *children.get(card.id.casefold(), ()))
        status = card.words["status"]
        folded = status.casefold()
        yield ForeignTask(
            id=card.id,
            title=card.words["title"],
            text=card.body,
            whole=parents[card.id.casefold()],
            depends=tuple(dict.fromkeys(waits)),
            status="ticked" if folded in _TICKED else "" if folded in _UNTOUCHED else status,
        )
