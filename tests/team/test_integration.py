"""Which plans are merged, what stops them, and what a person is asked then."""

from __future__ import annotations

import pytest

from planbound.journal.event import EventKind, StopKind, VerdictKind
from planbound.journal.record import Json, Record
from planbound.journal.words import QuestionKind
from planbound.plan.model import PlanStatus
from planbound.state.place import Binding, Integration, Proof, TeamState
from planbound.state.plan import fold, questions_of
from planbound.state.question import KINDS, Question
from planbound.team.judge_merge import stop_kind
from planbound.team.merge import (
    choose,
    merge_order,
    merge_subject,
    needed,
)
from planbound.workspace.readiness import PlanInfo
from tests.state.test_fold import Event, complete, happened

E = EventKind
MERGE: dict[str, Json] = {"into": "main", "before": "0", "commit": "1", "tip": "2"}


def stopped(reason: str) -> Event:
    details: dict[str, Json] = {"into": "main", "kind": "red", "reason": reason}
    return E.INTEGRATION_STOPPED, None, details | {"output_tail": "said"}


MERGED: Event = (E.PLAN_INTEGRATED, None, MERGE)
REMOVED: Event = (E.WORKTREE_REMOVED, None, {"path": "there"})


def state(slug: str, *, proved: bool = True, into: str | None = None) -> TeamState:
    binding = Binding(slug, f"/{slug}", f"planbound/{slug}", "0", f"/{slug}")
    return TeamState(
        slug,
        binding=binding,
        proof=Proof("tree", "digest", PlanStatus.DONE) if proved else None,
        integrated=Integration(into, "0", "1", "2") if into else None,
    )


def open_questions(records: list[Record]) -> list[Question]:
    return questions_of(fold(records).values())


def test_a_stopped_merge_waits_for_a_person_until_it_is_settled() -> None:
    (question,) = open_questions(happened(stopped("one"), stopped("two")))
    assert (question.kind, question.reason) == (QuestionKind.INTEGRATION, "two")
    assert (question.choices, question.output_tail) == ((), "said")
    assert {E.INTEGRATION_STOPPED, E.PLAN_INTEGRATED, E.WORKTREE_REMOVED} < set(KINDS)
    # The end of a run settles what the run asked, and nothing of the merge.
    assert open_questions(happened(stopped("one"), complete()))
    assert fold(happened(stopped("one"), complete(), E.PLAN_VERIFIED))["a"].waiting == "integration"


@pytest.mark.parametrize("event", [MERGED, REMOVED, E.PLAN_ARCHIVED, E.GATE_APPROVED])
def test_what_settles_a_stopped_merge(event: EventKind | Event) -> None:
    records = happened(stopped("one"), event)
    assert open_questions(records) == []
    assert fold(records)["a"].waiting is None


def test_a_merged_plan_is_merged_until_it_is_approved_anew() -> None:
    assert fold(happened(MERGED))["a"].integrated
    assert not fold(happened(MERGED, E.GATE_APPROVED))["a"].integrated


def test_without_names_all_that_is_proved_and_not_merged_is_chosen_in_order() -> None:
    team = {
        "a": state("a"),
        "b": state("b", into="main"),
        "c": state("c", proved=False),
        "d": state("d"),
        "gone": state("gone"),
        "bare": TeamState("bare"),
    }
    assert choose(None, team, ["d", "c", "b", "a", "bare"], "main") == (["d", "a"], [])


def test_names_say_why_they_cannot_be_merged_and_what_is_merged_is_left_out() -> None:
    team = {
        "a": state("a"),
        "b": state("b", into="main"),
        "c": state("c", proved=False),
        "away": state("away"),
    }
    order, held = choose(["c", "b", "a", "x", "away"], team, ["a", "b"], "main")
    assert order == ["a"]
    assert [(each.plan, each.reason.split(":")[0]) for each in held] == [
        ("c", "is not proved"),
        ("x", "has no worktree of its own"),
        ("away", "is not finished, or is archived"),
    ]
    assert choose(["b"], team, ["b"], "release") == (["b"], [])


def test_a_plan_needs_all_that_those_need_which_it_names() -> None:
    depends = {"a": ["b", "c"], "b": ["d"], "d": ["a"]}
    assert needed("a", depends) == ["b", "c", "d"]


@pytest.mark.parametrize("kind", list(VerdictKind))
def test_only_passes_let_a_merge_go_on(kind: VerdictKind) -> None:
    red = {VerdictKind.FAIL, VerdictKind.TAMPERED, VerdictKind.VACUOUS, VerdictKind.OUT_OF_SCOPE}
    found = stop_kind([VerdictKind.PASS, kind])
    if kind is VerdictKind.PASS:
        assert found is None
    else:
        assert found is (StopKind.RED if kind in red else StopKind.INCONCLUSIVE)
    assert stop_kind([kind, VerdictKind.FAIL]) is StopKind.RED


def test_the_subject_of_a_merge_is_one_line() -> None:
    assert merge_subject("a", "Do\n it ") == "Merge plan `a`: Do it"
    assert merge_subject("a", "") == "Merge plan `a`"


def test_merged_plans_are_in_no_merge_order_unless_they_are_asked_for() -> None:
    plans = [
        PlanInfo("a", PlanStatus.DONE, integrated=True),
        PlanInfo("b", PlanStatus.DONE, depends_on=("a",)),
    ]
    assert [turn.slug for turn in merge_order(plans, {}).turns] == ["b"]
    assert [turn.slug for turn in merge_order(plans, {}, merged=True).turns] == ["a", "b"]


def test_a_plan_that_is_staged_again_keeps_its_worktree_and_no_proof() -> None:
    made: dict[str, Json] = {"path": "/a", "branch": "planbound/a", "base": "0"}
    done: Event = (E.FINALIZATION_ACCEPTED, None, {"tree": "t", "digest": "d"})
    first = happened((E.WORKTREE_SPAWNED, None, made), done)
    assert fold(first)["a"].place.proof == Proof("t", "d", PlanStatus.DONE)
    again = fold(happened((E.WORKTREE_SPAWNED, None, made), done, E.PLAN_ARCHIVED, E.PLAN_STAGED))
    assert again["a"].place.proof is None
    assert again["a"].place.binding == fold(first)["a"].place.binding
