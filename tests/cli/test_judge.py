"""`judge` and `baseline`, from outside."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.needs import need
from tests.program import Outcome, Program

HEAD = """\
---
type: plan
status: draft
owner: tester
touches: [{touches}]
---

# Do the work

## Steps
"""
STEP = """
### {number}. Do part {number}

**target:** coder
{fields}
**task:** Write what the contract of part {number} asks for, in the files of the project.

**contract:**
```{tag}
{contract}
```
{expectations}
"""


def plan_text(
    *contracts: str,
    touches: str = '"src/**"',
    fields: str = "",
    expect: str = "",
    tag: str = "shell",
) -> str:
    """Return a plan with one step for each contract, at least three steps."""
    padded = [*contracts, *["test -d ."] * (3 - len(contracts))]
    steps = (
        STEP.format(
            number=number,
            contract=contract,
            fields=fields if number == 1 else "",
            expectations=expect if number == 1 else "",
            tag=tag if number == 1 else "shell",
        )
        for number, contract in enumerate(padded, 1)
    )
    return HEAD.format(touches=touches) + "".join(steps)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


class Project(Program):
    """A workspace whose home is elsewhere."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "workspace")
        self.workspace.mkdir()
        self.home = folder / "home"
        self.home.mkdir()

    def environment(self, **extra: str) -> dict[str, str]:
        return super().environment(**{"HOME": str(self.home), **extra})

    def judge(self, *arguments: str, **extra: str) -> Outcome:
        return self.run("judge", "it", *arguments, **extra)  # type: ignore[arg-type]  # variables

    def first(self, *arguments: str, **extra: str) -> dict[str, Any]:
        """Return the verdict on the first step."""
        done = self.judge("--json", "--step", "1", *arguments, **extra)
        assert done.code in {0, 1}, done.err
        found: dict[str, Any] = done.json["verdicts"][0]
        assert (done.code == 0) == (found["verdict"] == "pass")
        return found

    def baseline(self) -> Any:
        done = self.run("baseline", "it", "--json")
        assert done.code == 0, done.err
        return done.json

    def pytest_project(self, **more: str) -> None:
        self.write("src/calc.py", "def add(a, b):\n    return 0\n")
        self.write(
            "tests/test_calc.py",
            "import sys\nsys.path.insert(0, 'src')\nfrom calc import add\n\n\n"
            "def test_small():\n    assert add(1, 2) == 3\n\n\n"
            "def test_large():\n    assert add(1000, 1) == 1001\n",
        )
        self.plan("it", plan_text("python -m pytest -q tests", **more))

    def do_the_work(self) -> None:
        self.write("src/calc.py", "def add(a, b):\n    return a + b\n")


def fingerprint(folder: Path) -> str:
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        seen.update(repr((str(path), state.st_mode, state.st_mtime_ns, content)).encode())
    return seen.hexdigest()


@pytest.mark.requirement("command.judge", "verdict.pass", "invariant.only-the-harness-proves")
def test_judge_passes_what_is_done_and_changes_nothing(project: Project) -> None:
    project.plan("it", plan_text("mkdir -p made && echo x > made/x && rm src/a && test ! -e src/a"))
    project.write("src/a", "a")
    before = fingerprint(project.workspace)
    done = project.judge()
    assert done.code == 0, done.out + done.err
    assert "3 of 3 contracts pass" in done.out
    assert fingerprint(project.workspace) == before


@pytest.mark.thorough
@pytest.mark.requirement("judging.by-name", "judging.counted")
def test_a_suite_with_failures_is_compared_by_name_with_the_baseline(project: Project) -> None:
    project.write("src/calc.py", "def add(a, b):\n    return a + b\n")
    project.write(
        "tests/test_calc.py",
        "import sys\nsys.path.insert(0, 'src')\nfrom calc import add\n\n\n"
        "def test_one():\n    assert add(1, 2) == 3\n\n\n"
        "def test_two():\n    assert add(2, 2) == 5\n",
    )
    command = "python -m pytest -q tests"
    text = plan_text(command, command, touches='"src/**", "tests/**"', expect="no new failures")
    project.plan("it", text.replace(f"{command}\n```\n\n", f"{command}\n```\nfailed <= 0\n\n"))
    assert project.first()["verdict"] == "vacuous"  # nothing to compare with
    project.baseline()
    first, second = project.judge("--json").json["verdicts"][:2]
    assert (first["verdict"], first["tests"]["failed"]) == ("pass", 1)
    assert second["verdict"] == "fail"
    assert "tests.test_calc::test_two" in second["reason"]
    project.write("tests/test_calc.py", "def test_two():\n    assert True\n")
    found = project.first()
    assert (found["verdict"], found["disappeared"]) == ("fail", ["tests.test_calc::test_one"])
    assert project.run("verify", "it").code == 0


@pytest.mark.requirement("command.judge")
def test_a_mark_in_the_plan_file_proves_nothing(project: Project) -> None:
    text = plan_text("test -e src/done").replace("### 1. Do", "### 1. ✅ Do")
    project.plan("it", text.replace("**target:** coder", "**target:** coder\n**status: done**", 1))
    assert project.first()["verdict"] == "fail"


@pytest.mark.requirement("command.judge")
def test_judge_says_what_is_promised_to_programs(project: Project) -> None:
    project.plan("it", plan_text("echo out; echo err >&2; (sleep 900 &); exit 3"))
    found = project.first()
    assert {"step", "verdict", "exit_code", "duration", "evidence", "isolation", "reason"} <= set(
        found
    )
    assert found["step"] == 1
    assert found["verdict"] == "fail"
    assert found["exit_code"] == 3
    assert found["leftovers"] == 1
    assert found["stdout"]["head"] == "out\n"
    assert found["stderr"]["sha256"] == hashlib.sha256(b"err\n").hexdigest()


VERDICTS = [
    ("true", "", "pass"),
    ("false", "", "fail"),
    ("exit 7", "exit_code == 7", "pass"),
    ("echo hello world", 'stdout contains "lo wo"', "pass"),
    ("echo hello", 'stdout contains "world"', "fail"),
    ("echo oops >&2", 'stderr contains "oops"', "pass"),
    ("echo oops >&2", 'stdout contains "oops"', "fail"),
    ("echo hello", 'stdout == "hello"', "pass"),
    ("echo hello; echo", 'stdout == "hello"', "fail"),
    ("echo 1..2; echo ok 1; echo ok 2", "", "pass"),
    ("echo 1..2; echo ok 1; echo ok 2", "tests >= 2", "vacuous"),
    ("echo 1..1; echo ok 1", "no new failures", "unrunnable"),
    ("echo 1..1; echo ok 1", "tests >= 2", "fail"),
    ("echo nothing", "tests >= 1", "vacuous"),
    ("echo 1..0", "", "vacuous"),
    ("no-such-command-anywhere", "", "unrunnable"),
    ("./not-executable", "", "unrunnable"),
    # Nobody writes `robot`; another module may be what the work is still to make.
    ("python -m robot", "", "unrunnable"),
    ("python -m no_such_module_at_all", "", "fail"),
    ("kill -9 $$", "", "killed"),
    ("bash -c 'kill -9 $$'; exit 0", "", "killed"),
    ("false; true", "", "fail"),
    ("/bin/bash -c 'exit 0'", "", "pass"),
    ("/usr/bin/env bash -c 'test -e /proc/1 && test ! -e /proc/999999'", "", "pass"),
    ("cd no-such-directory", "", "fail"),
    (
        "head -c 3M /dev/zero | tr '\\0' x; echo needle; head -c 3M /dev/zero",
        'stdout contains "needle"',
        "pass",
    ),
]


@pytest.mark.requirement("verdict.fail", "verdict.vacuous", "verdict.unrunnable", "verdict.killed")
@pytest.mark.parametrize(("contract", "expectation", "verdict"), VERDICTS)
def test_an_outcome_has_its_verdict(
    project: Project, contract: str, expectation: str, verdict: str
) -> None:
    project.write("not-executable", "x")
    project.plan("it", plan_text(contract, expect=expectation))
    found = project.first()
    assert found["verdict"] == verdict, found["reason"]


@pytest.mark.requirement("verdict.timeout", "invariant.inconclusive")
def test_a_contract_past_its_limit_is_a_timeout(project: Project) -> None:
    project.plan("it", plan_text("trap '' TERM; sleep 900", fields="**contract_timeout:** 1s"))
    found = project.first()
    assert found["verdict"] == "timeout"
    assert found["exit_code"] is None


@pytest.mark.requirement("invariant.inconclusive", "shell.limits")
def test_a_contract_that_uses_up_what_it_may_is_killed(project: Project) -> None:
    project.write("planbound.toml", '[contracts]\ntemporary = "20 MB"\n')
    project.plan("it", plan_text("head -c 60M /dev/zero > filled; true"))
    found = project.first()
    assert found["verdict"] == "killed", found
    assert "temporary space" in found["reason"]


@pytest.mark.requirement("shell.environment")
def test_a_contract_sees_what_is_allowed_and_no_more(project: Project) -> None:
    project.write("planbound.toml", '[contracts]\nenv = ["ALLOWED"]\n')
    project.plan("it", plan_text("env | sort"))
    found = project.first(ALLOWED="yes", FORBIDDEN="no")
    names = {line.split("=")[0] for line in found["stdout"]["head"].splitlines()}
    assert names - {"_", "PWD", "SHLVL", "OLDPWD"} == {
        "ALLOWED", "CI", "HOME", "LC_ALL", "PATH", "PYTHONPYCACHEPREFIX", "SHELL", "TERM",
        "VIRTUAL_ENV",
    }  # fmt: skip
    assert "CI=1\n" in found["stdout"]["head"]
    assert "LC_ALL=C.UTF-8\n" in found["stdout"]["head"]


@pytest.mark.requirement("shell.environment")
def test_the_callers_path_brings_no_programs(project: Project) -> None:
    shims = project.home / "bin"
    shims.mkdir()
    (shims / "grep").write_text("#!/bin/sh\nexit 0\n")
    (shims / "grep").chmod(0o755)
    project.plan("it", plan_text("grep -q done src/state"))
    project.write("src/state", "not yet")
    assert project.first(PATH=f"{shims}:{os.environ['PATH']}")["verdict"] == "fail"


@pytest.mark.requirement("shell.environment")
def test_a_folder_that_is_configured_brings_programs(project: Project) -> None:
    tools = project.home / "tools"
    tools.mkdir()
    (tools / "checker").write_text("#!/bin/sh\nexit 0\n")
    (tools / "checker").chmod(0o755)
    project.plan("it", plan_text("checker"))
    found = project.first()
    assert found["verdict"] == "unrunnable"
    assert "[contracts] path" in found["reason"]
    project.write("planbound.toml", f'[contracts]\npath = ["{tools}"]\n')
    assert project.first()["verdict"] == "pass"


@pytest.mark.requirement("command.baseline", "judging.evidence", "judging.canary")
def test_red_before_and_green_after_is_corroborated(project: Project) -> None:
    project.pytest_project()
    colours = [item["colour"] for item in project.baseline()["verdicts"]]
    assert colours == ["red", "green", "green"]
    project.do_the_work()
    found = project.first()
    assert found["verdict"] == "pass", found
    assert found["evidence"] == "E3"
    assert found["canary"] == "red"
    assert found["tests"]["passed"] == 2
    assert found["baseline"] == "fail"


@pytest.mark.requirement("judging.evidence")
def test_less_evidence_than_demanded_is_no_pass(project: Project) -> None:
    project.plan("it", plan_text("true", fields="**evidence:** E3"))
    found = project.first()
    assert found["verdict"] == "vacuous"
    assert "no baseline" in found["reason"]
    project.write("planbound.toml", '[judging]\nevidence = "E5"\n')
    project.plan("it", plan_text("true"))
    assert project.first()["verdict"] == "vacuous"


@pytest.mark.requirement("verdict.vacuous")
def test_green_before_the_work_is_vacuous_where_red_is_demanded(project: Project) -> None:
    project.plan("it", plan_text("true", fields="**baseline:** red"))
    project.baseline()
    found = project.first()
    assert found["verdict"] == "vacuous"
    assert "green before" in found["reason"]


@pytest.mark.thorough
@pytest.mark.requirement("verdict.tampered")
def test_a_changed_judge_is_named_with_its_difference_and_the_frozen_one_judges(
    project: Project,
) -> None:
    project.pytest_project()
    project.baseline()
    path = project.workspace / "tests/test_calc.py"
    path.write_text(path.read_text().replace("== 3", "== 0").replace("== 1001", "== 0"))
    found = project.first()
    assert found["verdict"] == "tampered"
    assert found["exit_code"] == 1
    assert found["tampered"][0]["path"] == "tests/test_calc.py"
    assert "-    assert add(1, 2) == 3" in found["tampered"][0]["diff"]


@pytest.mark.thorough
@pytest.mark.requirement("verdict.tampered")
def test_a_judge_that_touches_covers_may_change_and_the_report_says_so(project: Project) -> None:
    project.pytest_project(touches='"src/**", "tests/**"')
    project.baseline()
    project.do_the_work()
    path = project.workspace / "tests/test_calc.py"
    path.write_text(path.read_text() + "\n\ndef test_zero():\n    assert add(0, 0) == 0\n")
    found = project.first()
    assert found["verdict"] == "pass", found
    assert "`touches` lets the step edit its own judges: tests/test_calc.py" in found["notes"]
    assert "it did edit its own judges: tests/test_calc.py" in found["notes"]


@pytest.mark.thorough
@pytest.mark.requirement("verdict.tampered")
def test_the_report_says_that_a_step_could_edit_its_judges_even_where_it_did_not(
    project: Project,
) -> None:
    project.pytest_project(touches='"src/**", "tests/**"')
    project.baseline()
    project.do_the_work()
    found = project.first()
    assert found["notes"] == ["`touches` lets the step edit its own judges: tests/test_calc.py"]


@pytest.mark.requirement("verdict.tampered")
@pytest.mark.parametrize("what", ["plan", "configuration"])
def test_a_plan_or_configuration_that_changed_since_the_baseline_is_tampering(
    project: Project, what: str
) -> None:
    project.plan("it", plan_text("test -e src/done"))
    project.baseline()
    if what == "plan":
        project.plan("it", plan_text("true"))
    else:
        project.write("planbound.toml", '[contracts]\npath = ["/opt"]\n')
        project.write("src/done", "")
    found = project.first()
    assert found["verdict"] == "tampered"
    assert what in found["reason"]


@pytest.mark.requirement("verdict.out-of-scope")
def test_a_file_outside_touches_is_out_of_scope(project: Project) -> None:
    project.plan("it", plan_text("test -e src/done"))
    project.baseline()
    project.write("src/done", "")
    assert project.first()["verdict"] == "pass"
    project.write("docs/elsewhere.md", "")
    found = project.first()
    assert found["verdict"] == "out-of-scope"
    assert found["outside"] == ["docs", "docs/elsewhere.md"]
    hint = "where you changed it on purpose, `planbound baseline it` takes the files as they are"
    assert hint in project.run("judge", "it").err
    project.baseline()
    assert project.first()["verdict"] == "pass", "the cure cures"


@pytest.mark.requirement("verdict.flaky")
def test_unlike_ends_on_one_tree_are_flaky(project: Project) -> None:
    contract = "test $((RANDOM % 2)) -eq 0"
    project.plan("it", plan_text(contract, fields="**repeat:** 40"))
    assert project.first()["verdict"] == "flaky"


@pytest.mark.requirement("verdict.flaky")
def test_a_pass_after_a_fail_on_the_same_tree_is_flaky(project: Project) -> None:
    outside = project.home / "switch"
    project.write("planbound.toml", f'[contracts]\nread = ["{project.home}"]\n')
    project.plan("it", plan_text(f"test -e {outside}"))
    assert project.first()["verdict"] == "fail"
    outside.write_text("")
    assert project.first()["verdict"] == "flaky"
    project.write("src/new", "")
    assert project.first()["verdict"] == "pass"


@pytest.mark.thorough
@pytest.mark.requirement("judging.canary", "verdict.tampered")
def test_a_runner_that_stays_green_with_a_failing_test_is_subverted(project: Project) -> None:
    project.pytest_project()
    project.baseline()
    project.write("src/calc.py", "import os\nprint('2 passed in 0.01s')\nos._exit(0)\n")
    found = project.first()
    assert found["verdict"] in {"tampered", "vacuous"}
    project.write(
        "src/calc.py",
        "import _pytest.runner\n_pytest.runner.pytest_runtest_call = lambda item: None\n"
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"
        "import _pytest.nodes\n_pytest.nodes.Item.runtest = lambda self: None\n"
        "from _pytest.reports import TestReport\n"
        "make = TestReport.from_item_and_call.__func__\n"
        "def forged(cls, item, call):\n    report = make(cls, item, call)\n"
        "    report.outcome = 'passed'\n    return report\n"
        "TestReport.from_item_and_call = classmethod(forged)\n"
        "def add(a, b):\n    return 0\n",
    )
    found = project.first()
    assert found["verdict"] == "tampered", found
    assert found["canary"] == "green"


# What a configuration chooses is run, each file in a world of its own.
_JEST = """\
#!/usr/bin/env node
const fs = require('fs'), path = require('path');
const { ending } = require(path.resolve('jest.config.js'));
const failed = [];
let passed = 0;
for (const file of fs.readdirSync('.').filter((name) => name.endsWith(ending))) {
  const tests = [];
  global.test = (name, body) => tests.push([name, body]);
  global.expect = (got) => ({ toBe(wanted) { if (got !== wanted) throw new Error('differs'); },
    toEqual(wanted) { if (String(got) !== String(wanted)) throw new Error('differs'); } });
  require(path.resolve(file));
  const before = failed.length;
  for (const [name, body] of tests) {
    try { body(); passed += 1; } catch { failed.push(name); }
  }
  console.log(`${failed.length > before ? 'FAIL' : 'PASS'} ${file}`);
}
failed.forEach((name) => console.log(`  \\u25cf ${name}`));
const count = failed.length ? `${failed.length} failed, ` : '';
console.log(`Test Suites: 1 passed, 1 total\\nTests:       ${count}${passed} passed, 9 total`);
process.exit(failed.length ? 1 : 0);
"""


@pytest.mark.thorough
@pytest.mark.requirement("judging.canary")
def test_what_the_product_does_to_the_runner_of_a_chosen_file_is_seen(project: Project) -> None:
    need("node", "a contract calls it")
    project.write("node_modules/.bin/jest", _JEST)
    (project.workspace / "node_modules/.bin/jest").chmod(0o755)
    project.write("jest.config.js", "module.exports = { testMatch: 1, ending: '.check.js' };\n")
    project.write("src/add.js", "exports.add = () => 0;\n")
    project.write(
        "add.check.js",
        "const { add } = require('./src/add');\n"
        "test('adds', () => {\n  expect(add(1, 1)).toBe(2);\n});\n",
    )
    project.plan("it", plan_text("node_modules/.bin/jest"))
    project.baseline()
    project.write("src/add.js", "exports.add = (a, b) => a + b;\n")
    found = project.first()
    assert (found["verdict"], found["evidence"], found["canary"]) == ("pass", "E3", "red"), found
    project.write(
        "src/add.js",
        "exports.add = () => 0;\nglobal.expect = () => ({ toBe() {}, toEqual() {} });\n",
    )
    found = project.first()
    assert (found["verdict"], found["canary"]) == ("tampered", "green"), found


@pytest.mark.thorough
@pytest.mark.requirement("judging.held-out")
def test_a_judge_that_is_held_out_catches_what_the_others_cannot(project: Project) -> None:
    hidden = project.home / "judges" / "test_hidden.py"
    hidden.parent.mkdir()
    hidden.write_text(
        "import sys\nsys.path.insert(0, 'src')\nfrom calc import add\n\n\n"
        "def test_hidden():\n    assert add(20, 22) == 42\n"
    )
    project.write("planbound.toml", f'[judging]\nheld_out = ["{hidden}"]\n')
    project.pytest_project()
    project.baseline()
    project.write("src/calc.py", "def add(a, b):\n    return {1: 3}.get(a, 1001)\n")
    assert project.first()["verdict"] == "fail"
    project.do_the_work()
    found = project.first()
    assert found["verdict"] == "pass", found
    assert found["evidence"] == "E3"
    assert not (project.workspace / "tests/test_hidden.py").exists()


@pytest.mark.thorough
@pytest.mark.requirement("judging.held-out", "judging.evidence")
def test_held_out_tests_that_the_product_can_read_while_it_runs_are_no_e4(project: Project) -> None:
    hidden = project.home / "judges" / "test_hidden.py"
    hidden.parent.mkdir()
    hidden.write_text("def test_hidden():\n    assert True\n")
    project.write("planbound.toml", f'[judging]\nheld_out = ["{hidden}"]\nevidence = "E4"\n')
    project.pytest_project()
    project.baseline()
    project.do_the_work()
    found = project.first()
    assert found["verdict"] == "vacuous", found
    assert found["reason"] == (
        "E4 is demanded, E3 reached: the product's process can read the judges while it runs"
    )
    assert found["notes"] == ["a `check` with cases that are held out reaches E4"]


@pytest.mark.thorough
@pytest.mark.requirement("judging.held-out")
def test_a_held_out_test_that_was_left_out_is_missed(project: Project) -> None:
    hidden = project.home / "judges" / "test_hidden.py"
    hidden.parent.mkdir()
    hidden.write_text("def test_hidden():\n    assert False\n")
    project.write("planbound.toml", f'[judging]\nheld_out = ["{hidden}"]\n')
    project.pytest_project()
    project.baseline()
    project.do_the_work()
    product = (project.workspace / "src/calc.py").read_text()
    # pytest does not run, and does not report, what is called like the test.
    project.write(
        "src/calc.py",
        product + "from _pytest import runner\nrun = runner.runtestprotocol\n"
        "def fewer(item, *args, **kwargs):\n"
        "    return [] if 'hidden' in item.name else run(item, *args, **kwargs)\n"
        "runner.runtestprotocol = fewer\n",
    )
    found = project.first()
    assert found["verdict"] == "vacuous", found
    assert found["reason"] == "required tests did not pass: tests/test_hidden.py::test_hidden"


@pytest.mark.requirement("cell.fails-closed")
def test_more_isolation_than_there_is_runs_nothing(project: Project) -> None:
    project.write("planbound.toml", '[judging]\nisolation = "I4"\n')
    project.plan("it", plan_text("true"))
    done = project.judge()
    assert done.code == 2
    assert "I4 is demanded" in done.err
    assert done.out == ""


@pytest.mark.requirement("command.judge")
def test_a_plan_with_errors_is_looked_at_too_and_the_errors_are_mentioned(
    project: Project,
) -> None:
    project.plan("it", plan_text("if test -d .; then"))
    done = project.judge("--json")
    assert done.code == 1
    assert "the plan has 1 error" in done.err
    assert [item["verdict"] for item in done.json["verdicts"]] == ["unrunnable", "pass", "pass"]


@pytest.mark.requirement("command.judge")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--step", "9"], 2, "no step `9`"),
        (["--postconditions"], 2, "no postconditions"),
        (["--step", "1", "--postconditions"], 2, "not allowed with"),
        (["--nonsense"], 2, "unrecognized"),
    ],
)
def test_wrong_arguments_are_refused(
    project: Project, arguments: list[str], code: int, said: str
) -> None:
    project.plan("it", plan_text("true"))
    done = project.judge(*arguments)
    assert done.code == code
    assert said in done.err


@pytest.mark.requirement("command.judge")
def test_what_a_person_attests_is_not_judged_and_not_passed(project: Project) -> None:
    text = plan_text("true") + (
        "\n### 4. Look at it\n\n**target:** reviewer\n\n**task:** Look at the page in a browser"
        ' and say whether it is right.\n\n**contract:** attest "the page looks right"\n'
    )
    project.plan("it", text)
    done = project.judge("--json")
    assert done.code == 1
    assert done.json["unjudged"][0]["reason"] == "a person attests it"


@pytest.mark.requirement("command.judge")
def test_output_cannot_play_with_the_terminal(project: Project) -> None:
    project.plan("it", plan_text("printf '\\033[2J\\033[1mpass\\342\\200\\256ssap\\n'; exit 1"))
    done = project.judge("--step", "1")
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


@pytest.mark.requirement("invariant.secrets-stay-out")
def test_secrets_in_output_reach_neither_report_nor_journal(project: Project) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    project.plan("it", plan_text(f"echo token={secret}; exit 1"))
    assert (
        secret not in project.judge("--json", "--step", "1").json["verdicts"][0]["stdout"]["head"]
    )
    assert secret not in project.judge("--step", "1").out
    assert secret not in project.run("log", "it", "--json").out.replace("\\", "")


@pytest.mark.thorough
@pytest.mark.requirement("command.judge")
def test_a_verdict_is_on_record(project: Project) -> None:
    project.plan("it", plan_text("true"))
    project.baseline()
    project.judge("--step", "1")
    kinds = [
        line for line in project.run("log", "it").out.splitlines() if "CONTRACT_EVALUATED" in line
    ]
    assert len(kinds) == 1
    assert project.run("log", "--verify").code == 0


@pytest.mark.requirement("command.judge", "cli.honest-ends")
def test_an_interrupt_ends_everything_that_a_contract_started(project: Project) -> None:
    nap = f"300.{os.getpid()}77"
    project.plan("it", plan_text(f"setsid sleep {nap} & touch src; sleep {nap}"))
    project.write("src/a", "")
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "judge", "it"],
        cwd=project.workspace,
        env=project.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait_until(lambda: running(nap))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        wait_until(lambda: not running(nap))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.thorough
@pytest.mark.requirement("shell.nothing-left")
def test_a_killed_harness_leaves_nothing_running(project: Project) -> None:
    nap = f"300.{os.getpid()}78"
    project.plan("it", plan_text(f"(setsid nohup sleep {nap} > /dev/null 2>&1 &); sleep {nap}"))
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "judge", "it"],
        cwd=project.workspace,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: running(nap))
    process.kill()
    process.wait()
    wait_until(lambda: not running(nap))
    assert project.judge("--step", "2").code == 0


def running(word: str) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if f"\0{word}\0".encode() in Path("/proc", name, "cmdline").read_bytes():
                    return True
            except OSError:
                continue
    return False


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.requirement("command.baseline")
def test_a_baseline_of_a_file_elsewhere_is_refused(project: Project) -> None:
    path = project.home / "plan.md"
    path.write_text(plan_text("true"))
    done = project.run("baseline", str(path))
    assert done.code == 2
    assert ".harness" in done.err
    assert project.run("judge", str(path)).code == 0


@pytest.mark.thorough
@pytest.mark.requirement("command.baseline")
def test_a_damaged_vault_is_said_and_a_new_baseline_mends_it(project: Project) -> None:
    project.plan("it", plan_text("true"))
    project.baseline()
    state = next((project.home / ".local/state/planbound").iterdir())
    for path in state.glob("vault.sqlite*"):
        path.unlink()
    done = project.judge()
    assert done.code == 2
    assert "the baseline cannot be used" in done.err
    project.baseline()
    assert project.judge().code == 0


@pytest.mark.thorough
@pytest.mark.requirement("command.baseline")
def test_a_new_plan_by_the_same_name_has_no_baseline(project: Project) -> None:
    done = project.run("new", "it")
    assert done.code == 0, done.err
    path = project.workspace / ".harness/PLAN-it.md"
    path.write_text(plan_text("true"))
    project.baseline()
    project.run("archive", "it", "--reason", "over")
    if path.exists():
        path.unlink()
    shutil.rmtree(project.workspace / ".harness/archive", ignore_errors=True)
    assert project.run("new", "it").code == 0
    path.write_text(plan_text("true"))
    assert project.first()["baseline"] is None


@pytest.mark.requirement("command.selftest", "cell.walls")
def test_selftest_tells_what_this_machine_can_do(project: Project) -> None:
    done = project.run("selftest", "--json")
    assert done.code == 0, done.out
    for cell in done.json["cells"]:
        if cell["works"]:
            assert all(check["held"] for check in cell["checks"] if check["promised"])
    assert done.json["isolation"] == next(
        cell["isolation"] for cell in done.json["cells"] if cell["works"]
    )
    assert project.run("selftest").code == 0


@pytest.mark.thorough
@pytest.mark.requirement("command.selftest", "cell.fails-closed")
def test_selftest_fails_where_less_is_there_than_demanded(project: Project) -> None:
    project.write("planbound.toml", '[judging]\nisolation = "I3"\n')
    assert project.run("selftest").code == 1


@pytest.mark.thorough
@pytest.mark.requirement("invariant.only-the-harness-proves")
def test_nothing_is_judged_from_inside_a_cell(project: Project) -> None:
    inside = f"{sys.executable} -m planbound --workspace . judge it --step 2 || echo code $?"
    project.plan("it", plan_text(inside))
    found = project.first()
    assert "code 2" in found["stdout"]["head"]
    assert "inside of a cell" in found["stderr"]["head"]


@pytest.mark.requirement("command.judge", "cli.honest-ends")
@pytest.mark.parametrize("command", ["judge", "baseline", "selftest"])
def test_a_state_home_that_cannot_be_written_is_said(project: Project, command: str) -> None:
    project.plan("it", plan_text("true"))
    given = ["it"] if command != "selftest" else []
    done = project.run("--state", "/proc/nowhere", command, *given)
    assert done.code == 2
    assert "cells cannot be tried out" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("command.judge")
def test_a_look_without_a_baseline_says_so_once(project: Project) -> None:
    project.plan("it", plan_text("true"))
    done = project.judge()
    assert done.err.count("no baseline") == 1
    project.baseline()
    assert "no baseline" not in project.judge().err


@pytest.mark.thorough
def test_a_run_with_other_values_that_runs_out_of_time_is_told(project: Project) -> None:
    """A test that hangs when it fails: nobody can say whether it notices."""
    project.write("src/calc.py", "def add(a, b):\n    return a + b\n")
    project.write(
        "tests/test_calc.py",
        "import sys, time\nsys.path.insert(0, 'src')\nfrom calc import add\n\nOPEN = []\n\n\n"
        "def teardown_function(function):\n    time.sleep(600 * len(OPEN))\n\n\n"
        "def test_add():\n    OPEN.append(1)\n    assert add(1, 2) == 3\n    OPEN.clear()\n",
    )
    project.write("planbound.toml", '[contracts]\ntimeout = "8s"\n')
    project.plan("it", plan_text("python -m pytest -q tests"))
    done = project.run("judge", "it", "--step", "1")
    assert "with other expected values it ran out of time" in done.out, (done.out, done.err)


EXITING = 'printf "%s\\n" "$HOME" && exit 3'
FAILING = (
    "echo '::error::mine ##[warning]too' && echo '| a, 100% b' >&2 && grep -qx ready state.txt"
)


def formats(project: Project, form: str) -> Outcome:
    project.plan("it", plan_text(FAILING, "true", EXITING))
    return project.judge("--format", form)


@pytest.mark.requirement("judge.formats")
def test_judge_for_github_is_one_command_for_each_contract_that_does_not_pass(
    project: Project,
) -> None:
    done = formats(project, "github")
    assert done.code == 1
    first, third = done.out.splitlines()
    assert first.startswith("::error file=.harness/PLAN-it.md,line=20,endLine=20,col=1,")
    assert ",title=fail::step 1. Do part 1: " in first
    assert "%0A| ::error::mine ##[warning]too%0A| | a, 100%25 b" in first
    assert ",title=fail::step 3. Do part 3: exit 3" in third
    assert project.judge("--format", "github", "--step", "2").out == ""


@pytest.mark.requirement("judge.formats")
def test_judge_as_sarif_fits_the_shape_that_code_scanning_reads(project: Project) -> None:
    done = formats(project, "sarif")
    assert done.code == 1
    schema = json.loads(Path(__file__).with_name("sarif-shape.json").read_text())
    jsonschema.validate(done.json, schema)
    (run,) = done.json["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [result["ruleId"] for result in run["results"]] == ["fail", "fail"]
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in run["results"])
    lines = Path(project.workspace, ".harness/PLAN-it.md").read_text().splitlines()
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == ".harness/PLAN-it.md"
        assert lines[place["region"]["startLine"] - 1] in {FAILING, EXITING}


def test_what_nobody_judges_is_a_warning_in_the_formats_of_services(project: Project) -> None:
    project.write("there", "")
    text = plan_text("test -e there").replace(
        "```shell\ntest -d .\n```", 'attest "it looks right"', 1
    )
    project.plan("it", text.replace("**contract:**\nattest", "**contract:** attest"))
    done = project.judge("--format", "github")
    assert done.code == 1
    assert done.out.startswith("::warning file=.harness/PLAN-it.md,line=30,")
    assert "title=unjudged::step 2. Do part 2: not judged, a person attests it" in done.out
    (result,) = project.judge("--format", "sarif").json["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("unjudged", "warning")


def test_secrets_stay_out_of_the_formats_of_services(project: Project) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    project.plan("it", plan_text(f"echo {token} && false"))
    for form in ("github", "sarif"):
        done = project.judge("--format", form)
        assert "step 1. Do part 1" in done.out
        assert token not in done.out


@pytest.mark.thorough
def test_the_formats_of_judge_are_the_ones_of_verify_and_json_is_one_of_them(
    project: Project,
) -> None:
    project.plan("it", plan_text("true"))
    assert project.judge("--format", "json").json["passed"]
    assert "✓ pass" in project.judge("--format", "text").out
    both = project.judge("--json", "--format", "sarif")
    assert both.code == 2
    assert "`--json` and `--format sarif` do not go together" in both.err
    wrong = project.judge("--format", "xml")
    assert (wrong.code, "xml" in wrong.err) == (2, True)
