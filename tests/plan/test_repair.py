"""`fmt` mends what models get wrong, once and for all."""

from __future__ import annotations

import pytest
from hypothesis import given

from planbound.plan.digest import digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.plan.repair import repair
from tests.examples import examples
from tests.plan.strategies import ANY_TEXT, REAL, plan_texts

FRONT = "---\ntype: plan\nstatus: draft\nowner: orchestrator\n---\n\n"


def mended(text: str) -> str:
    return repair(parse(text)).plan.source.text


def only_step(text: str) -> str:
    return FRONT + "# T\n\n## Steps\n\n### 1. Do\n\n" + text


@pytest.mark.requirement("language.repair")
@examples(250)
@given(ANY_TEXT)
def test_what_was_mended_needs_no_mending_again(text: str) -> None:
    once = repair(parse(text)).plan
    assert repair(once).plan.source.text == once.source.text


@pytest.mark.requirement("language.repair")
@examples(100)
@given(plan_texts())
def test_mending_a_sound_plan_does_not_change_its_meaning(text: str) -> None:
    assert digest(repair(parse(text)).plan) == digest(parse(text))


@pytest.mark.requirement("language.repair")
@pytest.mark.parametrize("text", REAL)
def test_well_written_plans_are_left_alone(text: str) -> None:
    assert mended(text) == text
    assert mended("\ufeff" + text.replace("\n", "\r\n")) == text


@pytest.mark.requirement("language.repair")
@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("## 1. Do", "### 1. Do"),
        ("#### 1. Do", "### 1. Do"),
        ("### Step 1: Do", "### 1. Do"),
        ("### **1. Do**", "### 1. Do"),
        ("### [x] 1. Do", "### 1. ✅ Do"),
        ("### 1. [=] Do", "### 1. 🆗 Do"),
        ("### 1) Do (depends on 2)", "### 1. Do (depends on 2)"),
        ("### 1-N. Do", "### 1–N. Do"),
        ("### 1..N. Do", "### 1–N. Do"),
        ("### 1、Do", "### 1. Do"),
    ],
)
def test_step_headings_get_the_usual_form(written: str, wanted: str) -> None:
    text = mended(f"{FRONT}# T\n\n## Steps\n\n{written}\n\n**task:** x\n")
    assert wanted in text.split("\n")


@pytest.mark.requirement("language.repair")
def test_headings_get_blank_lines_and_sections_their_level() -> None:
    text = mended("# T\n# Steps\n### 1. Do\n**task:** x\n### Postconditions\n1. y\n")
    assert (
        text == FRONT + "# T\n\n## Steps\n\n### 1. Do\n\n**task:** x\n\n## Postconditions\n\n1. y\n"
    )


@pytest.mark.requirement("language.repair")
@pytest.mark.parametrize(
    "written",
    [
        "**contract:** bash: pytest -q\n",
        "**contract:**\nbash: pytest -q\n",
        "**contract:** `pytest -q`\n",
        "**contract:** `$ pytest -q`\n",
        "**contract:**\n```\npytest -q\n```\n",
        "**contract:**\n```console\n$ pytest -q\n```\n",
        "**contract:**\n```zsh\nbash: pytest -q\n```\n",
        "**contract:**\n\n    pytest -q\n",
        "- **contract:** pytest -q\n",
        "**Contract**: pytest -q\n",
        "**contract：**`pytest -q`\n",
    ],
)
def test_commands_end_up_in_a_shell_fence(written: str) -> None:
    text = mended(only_step(written))
    assert "**contract:**\n" in text
    assert "```shell\npytest -q\n```" in text
    assert parse(text).steps[0].contract.text == "pytest -q"  # type: ignore[union-attr]


@pytest.mark.requirement("language.repair")
def test_an_expectation_behind_inline_code_keeps_its_place() -> None:
    text = mended(only_step("**contract:** `pytest -q`, exit_code == 0 and tests >= 2\n"))
    assert text.endswith("**contract:**\n```shell\npytest -q\n```\nexit_code == 0 and tests >= 2\n")


@pytest.mark.requirement("language.repair")
def test_a_check_without_its_table_is_not_made_a_command() -> None:
    written = "**contract:** check\n"
    assert mended(only_step(written)) == only_step(written)


@pytest.mark.requirement("language.repair")
def test_prose_is_not_taken_for_a_command() -> None:
    written = "**contract:** All tests pass and the code is clean\n"
    assert written in mended(only_step(written))


@pytest.mark.requirement("language.repair")
def test_a_fence_that_holds_another_gets_more_marks() -> None:
    text = mended(
        only_step(
            '**task:**\n```markdown\na\n```shell\nb\n```\nc\n```\n\n**contract:** attest "x"\n'
        )
    )
    assert "````markdown\na\n```shell\nb\n```\nc\n````\n" in text
    assert parse(text).steps[0].contract is not None


@pytest.mark.requirement("language.repair")
def test_fields_in_a_list_stand_on_lines_of_their_own() -> None:
    text = mended(
        only_step(
            "- **target:** coder\n- **touches:**\n  - src/**\n- **task:** x\n- **contract:**\n"
            "  ```shell\n  make\n  ```\n  exit_code == 0\n"
        )
    )
    assert text == only_step(
        "**target:** coder\n**touches:**\n- src/**\n**task:** x\n**contract:**\n"
        "```shell\nmake\n```\nexit_code == 0\n"
    )


@pytest.mark.requirement("language.repair")
def test_commands_of_conditions_are_moved_in() -> None:
    text = mended(
        FRONT + "# T\n\n## Postconditions\n\n1. A\n```shell\nmake\n```\nexit_code == 0\n2. B\n"
    )
    assert text.endswith("1. A\n   ```shell\n   make\n   ```\n   exit_code == 0\n2. B\n")


@pytest.mark.requirement("language.repair")
def test_steps_without_any_numbers_get_them() -> None:
    plan: Plan = repair(parse("## Steps\n### First\n**task:** a\n### Second\n**task:** b\n")).plan
    assert [step.number for step in plan.steps] == [1, 2]


def test_missing_frontmatter_keys_are_added_and_nothing_else() -> None:
    assert mended("---\nowner: me # x\n---\n\n# T\n") == (
        "---\ntype: plan\nstatus: draft\nowner: me # x\n---\n\n# T\n"
    )
    broken = "---\nowner: [\n---\n\n# T\n"
    assert mended(broken) == broken


@pytest.mark.requirement("language.repair")
def test_a_transcript_keeps_its_commands_and_loses_their_output() -> None:
    text = mended(only_step("**contract:**\n```console\n$ make test\nok\n$ make lint\n```\n"))
    assert text.endswith("```shell\nmake test\nmake lint\n```\n")


@pytest.mark.requirement("language.repair")
def test_a_heading_that_means_steps_becomes_it() -> None:
    text = mended(f"{FRONT}# T\n\n## Tasks\n\n### 1. A\n\n**task:** x\n")
    assert text == f"{FRONT}# T\n\n## Steps\n\n### 1. A\n\n**task:** x\n"


@pytest.mark.requirement("language.repair")
def test_redirects_and_here_documents_are_no_prompts() -> None:
    command = "> out.txt\ncat <<'E'\n$ not a prompt\nE"
    text = only_step(f"**contract:**\n```shell\n{command}\n```\n")
    assert mended(text) == text
