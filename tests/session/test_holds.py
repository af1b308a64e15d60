"""In the loop, too, only red before and green after is proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.session.decide import Accept, Reject
from tests.session.scratch import SHOWN, A, Given, Scratch

GREEN = "it was green before the work"
LINT: Given = {"title": "Check the lint", "contract": "test -f src/readme"}
C: Given = {"title": "Make c", "contract": "grep -qx right src/c", "touches": ["src/c"]}


@pytest.mark.thorough
@pytest.mark.requirement("loop.holds")
def test_what_was_green_when_the_plan_was_written_holds(bench: Scratch) -> None:
    scratch = bench
    loop = scratch.loop()
    conditions: list[Given] = [{"statement": "There are sources", "contract": "test -d src"}]
    loop.plan_create("Make it", [A, LINT, C], conditions)
    seen = [event["verdict"] for event in scratch.log().of("BASELINE_OBSERVED")]
    assert seen == ["fail", "pass", "fail", "pass"]
    scratch.right("a", "c")
    assert "is proved (`grep" in loop.step_update(1, "done", evidence=SHOWN).text
    told = loop.step_update(2, "done", evidence=SHOWN)
    assert told.ok
    assert f"holds ({GREEN}): it is settled, and not proved" in told.text
    assert (told.data["proved"], told.data["holds"]) == (False, True)
    assert f"holds ({GREEN})" in loop.postcondition_verify(1, evidence=SHOWN).text
    shown = loop.plan_show().text
    assert f"[=] 2 Check the lint: holds ({GREEN})" in shown
    assert f"[=] 1 There are sources: holds ({GREEN})" in shown
    assert "2 of 3 steps settled: 1/3 proved, 1 holds" in shown
    assert "2/3 steps (1/3 proved, 1 holds)" in loop.plan_status().text
    # The third is judged by the gate, and proved by what was seen when the plan was written.
    found = loop.check("all done")
    assert isinstance(found, Accept)
    assert found.holds == (f"step 2 “Check the lint” ({GREEN})",)
    assert "### 2. 🆗 Check the lint" in scratch.file.read_text()
    status = scratch.status("make-it")
    assert [step["status"] for step in status["steps"]] == ["proved", "holds", "proved"]
    assert "2/3 steps, 1 holds" in scratch.goes("list").out
    assert scratch.log("make-it").last["holds"] == [f"step 2 “Check the lint” ({GREEN})"]


@pytest.mark.requirement("loop.holds", "gate.require-proved")
def test_where_all_has_to_be_proved_a_step_that_holds_is_refused(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, '[gate]\nrequire = "proved"\n')
    loop = scratch.loop()
    loop.plan_create("Make it", [LINT], [{"statement": "Sources", "contract": "test -d src"}])
    found = loop.check("done")
    assert isinstance(found, Reject)
    (missing,) = found.missing
    assert missing.startswith(f"step 1 “Check the lint” holds ({GREEN}), and has to be proved")
    assert "a contract that fails without the work by `plan_amend(...)`" in missing
    loop.plan_amend(edit={"1": A}, reason="lint is a postcondition")
    scratch.right("a")
    assert isinstance(loop.check("done"), Accept)


@pytest.mark.requirement("loop.holds")
def test_what_nobody_looked_at_before_holds_with_words_that_say_so(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "[gate]\napproval = false\n")
    loop = scratch.loop()
    loop.plan_create("Make it", [A, C])
    scratch.write("src/c", "right\n")
    # Other contracts, by unknown hands: nobody looked at those.
    scratch.file.write_text(scratch.file.read_text().replace("grep -qx", "grep -q"))
    told = loop.step_update(2, "done", evidence=SHOWN)
    assert "holds (nobody saw it red)" in told.text
    # The first look counts, whoever made it: here it is the judging itself.
    assert not loop.step_update(1, "done", evidence=SHOWN).ok
    scratch.right("a")
    assert "is proved" in loop.step_update(1, "done", evidence=SHOWN).text


@pytest.mark.requirement("loop.holds")
def test_a_verifier_of_ones_own_is_looked_at_before_the_work(bench: Scratch) -> None:
    trouble = ["it is down"]
    loop = bench.loop(is_up=lambda: trouble[0] if trouble else None, is_there=lambda: None)
    loop.plan_create(
        "Start it",
        [
            {"title": "Start the service", "check": {"is_up": {}}},
            {"title": "Keep it", "check": {"is_there": {}}},
        ],
    )
    trouble.clear()
    assert "is proved" in loop.step_update(1, "done", evidence=SHOWN).text
    assert f"holds ({GREEN})" in loop.step_update(2, "done", evidence=SHOWN).text


@pytest.mark.requirement("loop.holds", "run.holds-red")
def test_where_red_is_demanded_a_green_step_is_not_settled(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, '[judging]\nbaseline = "red"\n')
    loop = scratch.loop(is_there=lambda: None)
    loop.plan_create("Make it", [LINT, {"title": "Keep it", "check": {"is_there": {}}}, A])
    for number in (1, 2):
        told = loop.step_update(number, "done", evidence=SHOWN)
        assert not told.ok
        assert f"{GREEN}, and red is demanded" in told.text
    scratch.right("a")
    assert loop.step_update(3, "done", evidence=SHOWN).ok


@pytest.mark.thorough
@pytest.mark.requirement("loop.holds")
def test_a_plan_that_a_person_approved_is_looked_at_by_the_approval(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "[gate]\napproval = true\n")
    loop = scratch.loop()
    loop.plan_create("Make it", [A, LINT])
    assert not scratch.log().of("BASELINE_OBSERVED")
    loop.plan_request_approval()
    scratch.approve("make-it")
    scratch.right("a")
    assert "is proved" in loop.step_update(1, "done", evidence=SHOWN).text
    assert f"holds ({GREEN})" in loop.step_update(2, "done", evidence=SHOWN).text


@pytest.mark.requirement("judging.check", "loop.holds")
def test_a_table_of_cases_is_judged_in_the_loop_and_no_tool_loses_it(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "[gate]\napproval = false\n")
    loop = scratch.loop()
    loop.plan_create("Make it", [A, C])
    table = '```check\ncommand: cat src/a\n{"stdout": "right"}\n```'
    text = scratch.file.read_text().replace("```shell\ngrep -qx right src/a\n```", table)
    assert table in text
    scratch.file.write_text(text)
    told = loop.step_update(1, "done", evidence=SHOWN)
    assert not told.ok
    assert "case 1: exit code 1, expected 0" in told.text
    refused = loop.plan_amend(edit={"2": A}, reason="another one")
    assert "a table of cases, which would be lost" in refused.text
    assert table in scratch.file.read_text()
    scratch.right("a")
    assert loop.step_update(1, "done", evidence=SHOWN).ok
