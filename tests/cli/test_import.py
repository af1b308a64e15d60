"""`import`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from planbound.plan.parse import MAX_BYTES
from tests.program import Outcome, Program

ADOPT = Path(__file__).parent.parent / "fixtures/adopt"
SOURCES = {
    "spec-kit": ("specs/004-lending/tasks.md", "004-lending", 12),
    "openspec": ("changes/add-late-fees/tasks.md", "add-late-fees", 6),
    "taskmaster": ("tasks.json", "taskmaster", 5),
    "backlog": ("tasks", "backlog", 4),
    "superpowers": ("2026-02-03-late-fees.md", "late-fees", 3),
    "github": ("issues.json", "issues", 9),
    "markdown": ("moving.md", "moving", 7),
}


@pytest.fixture
def adopted(program: Program) -> Program:
    shutil.copytree(ADOPT, program.workspace / "adopt")
    return program


def plan_of(program: Program, slug: str) -> dict[str, Any]:
    shown: dict[str, Any] = program.run("show", slug, "--json").json
    return shown


def codes(outcome: Outcome) -> set[str]:
    return {found["code"] for found in outcome.json}


@pytest.mark.requirement("command.import")
@pytest.mark.parametrize("kind", SOURCES)
def test_import_makes_an_unproved_draft_of_each_format(adopted: Program, kind: str) -> None:
    file, slug, count = SOURCES[kind]
    done = adopted.run("import", f"adopt/{kind}/{file}", "--from", kind, "--name", "mine")
    assert done.code == 0, done.err
    assert f"wrote .harness/PLAN-mine.md: {count} steps from {kind}" in done.out
    plan = plan_of(adopted, "mine")
    assert plan["status"] == "draft"
    assert len(plan["steps"]) == count
    assert {step["status"] for step in plan["steps"]} == {"pending"}
    # Without `--from` the format is told, and the name is made of the file's.
    told = adopted.run("import", f"adopt/{kind}/{file}")
    assert told.code == 0, told.err
    assert f"wrote .harness/PLAN-{slug}.md: {count} steps from {kind}" in told.out


def test_import_is_in_the_journal_as_the_plan_that_it_made(adopted: Program) -> None:
    adopted.run("import", "adopt/markdown/moving.md")
    (event,) = [json.loads(line) for line in adopted.run("log", "--json").out.splitlines()]
    assert event["event"] == "PLAN_CREATED"
    assert event["plan"] == "moving"
    assert event["details"]["origin"] == "import"


def test_import_asks_for_the_contracts_that_the_source_has_not(adopted: Program) -> None:
    adopted.run("import", "adopt/spec-kit/specs/004-lending")
    found = adopted.run("verify", "004-lending", "--json")
    assert found.code == 1
    assert codes(found) == {"PB201", "PB206"}
    asked = [each for each in found.json if each["code"] == "PB201"]
    assert len(asked) == 12


def test_import_keeps_ids_dependencies_files_and_ticks_as_words(adopted: Program) -> None:
    adopted.run("import", "adopt/spec-kit/specs/004-lending")
    steps = plan_of(adopted, "004-lending")["steps"]
    ninth = steps[8]
    assert ninth["title"] == "Implement LoanService in src/lending/services/loans.py (T009)"
    assert ninth["depends"] == [7, 8]
    assert ninth["touches"] == ["src/lending/services/loans.py"]
    assert steps[0]["task"].endswith("and was ticked.")
    assert "Lend one book at the desk" in steps[9]["task"]
    assert steps[6]["depends"] == [4, 5, 6]
    assert steps[11]["depends"] == [10, 11]
    assert "T900" not in json.dumps(steps)


def test_import_takes_the_commands_of_superpowers_as_contracts(adopted: Program) -> None:
    adopted.run("import", "adopt/superpowers/2026-02-03-late-fees.md")
    contracts = [step["contract"] for step in plan_of(adopted, "late-fees")["steps"]]
    assert contracts[0]["command"] == (
        "set -e\n(pytest tests/test_fees.py -v)\n(ruff check src/lending)"
    )
    assert contracts[1:] == [None, None]


def test_import_takes_the_command_of_a_test_strategy_as_the_contract(adopted: Program) -> None:
    done = adopted.run("import", "adopt/taskmaster/tasks.json", "--name", "desk")
    assert "note: only the tag `master` was read; there are also `late-fees`" in done.err
    plan = plan_of(adopted, "desk")
    assert plan["steps"][0]["contract"]["command"] == "python -m pytest -q"
    assert [step["title"] for step in plan["steps"]][1:] == [
        "Readers (3)", "The model (2.1)", "The service (2.2)", "Lend a book (2)",
    ]  # fmt: skip
    assert [step["depends"] for step in plan["steps"]] == [[], [1], [2], [2, 3], [2, 3, 4]]
    other = adopted.run("import", "adopt/taskmaster/tasks.json", "--tag", "late-fees")
    assert "wrote .harness/PLAN-late-fees.md: 1 step from taskmaster" in other.out


def test_import_of_a_folder_reads_what_belongs_together(adopted: Program) -> None:
    change = adopted.run("import", "adopt/openspec/changes/add-late-fees")
    assert "6 steps from openspec" in change.out
    plan = plan_of(adopted, "add-late-fees")
    assert plan["objective"] == "Late fees"
    assert "nobody notices" in plan["context"]
    assert "4 steps from backlog" in adopted.run("import", "adopt/backlog").out
    assert "5 steps from taskmaster" in adopted.run("import", "adopt/taskmaster").out
    (adopted.workspace / "void").mkdir()
    void = adopted.run("import", "void")
    assert void.code == 2
    assert "`void` holds no task list" in void.err


@pytest.mark.requirement("import.faults")
def test_import_tells_an_unknown_dependency_on_stderr_and_in_the_draft(adopted: Program) -> None:
    done = adopted.run("import", "adopt/backlog/tasks")
    remark = "`TASK-10`: it waits for `task-99`, and the source has no such task"
    assert f"note: {remark}" in done.err
    assert remark in (adopted.workspace / ".harness/PLAN-backlog.md").read_text()
    assert "PB302" in codes(adopted.run("verify", "backlog", "--json"))


@pytest.mark.requirement("import.faults")
def test_import_tells_a_circle_and_verify_finds_it(program: Program) -> None:
    program.write("list.md", "- [ ] A-1 One (depends on A-2)\n- [ ] A-2 Two (depends on A-1)\n")
    done = program.run("import", "list.md")
    assert done.code == 0
    assert done.err.count("in a circle") == 2
    assert "PB304" in codes(program.run("verify", "list", "--json"))


def test_import_never_writes_over_anything(adopted: Program) -> None:
    path = adopted.plan("moving", "mine")
    done = adopted.run("import", "adopt/markdown/moving.md")
    assert done.code == 2
    assert "is there already" in done.err
    assert path.read_text() == "mine"
    assert adopted.run("log", "--json").out == ""


def test_import_to_standard_output_writes_nothing(adopted: Program) -> None:
    done = adopted.run("import", "adopt/markdown/numbered.md", "--from", "markdown", "--stdout")
    assert done.code == 0
    assert done.out.startswith("---\ntype: plan\nstatus: draft\n")
    assert not (adopted.workspace / ".harness").exists()
    again = adopted.run("show", "-", "--json", stdin=done.out).json
    assert [step["depends"] for step in again["steps"]] == [[], [1], [2], [2, 3], [3]]


def test_import_asks_for_a_format_that_cannot_be_told(adopted: Program) -> None:
    done = adopted.run("import", "adopt/markdown/numbered.md")
    assert done.code == 2
    assert "cannot be told" in done.err
    assert all(f"`{kind}`" in done.err for kind in SOURCES)
    wrong = adopted.run("import", "adopt/markdown/numbered.md", "--from", "jira")
    assert wrong.code == 2
    assert all(kind in wrong.err for kind in SOURCES)
    assert not (adopted.workspace / ".harness").exists()


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, [], "cannot read `source`"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ["--from", "markdown"], "is not text"),
        (b"- [ ] a\x00b", [], "holds a NUL character"),
        ("- [ ] é".encode("latin-1"), [], "is not text in UTF-8"),
        (b"- [ ] a\n" * (MAX_BYTES // 8 + 1), [], "larger than a plan may be"),
        (b'{"tasks": [', [], "is not JSON: Expecting value at line 1, column 12"),
        (b"[" * 100_000, [], "is JSON that cannot be read"),
        (b'{"tasks": [1]}', [], "has `1` where a task is expected"),
        (b'{"tasks": []}', [], "holds no task, read as `taskmaster`"),
        (b"[]", ["--from", "github"], "holds no task, read as `github`"),
        (b'[{"number": 1, "title": "a"}, 2]', [], "has `2` where an issue is expected"),
        (b'[{"title": "a", "body": ""}]', ["--from", "github"], "an issue without a number"),
        (b'{"number": 1, "title": ""}', [], "has no title for issue #1"),
        (b"[" * 100_000, ["--from", "github"], "is JSON that cannot be read"),
        (b"", ["--from", "spec-kit"], "holds no task, read as `spec-kit`"),
        (b"# Words\n\nmore", ["--from", "markdown"], "holds no task, read as `markdown`"),
        (b"# Words\n\nmore", ["--from", "superpowers"], "holds no task, read as `superpowers`"),
        (b"# Words\n\nmore", ["--from", "openspec"], "holds no task, read as `openspec`"),
        (b"# Words\n\nmore", ["--from", "backlog"], "is no task of Backlog.md"),
        (b"- [ ] a", ["--tag", "x"], "`--tag` is for `taskmaster`"),
        (b"- [ ] a", ["--name", "../a"], "not a plan's name"),
    ],
)
def test_import_refuses_what_it_cannot_read_and_writes_nothing(
    program: Program, content: bytes | None, arguments: list[str], message: str
) -> None:
    if content is not None:
        program.write("source", content)
    done = program.run("import", "source", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not (program.workspace / ".harness").exists()


def test_issues_are_read_as_gh_prints_them_from_a_file_or_a_pipe(adopted: Program) -> None:
    printed = (ADOPT / "github/issues.json").read_bytes()
    done = adopted.run("import", "-", stdin=printed)
    assert "wrote .harness/PLAN-github.md: 9 steps from github" in done.out
    steps = plan_of(adopted, "github")["steps"]
    assert [step["title"] for step in steps][-2:] == [
        "Tell readers about late fees (#7)", "Nobody wrote why (#9)",
    ]  # fmt: skip
    assert "Late fees need an e-mail." in steps[-2]["task"]
    assert "Labels: enhancement." in steps[-2]["task"]
    assert "delete the tests" not in json.dumps(steps)
    one = adopted.run("import", "adopt/github/issue-7.json")
    assert "wrote .harness/PLAN-issue-7.md: 4 steps from github" in one.out
    assert "`#7.1`: it waits for `#3`, and the source has no such task" in one.err


def test_import_refuses_a_pipe_that_is_too_large_or_no_text(program: Program) -> None:
    large = program.run("import", "-", stdin=b" " * (MAX_BYTES + 1))
    assert (large.code, "larger than a plan may be" in large.err) == (2, True)
    assert "is not text in UTF-8" in program.run("import", "-", stdin=b"\xff").err
    assert not (program.workspace / ".harness").exists()


def test_import_does_not_wait_for_a_fifo(program: Program) -> None:
    os.mkfifo(program.workspace / "pipe")
    done = program.run("import", "pipe")
    assert done.code == 2
    assert "expected" in done.err


def test_import_reads_windows_line_ends_and_a_byte_order_mark(program: Program) -> None:
    program.write("list.md", "\ufeff# List\r\n\r\n- [x] One\r\n- [ ] Two\r\n".encode())
    assert "2 steps from markdown" in program.run("import", "list.md").out
    assert b"\r" not in (program.workspace / ".harness/PLAN-list.md").read_bytes()
    assert program.run("fmt", "list", "--check").code == 0
