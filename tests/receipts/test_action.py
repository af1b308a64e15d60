"""`action.yml` and `.pre-commit-hooks.yaml`: what others put into their repositories."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.needs import need
from tests.program import SOUND, Program
from tests.receipts.composite import ACTION, INPUT, ActionOutcome, read_action, run_action
from tests.run.bench import Step
from tests.team.repo import Team

HOOKS = ACTION.with_name(".pre-commit-hooks.yaml")


class Reviewing(Team):
    """A proved plan with a receipt, and a clone in which it is merged."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, settings="[receipts]\nkeep = true\n")
        self.named("alpha", Step("make alpha", contract="sh check.sh"), approve=False)
        self.write("check.sh", "grep -qx right src/alpha\n")
        self.commit("a judge")
        self.goes("spawn", "alpha")
        self.approve("alpha")
        self.goes("run", "alpha", "--no-input")
        self.clone = folder / "clone"

    def signers(self) -> None:
        """Commit the list of who may sign."""
        self.write("signers", self.goes("keys", "export").out)
        self.commit("who may sign")

    def merge(self, *change: tuple[str, str], depth: bool = True) -> None:
        """Clone the repository as a runner does, with the work merged."""
        self.write("beside", "more\n")
        for name, text in change:
            self.write(name, text)
        self.commit("beside")
        self.git("checkout", "--quiet", "-b", "merged")
        self.git("merge", "--quiet", "--no-edit", "--no-ff", "planbound/alpha")
        words = ("--depth", "2" if depth else "1", "--branch", "merged")
        self.git("clone", "--quiet", *words, f"file://{self.workspace}", str(self.clone))

    def review(self, event: Mapping[str, str] | None = None, /, **inputs: str) -> ActionOutcome:
        """Run the action in the clone; `event` are the variables of what happened."""
        variables = {name: value for name, value in self.environment().items() if name != "PATH"}
        variables["PLANBOUND_STATE"] = str(self.folder / "other-state")
        variables |= event or {}
        return run_action(self.clone, self.folder, inputs, variables)


@pytest.fixture
def reviewing(tmp_path: Path) -> Reviewing:
    need("ssh-keygen", "receipts are signed by it")
    return Reviewing(tmp_path)


@pytest.mark.requirement("action.checks")
def test_the_receipt_of_the_work_is_found_checked_and_judged_again(reviewing: Reviewing) -> None:
    reviewing.signers()
    reviewing.merge()
    done = reviewing.review(signers="signers")
    assert done.code == 0, done.out
    assert done.summary.startswith("<!-- planbound-receipt: alpha -->")
    assert "**Checked: it holds**" in done.summary
    assert "**Judged again on the merge**: exit code 0" in done.summary
    assert "    ✓ step 1. make alpha: proved" in done.summary
    assert "::stop-commands::" in done.out


@pytest.mark.thorough
@pytest.mark.requirement("action.checks")
def test_work_that_does_not_hold_on_the_merge_is_refused(reviewing: Reviewing) -> None:
    reviewing.merge(("check.sh", "grep -qx right src/alpha && test ! -e beside\n"))
    done = reviewing.review()
    # The judge of the receipt passes still; the other one is not asked, and told.
    assert done.code == 0, done.out
    (reviewing.clone / "src/alpha").write_text("wrong\n")
    reviewing.git("commit", "--quiet", "-a", "-m", "by hand", cwd=reviewing.clone)
    work = reviewing.git("rev-parse", "HEAD~1^2", cwd=reviewing.clone)
    done = reviewing.review(work=work)
    assert done.code == 1
    assert "✗ step 1. make alpha: proved" in done.out
    assert done.out.splitlines()[-1].startswith("::error::a receipt does not hold")
    done = reviewing.review(work=work, replay="false")
    assert done.code == 0, done.out


@pytest.mark.requirement("action.signers")
def test_a_pull_request_does_not_say_who_may_sign_it(reviewing: Reviewing) -> None:
    tree = reviewing.worktree("alpha")
    (tree / "signers").write_text(reviewing.goes("keys", "export").out)
    reviewing.commit("I may sign", cwd=tree)
    reviewing.merge()
    done = reviewing.review(signers="signers")
    assert done.code == 2
    assert "is not in the branch that is merged into" in done.out


@pytest.mark.thorough
@pytest.mark.requirement("action.signers")
def test_a_pull_request_that_is_checked_out_by_its_head_is_refused(reviewing: Reviewing) -> None:
    reviewing.signers()
    reviewing.merge()
    head = reviewing.git("rev-parse", "HEAD", cwd=reviewing.clone)
    event = {"GITHUB_BASE_REF": "main", "GITHUB_SHA": head}
    assert reviewing.review(event, signers="signers").code == 0
    # A merge that the pull request itself brings has two parents, too.
    done = reviewing.review(event | {"GITHUB_SHA": "0" * 40}, signers="signers")
    assert done.code == 2
    assert "is read from the merge commit of the pull request" in done.out


def test_without_a_receipt_or_its_commits_the_error_says_what_to_do(reviewing: Reviewing) -> None:
    reviewing.merge(depth=False)
    assert "a fetch-depth of 2" in reviewing.review().out
    shutil.rmtree(reviewing.clone)
    reviewing.git("checkout", "--quiet", "main")
    reviewing.git("clone", "--quiet", str(reviewing.workspace), str(reviewing.clone))
    done = reviewing.review()
    assert done.code == 1
    assert "::error::no receipt is kept for the files of" in done.out


@pytest.mark.thorough
def test_a_receipt_that_is_given_is_taken_and_what_is_none_is_refused(
    reviewing: Reviewing,
) -> None:
    reviewing.merge()
    reviewing.goes("receipt", "alpha", "-o", str(reviewing.clone / "a b.jsonl"))
    done = reviewing.review(receipt="a b.jsonl\n", replay="false")
    assert done.code == 0, done.out
    assert reviewing.review(receipt="a b.jsonl\nnone.jsonl", replay="false").code == 1
    assert reviewing.review(receipt="a b.jsonl", require="E5", replay="false").code == 1


HOSTILE = (
    '"; touch owned; "', "$(touch owned)", "`touch owned`", "'; touch owned; '", "--help",
    "x\ntouch owned", "| touch owned", "${IFS}", "%0A::set-output name=x::y", "-", "../..",
)  # fmt: skip


@pytest.mark.thorough
@pytest.mark.requirement("action.injection")
@pytest.mark.parametrize(
    "texts", [HOSTILE[:3], pytest.param(HOSTILE[3:], marks=pytest.mark.thorough)]
)
def test_no_input_becomes_a_command(reviewing: Reviewing, texts: tuple[str, ...]) -> None:
    reviewing.merge()
    for text in texts:
        for name in ("receipt", "signers", "require", "work", "folder", "replay"):
            done = reviewing.review(**{"replay": "false", "require": "proved", name: text})
            assert "Traceback" not in done.out
    found = {path.name for path in reviewing.folder.rglob("*")}
    assert "owned" not in found


@pytest.mark.requirement("action.injection")
def test_scripts_get_inputs_as_variables_only() -> None:
    action = read_action()
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert set(step) == {"name", "shell", "env", "run"}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        for value in step["env"].values():
            match = INPUT.fullmatch(value)
            assert match is not None
            assert match[1] in action["inputs"]
        # A variable outside of quotes would be divided into words, and looked up as a pattern.
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", step["run"])
        assert not re.findall(r"\$\{?[A-Z_]+", bare)
    used_inputs = {
        match[1]
        for step in action["runs"]["steps"]
        for value in step["env"].values()
        if (match := INPUT.fullmatch(value))
    }
    assert used_inputs == set(action["inputs"])
    assert "uses" not in str(action["runs"])


@pytest.mark.requirement("pre-commit")
def test_the_hooks_of_pre_commit_run_what_they_say(program: Program) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load(HOOKS.read_text())}
    assert set(hooks) == {"planbound-verify", "planbound-fmt"}
    program.plan("hello")
    program.plan("loose", SOUND.replace("### 1. Say", "### 1 - Say"))
    program.plan("faulty", SOUND.replace("grep -qx hello hello.txt", "true"))
    codes = {}
    for name, hook in hooks.items():
        assert hook["language"] == "python"
        first, *words = shlex.split(hook["entry"])
        assert first == "planbound"
        pattern = re.compile(hook["files"])
        paths = [".harness/PLAN-hello.md", ".harness/PLAN-loose.md", ".harness/PLAN-faulty.md"]
        assert all(pattern.search(path) for path in paths)
        assert pattern.search("sub/.harness/queued-plans/PLAN-x.md")
        assert not pattern.search(".harness/progress.md")
        assert not pattern.search("docs/PLAN-x.md")
        codes[name] = [program.run(*words, path).code for path in paths]
    assert codes == {"planbound-verify": [0, 0, 1], "planbound-fmt": [0, 1, 0]}
    assert not (program.workspace / ".home").exists()
