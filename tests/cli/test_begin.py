"""`init` and `new`."""

from __future__ import annotations

import os

import pytest

from tests.program import Program


@pytest.mark.requirement("command.init")
def test_init_makes_a_workspace_and_a_second_one_finds_nothing_to_do(program: Program) -> None:
    first = program.run("init")
    assert first.code == 0
    assert (program.workspace / ".harness/PLAN.md").is_file()
    assert (program.workspace / ".harness/topics").is_dir()
    assert (program.workspace / "planbound.toml").is_file()
    assert "made .harness/PLAN.md" in first.out
    before = (program.workspace / ".harness/PLAN.md").read_bytes()
    second = program.run("init")
    assert second.code == 3
    assert second.err == "nothing to do: everything is there already\n"
    assert (program.workspace / ".harness/PLAN.md").read_bytes() == before


@pytest.mark.requirement("command.init")
def test_init_leaves_a_configuration_and_named_plans_alone(program: Program) -> None:
    program.write("planbound.toml", 'profile = "strict"\n')
    program.plan("hello")
    done = program.run("init")
    assert done.code == 0
    assert "planbound.toml" not in done.out
    assert not (program.workspace / ".harness/PLAN.md").exists()
    assert (program.workspace / "planbound.toml").read_text() == 'profile = "strict"\n'


@pytest.mark.requirement("command.new")
def test_new_writes_a_draft_that_verify_finds_unfinished(program: Program) -> None:
    done = program.run("new", "rounding", "--objective", "Round invoices")
    assert done.code == 0
    assert "wrote .harness/PLAN-rounding.md" in done.out
    text = (program.workspace / ".harness/PLAN-rounding.md").read_text()
    assert "# Round invoices\n" in text
    assert program.run("verify", "rounding").code == 1


@pytest.mark.requirement("command.new")
def test_new_never_writes_over_anything(program: Program) -> None:
    path = program.plan("rounding", "mine")
    done = program.run("new", "rounding")
    assert done.code == 2
    assert "is there already" in done.err
    assert path.read_text() == "mine"
    dangling = program.workspace / ".harness/PLAN-ghost.md"
    dangling.symlink_to("nowhere")
    assert program.run("new", "ghost").code == 2
    assert dangling.is_symlink()
    assert [name for name in os.listdir(program.workspace / ".harness") if "tmp" in name] == []


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".hidden", "", "a\nb", "-x", "x" * 200])
def test_new_refuses_names_that_are_no_single_path_component(program: Program, name: str) -> None:
    done = program.run("new", "--objective=x", "--", name)
    assert done.code == 2
    assert "error" in done.err
    assert not (program.workspace / ".harness").exists()


def test_new_takes_the_file_name_for_the_name(program: Program) -> None:
    assert program.run("new", "PLAN-Foo.md").code == 0
    assert (program.workspace / ".harness/PLAN-Foo.md").exists()


def test_new_says_when_it_may_not_write_there(program: Program) -> None:
    program.workspace.chmod(0o555)
    try:
        done = program.run("new", "x", obeys_permissions=True)
    finally:
        program.workspace.chmod(0o755)
    assert done.code == 2
    assert "Permission denied" in done.err


def test_new_says_when_a_file_is_in_the_way_of_the_folder(program: Program) -> None:
    program.write(".harness", "a file")
    done = program.run("new", "x")
    assert done.code == 2
    assert "Not a directory" in done.err or "error: cannot make" in done.err
