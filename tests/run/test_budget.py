"""A person is asked before the money is spent."""

from __future__ import annotations

import pytest

from tests.run.bench import Bench, Step

USAGE = """echo 'planbound-usage: {"tokens": 900, "dollars": 0.09}'; echo right > src/"""


@pytest.mark.thorough
@pytest.mark.requirement("budget.before")
def test_too_little_for_the_next_step_is_asked_about_before_it_begins(bench: Bench) -> None:
    steps = [Step(f"make {name}", work=USAGE + name) for name in "abc"]
    bench.prepare(*steps, fields="**Budget:** 1,000 tokens")
    bench.goes("run", "PLAN", code=4)
    bench.goes("resume", "PLAN", code=4)

    question = bench.question()
    assert question["kind"] == "budget"
    assert question["choices"] == ["raise", "abort", "revise"]
    assert question["reason"] == (
        "too little of the budget is left for step 2: 100 tokens of 1,000 tokens left,"
        " 900 tokens needed (the median of 1 attempt of role `coder`)"
    )
    log = bench.log()
    assert len(log.of("TASK_STARTED")) == 1
    told = log.one("BUDGET_EXCEEDED", number="2").details
    assert (told["limit"], told["left"], told["needed"]) == ("tokens", 100, 900)

    bench.answer("raise", "--budget", "800 tokens")
    bench.goes("resume", "PLAN", code=4)
    log = bench.log()
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2"]
    assert "the budget is used up: 1,800 tokens of 1,800 tokens" in bench.question()["reason"]
    bench.answer("raise", "--budget", "10k tokens")
    bench.goes("resume", "PLAN")
    assert bench.log().last["status"] == "done"
    assert len(bench.log().of("BUDGET_EXCEEDED")) == 2


@pytest.mark.thorough
@pytest.mark.requirement("budget.before")
def test_attempts_of_a_role_in_another_plan_say_what_one_needs(bench: Bench) -> None:
    bench.prepare(Step("make a", work=USAGE + "a"))
    bench.goes("run", "PLAN")
    bench.prepare(Step("make b"), name="next", fields="**Budget:** $0.05")
    bench.goes("run", "next", code=4)
    assert "$0.05 of $0.05 left, $0.09 needed" in bench.question("next")["reason"]
    assert not bench.log("next").of("TASK_STARTED")


@pytest.mark.requirement("budget.static")
def test_a_budget_that_holds_no_attempt_is_refused_before_anything_runs(bench: Bench) -> None:
    steps = [Step(f"make {name}") for name in "abc"]
    bench.lay(*steps, fields="**Budget:** max 10 tokens, $0.00001, 1 second")
    found = bench.goes("verify", "PLAN", code=1).out
    assert [found.count(f"{code}]") for code in ("PB213", "PB214")] == [3, 0], found
    digest = bench.goes("show", "PLAN", "--json").json["digest"]
    refused = bench.run("approve", "PLAN", "--digest", digest[:16], "--as", "tester")
    assert (refused.code, "PB213" in refused.out + refused.err) == (1, True)
    # What a command uses nobody knows; of a coding agent something is.
    bench.settings = ""
    bench.lay(*steps, fields="**Budget:** max 5k tokens, $0.05, 1 minute")
    assert "PB214" not in bench.goes("verify", "PLAN").out
    bench.write("planbound.toml", '[agents.coder]\nkind = "claude"\n')
    assert bench.goes("verify", "PLAN").out.count("PB214") == 3
