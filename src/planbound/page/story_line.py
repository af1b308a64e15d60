"""One event in one line of a page."""

from __future__ import annotations

from planbound.errors import PlanboundError
from planbound.journal.record import Record
from planbound.page.visit import address
from planbound.receipts.conversation import about_words
from planbound.receipts.html import Html, element, join, served
from planbound.receipts.pieces import moment, said, word
from planbound.workspace.progress import ProgressLines


def event_line(record: Record, *, with_plan: bool = False) -> Html:
    """Return a line for an event: when, which, about what, and what it says."""
    line, verdict = _told(record)
    return element(
        "li",
        moment(record.draft.timestamp),
        " ",
        element(
            "span",
            served("a", f"#{record.seq}", href=address("journal", record.seq)),
            f" {record.draft.kind.value} ",
            class_="mono",
        ),
        served("a", record.draft.plan, href=address("plan", record.draft.plan))
        if with_plan and record.draft.plan
        else None,
        " ",
        said(line, 400),
        join(" ", word(verdict)) if verdict is not None else None,
        id=f"event-{record.seq}",
        class_="item",
    )


def _told(record: Record) -> tuple[str, str | None]:
    """Return what an event says, and its verdict; of one that cannot be read, that it cannot.

    A page that follows the journal goes on beyond it.
    """
    try:
        verdict = getattr(record.event, "verdict", None)
        line = ProgressLines().line(record) or about_words(record)
    except PlanboundError as error:
        return f"it cannot be read: {error.message}", None
    return line, verdict.value if verdict is not None else None
