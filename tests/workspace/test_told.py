"""Where a message about a question leads: to a link that decides it, or to the inbox."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from planbound.journal.event import EventKind
from planbound.journal.record import Details, Draft, Record
from planbound.journal.words import QuestionKind
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.notify import Notify, NotifyCommand
from planbound.workspace.page_home import PageFolder, RunningPage
from planbound.workspace.told import QuestionLinks

DRAFT = Draft(
    id="1", timestamp="2026-11-20T00:00:00.000000Z", kind=EventKind.RECOVERY_ESCALATION,
    plan="hello", details=Details.of({}),
)  # fmt: skip


@pytest.mark.requirement("page.links")
@pytest.mark.parametrize("kind", list(QuestionKind))
def test_only_what_a_link_decides_gets_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: QuestionKind
) -> None:
    (tmp_path / "planbound.toml").write_text("[page]\nlinks = true\n", encoding="utf-8")
    context = Context(workspace=str(tmp_path), state=str(tmp_path / "state"))
    question = Question(id="q1", plan="hello", kind=kind, reason="why", since=DRAFT.timestamp)
    page = RunningPage(port=7, host="127.0.0.1", pid=1, start="s", decides=True)
    monkeypatch.setattr(PageFolder, "running", lambda _folder: [page])
    monkeypatch.setattr(QuestionLinks, "_question", lambda *_: question)
    record = cast("Record", type("Told", (), {"kind": DRAFT.kind, "draft": DRAFT}))
    entry = Notify(NotifyCommand(("true",)), person="mara")
    address = QuestionLinks(context).address(entry, record)
    assert address is not None
    by_hand = {QuestionKind.INCOMPLETE, QuestionKind.INTEGRATION}
    where = "/inbox#question-q1" if kind in by_hand else "/d/"
    assert address.startswith(f"http://127.0.0.1:7{where}")
