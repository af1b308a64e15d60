"""Templates become numbered steps; everything else stays as it is."""

from __future__ import annotations

import pytest

from planbound.errors import UsageError
from planbound.plan.expand import expand, read_batches, unknown_placeholders
from planbound.plan.parse import parse
from tests.plan.strategies import FIXTURES

MIGRATION = (FIXTURES / "migration.md").read_text(encoding="utf-8")


@pytest.mark.requirement("language.expand")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_everything_outside_the_template_and_the_numbers_stays(newline: str) -> None:
    text = MIGRATION.replace("\n", newline)
    plan = parse(text)
    after = expand(plan, "3-N", [("a.py", "b.py"), ("c.py",), ("d.py",)]).plan
    template = plan.steps[2].span
    assert after.source.text.startswith(text[: template.start])
    tail = text[template.end :].replace("### N+1.", "### 6.")
    assert after.source.text.endswith(tail)
    assert [step.label for step in after.steps] == ["1", "2", "3", "4", "5", "6"]
    assert [fault.rule for fault in after.faults] == []


@pytest.mark.requirement("language.expand")
def test_each_new_step_says_which_batch_it_is() -> None:
    after = expand(parse(MIGRATION), "3–N", [("a.py", "b.py"), ("c.py",)]).plan
    titles = [step.title for step in after.steps[2:4]]
    assert titles == ["Migrate file batch (1 of 2)", "Migrate file batch (2 of 2)"]
    task = after.steps[2].task
    assert task
    assert task.text.endswith("- a.py\n- b.py")
    assert len({step.id for step in after.steps}) == len(after.steps)


@pytest.mark.requirement("language.expand")
def test_placeholders_are_filled_in_lists_commands_and_text() -> None:
    text = (
        "## Steps\n\n### 1–N. Move {batch} ({n}/{count})\n\n**touches:**\n- {batch}\n"
        "**task:** Move {batch} in step {step}.\n**contract:**\n```shell\nls {batch}\n```\n"
    )
    after = expand(parse(text), "1-N", [("a b.py", "c.py"), ("d.py",)]).plan
    first, second = after.steps
    assert first.title == "Move a b.py, c.py (1/2)"
    assert [item.value for item in first.touches or ()] == ["a b.py", "c.py"]
    assert first.contract.text == "ls 'a b.py' c.py"  # type: ignore[union-attr]
    assert second.task
    assert second.task.text == "Move d.py in step 2."


@pytest.mark.requirement("language.expand")
def test_dependencies_on_what_moved_are_renumbered() -> None:
    text = (
        "## Steps\n\n### 1. A\n\n### 2–N. B (depends on 1)\n\n### N+1. C (depends on 2–N)\n\n"
        "### N+2. D (depends on N)\n\n### N+3. E\n\n**depends:** N+1, 1\n"
    )
    after = expand(parse(text), "2-N", [()] * 3).plan
    assert [step.label for step in after.steps] == ["1", "2", "3", "4", "5", "6", "7"]
    assert after.dependencies() == (
        (), ("1",), ("1",), ("1",), ("2", "3", "4"), ("4",), ("5", "1"),
    )  # fmt: skip


@pytest.mark.requirement("language.expand")
def test_a_template_at_the_end_of_the_file_keeps_the_files_end() -> None:
    for end in ("", "\n", "\n\n\n"):
        text = f"## Steps\n\n### 1–N. B\n\n**task:** x{end}"
        after = expand(parse(text), "1-N", [(), ()]).plan
        assert after.source.text == (
            f"## Steps\n\n### 1. B (1 of 2)\n\n**task:** x{end or chr(10)}"
            f"{chr(10) if len(end) < 2 else ''}### 2. B (2 of 2)\n\n**task:** x{end}"
        )


def test_what_cannot_be_expanded_is_refused() -> None:
    with pytest.raises(UsageError, match="no template `7-N`"):
        expand(parse(MIGRATION), "7-N", [()])
    with pytest.raises(UsageError, match="no number yet"):
        expand(parse(MIGRATION), "N+1", [()])
    with pytest.raises(UsageError, match="does not tell what is in a batch"):
        expand(parse("## Steps\n### 1-N. {batch}\n"), "1-N", [()])


def test_batches_are_lines_groups_or_dealt_out() -> None:
    assert read_batches("a\nb\n# c\n\n") == [("a",), ("b",)]
    assert read_batches("a\nb\n\nc\n") == [("a", "b"), ("c",)]
    assert read_batches("- a\n- b\n- [ ] c\n", size=2) == [("a", "b"), ("c",)]
    assert read_batches("\n# nothing\n") == []


@pytest.mark.requirement("language.expand")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("! grep -l 'import six' {files}", ("files",)),
        ("{Batch}, {files} {files} {file-name}", ("Batch", "files", "file-name")),
        ("{batch} {n} {count} {step}", ()),
        ("${HOME} ${#x} HEAD@{upstream} curl -w %{http_code} {{jinja}} #{ruby} \\{x}", ()),
        ("awk '{print}' a; { true; }; find . -exec rm {} \\; ; echo {a,b} {1..3} x{2}", ()),
        ("""awk '{print $1}' a; echo '{"a": 1}' '{}' "{ a }" """, ()),
    ],
)
def test_words_in_braces_that_stay_are_found_and_code_is_not(
    text: str, found: tuple[str, ...]
) -> None:
    assert unknown_placeholders(text) == found
