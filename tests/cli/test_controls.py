"""Controls, from outside: changes that a contract has to fail with are tried at the gate."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_judge import Project

TESTS = """\
import unittest

from rounding import cents


class Rounding(unittest.TestCase):
    def test_half_a_cent(self):
        self.assertEqual(cents(0.335), {expected})


unittest.main()
"""
PLAN = """\
---
type: plan
status: draft
owner: orchestrator
---

# Round once

## Steps

### 1. Write the rounding

**target:** coder
**touches:** rounding.py
**task:** Write `cents` in `rounding.py`: an amount in whole cents, half a cent up.

**contract:**
```shell
{contract}
```
{rejects}
"""
TRUNCATES = """\
diff --git a/rounding.py b/rounding.py
new file mode 100644
--- /dev/null
+++ b/rounding.py
@@ -0,0 +1,2 @@
+def cents(amount):
+    return int(amount * 100)
"""
CONTRACT = "python3 test_rounding.py"


class Controls:
    """A workspace whose plan has a contract with controls."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder)
        self.workspace = self.project.workspace
        self.write("test_rounding.py", TESTS.format(expected=34))

    def write(self, path: str, text: str) -> None:
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def plan(self, rejects: str, contract: str = CONTRACT) -> None:
        self.project.plan("it", PLAN.format(contract=contract, rejects=rejects))

    def approve(self, *arguments: str) -> Any:
        digest = self.project.run("show", "it", "--json").json["digest"]
        given = ["--digest", digest[:12], "--as", "mara"]
        return self.project.run("approve", "it", *given, *arguments)

    def recorded(self) -> list[dict[str, Any]]:
        lines = self.project.run("log", "it", "--json").out.splitlines()
        found = [json.loads(line) for line in lines]
        return [
            control
            for item in found
            if item["event"] == "BASELINE_OBSERVED"
            for control in item["details"].get("controls") or ()
        ]


@pytest.fixture
def controls(tmp_path: Path) -> Controls:
    return Controls(tmp_path)


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_a_control_that_the_contract_rejects_is_on_record(controls: Controls) -> None:
    controls.write("controls/truncates.patch", TRUNCATES)
    controls.plan("**rejects:** controls/truncates.patch")
    done = controls.approve()
    assert done.code == 0, done.err
    assert "rejects controls/truncates.patch (" in done.out
    assert "red with it: exit 1" in done.out
    (control,) = controls.recorded()
    assert (control["name"], control["result"]) == ("controls/truncates.patch", "noticed")
    assert control["verdict"] == "fail"
    assert control["patch"] == sha256(TRUNCATES.encode()).hexdigest()
    assert "33 != 34" in control["output_tail"]
    (step,) = controls.project.run("status", "it", "--json").json["steps"]
    assert step["controls"] == {"controls/truncates.patch": "noticed"}
    # Only the cell had it.
    assert not (controls.workspace / "rounding.py").exists()


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_a_contract_that_passes_with_it_is_not_approved(controls: Controls) -> None:
    controls.write("truncates.patch", TRUNCATES)
    controls.write("test_rounding.py", TESTS.format(expected="cents(0.335)"))
    controls.plan("**rejects:** truncates.patch")
    done = controls.approve()
    assert done.code == 2
    said = "step 1: the contract does not notice `truncates.patch`: it passes with it"
    assert done.out.splitlines()[1] == f"error: {said}"  # behind the warning of few steps
    assert said in done.err
    assert "hint:" in done.err
    assert controls.recorded() == []
    assert controls.project.run("show", "it", "--json").json["status"] != "approved"


@pytest.mark.thorough
def test_a_diff_in_the_plan_is_a_control(controls: Controls) -> None:
    controls.plan(f"**rejects:**\n```diff\n{TRUNCATES}```")
    done = controls.approve("--json")
    assert done.code == 0, done.err
    (control,) = done.json["baseline"][0]["controls"]
    assert (control["name"], control["result"]) == ("diff 1", "noticed")
    assert len(control["patch"]) == 64


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_work_that_is_done_makes_no_control_wrong(controls: Controls) -> None:
    controls.write("bad.patch", TRUNCATES)
    controls.plan("**rejects:** bad.patch")
    assert controls.approve().code == 0
    controls.write("rounding.py", "def cents(amount):\n    return round(amount * 100 + 1e-9)\n")
    assert controls.project.run("verify", "it").code == 0
    plan = controls.workspace / ".harness" / "PLAN-it.md"
    plan.write_text(plan.read_text().replace("Round once", "Round at the end"))
    done = controls.approve()
    assert done.code == 0, done.err
    assert "`bad.patch` shows nothing: the contract is green now, and " in done.out


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_a_control_that_shows_no_more_than_the_baseline_is_a_warning(controls: Controls) -> None:
    other = TRUNCATES.replace("rounding.py", "unrelated.py")
    controls.write("other.patch", other)
    controls.plan("**rejects:** other.patch")
    done = controls.approve()
    assert done.code == 0, done.err
    said = done.out.splitlines()[1]
    assert said.startswith("warning: step 1: `other.patch` shows nothing: ")
    assert said.endswith("the contract says the same without it")
    assert "; shows nothing: other.patch" in done.out
    (control,) = controls.recorded()
    assert control["result"] == "same"


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_a_control_that_cannot_run_says_nothing(controls: Controls) -> None:
    hangs = TRUNCATES.replace("return int(amount * 100)", "while True: pass")
    controls.write("hangs.patch", hangs)
    controls.plan("**rejects:** hangs.patch\n**contract_timeout:** 2s")
    done = controls.approve()
    assert done.code == 2
    assert "the control `hangs.patch` says nothing: timeout with it" in done.err
    assert controls.recorded() == []


@pytest.mark.requirement("gate.controls")
def test_a_control_that_changes_the_judge_is_refused(controls: Controls) -> None:
    diff = """\
--- a/test_rounding.py
+++ b/test_rounding.py
@@ -7,1 +7,1 @@
-    def test_half_a_cent(self):
+    def test_half_a_cent(self, more):
"""
    controls.write("judge.patch", diff)
    controls.plan("**rejects:** judge.patch")
    done = controls.approve()
    assert done.code == 2
    assert "it changes `test_rounding.py`, which judges" in done.err


@pytest.mark.thorough
def test_what_the_harness_sees_through_counts_as_noticed(controls: Controls) -> None:
    leaves = TRUNCATES.replace("return int(amount * 100)", "__import__('os')._exit(0)")
    controls.write("leaves.patch", leaves)
    controls.plan("**rejects:** leaves.patch")
    done = controls.approve()
    assert done.code == 0, done.err
    (control,) = controls.recorded()
    assert (control["result"], control["verdict"]) == ("noticed", "tampered")


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_the_file_of_a_control_is_a_judge(controls: Controls) -> None:
    controls.write("truncates.patch", TRUNCATES)
    controls.plan("**rejects:** ./truncates.patch")
    assert controls.approve().code == 0
    controls.write("rounding.py", "def cents(amount):\n    return int(amount * 100 + 0.5)\n")
    assert controls.project.run("judge", "it").code == 0
    controls.write("truncates.patch", TRUNCATES.replace("int", "round"))
    judged = controls.project.run("judge", "it")
    assert judged.code == 1
    assert "judges are not as they were frozen: truncates.patch (changed)" in judged.out


@pytest.mark.thorough
def test_a_baseline_shows_and_records_controls(controls: Controls) -> None:
    controls.write("truncates.patch", TRUNCATES)
    controls.plan("**rejects:** truncates.patch")
    done = controls.project.run("baseline", "it")
    assert done.code == 0, done.err
    assert "rejects truncates.patch (" in done.out
    shown = controls.project.run("baseline", "it", "--json").json
    assert shown["verdicts"][0]["controls"][0]["result"] == "noticed"
    assert [each["result"] for each in controls.recorded()] == ["noticed", "noticed"]


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls", "gate.policy")
def test_no_policy_approves_over_a_control_that_shows_nothing(controls: Controls) -> None:
    controls.write(
        "planbound.toml",
        '[gate.policies.small]\ntouches = ["rounding.py"]\nsteps = 3\n',
    )
    controls.write("other.patch", TRUNCATES.replace("rounding.py", "unrelated.py"))
    steps = "".join(
        f"\n### {number}. Look at part {number}\n\n**target:** coder\n**touches:** rounding.py\n"
        f"**task:** Write part {number} of `rounding.py`, as its test says.\n\n"
        f"**contract:**\n```shell\n{CONTRACT}\n```\n"
        for number in (2, 3)
    )
    controls.plan(f"**rejects:** other.patch\n{steps}")
    done = controls.project.run("approve", "it", "--policy", "small")
    assert done.code == 2
    assert "step 1: the contract says the same without `other.patch`" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls", "gate.weakened")
def test_a_control_that_is_taken_out_is_told_first(controls: Controls) -> None:
    controls.write("truncates.patch", TRUNCATES)
    controls.plan("**rejects:** truncates.patch")
    assert controls.approve().code == 0
    controls.plan("")
    assert "step 1 does not have to reject `truncates.patch` any more" in controls.approve().out


@pytest.mark.thorough
@pytest.mark.requirement("gate.controls")
def test_a_table_of_cases_has_to_reject_wrong_work_too(controls: Controls) -> None:
    table = "function: rounding:cents\n{args}"
    plan = PLAN.replace("**contract:**\n```shell", "**contract:** check\n```check")
    for args, code in (
        ('{"args": [0.5], "returns": 50}', 2),
        ('{"args": [0.335], "returns": 34}', 0),
    ):
        text = plan.format(
            contract=table.format(args=args), rejects=f"**rejects:**\n```diff\n{TRUNCATES}```"
        )
        controls.project.plan("it", text)
        done = controls.approve()
        assert done.code == code, done.out + done.err
        assert ("does not notice `diff 1`" in done.err) == bool(code)
