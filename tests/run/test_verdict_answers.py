"""What the harness finds, and what it does about it: caught, put back, tried again, asked."""

from __future__ import annotations

import time

import pytest

from tests.needs import need
from tests.run.bench import NOTHING, Bench, Step, until
from tests.tables import first_always

A, B, C = Step("Make a"), Step("Make b"), Step("Make c")
TEST = "#!/bin/bash\ngrep -qx right src/a\n"
JUDGED = "bash check.sh"
MAKEFILE = "check:\n\tgrep -qx right src/a\n"
OTHER = "printf 'check:\\n\\ttrue\\n' > GNUmakefile"
"""What `make` takes before any `Makefile`."""
USAGE = "echo 'planbound-usage: {{\"tokens\": {tokens}}}'"


@pytest.fixture
def quick(bench: Bench) -> Bench:
    return bench


def starts(bench: Bench, number: str) -> int:
    """Return how often a step was begun."""
    return len(bench.log().of("TASK_STARTED", number=number))


def prompts(bench: Bench, number: str) -> list[str]:
    """Return what the agent was told at each attempt."""
    return [event["prompt"] for event in bench.log().of("ATTEMPT_ENDED", number=number)]


# -- agents that cheat, or do nothing ----------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("run.put-back")
def test_an_edited_judge_is_put_back_and_the_agent_warned_once(bench: Bench) -> None:
    need("make", "its files are judges")
    bench.write("Makefile", MAKEFILE)
    bench.prepare(Step("Make a", work=OTHER, contract="make -s check"), B, C)
    bench.goes("run", "PLAN", code=4)
    log = bench.log()
    assert [event["verdict"] for event in log.of("CONTRACT_EVALUATED")] == ["tampered"] * 2
    assert [event["failure_type"] for event in log.of("FAILURE_CLASSIFIED")] == ["tampered"] * 2
    caught = log.of("JUDGE_TAMPERED")
    assert [event["files"] for event in caught] == [["GNUmakefile"]] * 2
    assert all(event["restored"] for event in caught)
    assert not (bench.workspace / "GNUmakefile").exists()
    assert len(log.of("RECOVERY_APPLIED")) == 1
    first, second = prompts(bench, "1")
    assert "GNUmakefile" not in first
    assert "They were put back; do not touch them again" in " ".join(second.split())
    assert "- GNUmakefile" in second
    assert bench.question()["exhausted"] is True


@pytest.mark.thorough
def test_an_agent_that_was_warned_may_still_do_it_right(bench: Bench) -> None:
    need("make", "its files are judges")
    bench.write("Makefile", MAKEFILE)
    works = (f"{OTHER}; echo right > src/a", "echo right > src/a")
    bench.prepare(Step("Make a", work=works, contract="make -s check"), B, C)
    bench.goes("run", "PLAN")
    assert starts(bench, "1") == 2
    assert not (bench.workspace / "GNUmakefile").exists()


@pytest.mark.thorough
@pytest.mark.requirement("cell.agent")
def test_a_judge_that_is_there_cannot_be_edited_in_the_first_place(bench: Bench) -> None:
    bench.write("check.sh", TEST)
    cheats = "echo 'exit 0' > check.sh || echo right > src/a"
    bench.prepare(Step("Make a", work=cheats, contract=JUDGED), B, C)
    bench.goes("run", "PLAN")
    assert bench.read("check.sh") == TEST
    assert "Read-only" in bench.log().of("ATTEMPT_ENDED")[0]["output_tail"]


@pytest.mark.thorough
@pytest.mark.requirement("run.put-back")
def test_files_out_of_scope_are_put_back_and_named(bench: Bench) -> None:
    bench.write("src/readme", "some sources\n")
    roams = "echo right > src/a; echo mine > src/readme; mkdir -p docs; echo new > docs/new"
    bench.prepare(Step("Make a", work=(roams, "echo right > src/a")), B, C)
    bench.goes("run", "PLAN")
    log = bench.log()
    assert log.one("SCOPE_VIOLATED")["files"] == ["docs", "docs/new", "src/readme"]
    assert log.one("SCOPE_VIOLATED")["restored"] is True
    assert log.of("CONTRACT_EVALUATED", number="1")[0]["verdict"] == "out-of-scope"
    assert bench.read("src/readme") == "some sources\n"
    assert not (bench.workspace / "docs").exists()
    assert bench.read("src/a") == "right\n", "what the step may change stays as it left it"
    assert "- src/readme" in prompts(bench, "1")[1]


@pytest.mark.thorough
@pytest.mark.requirement("invariant.only-the-harness-proves")
def test_done_is_not_done_when_nothing_was(bench: Bench) -> None:
    says = "echo 'All done! The step is complete, every test passes.'"
    step = Step("Make a", work=says, fields="**on_fail:** retry(1), then escalate")
    bench.prepare(step, B, C)
    bench.goes("run", "PLAN", code=4)
    log = bench.log()
    assert not log.of("TASK_COMPLETED")
    first, second = prompts(bench, "1")
    assert "did not pass" not in first
    assert "did not pass" in second
    assert "grep -qx right src/a" in second
    assert "exit code 2" in second
    assert "No such file or directory" in second
    assert "exit code 0" in second, "what was expected"
    question = bench.question()
    assert question["exhausted"] is True
    assert "No such file" in question["output_tail"]


@pytest.mark.requirement("recovery.no-progress")
@pytest.mark.parametrize(
    ("before", "work", "attempts"),
    first_always(
        [
            ("date +%s.%N", "echo I tried $attempt times", 2),
            ("head -c 9 /dev/urandom | base64 | tr 0-9 x", "true", 3),
            ("true", "head -c 9 /dev/urandom | base64 | tr 0-9 x", 3),
        ],
        fields=3,
    ),
    ids=["the same but for numbers", "another output of the contract", "other words"],
)
def test_the_same_failure_on_the_same_tree_stops_early(
    bench: Bench, before: str, work: str, attempts: int
) -> None:
    step = Step(
        "Make a",
        work=f"{work}; echo wrong > src/a",
        contract=f"{before}; grep -qx right src/a",
        fields="**on_fail:** retry(9)",
    )
    bench.prepare(step, B, C)
    bench.goes("run", "PLAN", code=4)
    assert starts(bench, "1") == attempts
    assert "no progress" in bench.question()["reason"]


@pytest.mark.thorough
def test_another_failure_each_time_is_progress(bench: Bench) -> None:
    step = Step("Make a", work="echo $attempt > src/a", fields="**on_fail:** retry(3)")
    bench.prepare(step, B, C)
    bench.goes("run", "PLAN", code=4)
    assert starts(bench, "1") == 4
    assert "no progress" not in bench.question()["reason"]
    assert "+4" in bench.question()["diff"]


# -- contracts that are wrong ------------------------------------------------------------------


@pytest.mark.thorough
def test_a_contract_that_checks_nothing_goes_to_a_person(bench: Bench) -> None:
    bench.prepare(Step("Make a", contract="test -d src", fields="**baseline:** red"), B, C)
    bench.goes("run", "PLAN", code=4)
    log = bench.log()
    assert log.of("CONTRACT_EVALUATED")[0]["verdict"] == "vacuous"
    assert log.one("FAILURE_CLASSIFIED")["failure_type"] == "vacuous"
    assert starts(bench, "1") == 1


@pytest.mark.thorough
def test_tests_that_were_not_collected_are_no_pass(bench: Bench) -> None:
    quiet = "test -s src/a && echo 'collected 0 items' && echo '==== no tests ran in 0.01s ===='"
    bench.prepare(Step("Make a", contract=quiet, expect="tests >= 1"), B, C)
    bench.goes("run", "PLAN", code=4)
    verdict = bench.log().of("CONTRACT_EVALUATED")[0]["verdict"]
    assert verdict == "vacuous"
    assert starts(bench, "1") == 1


@pytest.mark.thorough
@pytest.mark.requirement("invariant.inconclusive")
def test_a_contract_that_cannot_run_is_not_the_agents_fault(bench: Bench) -> None:
    step = Step("Make a", contract="test -s src/a && no-such-checker src/a")
    bench.lay(step, B, C)
    bench.approve("PLAN", "--missing-tools")
    bench.goes("run", "PLAN", code=4)
    log = bench.log()
    assert log.of("CONTRACT_EVALUATED")[0]["verdict"] == "unrunnable"
    assert starts(bench, "1") == 1
    assert not log.of("RECOVERY_APPLIED")
    assert "no-such-checker" in bench.question()["output_tail"]


@pytest.mark.thorough
def test_a_contract_of_two_minds_is_never_a_pass(bench: Bench) -> None:
    # Red, then green, with nothing changed between: a person broke it in the meantime.
    flag = bench.folder / "home" / "flag"
    contract = f"test -s src/a && test -e {flag}"
    settings = f'[contracts]\nread = ["{flag.parent}"]\n'
    step = Step("Make a", contract=contract, fields="**on_fail:** escalate")
    bench.prepare(step, B, C, settings=settings)
    bench.goes("run", "PLAN", code=4)
    flag.write_text("up\n")
    bench.answer("retry")
    bench.goes("resume", "PLAN", code=4)
    log = bench.log()
    assert [event["verdict"] for event in log.of("CONTRACT_EVALUATED")] == ["fail", "flaky"]
    assert not log.of("TASK_COMPLETED")
    assert bench.question()["failure_type"] == "flaky"


# -- what failed, and what came of what was done about it --------------------------------------


def outcomes(bench: Bench) -> dict[str, list[str]]:
    """Return by step what came of its recoveries; each is told once, behind what it is about."""
    log = bench.log()
    told = log.of("RECOVERY_OUTCOME")
    applied = {event.id: event for event in log.of("RECOVERY_APPLIED")}
    assert len({event["recovery"] for event in told}) == len(told)
    assert all(applied[event["recovery"]].seq < event.seq for event in told)
    assert all(applied[event["recovery"]].task == event.task for event in told)
    found: dict[str, list[str]] = {}
    for event in told:
        found.setdefault(event.number or "", []).append(event["outcome"])
    assert len(told) == len(applied), "nobody says what came of a recovery"
    return found


@pytest.mark.thorough
@pytest.mark.requirement("recovery.error")
@pytest.mark.requirement("recovery.outcome")
def test_every_face_says_what_failed_and_the_journal_what_came_of_it(quick: Bench) -> None:
    quick.settings += '[recovery.transient]\nbackoff = ["1s"]\n'
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    lost = f"echo 'Connection timeout {token} \x07' >&2; echo '    at x.js:1' >&2; exit 1"
    steps = (
        Step("Make a", work=("echo 'Connection timeout' >&2; exit 1", "echo right > src/a")),
        Step("Make b", work=("sleep 600", "echo right > src/b"), fields="**timeout:** 1s"),
        Step(
            "Make c",
            work=("echo wrong > src/c", "echo worse > src/c", "echo right > src/c"),
            contract="grep -qx right src/c || { echo 'Error: c is off'; echo bye; exit 1; }",
        ),
        Step("Make d", work=lost),
        Step("Make e", work="exit 5", depends="3"),
    )
    quick.prepare(*steps)
    shown = quick.goes("run", "PLAN", code=4).out
    log = quick.log()
    found = {
        number: (event["failed"], event["error_message"], event["exit_code"])
        for number in "12345"
        for event in log.of("FAILURE_DETECTED", number=number)[:1]
    }
    assert found["1"] == ("agent", "Connection timeout", 1)
    assert found["2"] == ("time limit", "the agent ran past 1 s", None)
    assert found["3"] == ("contract", "exit 1: Error: c is off", 1)
    assert found["4"][1].startswith("Connection timeout [redacted:")
    assert found["4"][1].endswith("\\x07")
    assert found["5"] == ("agent", "the agent ended with 5", 5)
    assert "[Task 1/5] ✗ Make a: agent failed (exit 1): Connection timeout\n" in shown
    assert "[Task 2/5] ✗ Make b: time limit: the agent ran past 1 s\n" in shown
    assert "[Task 3/5] ✗ Make c: contract failed (exit 1): Error: c is off\n" in shown
    assert "[Task 5/5] ✗ Make e: agent failed (exit 5)\n" in shown
    assert "the agent failed (exit 1): Connection timeout" in quick.run("inbox").out
    status = quick.run("status").out
    assert "4. Make d: waiting, attempt 3, agent failed (exit 1): Connection timeout" in status
    assert outcomes(quick) == {
        "1": ["success"],
        "2": ["success"],
        "3": ["failed", "success"],
        "4": ["failed", "escalated"],
    }
    assert quick.verifies()


@pytest.mark.thorough
@pytest.mark.requirement("recovery.outcome")
@pytest.mark.parametrize(
    "where", first_always(["before:RECOVERY_OUTCOME:2", "after:RECOVERY_OUTCOME:2"])
)
def test_what_came_of_a_recovery_is_told_once_over_a_kill(quick: Bench, where: str) -> None:
    wrong = ("echo wrong > src/a", "echo worse > src/a", "echo right > src/a")
    quick.prepare(Step("Make a", work=wrong), B)
    quick.run("run", "PLAN", PLANBOUND_FAILPOINT=where)
    quick.goes("run", "PLAN")
    assert outcomes(quick)["1"][-1] == "success"
    assert quick.verifies()


@pytest.mark.thorough
@pytest.mark.requirement("recovery.outcome")
def test_a_recovery_that_nobody_comes_back_to_ends_too(quick: Bench) -> None:
    quick.settings += '[recovery.transient]\nbackoff = ["1h"]\n'
    reset = "echo 'connection reset by peer' >&2; exit 1"
    quick.prepare(Step("Make a", work=reset), Step("Make b", work=reset), C)
    with quick.start("run", "PLAN") as process:
        until(lambda: len(quick.log().of("RECOVERY_APPLIED")) == 1)
        # Whoever waits goes on at once where somebody decides something.
        quick.goes("waive", "PLAN", "1", "--reason", "later", "--as", "tester")
        until(lambda: len(quick.log().of("RECOVERY_APPLIED")) == 2)
        quick.goes("cancel", "PLAN", "--as", "tester")
        process.wait(60)
    assert outcomes(quick) == {"1": ["escalated"], "2": ["failed"]}
    assert quick.log().last.kind == "EXECUTION_COMPLETE"


# -- agents in trouble -------------------------------------------------------------------------


@pytest.mark.thorough
def test_an_agent_that_hangs_is_stopped_and_tried_as_often_as_the_plan_says(bench: Bench) -> None:
    step = Step("Make a", work="sleep 600", fields="**timeout:** 1s\n**on_fail:** retry(2)")
    bench.prepare(step, B, C)
    bench.goes("run", "PLAN", code=4)
    log = bench.log()
    assert [event["ending"] for event in log.of("ATTEMPT_ENDED")] == ["timed out"] * 3
    assert [event["failure_type"] for event in log.of("FAILURE_CLASSIFIED")] == ["hung"] * 3
    assert [event["of"] for event in log.of("RECOVERY_APPLIED")] == [2, 2]
    bench.ends_all()


@pytest.mark.thorough
@pytest.mark.requirement("recovery.agent")
def test_an_agent_that_breaks_down_costs_the_step_no_retry_and_its_last_words_are_shown(
    quick: Bench,
) -> None:
    breaks = """python3 -c 'print({}["choices"][0])'"""
    # Twice its own trouble, then the one retry that the plan allows, and then it is done.
    works = (breaks, "echo wrong > src/a", breaks, "echo right > src/a")
    quick.prepare(Step("Make a", work=works, fields="**on_fail:** retry(1)"), B, C)
    done = quick.goes("run", "PLAN")
    log = quick.log()
    kinds = [event["failure_type"] for event in log.of("FAILURE_CLASSIFIED")]
    assert kinds == ["agent", "logic", "agent"]
    assert "✗ Make a: agent failed (exit 1): KeyError: 'choices'" in done.out
    assert "↻ Make a: the agent broke down, retry 1 of 2" in done.out
    assert "↻ Make a: the agent broke down, retry 2 of 2" in done.out
    assert "logic error, retry 1 of 1" in done.out


@pytest.mark.thorough
@pytest.mark.requirement("recovery.agent")
def test_an_agent_that_breaks_down_again_and_again_is_a_question_with_its_last_words(
    quick: Bench,
) -> None:
    quick.prepare(Step("Make a", work="echo oh; kill -SEGV $$"), B, C)
    quick.goes("run", "PLAN", code=4)
    question = quick.question()
    assert starts(quick, "1") == 3
    assert question["failure_type"] == "agent"
    assert "the agent broke down: signal 11; oh; 2 retries after `agent`" in question["reason"]
    assert question["output_tail"].strip() == "oh"


@pytest.mark.thorough
def test_work_that_was_done_before_the_limit_counts(bench: Bench) -> None:
    step = Step("Make a", work="echo right > src/a; sleep 600", fields="**timeout:** 1s")
    bench.prepare(step, B, C)
    bench.goes("run", "PLAN")
    assert starts(bench, "1") == 1


@pytest.mark.thorough
@pytest.mark.requirement("shell.nothing-left")
def test_what_an_agent_leaves_running_is_dead_before_it_is_judged(bench: Bench) -> None:
    mark = bench.folder / "agents" / "left-behind"
    daemon = f"exec -a {mark} bash -c 'sleep 1; echo wrong > src/a; sleep 600'"
    quietly = f'setsid bash -c "{daemon}" </dev/null >/dev/null 2>&1 & disown'
    step = Step("Make a", work=f"{quietly}; echo right > src/a")
    bench.prepare(step, Step("Make b", work="sleep 1.5; echo right > src/b"), C)
    bench.goes("run", "PLAN")
    assert not bench.agents()
    assert bench.read("src/a") == "right\n"


@pytest.mark.thorough
def test_an_agent_that_is_not_installed_is_named(bench: Bench) -> None:
    bench.lay(A, B, C)
    (bench.folder / "agents" / "coder").unlink()
    bench.approve()
    asked = bench.goes("run", "PLAN", code=4)
    assert "is not installed" in asked.err
    log = bench.log()
    assert log.one("FAILURE_CLASSIFIED")["failure_type"] == "unrunnable"
    assert starts(bench, "1") == 1


@pytest.mark.thorough
def test_a_step_without_an_agent_is_refused_before_the_first_step(bench: Bench) -> None:
    nobody = '[agents.reviewer]\nkind = "command"\n'
    bench.prepare(A, B, Step("Make c", target="reviewer"), settings=nobody)
    refused = bench.goes("run", "PLAN", code=2)
    assert "there is no agent for `reviewer`" in refused.err
    assert "[agents.reviewer]" in refused.err
    assert "did you mean" not in refused.err
    bench.write("planbound.toml", bench.settings.replace("[agents.coder]", "[agents.codr]"))
    refused = bench.goes("run", "PLAN", code=2)
    assert "there is no agent for `coder`" in refused.err
    assert "did you mean it by `[agents.codr]`?" in refused.err
    assert not bench.log().of("EXECUTION_STARTED", "TASK_STARTED")


@pytest.mark.thorough
def test_an_agent_that_floods_its_output_hurts_nobody(bench: Bench) -> None:
    flood = "head -c 50000000 /dev/zero | tr '\\0' 'x'; echo; echo the end; echo right > src/a"
    bench.prepare(Step("Make a", work=flood), B, C)
    done = bench.goes("run", "PLAN")
    assert len(done.out) < 10_000
    ended = bench.log().of("ATTEMPT_ENDED", number="1")[0]
    assert ended["output_tail"].endswith("the end\n")
    assert len(ended["output_tail"]) <= 5000


@pytest.mark.thorough
@pytest.mark.requirement("run.regressed")
def test_a_later_step_that_breaks_an_earlier_one_is_caught_at_the_end(bench: Bench) -> None:
    breaks = Step("Make b", work="echo right > src/b; echo broken > src/a", touches="src/a src/b")
    bench.prepare(A, breaks, C)
    asked = bench.goes("run", "PLAN", code=4)
    log = bench.log()
    final = log.of("CONTRACT_EVALUATED", number="1", final=True)[-1]
    assert final["verdict"] == "fail"
    assert log.one("FAILURE_DETECTED")["reason"] == "regressed"
    assert "regressed: step 1" in asked.err
    assert "    planbound waive PLAN 1 --reason '...'\n" in asked.err
    assert bench.question()["kind"] == "regression"
    assert bench.question()["number"] == "1"
    assert not log.of("EXECUTION_COMPLETE")
    bench.answer("retry")
    bench.goes("resume", "PLAN")
    log = bench.log()
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2", "3", "1"]
    assert log.last["status"] == "done"
    assert log.last["completed"] == 3


# -- conditions --------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_precondition_that_does_not_hold_stops_the_run_and_changes_nothing(bench: Bench) -> None:
    bench.prepare(A, B, C, before=("echo 'the database is away'; test -e src/database",))
    failed = bench.goes("run", "PLAN", code=1)
    assert "the database is away" in failed.out + failed.err
    assert "precondition 1 does not hold" in failed.out
    log = bench.log()
    assert not log.of("TASK_STARTED")
    assert sorted(path.name for path in (bench.workspace / "src").iterdir()) == ["readme"]
    bench.write("src/database", "up\n")
    bench.goes("resume", "PLAN")
    assert bench.log().last["status"] == "done"


@pytest.mark.thorough
def test_a_postcondition_that_does_not_hold_asks(bench: Bench) -> None:
    bench.prepare(A, B, C, after=("test -s src/a", "test -s src/never"))
    asked = bench.goes("run", "PLAN", code=4)
    assert "postcondition 2 does not hold" in asked.err
    assert "    planbound waive PLAN postcondition:2 --reason '...'\n" in asked.err
    question = bench.question()
    assert question["kind"] == "condition"
    assert (question["subject"], question["number"]) == ("postcondition", "2")
    assert bench.phases() == ["done"] * 3
    assert bench.status()["ended"] is None
    bench.write("src/never", "a person made it\n")
    bench.answer("retry")
    bench.goes("resume", "PLAN")
    assert len(bench.log().of("TASK_STARTED")) == 3


# -- what people decide ------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_step_that_a_person_attests_waits_for_that(bench: Bench) -> None:
    step = Step("Make b", work="true", attest="the new colours look right", touches="src/b")
    bench.prepare(A, step, C)
    asked = bench.goes("run", "PLAN", code=4)
    assert "planbound attest PLAN 2" in asked.err
    assert "the new colours look right" in asked.err
    assert bench.phases() == ["done", "waiting", "pending"]
    bench.goes("attest", "PLAN", "2", "--as", "tester")
    bench.goes("resume", "PLAN")
    log = bench.log()
    assert log.one("ATTESTED")["by"] == "tester"
    assert log.one("ATTESTED")["statement"] == "the new colours look right"
    assert log.last["status"] == "done"
    assert bench.status()["steps"][1]["verdict"] == "attested"


@pytest.mark.thorough
def test_of_a_step_that_only_a_person_does_no_attempt_is_lost_or_of_unknown_cost(
    bench: Bench,
) -> None:
    step = Step("Sign b", attest="it is good", target="reviewer", touches="src/b")
    bench.prepare(A, step, settings="[roles.reviewer]\n")
    bench.goes("run", "PLAN", code=4)
    assert bench.log().one("ATTEMPT_ENDED").number == "1"
    bench.goes("attest", "PLAN", "2", "--as", "tester")
    assert "cost unknown for 1 attempt," in bench.goes("resume", "PLAN").out
    assert bench.log().one("ATTEMPT_ENDED")["ending"] == "exited"


@pytest.mark.thorough
def test_what_is_not_attested_is_waived_with_a_reason_and_stays_waived_for_ever(
    quick: Bench,
) -> None:
    quick.prepare(Step("Make a", work=NOTHING, fields="**on_fail:** escalate"), B, C)
    quick.goes("run", "PLAN", code=4)
    # A contract that the harness runs is attested by nobody, and a waiver needs a reason.
    refused = quick.goes("attest", "PLAN", "1", "--as", "tester", code=2)
    assert "nobody attests it" in refused.err
    quick.goes("waive", "PLAN", "1", "--reason", " ", "--as", "tester", code=2)
    quick.goes("waive", "PLAN", "1", "--as", "tester", code=2)
    assert not quick.log().of("ATTESTED", "WAIVED")
    quick.goes("waive", "PLAN", "1", "--reason", "the supplier is late", "--as", "tester")
    done = quick.goes("resume", "PLAN")
    assert "2/3 proved, 1 waived" in done.out
    log = quick.log()
    assert log.one("WAIVED", number="1")["reason"] == "the supplier is late"
    assert log.last["waived"] == 1
    assert quick.phases() == ["waived", "done", "done"]
    shown = quick.goes("show", "PLAN", "--json").json
    assert [step["status"] for step in shown["steps"]] == ["waived", "done", "done"]
    assert "waived" in quick.goes("status", "PLAN").out


@pytest.mark.requirement("run.skip")
def test_only_what_declares_to_need_a_skipped_step_is_left_out_with_it(quick: Bench) -> None:
    stuck = Step("Make b", work=NOTHING, fields="**on_fail:** escalate")
    needy = Step("Make d", depends="2")
    quick.prepare(A, stuck, C, needy, Step("Make e", depends="4"), Step("Make f"))
    asked = quick.goes("run", "PLAN", code=4)
    question = quick.question()
    assert question["choices"] == ["retry", "skip", "abort", "revise"]
    assert question["leaves_out"] == ["4", "5"]
    assert "`skip` leaves out steps 4, 5, too, which depend on it" in asked.err
    assert "planbound waive PLAN 2 --reason" in asked.err
    quick.answer("skip")
    # Nobody has to go on with the run for that to be so.
    assert quick.phases() == ["done", "skipped", "pending", "skipped", "skipped", "pending"]
    done = quick.goes("resume", "PLAN")
    assert quick.phases() == ["done", "skipped", "done", "skipped", "skipped", "done"]
    assert "3/6 proved, 0 waived, 3 skipped" in done.out
    log = quick.log()
    assert log.last["status"] == "done with skips"
    skipped = log.of("TASK_SKIPPED", by="tester")
    assert [event["reason"] for event in skipped[1:]] == ["depends on step 2, which is skipped"] * 2
    assert quick.goes("list", "--json").json[0]["status"] == "done with skips"


@pytest.mark.thorough
def test_a_waived_step_is_not_skipped_with_what_it_depends_on(quick: Bench) -> None:
    stuck = Step("Make a", work=NOTHING, fields="**on_fail:** escalate")
    quick.prepare(stuck, Step("Make b", depends="1"), Step("Make c", depends="2"))
    quick.goes("run", "PLAN", code=4)
    quick.goes("waive", "PLAN", "2", "--reason", "it is there", "--as", "tester")
    quick.answer("skip")
    assert quick.phases() == ["skipped", "waived", "pending"]


@pytest.mark.thorough
def test_a_run_with_a_skipped_step_is_not_simply_done(quick: Bench) -> None:
    quick.prepare(A, B, Step("Make c", work=NOTHING, fields="**on_fail:** escalate"))
    quick.goes("run", "PLAN", code=4)
    quick.answer("skip")
    done = quick.goes("resume", "PLAN")
    assert "2/3 proved" in done.out
    assert "1 skipped" in done.out
    log = quick.log()
    assert log.last["status"] == "done with skips"
    assert len(log.of("TASK_SKIPPED", number="3")) == 1
    assert quick.phases() == ["done", "done", "skipped"]


@pytest.mark.thorough
def test_an_abort_ends_the_run_as_failed(quick: Bench) -> None:
    quick.prepare(A, Step("Make b", work=NOTHING, fields="**on_fail:** escalate"), C)
    quick.goes("run", "PLAN", code=4)
    quick.answer("abort")
    log = quick.log()
    assert "aborted by tester" in log.last["reason"]
    assert log.last["status"] == "failed"
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2"]
    assert len(log.of("TASK_FAILED", number="2")) == 1
    shown = quick.goes("show", "PLAN", "--json").json
    assert shown["status"] == "failed"


@pytest.mark.thorough
def test_an_abort_holds_though_its_process_died_before_the_run_was_ended(quick: Bench) -> None:
    quick.prepare(A, Step("Make b", work=NOTHING, fields="**on_fail:** escalate"), C)
    quick.goes("run", "PLAN", code=4)
    question = quick.question()["id"]
    answer = ("answer", question, "abort", "--as", "tester")
    quick.goes(*answer, code=-9, PLANBOUND_FAILPOINT="after:RECOVERY_ESCALATION:1")
    assert not quick.log().of("EXECUTION_COMPLETE")
    quick.goes("resume", "PLAN", code=1)
    log = quick.log()
    assert log.last["status"] == "failed"
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2"]


@pytest.mark.thorough
def test_revising_sends_the_plan_back_to_its_draft(quick: Bench) -> None:
    quick.prepare(A, Step("Make b", work=NOTHING, fields="**on_fail:** escalate"), C)
    quick.goes("run", "PLAN", code=4)
    quick.answer("revise")
    log = quick.log()
    assert log.last["status"] == "revised"
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2"]
    assert quick.goes("show", "PLAN", "--json").json["status"] == "draft"
    refused = quick.goes("run", "PLAN", code=2)
    assert "planbound amend PLAN" in refused.err


@pytest.mark.thorough
def test_a_question_is_answered_once(quick: Bench) -> None:
    quick.prepare(Step("Make a", work=NOTHING, fields="**on_fail:** escalate"), B, C)
    quick.goes("run", "PLAN", code=4)
    question = quick.question()["id"]
    quick.answer("retry", "--guidance", "look again")
    again = quick.run("answer", question, "abort", "--as", "tester")
    assert again.code in {2, 3}
    assert "answered" in again.err
    quick.goes("resume", "PLAN", code=4)
    assert "look again" in prompts(quick, "1")[1]
    assert "A person says" in prompts(quick, "1")[1]


@pytest.mark.thorough
def test_escalate_never_tries_again_by_itself(quick: Bench) -> None:
    quick.prepare(Step("Make a", work=NOTHING, fields="**on_fail:** escalate"), B, C)
    quick.goes("run", "PLAN", code=4)
    quick.goes("resume", "PLAN", code=4)
    assert starts(quick, "1") == 1


@pytest.mark.thorough
def test_abort_fails_the_plan_at_the_first_failure(quick: Bench) -> None:
    quick.prepare(A, Step("Make b", work=NOTHING, fields="**on_fail:** abort"), C)
    quick.goes("run", "PLAN", code=1)
    log = quick.log()
    assert log.last["status"] == "failed"
    assert starts(quick, "2") == 1
    assert starts(quick, "3") == 0
    assert not log.of("RECOVERY_APPLIED", "RECOVERY_ESCALATION")


# -- budgets -----------------------------------------------------------------------------------


@pytest.mark.requirement("run.budget")
def test_an_agent_is_stopped_at_the_limit_while_it_runs(bench: Bench) -> None:
    spends = f"{USAGE.format(tokens=6000)}; echo right > src/a; sleep 600"
    bench.prepare(
        Step("Make a", work=(spends, "echo right > src/a")),
        B,
        C,
        fields="**Budget:** 5k tokens, 10 minutes",
    )
    began = time.monotonic()
    bench.goes("run", "PLAN", code=4)
    assert time.monotonic() - began < 60
    bench.ends_all()
    log = bench.log()
    assert log.of("ATTEMPT_ENDED")[0]["ending"] == "stopped"
    question = bench.question()
    assert question["kind"] == "budget"
    assert "raise" in question["choices"]
    assert log.one("BUDGET_EXCEEDED")["limit"] == "tokens"
    bench.goes("resume", "PLAN", code=4)
    bench.goes("answer", question["id"], "raise", "--as", "tester", code=2)
    bench.goes("answer", question["id"], "raise", "--budget", "5k tokens", "--as", "tester")
    bench.goes("resume", "PLAN")
    log = bench.log()
    assert log.one("BUDGET_RAISED")["tokens"] == 5000
    assert log.last["status"] == "done"
    assert log.last["tokens"] == 6000


@pytest.mark.requirement("invariant.limit-is-not-completion")
def test_nothing_begins_when_the_budget_is_used_up(quick: Bench) -> None:
    spends = f"{USAGE.format(tokens=5000)}; echo right > src/a"
    quick.prepare(Step("Make a", work=spends), B, C, fields="**Budget:** 5k tokens")
    asked = quick.goes("run", "PLAN", code=4)
    assert "5,000 tokens of 5,000 tokens; 2 steps remain" in asked.err
    assert quick.phases()[0] == "done"
    assert starts(quick, "2") == 0
    quick.answer("abort")
    assert quick.log().last["status"] == "failed"


@pytest.mark.thorough
def test_a_step_has_a_budget_of_its_own(quick: Bench) -> None:
    spends = f"{USAGE.format(tokens=3000)}; sleep 600"
    quick.prepare(
        Step("Make a", work=(spends, "echo right > src/a"), fields="**budget:** 2k tokens"), B, C
    )
    quick.goes("run", "PLAN", code=4)
    question = quick.question()
    assert question["kind"] == "budget"
    assert "3,000 tokens of 2,000 tokens" in question["reason"]
    quick.answer("raise", "--budget", "5k tokens")
    quick.goes("resume", "PLAN")


@pytest.mark.thorough
def test_the_wall_clock_is_a_limit_too(quick: Bench) -> None:
    quick.prepare(
        Step("Make a", work=("sleep 600", "echo right > src/a")),
        B,
        C,
        fields="**Budget:** 2 seconds",
    )
    quick.goes("run", "PLAN", code=4)
    quick.ends_all()
    question = quick.question()
    assert question["kind"] == "budget"
    assert quick.log().of("BUDGET_EXCEEDED")[-1]["limit"] == "time"
    quick.answer("raise", "--budget", "1h")
    quick.goes("resume", "PLAN")
    assert quick.log().last["status"] == "done"


@pytest.mark.thorough
def test_a_budget_that_nobody_set_is_a_safe_one_and_a_cost_that_nobody_knows_is_unknown(
    quick: Bench,
) -> None:
    quick.prepare(A, B, C)
    done = quick.goes("run", "PLAN")
    assert "cost unknown for 3 attempts" in done.out
    log = quick.log()
    assert log.last["unmetered"] == 3
    assert log.last["tokens"] == 0
    budget = log.one("EXECUTION_STARTED")["budget"]
    assert budget["tokens"] > 0
    assert float(budget["dollars"]) > 0
    assert budget["seconds"] > 0
