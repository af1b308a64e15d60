"""`control`, from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_judge import Project, fingerprint, plan_text, running, wait_until

CALLS = "cd src && python3 -c 'import calc; assert calc.{}'"
BEFORE = "def old(a):\n    return a\n"
AFTER = f"{BEFORE}\n\ndef add(a, b):\n    return a + b\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def done(project: Project, *contracts: str, **more: str) -> None:
    """Take a baseline, and do the work."""
    project.plan("it", plan_text(*contracts, **more))
    project.write("src/calc.py", BEFORE)
    project.baseline()
    project.write("src/calc.py", AFTER)


def notices(found: Any) -> dict[str, str]:
    return {f"{each['function']} {each['what']}": each["notice"] for each in found["defects"]}


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_control_names_what_the_contract_does_not_notice_and_changes_nothing(
    project: Project,
) -> None:
    done(project, CALLS.format("add(0, 0) is not None"))
    before, events = fingerprint(project.workspace), project.run("log", "it").out
    said = project.run("control", "it", "--step", "1", "--all")
    assert said.code == 1, said.out + said.err
    assert "2 functions in files that the steps may change, 6 defects" in said.out
    assert "✓ src/calc.py:5 add  returns None: noticed, raises: noticed, is deleted" in said.out
    assert "✗ src/calc.py:1 old  returns None: not noticed, raises: not noticed" in said.out
    assert "3 of 6 defects are noticed" in said.out
    assert "; not noticed: src/calc.py:1 old returns None, src/calc.py:1 old raises" in said.out
    assert fingerprint(project.workspace) == before
    assert project.run("log", "it").out == events


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_only_what_was_changed_is_tried_and_all_noticed_is_0(project: Project) -> None:
    done(project, CALLS.format("add(1, 2) == 3"))
    project.write("src/page.ts", "export const a = 1;\n")
    project.write("src/test_calc.py", "def test_it():\n    assert True\n")
    said = project.run("control", "it", "--json")
    found = said.json
    assert said.code == 0, said.out
    assert (found["against"], found["functions"], found["made"]) == ("frozen", 1, 3)
    assert notices(found) == {
        "add returns None": "noticed",
        "add raises": "noticed",
        "add is deleted": "noticed",
    }
    assert {each["by"] for each in found["defects"]} == {"step 1"}
    assert found["not_tried"] == [
        {"path": "src/page.ts", "reason": "it is not Python"},
        {"path": "src/test_calc.py", "reason": "it judges"},
    ]
    said = project.run("control", "it")
    assert "note: no defects are made for .ts (1): only functions in Python are tried" in said.err


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_a_defect_is_noticed_by_any_contract_that_is_about_its_file(project: Project) -> None:
    done(project, "test -e src/calc.py", CALLS.format("add(1, 2) == 3"))
    found = project.run("control", "it", "--json").json
    assert {each["by"] for each in found["defects"]} == {"step 2"}
    said = project.run("control", "it", "--step", "1", "--json")
    assert said.code == 1
    assert set(notices(said.json).values()) == {"not noticed"}


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_nothing_is_tried_where_a_contract_does_not_pass(project: Project) -> None:
    done(project, CALLS.format("add(1, 2) == 4"))
    said = project.run("control", "it")
    assert said.code == 1
    assert "✗ fail 1. Do part 1" in said.out
    assert "no defect is tried: the contracts do not pass as it is" in said.out
    assert "hint: do the work first" in said.err
    found = project.run("control", "it", "--json").json
    assert (found["passes"], found["tried"], found["defects"]) == (False, 0, [])


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_without_a_baseline_the_commit_is_compared_with(project: Project) -> None:
    project.plan("it", plan_text(CALLS.format("add(1, 2) == 3")))
    project.write("src/calc.py", AFTER)
    said = project.run("control", "it")
    assert said.code == 2
    assert "there is no baseline and no commit" in said.err
    project.write("src/calc.py", BEFORE)
    for words in ("init -q", "add -A", "commit -q -m begin"):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words.split()],
            cwd=project.workspace, check=True, capture_output=True,
        )  # fmt: skip
    assert project.run("control", "it").code == 3
    project.write("src/calc.py", AFTER)
    said = project.run("control", "it", "--json")
    assert said.code == 0, said.out
    assert (said.json["against"], said.json["functions"]) == ("commit", 1)
    assert len(said.json["compared_with"]) == 40


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_more_defects_than_asked_for_are_chosen_at_random_and_again(project: Project) -> None:
    done(project, CALLS.format("add(1, 2) == 3"))
    words = ("control", "it", "--all", "--most", "2")
    first = project.run(*words, "--json", "--seed", "7").json
    again = project.run(*words, "--json", "--seed", "7").json
    assert (first["made"], first["tried"], first["seed"]) == (6, 2, 7)
    assert notices(first) == notices(again)
    assert "2 are tried, `--seed 7` chooses the same" in project.run(*words, "--seed", "7").out
    assert project.run("control", "it", "--most", "0").code == 2


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_a_defect_that_never_ends_is_noticed_soon(project: Project) -> None:
    done(project, CALLS.format("count(3) == 3"))
    project.write(
        "src/calc.py",
        "def one():\n    return 1\n\n\ndef count(n) -> int:\n    found = 0\n"
        "    while found < n:\n        found += one()\n    return found\n",
    )
    said = project.run("control", "it", "--json")
    assert said.code == 0, said.out
    (endless,) = (each for each in said.json["defects"] if each["what"] == "returns 0"
                  and each["function"] == "one")  # fmt: skip
    assert endless["verdict"] == "timeout"


@pytest.mark.thorough
@pytest.mark.requirement("command.control")
def test_an_interrupted_control_says_what_it_found_and_leaves_nothing(project: Project) -> None:
    nap = f"300.{os.getpid()}79"
    slow = f"cd src && if grep -q RuntimeError calc.py; then sleep {nap}; fi; "
    done(project, slow + CALLS.format("add(1, 2) == 3").removeprefix("cd src && "))
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "control", "it"],
        cwd=project.workspace,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: running(nap))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 130
        assert "defects are noticed" in out
        assert ", interrupted before " in out
        wait_until(lambda: not running(nap))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.requirement("command.control")
def test_files_that_no_step_may_change_are_left_alone(project: Project) -> None:
    project.plan("it", plan_text(CALLS.format("add(1, 2) == 3"), touches='"lib/**"'))
    project.write("src/calc.py", AFTER)
    said = project.run("control", "it", "--all")
    assert said.code == 3
    assert "there is no function in Python that the steps may change" in said.err
