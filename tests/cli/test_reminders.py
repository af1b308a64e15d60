"""An approval that is waited for too long: whatever runs tells of it, and each time once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.needs import need
from tests.program import SOUND
from tests.run.bench import Bench, Step, until
from tests.session.hooks.session import Session
from tests.tables import first_always

pytestmark = pytest.mark.requirement("gate.told-by-whatever-runs")

TOLD = "`it` still waits for approval: `planbound approve it`"
HOOKS = ("session-start", "user-prompt-submit", "stop")
COMMANDS = (["status", "it"], ["notify", "--once"], ["fleet"])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(tmp_path)
    (made.workspace / ".git").rmdir()
    made.plan("it", SOUND)
    return made


def told(file: Path) -> list[int]:
    """Return which reminders a receiver got."""
    lines = map(json.loads, file.read_text().splitlines())
    return [line["details"]["reminder"] for line in lines]


@pytest.mark.parametrize(
    "commands",
    first_always([COMMANDS, (*COMMANDS, ["mcp"], ["worker", "--once"])]),
    ids=["some", "all"],  # the others load libraries that take a while
)
def test_whatever_runs_tells_people_and_receivers_once(
    session: Session, tmp_path: Path, commands: Sequence[list[str]]
) -> None:
    need("git", "a fleet works in worktrees")
    subprocess.run(["git", "init", "-q"], cwd=session.workspace, check=True)
    file = tmp_path / "told"
    command = json.dumps(["sh", "-c", f"cat >> {file}"])
    assert session.run("approve", "it").code == 4
    session.write(
        "planbound.toml",
        '[gate]\nremind = "1ms"\n[[notify]]\nevents = ["GATE_APPROVAL_REQUESTED"]\n'
        f"command = {command}\n",
    )
    for number, moment in enumerate(HOOKS, 1):
        assert TOLD in session.ask(moment, "codex")["systemMessage"]
        assert told(file) == list(range(1, number + 1))
    number = len(HOOKS)
    for words in commands:
        done = session.run(*words)
        assert done.err.count(TOLD) == 1, (words, done)
        number += 1
        assert told(file) == list(range(1, number + 1)), words
    asked = session.events("GATE_APPROVAL_REQUESTED")
    assert [each["details"].get("reminder") for each in asked] == [None, *range(1, number + 1)]
    session.write("planbound.toml", "")
    assert "systemMessage" not in session.ask("session-start")


@pytest.mark.thorough
def test_a_run_that_goes_on_tells_of_it_meanwhile(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    slow = Step(
        "Make a",
        work="until test -e src/going; do sleep 0.05; done; echo right > src/a",
        touches="src/a src/going",
    )
    bench.plan("it", SOUND)
    bench.run("approve", "it")
    bench.prepare(slow, settings='[gate]\nremind = "1s"\n')

    def reminders() -> int:
        asked = bench.log().of("GATE_APPROVAL_REQUESTED")
        return sum(event.details.get("reminder") is not None for event in asked)

    with bench.start("run", "PLAN") as process:
        until(lambda: reminders() >= 2, what="nobody was asked again")
        bench.write("src/going", "")
        _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err.decode().count(TOLD) == reminders()
