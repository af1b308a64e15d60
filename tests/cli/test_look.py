"""`show`, `list` and `explain`."""

from __future__ import annotations

import json

import pytest

from planbound.plan.markdown import BlockKind, read_blocks
from planbound.source import Source
from planbound.verify.rules import RULES
from planbound.verify.subject import Rule
from tests.plan.strategies import FIXTURES
from tests.program import SOUND, Program
from tests.tables import one_fact


@pytest.mark.requirement("command.show", "cli.anywhere")
def test_show_json_has_the_documented_shape(program: Program) -> None:
    program.plan("hello")
    shown = program.run("show", "hello", "--json").json
    assert {"slug", "path", "status", "revision", "digest", "objective", "steps",
            "postconditions"} <= set(shown)  # fmt: skip
    assert shown["slug"] == "hello"
    assert shown["objective"] == "Say hello in three languages"
    step = shown["steps"][2]
    assert {"number", "id", "title", "target", "status", "depends", "touches",
            "contract"} <= set(step)  # fmt: skip
    assert step["number"] == 3
    assert step["depends"] == [1, 2]
    assert step["contract"]["command"] == "grep -qx hallo hallo.txt"


@pytest.mark.requirement("command.show")
def test_show_tells_a_person_everything_that_will_run(program: Program) -> None:
    program.plan("hello")
    done = program.run("show", "hello")
    assert done.code == 0
    for part in ("Say hello in three languages", "$ grep -qx hello hello.txt", "touches hello.txt",
                 "after 1, 2", "Postconditions (1)", "20,000 tokens", "reviewer"):  # fmt: skip
        assert part in done.out
    assert "\x1b" not in done.out


@pytest.mark.requirement("command.show")
def test_show_makes_hidden_characters_visible(program: Program) -> None:
    program.plan("sly", SOUND.replace("grep -qx hello", "grep \u202e-qx \x1b[2Jhello"))
    out = program.run("show", "sly").out
    assert "\\u202e" in out
    assert "\\x1b[2J" in out
    assert "\x1b" not in out


@pytest.mark.requirement("language.fixtures")
@pytest.mark.parametrize("name", ["bug-fix", "extraction", "migration"])
def test_the_plans_of_the_design_are_shown(program: Program, name: str) -> None:
    shown = program.run("show", str(FIXTURES / f"{name}.md"), "--json").json
    assert len(shown["steps"]) in {3, 4}
    if name == "migration":
        assert [step["number"] for step in shown["steps"]] == [1, 2, "3-N", "N+1"]
        assert shown["steps"][3]["depends"] == ["3-N"]


@pytest.mark.requirement("command.show")
def test_show_reads_standard_input_and_files(program: Program) -> None:
    assert program.run("show", "-", "--json", stdin=SOUND).json["steps"][0]["number"] == 1
    path = program.write("elsewhere.md", SOUND)
    assert program.run("show", str(path), "--json").json["slug"] == "elsewhere"


@pytest.mark.requirement("command.list")
def test_list_has_a_line_for_every_plan_readable_or_not(program: Program) -> None:
    assert program.run("list").code == 0
    program.plan("hello", SOUND.replace("### 1. Say", "### 1. ✅ Say"))
    program.plan("bad", b"\xff\xfe\x00")
    (program.workspace / ".harness/PLAN-gone.md").symlink_to("nowhere")
    (program.workspace / ".harness/PLAN-dir.md").mkdir()
    program.write(".harness/progress.md", "not a plan")
    done = program.run("list")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert set(lines) == {"hello", "bad", "gone", "dir"}
    assert "1/3 steps" in lines["hello"]
    assert "unreadable" in lines["gone"]
    assert "unreadable" in lines["dir"]
    assert {item["slug"] for item in program.run("list", "--json").json} == set(lines)


@pytest.mark.requirement("command.explain", "verify.explain")
def test_explain_prints_the_page_of_every_rule(program: Program) -> None:
    listing = program.run("explain").out
    for rule in RULES:
        assert f"{rule.code}  " in listing
    page = program.run("explain", "pb101").out
    for heading in ("## What it does", "## Why it matters", "## Example", "## Instead"):
        assert heading in page
    assert program.run("explain", "no-steps").out == page
    assert json.loads(program.run("explain", "PB101", "--json").out)["name"] == "no-steps"


@pytest.mark.requirement("verify.explain")
@one_fact("rule", RULES, ids=lambda rule: rule.code)
def test_every_page_has_the_fixed_headings_in_order(rule: Rule) -> None:
    page = Source(path=rule.code, text=rule.page)
    headings = [
        page.slice(page.line_span(block.line))
        for block in read_blocks(page)
        if block.kind is BlockKind.HEADING
    ]
    assert headings == ["## What it does", "## Why it matters", "## Example", "## Instead"]


def test_explain_of_an_unknown_code_suggests_one(program: Program) -> None:
    done = program.run("explain", "PB1001")
    assert done.code == 2
    assert "there is no rule" in done.err
    assert "hint:" in done.err
