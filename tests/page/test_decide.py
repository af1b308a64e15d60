"""Deciding about a plan on the page, as a browser does it: the server is a process."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.cli.test_judge import Project, plan_text
from tests.page.browser import Answer, RunningServer, hidden_fields, serving

PATIENCE = 60.0


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("deciding"))


@pytest.fixture(scope="module")
def page(workspace: Project) -> Iterator[RunningServer]:
    with serving(workspace, "--decide-anyway") as running:
        running.enter()
        yield running


def write(workspace: Project, name: str) -> Path:
    """Write a plan of its own for a test."""
    return workspace.plan(name, plan_text(f"test -e src/{name}-1", f"test -e src/{name}-2"))


def events(workspace: Project, name: str, kind: str) -> list[dict[str, Any]]:
    lines = workspace.run("log", name, "--json").out.splitlines()
    return [each for each in map(json.loads, lines) if each["event"] == kind]


def looked_at(page: RunningServer, name: str) -> Answer:
    """Let every contract be run, and return the gate as it is then."""
    began = page.submit(f"/plan/{name}/gate", f"/plan/{name}/look")
    assert began.status == 303, began.text
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        gate = page.get(f"/plan/{name}/gate")
        if "is run once now" not in gate.text:
            return gate
    raise AssertionError(gate.text)


def approval(gate: Answer, name: str, by: str = "mara") -> dict[str, str]:
    """Return the form that approves what is shown."""
    return {**hidden_fields(gate.text, f"/plan/{name}/approve"), "by": by}


@pytest.mark.requirement("page.decides")
def test_a_plan_is_approved_as_it_was_shown(workspace: Project, page: RunningServer) -> None:
    write(workspace, "plain")
    gate = looked_at(page, "plain")
    assert "test -e src/plain-1" in gate.text
    done = page.post("/plan/plain/approve", approval(gate, "plain"))
    assert done.status == 303, done.text
    (given,) = events(workspace, "plain", "GATE_APPROVED")
    details = given["details"]
    assert (details["method"], details["strength"], details["by"]) == ("page", "word", "mara")
    assert workspace.run("show", "plain", "--json").json["status"] == "approved"
    after = page.get("/plan/plain/gate").text
    assert "<summary>Approve it anew</summary>" in after, "the way to another one is folded away"


@pytest.mark.requirement("page.decides")
def test_of_two_tabs_that_decide_at_once_one_wins(workspace: Project, page: RunningServer) -> None:
    write(workspace, "tabs")
    looked_at(page, "tabs")
    tabs = [approval(page.get("/plan/tabs/gate"), "tabs", by) for by in ("mara", "ben")]
    with ThreadPoolExecutor(2) as together:
        answers = list(together.map(lambda form: page.post("/plan/tabs/approve", form), tabs))
    assert sorted(each.status for each in answers) == [303, 409]
    (given,) = events(workspace, "tabs", "GATE_APPROVED")
    (late,) = (each for each in answers if each.status == 409)
    assert "What happened meanwhile" in late.text
    assert f"approved by {given['details']['by']}, on the page" in late.text


@pytest.mark.requirement("page.decides")
def test_a_plan_that_was_changed_meanwhile_is_not_approved(
    workspace: Project, page: RunningServer
) -> None:
    path = write(workspace, "moved")
    form = approval(looked_at(page, "moved"), "moved")
    text = path.read_text(encoding="utf-8").replace("src/moved-2", "src/another")
    path.write_text(text, encoding="utf-8")
    late = page.post("/plan/moved/approve", form)
    assert late.status == 409
    assert "the digest of what the plan means" in late.text
    assert "the files that judge it" not in late.text, "no other judge was seen"
    assert "test -e src/another" in late.text, "the difference of the texts is shown"
    assert events(workspace, "moved", "GATE_APPROVED") == []


@pytest.mark.requirement("page.decides")
def test_a_judge_that_was_changed_meanwhile_is_named(
    workspace: Project, page: RunningServer
) -> None:
    workspace.write("checks/judged.sh", "test -e src/judged\n")
    workspace.plan("judged", plan_text("sh checks/judged.sh"))
    form = approval(looked_at(page, "judged"), "judged")
    workspace.write("checks/judged.sh", "true\n")
    late = page.post("/plan/judged/approve", form)
    assert late.status == 409
    assert "the judge checks/judged.sh" in late.text
    assert events(workspace, "judged", "GATE_APPROVED") == []


@pytest.mark.requirement("page.decides")
def test_a_refusal_has_its_reason(workspace: Project, page: RunningServer) -> None:
    write(workspace, "refused")
    silent = page.submit("/plan/refused/gate", "/plan/refused/reject", by="ben", reason=" ")
    assert (silent.status, "has a reason" in silent.text) == (409, True)
    done = page.submit("/plan/refused/gate", "/plan/refused/reject", by="ben", reason="too broad")
    assert done.status == 303, done.text
    (said,) = events(workspace, "refused", "GATE_REJECTED")
    details = said["details"]
    assert (details["by"], details["reason"], details["method"]) == ("ben", "too broad", "page")
    gate = re.sub(r"<[^>]*>", "", page.get("/plan/refused/gate").text)
    assert "rejected this text, by ben: too broad" in gate


@pytest.mark.requirement("page.decides")
def test_nobody_decides_without_a_name(workspace: Project, page: RunningServer) -> None:
    write(workspace, "nameless")
    done = page.submit("/plan/nameless/gate", "/plan/nameless/reject", by=" ", reason="no")
    assert done.status == 409
    assert "it is not said who decides" in done.text
    assert events(workspace, "nameless", "GATE_REJECTED") == []


# -- comments ------------------------------------------------------------------------------------


@pytest.mark.requirement("page.decides", "gate.comments")
def test_comments_are_sent_as_one_review_and_answered_one_by_one(
    workspace: Project, page: RunningServer
) -> None:
    path = write(workspace, "said")
    lines = path.read_text(encoding="utf-8").splitlines()
    one, two = (lines.index(f"test -e src/said-{number}") + 1 for number in (1, 2))
    fields = {f"line-{one}": "why <b>one</b>?", f"line-{two}": "and two?", "by": "mara"}
    sent = page.submit("/plan/said/review", "/plan/said/review", **fields)
    assert sent.status == 303, sent.text
    asked = events(workspace, "said", "GATE_CLARIFICATION_ASKED")
    assert [each["details"]["line"] for each in asked] == [one, two]
    assert len({each["details"]["review"] for each in asked}) == 1
    waiting = workspace.run("inbox", "--plan", "said").out
    assert f"line {one}: why <b>one</b>?" in waiting
    shown = page.get("/plan/said/review")
    assert "why &lt;b&gt;one&lt;/b&gt;?" in shown.text
    assert "2 comments wait for an answer" in shown.text
    (action, *_) = re.findall(r'action="(/comment/\w+)"', shown.text)
    answered = page.submit("/plan/said/review", action, by="ben", text="because")
    assert answered.status == 303, answered.text
    late = page.post(action, {**hidden_fields(shown.text, action), "by": "eve", "text": "no"})
    assert late.status == 409
    assert "What happened meanwhile" in late.text
    after = page.get("/plan/said/review").text
    assert "because" in after
    assert "1 comment waits for an answer" in after


@pytest.mark.requirement("page.decides", "gate.comments")
def test_bytes_that_are_no_text_and_lines_that_are_none_break_nothing(
    workspace: Project, page: RunningServer
) -> None:
    write(workspace, "odd")
    review = "/plan/odd/review"
    no_line = {f"line-{'1' * 5_000}": "why?", "by": "mara"}
    refused = page.submit(review, review, **no_line)
    assert refused.status == 409
    assert "the plan has no line 111111111..." in refused.text
    no_text = {"line-1": "why?", "by": "m\udcffra"}
    sent = page.submit(review, review, **no_text)
    assert sent.status == 303, sent.text
    (asked,) = events(workspace, "odd", "GATE_CLARIFICATION_ASKED")
    assert asked["details"]["question"] == "why?"
    assert page.get(review).status == page.get("/inbox").status == 200


@pytest.mark.requirement("page.decides", "gate.comments")
def test_a_change_of_the_text_answers_comments(workspace: Project, page: RunningServer) -> None:
    path = write(workspace, "amended")
    text = path.read_text(encoding="utf-8")
    line = text.splitlines().index("test -e src/amended-1") + 1
    sent = page.submit("/plan/amended/review", "/plan/amended/review",
                       **{f"line-{line}": "not there", "by": "mara"})  # fmt: skip
    assert sent.status == 303, sent.text
    better = text.replace("src/amended-1", "src/better")
    saved = page.submit(
        "/plan/amended/edit", "/plan/amended/edit", do="save", text=better, by="ben"
    )
    assert saved.status == 303, saved.text
    shown = page.get("/plan/amended/review").text
    assert "lines that are gone" in shown, shown
    assert "the plan was changed: edit 1 in the file by ben" in re.sub(r"<[^>]*>", "", shown)


# -- the editor ----------------------------------------------------------------------------------


@pytest.mark.requirement("page.decides")
def test_what_is_wrong_is_shown_while_somebody_types_and_nothing_is_saved(
    workspace: Project, page: RunningServer
) -> None:
    path = write(workspace, "typed")
    text = path.read_text(encoding="utf-8")
    wrong = text.replace("**target:** coder", "**taget:** coder")
    assert wrong != text
    fields = {**hidden_fields(page.get("/plan/typed/edit").text, "/plan/typed/edit"),
              "text": wrong.replace("\n", "\r\n")}  # fmt: skip
    part = page.post("/plan/typed/edit", fields, **{"HX-Request": "true"})
    assert part.status == 200
    assert part.text.startswith("<section")
    assert "taget" in part.text
    assert "^" in part.text, "a caret shows the place"
    empty = page.post("/plan/typed/edit", {**fields, "text": ""}, **{"HX-Request": "true"})
    assert (empty.status, "the text is empty" in empty.text) == (200, True)
    assert empty.text.startswith('<section id="found"'), "what is typed next finds its place"
    whole = page.post("/plan/typed/edit", {**fields, "do": "check", "by": "mara", "reason": "so"})
    assert "**taget:** coder" in whole.text
    for said in ('name="by" value="mara"', 'name="reason" value="so"'):
        assert said in whole.text, "what was typed stays"
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.requirement("page.decides")
def test_a_text_with_new_errors_is_not_saved(workspace: Project, page: RunningServer) -> None:
    path = write(workspace, "broken")
    text = path.read_text(encoding="utf-8")
    wrong = text.replace("**target:** coder", "**taget:** coder")
    done = page.submit("/plan/broken/edit", "/plan/broken/edit", do="save", text=wrong, by="ben")
    assert done.status == 422, done.text
    assert "not saved" in done.text
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.requirement("page.decides")
def test_two_editors_do_not_write_over_each_other(workspace: Project, page: RunningServer) -> None:
    path = write(workspace, "both")
    text = path.read_text(encoding="utf-8")
    first, second = (hidden_fields(page.get("/plan/both/edit").text, "/plan/both/edit")
                     for _ in range(2))  # fmt: skip
    one, two = (text.replace("src/both-1", f"src/by-{who}") for who in ("mara", "ben"))
    saved = page.post("/plan/both/edit", {**first, "do": "save", "text": one, "by": "mara"})
    late = page.post("/plan/both/edit", {**second, "do": "save", "text": two, "by": "ben"})
    assert (saved.status, late.status) == (303, 409), saved.text
    assert "src/by-mara" in path.read_text(encoding="utf-8")


@pytest.mark.requirement("page.decides")
def test_what_the_editor_did_not_show_is_not_written_over(
    workspace: Project, page: RunningServer
) -> None:
    path = write(workspace, "prose")
    text = path.read_text(encoding="utf-8")
    form = hidden_fields(page.get("/plan/prose/edit").text, "/plan/prose/edit")
    said = f"{text}\n<!-- what somebody noted in the file, which means nothing to us -->\n"
    path.write_text(said, encoding="utf-8")
    late = page.post("/plan/prose/edit", {**form, "do": "save", "text": text, "by": "ben"})
    assert late.status == 409, late.text
    assert "the text, line by line" in late.text
    assert path.read_text(encoding="utf-8") == said


@pytest.mark.requirement("page.decides", "gate.comments")
def test_a_comment_is_on_the_line_that_was_shown(workspace: Project, page: RunningServer) -> None:
    path = write(workspace, "moved")
    text = path.read_text(encoding="utf-8")
    line = text.splitlines().index("test -e src/moved-1") + 1
    form = hidden_fields(page.get("/plan/moved/review").text, "/plan/moved/review")
    path.write_text(text.replace("## Steps", "<!-- a note -->\n\n## Steps"), encoding="utf-8")
    fields = {**form, f"line-{line}": "why?", "by": "mara"}
    assert page.post("/plan/moved/review", fields).status == 409
    assert events(workspace, "moved", "GATE_CLARIFICATION_ASKED") == []


@pytest.mark.requirement("page.decides")
@pytest.mark.parametrize("name", ["two words", "ünï", "50%", "a+b", "it's <b>", "a;b&c=d", "a?b#c"])
def test_a_plan_is_decided_about_whatever_its_name_is(
    workspace: Project, page: RunningServer, name: str
) -> None:
    workspace.plan(name, plan_text("test -e src/odd-1", "test -e src/odd-2"))
    at = f"/plan/{quote(name, safe='')}"
    done = page.submit(f"{at}/gate", f"{at}/reject", by="ben", reason="no")
    assert done.status == 303, done.text
    (said,) = events(workspace, name, "GATE_REJECTED")
    assert said["details"]["by"] == "ben"


@pytest.mark.requirement("page.decides")
def test_a_yes_to_colours_that_were_looked_at_again_is_none(
    workspace: Project, page: RunningServer
) -> None:
    write(workspace, "colours")
    form = approval(looked_at(page, "colours"), "colours")
    made = Path(workspace.workspace, "src", "colours-1")
    made.parent.mkdir(exist_ok=True)
    made.write_text("already there")
    again = looked_at(page, "colours")
    assert "green: it proves nothing" in again.text
    late = page.post("/plan/colours/approve", form)
    assert late.status == 409, late.text
    assert "what the contracts said before the work" in late.text
    assert events(workspace, "colours", "GATE_APPROVED") == []


# -- who may not ---------------------------------------------------------------------------------


@pytest.mark.requirement("page.decides")
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "", "Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
    ],
    ids=["no word of the browser", "another site", "another port", "another origin"],
)
def test_a_decision_comes_from_a_page_of_ours(
    workspace: Project, page: RunningServer, headers: dict[str, str]
) -> None:
    write(workspace, "asked")
    fields = hidden_fields(page.get("/plan/asked/gate").text, "/plan/asked/reject")
    done = page.post("/plan/asked/reject", {**fields, "by": "eve", "reason": "x"}, **headers)
    assert done.status == 403
    assert events(workspace, "asked", "GATE_REJECTED") == []


@pytest.mark.requirement("page.decides")
def test_a_page_that_only_shows_has_no_forms_and_takes_none(workspace: Project) -> None:
    write(workspace, "shown")
    with serving(workspace) as reading:
        reading.enter()
        for place in ("gate", "review", "edit"):
            answer = reading.get(f"/plan/shown/{place}")
            assert answer.status == 200, answer.text
            assert "<form" not in answer.text
        done = reading.post("/plan/shown/reject", {"by": "eve", "reason": "x", "nonce": "x"})
    assert done.status == 403
    assert events(workspace, "shown", "GATE_REJECTED") == []
