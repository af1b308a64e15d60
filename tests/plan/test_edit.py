"""An edit changes the lines that it means to, and no other byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planbound.plan.edit import set_plan_status, set_step_status
from planbound.plan.model import PlanStatus, StepStatus
from planbound.plan.parse import parse
from tests.examples import examples
from tests.plan.strategies import ANY_TEXT, REAL, plan_texts

TEXTS = st.one_of(st.sampled_from(REAL), plan_texts(), ANY_TEXT)


@pytest.mark.requirement("language.edit")
@examples(200)
@given(TEXTS, st.sampled_from(StepStatus), st.data())
def test_setting_a_step_status_changes_only_its_own_lines(
    text: str, status: StepStatus, data: st.DataObject
) -> None:
    plan = parse(text)
    assume(plan.steps)
    place = data.draw(st.integers(0, len(plan.steps) - 1))
    step = plan.steps[place]
    after = set_step_status(plan, step, status)
    old, new = plan.source.lines, after.source.lines
    assert len(old) == len(new)
    changed = {
        number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]
    }
    allowed = {plan.source.position(step.heading.start)[0] - 1}
    allowed |= {
        plan.source.position(field.label.start)[0] - 1
        for field in step.fields
        if field.name == "status"
    }
    assert changed <= allowed


@pytest.mark.requirement("language.edit")
@examples(150)
@given(st.one_of(st.sampled_from(REAL), plan_texts()), st.sampled_from(StepStatus), st.data())
def test_a_status_that_was_set_is_read_back(
    text: str, status: StepStatus, data: st.DataObject
) -> None:
    plan = parse(text)
    place = data.draw(st.integers(0, len(plan.steps) - 1))
    after = set_step_status(plan, plan.steps[place], status)
    found = after.steps[place].status
    assert (found.value if found else StepStatus.PENDING) is status.in_file
    assert after.steps[place].title == plan.steps[place].title


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
    plan = parse("## Steps\n\n### 1. Do\n\n**status: pending**\n**task:** x\n")
    after = set_step_status(plan, plan.steps[0], StepStatus.DONE)
    assert after.source.text == "## Steps\n\n### 1. ✅ Do\n\n**status: done**\n**task:** x\n"


def test_the_plan_status_keeps_its_quotes_and_comment() -> None:
    plan = parse('---\nstatus: "draft"   # by hand\n---\n')
    assert set_plan_status(plan, PlanStatus.DONE).source.text == (
        '---\nstatus: "done"   # by hand\n---\n'
    )
