"""What is done about a failure."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from planbound.journal.words import FailureClass
from planbound.plan.model import Exhausted, OnFail
from planbound.run.classify import Classified, Pattern, patterns_of
from planbound.run.recovery import (
    GUIDANCE,
    NO_PROGRESS,
    Abort,
    AskPermission,
    Escalate,
    FailureHistory,
    RecoveryDecision,
    Retry,
    answer,
)
from planbound.workspace.recipes import DEFAULT_RECIPES, Action, Recipe

pytestmark = pytest.mark.requirement("recovery.recipes")

USUAL = OnFail()
ESCALATE = OnFail(0, Exhausted.ESCALATE)
ABORT = OnFail(0, Exhausted.ABORT)
AT_ONCE = {
    FailureClass.UNRUNNABLE,
    FailureClass.VACUOUS,
    FailureClass.FLAKY,
    FailureClass.UNRECOVERABLE,
    FailureClass.UNKNOWN,
    FailureClass.INVALID_INPUT,
    FailureClass.BLOCKED,
    FailureClass.WORKSPACE_MISMATCH,
    FailureClass.BUDGET,
}


def answered(
    kind: FailureClass,
    used: int = 0,
    *,
    on_fail: OnFail = USUAL,
    recipes: tuple[Recipe, ...] = DEFAULT_RECIPES,
    repeated: int = 1,
    same: bool = False,
    retry_after: float | None = None,
    jitter: float = 0.0,
) -> RecoveryDecision:
    return answer(
        Classified(kind, "rule", retry_after=retry_after),
        FailureHistory({kind: used}, used, repeated, same),
        on_fail,
        recipes,
        jitter,
    )


def retried(
    kind: FailureClass, used: int = 0, *, retry_after: float | None = None, jitter: float = 0.0
) -> Retry:
    found = answered(kind, used, retry_after=retry_after, jitter=jitter)
    assert isinstance(found, Retry), found
    return found


def test_every_class_has_one_default_recipe_of_its_name() -> None:
    assert Counter(recipe.name for recipe in DEFAULT_RECIPES) == Counter(
        kind.value for kind in FailureClass
    )
    assert all(recipe.classes == {FailureClass(recipe.name)} for recipe in DEFAULT_RECIPES)
    assert set(GUIDANCE) == set(FailureClass)


def test_transient_failures_are_retried_twice_after_longer_and_longer_waits() -> None:
    assert retried(FailureClass.TRANSIENT) == Retry("transient", 1, 2, 5.0, guidance="")
    assert retried(FailureClass.TRANSIENT, 1) == Retry("transient", 2, 2, 30.0, guidance="")
    assert answered(FailureClass.TRANSIENT, 2) == Escalate(
        "transient", "2 retries after `transient` failures did not help", exhausted=True
    )


def test_a_service_that_asks_for_a_longer_wait_gets_it() -> None:
    assert retried(FailureClass.TRANSIENT, retry_after=60.0).backoff == 60
    assert retried(FailureClass.TRANSIENT, retry_after=2.0).backoff == 5


@given(st.floats(0, 1, exclude_max=True), st.none() | st.floats(0, 3600))
def test_jitter_only_makes_a_wait_longer_and_by_a_quarter_at_most(
    jitter: float, retry_after: float | None
) -> None:
    plain = retried(FailureClass.TRANSIENT, retry_after=retry_after).backoff
    assert (
        plain
        <= retried(FailureClass.TRANSIENT, retry_after=retry_after, jitter=jitter).backoff
        <= plain * 1.25
    )


def test_the_last_wait_counts_for_all_further_retries() -> None:
    mine = Recipe("mine", frozenset({FailureClass.TRANSIENT}), backoff=(1.0, 2.0), max=9)
    waits = [answered(FailureClass.TRANSIENT, used, recipes=(mine,)) for used in range(9)]
    assert [wait.backoff for wait in waits if isinstance(wait, Retry)] == [1.0] + [2.0] * 8


def test_permission_asks_and_names_what_to_configure() -> None:
    named = Classified(FailureClass.PERMISSION, "rule", credential="OPENAI_API_KEY")
    for on_fail in (USUAL, ESCALATE):
        found = answer(named, FailureHistory({}), on_fail, DEFAULT_RECIPES, 0)
        assert isinstance(found, AskPermission)
        assert found.credential == "OPENAI_API_KEY"
        assert "`OPENAI_API_KEY`" in found.reason
    assert isinstance(answered(FailureClass.PERMISSION), AskPermission)


@pytest.mark.parametrize("kind", [FailureClass.LOGIC, FailureClass.OUT_OF_SCOPE])
@pytest.mark.parametrize("retries", [1, 2, 5])
def test_on_fail_says_how_often_the_work_is_tried_again(kind: FailureClass, retries: int) -> None:
    on_fail = OnFail(retries)
    for used in range(retries):
        found = answered(kind, used, on_fail=on_fail)
        assert isinstance(found, Retry)
        assert (found.number, found.of, found.backoff) == (used + 1, retries, 0.0)
    last = answered(kind, retries, on_fail=on_fail)
    assert isinstance(last, Escalate)
    assert last.exhausted


@pytest.mark.parametrize("kind", [FailureClass.FLOODED, FailureClass.TAMPERED])
def test_some_classes_get_one_more_attempt_with_a_warning(kind: FailureClass) -> None:
    found = answered(kind, on_fail=OnFail(5))
    assert isinstance(found, Retry)
    assert (found.of, found.guidance) == (1, GUIDANCE[kind])
    assert isinstance(answered(kind, 1, on_fail=OnFail(5)), Escalate)


def test_who_ran_past_the_limit_is_tried_as_often_as_the_plan_says() -> None:
    on_fail = OnFail(3)
    for used in range(3):
        found = answered(FailureClass.HUNG, used, on_fail=on_fail, repeated=used + 1, same=True)
        assert isinstance(found, Retry)
        assert (found.of, found.guidance) == (3, GUIDANCE[FailureClass.HUNG])
    assert isinstance(answered(FailureClass.HUNG, 3, on_fail=on_fail), Escalate)


@pytest.mark.requirement("recovery.agent")
def test_an_agent_s_own_breakdown_has_a_bound_of_its_own() -> None:
    for retries in (1, 2, 9):
        on_fail = OnFail(retries)
        for used in range(2):
            found = answered(
                FailureClass.AGENT, used, on_fail=on_fail, repeated=used + 1, same=True
            )
            assert isinstance(found, Retry)
            assert found.of == 2
        assert isinstance(answered(FailureClass.AGENT, 2, on_fail=on_fail), Escalate)
    history = FailureHistory({FailureClass.AGENT: 2}, 2)
    classified = Classified(FailureClass.LOGIC, "contract-failed")
    again = answer(classified, history, OnFail(1), DEFAULT_RECIPES, 0.0)
    assert isinstance(again, Retry)
    assert (again.number, again.of) == (1, 1)


def test_who_left_the_scope_is_told_so() -> None:
    found = retried(FailureClass.OUT_OF_SCOPE)
    assert found.guidance == GUIDANCE[FailureClass.OUT_OF_SCOPE]


@pytest.mark.parametrize("kind", sorted(AT_ONCE, key=str))
@pytest.mark.parametrize("then", Exhausted)
def test_what_cannot_be_mended_by_another_attempt_escalates_at_once(
    kind: FailureClass, then: Exhausted
) -> None:
    found = answered(kind, on_fail=OnFail(2, then))
    assert found == Escalate(
        kind.value, f"failures of the class `{kind.value}` are not retried", exhausted=False
    )


@pytest.mark.parametrize(
    "kind", [kind for kind in FailureClass if kind is not FailureClass.DESTRUCTIVE]
)
def test_on_fail_abort_ends_the_plan_whatever_failed(kind: FailureClass) -> None:
    assert isinstance(answered(kind, on_fail=ABORT), Abort)


@pytest.mark.requirement("recovery.destructive")
@pytest.mark.parametrize("on_fail", [USUAL, ESCALATE, ABORT])
def test_who_destroyed_something_is_not_let_loose_again_whatever_a_plan_or_a_recipe_says(
    on_fail: OnFail,
) -> None:
    eager = Recipe("mine", frozenset({FailureClass.DESTRUCTIVE}), max=5)
    for recipes in (DEFAULT_RECIPES, (eager,)):
        found = answered(FailureClass.DESTRUCTIVE, on_fail=on_fail, recipes=recipes)
        assert isinstance(found, Escalate)
        assert not found.exhausted


def test_when_retries_are_used_up_on_fail_says_what_follows() -> None:
    assert isinstance(answered(FailureClass.LOGIC, 2, on_fail=OnFail(2, Exhausted.ABORT)), Abort)
    assert isinstance(answered(FailureClass.LOGIC, 2, on_fail=OnFail(2)), Escalate)
    no_person = Recipe("mine", frozenset({FailureClass.LOGIC}), max=1, escalate=False)
    assert isinstance(answered(FailureClass.LOGIC, 1, recipes=(no_person,)), Abort)


def test_never_tried_and_tried_in_vain_are_told_apart() -> None:
    none = Recipe("mine", frozenset({FailureClass.LOGIC}), max=0)
    never = answered(FailureClass.LOGIC, recipes=(none,))
    assert never == Escalate("mine", "the recipe `mine` allows no retry", exhausted=False)
    stopped = answered(FailureClass.LOGIC, on_fail=ESCALATE)
    assert isinstance(stopped, Escalate)
    assert not stopped.exhausted
    vain = answered(FailureClass.LOGIC, 2)
    assert isinstance(vain, Escalate)
    assert vain.exhausted


def test_the_same_failure_on_the_same_tree_three_times_is_no_progress() -> None:
    on_fail = OnFail(9)
    assert isinstance(answered(FailureClass.LOGIC, 1, on_fail=on_fail, repeated=2), Retry)
    found = answered(FailureClass.LOGIC, 2, on_fail=on_fail, repeated=NO_PROGRESS)
    assert found == Escalate(
        "logic", "no progress: the same failure with the same tree 3 times", exhausted=True
    )


def test_the_same_tree_and_the_same_output_twice_is_no_progress() -> None:
    assert isinstance(answered(FailureClass.LOGIC, same=True), Retry)
    found = answered(FailureClass.LOGIC, 1, on_fail=OnFail(9), repeated=2, same=True)
    assert found == Escalate(
        "logic",
        "no progress: the same failure with the same tree and the same output 2 times",
        exhausted=True,
    )


def test_who_waits_for_a_service_is_not_blamed_for_no_progress() -> None:
    patient = replace(DEFAULT_RECIPES[0], max=3)
    found = answered(FailureClass.TRANSIENT, 2, recipes=(patient,), repeated=3)
    assert found == Retry("transient", 3, 3, 300.0, guidance="")


def test_a_recipe_that_matched_by_its_pattern_answers_before_all_others() -> None:
    mine = Recipe("proxy", frozenset(), ("hiccup",), (Action.RETRY,), (1.0,), 4)
    found = answer(
        Classified(FailureClass.UNKNOWN, "recipe-proxy"),
        FailureHistory({}),
        USUAL,
        (mine, *DEFAULT_RECIPES),
        0,
    )
    assert found == Retry("proxy", 1, 4, 1.0, guidance="")
    gone = answer(
        Classified(FailureClass.UNKNOWN, "recipe-gone"),
        FailureHistory({}),
        USUAL,
        DEFAULT_RECIPES,
        0,
    )
    assert isinstance(gone, Escalate)


def test_a_failure_that_no_recipe_answers_escalates() -> None:
    found = answered(FailureClass.LOGIC, recipes=())
    assert isinstance(found, Escalate)
    assert not found.exhausted


def test_a_recipe_may_end_the_plan_at_once() -> None:
    mine = Recipe("mine", frozenset({FailureClass.FLAKY}), actions=(Action.ABORT,))
    assert isinstance(answered(FailureClass.FLAKY, recipes=(mine,)), Abort)


def test_patterns_of_a_recipe_for_one_class_widen_it() -> None:
    one = Recipe("one", frozenset({FailureClass.TRANSIENT}), ("a", "b"))
    two = Recipe("two", frozenset({FailureClass.TRANSIENT, FailureClass.HUNG}), ("c",))
    assert patterns_of((one, two, *DEFAULT_RECIPES)) == (
        Pattern("one", "a", FailureClass.TRANSIENT),
        Pattern("one", "b", FailureClass.TRANSIENT),
        Pattern("two", "c", None),
    )


RECIPES = st.lists(
    st.builds(
        Recipe,
        name=st.sampled_from(["a", "b", "c"]),
        classes=st.frozensets(st.sampled_from(FailureClass)),
        actions=st.lists(st.sampled_from(Action), min_size=1, unique=True).map(tuple),
        backoff=st.lists(st.floats(0, 10), max_size=3).map(tuple),
        max=st.none() | st.integers(0, 4),
        escalate=st.booleans(),
    ),
    max_size=3,
    unique_by=lambda recipe: recipe.name,
).map(lambda own: (*own, *DEFAULT_RECIPES))
FAILURES = st.lists(
    st.tuples(
        st.sampled_from(FailureClass),
        st.sampled_from(["rule", "recipe-a", "recipe-b"]),
        st.integers(1, 4),
    ),
    max_size=60,
)


def played(
    failures: list[tuple[FailureClass, str, int]], on_fail: OnFail, recipes: tuple[Recipe, ...]
) -> list[tuple[FailureClass, str, RecoveryDecision]]:
    """Play the failures of a step that nobody answers for, whatever the decisions are."""
    recovered: Counter[FailureClass] = Counter()
    found = []
    for kind, rule, repeated in failures:
        history = FailureHistory(recovered, recovered.total(), repeated)
        decision = answer(Classified(kind, rule), history, on_fail, recipes, 0.5)
        found.append((kind, rule, decision))
        recovered[kind] += isinstance(decision, Retry)
    return found


@given(FAILURES, st.integers(0, 5), st.sampled_from(Exhausted), RECIPES)
def test_any_sequence_of_failures_is_retried_finitely(
    failures: list[tuple[FailureClass, str, int]],
    retries: int,
    then: Exhausted,
    recipes: tuple[Recipe, ...],
) -> None:
    decisions = played(failures, OnFail(retries, then), recipes)
    counts = Counter(kind for kind, _, decision in decisions if isinstance(decision, Retry))
    most = max(retries if recipe.max is None else recipe.max for recipe in recipes)
    assert all(count <= most for count in counts.values())
    assert counts.total() <= most * len(FailureClass)


@given(FAILURES, st.integers(0, 5), st.sampled_from(Exhausted))
def test_the_sum_of_the_maxima_bounds_all_retries(
    failures: list[tuple[FailureClass, str, int]], retries: int, then: Exhausted
) -> None:
    decisions = played(failures, OnFail(retries, then), DEFAULT_RECIPES)
    bound = sum(retries if recipe.max is None else recipe.max for recipe in DEFAULT_RECIPES)
    assert sum(isinstance(decision, Retry) for *_, decision in decisions) <= bound


@given(FAILURES, st.integers(0, 5), st.sampled_from(Exhausted), RECIPES)
def test_what_is_exhausted_is_never_retried_again(
    failures: list[tuple[FailureClass, str, int]],
    retries: int,
    then: Exhausted,
    recipes: tuple[Recipe, ...],
) -> None:
    over: set[tuple[FailureClass, str]] = set()
    for kind, rule, decision in played(failures, OnFail(retries, then), recipes):
        if isinstance(decision, Retry):
            assert (kind, rule) not in over
        elif isinstance(decision, Abort) or (
            # No progress is about one tree, and not about the count.
            isinstance(decision, Escalate)
            and decision.exhausted
            and "no progress" not in decision.reason
        ):
            over.add((kind, rule))


@given(FAILURES, st.sampled_from([ESCALATE, ABORT]), RECIPES)
def test_without_retries_in_on_fail_nothing_is_retried(
    failures: list[tuple[FailureClass, str, int]], on_fail: OnFail, recipes: tuple[Recipe, ...]
) -> None:
    decisions = played(failures, on_fail, recipes)
    assert not any(isinstance(decision, Retry) for *_, decision in decisions)
