"""An edit changes the lines that it means to, and no other byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planbound.plan.edit import ProgressMarks, mark_progress, set_plan_status
from planbound.plan.model import PlanStatus, StepStatus
from planbound.plan.parse import parse, parse_source
from tests.examples import examples
from tests.plan.strategies import ANY_TEXT, REAL, plan_texts

STATUSES = st.sampled_from(StepStatus)
TEXTS = st.one_of(st.sampled_from(REAL), plan_texts(), ANY_TEXT)


@pytest.mark.requirement("language.edit")
@examples(200)
@given(TEXTS, st.sampled_from(PlanStatus), st.data())
def test_marking_progress_changes_only_the_lines_of_the_steps_statuses(
    text: str, status: PlanStatus, data: st.DataObject
) -> None:
    plan = set_plan_status(parse(text), status)
    assume(plan.steps)
    after = mark_progress(plan, status, [data.draw(STATUSES) for _ in plan.steps])
    old, new = plan.source.lines, after.lines
    assert len(old) == len(new)
    changed = {
        number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]
    }
    places = [step.heading.start for step in plan.steps]
    places += [
        field.label.start for step in plan.steps for field in step.fields if field.name == "status"
    ]
    assert changed <= {plan.source.position(place)[0] - 1 for place in places}


@pytest.mark.requirement("language.edit")
@examples(150)
@given(st.one_of(st.sampled_from(REAL), plan_texts()), st.sampled_from(PlanStatus), st.data())
def test_a_status_that_was_set_is_read_back(
    text: str, status: PlanStatus, data: st.DataObject
) -> None:
    plan = parse(text)
    wanted = [data.draw(STATUSES) for _ in plan.steps]
    after = parse_source(mark_progress(plan, status, wanted))
    found = [step.status.value if step.status else StepStatus.PENDING for step in after.steps]
    assert found == [each.in_file for each in wanted]
    assert [step.title for step in after.steps] == [step.title for step in plan.steps]
    assert after.status is status


@pytest.mark.requirement("language.edit")
@given(TEXTS, st.data())
def test_marking_again_and_again_is_marking_anew(text: str, data: st.DataObject) -> None:
    plan = parse(text)
    marks = ProgressMarks(plan)
    for _ in range(3):
        status = data.draw(st.sampled_from(PlanStatus))
        steps = [data.draw(STATUSES) for _ in plan.steps]
        assert marks.shown(status, steps).text == mark_progress(plan, status, steps).text


@pytest.mark.requirement("language.edit")
@examples(150)
@given(st.one_of(st.sampled_from(REAL), plan_texts()), st.sampled_from(PlanStatus))
def test_setting_the_plan_status_changes_one_line(text: str, status: PlanStatus) -> None:
    plan = parse(text.replace("\n", "\r\n"))
    after = set_plan_status(plan, status)
    assert after.status is status
    old, new = plan.source.text.split("\r\n"), after.source.text.split("\r\n")
    assert [a for a, b in zip(old, new, strict=True) if a != b] in ([], ["status: draft"], [
        "status: approved"], ["status: in-progress"])  # fmt: skip


def test_a_status_line_is_kept_in_step_with_the_mark() -> None:
    head = "---\nstatus: draft\n---\n\n## Steps\n\n### 1. "
    plan = parse(f"{head}Do\n\n**status: pending**\n**task:** x\n")
    after = mark_progress(plan, PlanStatus.DRAFT, [StepStatus.DONE])
    assert after.text == f"{head}✅ Do\n\n**status: done**\n**task:** x\n"


def test_the_plan_status_keeps_its_quotes_and_comment() -> None:
    plan = parse('---\nstatus: "draft"   # by hand\n---\n')
    assert set_plan_status(plan, PlanStatus.DONE).source.text == (
        '---\nstatus: "done"   # by hand\n---\n'
    )
