"""What the tools answer, and how they are called."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import planbound
from planbound.session.hosts.host import SKILL
from planbound.session.mcp.server import PlanServer
from tests.program import SOUND
from tests.session.mcp.fake import fake_server
from tests.session.scratch import SHOWN, A, B, Scratch

SEEN = r"`grep -qx right src/a`, exit 0, \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
THERE = {"statement": "a is there", "contract": "test -s src/a"}


@pytest.mark.requirement("loop.answers")
@pytest.mark.requirement("loop.evidence")
def test_answers_say_what_was_taken_down_and_then_what_was_seen(bench: Scratch) -> None:
    loop = bench.loop()
    told = loop.plan_create(
        "Do it", [A, B, "Say it"], [THERE, "It was heard"], preconditions=["x y"]
    )
    head = told.text.splitlines()[0]
    assert head.startswith("plan created with 3 steps, 1 precondition and 2 postconditions: `")
    assert head.endswith(".harness/PLAN-do-it.md`")
    assert loop.step_update(1, "in_progress", SHOWN).text.startswith("step 1 → in_progress\n")
    failed = loop.step_update(1, "done", SHOWN)
    assert failed.text.startswith("step 1 “Make a” is not proved: exit ")
    bench.right("a")
    first, second = loop.step_update(1, "done", SHOWN, notes="it took\ntwo tries").text.splitlines()
    assert first == "step 1 → done"
    assert re.fullmatch(rf"step 1 “Make a” is proved \({SEEN}\)\.", second)
    claimed = loop.step_update(3, "done", SHOWN).text
    assert claimed.startswith("step 3 → done\nstep 3 “Say it” is claimed, which nobody has proved.")
    verified = loop.postcondition_verify(1).text
    assert verified.startswith("postcondition 1 → verified\npostcondition 1 “a is there” is proved")
    assert loop.postcondition_verify(2, SHOWN).text.startswith("postcondition 2 → claimed\n")
    assert loop.step_update(2, "blocked", "no key for it").text.startswith("step 2 → blocked\n")
    assert loop.step_update(2, "pending").text.startswith("step 2 → pending\n")
    shown = loop.plan_show().text
    assert re.search(
        rf"\[x\] 1 Make a: proved\n    evidence: {SEEN}\n    notes: it took two tries\n", shown
    )
    assert re.search(r"\[x\] 1 a is there: proved\n    evidence: `test -s src/a`, exit 0, ", shown)
    assert shown == bench.loop("another", name="do-it").plan_show().text
    assert "evidence:" not in loop.plan_show("open").text


@pytest.mark.requirement("loop.numbers")
def test_an_item_is_called_by_either_name(bench: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in bench.environment().items():
        monkeypatch.setenv(variable, value)
    session = planbound.open_session(str(bench.workspace))
    session.call("plan_create", objective="Do it", steps=[A, B], postconditions=["It was heard"])

    def update(**which: object) -> str:
        return session.call("step_update", status="in_progress", **which).text

    assert update(step_number=1).startswith("step 1 → in_progress")
    assert update(step="make-a", step_number="1").startswith("step 1 → in_progress")
    assert "these are two steps. give one of them" in update(step=1, step_number=2)
    assert "`step` is missing" in update()
    by_name = {tool.__name__: tool for tool in planbound.tools(session)}
    verify = by_name["postcondition_verify"]
    assert "these are two postconditions" in verify(postcondition=1, postcondition_number=2)
    assert verify(postcondition_number=1, evidence=SHOWN).startswith("postcondition 1 → claimed")
    block = by_name["postcondition_block"]
    assert block("1", "no loudspeaker here").startswith("postcondition 1 → blocked")
    # Called by place as ever; a schema that is made of it demands the status, and not the step.
    update_ = by_name["step_update"]
    assert update_(2, "in_progress").startswith("step 2 → in_progress")
    assert "called wrongly" in update_(2, "in_progress", step=2)
    assert "called wrongly" in update_(2)
    needed = [
        each.name
        for each in inspect.signature(update_).parameters.values()
        if each.default is inspect.Parameter.empty
    ]
    assert needed == ["status"]


@pytest.mark.requirement("loop.numbers")
@pytest.mark.anyio
async def test_the_schemas_of_mcp_take_either_name(tmp_path: Path) -> None:
    server: PlanServer = fake_server(tmp_path)
    tools = {tool.name: tool.input_schema for tool in await server.list_tools()}
    assert tools["step_update"]["required"] == ["status"]
    assert {"step", "step_number"} <= tools["step_update"]["properties"].keys()
    assert tools["postcondition_block"]["required"] == ["reason"]
    assert "postcondition_number" in tools["postcondition_verify"]["properties"]
    assert "preconditions" in tools["plan_create"]["properties"]


@pytest.mark.requirement("loop.python.instructions")
def test_every_surface_hands_out_the_same_instructions(
    bench: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = planbound.instructions()
    assert SKILL.endswith(text)
    assert fake_server(tmp_path).instructions == text
    assert len(text.encode()) < 2048  # clients cut off what is longer
    for tool in ("plan_create", "step_update", "postcondition_verify", "plan_finish"):
        assert f"`{tool}(" in text
    for variable, value in bench.environment().items():
        monkeypatch.setenv(variable, value)
    session = planbound.open_session(str(bench.workspace))
    assert planbound.instructions(session) == text
    session.call("plan_create", objective="Do it", steps=[A])
    assert planbound.instructions(session).startswith(text)
    assert "This session works on the plan `do-it`" in planbound.instructions(session)


@pytest.mark.requirement("loop.unbound")
def test_a_session_without_a_plan_is_told_which_there_are_and_takes_none(bench: Scratch) -> None:
    assert "there is no plan yet: `plan_create(" in bench.loop().plan_show().text
    for name in ("one", "two"):
        bench.plan(name, SOUND)
    loop = bench.loop()
    for told in (loop.plan_show(), loop.plan_status(), loop.step_update(1, "done", SHOWN)):
        assert not told.ok
        assert told.data["error"] == "this session is bound to no plan"
        assert "- `one`: draft, 0/3 steps proved\n- `two`: draft" in told.text
        assert "before a person binds" in told.text
        assert "PLANBOUND_PLAN=one" in told.text
        assert "`plan_create(objective, steps, postconditions)` goes on with none" in told.text
    assert loop.plan_create("Do it", [A]).ok
    assert loop.plan_show().data["plan"] == "do-it"


@pytest.mark.requirement("loop.unbound")
def test_a_plan_without_a_name_that_nobody_approved_is_named_too(bench: Scratch) -> None:
    bench.write(".harness/PLAN.md", SOUND)
    assert "- `PLAN`: draft, 0/3 steps proved" in bench.loop().plan_show().text


@pytest.mark.requirement("loop.evidence")
def test_a_step_with_a_contract_is_judged_without_a_word(bench: Scratch) -> None:
    loop = bench.loop()
    two_lines = {**A, "contract": "grep -qx right src/a\ntest -s src/a"}
    loop.plan_create("Do it", [two_lines, "Say it"])
    failed = loop.step_update(1, "done")
    assert failed.text.startswith("step 1 “Make a” is not proved: exit ")
    bench.right("a")
    proved = loop.step_update(1, "done", "x")
    assert proved.ok
    assert "is proved (`grep -qx right src/a …`, exit 0, " in proved.text
    assert "the evidence is blank" in loop.step_update(2, "done").text
    assert "the evidence is too short to say anything" in loop.step_update(2, "done", "x").text
    assert "the plan has no postconditions" in loop.postcondition_verify(1).text


@pytest.mark.requirement("loop.evidence")
def test_a_contract_in_a_fence_and_a_step_without_a_title_are_named(bench: Scratch) -> None:
    loop = bench.loop()
    fenced = {**A, "contract": "```shell\ngrep -qx right src/a\n```"}
    refused = loop.plan_create("Do it", ["Say it", fenced])
    assert not refused.ok
    assert "the contract of step 2 stands in a fence of Markdown" in refused.text
    assert "give the command alone" in refused.text
    assert loop.plan_create("Do it", [A, B]).ok
    refused = loop.plan_amend(edit={"2": {"contract": "test -s src/b"}}, reason="shorter")
    assert "the title of step 2 is missing" in refused.text
