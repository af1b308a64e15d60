"""What a person changes at the gate changes what it means to, and no other byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planbound.plan.digest import step_digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.plan.revise import move_step, remove_step, reorder_steps, swap_steps
from planbound.plan.rewrite import RevisionError
from planbound.verify.subject import StepGraph
from tests.examples import examples
from tests.plan.strategies import ANY_TEXT, FIXTURES, REAL, SENTENCE, plan_texts
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("language.revise")

HEAD = "---\ntype: plan\n---\n\n# Goal\n\n## Preconditions\n\n1. One  \n\n## Steps\n\nText.\n\n"
TAIL = "\n\n\n## Notes of mine\n\n### 2. not a step\n\n## Postconditions\n\n1. Step 2 holds\t\n"


Change = Callable[[Plan], str]
"""A change that is still to be made: to whichever plan it is given."""


def remove(label: str) -> Change:
    return lambda plan: remove_step(plan, label)


def move(label: str, *, before: str | None = None, after: str | None = None) -> Change:
    return lambda plan: move_step(plan, label, before=before, after=after)


def swap(first: str, second: str) -> Change:
    return lambda plan: swap_steps(plan, first, second)


def reorder(*order: str) -> Change:
    return lambda plan: reorder_steps(plan, order)


def steps_text(*headings: str) -> str:
    blocks = [
        f"### {heading}\n\n**task:** Do {heading[3:5].strip()} as in step 2.  "
        for heading in headings
    ]
    return HEAD + "\n\n".join(blocks) + TAIL


def headings_of(text: str) -> list[str]:
    return [
        text_of.strip()
        for plan in [parse(text)]
        for text_of in (plan.source.slice(step.heading) for step in plan.steps)
    ]


DIAMOND = ("1. A", "2. B (depends on 1)", "3. C (depends on 1)", "4. D (depends on 2, 3)")


@one_fact("newline", ["\n", "\r\n"])
@one_fact(
    ("before", "change", "after"),
    [
        # a removal
        (DIAMOND, remove("2"), ["1. A", "2. C (depends on 1)", "3. D (depends on 1, 2)"]),
        (DIAMOND, remove("3"), ["1. A", "2. B (depends on 1)", "3. D (depends on 2, 1)"]),
        (DIAMOND, remove("4"), list(DIAMOND[:3])),
        (
            DIAMOND,
            remove("1"),
            ["1. B (depends on none)", "2. C (depends on none)", "3. D (depends on 1, 2)"],
        ),
        (("1. A", "2. B", "3. C"), remove("2"), ["1. A", "2. C"]),
        (("1. A", "2. B", "3. C"), remove("1"), ["1. B", "2. C"]),
        # what the step before it depended on is not the step before that: it is written down
        (
            ("1. A", "2. B (depends on none)", "3. C (depends on 1)", "4. D ✅"),
            remove("3"),
            ["1. A", "2. B (depends on none)", "3. D (depends on 1) ✅"],
        ),
        (
            ("1. A", "2. B (depends: none)", "3. C"),
            remove("2"),
            ["1. A", "2. C (depends on none)"],
        ),
        # nothing is named twice
        (
            ("1. A", "2. B (depends on 1)", "3. C (depends on step 2 and step 1)"),
            remove("2"),
            ["1. A", "2. C (depends on step 1)"],
        ),
        (
            ("1. A", "2. B", "3. C (depends on 1; 2)"),
            remove("2"),
            ["1. A", "2. C (depends on 1)"],
        ),
        # ranges
        (
            ("1. A", "2. B", "3. C", "4. D (depends on 1–3)"),
            remove("2"),
            ["1. A", "2. C", "3. D (depends on 1–2)"],
        ),
        (
            ("1. A", "2. B", "3. C", "4. D (depends on 1-2)"),
            swap("2", "3"),
            ["1. A", "2. C", "3. B", "4. D (depends on 1, 3)"],
        ),
        # a move: the dependency means the same step
        (
            ("1. A", "2. B", "3. ✅ C (depends on 1)", "4. D (depends on 3)"),
            move("3", before="2"),
            ["1. A", "2. ✅ C (depends on 1)", "3. B", "4. D (depends on 2)"],
        ),
        (("1. A", "2. B", "3. C"), move("1"), ["1. B", "2. C", "3. A"]),
        (("1. A", "2. B", "3. C"), move("1", after="last"), ["1. B", "2. C", "3. A"]),
        (("1. A", "2. B", "3. C"), move("c", before="first"), ["1. C", "2. A", "3. B"]),
        (("1. A", "2. B", "3. C"), move("1", after="2"), ["1. B", "2. A", "3. C"]),
        (("1. A", "2. B", "3. C"), move("3", after="1"), ["1. A", "2. C", "3. B"]),
        (("1. A", "2. B", "3. C"), move("1", before="3"), ["1. B", "2. A", "3. C"]),
        (("1. A", "2. B", "3. C"), move("2", after="2"), ["1. A", "2. B", "3. C"]),
        # all of them; a step that is not there stays unknown
        (
            ("1. A", "2. B (depends on 1, 9)", "3. C"),
            reorder("3", "1", "2"),
            ["1. C", "2. A", "3. B (depends on 2, 9)"],
        ),
        # numbers as they are written
        (("0. A", "02) B", "5. C"), reorder("5", "0", "2"), ["0. C", "02. A", "5) B"]),
        (("步骤 1：A", "步骤 2：B"), swap("1", "2"), ["步骤 1：B", "步骤 2：A"]),
        (("**1. A**", "**2. B (depends on none)**"), swap("1", "2"),
         ["**1. B (depends on none)**", "**2. A**"]),
        # templates behind the change
        (
            ("1. A", "2. B", "3–N. C (depends on 1)", "N+1. D"),
            swap("1", "2"),
            ["1. B", "2. A", "3–N. C (depends on 2)", "N+1. D"],
        ),
    ],
)  # fmt: skip
def test_headings_after_a_change(
    before: tuple[str, ...], change: Change, after: list[str], newline: str
) -> None:
    text = "\ufeff" + steps_text(*before).replace("\n", newline)
    changed = change(parse(text))
    assert headings_of(changed) == after
    assert changed.startswith("\ufeff" + HEAD.replace("\n", newline))
    assert changed.endswith("  " + TAIL.replace("\n", newline))
    assert changed.count("\n") == changed.count(newline)
    # The words of the steps are theirs, numbers in them too.
    assert changed.count("as in step 2.  ") == len(after)
    assert changed.count(f"{newline}{newline}### ") == len(after) + 1


@pytest.mark.parametrize(
    ("field", "after"),
    [
        ("**depends:** 1, 2", "**depends:** 1"),
        ("**depends:** 2, 1", "**depends:** 1"),
        ("**depends:** 2", "**depends:** 1"),
        ("**depends:** `1`, `2`  ", "**depends:** `1`  "),
        ("**depends:** `2` — the parser", "**depends:** `1` — the parser"),
        ("**depends:**\n- 1\n- 2 ", "**depends:**\n- 1"),
        ("**Depends on:**\n- `2` — two\n- 1\n", "**Depends on:**\n- 1\n"),
        ("**depends:** none", "**depends:** none"),
        ("**depends:** 2, 2, 1", "**depends:** 1"),
        ("**depends:** 4, 2", "**depends:** 3, 1"),
        ("**depends:** nonsense, 2", "**depends:** nonsense, 1"),
    ],
)
def test_fields_name_the_same_steps_when_one_is_removed(field: str, after: str) -> None:
    text = (
        "## Steps\n### 1. A\n**task:** x\n### 2. B\n**task:** y\n### 3. C\n{field}\n**task:** z\n"
        "### 4. D\n**depends:** none\n"
    )
    changed = remove_step(parse(text.replace("{field}", field)), "2")
    expected = text.replace("### 2. B\n**task:** y\n", "").replace("{field}", after)
    assert changed == expected.replace("### 3", "### 2").replace("### 4", "### 3")


def test_a_title_and_a_field_together() -> None:
    text = "## Steps\n### 1. A\n### 2. B (depends on 1)\n### 3. C (depends on 2)\n**depends:** 1\n"
    changed = remove_step(parse(text), "2")
    assert changed == "## Steps\n### 1. A\n### 2. C (depends on none)\n**depends:** 1\n"


@one_fact(
    ("headings", "change", "reason"),
    [
        (DIAMOND, remove("7"), "no step `7`: its steps are 1, 2, 3, 4"),
        (DIAMOND, move("4", before="9"), "no step `9`"),
        (DIAMOND, move("4", before="1", after="2"), "not both"),
        (DIAMOND, move("4", before="3"), "step 4 depends on step 3, which would come after it"),
        (DIAMOND, move("1"), "step 2 depends on step 1, which would come after it"),
        (DIAMOND, swap("1", "4"), "which would come after it"),
        (DIAMOND, reorder("1", "2", "3"), "step 4 is not in the new order"),
        (DIAMOND, reorder("1", "2", "3", "4", "2"), "step 2 is in the new order more"),
        (DIAMOND, reorder("1", "2", "3", "5"), "no step `5`"),
        (("1. A",), remove("1"), "the only step"),
        ((), remove("1"), "it has no steps"),
        (("1. A", "2–N. B", "N+1. C"), remove("1"), "step 2-N is a template and in the way"),
        (("1. A", "2–N. B", "N+1. C"), move("N+1", before="first"), "step 2-N is a template"),
        (("1. A", "2–N. B"), remove("2-N"), "step 2-N is a template"),
        (("1. A", "2. B", "2. C"), remove("1"), "2 steps have the number 2"),
        (("1. A", "2. B", "3. A"), remove("1"), "step 1 and step 3 have the same title"),
        (("1. A", "2. B", "3. A"), move("1"), "step 1 and step 3 have the same title"),
        # a plan that names later steps already, and an order that closes the circle
        (
            ("1. A", "2. B (depends on 4)", "3. C (depends on none)", "4. D"),
            move("3"),
            "step 2 would wait for step 4, step 4 would wait for step 2",
        ),
        (
            ("1. A (depends on 3)", "2. B (depends on 1)", "3. C (depends on 2)"),
            remove("3"),
            "steps would wait for each other",
        ),
        (
            ("1. A", "2. B (depends on 4)", "3. C (depends on 2)", "4. D (depends on 3)", "5. E"),
            remove("5"),
            "step 2 would wait for step 4, step 4 would wait for step 3, step 3 would wait for",
        ),
        # a dependency that would have to be written down, and cannot
        (("1. A", "2. B (depends on none)", "Three"), remove("2"), "step `Three` would have"),
        (("1. A", "2. A one", "3. A-one"), remove("2"), "step 2 and step 3 have the same"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(
    headings: tuple[str, ...], change: Change, reason: str
) -> None:
    text = steps_text(*headings)
    with pytest.raises(RevisionError) as error:
        change(parse(text))
    assert reason in error.value.reason


def test_removing_a_step_can_end_a_cycle() -> None:
    text = steps_text("1. A (depends on 2)", "2. B (depends on 1)")
    assert headings_of(remove_step(parse(text), "2")) == ["1. A (depends on none)"]


def test_steps_without_numbers_are_known_by_their_ids() -> None:
    text = steps_text("Read the code", "Write the test", "Mend it")
    changed = move_step(parse(text), "mend-it", before="write-the-test")
    assert headings_of(changed) == ["Read the code", "Mend it", "Write the test"]
    text = steps_text("One", "Two (and more)", "3. C (depends on none)", "4. D")
    assert headings_of(remove_step(parse(text), "3")) == [
        "One",
        "Two (and more)",
        "3. D (depends on none)",
    ]


@pytest.mark.parametrize("mark", ["##", "####"])
def test_steps_at_other_levels(mark: str) -> None:
    text = (
        f"# T\n\n# Steps\n\n{mark} 1. A\n\n**task:** a\n\n{mark}# 2. inner\n\nx\n\n"
        f"{mark} 2. B\n\n**task:** b\n```\n{mark} 3. in code\n```\n\n# Postconditions\n"
    )
    changed = swap_steps(parse(text), "1", "2")
    assert headings_of(changed) == ["1. B", "2. A"]
    assert f"**task:** a\n\n{mark}# 2. inner\n\nx\n\n# Postconditions\n" in changed
    assert swap_steps(parse(changed), "1", "2") == text


def test_an_empty_line_is_put_in_only_where_a_step_needs_one() -> None:
    text = "## Steps\n### 1. A\ntext\n### 2. B\ntext\n\n3. C\n---\n\n<div>\n"
    plan = parse(text)
    assert len(plan.steps) == 2  # an underlined heading is of level 2: a note
    text = "# Steps\n## 1. A\ntext\n## 2. B\ntext\n\n3\\. C\n---\n\n**task:** c\n<div>"
    changed = move_step(parse(text), parse(text).steps[2].id, before="2")
    assert changed == (
        "# Steps\n## 1. A\ntext\n\n3\\. C\n---\n\n**task:** c\n<div>\n\n## 2. B\ntext"
    )


def test_the_text_between_two_parts_of_the_steps_stays() -> None:
    text = (
        "## Steps\n\n### 1. A\n\n[x]: http://example.org\n\n## Mine\n\nwords\n\n## Steps\n\n"
        "### 2. B\n\ntext\n\n\n## Postconditions\n"
    )
    assert swap_steps(parse(text), "1", "2") == (
        "## Steps\n\n### 1. B\n\ntext\n\n[x]: http://example.org\n\n## Mine\n\nwords\n\n"
        "## Steps\n\n### 2. A\n\n\n## Postconditions\n"
    )
    assert remove_step(parse(text), "2") == (
        "## Steps\n\n### 1. A\n\n[x]: http://example.org\n\n## Mine\n\nwords\n\n## Steps\n\n"
        "## Postconditions\n"
    )


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_the_end_of_the_file_stays(end: str) -> None:
    text = f"\ufeff### 1. A\n**task:** a\n\n### 2. B\n**task:** b{end}"
    changed = swap_steps(parse(text), "1", "2")
    assert changed == f"\ufeff### 1. B\n**task:** b\n\n### 2. A\n**task:** a{end}"
    assert remove_step(parse(text), "2") == f"\ufeff### 1. A\n**task:** a{end}"
    assert remove_step(parse(text), "1") == f"\ufeff### 1. B\n**task:** b{end}"


def test_what_would_be_read_otherwise_is_refused() -> None:
    text = "## Steps\n\n### 1. A\n\ntext\n\n### 2. B\n\n```\nnever closed\n"
    with pytest.raises(RevisionError, match="2 steps would become 1"):
        swap_steps(parse(text), "1", "2")


def test_bytes_that_are_not_utf_8_stay() -> None:
    data = b"## Steps\n### 1. A\n\xff\n### 2. B\n"
    plan = parse(data)
    changed = parse(swap_steps(plan, "1", "2"))
    assert changed.source.to_bytes() == b"## Steps\n### 1. B\n### 2. A\n\xff\n"


@pytest.mark.parametrize("text", REAL, ids=[path.stem for path in sorted(FIXTURES.glob("*.md"))])
def test_the_fixtures(text: str) -> None:
    plan = parse(text)
    removed = 0
    for place, step in enumerate(plan.steps):
        try:
            after = parse(remove_step(plan, step.label))
        except RevisionError as error:
            assert "template" in error.reason
            continue
        check(plan, after, [other for other in range(len(plan.steps)) if other != place])
        removed += 1
    assert removed in {0, len(plan.steps)}
    lines = text.split("\n")
    if not removed:
        swapped = swap_steps(plan, "1", "2").split("\n")
        assert sorted(line for line in swapped if not line.startswith("### ")) == sorted(
            line for line in lines if not line.startswith("### ")
        )


def test_the_chain_of_a_fixture_can_be_turned_round() -> None:
    text = (FIXTURES / "bug-fix.md").read_text(encoding="utf-8")
    turned = reorder_steps(parse(text), ["4", "3", "2", "1"])
    assert reorder_steps(parse(turned), ["4", "3", "2", "1"]) == text
    assert [step.label for step in parse(turned).steps] == ["1", "2", "3", "4"]


# -- generated plans -------------------------------------------------------------------------


def check(plan: Plan, after: Plan, order: list[int]) -> None:
    """Check what holds after any change that was made."""
    old = [plan.steps[place] for place in order]
    assert [step.id for step in after.steps] == [step.id for step in old]
    assert [step_digest(after, step) for step in after.steps] == [
        step_digest(plan, step) for step in old
    ]
    assert [step.status and step.status.value for step in after.steps] == [
        step.status and step.status.value for step in old
    ]
    assert len(after.faults) <= len(plan.faults)
    assert not StepGraph.of(after).cycles
    text, new = plan.source.text, after.source.text
    first, last = plan.steps[0].span.start, plan.steps[-1].span.end
    assert new.startswith(text[:first])
    if len(order) == len(plan.steps) or plan.steps[-1].span == old[-1].span:
        assert new.endswith(text[last:])


@st.composite
def linked_plans(draw: st.DrawFn) -> str:
    """Return a plan of which each step names steps before it, or says nothing."""
    count = draw(st.integers(2, 7))
    texts = []
    for number in range(1, count + 1):
        earlier = st.lists(st.integers(1, max(1, number - 1)), max_size=4, unique=True)
        named = [str(item) for item in draw(earlier)] if number > 1 else []
        words = ", ".join(named) or "none"
        kind = draw(st.integers(0, 4))
        title = f" (depends on {words})" if kind == 1 else ""
        field = f"**depends:** {words}\n" if kind == 2 else ""
        if kind == 3:
            field = "**depends:**\n" + "".join(f"- {item}\n" for item in named or ["none"])
        space = draw(st.sampled_from(["", "\n"]))
        fence = draw(st.sampled_from(["", f"```\n### {number + 1}. in code\n```\n"]))
        gap = draw(st.sampled_from(["", "\n", "\n \n"]))
        texts.append(
            f"### {number}. Step {chr(64 + number)} {draw(SENTENCE)}{title}\n"
            f"{space}{field}**task:** {draw(SENTENCE)}\n{fence}{gap}"
        )
    end = draw(st.sampled_from(["", "## Postconditions\n\n1. x\n", "## Mine\n### 1. x\n"]))
    return "# T\n\n## Steps\n\n" + "".join(texts) + end


def unique(plan: Plan) -> bool:
    labels = [step.label for step in plan.steps]
    return len(set(labels)) == len(labels)


NEWLINES = st.sampled_from(["\n", "\r\n"])


@examples(120)
@given(st.one_of(linked_plans(), plan_texts()), NEWLINES, st.data())
def test_an_order_and_its_inverse_give_the_same_bytes(
    text: str, newline: str, data: st.DataObject
) -> None:
    text = text.replace("\n", newline)
    plan = parse(text)
    order = data.draw(st.permutations(range(len(plan.steps))))
    try:
        changed = reorder_steps(plan, [plan.steps[place].label for place in order])
    except RevisionError as error:
        assert any(
            word in error.reason for word in ("come after it", "same title", "wait for each other")
        ), error.reason
        return
    after = parse(changed)
    check(plan, after, list(order))
    # By identity: the same titles, except where a step says nothing and so means its neighbour.
    old_id = {step.label: step.id for step in plan.steps}
    new_id = {step.label: step.id for step in after.steps}
    for place, step in zip(order, after.steps, strict=True):
        depends = plan.steps[place].depends
        assert (depends is None) == (step.depends is None)
        assert {old_id[item.value] for item in depends or ()} == {
            new_id[item.value] for item in step.depends or ()
        }
    back = [after.steps[order.index(place)].label for place in range(len(order))]
    assert reorder_steps(after, back) == text


@examples(120)
@given(linked_plans(), NEWLINES, st.data())
def test_a_removed_step_hands_on_what_it_waited_for(
    text: str, newline: str, data: st.DataObject
) -> None:
    plan = parse(text.replace("\n", newline))
    place = data.draw(st.integers(0, len(plan.steps) - 1))
    after = parse(remove_step(plan, plan.steps[place].label))
    order = [other for other in range(len(plan.steps)) if other != place]
    check(plan, after, order)
    edges, new_edges = StepGraph.of(plan).edges, StepGraph.of(after).edges
    for new, old in enumerate(order):
        wanted = set(edges[old])
        if place in wanted:
            wanted = (wanted - {place}) | set(edges[place])
        assert {order[edge] for edge in new_edges[new]} == wanted
        named = [item.value for item in after.steps[new].depends or ()]
        assert len(named) == len(set(named))


CHANGES: list[Callable[[Plan, str, str], str]] = [
    lambda plan, first, _: remove_step(plan, first),
    lambda plan, first, second: move_step(plan, first, before=second),
    lambda plan, first, second: move_step(plan, first, after=second),
    swap_steps,
]


@examples(250)
@given(ANY_TEXT, st.sampled_from(CHANGES), st.data())
def test_any_text_is_changed_as_meant_or_refused(
    text: str, change: Callable[[Plan, str, str], str], data: st.DataObject
) -> None:
    plan = parse(text)
    assume(plan.steps)
    names = st.sampled_from([step.label or step.id for step in plan.steps])
    try:
        after = parse(change(plan, data.draw(names), data.draw(names)))
    except RevisionError:
        return
    if after.source.text == text:
        return
    assert unique(plan) or any(not step.label for step in plan.steps)
    assert {step.id for step in after.steps} <= {step.id for step in plan.steps}
    assert not StepGraph.of(after).cycles
    assert len(after.steps) >= len(plan.steps) - 1
