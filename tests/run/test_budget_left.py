"""What is left of a budget has to do for an attempt before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest

from planbound.journal.event import BudgetExceeded
from planbound.journal.event import EventKind as E
from planbound.journal.record import Draft, Json, Record
from planbound.journal.words import Limit
from planbound.plan.limits import ESTIMATE, Budget
from planbound.plan.parse import parse
from planbound.run.budget import NOBODY, Excess, Expected, Shortages
from planbound.run.decide import Action, AskBudget, AskPerson, Await, Begin, Pace, decide
from planbound.state.plan import PlanState
from planbound.state.run import RunState, lay_out
from planbound.state.step import Use
from planbound.workspace.agents import AgentRules, Price, estimate_of
from tests.journal import told
from tests.run.bench import Step, plan_text

RUN: dict[str, Json] = {"run": "r1"}
ASKED: dict[str, Json] = {"escalation": "q1", "kind": "budget", "user_decision": None}
STEPS = (Step("make a", depends="none"), Step("make b", depends="none"), Step("make c"))


class Story:
    """A run of a plan, told event by event."""

    def __init__(self, *steps: Step, budget: str = "", expected: Expected | None = None) -> None:
        fields = f"**Budget:** {budget}" if budget else ""
        text = plan_text(*(steps or STEPS), fields=fields, after=())
        self.state = RunState(lay_out(parse(text.encode(), path="PLAN.md")), PlanState("PLAN"))
        places = range(len(self.state.steps))
        self.expected = {} if expected is None else dict.fromkeys(places, expected)
        self.second = 0
        self.tell(E.EXECUTION_STARTED, None)

    def tell(self, kind: E, task: str | None, /, **details: Json) -> None:
        self.second += 1
        stamp = f"2026-11-16T10:{self.second // 60:02}:{self.second % 60:02}.000000Z"
        seq = self.state.seq + 1
        draft = Draft(f"e{seq}", stamp, kind, "PLAN", task, task, told(kind, {**RUN, **details}))
        self.state.apply(Record(seq, seq, draft, 1, "", ""))

    def attempt(self, task: str, *, passes: Json = True, **used: Json) -> None:
        number = self.state.steps[self.state.layout.by_id[task]].attempts + 1
        self.tell(E.TASK_STARTED, task, attempt=number)
        self.tell(E.ATTEMPT_ENDED, task, attempt=number, **{"ending": "exited", **used})
        if passes:
            self.tell(E.TASK_COMPLETED, task, attempt=number, result="proved")
        else:
            self.tell(E.RECOVERY_APPLIED, task, attempt=number, failure_type="logic")

    def next(self, *, jobs: int = 1, working: tuple[int, ...] = ()) -> Action:
        pace = Pace("2026-11-16T11", jobs, frozenset(working), expected=self.expected)
        return decide(self.state, pace)

    def asked(self) -> str:
        action = self.next()
        assert isinstance(action, AskBudget), action
        return action.found.question()


@pytest.mark.requirement("budget.before")
@pytest.mark.parametrize(
    ("budget", "used", "said"),
    [
        ("1,000 tokens", {"tokens": 900}, "100 tokens of 1,000 tokens left, 900 tokens needed"),
        ("$1", {"dollars": "0.60"}, "$0.40 of $1.00 left, $0.60 needed"),
        ("10 seconds", {"duration": 8.0}, "7s of 10s left, 8s needed"),
    ],
)
def test_a_step_does_not_begin_with_less_than_the_median_of_its_role(
    budget: str, used: Mapping[str, Json], said: str
) -> None:
    story = Story(budget=budget)
    assert isinstance(story.next(), Begin)  # nothing is known of its role yet
    story.attempt("make-a", role="coder", **used)
    asked = story.asked()
    assert said in asked
    assert "step 2" in asked
    assert "the median of 1 attempt of role `coder`" in asked


@pytest.mark.requirement("budget.before")
def test_a_retry_is_an_attempt_too() -> None:
    story = Story(budget="1,000 tokens")
    story.attempt("make-a", passes=False, tokens=600)
    assert "400 tokens of 1,000 tokens left, 600 tokens needed" in story.asked()


def test_the_median_is_that_of_the_role_and_of_whole_attempts() -> None:
    story = Story(budget="10,000 tokens")
    story.attempt("make-a", passes=False, role="reviewer", tokens=9_000)
    story.attempt("make-a", passes=False, role="coder", tokens=100)
    story.attempt("make-a", passes=False, role="coder", tokens=300, ending="interrupted")
    assert isinstance(story.next(), Begin)
    story.attempt("make-a", role="coder", tokens=500)
    assert "100 tokens of 10,000 tokens left, 300 tokens needed" in story.asked()
    assert "the median of 2 attempts" in story.asked()


def test_what_is_left_just_covers_it() -> None:
    story = Story(budget="1,000 tokens, $1.20, 1h")
    story.attempt("make-a", tokens=500, dollars="0.60", duration=1.0)
    assert isinstance(story.next(), Begin)


@pytest.mark.parametrize("used", [{}, {"tokens": None, "dollars": None}])
def test_of_agents_that_do_not_say_nobody_is_asked(used: Mapping[str, Json]) -> None:
    story = Story(budget="100 tokens, $0.01", expected=Expected(usual=Budget(tokens=50)))
    story.attempt("make-a", duration=1.0, **used)
    story.expected = dict.fromkeys(range(3), Expected(usual=Budget(tokens=5_000)))
    assert isinstance(story.next(), Begin)


def test_a_budget_of_the_plan_that_is_large_or_not_there_asks_nothing() -> None:
    for budget in ("", "150k tokens, $1.20, 25 minutes"):
        story = Story(budget=budget, expected=Expected(usual=ESTIMATE))
        assert isinstance(story.next(), Begin)
        story.attempt("make-a", tokens=40_000, dollars="0.30", duration=200.0)
        assert isinstance(story.next(), Begin)


def test_a_step_that_nobody_works_on_needs_nothing() -> None:
    own = Step("make b", depends="none", attest="it is so", fields="**budget:** 500 tokens")
    story = Story(STEPS[0], own, budget="1,000 tokens")
    story.attempt("make-a", tokens=900)
    assert isinstance(story.next(), AskBudget)
    story.expected = {1: NOBODY}
    assert isinstance(story.next(), Begin)


# -- where the number comes from ---------------------------------------------------------------


@pytest.mark.requirement("budget.before")
def test_the_steps_own_budget_comes_before_any_estimate() -> None:
    own = Step("make b", depends="none", fields="**budget:** 300 tokens")
    story = Story(STEPS[0], own, budget="1,000 tokens", expected=Expected(usual=ESTIMATE))
    story.tell(E.TASK_SKIPPED, "make-a", by="me")
    assert isinstance(story.next(), Begin)
    story.state.plan.run.spent = story.state.spent._replace(tokens=701)
    assert story.asked().endswith(
        "299 tokens of 1,000 tokens left, 300 tokens needed (its own budget)"
    )


def test_what_a_person_allowed_on_top_is_no_steps_own() -> None:
    own = Step("make b", depends="none", fields="**budget:** 300 tokens")
    story = Story(STEPS[0], own, budget="1,000 tokens")
    story.attempt("make-a", tokens=800)
    assert "200 tokens of 1,000 tokens left, 300 tokens needed" in story.asked()
    story.tell(E.RECOVERY_ESCALATION, "make-b", **ASKED)
    story.tell(E.BUDGET_RAISED, None, by="me", tokens=500)
    story.attempt("make-b", passes=False, tokens=250)
    assert isinstance(story.next(), Begin)  # 450 are left, and 50 of its own
    story.attempt("make-b", passes=False, tokens=100)
    assert isinstance(story.next(), Begin)  # 350, and by the median 250
    story.attempt("make-b", passes=False, tokens=200)
    assert "150 tokens of 1,500 tokens left, 225 tokens needed" in story.asked()


def test_time_that_the_harness_took_is_not_held_against_a_steps_own_budget() -> None:
    own = Step("make a", fields="**budget:** 10 minutes")
    story = Story(own, budget="10 minutes")
    story.tell(E.BASELINE_OBSERVED, "make-a", verdict="fail")
    assert story.state.session_seconds() > 0
    assert isinstance(story.next(), Begin)


def test_the_rest_of_an_own_budget_has_to_do_for_one_more_attempt() -> None:
    own = Step("make a", fields="**budget:** 1,000 tokens")
    story = Story(own)
    story.attempt("make-a", passes=False, tokens=400)
    assert isinstance(story.next(), Begin)
    story.attempt("make-a", passes=False, tokens=400)
    assert "200 tokens of its own 1,000 tokens left, 400 tokens needed" in story.asked()


def test_the_default_estimate_holds_until_an_attempt_of_the_role_was_seen() -> None:
    story = Story(budget="800 tokens", expected=Expected(usual=Budget(tokens=1_000)))
    assert "1,000 tokens needed (the default estimate)" in story.asked()
    story.attempt("make-a", tokens=10)
    assert isinstance(story.next(), Begin)


def test_attempts_in_other_plans_come_before_the_default_estimate_and_after_the_plans_own() -> None:
    uses = (Use(tokens=300), Use(tokens=500), Use(tokens=900))
    expected = Expected(usual=Budget(tokens=10), elsewhere=uses)
    story = Story(budget="400 tokens", expected=expected)
    assert "500 tokens needed (the median of 3 attempts of role `coder`)" in story.asked()
    story.attempt("make-a", tokens=10)
    assert isinstance(story.next(), Begin)


def test_nobody_needs_more_than_he_may_use() -> None:
    expected = Expected(usual=Budget(tokens=1_000), most=Budget(tokens=200))
    assert isinstance(Story(budget="200 tokens", expected=expected).next(), Begin)
    assert "200 tokens needed" in Story(budget="199 tokens", expected=expected).asked()


@pytest.mark.parametrize(
    ("rules", "told", "expected"),
    [
        (AgentRules("a"), Budget(), Budget()),
        (AgentRules("a", kind="of-another-package"), Budget(), Budget()),
        (AgentRules("a"), Budget(tokens=7), Budget(tokens=7)),
        (AgentRules("a", kind="claude"), Budget(), ESTIMATE),
        (AgentRules("a", kind="codex"), Budget(), ESTIMATE._replace(dollars=None)),
        (
            AgentRules("a", kind="codex", price=Price(Decimal(1), Decimal(1), Decimal(1))),
            Budget(),
            ESTIMATE,
        ),
    ],
)
def test_a_command_has_no_estimate_that_nobody_wrote(
    rules: AgentRules, told: Budget, expected: Budget
) -> None:
    usual = ESTIMATE._replace(tokens=told.tokens or ESTIMATE.tokens)
    assert estimate_of(rules, told, usual) == expected


# -- the question ------------------------------------------------------------------------------


def test_every_limit_that_is_short_is_named_at_once() -> None:
    story = Story(budget="1,000 tokens, $1", expected=Expected())
    story.attempt("make-a", tokens=900, dollars="0.90")
    action = story.next()
    assert isinstance(action, AskBudget)
    assert isinstance(action.found, Shortages)
    assert [each.limit.value for each in action.found.found] == ["tokens", "cost"]
    assert action.found.event(2) == BudgetExceeded(
        limit=Limit.TOKENS,
        allowed=1000,
        spent=900,
        needed=900,
        left=100,
        basis="the median of 1 attempt of role `coder`",
        remaining=2,
        attempt=2,
    )


@pytest.mark.requirement("budget.before")
def test_after_a_raise_the_same_shortage_is_not_asked_about_again() -> None:
    story = Story(budget="1,000 tokens")
    story.attempt("make-a", tokens=900)
    story.tell(E.RECOVERY_ESCALATION, "make-b", **ASKED)
    assert isinstance(story.next(), AskPerson)
    story.tell(E.BUDGET_RAISED, None, by="me", tokens=1)
    begun = story.next()
    assert isinstance(begun, Begin)
    assert begun.slot.label == "2"
    # A crash does not take the answer back; an attempt that came to its end uses it up.
    story.attempt("make-b", passes=False, ending="lost")
    assert isinstance(story.next(), Begin)
    story.attempt("make-b", passes=False, tokens=50)
    assert isinstance(story.next(), AskBudget)


def test_more_of_another_limit_is_no_answer() -> None:
    story = Story(budget="1,000 tokens")
    story.attempt("make-a", tokens=900)
    story.tell(E.RECOVERY_ESCALATION, "make-b", **ASKED)
    story.tell(E.BUDGET_RAISED, None, by="me", dollars="5", seconds=60.0)
    assert "100 tokens of 1,000 tokens left" in story.asked()


def test_a_question_is_asked_once() -> None:
    story = Story(STEPS[0], Step("make b"), budget="1,000 tokens")
    story.attempt("make-a", tokens=900)
    assert isinstance(story.next(), AskBudget)
    story.tell(E.RECOVERY_ESCALATION, "make-b", **ASKED)
    assert isinstance(story.next(), AskPerson)
    story.tell(E.EXECUTION_STARTED, None, resumed=True)
    assert isinstance(story.next(), AskPerson)


def test_what_is_used_up_says_so_as_before() -> None:
    story = Story(budget="900 tokens")
    story.attempt("make-a", tokens=900)
    action = story.next()
    assert isinstance(action, AskBudget)
    assert isinstance(action.found, Excess)
    assert "the budget is used up" in action.found.question()


# -- steps beside each other -------------------------------------------------------------------


@pytest.mark.requirement("budget.before")
def test_what_attempts_under_way_need_is_not_left_for_others() -> None:
    story = Story(budget="1,000 tokens", expected=Expected(usual=Budget(tokens=600)))
    story.tell(E.TASK_STARTED, "make-a", attempt=1)
    # It may turn out cheaper: nobody is asked before that is known.
    assert isinstance(story.next(jobs=2, working=(0,)), Await)
    story.tell(E.ATTEMPT_ENDED, "make-a", attempt=1, ending="exited", tokens=100)
    story.tell(E.TASK_COMPLETED, "make-a", attempt=1, result="proved")
    assert isinstance(story.next(jobs=2), Begin)
