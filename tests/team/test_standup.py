"""Who does what."""

from __future__ import annotations

import re

import pytest

from planbound.journal.event import EventKind
from planbound.plan.model import PlanStatus
from planbound.team.standup import Standup, StandupLine, standup
from planbound.workspace.readiness import FileStatus, PlanInfo
from tests.tables import one_fact

NOW = "2026-11-15T12:00:00.000000Z"
RECENT = "2026-11-15T10:00:00.000001Z"
LONG_AGO = "2026-11-15T10:00:00.000000Z"


def where(plan: PlanInfo, *, has_journal: bool = True) -> str | None:
    found = standup([plan], NOW, has_journal=has_journal)
    groups = [name for name, group in zip(Standup._fields, found, strict=True) if group]
    assert len(groups) <= 1
    return groups[0] if groups else None


def status_of(word: str) -> PlanStatus | FileStatus:
    return FileStatus(word) if word in {each.value for each in FileStatus} else PlanStatus(word)


def plan(status: str, last: str | None = RECENT, waiting: str | None = None) -> PlanInfo:
    started = status not in {"draft", "verified", "approved"}
    return PlanInfo("a", status=status_of(status), started=started, last=last, waiting=waiting)


@one_fact(
    ("known", "group"),
    [
        (plan("in-progress"), "building"),
        (plan("in-progress", LONG_AGO), "idle"),
        (plan("in-progress", LONG_AGO, "escalation"), "waiting"),
        (plan("verified", RECENT, "approval"), "waiting"),
        (plan("failed"), "waiting"),
        (plan("done"), "mergeable"),
        (plan("done", LONG_AGO), "mergeable"),
        (plan("done with skips"), "mergeable"),
        (plan("draft"), "idle"),
        (plan("verified"), "idle"),
        (plan("approved"), "idle"),
        (plan("finished with blocked items"), "waiting"),
        (plan("cancelled"), "idle"),
        (plan("done")._replace(integrated=True), "idle"),
        (plan("failed")._replace(last_event="SESSION_RELEASED"), "idle"),
        (plan("draft", LONG_AGO), "idle"),
        (plan("approved", LONG_AGO), "idle"),
        (plan("draft", None), "idle"),
        (plan("done")._replace(archived=True), None),
        (plan("draft", LONG_AGO)._replace(staged=True), "idle"),
        (plan("draft", LONG_AGO)._replace(problem="unreadable"), "waiting"),
    ],
)
def test_each_plan_is_in_the_group_that_tells_most(known: PlanInfo, group: str | None) -> None:
    assert where(known) == group


def test_without_a_journal_nobody_knows_for_how_long_nothing_happened() -> None:
    assert where(plan("in-progress", None), has_journal=False) == "building"
    assert where(plan("draft", None), has_journal=False) == "idle"


@pytest.mark.requirement("standup.whole")
@pytest.mark.parametrize("status", [*(each.value for each in PlanStatus), "claimed"])
def test_every_plan_that_is_not_put_away_has_exactly_one_place(status: str) -> None:
    changes: list[dict[str, object]] = [{}, {"integrated": True}, {"unproved": "1 step holds"}]
    changes += [{"staged": True}, {"problem": "no"}, {"started": True}, {"waiting": "approval"}]
    for last in (None, RECENT, LONG_AGO):
        for change in changes:
            for has_journal in (True, False):
                known = plan(status, last)._replace(**change)  # type: ignore[arg-type] # by name
                groups = standup([known], NOW, has_journal=has_journal)
                (found,) = [each for group in groups for each in group]
                assert found.status.value == ("draft" if status == "claimed" else status)
                assert found.about


@pytest.mark.requirement("standup.whole")
def test_every_question_of_a_plan_is_named() -> None:
    asked = plan("in-progress", waiting="escalation")
    both = asked._replace(open_questions=("escalation (step 1)", "escalation (step 2)"))
    (found,) = standup([both], NOW).waiting
    assert found.about == "escalation (step 1), escalation (step 2)"


@pytest.mark.requirement("standup.whole")
def test_what_happened_last_to_a_plan_in_progress_is_told_in_words() -> None:
    for kind in EventKind:
        known = plan("in-progress")._replace(last_event=kind.value)
        (standing,) = standup([known], NOW).building
        assert re.fullmatch(r"[a-z][a-z ,]+", standing.about), kind
    assert standup([plan("in-progress")._replace(last_event="TASK_COMPLETED")], NOW).building == (
        StandupLine("a", PlanStatus.IN_PROGRESS, "a step is done"),
    )


def test_idle_says_since_when() -> None:
    (standing,) = standup([plan("approved", LONG_AGO)], NOW).idle
    assert standing.about == "no event since 2026-11-15 10:00 UTC"


def test_plans_come_by_name() -> None:
    plans = [plan("done")._replace(slug=slug) for slug in ("b", "c", "a")]
    assert [standing.slug for standing in standup(plans, NOW).mergeable] == ["a", "b", "c"]
