"""What attempts used, summed up so that what nobody knows is never taken for nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from planbound.journal.event import (
    AttemptEnded,
    AttemptEnding,
    BudgetRaised,
    Event,
    ExecutionStarted,
    TaskStarted,
)
from planbound.journal.fields import Allowed
from planbound.journal.record import Record
from planbound.journal.redact import Redactor
from planbound.receipts.costs import (
    CostSource,
    GroupBy,
    attempts,
    budgets,
    grouped,
    past_costs,
    range_words,
    total,
)
from planbound.state.append import Recorder
from planbound.testing.journal import MemoryJournal


class Told:
    """A journal that is told what happened, a second after the other."""

    def __init__(self) -> None:
        self.seconds = 0
        self.recorder = Recorder(MemoryJournal(), redactor=Redactor({}, ()), now=self._now)
        self.records: list[Record] = []

    def _now(self) -> str:
        return f"2026-11-{15 + self.seconds // 60:02}T09:00:{self.seconds % 60:02}.000000Z"

    def tell(self, event: Event, plan: str = "one", step: str = "make") -> Told:
        self.seconds += 1
        task = (step, step.title()) if isinstance(event, TaskStarted | AttemptEnded) else None
        self.records.append(self.recorder.record(event, plan, task=task))
        return self

    def attempt(
        self,
        tokens: int | None,
        dollars: str | None,
        *,
        plan: str = "one",
        step: str = "make",
        number: int = 1,
        run: str = "r1",
        kind: str | None = "claude",
        role: str | None = None,
    ) -> Told:
        self.tell(TaskStarted(attempt=number, agent="mine", run=run, number="1"), plan, step)
        return self.tell(
            AttemptEnded(
                attempt=number,
                ending=AttemptEnding.EXITED,
                agent="mine",
                kind=kind,
                model="large" if kind else None,
                role=role,
                tokens=tokens,
                dollars=dollars,
                run=run,
                number="1",
                duration=2.5,
            ),
            plan,
            step,
        )


def test_what_nobody_knows_is_counted_and_never_summed() -> None:
    told = Told().attempt(100, "0.5").attempt(None, None, number=2).attempt(7, None, number=3)
    found = total(attempts(told.records))
    assert (found.attempts, found.tokens, found.dollars) == (3, 107, Decimal("0.5"))
    assert (found.no_tokens, found.no_dollars, found.unknown) == (1, 2, 1)
    nothing = total(attempts(Told().attempt(None, None).records))
    assert (nothing.tokens, nothing.dollars, nothing.unknown) == (None, None, 1)


def test_an_attempt_without_an_end_is_one_of_which_nobody_knows_what_it_used() -> None:
    told = Told().tell(TaskStarted(attempt=1, agent="mine", run="r1"))
    told.tell(TaskStarted(attempt=1, session="s"), step="other")
    assert [each.source for each in attempts(told.records)] == [CostSource.UNKNOWN] * 2
    assert [each.ended for each in attempts(told.records)] == [False, False]


def test_what_a_person_attests_without_an_agent_costs_nothing() -> None:
    assert attempts(Told().tell(TaskStarted(attempt=1, run="r1")).records) == []


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("model", CostSource.MEASURED),
        ("claude", CostSource.CLAIMED),
        ("command", CostSource.CLAIMED),
        (None, CostSource.CLAIMED),
    ],
)
def test_only_our_own_loop_measures(kind: str | None, source: CostSource) -> None:
    (found,) = attempts(Told().attempt(10, "0.1", kind=kind).records)
    assert found.source is source


def test_costs_are_grouped_by_what_is_asked_for() -> None:
    told = Told().attempt(1, None).attempt(2, None, plan="two", step="mend", kind=None)
    found = attempts(told.records)
    names = {by: list(grouped(found, by)) for by in GroupBy}
    assert names[GroupBy.PLAN] == ["one", "two"]
    assert names[GroupBy.STEP] == ["one/1 Make", "two/1 Mend"]
    assert names[GroupBy.AGENT] == ["mine (claude)", "mine"]
    assert names[GroupBy.MODEL] == ["large", "not said"]
    assert names[GroupBy.WEEK] == ["2026-W46"]


def test_a_budget_is_that_of_the_last_run_with_what_was_raised_since() -> None:
    told = Told()
    for run, tokens in (("r1", 10), ("r2", 20)):
        told.tell(ExecutionStarted(run=run, nonce="n", budget=Allowed(tokens, "1.5", 60)))
    told.tell(BudgetRaised(by="ann", tokens=5, dollars="0.25"))
    found = budgets(told.records)["one"]
    assert (found.run, found.tokens, found.dollars) == ("r2", 25, Decimal("1.75"))


def test_past_costs_are_those_of_steps_with_all_their_attempts() -> None:
    told = Told().attempt(40_000, "0.03").attempt(9_400, "0.02", number=2)
    told.attempt(90_000, "0.12", run="r2").attempt(None, None, run="r3")
    told.attempt(1, "9", role="reviewer", run="r9").attempt(1, "9", kind="codex", step="other")
    (past,) = past_costs(attempts(told.records), [("coder", "mine", "claude")])
    # The reviewer's is another role's, and the other kind's another program's.
    assert range_words(past) == "3 runs: 49–90k tokens, $0.05–0.12 a step; 1 of 3 steps did not say"


def test_past_costs_of_older_records_go_by_the_agent() -> None:
    told = Told().attempt(400, None, kind=None)
    (past,) = past_costs(attempts(told.records), [("coder", "mine", "claude")])
    assert range_words(past) == "1 run: 400 tokens a step"
    assert not list(past_costs(attempts(told.records), [("coder", "other", "claude")]))
    assert not list(past_costs([], [("coder", "mine", "claude")]))
