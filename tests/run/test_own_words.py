"""What is said is what happened: of a retry, of an attempt that did nothing, where no plan is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.needs import need
from tests.program import Program
from tests.run.bench import NOTHING, Bench, Step

CHECK = "import sys\nsys.path.insert(0, 'src')\nimport calc\nassert calc.add(1, 2) == 3\n"
EDITED = "judges were edited and put back"


@pytest.mark.thorough
@pytest.mark.requirement("verdict.tampered")
def test_a_retry_after_a_judge_was_fooled_says_so_in_the_verdicts_own_words(bench: Bench) -> None:
    bench.write("tests/check.py", CHECK)
    bench.write("src/calc.py", "def add(a, b):\n    return 0\n")
    fools = "printf 'import os\\nos._exit(0)\\n' > src/calc.py"
    does = "printf 'def add(a, b):\\n    return a + b\\n' > src/calc.py"
    contract = "python3 tests/check.py"
    bench.prepare(Step("Add", work=(fools, does), contract=contract, touches="src/calc.py"))
    shown = bench.goes("run", "PLAN").out
    verdict = bench.log().of("CONTRACT_EVALUATED", number="1")[0]
    assert verdict["verdict"] == "tampered"
    assert EDITED not in shown
    [retry] = [line for line in shown.splitlines() if "↻" in line]
    assert "retry 1 of 1" in retry
    assert "ended" in retry, retry


@pytest.mark.requirement("verdict.tampered", "run.put-back")
def test_a_retry_after_judges_were_edited_says_that(bench: Bench) -> None:
    need("make", "its files are judges")
    bench.write("Makefile", "check:\n\tgrep -qx right src/a\n")
    other = "printf 'check:\\n\\ttrue\\n' > GNUmakefile; echo right > src/a"
    bench.prepare(
        Step("Make a", work=(other, "echo right > src/a"), contract="make -s check"),
    )
    assert EDITED in bench.goes("run", "PLAN").out


@pytest.mark.thorough
@pytest.mark.requirement("invariant.only-the-harness-proves")
def test_an_agent_that_did_nothing_is_told_in_a_whole_sentence(bench: Bench) -> None:
    work = (NOTHING, "echo right > src/a")
    bench.prepare(Step("Make a", work=work, contract="test -s src/a"))
    bench.goes("run", "PLAN")
    told = bench.log().of("ATTEMPT_ENDED", number="1")[1]["prompt"]
    assert "The check ended with exit code 1: phantom completion: nothing changed" in told, told


def test_where_nothing_was_begun_init_is_named(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for words in (["show"], ["verify", "--all"]):
        assert "planbound init" in program.run(*words).err
    program.write(".harness/progress.md", "")
    for words in (["show"], ["verify", "--all"]):
        said = program.run(*words).err
        assert "planbound new NAME" in said
        assert "planbound init" not in said
