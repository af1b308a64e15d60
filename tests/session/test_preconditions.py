"""What must be true before the first step of an agent in the loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.journal.event import ContractEvaluated, VerdictKind, replaced
from planbound.plan.model import StepStatus
from planbound.session.decide import Accept, LoopOutcome, Reject
from planbound.state.item import LATE, RED_FIRST, Item, start_judged
from planbound.state.step import Before, Look
from tests.run.bench import Step, plan_text
from tests.session.scratch import SHOWN, A, B, Scratch

READY = {"statement": "It is ready", "contract": "test -e ready"}
ONE = {**A, "touches": ["src/a", "ready"]}
NAMED = "precondition 1 “It is ready”"


def refused(decision: object) -> Reject:
    assert isinstance(decision, Reject)
    return decision


@pytest.mark.thorough
@pytest.mark.requirement("loop.preconditions")
def test_nothing_begins_and_nothing_ends_while_a_precondition_is_false(bench: Scratch) -> None:
    loop = bench.loop()
    told = loop.plan_create("Do it", [ONE], preconditions=[READY])
    assert "Preconditions, 0 of 1 hold\n[ ] 1 It is ready: does not hold, exit 1" in told.text
    assert "## Preconditions\n\n1. It is ready\n" in bench.file.read_text()
    bench.right("a")
    for each in (loop.step_update(1, "in_progress"), loop.step_update(1, "done", SHOWN)):
        assert not each.ok
        assert f"{NAMED} does not hold (exit 1" in each.text
    missing = refused(loop.check("done")).missing
    assert missing[0].startswith(f"{NAMED} does not hold (exit 1")
    assert bench.log().of("TASK_STARTED", "TASK_COMPLETED") == []
    verdicts = bench.log().of("CONTRACT_EVALUATED", subject="precondition")
    assert [each["verdict"] for each in verdicts] == ["fail"] * 4
    # Made true, it lets the work begin, and everybody sees that it was red first.
    bench.write("ready", "")
    assert loop.step_update(1, "in_progress").ok
    assert f"[=] 1 It is ready: holds ({RED_FIRST})" in loop.plan_show().text
    assert loop.step_update(1, "done", SHOWN).ok
    assert loop.plan_finish("done").text.endswith(f"Of the start: {NAMED} ({RED_FIRST})")


@pytest.mark.requirement("loop.preconditions.start")
def test_what_held_at_the_start_need_not_hold_at_the_end(bench: Scratch) -> None:
    bench.write("ready", "")
    loop = bench.loop()
    loop.plan_create("Do it", [ONE, B], preconditions=[READY])
    (bench.workspace / "ready").unlink()
    bench.right("a", "b")
    for number in (1, 2):
        assert loop.step_update(number, "done", SHOWN).ok
    assert loop.check("done") == Accept(LoopOutcome.DONE)
    assert len(bench.log().of("CONTRACT_EVALUATED", subject="precondition")) == 1


@pytest.mark.requirement("loop.preconditions.start")
def test_what_was_seen_to_hold_only_after_the_work_began_says_so(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "[gate]\napproval = false\n")
    step = Step("Make a", contract="grep -qx right src/a")
    scratch.write(".harness/PLAN-mine.md", plan_text(step, before=["test -e src/a"], after=[]))
    loop = scratch.loop(name="mine")
    scratch.right("a")
    assert loop.step_update(1, "done", SHOWN).ok
    event = scratch.log().one("CONTRACT_EVALUATED", subject="precondition")
    assert event["late"] is True
    assert f": holds ({LATE})" in loop.plan_show().text
    assert LATE in loop.check("done").preconditions[0]  # type: ignore[union-attr]


@pytest.mark.thorough
@pytest.mark.requirement("loop.preconditions")
def test_a_plan_of_people_has_its_preconditions_judged_too(bench: Scratch) -> None:
    bench.prepare(Step("Make a", contract="grep -qx right src/a"), before=["test -e ready"])
    loop = bench.loop()
    assert "does not hold" in loop.step_update(1, "in_progress").text
    bench.right("a")
    assert "precondition 1" in refused(loop.check("done")).missing[0]
    bench.goes("waive", "PLAN", "precondition:1", "--reason", "it is ready enough", "--as", "ann")
    assert "[x] 1 Condition 1 holds: waived by ann" in loop.plan_show().text
    assert loop.step_update(1, "in_progress").ok
    assert loop.step_update(1, "done", SHOWN).ok
    assert isinstance(loop.check("done"), Accept)


@pytest.mark.thorough
@pytest.mark.requirement("loop.preconditions")
def test_a_precondition_that_a_person_attests_waits_for_the_person(bench: Scratch) -> None:
    text = plan_text(Step("Make a", contract="grep -qx right src/a"), before=["test -e ready"])
    fence = "```shell\n   test -e ready\n   ```"
    assert fence in text
    text = text.replace(fence, '**contract:** attest "the customer agreed"')
    bench.write(".harness/PLAN-mine.md", text)
    bench.approve("mine")
    loop = bench.loop(name="mine")
    assert "a person attests it by `planbound attest`" in loop.step_update(1, "in_progress").text
    bench.goes("attest", "mine", "precondition:1", "--as", "ann")
    assert loop.step_update(1, "in_progress").ok
    assert "attested by ann" in loop.plan_show().text


@pytest.mark.requirement("loop.preconditions")
def test_a_precondition_without_a_contract_is_claimed_with_evidence(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A], preconditions=["The customer agreed"])
    for told in (
        loop.step_update(1, "in_progress"),
        loop.step_update(1, "in_progress", "the customer agreed"),
        loop.step_update(1, "done", SHOWN),
    ):
        assert not told.ok
        assert "step_update('make-a', \"in_progress\", evidence=" in told.text
    assert "precondition 1" in refused(loop.check("done")).missing[0]
    assert loop.step_update(1, "in_progress", "the mail of 3 May says yes to both points").ok
    assert "[~] 1 The customer agreed: claimed, the mail of 3 May" in loop.plan_show().text
    bench.right("a")
    assert loop.step_update(1, "done", SHOWN).ok
    assert loop.check("done") == Accept(LoopOutcome.DONE, ("precondition 1 “The customer agreed”",))


@pytest.mark.thorough
@pytest.mark.requirement("loop.preconditions")
def test_a_precondition_that_a_rewrite_drops_stays_visible(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A], preconditions=[READY])
    assert loop.plan_amend(add=[B], reason="more").ok
    assert "does not hold" in loop.step_update(1, "in_progress").text
    assert loop.plan_create("Do it", [A, B]).ok
    assert "Dropped by a rewrite: “It is ready” (pending)" in loop.plan_show().text
    # By hand it is nobody's to drop: then a person has to say yes.
    loop.plan_create("Do it", [A], preconditions=[READY])
    text = bench.file.read_text()
    bench.file.write_text(text.replace("test -e ready", "test -d ."))
    assert "planbound approve do-it" in loop.step_update(1, "in_progress").text


def test_a_precondition_may_be_a_check_and_about_what_is_not_in_the_files(bench: Scratch) -> None:
    answers = iter(["the service is down", None])
    loop = bench.loop(service=lambda: next(answers))
    up = {"statement": "The service is up", "check": {"service": {}}}
    loop.plan_create("Do it", [A], preconditions=[up])
    # On the very same files: what changed is the world, and that is not flaky.
    assert loop.step_update(1, "in_progress").ok
    unknown = loop.plan_create("Do it", [A], preconditions=[{**up, "check": {"servce": {}}}])
    assert "did you mean `service`?" in unknown.text


@pytest.mark.parametrize(
    ("passed", "approval", "late", "reason"),
    [
        (None, None, False, ""),
        (None, None, True, LATE),
        (None, "pass", True, ""),
        (None, "fail", False, RED_FIRST),
        (None, "fail", True, f"{RED_FIRST}; {LATE}"),
        (False, "pass", True, f"{RED_FIRST}; {LATE}"),
        (False, None, False, RED_FIRST),
    ],
)
def test_a_precondition_says_how_it_was_seen(
    passed: bool | None,  # noqa: FBT001 - as it is in an item
    approval: str | None,
    late: bool,  # noqa: FBT001 - as it is in an event
    reason: str,
) -> None:
    before = Before(approval=Look(VerdictKind(approval)) if approval else None)
    event = ContractEvaluated(verdict=VerdictKind.PASS, exit_code=0, late=late)
    found = start_judged(Item(passed=passed), event, before)
    assert (found.status, found.reason) == (StepStatus.HOLDS, reason)
    assert start_judged(found, replaced(event, verdict="fail"), before) == found
