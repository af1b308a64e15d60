"""The checklists that the design was made from, as tests of the program."""

from __future__ import annotations

import re

import pytest

from tests.run.bench import NOTHING, Bench, Event, Log, Step
from tests.tables import first_always

QUICK = '[recovery.transient]\nbackoff = ["0.2s", "0.3s"]\n'
A, B, C = Step("Make a"), Step("Make b"), Step("Make c")
RESET = "echo 'Error: connect ECONNRESET 203.0.113.7:443' >&2; exit 1"
ENDS = ("TASK_COMPLETED", "TASK_FAILED", "TASK_SKIPPED")
RECOVERIES = ("RECOVERY_APPLIED", "RECOVERY_ESCALATION", "PERMISSION_REQUIRED")


def wrong(name: str) -> str:
    """Return the work of an agent that does something else each time."""
    return f"echo wrong $attempt > src/{name}"


@pytest.fixture
def quick(bench: Bench) -> Bench:
    bench.settings = QUICK
    return bench


def is_in_order(log: Log) -> bool:
    """Say whether each failed attempt was detected and classified before anything was done."""
    open_failures: dict[str | None, str] = {}
    for event in log:
        if event.kind in {"FAILURE_DETECTED", "TASK_FAILED"}:
            open_failures[event.task] = "detected"
        elif event.kind == "FAILURE_CLASSIFIED":
            if open_failures.get(event.task) != "detected":
                return False
            open_failures[event.task] = "classified"
        elif (
            event.kind in RECOVERIES
            and event.details.get("user_decision") is None
            and open_failures.get(event.task) != "classified"
        ):
            return False
    return "detected" not in open_failures.values()


def last_line(out: str) -> str:
    """Return the summary of a run."""
    return out.strip().splitlines()[-1]


@pytest.mark.requirement("invariant.nothing-unapproved-runs")
def test_nothing_starts_before_the_plan_is_approved(quick: Bench) -> None:
    quick.lay(A, B, C)
    refused = quick.goes("run", "PLAN", code=2)
    assert "`PLAN` is not approved" in refused.err
    assert "planbound approve PLAN" in refused.err
    assert not (quick.workspace / "src/a").exists()
    assert not quick.log().of("EXECUTION_STARTED", "TASK_STARTED")


@pytest.mark.thorough
def test_the_approval_comes_before_every_step(quick: Bench) -> None:
    quick.prepare(A, B, C)
    quick.goes("run", "PLAN")
    kinds = quick.log().kinds
    assert kinds.index("GATE_APPROVED") < kinds.index("EXECUTION_STARTED")
    assert kinds.index("EXECUTION_STARTED") < kinds.index("TASK_STARTED")
    assert "GATE_APPROVED" not in kinds[kinds.index("TASK_STARTED") :]


@pytest.mark.thorough
def test_a_start_is_on_record_before_the_agent_does_anything(quick: Bench) -> None:
    # The agent is killed with its runner while it works: its start is there all the same.
    quick.prepare(Step("Make a", work="echo right > src/a"), B, C)
    quick.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="before:TASK_STARTED:1")
    assert not (quick.workspace / "src/a").exists()
    quick.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="before:ATTEMPT_ENDED:1")
    assert (quick.workspace / "src/a").exists()
    log = quick.log()
    assert log.one("TASK_STARTED").number == "1"
    assert not log.of("ATTEMPT_ENDED")


@pytest.mark.thorough
@pytest.mark.parametrize("end", first_always(["failed", "done", "skipped", "aborted"]))
def test_every_task_has_a_start_and_exactly_one_end(quick: Bench, end: str) -> None:
    steps = {
        "done": (A, B, C),
        "skipped": (A, B, Step("Make c", work=NOTHING, fields="**on_fail:** escalate")),
        "aborted": (A, B, Step("Make c", work=NOTHING, fields="**on_fail:** escalate")),
        "failed": (A, B, Step("Make c", work=NOTHING, fields="**on_fail:** abort")),
    }[end]
    quick.prepare(*steps)
    quick.goes("run", "PLAN", code={"done": 0, "failed": 1}.get(end, 4))
    if end == "aborted":
        quick.answer("abort")
    elif end == "skipped":
        quick.answer("skip")
        quick.goes("resume", "PLAN")
    log = quick.log()
    for number in ("1", "2", "3"):
        assert log.of("TASK_STARTED", number=number), number
        assert len(log.of(*ENDS, number=number)) == 1, number
    assert log.last.kind == "EXECUTION_COMPLETE"
    assert is_in_order(log)


@pytest.mark.thorough
def test_a_task_that_failed_for_good_is_classified_at_once(quick: Bench) -> None:
    quick.prepare(Step("Make a", work=NOTHING, fields="**on_fail:** abort"), B, C)
    quick.goes("run", "PLAN", code=1)
    log = quick.log()
    failed = log.one("TASK_FAILED")
    after = log[log.index(failed) + 1]
    assert (after.kind, after.task) == ("FAILURE_CLASSIFIED", failed.task)
    assert after["failure_type"] == "logic"
    assert after["rule"]


@pytest.mark.requirement("invariant.classify-then-recover")
@pytest.mark.requirement("recovery.classify")
def test_every_failed_attempt_is_detected_then_classified_then_answered(quick: Bench) -> None:
    quick.prepare(Step("Make a", work=(wrong("a"), RESET, wrong("a"), "echo right > src/a")), B, C)
    quick.goes("run", "PLAN")
    log = quick.log()
    about = log.of("FAILURE_DETECTED", "FAILURE_CLASSIFIED", *RECOVERIES, number="1")
    assert about.kinds == ["FAILURE_DETECTED", "FAILURE_CLASSIFIED", "RECOVERY_APPLIED"] * 3
    assert [event["attempt"] for event in about] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    types = [event["failure_type"] for event in about.of("FAILURE_CLASSIFIED")]
    assert types == ["logic", "transient", "logic"]
    assert is_in_order(log)


@pytest.mark.thorough
@pytest.mark.requirement("invariant.approved-plan-is-law")
def test_the_order_of_the_steps_is_that_of_the_plan(quick: Bench) -> None:
    quick.prepare(A, B, C, Step("Make d"))
    quick.goes("run", "PLAN")
    assert [event.number for event in quick.log().of("TASK_STARTED")] == ["1", "2", "3", "4"]


@pytest.mark.thorough
def test_a_transient_failure_is_tried_twice_more_and_waits_before_each(quick: Bench) -> None:
    quick.prepare(Step("Make a", work=RESET), B, C)
    quick.goes("run", "PLAN", code=4)
    log = quick.log()
    assert {event["failure_type"] for event in log.of("FAILURE_CLASSIFIED")} == {"transient"}
    retries = log.of("RECOVERY_APPLIED")
    assert [(event["retry"], event["of"]) for event in retries] == [(1, 2), (2, 2)]
    first, second = (event["backoff"] for event in retries)
    assert 0.2 <= first <= 0.25
    assert 0.3 <= second <= 0.375
    starts = log.of("TASK_STARTED", number="1")
    assert len(starts) == 3
    for retry, start in zip(retries, starts[1:], strict=True):
        assert stamp(quick, start) >= retry["until"]
    assert quick.question()["exhausted"] is True


def stamp(bench: Bench, event: Event) -> str:
    """Return when something happened."""
    lines = bench.goes("log", "--json").out.splitlines()
    found = re.search(r'"timestamp":"([^"]+)"', lines[event.seq - 1])
    assert found is not None
    return found[1]


@pytest.mark.thorough
def test_a_wait_goes_on_where_it_was_after_a_crash(bench: Bench) -> None:
    bench.settings = '[recovery.transient]\nbackoff = ["1.5s"]\n'
    bench.prepare(Step("Make a", work=(RESET, "echo right > src/a")), B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:RECOVERY_APPLIED:1")
    bench.goes("resume", "PLAN")
    log = bench.log()
    until = log.one("RECOVERY_APPLIED")["until"]
    assert stamp(bench, log.of("TASK_STARTED", number="1")[1]) >= until


@pytest.mark.thorough
def test_a_missing_permission_is_asked_for_and_tried_once_after_the_answer(quick: Bench) -> None:
    refuses = "echo 'error: 401 Unauthorized: ACME_API_KEY is not set' >&2; exit 1"
    quick.prepare(Step("Make a", work=refuses), B, C)
    asked = quick.goes("run", "PLAN", code=4)
    log = quick.log()
    assert log.one("FAILURE_CLASSIFIED")["failure_type"] == "permission"
    assert log.one("PERMISSION_REQUIRED")["credential"] == "ACME_API_KEY"
    assert not log.of("RECOVERY_APPLIED")
    assert len(log.of("TASK_STARTED")) == 1
    assert "ACME_API_KEY" in asked.err
    question = quick.question()
    assert question["kind"] == "permission"
    assert set(question["choices"]) >= {"retry", "abort"}
    quick.goes("resume", "PLAN", code=4)
    assert len(quick.log().of("TASK_STARTED")) == 1, "tried before the answer"
    quick.answer("retry")
    quick.goes("resume", "PLAN", code=4)
    log = quick.log()
    assert len(log.of("TASK_STARTED")) == 2
    assert len(log.of("PERMISSION_REQUIRED")) == 2


@pytest.mark.thorough
@pytest.mark.requirement("invariant.limit-is-not-completion")
@pytest.mark.requirement("recovery.recipes")
def test_what_is_exhausted_asks_and_is_never_complete(quick: Bench) -> None:
    quick.prepare(
        Step("Make a", work=wrong("a"), fields="**on_fail:** retry(1), then escalate"), B, C
    )
    asked = quick.goes("run", "PLAN", code=4)
    assert "planbound answer" in asked.err
    assert "planbound resume PLAN" in asked.err
    log = quick.log()
    assert len(log.of("TASK_STARTED")) == 2
    assert not log.of("TASK_COMPLETED", "TASK_FAILED", "EXECUTION_COMPLETE")
    (question,) = quick.goes("inbox", "--json").json["waiting"]
    assert question["exhausted"] is True
    assert question["number"] == "1"
    assert question["choices"] == ["retry", "skip", "abort", "revise"]
    quick.goes("resume", "PLAN", code=4)
    assert len(quick.log().of("TASK_STARTED")) == 2, "it waits and does not go on by itself"


@pytest.mark.thorough
def test_what_was_never_tried_again_is_not_called_exhausted(quick: Bench) -> None:
    quick.prepare(Step("Make a", work=NOTHING, fields="**on_fail:** escalate"), B, C)
    quick.goes("run", "PLAN", code=4)
    assert quick.question()["exhausted"] is False
    assert not quick.log().of("RECOVERY_APPLIED")


@pytest.mark.thorough
def test_completed_tasks_are_not_run_again(quick: Bench) -> None:
    quick.prepare(A, B, Step("Make c", work=NOTHING, fields="**on_fail:** abort"))
    quick.goes("run", "PLAN", code=1)
    quick.agent("coder", A, B, C)
    quick.goes("resume", "PLAN")
    log = quick.log()
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2", "3", "3"]
    again = quick.goes("run", "PLAN", code=3)
    assert "done already" in again.err
    assert len(quick.log().of("TASK_STARTED")) == 4


@pytest.mark.thorough
@pytest.mark.requirement("command.run")
@pytest.mark.parametrize("end", first_always(["skipped", "done", "failed"]))
def test_the_summary_is_what_the_log_says(quick: Bench, end: str) -> None:
    last = {
        "done": Step("Make c", work=(wrong("c"), "echo right > src/c")),
        "skipped": Step("Make c", work=NOTHING, fields="**on_fail:** escalate"),
        "failed": Step("Make c", work=NOTHING, fields="**on_fail:** abort"),
    }[end]
    usage = 'echo right > src/a; echo \'planbound-usage: {"tokens": 1200, "dollars": 0.25}\''
    quick.prepare(Step("Make a", work=usage), B, last, after=("test -s src/a", "test -s src/b"))
    done = quick.goes("run", "PLAN", code={"done": 0, "skipped": 4, "failed": 1}[end])
    if end == "skipped":
        quick.answer("skip")
        done = quick.goes("resume", "PLAN")
    line = last_line(done.out)
    log = quick.log()
    assert log.last.kind == "EXECUTION_COMPLETE"
    settled = {kind: len(log.of(kind)) for kind in ENDS}
    conditions = log.of("CONTRACT_EVALUATED", subject="postcondition", verdict="pass")
    assert line.startswith(f"{settled['TASK_COMPLETED']}/3 proved, 0 waived")
    assert f"{len({event.number for event in conditions})}/2 postconditions" in line
    recoveries = len(log.of("RECOVERY_APPLIED"))
    assert f"{recoveries} recover{'y' if recoveries == 1 else 'ies'}." in line
    assert "1,200 tokens, $0.25" in line
    assert "cost unknown for" in line
    if settled["TASK_SKIPPED"]:
        assert "1 skipped" in line
        assert "Done with skips" in line
    if settled["TASK_FAILED"]:
        assert "1 failed" in line
        assert ". Failed" in line
    end_event = log.last
    assert end_event["completed"] == settled["TASK_COMPLETED"]
    assert end_event["failed"] == settled["TASK_FAILED"]
    assert end_event["skipped"] == settled["TASK_SKIPPED"]


def test_circular_dependencies_are_refused(quick: Bench) -> None:
    quick.lay(Step("Make a", depends="3"), Step("Make b", depends="1"), Step("Make c", depends="2"))
    digest = quick.run("show", "PLAN", "--json").json["digest"]
    refused = quick.run("approve", "PLAN", "--digest", digest[:16], "--as", "tester")
    assert refused.code in {1, 2}
    assert "wait for each other" in refused.out
    quick.goes("run", "PLAN", code=2)
    assert not quick.log().of("GATE_APPROVED", "TASK_STARTED")


def test_a_modification_that_makes_a_cycle_is_refused(quick: Bench) -> None:
    quick.lay(
        Step("Make a", depends="none"), Step("Make b", depends="1"), Step("Make c", depends="2")
    )
    before = quick.read(".harness/PLAN.md")
    digest = quick.run("show", "PLAN", "--json").json["digest"]
    refused = quick.run(
        "decide", "PLAN", "approved, but move 1 after 3", "--digest", digest[:16], "--as", "tester"
    )
    assert refused.code in {1, 2, 4}, refused
    assert quick.read(".harness/PLAN.md") == before
    assert not quick.log().of("GATE_APPROVED")
    quick.goes("run", "PLAN", code=2)


@pytest.mark.requirement("recovery.unknown")
@pytest.mark.requirement("recovery.invalid-input")
@pytest.mark.requirement("recovery.question")
def test_what_no_retry_can_help_goes_to_a_person_at_once(quick: Bench) -> None:
    quick.settings += '[recovery.unknown]\nquestion = "Is the grue fed?"\n'
    ends = {
        "2": ("unknown", "echo 'zork happened' >&2; exit 3"),
        "3": ("unrecoverable", "echo 'No space left on device' >&2; exit 1"),
        "4": ("invalid-input", "echo 'error: unrecognized arguments: --frob' >&2; exit 2"),
    }
    right = "echo right > src/d; echo 'what was that' >&2; exit 3"
    steps = [Step(f"Make {at}", work=ends[at][1], depends="1") for at in ends]
    quick.prepare(Step("Make d", work=right), *steps)
    shown = quick.goes("run", "PLAN", "--jobs", "1", code=4).out
    log = quick.log()
    for number, (kind, _) in ends.items():
        assert log.one("FAILURE_CLASSIFIED", number=number)["failure_type"] == kind
        assert len(log.of("TASK_STARTED", number=number)) == 1
    assert not log.of("RECOVERY_APPLIED")
    # The contract passes: then it does not matter how the agent ended.
    assert log.one("TASK_COMPLETED", number="1")["result"] == "proved"
    waiting = {each["number"]: each for each in quick.run("inbox", "--json").json["waiting"]}
    assert {each["exhausted"] for each in waiting.values()} == {False}
    assert waiting["2"]["question"] == "Is the grue fed?"
    assert waiting["2"]["reason"].startswith("Is the grue fed? the agent failed (exit 3): zork")
    assert waiting["3"]["question"] == ""
    for text in (shown, quick.run("inbox").out, quick.run("status").out):
        assert "Is the grue fed? the agent failed (exit 3): zork happened" in text


@pytest.mark.thorough
def test_the_end_of_the_run_is_its_last_event(quick: Bench) -> None:
    quick.prepare(A, B, C, after=("test -s src/a", "test -s src/c"))
    quick.goes("run", "PLAN")
    log = quick.log()
    assert log.last.kind == "EXECUTION_COMPLETE"
    assert log.last["status"] == "done"
    assert len(log.of("EXECUTION_COMPLETE")) == 1
