"""`planbound gate`: the whole dialogue on a terminal."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.cli.test_gate import digest_of, events, status
from tests.cli.test_judge import Project, plan_text
from tests.tables import first_always
from tests.terminal import Typed

pytestmark = pytest.mark.requirement("command.gate")

QUESTION = "reject, quit? "
DIGEST = "characters of the digest: "


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.plan("it", plan_text("test -e src/one", "test -e src/two", "test -e src/three"))
    return made


class Dialogue(Typed):
    """Somebody before the gate."""

    def __init__(self, project: Project, *arguments: str, editor: str = "false") -> None:
        environment = project.environment(VISUAL=editor, NO_COLOR="1")
        super().__init__(project.workspace, environment, "gate", *(arguments or ("it",)))

    def say(self, text: str, then: str = QUESTION) -> str:
        """Type a line; return what is printed up to the next question."""
        return super().say(text, then)


def contracts(project: Project) -> list[str]:
    steps = project.run("show", "it", "--json").json["steps"]
    return [step["contract"]["command"] for step in steps]


def test_who_types_the_digest_approves(project: Project) -> None:
    dialogue = Dialogue(project)
    sheet = dialogue.until(QUESTION)
    assert "$ test -e src/one" in sheet
    assert "approval by terminal: somebody's word" in sheet
    dialogue.say("approve", DIGEST)
    code, printed = dialogue.end(digest_of(project)[:6])
    assert code == 0, printed
    assert "(terminal; anybody who can type as you could have done this)" in printed
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["method"] == "terminal"
    assert approved["details"]["strength"] == "word"
    assert approved["details"]["modifications"] == []
    assert status(project) == "approved"


def test_another_digest_approves_nothing_and_may_be_typed_again(project: Project) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    dialogue.say("yes", DIGEST)
    said = dialogue.say("000000")
    assert "`000000` is not how the digest begins" in said
    assert "nothing was approved" in said
    dialogue.say("yes", DIGEST)
    assert "is too short: type 6 characters or more" in dialogue.say(digest_of(project)[:4])
    dialogue.say("yes", DIGEST)
    assert dialogue.end(digest_of(project)[:12])[0] == 0, "more of it is as good"
    assert len(events(project, "GATE_APPROVED")) == 1


@pytest.mark.thorough
def test_changes_are_shown_again_and_recorded_with_the_approval(project: Project) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    shown = dialogue.say("remove 2")
    assert "-test -e src/two" in shown
    assert "$ test -e src/three" in shown
    assert contracts(project) == ["test -e src/one", "test -e src/three"]
    assert events(project, "GATE_APPROVED") == []
    assert "skipped" in dialogue.say("approved, but skip 2")
    dialogue.say("approve", DIGEST)
    code, printed = dialogue.end(digest_of(project)[:6])
    assert code == 0, printed
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["modifications"] == ["remove 2", "skip 2"]
    assert approved["details"]["digest"] == digest_of(project)
    (rewritten,) = events(project, "PLAN_REWRITTEN")
    assert rewritten["details"]["to"] == digest_of(project)


@pytest.mark.thorough
def test_a_skipped_step_stays_skipped_when_numbers_change(project: Project) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    dialogue.say("skip 3")
    dialogue.say("move 3 before 1")
    dialogue.say("approve", DIGEST)
    assert dialogue.end(digest_of(project)[:6])[0] == 0
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["modifications"] == ["move 3 before 1", "skip 1"]


def test_an_order_that_makes_a_circle_is_refused_and_the_text_stays(project: Project) -> None:
    text = plan_text("test -e src/one", "test -e src/two", "test -e src/three")
    project.plan("it", text.replace("### 3. Do part 3", "### 3. Do part 3 (depends on 2)"))
    path = project.workspace / ".harness/PLAN-it.md"
    new = project.home / "new.md"
    new.write_text(
        "### 2. Do part 2 (depends on 3)\n\n**target:** coder\n**task:** Write `src/two`.\n\n"
        "**contract:**\n```shell\ntest -e src/two\n```\n"
    )
    dialogue = Dialogue(project, editor=f"cp {new}")
    dialogue.until(QUESTION)
    before = path.read_bytes()
    assert "step 3 depends on step 2" in dialogue.say("swap 2 and 3")
    assert "would wait for" in dialogue.say("edit 2")
    assert path.read_bytes() == before
    code, printed = dialogue.end("quit")
    assert code == 4
    assert "nothing was approved" in printed


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("said", "expected"),
    first_always(
        [
            ("edit 2", ["test -e src/one", "test -e src/new", "test -e src/three"]),
            (
                "add after 1",
                ["test -e src/one", "test -e src/new", "test -e src/two", "test -e src/three"],
            ),
        ],
        fields=2,
    ),
)
def test_a_step_is_written_in_the_editor(project: Project, said: str, expected: list[str]) -> None:
    new = project.home / "new.md"
    new.write_text(
        "### 7. Make it new\n\n**target:** coder\n**task:** Write `src/new`, one line.\n\n"
        "**contract:**\n```shell\ntest -e src/new\n```\n"
    )
    dialogue = Dialogue(project, editor=f"cp {new}")
    dialogue.until(QUESTION)
    assert "$ test -e src/new" in dialogue.say(said)
    assert contracts(project) == expected
    assert events(project, "GATE_APPROVED") == []
    assert dialogue.end("quit")[0] == 4


def test_a_text_with_errors_is_refused_and_kept_for_the_next_time(project: Project) -> None:
    path = project.workspace / ".harness/PLAN-it.md"
    log = project.home / "edited.log"
    editor = project.home / "editor"
    editor.write_text(f'#!/bin/sh\ncat "$1" >> {log}\nsed -i "s/coder/nobody-knows/" "$1"\n')
    editor.chmod(0o755)
    dialogue = Dialogue(project, editor=str(editor))
    dialogue.until(QUESTION)
    before = path.read_bytes()
    shown = dialogue.say("edit 2")
    assert "PB204" in shown
    assert "it would have errors" in shown
    assert path.read_bytes() == before
    dialogue.say("edit 2")
    assert "**target:** nobody-knows" in log.read_text()
    assert dialogue.end("quit")[0] == 4


@pytest.mark.thorough
def test_an_editor_that_fails_or_changes_nothing_changes_nothing(project: Project) -> None:
    path = project.workspace / ".harness/PLAN-it.md"
    before = path.read_bytes().replace(b"status: draft", b"status: verified")
    for editor, said in (("false", "the editor ended with 1"), ("true", "nothing was changed")):
        dialogue = Dialogue(project, editor=editor)
        dialogue.until(QUESTION)
        assert said in dialogue.say("edit 1")
        assert said in dialogue.say("add after 2")
        assert dialogue.end("quit")[0] == 4
    assert path.read_bytes() == before


@pytest.mark.thorough
def test_a_plan_that_was_changed_meanwhile_is_shown_again(project: Project) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    path = project.workspace / ".harness/PLAN-it.md"
    seen = digest_of(project)
    path.write_text(path.read_text().replace("src/two", "src/zwei"))
    dialogue.say("approve", DIGEST)
    shown = dialogue.say(seen[:6])
    assert "changed while it was looked at" in shown
    assert "$ test -e src/zwei" in shown
    assert dialogue.end("quit")[0] == 4
    assert events(project, "GATE_APPROVED") == []


@pytest.mark.parametrize(
    ("typed", "code", "kind"),
    first_always(
        [
            ("reject: too broad", 0, "GATE_REJECTED"),
            ("reject\ntoo broad", 0, "GATE_REJECTED"),
            ("ask why three files?", 4, "GATE_CLARIFICATION_ASKED"),
            ("ask\nwhy three files?", 4, "GATE_CLARIFICATION_ASKED"),
        ],
        fields=3,
    ),
)
def test_a_refusal_and_a_question_end_the_dialogue(
    project: Project, typed: str, code: int, kind: str
) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    found, printed = dialogue.end(typed)
    assert found == code, printed
    assert len(events(project, kind)) == 1
    assert events(project, "GATE_APPROVED") == []


@pytest.mark.requirement("gate.bare-no")
@pytest.mark.parametrize("typed", ["", None])
def test_who_refuses_is_asked_why_and_need_not_say(project: Project, typed: str | None) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    dialogue.say("rejected", "why? ")
    if typed is None:
        dialogue.process.send_signal(signal.SIGINT)
    code, printed = dialogue.end(*([] if typed is None else [typed]))
    assert code == 0, printed
    (rejected,) = events(project, "GATE_REJECTED")
    assert rejected["details"]["reason"] == ""


def test_what_is_not_understood_is_asked_back(project: Project) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    assert "no step 9" in dialogue.say("skip 9")
    assert "I do not understand `probably yes`" in dialogue.say("probably yes")
    dialogue.say("")
    assert dialogue.end("q")[0] == 4


def test_a_plan_with_errors_can_be_mended_and_not_approved(project: Project) -> None:
    project.plan("it", plan_text("pytest || true"))
    dialogue = Dialogue(project)
    assert "it cannot be approved" in dialogue.until(QUESTION)
    assert "cannot be approved" in dialogue.say("approve")
    assert "$ test -d ." in dialogue.say("remove 1")
    assert dialogue.end("quit")[0] == 4


def test_the_end_of_the_input_and_an_interrupt_approve_nothing(project: Project) -> None:
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    os.write(dialogue.main, b"\x04")
    assert dialogue.end()[0] == 4
    dialogue = Dialogue(project)
    dialogue.until(QUESTION)
    dialogue.process.send_signal(signal.SIGINT)
    code, printed = dialogue.end()
    assert code == 130
    assert printed.endswith("\ninterrupted\n"), "on a line of its own, below the question"
    assert events(project, "GATE_APPROVED") == []


def test_without_a_terminal_the_other_way_is_named(project: Project) -> None:
    done = project.run("gate", "it")
    assert done.code == 2
    assert "planbound approve it --digest" in done.err


def test_where_signatures_are_demanded_the_dialogue_approves_nothing(project: Project) -> None:
    project.write("planbound.toml", "[gate]\nsigned = true\n")
    dialogue = Dialogue(project)
    assert "approval by signature: a proof" in dialogue.until(QUESTION)
    assert "only a signature" in dialogue.say("approve")
    assert dialogue.end("quit")[0] == 4


@pytest.mark.thorough
def test_who_waits_too_long_is_asked_again(project: Project) -> None:
    project.write("planbound.toml", '[gate]\nremind = "1ms"\n')
    assert project.run("approve", "it").code == 4
    dialogue = Dialogue(project)
    assert "`it` still waits for approval" in dialogue.until(QUESTION)
    assert dialogue.end("quit")[0] == 4
    found = events(project, "GATE_APPROVAL_REQUESTED")
    assert [item["details"].get("reminder") for item in found] == [None, 1]
    assert found[0]["details"]["digest"] == found[1]["details"]["digest"]
    assert events(project, "GATE_APPROVED") == []
