"""Text into a plan: nothing lost, nothing guessed from the look of a line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from planbound.plan.model import (
    Attest,
    Command,
    Contains,
    Exhausted,
    ExitCodeIs,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OnFail,
    OutputIs,
    Plan,
    Stream,
)
from planbound.plan.parse import parse, write
from tests.examples import examples
from tests.plan.strategies import ANY_BYTES, FIXTURES, plan_texts
from tests.tables import one_fact


def faults(plan: Plan) -> list[str]:
    return [fault.rule for fault in plan.faults]


def step_plan(body: str) -> Plan:
    return parse(f"# T\n\n## Steps\n\n### 1. One\n\n{body}")


# -- lossless --------------------------------------------------------------------------------


@pytest.mark.requirement("language.lossless")
@examples(400)
@given(ANY_BYTES)
def test_write_of_parse_is_the_identity_for_any_bytes(data: bytes) -> None:
    assert write(parse(data)) == data


@pytest.mark.requirement("language.lossless")
@one_fact(
    "change",
    [
        lambda data: data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(b"\n", b" \t\n"),
        lambda data: data.replace(b"e", b"\xe9"),
        lambda data: data.replace(b"  ", b"\t"),
    ],
)
@one_fact("name", ["bug-fix", "extraction", "migration"])
def test_real_plans_survive_in_every_encoding_of_their_lines(
    name: str, change: Callable[[bytes], bytes]
) -> None:
    data = change((FIXTURES / f"{name}.md").read_bytes())
    assert write(parse(data)) == data


@examples(200)
@given(ANY_BYTES)
def test_every_span_lies_within_the_text(data: bytes) -> None:
    plan = parse(data)
    length = len(plan.source.text)
    spans = [fault.finding.span for fault in plan.faults]
    for step in plan.steps:
        spans += [step.span, step.heading, *(field.span for field in step.fields)]
        spans += [item.span for item in (*(step.touches or ()), *(step.depends or ()))]
        if step.contract is not None:
            spans.append(step.contract.span)
    for condition in (*plan.preconditions, *plan.postconditions):
        spans += [condition.span, condition.heading]
    for span in spans:
        assert 0 <= span.start <= span.end <= length
        plan.source.position(span.end)


@pytest.mark.requirement("language.lossless")
def test_bytes_that_are_not_utf8_are_a_fault_at_their_place() -> None:
    plan = parse(b"# A plan\n\ncaf\xe9\n")
    (fault,) = [fault for fault in plan.faults if fault.rule == "unreadable-file"]
    assert plan.source.position(fault.finding.span.start) == (3, 4)
    assert "0xe9" in fault.finding.message


@examples(100)
@given(plan_texts())
def test_sound_plans_have_no_faults_whatever_their_tasks_hold(text: str) -> None:
    assert faults(parse(text)) == []


# -- the three plans of the design -----------------------------------------------------------


@pytest.mark.requirement("language.fixtures")
def test_bug_fix_plan_reads_with_every_construct() -> None:
    plan = parse((FIXTURES / "bug-fix.md").read_bytes())
    assert faults(plan) == []
    assert [step.number for step in plan.steps] == [1, 2, 3, 4]
    first = plan.steps[0]
    assert [(item.value.kind.value, item.value.name) for item in first.subscriptions] == [
        ("file", "src/session/store.py"),
        ("file", "src/session/middleware.py"),
        ("topic", "authentication"),
    ]
    assert isinstance(first.contract, Command)
    assert first.contract.text.startswith("test -f docs/session-lifetime.md && test ")
    assert first.on_fail
    assert first.on_fail.value == OnFail(2, Exhausted.ESCALATE)
    assert plan.steps[3].on_fail
    assert plan.steps[3].on_fail.value == OnFail(0, Exhausted.ESCALATE)
    assert len(plan.postconditions) == 2


@pytest.mark.requirement("language.fixtures")
def test_extraction_plan_reads_with_every_construct() -> None:
    plan = parse((FIXTURES / "extraction.md").read_bytes())
    assert faults(plan) == []
    assert plan.steps[2].target
    assert plan.steps[2].target.value == "reviewer"
    assert isinstance(plan.steps[2].contract, Command)
    assert plan.steps[2].contract.text == 'grep -q "APPROVED\\|CHANGES_REQUESTED" docs/review.md'
    assert plan.dependencies() == ((), ("1",), ("1", "2"))
    assert plan.steps[0].task
    assert "#### What stays" in plan.steps[0].task.text


@pytest.mark.requirement("language.fixtures")
def test_migration_plan_reads_with_its_templates() -> None:
    plan = parse((FIXTURES / "migration.md").read_bytes())
    assert faults(plan) == []
    assert [step.label for step in plan.steps] == ["1", "2", "3-N", "N+1"]
    assert [step.is_template for step in plan.steps] == [False, False, True, True]
    assert plan.steps[2].title == "Migrate file batch (one step per batch of ~5 files)"
    assert isinstance(plan.steps[3].contract, Command)
    assert plan.steps[3].contract.text.startswith("! ")
    assert plan.steps[3].subscriptions == ()


# -- structure comes from the Markdown parser ------------------------------------------------


@pytest.mark.requirement("language.structure")
@pytest.mark.parametrize(
    "hidden",
    [
        "```\n{}\n```",
        "````text\n```\n{}\n```\n````",
        "~~~~\n{}\n~~~~",
        "<!--\n{}\n-->",
        "<!-- {} -->",
        "    {}",
        "- a list\n\n      {}",
    ],
)
@pytest.mark.parametrize("line", ["### 3. Not a step", "**contract:** not a contract"])
def test_what_looks_like_structure_inside_code_or_comments_is_text(hidden: str, line: str) -> None:
    plan = step_plan(f"**task:**\nBefore.\n\n{hidden.format(line)}\n\nAfter.\n")
    assert len(plan.steps) == 1
    assert plan.steps[0].contract is None
    assert plan.steps[0].task
    assert line in plan.steps[0].task.text


@pytest.mark.requirement("language.structure")
@pytest.mark.parametrize("line", ["### 3. Not a step", "**contract:** not a contract"])
def test_what_looks_like_structure_inside_a_quote_is_text(line: str) -> None:
    plan = step_plan(f"**task:**\nBefore.\n\n> {line}\n> more\n")
    assert len(plan.steps) == 1
    assert plan.steps[0].contract is None


@pytest.mark.requirement("language.structure")
def test_a_label_inside_a_code_span_or_table_is_text() -> None:
    plan = step_plan("**task:**\n`a\n**contract:** b`\n\n| x |\n| - |\n| **contract:** |\n")
    assert plan.steps[0].contract is None


@pytest.mark.requirement("language.structure")
def test_headings_below_level_three_belong_to_the_task() -> None:
    plan = step_plan("**task:**\nDo.\n\n#### 2. Details\n\nMore.\n\n##### Deeper\n\nEnd.\n")
    assert len(plan.steps) == 1
    assert plan.steps[0].task
    assert plan.steps[0].task.text.endswith("End.")


@pytest.mark.requirement("language.structure")
def test_a_label_at_the_margin_ends_the_list_or_quote_above_it() -> None:
    plan = step_plan(
        "**subscriptions:**\n- file:a.py\n- topic:t\n**touches:**\n- docs/**\n"
        '**task:**\n> quoted\n**contract:** attest "seen"\n'
    )
    (step,) = plan.steps
    assert [item.value for item in step.touches or ()] == ["docs/**"]
    assert isinstance(step.contract, Attest)


def test_fences_of_any_length_and_mark_hold_a_contract() -> None:
    for mark in ("```", "``````", "~~~", "~~~~"):
        plan = step_plan(f"**contract:**\n{mark}shell\nprintf '```'\n{mark}\nexit_code == 3\n")
        contract = plan.steps[0].contract
        assert isinstance(contract, Command)
        assert contract.text == "printf '```'"
        assert contract.expectations[0].value == ExitCodeIs(3)


def test_a_command_knows_where_each_of_its_characters_stands() -> None:
    text = "1. Works\n   ~~~shell\n   first\n     second\n   ~~~\n"
    plan = parse(f"## Postconditions\n\n{text}")
    contract = plan.postconditions[0].contract
    assert isinstance(contract, Command)
    assert contract.text == "first\n  second"
    start = contract.text.index("second")
    span = contract.locate(start, start + 6)
    assert plan.source.text[span.start : span.end] == "second"


# -- fields ----------------------------------------------------------------------------------


@pytest.mark.requirement("language.expectations")
def test_expectations_are_read_in_every_form() -> None:
    plan = step_plan(
        "**contract:**\n```shell\nx\n```\nexit_code == 2\n"
        'stdout contains "a \\"b\\""\n- `stderr contains "oops"`\n'
        'stdout == "x\\ny" and tests >= 4\n'
        "failed <= 13, no new failures\n"
    )
    contract = plan.steps[0].contract
    assert isinstance(contract, Command)
    assert [item.value for item in contract.expectations] == [
        ExitCodeIs(2),
        Contains(Stream.STDOUT, 'a "b"'),
        Contains(Stream.STDERR, "oops"),
        OutputIs("x\ny"),
        MinimumTests(4),
        MaximumFailures(13),
        NoNewFailures(),
    ]


@pytest.mark.requirement("language.expectations")
def test_a_line_that_is_no_expectation_is_reported_not_dropped() -> None:
    plan = step_plan("**contract:**\n```shell\nx\n```\nexit_code == 0\nand it should be fast\n")
    assert "malformed-contract" in faults(plan)


@pytest.mark.parametrize(
    ("written", "on_fail"),
    [
        ("retry(3)", OnFail(3, Exhausted.ESCALATE)),
        ("escalate", OnFail(0, Exhausted.ESCALATE)),
        ("abort", OnFail(0, Exhausted.ABORT)),
        ("retry(2), then escalate", OnFail(2, Exhausted.ESCALATE)),
        ("`retry(1), then abort`", OnFail(1, Exhausted.ABORT)),
    ],
)
def test_answers_to_failure_are_read(written: str, on_fail: OnFail) -> None:
    plan = step_plan(f"**on_fail:** {written}\n")
    assert plan.steps[0].on_fail
    assert plan.steps[0].on_fail.value == on_fail


def test_an_attestation_takes_its_statement_from_the_line_a_quote_or_the_next_line() -> None:
    for written in ('attest "I saw it"', "attest\n> I saw it", 'attest\n"I saw it"'):
        contract = step_plan(f"**contract:** {written}\n").steps[0].contract
        assert isinstance(contract, Attest)
        assert contract.statement == "I saw it"


def test_without_a_declared_dependency_a_step_depends_on_the_one_before() -> None:
    plan = parse(
        "## Steps\n\n### 1. A\n\n### 2. B\n\n### 3. C (depends on 1)\n\n### 4. D\n\n"
        "**depends:** none\n\n### 5. E\n\n**depends:** 1, 3\n\n### 6. F (depends on 1–3)\n"
    )
    assert plan.dependencies() == ((), ("1",), ("1",), (), ("1", "3"), ("1", "2", "3"))


def test_step_ids_survive_renumbering() -> None:
    before = parse("## Steps\n\n### 1. Find it\n\n### 2. Fix it\n")
    after = parse("## Steps\n\n### 1. Look around\n\n### 2. Find it\n\n### 3. Fix it\n")
    assert [step.id for step in before.steps] == [step.id for step in after.steps][1:]
    assert len({step.id for step in parse("## Steps\n### 1. A\n### 2. A\n").steps}) == 2


def test_unknown_fields_are_reported_with_the_nearest_known_one() -> None:
    for written, near in [("targt", "target"), ("dependencies", "depends"), ("任务", "task")]:
        plan = step_plan(f"**{written}:** x\n")
        (fault,) = [fault for fault in plan.faults if fault.rule == "unknown-field"]
        assert fault.finding.hint == f"did you mean `{near}`?"


def test_bold_openings_of_sentences_stay_in_the_task() -> None:
    plan = step_plan('**task:**\nDo.\n\n**Note:** carefully.\n\n**contract:** attest "x"\n')
    assert plan.steps[0].task
    assert "carefully" in plan.steps[0].task.text
    assert faults(plan) == []


# -- what models really write ----------------------------------------------------------------


@pytest.mark.requirement("language.tolerance")
@pytest.mark.parametrize(
    "heading",
    ["## 1. Do", "#### 1. Do", "### Step 1: Do", "### 1) Do", "### **1. Do**", "### [x] 1. Do",
     "### 步骤 1：Do", "###   01. Do  ###", "### Task #1 – Do"],
)  # fmt: skip
def test_step_headings_are_read_as_models_write_them(heading: str) -> None:
    plan = parse(f"# T\n\n## Steps\n{heading}\n**task:** x\n")
    (step,) = plan.steps
    assert (step.number, step.title) == (1, "Do")


@pytest.mark.requirement("language.tolerance")
def test_labels_without_a_blank_before_the_value_are_read_in_any_script() -> None:
    plan = step_plan('**target:**coder\n**task：**修复 `a.py`\n**contract**: attest "好"\n')
    (step,) = plan.steps
    assert step.target
    assert step.target.value == "coder"
    assert step.task
    assert step.task.text == "修复 `a.py`"
    assert isinstance(step.contract, Attest)


@pytest.mark.requirement("language.tolerance")
def test_a_step_on_another_level_than_its_siblings_is_still_a_step() -> None:
    plan = parse("## Steps\n\n### 1. A\n\n**task:** a\n\n#### 2. B\n\n**task:** b\n")
    assert [step.number for step in plan.steps] == [1, 2]
    assert "heading-level" in faults(plan)


@pytest.mark.requirement("language.tolerance")
def test_conditions_with_commands_at_the_margin_are_read() -> None:
    plan = parse(
        "## Postconditions\n1. One\n```shell\na\n```\nexit_code == 0\n2. Two\n```shell\nb\n```\n"
    )
    commands = [item.contract.text for item in plan.postconditions if item.contract]  # type: ignore[union-attr]
    assert [item.statement for item in plan.postconditions] == ["One", "Two"]
    assert commands == ["a", "b"]


def test_deep_nesting_and_long_lines_are_read_in_time() -> None:
    for text in (">" * 20_000, "- " * 20_000, "[" * 50_000, "*" * 50_000, "#" * 50_000,
                 "`" * 50_000, "a" * 1_000_000, "\n" * 100_000, "1. " * 10_000,
                 "---\n" + "[" * 5000 + "\n---\n", "---\na: &a [*a]\n---\n",
                 "---\n" + "- " * 3000 + "\n---\n", "### 1. x\n" * 2000):  # fmt: skip
        assert write(parse(text)) == text.encode()


@pytest.mark.requirement("language.tolerance")
def test_rules_between_steps_and_spoken_answers_are_read() -> None:
    plan = step_plan(
        "**on_fail:** retry 5 times, escalate\n**touches:** none\n"
        "**contract:**\n```shell\nmake\n```\nexit_code: 0\n\n---\n"
    )
    (step,) = plan.steps
    assert faults(plan) == []
    assert step.on_fail
    assert step.on_fail.value == OnFail(5, Exhausted.ESCALATE)
    assert step.touches == ()
    assert plan.touches_of(step) == ()


@pytest.mark.requirement("language.tolerance")
@pytest.mark.parametrize(
    "title", ["A (depends on 1) ✅", "✅ A [depends on: 1]", "A (Depends on step 1)"]
)
def test_dependencies_in_titles_are_found_wherever_they_stand(title: str) -> None:
    plan = parse(f"## Steps\n\n### 1. Z\n\n### 2. Y\n\n### 3. {title}\n")
    assert plan.dependencies()[2] == ("1",)
    assert plan.steps[2].title == "A"


@pytest.mark.requirement("language.structure")
def test_a_fence_that_runs_into_the_next_one_is_reported() -> None:
    plan = step_plan(
        "**contract:**\n```shell\nmake\n\n### 2. Two\n\n**contract:**\n```shell\nx\n```\n"
    )
    assert "unclosed-fence" in faults(plan)


def test_a_sentence_before_the_fence_is_not_the_command() -> None:
    plan = step_plan("**contract:**\nRun this:\n```shell\nmake\n```\n")
    contract = plan.steps[0].contract
    assert isinstance(contract, Command)
    assert contract.text == "make"
    assert faults(plan) == ["malformed-contract"]
