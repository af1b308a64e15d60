"""Comments on lines of a plan, from outside: asked, seen in the inbox, answered one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planbound.approval.review import comments_of
from planbound.drafting.redraft import last_reason
from planbound.journal.record import Record, decode
from planbound.session.tools import open_tools
from planbound.workspace.context import Context
from tests.cli.test_gate import digest_of, events
from tests.cli.test_judge import Project, plan_text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.plan("it", plan_text("test -e src/one", "test -e src/two"))
    return made


def line_of(project: Project, text: str) -> int:
    lines = (project.workspace / ".harness/PLAN-it.md").read_text(encoding="utf-8").splitlines()
    return lines.index(text) + 1


def ask(project: Project, text: str, words: str) -> str:
    """Comment on a line; return the id of the question."""
    asked = project.run("ask", "it", words, "--line", str(line_of(project, text)), "--as", "mara")
    assert asked.code == 0, asked.err
    return str(waiting(project)[-1]["id"])


def waiting(project: Project) -> list[dict[str, Any]]:
    return list(project.run("inbox", "--json").json["waiting"])


def records(project: Project) -> list[Record]:
    return [decode(line) for line in project.run("log", "it", "--json").out.splitlines()]


@pytest.mark.requirement("gate.comments")
def test_a_comment_on_a_line_waits_with_its_line_and_is_answered_alone(project: Project) -> None:
    first = ask(project, "test -e src/one", "why one?")
    second = ask(project, "test -e src/two", "and why two?")
    shown = project.run("inbox").out
    assert f"line {line_of(project, 'test -e src/one')}: why one?" in shown
    assert "> test -e src/one" in shown
    done = project.run("answer", first, "--text", "because", "--as", "ben")
    assert done.code == 0, done.err
    assert [each["id"] for each in waiting(project)] == [second]
    one, two = comments_of(records(project))
    assert [(reply.by, reply.words) for reply in one.replies] == [("ben", "because")]
    assert (two.is_open, two.quoted) == (True, "test -e src/two")


@pytest.mark.requirement("gate.comments")
def test_a_question_is_answered_once(project: Project) -> None:
    asked = ask(project, "test -e src/one", "why one?")
    assert project.run("answer", asked, "--text", "because", "--as", "ben").code == 0
    again = project.run("answer", asked, "--text", "or not", "--as", "ada")
    assert again.code == 2
    assert "nothing waits under" in again.err


@pytest.mark.requirement("gate.comments")
def test_another_text_of_the_plan_answers_what_is_open(project: Project) -> None:
    ask(project, "test -e src/one", "why one?")
    ask(project, "test -e src/two", "why two?")
    done = project.run("decide", "it", "remove 1", "--as", "ben", "--digest", digest_of(project))
    assert done.code == 4, done.err
    assert waiting(project) == []
    lines = (project.workspace / ".harness/PLAN-it.md").read_text(encoding="utf-8").splitlines()
    one, two = comments_of(records(project))
    assert [(reply.is_change, reply.by) for reply in one.replies] == [(True, "ben")]
    assert "remove 1" in one.replies[0].words
    assert one.place(lines) is None
    assert two.place(lines) == line_of(project, "test -e src/two")


@pytest.mark.requirement("gate.comments")
@pytest.mark.parametrize(("line", "said"), [("0", "no line 0"), ("999", "no line 999")])
def test_a_line_that_is_not_there_takes_no_comment(project: Project, line: str, said: str) -> None:
    refused = project.run("ask", "it", "why?", "--line", line, "--as", "mara")
    assert refused.code == 2
    assert said in refused.err
    assert events(project, "GATE_CLARIFICATION_ASKED") == []


@pytest.mark.requirement("gate.comments")
def test_comments_reach_the_agent_and_the_model_that_can_write_the_plan_anew(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in project.environment().items():
        monkeypatch.setenv(name, value)
    first = ask(project, "test -e src/one", "why one?")
    loop = open_tools(workspace=str(project.workspace), state=None, session="s", name="it")
    told = loop.plan_status().text
    assert "line" in told
    assert "(`test -e src/one`): why one?" in told
    context = Context(workspace=str(project.workspace))
    journal = context.existing_journal()
    assert journal is not None
    line = line_of(project, "test -e src/one")
    assert last_reason(journal, "it") == f"line {line} (`test -e src/one`): why one?"
    assert project.run("answer", first, "--text", "because", "--as", "ben").code == 0
    assert last_reason(journal, "it") is None
    context.close()
