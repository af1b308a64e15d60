"""What becomes of a form while somebody else decides, and of what its answer reads."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from planbound.journal.words import QuestionKind
from planbound.page import inbox, link
from planbound.page.decide import ChangedMeanwhile
from planbound.page.nonce import ShownState
from planbound.page.visit import ShownPage
from planbound.receipts.html import Html, join
from planbound.state.question import Question
from tests.page.unserved import visit

QUESTION = Question(
    id="q1", plan="hello", kind=QuestionKind.FAILURE, reason="exit 1", since="2026-11-20T00:00:00",
    task_id="make", number="1", seq=7,
)  # fmt: skip


@pytest.mark.requirement("page.links")
@pytest.mark.parametrize("answer", ["_answer", "_reject"])
def test_a_link_whose_question_was_decided_at_the_same_moment_is_gone(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    def opened(_visit: object) -> Any:
        raise ChangedMeanwhile(link._OVER)

    monkeypatch.setattr(link, "_opened", opened)
    shown = getattr(link, answer)(visit())
    assert isinstance(shown, ShownPage)
    assert (shown.status, shown.is_alone) == (410, True)


@pytest.mark.requirement("page.inbox")
def test_the_evidence_of_a_waiver_is_read_while_the_fold_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock, read = threading.RLock(), list[str]()
    board = SimpleNamespace(lock=lock, refresh=lambda: read.append("refreshed"))

    def evidence(_visit: object, _question: Question) -> Html:
        others: list[bool] = []
        other = threading.Thread(target=lambda: others.append(lock.acquire(blocking=False)))
        other.start()
        other.join()
        assert others == [False], "somebody else could change what is read"
        read.append("evidence")
        return join("what there is")

    monkeypatch.setattr(inbox, "still_open", lambda _visit: QUESTION)
    monkeypatch.setattr("planbound.page.question.evidence", evidence)
    shown = inbox.give_waiver(
        visit(board, path={"question": "q1"}, form={"reason": "the vendor is gone", "by": "mara"},
              shown=ShownState(question="q1"))
    )  # fmt: skip
    assert isinstance(shown, ShownPage)
    assert read == ["refreshed", "evidence"]
