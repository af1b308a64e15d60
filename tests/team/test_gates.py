"""The gates of a branch: no plan is merged by weaker ones, nor two plans together."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.run.bench import Step
from tests.team.test_integrate import Merging, names

CHECK = "grep -qx good src/feature\n"
SUITE = 'for test in tests/*.test; do . "./$test"; done\n'
GATES = '[tool.planbound.integrate]\ngates = ["sh tests/check.sh", "sh tests/suite.sh"]\n'


class Gated(Merging):
    """A repository whose branch says by what every merge is judged."""

    def __init__(self, folder: Path, gates: str = GATES) -> None:
        super().__init__(folder)
        self.write("pyproject.toml", gates)
        self.write("src/feature", "good\n")
        self.write("tests/check.sh", CHECK)
        self.write("tests/suite.sh", SUITE)
        self.write("tests/good.test", CHECK.replace("\n", " || exit 1\n"))
        self.commit("gates")

    def worked(self, name: str, work: str, touches: str, *named: str) -> None:
        """Prove a plan that does something besides its own file, in a worktree of its own."""
        contract = f"grep -qx right src/{name}"
        more = f"echo right > src/{name}; {work}"
        step = Step(f"make {name}", more, contract, touches=f"src/{name} {touches}")
        self.named(name, step, approve=False, after=[contract])
        self.goes("spawn", name)
        self.approve(name, *(word for file in named for word in ("--gate", file)))
        self.goes("run", name, "--no-input")

    def stopped(self, *arguments: str, code: int = 1) -> dict[str, Any]:
        """Integrate; return the only plan that was stopped."""
        (found,) = self.integrate(*arguments, code=code)["stopped"]
        return dict(found)


@pytest.fixture
def repo(tmp_path: Path) -> Gated:
    """Return a repository with gates."""
    return Gated(tmp_path)


WEAKEN = "echo true > tests/check.sh; echo true > tests/suite.sh"
SPOIL = "echo bad > src/feature"


@pytest.mark.requirement("integrate.gates")
def test_two_plans_cannot_weaken_the_gates_of_a_branch_together(repo: Gated) -> None:
    before = repo.tip()
    repo.worked("weak", WEAKEN, "tests/**")
    repo.worked("spoil", SPOIL, "src/feature")
    repo.worked(
        "both", f"{WEAKEN}; {SPOIL}; printf '[tool.x]\\n' > pyproject.toml", "** pyproject.toml"
    )

    foreseen = {each["plan"]: each for each in repo.integrate("--dry-run", code=1)["stopped"]}
    assert {name: each["kind"] for name, each in foreseen.items()} == {
        "weak": "gate",
        "both": "gate",
    }
    assert foreseen["weak"]["files"] == ["tests/check.sh", "tests/suite.sh"]
    assert foreseen["both"]["files"] == ["pyproject.toml", "tests/check.sh", "tests/suite.sh"]

    stopped = {each["plan"]: each for each in repo.integrate(code=1)["stopped"]}
    assert {name: each["kind"] for name, each in stopped.items()} == {
        "weak": "gate",
        "both": "gate",
        "spoil": "red",
    }
    assert stopped["spoil"]["verdicts"]["gate 1"] == "fail"
    assert "about" not in stopped["spoil"]
    reason = stopped["weak"]["reason"]
    assert reason == foreseen["weak"]["reason"]
    assert "by which gates of `main` judge, and its approval does not name them" in reason
    assert "`planbound approve weak --gate tests/check.sh --gate tests/suite.sh`" in reason
    assert repo.tip() == before
    assert {each["plan"] for each in repo.inbox()} == {"weak", "both", "spoil"}


@pytest.mark.thorough
@pytest.mark.requirement("integrate.gates")
def test_a_plan_may_change_what_its_approval_names_and_do_anything_else(repo: Gated) -> None:
    repo.worked("plain", "echo more > src/other", "src/other")
    repo.worked("tests", "echo 'test -f src/tests || exit 1' > tests/new.test", "tests/new.test")
    stricter = "echo 'test -s src/named' >> tests/check.sh"
    repo.worked("named", stricter, "tests/check.sh", "tests/check.*")
    assert names(repo.integrate("--dry-run")["merged"]) == ["named", "plain", "tests"]
    done = repo.integrate()
    assert names(done["merged"]) == ["named", "plain", "tests"]
    judged = repo.log("plain").one("INTEGRATION_JUDGED")["verdicts"]
    of_named = "postcondition 1 of `named`"
    assert judged == dict.fromkeys(("step 1", of_named, "gate 1", "gate 2"), "pass")
    assert repo.log("named").one("GATE_APPROVED")["gates"] == ["tests/check.*"]
    assert "gates" not in repo.log("plain").one("GATE_APPROVED").details
    # What was merged is the branch's own from then on.
    repo.worked("later", "rm src/named", "src/named")
    assert repo.stopped("later")["verdicts"]["gate 1"] == "fail"


@pytest.mark.thorough
@pytest.mark.requirement("integrate.gates")
def test_tests_that_a_plan_adds_excuse_nothing(tmp_path: Path) -> None:
    repo = Gated(tmp_path, gates=GATES.replace('"sh tests/check.sh", ', ""))
    mends = "echo 'echo good > src/feature' > tests/aaa.test"
    repo.worked("early", f"{SPOIL}; {mends}", "src/feature tests/**")
    stopped = repo.stopped()
    assert stopped["kind"] == "red"
    assert stopped["files"] == ["tests/aaa.test"]
    assert stopped["verdicts"] == {"gate 1": "fail"}
    assert "without what the plan adds to its judges (`tests/aaa.test`)" in stopped["reason"]
    cure = "if the gate needs it, name it by `planbound approve early --gate tests/aaa.test`"
    assert cure in stopped["reason"]


ALONE = [
    ("echo 'exit 0' > .env", ".env", [".env"]),
    ("rm tests/check.sh; ln -s ../src/feature tests/check.sh", "tests/**", ["tests/check.sh"]),
    ("rm tests/suite.sh", "tests/**", ["tests/suite.sh"]),
    ("chmod -x tests/good.test; chmod +x tests/check.sh", "tests/**", ["tests/check.sh"]),
    (
        "printf '[tool.planbound.contracts]\\nenv = [\"X\"]\\n' >> pyproject.toml",
        "pyproject.toml",
        ["pyproject.toml"],
    ),
    (
        "printf '[integrate]\\ngates = []\\n' > planbound.toml; git add -f planbound.toml",
        "planbound.toml",
        [],
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("work", "touches", "files"), ALONE)
def test_whatever_changes_how_a_gate_judges_has_to_be_named(
    repo: Gated, work: str, touches: str, files: list[str]
) -> None:
    repo.worked("tricky", work, touches)
    if not files:  # an ignored file is not committed, so it reaches no branch
        assert names(repo.integrate()["merged"]) == ["tricky"]
        return
    assert repo.stopped("--dry-run")["files"] == files
    stopped = repo.stopped()
    assert (stopped["kind"], stopped["files"]) == ("gate", files)


@pytest.mark.thorough
def test_gates_are_those_that_are_committed_and_else_those_of_the_main_worktree(
    tmp_path: Path,
) -> None:
    repo = Gated(tmp_path, gates="[tool.x]\n")
    repo.settings += '[integrate]\ngates = ["sh tests/check.sh"]\n'
    repo.worked("spoil", SPOIL, "src/feature")
    repo.worked("weak", WEAKEN, "tests/**")
    kinds = {each["plan"]: each["kind"] for each in repo.integrate(code=1)["stopped"]}
    assert kinds == {"spoil": "red", "weak": "gate"}
    # Committed, they count as they are there.
    (repo.workspace / "pyproject.toml").write_text(
        GATES.replace('"sh tests/check.sh", "sh tests/suite.sh"', '"sh tests/other.sh"')
    )
    repo.write("tests/other.sh", "exit 1\n")
    repo.commit("other gates")
    done = repo.goes("integrate", "weak", code=1)
    assert "note: the gates count that are committed in `main`" in done.err
    assert repo.log("weak").last["verdicts"]["gate 1"] == "fail"


@pytest.mark.thorough
def test_a_configuration_of_the_branch_that_nobody_can_read_is_told(repo: Gated) -> None:
    repo.worked("plain", "true", "")
    repo.write("pyproject.toml", "[tool.planbound.integrate]\ngates = 3\n")
    repo.commit("faulty")
    done = repo.goes("integrate", code=2)
    assert "the configuration of `main` cannot be read: `integrate.gates` is not a list" in done.err
    assert "mend it there" in done.err


def test_the_sheet_says_what_a_plan_may_do_to_gates_and_what_is_signed_names_it(
    repo: Gated,
) -> None:
    repo.settings += '[integrate]\ngates = ["sh tests/check.sh"]\n'
    step = Step("make it", touches="src/it tests/**")
    repo.named("it", step, approve=False)
    shown = repo.run("approve", "it")
    assert "gates of the branch judge by tests/check.sh" in shown.out
    assert "unless `--gate FILE` names it here" in shown.out
    named = repo.run("approve", "it", "--gate", "tests/*.sh")
    assert "may change what gates of the branch judge by: tests/*.sh" in named.out
    assert "unless `--gate" not in named.out
    said = repo.run("approve", "it", "--gate", "tests/*.sh", "--statement")
    assert json.loads(json.loads(said.out)["gates"]) == ["tests/*.sh"]
    assert "gates" not in json.loads(repo.run("approve", "it", "--statement").out)
    refused = repo.goes("approve", "it", "--gate", "../x", code=2)
    assert "`--gate ../x`" in refused.err
    sheet = repo.run("approve", "it", "--json").json
    assert (sheet["gate_files"], sheet["gates"]) == (["tests/check.sh"], [])


@pytest.mark.thorough
def test_no_policy_approves_a_change_of_gates(repo: Gated) -> None:
    repo.settings += '[gate.policies.small]\ntouches = ["src/**"]\n'
    repo.named("it", approve=False)
    refused = repo.goes("approve", "it", "--policy", "small", "--gate", "tests/check.sh", code=2)
    assert "no policy approves a change of gates" in refused.err


@pytest.mark.thorough
def test_a_plan_that_was_stopped_is_merged_when_its_next_approval_names_the_gate(
    repo: Gated,
) -> None:
    repo.worked("weak", "echo '# told' >> tests/check.sh", "tests/check.sh")
    assert repo.stopped()["kind"] == "gate"
    digest = repo.digest("weak")[:16]
    done = repo.goes(
        *("approve", "weak", "--digest", digest, "--as", "me", "--gate", "tests/check.sh")
    )
    assert "; may change gates: tests/check.sh" in done.out
    assert repo.inbox() == []
    assert os.path.exists(repo.worktree("weak"))
    repo.goes("run", "weak", "--no-input")
    assert names(repo.integrate()["merged"]) == ["weak"]


# -- links -------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("integrate.gates")
def test_what_runs_by_itself_may_not_change_nor_go_either(repo: Gated) -> None:
    for name in (".env", ".gitattributes", ".python-version"):
        repo.write(name, "# nothing\n")
    repo.commit("settings")
    work = "echo X=1 > .env; rm .python-version; echo '* text' > .gitattributes"
    repo.worked("tricky", work, ".env .gitattributes .python-version")
    assert repo.stopped("--dry-run")["files"] == [".env", ".gitattributes", ".python-version"]


@pytest.mark.thorough
@pytest.mark.requirement("integrate.gates")
def test_a_gate_without_judges_is_told_and_settings_below_its_folder_are_seen(
    tmp_path: Path,
) -> None:
    gates = ["ruff check src || true", "somelinter --all || true", "sh tests/check.sh"]
    repo = Gated(tmp_path, gates=f"[tool.planbound.integrate]\ngates = {gates}\n")
    settings = "printf 'ruff = 1\\n' > src/{}; echo x > src/pyproject.toml"
    repo.worked("tricky", settings.format("ruff.toml"), "src/**")
    note = "note: gate 2 has no judges that can be found: name them with `judges`"
    for words in (["--dry-run"], []):
        done = repo.goes("integrate", "tricky", *words, code=1)
        assert note in done.err
        assert done.err.count("no judges") == 1
        assert "`src/ruff.toml`" in done.out + done.err
        assert "src/pyproject.toml" not in done.out + done.err


LINKED = [
    ("echo true > tools/strict.sh", "tools/strict.sh", ["tools/strict.sh"]),
    ("ln -sfn ../src/feature tests/check.sh", "tests/**", ["tests/check.sh"]),
    ("echo true > checks/suite.sh", "checks/**", ["checks/suite.sh"]),
    ("rm ci; ln -s src ci", "ci", ["ci"]),
    ("ln -s feature src/another", "src/another", ["src/another"]),
    ("sed -i '/gates/d' conf/py.toml; echo '[x]' >> conf/py.toml", "conf/**", ["pyproject.toml"]),
    ("echo more > src/other", "src/other", []),
]


@pytest.mark.thorough
@pytest.mark.requirement("integrate.gates")
@pytest.mark.parametrize(("work", "touches", "files"), LINKED)
def test_what_lies_behind_a_link_is_a_judge_and_no_link_changes_unnamed(
    tmp_path: Path, work: str, touches: str, files: list[str]
) -> None:
    repo = Gated(tmp_path, gates=GATES.replace("tests/suite.sh", "ci/suite.sh"))
    for folder in ("tools", "checks", "conf"):
        (repo.workspace / folder).mkdir()
    (repo.workspace / "tests/check.sh").rename(repo.workspace / "tools/strict.sh")
    (repo.workspace / "tests/suite.sh").rename(repo.workspace / "checks/suite.sh")
    (repo.workspace / "pyproject.toml").rename(repo.workspace / "conf/py.toml")
    (repo.workspace / "tests/check.sh").symlink_to("../tools/strict.sh")
    (repo.workspace / "ci").symlink_to("checks")
    (repo.workspace / "pyproject.toml").symlink_to("conf/py.toml")
    repo.commit("links")
    repo.worked("tricky", work, touches)
    if not files:
        assert names(repo.integrate("--dry-run")["merged"]) == ["tricky"]
        return
    stopped = repo.stopped("--dry-run")
    assert (stopped["kind"], stopped["files"]) == ("gate", files)


@pytest.mark.thorough
def test_a_configuration_behind_a_link_that_leads_away_is_refused_by_name(repo: Gated) -> None:
    repo.worked("plain", "true", "")
    (repo.workspace / "pyproject.toml").unlink()
    (repo.workspace / "pyproject.toml").symlink_to("../nowhere.toml")
    repo.commit("away")
    done = repo.goes("integrate", code=2)
    assert "`pyproject.toml` is a link to no file of the repository" in done.err
