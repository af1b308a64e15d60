"""What a run and its commands say to people, so that they know what to do next."""

from __future__ import annotations

import pytest

from tests.run.bench import NOTHING, Bench, Step

ASKS = Step("make a", work=(NOTHING, ""), fields="**on_fail:** escalate")


@pytest.mark.requirement("command.answer")
def test_a_question_can_be_answered_by_the_name_of_its_plan(bench: Bench) -> None:
    bench.prepare(ASKS)
    bench.goes("run", code=4)
    assert "make a" in bench.goes("inbox", "PLAN").out
    bench.goes("answer", "PLAN", "retry", "--as", "tester")
    bench.goes("resume", code=4)


@pytest.mark.requirement("command.inbox")
def test_a_new_approval_leaves_no_question_of_the_run_before(bench: Bench) -> None:
    bench.prepare(ASKS)
    bench.goes("run", code=4)
    bench.write(".harness/PLAN.md", bench.plan_file.read_text().replace("into the", "to the"))
    bench.approve()
    assert bench.goes("inbox").out == "nothing waits for a person\n"


@pytest.mark.thorough
@pytest.mark.requirement("command.status")
def test_the_status_of_a_run_that_nobody_drives_says_how_it_goes_on(bench: Bench) -> None:
    bench.prepare(ASKS)
    asked = bench.goes("run", code=4)
    (question,) = bench.goes("inbox", "--json").json["waiting"]
    assert (
        f"waits for a person, question {question['id']}: the contract failed (exit 2" in asked.out
    )
    said = bench.goes("answer", "PLAN", "retry", "--as", "tester")
    assert "go on with `planbound resume PLAN`" in said.err
    assert "nobody drives it now: go on with `planbound resume PLAN`" in bench.goes("status").out


@pytest.mark.thorough
@pytest.mark.requirement("command.run")
def test_a_run_that_failed_says_how_it_goes_on(bench: Bench) -> None:
    bench.prepare(Step("make a", work=NOTHING, fields="**on_fail:** abort"))
    failed = bench.goes("run", code=1)
    assert "`planbound resume PLAN`" in failed.err
    bench.write(".harness/PLAN.md", bench.plan_file.read_text().replace("into the", "to the"))
    assert "`planbound amend PLAN`" in bench.goes("resume", code=2).err


@pytest.mark.thorough
@pytest.mark.requirement("command.run")
def test_a_failed_contract_is_told_by_what_it_said_last(bench: Bench) -> None:
    bench.prepare(
        Step("make a", work=NOTHING, contract="ls src; echo no such thing; exit 1"),
        Step("make b", work=NOTHING, contract="ls src", expect="exit_code == 1"),
        after=(),
    )
    bench.goes("run", code=4)
    bench.goes("waive", "PLAN", "1", "--reason", "never mind", "--as", "tester")
    bench.goes("resume", code=4)
    said = bench.goes("attach", code=4).out
    assert "make a: contract failed (exit 1): no such thing" in said
    assert "make b: contract failed (exit 0, expected 1; phantom completion" in said


@pytest.mark.thorough
@pytest.mark.requirement("command.log")
def test_the_log_tells_an_attempt_in_a_line(bench: Bench) -> None:
    bench.prepare(Step("make a"))
    bench.goes("run")
    (line,) = bench.goes("log", "--event", "ATTEMPT_ENDED").out.splitlines()
    assert "attempt 1, agent coder, ending exited, exit_code 0" in line
    assert "prompt" not in line
