"""Queue status: one line for each plan, whatever else is broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planbound.errors import PlanboundError
from planbound.plan.slug import progress_name
from planbound.ports.files import Files, Shelf, Workspace
from planbound.source.visible import visible
from planbound.usecases.overview import OpenJournal, PlanLine, overview

MAX_PROGRESS = 120
"""How many characters of a line of progress are shown."""

LastLine = Callable[[str], str | None]
"""Returns a file's last line that is not blank; None where there is none."""


class QueueLine(NamedTuple):
    """One plan of the queue."""

    slug: str
    status: str
    progress: str


class Queue(NamedTuple):
    """The lines, and what could not be found out."""

    lines: tuple[QueueLine, ...]
    warnings: tuple[str, ...]


def queue_status(
    workspace: Workspace, files: Files, open_journal: OpenJournal, last_line: LastLine
) -> Queue:
    """Return the active and the staged plans; reads and never writes."""
    seen = overview(workspace, files, open_journal)
    active = {line.file.slug for line in seen.lines if line.shelf is Shelf.ACTIVE}
    lines = []
    for line in seen.lines:
        # The staged copy of an active plan is no second plan.
        if line.shelf is Shelf.ACTIVE:
            lines.append(_line(line, line.word, workspace, last_line))
        elif line.shelf is Shelf.STAGED and line.file.slug not in active:
            lines.append(
                _line(line, line.word if line.is_empty else "staged", workspace, last_line)
            )
    return Queue(tuple(lines), seen.warnings)


def _line(
    line: PlanLine, status: str | None, workspace: Workspace, last_line: LastLine
) -> QueueLine:
    place = workspace.place(Shelf.ACTIVE, progress_name(line.file.slug))
    try:
        progress = last_line(place.path) or ""
    except PlanboundError as error:
        progress = f"({error.message})"
    return QueueLine(
        slug=line.file.slug,
        status="unreadable" if line.problem is not None else status or "draft",
        progress=_cut(visible(progress.strip())),
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PROGRESS else text[: MAX_PROGRESS - 1] + "…"
