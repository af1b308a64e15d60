"""One event in one line of a page."""

from __future__ import annotations

from planbound.journal.event import kind_of
from planbound.journal.record import Record
from planbound.page.visit import address
from planbound.receipts.conversation import about_words
from planbound.receipts.html import Html, element, join, served
from planbound.receipts.pieces import moment, said, word
from planbound.workspace.progress import ProgressLines


def event_line(record: Record, *, with_plan: bool = False) -> Html:
    """Return a line for an event: when, which, about what, and what it says."""
    event = record.event
    verdict = getattr(event, "verdict", None)
    line = ProgressLines().line(record) or about_words(record)
    return element(
        "li",
        moment(record.draft.timestamp),
        " ",
        element(
            "span",
            served("a", f"#{record.seq}", href=address("journal", record.seq)),
            f" {kind_of(type(event)).value} ",
            class_="mono",
        ),
        served("a", record.draft.plan, href=address("plan", record.draft.plan))
        if with_plan and record.draft.plan
        else None,
        " ",
        said(line, 400),
        join(" ", word(verdict.value)) if verdict is not None else None,
        id=f"event-{record.seq}",
        class_="item",
    )
