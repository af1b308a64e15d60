"""Plans of people are worked off by agents in the loop when they are approved, not before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import planbound
from planbound.errors import ConfigurationError
from planbound.session.decide import Accept, LoopOutcome, Reject, Silent
from planbound.session.guard import read_call, written_paths
from planbound.workspace.configuration_file import read_configuration
from tests.run.bench import Step, plan_text
from tests.session.scratch import SHOWN, A, B, Scratch
from tests.tables import first_always

MAKE_A = Step("Make a", contract="grep -qx right src/a")
HOW = "planbound approve mine"
RAN = ("BASELINE_OBSERVED", "CONTRACT_STARTED", "CONTRACT_EVALUATED", "TASK_STARTED")


def write(scratch: Scratch, *steps: Step) -> Path:
    """Write a plan as a person does, in an editor."""
    return scratch.write(".harness/PLAN-mine.md", plan_text(*steps))


@pytest.mark.thorough
@pytest.mark.requirement("loop.approval.people")
def test_what_a_person_wrote_waits_for_a_yes_on_every_surface(
    bench: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(bench, MAKE_A)
    loop = bench.loop(name="mine")
    for told in (
        loop.step_update(1, "in_progress"),
        loop.step_update(1, "done", SHOWN),
        loop.postcondition_verify(1),
        loop.plan_status(),
    ):
        assert HOW in told.text
        assert "a person wrote this plan and nobody approved it" in told.text
    assert HOW in (loop.orientation() or "")
    decision = loop.check("done")
    assert isinstance(decision, Reject)
    assert HOW in decision.missing[0]
    for variable, value in bench.environment().items():
        monkeypatch.setenv(variable, value)
    session = planbound.open_session(str(bench.workspace), plan="mine")
    assert HOW in session.call("step_update", step=1, status="in_progress").text
    event = {"session_id": "s-1", "cwd": str(bench.workspace), "tool_name": "Write"}

    def hook(moment: str, **fields: object) -> str:
        stdin = json.dumps({**event, **fields})
        done = bench.run("hook", moment, stdin=stdin, PLANBOUND_PLAN="mine")
        return done.out

    assert HOW in hook("stop")
    assert HOW in hook("pre-tool-use", tool_input={"file_path": "src/a"})
    assert hook("pre-tool-use", tool_input={"file_path": "docs/b"}).strip() == "{}"
    assert bench.log().of(*RAN) == []
    assert session.call("plan_request_approval").ok
    assert isinstance(loop.check("I wait"), Silent)
    bench.approve("mine")
    assert hook("pre-tool-use", tool_input={"file_path": "src/a"}).strip() == "{}"
    assert loop.step_update(1, "in_progress").ok
    bench.right("a")
    assert loop.step_update(1, "done", SHOWN).ok
    assert loop.check("done") == Accept(LoopOutcome.DONE)


@pytest.mark.parametrize(
    ("setting", "mine", "own"),
    [('"people"', False, True), ("true", False, False), ("false", True, True)],
)
def test_the_configuration_says_whose_plans_need_an_approval(
    tmp_path: Path, setting: str, *, mine: bool, own: bool
) -> None:
    scratch = Scratch(tmp_path, f"[gate]\napproval = {setting}\n")
    write(scratch, MAKE_A)
    assert scratch.loop(name="mine").step_update(1, "in_progress").ok is mine
    loop = scratch.loop("other", name="own")
    assert loop.plan_create("Do it", [B]).ok
    assert loop.step_update(1, "in_progress").ok is own


@pytest.mark.parametrize("value", ["agents", 1, "true", []])
def test_any_other_setting_is_refused_with_what_to_write(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"`gate\.approval` is") as refused:
        read_configuration({"gate": {"approval": value}}, path="planbound.toml")
    assert refused.value.hint == 'write `"people"`, `true` (every plan) or `false` (no plan)'


@pytest.mark.thorough
def test_a_plan_of_people_does_not_become_an_agents_own(bench: Scratch) -> None:
    file = write(bench, MAKE_A)
    loop = bench.loop(name="mine")
    assert "holds what people wrote" in loop.plan_create("Do less", [B]).text
    assert "holds what people wrote" in loop.plan_amend(add=[B], reason="more").text
    file.unlink()
    assert loop.plan_create("Do less", [B]).ok
    told = loop.step_update(1, "in_progress")
    assert "people had a hand in this plan" in told.text
    assert HOW in told.text
    bench.approve("mine")
    assert loop.step_update(1, "in_progress").ok
    # What somebody said yes to is theirs: changed by the tools, it needs another yes.
    assert loop.plan_amend(add=[A], reason="more").ok
    assert HOW in loop.step_update("make-a", "in_progress").text


@pytest.mark.requirement("loop.approval.people")
def test_what_lay_there_when_a_session_opened_stays_peoples_whatever_its_mark(
    bench: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in bench.environment().items():
        monkeypatch.setenv(variable, value)
    file = write(bench, MAKE_A)
    file.write_text(file.read_text().replace("status: draft", "status: approved"))
    session = planbound.open_session(str(bench.workspace), plan="mine")
    file.unlink()
    assert session.call("plan_create", objective="Do less", steps=[dict(B)]).ok
    assert HOW in session.call("step_update", step=1, status="in_progress").text


@pytest.mark.thorough
def test_the_same_text_by_the_tools_does_not_make_a_plan_of_people_an_agents_own(
    bench: Scratch,
) -> None:
    assert bench.loop(name="mine").plan_create("Do it", [A, B]).ok
    assert bench.log().one("PLAN_CREATED")["origin"] == "tools"
    text = bench.file.read_text()
    bench.write(".harness/PLAN-theirs.md", text)
    loop = bench.loop(name="theirs")
    assert "planbound approve theirs" in loop.plan_status().text
    (bench.workspace / ".harness/PLAN-theirs.md").unlink()
    assert loop.plan_create("Do it", [A, B]).ok
    assert "planbound approve theirs" in loop.step_update(1, "in_progress").text


def test_an_agents_plan_is_on_record_before_its_file_is_there(
    bench: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = bench.loop(name="mine")
    files = loop.session.context.files
    create = files.create
    known: list[str] = []

    def write_late(path: str, data: bytes) -> None:
        known.extend(each["origin"] for each in bench.log().of("PLAN_CREATED"))
        create(path, data)

    monkeypatch.setattr(files, "create", write_late)
    assert loop.plan_create("Do it", [A]).ok
    assert known == ["tools"]


@pytest.mark.thorough
@pytest.mark.parametrize("look", first_always([("list",), ("status", "mine"), ("verify", "mine")]))
def test_a_hand_on_an_agents_plan_that_anybody_saw_is_not_undone(
    bench: Scratch, look: tuple[str, ...]
) -> None:
    loop = bench.loop(name="mine")
    assert loop.plan_create("Do it", [A]).ok
    bench.run(*look)
    assert loop.step_update(1, "in_progress").ok
    before = bench.file.read_text()
    bench.file.write_text(f"{before.rstrip()}\n\n## Postconditions\n\n1. It was heard\n")
    bench.run(*look)
    bench.file.write_text(before)
    bench.right("a")
    assert HOW in loop.step_update(1, "done", SHOWN).text
    bench.approve("mine")
    assert loop.step_update(1, "done", SHOWN).ok


@pytest.mark.thorough
def test_who_looks_between_the_record_of_a_rewrite_and_its_file_is_no_other_hand(
    bench: Scratch,
) -> None:
    loop = bench.loop(name="mine")
    assert loop.plan_create("Do it", [A]).ok
    before = bench.file.read_text()
    assert loop.plan_amend(add=[B], reason="more").ok
    after = bench.file.read_text()
    bench.file.write_text(before)
    bench.goes("list")
    bench.file.write_text(after)
    bench.goes("list")
    assert loop.step_update(1, "in_progress").ok


@pytest.mark.parametrize("setting", first_always(['"people"', "false"]))
@pytest.mark.requirement("loop.approval.answer")
def test_a_no_and_a_question_hold_for_an_agents_own_plan_too(tmp_path: Path, setting: str) -> None:
    scratch = Scratch(tmp_path, f"[gate]\napproval = {setting}\n")
    loop = scratch.loop(name="mine")
    assert loop.plan_create("Do it", [A]).ok
    assert "no step may start" in loop.plan_request_approval().text
    scratch.right("a")
    assert "waiting for approval" in loop.step_update(1, "done", SHOWN).text
    assert isinstance(loop.check("done"), Silent)
    scratch.goes("reject", "mine", "--reason", "leave a alone", "--as", "ann")
    assert "leave a alone" in loop.step_update(1, "done", SHOWN).text
    assert isinstance(loop.check("done"), Reject)
    # Neither another text nor another plan by the name takes the place of a yes.
    assert loop.plan_amend(edit={"1": {**A, "task": "Make it."}}, reason="said anew").ok
    assert HOW in loop.step_update(1, "done", SHOWN).text
    scratch.file.unlink()
    assert loop.plan_create("Do it at last", [A]).ok
    assert HOW in loop.step_update(1, "done", SHOWN).text
    assert scratch.log().of("TASK_STARTED", "TASK_COMPLETED", "FINALIZATION_ACCEPTED") == []
    scratch.approve("mine")
    assert loop.step_update(1, "done", SHOWN).ok


@pytest.mark.thorough
def test_a_hook_refuses_work_on_what_says_another_thing_than_was_approved(bench: Scratch) -> None:
    file = write(bench, MAKE_A)
    bench.approve("mine")
    approved = file.read_text()
    event = {"session_id": "s-1", "cwd": str(bench.workspace), "tool_name": "Write"}

    def hook(path: str) -> str:
        stdin = json.dumps({**event, "tool_input": {"file_path": path}})
        return bench.run("hook", "pre-tool-use", stdin=stdin, PLANBOUND_PLAN="mine").out

    file.write_text(approved.replace("grep -qx right src/a", "test -f src/a"))
    assert HOW in hook("src/a")
    assert hook("docs/b").strip() == "{}"
    file.write_text(approved)
    assert hook("src/a").strip() == "{}"


@pytest.mark.requirement("loop.approval.judges")
def test_the_judges_of_an_approved_plan_stay_as_they_were_approved(bench: Scratch) -> None:
    bench.write("check.sh", "grep -qx right src/a\n")
    write(bench, Step("Make a", contract="sh check.sh"))
    bench.approve("mine")
    bench.write("docs/other.md", "what somebody else wrote since\n")
    loop = bench.loop(name="mine")
    bench.write("check.sh", "test -d .\n")
    told = loop.step_update(1, "done", SHOWN)
    assert not told.ok
    assert "check.sh" in told.text
    assert bench.log().one("CONTRACT_EVALUATED")["verdict"] == "tampered"
    bench.write("check.sh", "grep -qx right src/a\n")
    assert not loop.step_update(1, "done", SHOWN).ok
    bench.right("a")
    assert "is proved" in loop.step_update(1, "done", SHOWN).text
    assert loop.check("done") == Accept(LoopOutcome.DONE)


@pytest.mark.thorough
def test_an_approved_plan_changes_the_judges_that_its_touches_name(bench: Scratch) -> None:
    bench.write("tests/check.sh", "grep -qx good src/a\n")
    step = Step("Make a", contract="sh tests/check.sh", touches="tests/** src/a")
    write(bench, step)
    bench.approve("mine")
    bench.write("docs/other.md", "what somebody else wrote since\n")
    loop = bench.loop(name="mine")
    assert loop.step_update(1, "in_progress").ok
    bench.write("tests/check.sh", "grep -qx right src/a\n")
    bench.right("a")
    told = loop.step_update(1, "done", SHOWN)
    assert "is proved" in told.text, told.text
    assert loop.check("done") == Accept(LoopOutcome.DONE)


def test_what_was_never_approved_was_not_changed_since_its_approval(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "[gate]\napproval = false\n")
    scratch.goes("new", "mine")
    write(scratch, MAKE_A)
    loop = scratch.loop(name="mine")
    assert loop.step_update(1, "in_progress").ok
    write(scratch, MAKE_A, Step("Make b"))
    assert loop.step_update(2, "in_progress").ok


@pytest.mark.thorough
def test_a_policy_may_say_the_yes(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, '[gate.policies.small]\ntouches = ["src/**"]\nsteps = 3\n')
    write(scratch, MAKE_A, Step("Make b"), Step("Make c"))
    loop = scratch.loop(name="mine")
    assert HOW in loop.step_update(1, "in_progress").text
    scratch.goes("approve", "mine", "--policy", "small")
    assert loop.step_update(1, "in_progress").ok


def test_a_name_is_free_again_when_the_plan_is_at_its_end(bench: Scratch) -> None:
    write(bench, MAKE_A)
    bench.goes("verify", "mine")
    bench.goes("archive", "mine")
    loop = bench.loop(name="mine")
    assert loop.plan_create("Do it", [B]).ok
    assert loop.step_update(1, "in_progress").ok


def test_a_plan_of_people_with_faults_is_asked_for_and_the_faults_are_told(bench: Scratch) -> None:
    text = plan_text(MAKE_A).replace("**contract:**", "**contrat:**")
    bench.write(".harness/PLAN-mine.md", text)
    told = bench.loop(name="mine").plan_request_approval()
    assert told.ok
    assert "Tell the person" in told.text
    assert len(bench.log().of("GATE_APPROVAL_REQUESTED")) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "paths"),
    [
        ("Bash", {"command": "echo x > src/a; bash -c 'rm src/b' >/dev/null 2>&1"}, "src/a src/b"),
        ("Bash", {"command": "cp src/a /tmp/b && ls"}, ""),
        ("Edit", {"file_path": "/ws/src/a"}, "src/a"),
        ("Write", {"file_path": "/elsewhere/a"}, ""),
        ("Read", {"file_path": "/ws/src/a"}, ""),
    ],
)
def test_what_a_call_would_write_is_seen(
    tool: str, arguments: dict[str, object], paths: str
) -> None:
    assert list(written_paths(read_call(tool, arguments), "/ws")) == paths.split()
