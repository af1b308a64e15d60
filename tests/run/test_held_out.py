"""Judges that are held out: the contract has them, and no agent sees them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from planbound.errors import ConfigurationError
from planbound.judging.context import held_out_judges
from planbound.workspace.configuration import HeldOut
from tests.run.bench import Bench, Step

# A file that cells show, unlike what lies in `/tmp`: this one.
JUDGE = Path(__file__)
LOOK = f"cat '{JUDGE}' > src/a 2>&1; grep -q 'no agent sees' src/a && echo seen > src/b; true"


def _step() -> Step:
    return Step(
        "Look for the judge", work=LOOK, contract=f"test -f {JUDGE.name}", touches="src/a src/b"
    )


@pytest.mark.thorough
@pytest.mark.requirement("judging.held-out")
def test_no_agent_sees_a_judge_that_is_held_out(bench: Bench) -> None:
    bench.prepare(_step(), settings=f'[judging]\nheld_out = ["{JUDGE}"]\n')
    bench.goes("run", "PLAN")
    assert bench.log().one("CONTRACT_EVALUATED", number="1")["verdict"] == "pass"
    assert not os.path.exists(bench.workspace / "src/b"), bench.read("src/a")


@pytest.mark.requirement("judging.held-out")
def test_a_judge_that_the_repository_has_is_not_held_out(tmp_path: Path) -> None:
    workspace, judges = tmp_path / "workspace", tmp_path / "judges"
    for path in (
        workspace / ".harness/x",
        judges / "test_x.py",
        workspace / "sub/judges/test_y.py",
    ):
        path.parent.mkdir(parents=True)
        path.write_text("def test_x(): pass\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in ("init -q .", "add workspace", "commit -qm one"):
        subprocess.run([*git, *words.split()], cwd=tmp_path, check=True)
    for source in ("../judges", "../judges/test_x.py"):
        (found,) = held_out_judges(str(workspace), [HeldOut(source)])
        assert found.path.startswith(str(judges))
    subprocess.run([*git, "add", "judges"], cwd=tmp_path, check=True)
    for source in ("../judges", "../judges/test_x.py"):
        with pytest.raises(ConfigurationError, match="which the git repository has"):
            held_out_judges(str(workspace), [HeldOut(source)])


ADD = "printf 'def add(a, b):\\n    return %s\\n' > src/calc.py"


@pytest.mark.thorough
@pytest.mark.requirement("judging.check-held-out", "judging.check")
def test_an_agent_is_told_that_a_held_out_case_fails_and_never_what_it_holds(
    bench: Bench, tmp_path: Path
) -> None:
    judges = tmp_path / "judges"
    judges.mkdir()
    (judges / "calc.cases.jsonl").write_text('{"args": [7700990000, 77], "returns": 7700990077}\n')
    look = f"cat '{judges}/calc.cases.jsonl' && exit 9; "
    told = "told 'held-out case 1 fails' && told 'There are more cases' && told '\"returns\": 3'"
    step = Step(
        "Add numbers",
        work=(look + ADD % 3, f"{look} {told} && ! told 7700990 && {ADD % 'a + b'}"),
        contract='function: calc:add\ncases: calc.cases.jsonl\n{"args": [1, 2], "returns": 3}',
        fence="check",
        expect="tests >= 2",
        touches="src/calc.py",
        fields="**evidence:** E4",
    )
    bench.prepare(step, settings=f'[judging]\nheld_out = ["{judges}"]\n')
    bench.goes("run", "PLAN")
    first, second = bench.log().of("CONTRACT_EVALUATED", number="1")[:2]
    assert (first["verdict"], first["reason"]) == ("fail", "held-out case 1 fails")
    assert (second["verdict"], second["evidence"]) == ("pass", "E4")
    assert "7700990077" not in str([first, second])
