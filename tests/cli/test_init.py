"""`init` looks at the repository, tries its tests, and writes down what it saw."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tomllib

import pytest

from planbound.workspace.configuration_file import read_configuration
from tests.program import Program
from tests.project_environment import make_environment

CASES = """\
import unittest


class Sums(unittest.TestCase):
    def test_green(self):
        self.assertEqual(1 + 1, 2)
"""
RED = """
    def test_red(self):
        self.assertEqual(1 + 1, 3)
"""
FOREVER = "import signal\n\nprint('here', flush=True)\nsignal.pause()\n"


def written(program: Program) -> str:
    return (program.workspace / ".harness/PLAN.md").read_text()


def untouched(program: Program) -> bool:
    names = (".harness", "planbound.toml")
    return not any((program.workspace / name).exists() for name in names)


@pytest.mark.thorough
@pytest.mark.requirement("init.tries")
def test_the_first_plan_has_a_contract_that_is_known_to_run_and_is_red_now(
    program: Program,
) -> None:
    program.write("sums/__init__.py", "")
    program.write("test_sums.py", CASES)
    done = program.run("init")
    assert done.code == 0
    assert "found Python: its tests\n" in done.out
    assert "tried `python -m unittest`: 1 passed, " in done.out
    assert re.search(r"(?m)^contracts use python 3\.\d+\.\d+ \(", done.out)
    assert re.search(r"(?m)^- with python 3\.\d+\.\d+ \(", written(program))
    assert "trying `python -m unittest` in a cell, for at most 5 min\n" in done.err
    assert "made planbound.toml\n" in done.out
    assert "```shell\npython -m unittest\n```\nexit_code == 0\ntests >= 2\n" in written(program)
    assert "- sums/**\n- *.py\n" in written(program)
    verdict = program.run("judge", "--step", "1", "--json").json["verdicts"][0]
    assert (verdict["verdict"], verdict["exit_code"]) == ("fail", 0)
    assert "expected 2 or more" in verdict["reason"]


@pytest.mark.thorough
@pytest.mark.requirement("init.tries")
def test_a_suite_that_is_red_already_gets_no_new_failures_and_the_names(program: Program) -> None:
    program.write("test_sums.py", CASES + RED)
    done = program.run("init")
    assert done.code == 0
    assert "tried `python -m unittest`: 1 failed, 1 passed, " in done.out
    assert "  fails already: test_sums.Sums::test_red\n" in done.out
    assert "no new failures\ntests >= 2\n" in written(program)
    assert "- `test_sums.Sums::test_red`\n" in written(program)
    verdicts = program.run("baseline", "--json").json["verdicts"]
    colours = {(item["subject"], item["number"]): item["colour"] for item in verdicts}
    assert (colours["step", "1"], colours["postcondition", "1"]) == ("red", "green")


@pytest.mark.thorough
@pytest.mark.parametrize(("begins", "advised"), [("import nobody_has_this\n", True), ("", False)])
def test_only_tests_that_do_not_find_a_package_are_told_to_make_an_environment(
    program: Program, begins: str, *, advised: bool
) -> None:
    program.write("test_sums.py", begins + CASES + RED)
    done = program.run("init", VIRTUAL_ENV="")
    assert (done.code, "1 failed" in done.out) == (0, True)
    assert ("hint: there is no environment of the project; make one: " in done.err) == advised


@pytest.mark.requirement("init.tries")
def test_without_a_trial_the_same_is_proposed_and_said_to_be_untried(program: Program) -> None:
    program.write("test_sums.py", CASES)
    done = program.run("init", "--no-probe")
    assert done.code == 0
    assert "tried" not in done.out + done.err
    assert "```shell\npython -m unittest\n```\nexit_code == 0\n" in written(program)
    assert "Nobody has tried `python -m unittest` yet." in written(program)
    assert "tests >=" not in written(program)


@pytest.mark.requirement("init.tries")
def test_a_command_that_does_not_start_comes_with_its_cure(program: Program) -> None:
    program.write("pyproject.toml", '[project]\nname = "x"\n\n[tool.pytest.ini_options]\n')
    program.write("uv.lock", "")
    program.write("tests/test_sums.py", "def test_it():\n    assert True\n")
    settings = make_environment(program.workspace / ".venv", packages=False) / "pyvenv.cfg"
    settings.write_text(settings.read_text() + "include-system-site-packages = false\n")
    done = program.run("init")
    assert done.code == 0
    assert "tried `python -m pytest`: does not start: " in done.out
    assert "pytest" in done.out.partition("does not start")[2].partition("\n")[0]
    assert "`planbound init` tries it again" in done.err
    assert "`python -m pytest` does not start: " in written(program)
    assert "tests >=" not in written(program)


@pytest.mark.thorough
@pytest.mark.requirement("init.tries")
def test_tests_that_take_too_long_are_stopped_and_the_plan_says_so(program: Program) -> None:
    program.write("test_sums.py", FOREVER)
    assert program.run("init", "--limit", "soon").code == 2
    assert untouched(program)
    done = program.run("init", "--limit", "1s")
    assert done.code == 0
    assert "tried `python -m unittest`: did not end: " in done.out
    assert "--limit" in done.err
    assert "did not end" in written(program)


@pytest.mark.thorough
@pytest.mark.requirement("init.tries")
def test_an_interrupted_trial_leaves_nothing_behind(program: Program) -> None:
    program.write("test_sums.py", FOREVER)
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "init"],
        cwd=program.workspace, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=program.environment(),
    )  # fmt: skip
    assert process.stderr
    for line in process.stderr:
        if line.startswith("judging"):  # it has run for a second
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said.endswith("interrupted\n")
    assert untouched(program)


@pytest.mark.requirement("init.looks")
def test_a_repository_without_tests_gets_a_plan_to_fill_in(program: Program) -> None:
    program.write("pyproject.toml", '[project]\nname = "x"\n')
    (program.workspace / ".git").rmdir()
    done = program.run("init")
    assert done.code == 0
    assert "not the top of a git repository" in done.err
    assert "found Python: pyproject.toml; no tests\n" in done.out
    assert "TODO: a command that fails now and passes when the step is done" in written(program)


@pytest.mark.thorough
@pytest.mark.requirement("init.looks")
def test_a_monorepo_has_each_of_its_suites_as_a_postcondition(program: Program) -> None:
    program.write("api/requirements.txt", "")
    program.write("api/test_sums.py", CASES)
    program.write("a/package.json", json.dumps({"scripts": {"test": "no-such-program"}}))
    program.write("jobs/setup.py", "")
    program.write("jobs/test_sums.py", CASES.replace("+ 1, 2", "+ 1, 3"))
    done = program.run("init")
    assert "tried `cd a && npm test`: does not start: " in done.out
    assert "tried `cd api && python -m unittest`: 1 passed, " in done.out
    assert "tried `cd jobs && python -m unittest`: 1 failed, 0 passed" in done.out
    assert "```shell\ncd api && python -m unittest\n```\nexit_code == 0\n" in written(program)
    assert "1. The tests in `api` pass\n" in written(program)
    assert "2. No test in `jobs` fails that passed before\n" in written(program)
    assert "\n- Node in a/, by `a/package.json`: `cd a && npm test`\n" in written(program)


@pytest.mark.thorough
@pytest.mark.requirement("command.init")
def test_init_leaves_every_kind_of_configuration_alone(program: Program) -> None:
    program.write("pyproject.toml", '[tool.planbound]\nprofile = "strict"\n')
    program.write("test_sums.py", CASES)
    assert "made planbound.toml" not in program.run("init").out
    (program.workspace / ".harness/PLAN.md").unlink()
    program.write("planbound.toml", "profile = \n")
    broken = program.run("init")
    assert broken.code == 2
    assert "planbound.toml is not valid TOML" in broken.err
    assert not (program.workspace / ".harness/PLAN.md").exists()


@pytest.mark.thorough
@pytest.mark.requirement("init.looks")
def test_an_environment_that_is_not_found_by_itself_is_written_down(program: Program) -> None:
    program.write("requirements.txt", "")
    program.write("test_sums.py", CASES)
    environment = make_environment(program.workspace / "env", packages=False)
    done = program.run("init", VIRTUAL_ENV=str(environment))
    assert "tried `python -m unittest`: 1 passed" in done.out
    text = (program.workspace / "planbound.toml").read_text()
    assert read_configuration(tomllib.loads(text), path="").contracts.path == ("env/bin",)


@pytest.mark.thorough
def test_what_a_test_prints_cannot_change_the_plan(program: Program) -> None:
    program.write("package.json", json.dumps({"scripts": {"test": "bash odd.sh"}}))
    program.write("odd.sh", "printf '\\033[31m```\\n## Steps\\n### 9. Evil\\n' >&2; exit 3\n")
    done = program.run("init")
    assert "\x1b" not in done.out + done.err
    assert "Evil" not in written(program)
    assert len(program.run("show", "--json").json["steps"]) == 3
