"""`planbound inbox --next`: what waits for a person, asked one after the other on a terminal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run.bench import NOTHING, Bench, Step
from tests.terminal import Typed

pytestmark = pytest.mark.requirement("inbox.next")

ASKS = "quit? "
ESCALATES = "**on_fail:** escalate"
FAILS = Step("make b", work=NOTHING, fields=ESCALATES)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def waits(bench: Bench, *steps: Step, name: str | None = None) -> None:
    """Run a plan until it waits for a person."""
    found = steps or (FAILS,)
    if name is not None:
        found = tuple(replace(each, target=f"coder-{name}") for each in found)
    slug = bench.prepare(*found, name=name)
    bench.goes("run", slug, code=4)


def dialogue(bench: Bench, *arguments: str) -> Typed:
    environment = bench.environment(NO_COLOR="1", VISUAL="false")
    return Typed(bench.workspace, environment, "inbox", "--next", *arguments)


def test_a_question_is_shown_with_its_evidence_and_answered_with_a_word(bench: Bench) -> None:
    waits(bench, Step("make b", work=(NOTHING, "told 'try harder' && echo right > src/b"),
                      fields=ESCALATES))  # fmt: skip
    person = dialogue(bench)
    shown = person.until(ASKS)
    assert "step 1 of `PLAN` (make b): " in shown
    assert "    $ grep -qx right src/b\n    expects exit_code == 0\n" in shown
    assert "  last verdict: fail, exit 2" in shown
    assert "  retry " in shown
    assert "  waive " in shown
    assert "`nonsense` is not an answer here: retry, skip," in person.say("nonsense", ASKS)
    person.say("retry", "(enter: nothing) ")
    code, said = person.end("try harder")
    assert code == 0, said
    assert "go on with `planbound resume PLAN`" in said
    assert bench.log().of("RECOVERY_ESCALATION")[-1]["guidance"] == "try harder"
    bench.goes("resume")
    assert bench.phases() == ["done"]


def test_what_is_left_for_later_still_waits(bench: Bench) -> None:
    waits(bench, Step("make a", work=NOTHING, fields=ESCALATES), name="one")
    waits(bench, FAILS, name="two")
    person = dialogue(bench)
    assert ", 1 after it" in person.until(ASKS)
    assert "step 1 of `two`" in person.say("later", ASKS)
    code, said = person.end("quit")
    assert (code, "2 wait: `planbound inbox`" in said) == (4, True)
    assert not bench.log().of("RECOVERY_ESCALATION", user_decision="retry")


def test_only_one_question_is_asked_where_it_is_named(bench: Bench) -> None:
    waits(bench, Step("make a", work=NOTHING, fields=ESCALATES), name="one")
    waits(bench, FAILS, name="two")
    person = dialogue(bench, "two")
    assert "after it" not in person.until(ASKS)
    code, said = person.end("skip")
    assert code == 0, said
    assert [each["plan"] for each in bench.goes("inbox", "--json").json["waiting"]] == ["one"]


def test_a_waiver_asks_for_its_reason_and_then_for_a_yes(bench: Bench) -> None:
    waits(bench)
    person = dialogue(bench)
    person.until(ASKS)
    person.say("waive", "without a pass? ")
    assert "needs a reason" in person.say("", ASKS)
    person.say("waive", "without a pass? ")
    assert "“good enough”" in person.say("good enough", "(yes/no) ")
    assert "nothing was waived" in person.say("y", ASKS)
    assert not bench.log().of("WAIVED")
    person.say("waive good enough", "(yes/no) ")
    code, said = person.end("yes")
    assert code == 0, said
    waived = bench.log().one("WAIVED")
    assert (waived["reason"], waived["method"]) == ("good enough", "terminal")


def test_who_interrupts_loses_nothing_and_decides_nothing(bench: Bench) -> None:
    waits(bench)
    before = len(bench.log())
    person = dialogue(bench)
    person.until(ASKS)
    person.say("retry", "(enter: nothing) ")
    os.write(person.main, b"half a sentence")
    person.interrupt()
    code, said = person.end()
    assert (code, "interrupted" in said) == (130, True)
    assert len(bench.log()) == before
    assert bench.question()["choices"] == ["retry", "skip", "abort", "revise"]


def test_who_was_slower_is_told_and_nothing_is_decided_twice(bench: Bench) -> None:
    waits(bench)
    person = dialogue(bench)
    person.until(ASKS)
    bench.answer("retry")
    code, said = person.end("abort")
    assert (code, "is answered already" in said) == (0, True), said
    assert [each["user_decision"] for each in bench.log().of("RECOVERY_ESCALATION")][1:] == [
        "retry"
    ]


def test_a_plan_is_decided_about_in_the_dialogue_of_the_gate(bench: Bench) -> None:
    bench.lay(Step("make a"))
    bench.goes("approve", code=4)
    person = dialogue(bench)
    assert "approval" in person.until(ASKS)
    sheet = person.say("gate", "reject, quit? ")
    assert "grep -qx right src/a" in sheet
    person.say("approve", "characters of the digest: ")
    code, said = person.end(bench.digest()[:6])
    assert code == 0, said
    assert bench.log().one("GATE_APPROVED")["method"] == "terminal"


def test_a_gate_that_is_left_decides_nothing(bench: Bench) -> None:
    bench.lay(Step("make a"))
    bench.goes("approve", code=4)
    person = dialogue(bench)
    person.until(ASKS)
    person.say("gate", "reject, quit? ")
    code, _ = person.end("quit")
    assert code == 4
    assert not bench.log().of("GATE_APPROVED")


def test_what_was_asked_about_a_plan_is_answered(bench: Bench) -> None:
    bench.lay(Step("make a"))
    bench.goes("ask", "PLAN", "which rounding?", "--as", "mara")
    person = dialogue(bench)
    assert "which rounding?" in person.until(ASKS)
    person.say("answer", "your answer: ")
    assert "nothing was answered" in person.say("", ASKS)
    code, said = person.end("answer half even")
    assert code == 0, said
    assert bench.log().of("GATE_CLARIFICATION_ASKED")[-1]["answer"] == "half even"


def test_a_statement_is_attested(bench: Bench) -> None:
    waits(bench, Step("make a", attest="the icon looks right"))
    person = dialogue(bench)
    assert "  a person attests: the icon looks right\n" in person.until(ASKS)
    code, said = person.end("attest")
    assert code == 0, said
    assert bench.log().one("ATTESTED")["statement"] == "the icon looks right"


def test_nothing_that_was_printed_can_move_the_cursor(bench: Bench) -> None:
    waits(bench, Step("make b", work=NOTHING, fields=ESCALATES,
                      contract="printf 'a\\033[2Jb\\n'; false"))  # fmt: skip
    person = dialogue(bench)
    shown = person.until(ASKS)
    assert "\x1b" not in shown
    assert "[2Jb" in shown
    person.end("quit")


def test_nothing_waits(bench: Bench) -> None:
    nothing = "nothing waits for a person\n"
    assert bench.goes("inbox").out == nothing
    assert "a dialogue needs a terminal" in bench.goes("inbox", "--next", code=2).err
    assert dialogue(bench).end() == (0, nothing)
    bench.prepare(Step("make a"))
    assert dialogue(bench).end() == (0, nothing)


def test_without_a_terminal_it_says_what_to_do(bench: Bench) -> None:
    waits(bench)
    done = bench.goes("inbox", "--next", code=2)
    assert "a dialogue needs a terminal" in done.err
    assert "`planbound answer ID" in done.err
    assert "`--json` has nothing to print" in bench.goes("inbox", "--next", "--json", code=2).err
