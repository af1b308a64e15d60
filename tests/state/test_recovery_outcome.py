"""What came of a recovery, by the events that show it."""

from __future__ import annotations

import pytest

from planbound.journal.event import EventKind as E
from planbound.journal.record import Draft, Json
from planbound.state.run_facts import Recovery, ended
from tests.journal import told

pytestmark = pytest.mark.requirement("recovery.outcome")

PENDING = Recovery("r1", "run-1", ("a", "Make a"), "1", "transient", 1)


def draft(kind: E, task: str | None = "a", **details: Json) -> Draft:
    return Draft(kind.value, "", kind, "PLAN", task, details=told(kind, details))


@pytest.mark.parametrize(
    ("drafts", "outcome", "place"),
    [
        ([draft(E.CONTRACT_EVALUATED), draft(E.TASK_COMPLETED)], "success", 2),
        ([draft(E.FAILURE_DETECTED), draft(E.RECOVERY_APPLIED)], "failed", 0),
        ([draft(E.FAILURE_DETECTED), draft(E.RECOVERY_ESCALATION)], "escalated", 0),
        ([draft(E.BUDGET_EXCEEDED), draft(E.RECOVERY_ESCALATION)], "escalated", 0),
        ([draft(E.FAILURE_DETECTED), draft(E.TASK_FAILED)], "failed", 0),
        ([draft(E.WAIVED)], "escalated", 1),
        ([draft(E.TASK_SKIPPED)], "escalated", 1),
        ([draft(E.TASK_FAILED, "b"), draft(E.EXECUTION_COMPLETE, None)], "failed", 1),
        # The plan was amended or approved anew, and nobody came back to the run before.
        ([draft(E.EXECUTION_STARTED, None, run="run-2")], "failed", 0),
    ],
)
def test_what_happens_to_the_step_says_what_came_of_it(
    drafts: list[Draft], outcome: str, place: int
) -> None:
    (found,) = ended({"a": PENDING}, drafts)
    assert (found.recovery, found.outcome.value, found.place) == (PENDING, outcome, place)


@pytest.mark.parametrize(
    "drafts",
    [
        [draft(E.TASK_STARTED)],
        [draft(E.ATTEMPT_ENDED)],
        [draft(E.TASK_COMPLETED, "b")],
        [draft(E.EXECUTION_PAUSED, None)],
        [draft(E.EXECUTION_STARTED, None, run="run-1")],
    ],
)
def test_until_then_nobody_knows(drafts: list[Draft]) -> None:
    assert list(ended({"a": PENDING}, drafts)) == []
