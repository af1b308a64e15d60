"""The journal behind the pages: what was done to it is said, and what follows is still shown."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from planbound.journal.chain import link
from planbound.journal.record import Details, Head, Query, Record
from planbound.journal.sqlite import SqliteJournal
from planbound.page.board import Board
from planbound.page.journal import is_about, show_event, show_journal
from planbound.page.run import show_run
from planbound.page.visit import PageRights, ShownPage, Visit
from planbound.receipts.html import join
from planbound.workspace.context import Context
from tests.journal import started
from tests.program import SOUND

pytestmark = pytest.mark.requirement("page.shows")

Change = Callable[[sqlite3.Connection, list[Record]], None]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Return a workspace with six events on record."""
    (tmp_path / "work").mkdir()
    (tmp_path / "state").mkdir()
    return _with_events(
        Context(workspace=str(tmp_path / "work"), state=str(tmp_path / "state")), 1, 6
    )


def _with_events(context: Context, first: int, last: int) -> Context:
    journal = SqliteJournal(context.state.journal)
    journal.append([started(number) for number in range(first, last + 1)])
    journal.close()
    return context


def delete(database: sqlite3.Connection, _: list[Record]) -> None:
    """Take the third event out."""
    database.execute("DELETE FROM journal WHERE seq = 3")


def rewrite(database: sqlite3.Connection, records: list[Record]) -> None:
    """Let the third event tell something else, with a hash that fits that."""
    third = records[2]
    draft = third.draft._replace(task_name="Something else")
    made = link(draft, Head(2, third.prev), third.plan_seq, third.version)
    database.execute(
        "UPDATE journal SET task_name = ?, hash = ? WHERE seq = 3", (draft.task_name, made.hash)
    )


def tamper(context: Context, change: Change) -> None:
    journal = SqliteJournal(context.state.journal)
    records = list(journal.read(Query()))
    journal.close()
    with sqlite3.connect(context.state.journal) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            database.execute(f'DROP TRIGGER "{name}"')
        change(database, records)


def visit(context: Context, board: Board, **query: str) -> Visit:
    return Visit(context, board, "/journal", {}, query, {}, PageRights("it only shows"), "s", b"k")


def page(context: Context, board: Board, **query: str) -> str:
    """Return what `/journal` says, without its elements."""
    shown = show_journal(visit(context, board, **query))
    assert isinstance(shown, ShownPage)
    return " ".join(re.sub(r"<[^>]*>", " ", str(join(shown.content))).split())


@pytest.mark.parametrize("change", [delete, rewrite])
@pytest.mark.parametrize("before", [6, 0])
def test_a_chain_with_a_broken_link_is_called_broken_and_read_to_its_end(
    context: Context, change: Change, before: int
) -> None:
    board = Board(context.existing_journal)
    if before:
        board.refresh()
        assert (board.head.seq, board.faults) == (before, [])
    tamper(context, change)
    if before:  # what was read is looked at again when something follows
        with sqlite3.connect(context.state.journal) as database:
            database.execute("DELETE FROM journal WHERE seq = 6")
    board.refresh()
    assert (board.head.seq, board.faults) == (5 if before else 6, [4])
    shown = page(context, board)
    assert "broken" in shown
    assert "these are not as they were written: #4" in shown
    assert "whole" not in shown
    _with_events(context, 7, 8)
    board.refresh()
    assert (board.head.seq, board.faults) == (7 if before else 8, [4])


def test_a_chain_that_was_not_read_yet_is_not_called_whole(context: Context) -> None:
    board = Board(context.existing_journal)
    shown = page(context, board)
    assert "6 events" in shown
    assert "not checked yet" in shown
    assert "whole" not in shown
    board.refresh()
    assert "whole 6 events" in page(context, board)
    assert "the hash of each was checked" in page(context, board)
    _with_events(context, 7, 7)
    assert "the hashes up to event #6 were checked" in page(context, board)


def test_a_search_finds_words_in_small_or_large_letters_of_any_script() -> None:
    told = Details.of({"why": "Ärger im ÄRMEL mit \U0001f4a5 und mehr"})
    draft = started()._replace(details=told)
    record = link(draft, Head(0, "0" * 64), 1, 1)
    for words in ("ärger", "Ärger", "ÄRGER", "ärmel ärger", "rounding Ärmel", "\U0001f4a5 ÄRGER"):
        assert is_about(record, words), words
    for words in ("ürger", "ärger ohne", "ärgernis"):
        assert not is_about(record, words), words
    broken = record._replace(draft=draft._replace(details=Details('{"why": "\\u00c4"')))
    assert not is_about(broken, "ärger"), "an event that nobody can read stops no search"


def test_a_link_to_another_page_of_events_says_where_it_leads(context: Context) -> None:
    board = Board(context.existing_journal)
    board.refresh()
    assert "Newest" in page(context, board, before="4")
    assert "Newe" not in page(context, board)

    def event(seq: int) -> str:
        asked = visit(context, board)._replace(path={"seq": str(seq)})
        shown = show_event(asked)
        assert isinstance(shown, ShownPage)
        return str(join(shown.content))

    assert 'href="/journal/4"' in event(3)
    assert 'href="/journal/2"' in event(3)
    assert 'href="/journal/7"' not in event(6), "nothing follows the last event"


def test_the_words_of_an_earlier_attempt_are_not_those_of_the_one_under_way(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(context.root, ".harness", "PLAN-rounding.md")
    path.parent.mkdir()
    path.write_text(SOUND, encoding="utf-8")
    board = Board(context.existing_journal)
    step = board.page(context, "rounding").story.steps[0].id
    attempt = started(7)._replace(task_id=step)
    journal = SqliteJournal(context.state.journal)
    journal.append([attempt])
    journal.close()
    board.refresh()
    monkeypatch.setattr("planbound.page.run.drivers", lambda _: {"rounding": "run 1"})
    asked = visit(context, board)._replace(path={"plan": "rounding"})
    notes = Path(context.state.folder, "doing", "rounding.json")
    notes.parent.mkdir()

    def says(at: float) -> bool:
        notes.write_text(json.dumps({step: {"text": "I read the callers", "at": at}}))
        shown = show_run(asked)
        assert isinstance(shown, ShownPage)
        page = str(join(shown.content))
        assert "is under way" in page
        return "I read the callers" in page

    begun = datetime.fromisoformat(attempt.timestamp).timestamp()
    assert says(begun + 1)
    assert not says(begun - 1)
