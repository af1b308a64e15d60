"""Every answer to a question works where the run asks it, at its terminal, and waiting is free."""

from __future__ import annotations

import re

import pytest

from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json, Record
from planbound.plan.parse import parse
from planbound.state.plan import PlanState
from planbound.state.run import RunState, lay_out
from tests.journal import told
from tests.run.bench import NOTHING, Bench, Step, plan_text
from tests.tables import first_always
from tests.terminal import Typed

LATER = "later? "
FAILING = "**on_fail:** escalate"


def typed(bench: Bench, *arguments: str) -> Typed:
    return Typed(bench.workspace, bench.environment(NO_COLOR="1"), *arguments)


@pytest.mark.thorough
@pytest.mark.requirement("run.prompt")
def test_every_answer_works_at_the_prompt_and_an_unknown_word_says_so(bench: Bench) -> None:
    bench.prepare(
        Step(
            "make a",
            work=(NOTHING, NOTHING, "told 'look twice' && told 'harder' && echo right > src/a"),
            fields=FAILING,
        ),
        Step("look at b", attest="b looks good"),
    )
    terminal = typed(bench, "run")
    terminal.until(LATER)
    assert "`nonsense` is not an answer here: retry," in terminal.say("nonsense", LATER)
    terminal.say("retry: try harder", LATER)
    terminal.say("Retry", "know?")
    assert "planbound attest PLAN 2" in terminal.say("look twice", LATER)
    code, printed = terminal.end("attest")
    assert code == 0, printed
    assert "b looks good" in printed
    log = bench.log()
    assert log.one("ATTESTED")["statement"] == "b looks good"
    decided = log.of("RECOVERY_ESCALATION", user_decision="retry")
    assert [event["guidance"] for event in decided] == ["try harder", "look twice"]


@pytest.mark.thorough
@pytest.mark.requirement("run.prompt")
def test_a_budget_is_raised_at_the_prompt(bench: Bench) -> None:
    usage = """echo 'planbound-usage: {"tokens": 900, "dollars": 0}'; echo right > src/"""
    bench.prepare(
        Step("make a", work=usage + "a"),
        Step("make b", work=usage + "b"),
        fields="**Budget:** max 500 tokens",
    )
    terminal = typed(bench, "run")
    terminal.until(LATER)
    assert "write it like" in terminal.say("raise much", LATER)
    terminal.say("raise", "how much more?")
    code, printed = terminal.end("10k tokens")
    assert code == 0, printed
    assert bench.log().one("BUDGET_RAISED")["tokens"] == 10_000


@pytest.mark.requirement("run.prompt")
def test_ctrl_c_at_the_prompt_leaves_the_question_for_later(bench: Bench) -> None:
    bench.prepare(Step("make a", work=NOTHING, fields=FAILING))
    terminal = typed(bench, "run")
    terminal.until(LATER)
    terminal.interrupt()
    code, printed = terminal.end()
    assert code == 4, printed
    assert bench.question()["choices"][0] == "retry"


@pytest.mark.thorough
@pytest.mark.requirement("run.prompt")
@pytest.mark.parametrize("by", first_always(["answer", "cancel"]))
def test_a_prompt_gives_way_to_what_is_decided_elsewhere(bench: Bench, by: str) -> None:
    work = (NOTHING, "echo right > src/a")
    bench.prepare(Step("make a", work=work, fields=FAILING))
    terminal = typed(bench, "run")
    terminal.until(LATER)
    if by == "answer":
        bench.answer("retry")
    else:
        bench.goes("cancel", "--as", "mara")
    code, printed = terminal.end()
    assert "was settled elsewhere" in printed
    assert code == (0 if by == "answer" else 1), printed


@pytest.mark.requirement("budget.waiting")
def test_waiting_for_a_person_is_not_charged_to_the_budget() -> None:
    plan = parse(plan_text(Step("make a"), Step("make b")).encode(), path="PLAN.md")
    state = RunState(lay_out(plan), PlanState("PLAN"))
    run: dict[str, Json] = {"run": "r1"}
    asked: dict[str, Json] = {"escalation": "q1", "kind": "failure", "user_decision": None}
    events: list[tuple[int, EventKind, str | None, dict[str, Json]]] = [
        (0, EventKind.EXECUTION_STARTED, None, run),
        (0, EventKind.TASK_STARTED, "make-a", {**run, "attempt": 1}),
        (3, EventKind.RECOVERY_ESCALATION, "make-a", {**run, **asked}),
        # Sixteen seconds at the prompt, in the very same process.
        (19, EventKind.RECOVERY_ESCALATION, "make-a", {**asked, "user_decision": "retry"}),
        (20, EventKind.TASK_STARTED, "make-a", {**run, "attempt": 2}),
        (22, EventKind.TASK_COMPLETED, "make-a", run),
        (22, EventKind.TASK_STARTED, "make-b", {**run, "attempt": 1}),
        (23, EventKind.RECOVERY_ESCALATION, "make-b", {**run, **asked, "kind": "attestation"}),
        (53, EventKind.ATTESTED, "make-b", {**run, "by": "me"}),
        (54, EventKind.EXECUTION_COMPLETE, None, {**run, "status": "done"}),
    ]
    for seq, (second, kind, task, details) in enumerate(events, 1):
        stamp = f"2026-11-16T10:00:{second:02}.000000Z"
        draft = Draft(f"e{seq}", stamp, kind, "PLAN", task, task, told(kind, details))
        state.apply(Record(seq, seq, draft, 1, "", ""))
    assert state.session_seconds() == pytest.approx(3 + (23 - 19) + 1)


@pytest.mark.requirement("judging.progress")
def test_a_contract_that_takes_its_time_is_said_on_a_pipe_and_on_a_terminal(bench: Bench) -> None:
    bench.lay(
        Step("make a", contract="sleep 3; grep -qx right src/a"),
        Step("make b"),
        after=(),
    )
    digest = bench.run("show", "PLAN", "--json").json["digest"]
    done = bench.goes("approve", "PLAN", "--digest", digest[:16], "--as", "tester")
    assert re.search(r"judging 1/2: sleep 3; grep -qx right src/a, [123]\.\d s", done.err), done
    assert "judging 2/2" not in done.err
    assert "judging" not in bench.goes("judge", "--json", "--step", "1", code=1).err
    terminal = typed(bench, "run")
    terminal.until("judging: sleep 3; grep -qx right src/a, ")
    assert terminal.end()[0] == 0
