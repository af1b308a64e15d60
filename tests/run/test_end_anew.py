"""What the end of a plan judges once more although no file changed since: what asks for more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.attacks.test_kept_measurements import git
from tests.run.bench import NOTHING, Bench, Step

COMMIT = "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m"
SAYS = "import subprocess\nraise SystemExit('one' not in subprocess.getoutput('git log -1'))\n"
ONE = Step("Make one", work=f"echo right > src/one; {COMMIT} one", touches="src/one")


def in_git(bench: Bench) -> None:
    (bench.workspace / ".git").rmdir()
    git(bench.workspace, "init", "-q", "-b", "main")
    git(bench.workspace, "add", ".")
    git(bench.workspace, "commit", "-q", "-m", "zero")


@pytest.mark.thorough
@pytest.mark.requirement("run.regressed")
@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("git log -1 --format=%s | grep -qx one\n", "bash check"),
        ("it:\n\tgit log -1 --format=%s | grep -qx one\n", "make -s -f check it"),
        (SAYS, "python3 check"),
    ],
    ids=["shell", "make", "python"],
)
def test_a_step_whose_script_asks_git_is_judged_again_where_only_git_changed(
    bench: Bench, script: str, how: str
) -> None:
    bench.write("check", script)
    in_git(bench)
    later = Step("Make two", work=f"{COMMIT} two", contract="git log -1 --format=%s | grep -qx two")
    bench.prepare(replace(ONE, contract=f"grep -qx right src/one && {how}"), later)
    told = bench.goes("run", "PLAN", code=4).out
    assert "[Task 1/2] ✓ Make one: contract passed" in told
    assert "[Task 1/2] ✗ Make one: regressed: exit" in told


@pytest.mark.thorough
@pytest.mark.requirement("run.regressed")
def test_a_step_whose_script_asks_git_is_not_run_again_where_nothing_changed(bench: Bench) -> None:
    bench.write("check", "git log -1 --format=%s | grep -qx one\n")
    in_git(bench)
    bench.prepare(replace(ONE, contract="grep -qx right src/one && bash check"))
    bench.goes("run", "PLAN")
    first, again = bench.log().of("CONTRACT_EVALUATED", number="1")
    assert (first["verdict"], again["verdict"], again["reused"]) == ("pass", "pass", first.seq)


@pytest.mark.thorough
@pytest.mark.requirement("run.regressed", "judging.reuse")
def test_what_asks_for_a_file_beside_the_plan_is_judged_again(bench: Bench) -> None:
    contract = "grep -qx right .harness/notes && grep -qx right src/a"
    bench.write(".harness/notes", "right\n")
    person = Step("Make b", work=NOTHING, attest="b is right")
    bench.prepare(Step("Make a", contract=contract), person, after=(contract,))
    bench.goes("run", "PLAN", code=4)
    bench.goes("attest", "PLAN", "2", "--as", "tester")
    bench.write(".harness/notes", "wrong\n")
    told = bench.goes("resume", "PLAN", code=4).out
    assert "[Task 1/2] ✗ Make a: regressed: exit 1" in told
    assert "[Postcondition 1] ✗" in told


@pytest.mark.requirement("run.regressed")
def test_a_commit_makes_a_script_green_that_only_asks_git(bench: Bench) -> None:
    bench.write("check.sh", "git log -1 --format=%s | grep -qx one\n")
    in_git(bench)
    bench.prepare(replace(ONE, work=f"{COMMIT} one", contract="bash check.sh"))
    told = bench.goes("run", "PLAN").out
    assert "[Task 1/1] = Make one: holds (it was `fail` before, and no file changed since)" in told
