"""A step that is written anew, and one more step: the rest of the plan says what it said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.digest import step_digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.plan.revise import add_step, replace_step, step_text
from planbound.plan.rewrite import RevisionError
from planbound.verify.subject import StepGraph
from tests.examples import examples
from tests.plan.test_revise import headings_of, linked_plans, steps_text

pytestmark = pytest.mark.requirement("language.revise")

NEW = "### 9. Something new\n\n**task:** Write it.\n\n```\n### 4. in code\n```\n"


def waits(plan: Plan) -> dict[str, set[str]]:
    """Return by title which titles a step waits for."""
    title = {step.label: step.title for step in plan.steps}
    return {
        step.title: {title[label] for label in labels}
        for step, labels in zip(plan.steps, plan.dependencies(), strict=True)
    }


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_step_gets_another_text_and_keeps_its_number(newline: str) -> None:
    text = steps_text("1. A", "2. B", "3. C (depends on 2)").replace("\n", newline)
    plan = parse(text)
    changed = replace_step(plan, "2", NEW)
    after = parse(changed)
    assert [step.label for step in after.steps] == ["1", "2", "3"]
    assert after.steps[1].title == "Something new"
    assert changed.count("\n") == changed.count(newline)
    assert waits(after)["C"] == {"Something new"}
    assert replace_step(after, "2", step_text(plan, 1)) == text


@pytest.mark.parametrize(
    ("headings", "place", "expected"),
    [
        (("1. A", "2. B"), {"after": "1"}, ["1. A", "2. Something new", "3. B"]),
        (("1. A", "2. B"), {"before": "first"}, ["1. Something new", "2. A", "3. B"]),
        (("1. A", "2. B"), {"after": "last"}, ["1. A", "2. B", "3. Something new"]),
        (("1. A", "2. B"), {}, ["1. A", "2. B", "3. Something new"]),
        (("0. A", "1. B"), {"before": "1"}, ["0. A", "1. Something new", "2. B"]),
        (
            ("1. A", "2. B", "3. C (depends on 1, 2)"),
            {"after": "1"},
            ["1. A", "2. Something new", "3. B", "4. C (depends on 1, 3)"],
        ),
    ],
)
def test_a_step_comes_and_the_others_are_renumbered(
    headings: tuple[str, ...], place: dict[str, str], expected: list[str]
) -> None:
    changed = add_step(parse(steps_text(*headings)), NEW, **place)
    assert headings_of(changed) == expected


def test_the_new_step_names_others_by_the_numbers_that_they_had() -> None:
    plan = parse(steps_text("1. A", "2. B", "3. C"))
    after = parse(add_step(plan, NEW.replace("new", "new (depends on 1)"), before="3"))
    assert waits(after) == {
        "A": set(),
        "B": {"A"},
        "Something new": {"A"},
        "C": {"Something new"},
    }


def test_a_heading_gets_the_level_and_the_number_of_its_plan() -> None:
    plan = parse("# T\n\n# Steps\n\n## 1. A\n\n**task:** a\n\n## 2. B\n\n**task:** b\n")
    added = add_step(plan, "#### Something new\n\n**task:** c", after="1")
    assert headings_of(added) == ["1. A", "2. Something new", "3. B"]
    assert "\n## 2. Something new\n" in added


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("no heading at all", "one step that begins with its heading"),
        ("### 2. X\n\n### 3. Y\n", "one step that begins with its heading"),
        ("## Postconditions\n\n1. x\n", "one step that begins with its heading"),
        ("### 2. X\n\n## Postconditions\n\n1. x\n", "would"),
        ("### 2. X\n\n```\nnever closed\n", "would"),
        ("### 2. C\n\n**task:** x\n", "title of another step"),
        ("### 2. X (depends on 3)\n\n**task:** x\n", "would wait for"),
    ],
)
def test_what_is_not_one_step_or_closes_a_circle_is_refused(text: str, reason: str) -> None:
    plan = parse(steps_text("1. A", "2. B", "3. C (depends on 2)"))
    with pytest.raises(RevisionError, match=reason):
        replace_step(plan, "2", text)


def test_a_step_is_not_added_before_what_it_needs_or_beside_a_template() -> None:
    plan = parse(steps_text("1. A", "2. B"))
    with pytest.raises(RevisionError, match="would come after it"):
        add_step(plan, NEW.replace("new", "new (depends on 2)"), before="2")
    with pytest.raises(RevisionError, match="template"):
        add_step(parse(steps_text("1. A", "2–N. B")), NEW, after="1")
    with pytest.raises(RevisionError, match="no step"):
        add_step(parse("# T\n\n## Steps\n"), NEW, after="1")


@examples(80)
@given(linked_plans(), st.sampled_from(["\n", "\r\n"]), st.data())
def test_the_other_steps_say_what_they_said(text: str, newline: str, data: st.DataObject) -> None:
    plan = parse(text.replace("\n", newline))
    place = data.draw(st.integers(0, len(plan.steps) - 1))
    before = data.draw(st.booleans())
    beside = {"before" if before else "after": plan.steps[place].label}
    try:
        added = parse(add_step(plan, NEW, **beside))
    except RevisionError as error:
        # A step that names no others waits for the new one now, and may be what it waits for.
        assert "wait for" in error.reason
        return
    slot = place if before else place + 1
    rest = [step for number, step in enumerate(added.steps) if number != slot]
    assert added.steps[slot].title == "Something new"
    assert [step_digest(added, step) for step in rest] == [
        step_digest(plan, step) for step in plan.steps
    ]
    assert [step.id for step in rest] == [step.id for step in plan.steps]
    declared = [step.title for step in plan.steps if step.depends is not None]
    assert {title: waits(added)[title] for title in declared} == {
        title: waits(plan)[title] for title in declared
    }
    assert not StepGraph.of(added).cycles
