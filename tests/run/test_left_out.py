"""What an agent makes where git ignores it: the contract does not see it, and everybody is told."""

from __future__ import annotations

import subprocess

import pytest

from tests.needs import need
from tests.run.bench import Bench, Step

BUILDS = "mkdir -p dist; echo right > dist/out"
READS = "grep -qx right dist/out"


@pytest.fixture
def ignoring(bench: Bench) -> Bench:
    need("git", "it says what it ignores")
    (bench.workspace / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], cwd=bench.workspace, check=True)
    bench.write(".gitignore", "dist/\n")
    return bench


@pytest.mark.thorough
@pytest.mark.requirement("verdict.fail")
def test_what_git_ignores_is_named_by_run_journal_and_prompt_with_the_cure(ignoring: Bench) -> None:
    bench = ignoring
    bench.prepare(Step("Make a", work=BUILDS, contract=READS, touches="src/**"))
    shown = bench.goes("run", "PLAN", code=4).out
    assert "dist: left out for the contract, because git ignores it: name it in `touches`" in shown
    log = bench.log()
    judged = log.of("CONTRACT_EVALUATED", number="1")[0]
    assert (judged["verdict"], judged["left_out"]) == ("fail", ["dist"])
    assert "phantom completion" not in shown + str(judged.details)
    told = log.of("ATTEMPT_ENDED", number="1")[1]["prompt"]
    assert "- dist\n" in told
    assert "name it in `touches`" in told


@pytest.mark.requirement("gate.warnings-seen")
def test_whoever_approves_sees_that_a_contract_reads_what_git_ignores(ignoring: Bench) -> None:
    bench = ignoring
    step = Step("Make a", work=BUILDS, contract=READS, touches="src/**")
    bench.lay(step)
    shown = bench.run("approve", "PLAN", "--as", "tester", "--digest", bench.digest()[:12])
    sheet = shown.out + shown.err
    assert "warning: a contract reads `dist/out`, which git ignores" in sheet, sheet


@pytest.mark.thorough
@pytest.mark.requirement("verdict.pass")
@pytest.mark.parametrize(
    ("work", "contract", "touches"),
    [(BUILDS, READS, "dist/**"), ("echo right > src/a", "grep -qx right src/a", "src/**")],
)
def test_what_touches_names_is_seen_and_nothing_is_said(
    ignoring: Bench, work: str, contract: str, touches: str
) -> None:
    bench = ignoring
    bench.prepare(Step("Make a", work=work, contract=contract, touches=touches))
    assert "left out" not in bench.goes("run", "PLAN").out
    assert "left_out" not in bench.log().one("CONTRACT_EVALUATED", number="1").details
