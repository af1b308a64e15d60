"""The one rule: red before and green after is proved, anything else that passes holds."""

from __future__ import annotations

import pytest

from planbound.journal.event import Result, VerdictKind
from planbound.judging.case import demands_red
from planbound.plan.model import Baseline
from planbound.state.step import Before, Look, held, proof_of, tally

NOW = "the tree that was judged"
UNCHANGED = "before, and no file changed since"
GREEN = Look(VerdictKind.PASS, "earlier")
RED = Look(VerdictKind.FAIL, "earlier")


@pytest.mark.requirement("run.holds")
@pytest.mark.parametrize(
    ("attempt", "approval", "found", "why"),
    [
        (RED, None, Result.PROVED, "it was red before the work"),
        (RED, GREEN, Result.PROVED, "it was red before the work"),
        (GREEN, None, Result.HOLDS, "it was green before the work"),
        (GREEN, GREEN, Result.HOLDS, "it was green before the work"),
        (GREEN, RED, Result.PROVED, "it was red when the plan was approved"),
        (None, RED, Result.PROVED, "it was red when the plan was approved"),
        (None, GREEN, Result.HOLDS, "it was green before the work"),
        (None, None, Result.HOLDS, "nobody saw it red"),
        (Look(VerdictKind.TAMPERED, "earlier"), None, Result.HOLDS, "nobody saw it red"),
        (Look(VerdictKind.TAMPERED), RED, Result.PROVED, "it was red when the plan was approved"),
        (Look(VerdictKind.FAIL, NOW), RED, Result.HOLDS, f"it was `fail` {UNCHANGED}"),
        (Look(VerdictKind.KILLED, NOW), None, Result.HOLDS, f"it was `killed` {UNCHANGED}"),
        (Look(VerdictKind.FAIL, ""), None, Result.PROVED, "it was red before the work"),
    ],
)  # fmt: skip
def test_a_pass_is_proved_by_a_red_that_was_seen_on_other_files(
    attempt: Look | None, approval: Look | None, found: Result, why: str
) -> None:
    proof = proof_of(Before(attempt, approval), NOW)
    assert (proof.result, proof.reason) == (found, why)


@pytest.mark.requirement("run.holds")
@pytest.mark.parametrize("kind", ["fail", "vacuous", "unrunnable", "timeout", "killed", "flaky"])
def test_whatever_did_not_pass_was_not_green(kind: str) -> None:
    assert proof_of(Before(Look(VerdictKind(kind), "earlier")), NOW).result is Result.PROVED


@pytest.mark.requirement("run.holds-red")
@pytest.mark.parametrize(
    ("step", "usual", "red"),
    [
        (None, Baseline.ANY, False),
        (None, Baseline.RED, True),
        (Baseline.RED, Baseline.ANY, True),
        (Baseline.ANY, Baseline.RED, False),
    ],
)
def test_a_steps_own_word_comes_before_the_usual_one(
    step: Baseline | None, usual: Baseline, *, red: bool
) -> None:
    assert demands_red(step, usual) is red


def test_what_holds_is_counted_beside_what_is_proved() -> None:
    assert tally(2, 3, 1) == "2/3 proved, 1 holds"
    assert tally(0, 2, 2) == "0/2 proved, 2 hold"
    assert tally(2, 2, None) == tally(2, 2, 0) == "2/2 proved"
    assert held("it was green before the work") == "holds (it was green before the work)"
