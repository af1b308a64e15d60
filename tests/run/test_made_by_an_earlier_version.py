"""What an earlier version left on disk is opened, and finished, by this one."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.program import Outcome

FIXTURES = Path(__file__).parent.parent / "fixtures" / "earlier_version"
PLACE = Path("/tmp/planbound-earlier-version")
FINISH = """
import planbound
session = planbound.open_session(session="earlier")
gate = planbound.gate(session)
print(type(gate.check("All done!")).__name__)
with open("src/b", "w") as file:
    file.write("right\\n")
told = session.call("step_update", step=2, status="done", evidence="I read src/b: it says right")
assert told.ok, told.text
ending = gate.check("Now it is done.")
print(type(ending).__name__, ending.outcome, len(ending.claimed))
"""


class Earlier:
    """One of the archives, unpacked where it was made: approvals are bound to that path."""

    def __init__(self, name: str) -> None:
        self.folder = PLACE / name
        self.repository = self.folder / "repository"

    def python(self, *arguments: str) -> Outcome:
        """Run Python as the user of the archive."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.repository,
            env={
                "PATH": "/usr/bin:/bin",
                "LC_ALL": "C.UTF-8",
                "HOME": str(self.folder / "home"),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def goes(self, *arguments: str) -> Outcome:
        """Run the program, which has to end well."""
        done = self.python("-m", "planbound", *arguments)
        assert done.code == 0, done.out + done.err
        return done

    def events(self) -> list[dict[str, Any]]:
        """Return the journal, which has to be whole, up to its anchor."""
        assert "the journal is intact" in self.goes("log", "--verify").out
        return [json.loads(line) for line in self.goes("log", "--json").out.splitlines()]

    def started(self) -> list[str]:
        """Return the numbers of the steps that agents were sent to, in their order."""
        found = self.events()
        return [each["details"]["number"] for each in found if each["event"] == "TASK_STARTED"]

    def statuses(self, plan: str) -> list[str]:
        """Return what became of the steps."""
        return [step["status"] for step in self.goes("status", plan, "--json").json["steps"]]


@pytest.fixture
def unpack() -> Iterator[Callable[[str], Earlier]]:
    """Open archives, each for one test at a time: there is one place for it on a machine."""
    PLACE.mkdir(exist_ok=True)
    held: list[int] = []
    opened: list[Path] = []

    def take(name: str) -> Earlier:
        lock = os.open(PLACE / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        held.append(lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        case = Earlier(name)
        shutil.rmtree(case.folder, ignore_errors=True)
        opened.append(case.folder)
        with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
            archive.extractall(PLACE, filter="tar")
        return case

    yield take
    for folder in opened:
        shutil.rmtree(folder, ignore_errors=True)
    for lock in held:
        os.close(lock)


@pytest.mark.requirement("earlier-version.approved")
def test_a_plan_that_was_approved_runs_without_being_approved_again(
    unpack: Callable[[str], Earlier],
) -> None:
    earlier = unpack("approved")
    assert "3/3 proved" in earlier.goes("run", "words", "--no-input").out
    approvals = [each for each in earlier.events() if each["event"].startswith("GATE_APPROV")]
    assert [each["event"] for each in approvals] == ["GATE_APPROVAL_REQUESTED", "GATE_APPROVED"]


@pytest.mark.requirement("earlier-version.killed")
def test_a_run_that_was_killed_goes_on_at_the_first_unproved_step(
    unpack: Callable[[str], Earlier],
) -> None:
    earlier = unpack("killed")
    assert earlier.statuses("words") == ["done", "in-progress", "pending"]
    assert "3/3 proved" in earlier.goes("resume", "words").out
    assert earlier.started() == ["1", "2", "2", "3"]
    assert earlier.statuses("words") == ["done"] * 3


@pytest.mark.requirement("earlier-version.waiting")
def test_a_question_in_the_inbox_is_answered_and_the_plan_is_finished(
    unpack: Callable[[str], Earlier],
) -> None:
    earlier = unpack("waiting")
    (question,) = earlier.goes("inbox", "--json").json["waiting"]
    earlier.goes("answer", question["id"], "retry", "--as", "mara")
    assert "3/3 proved" in earlier.goes("resume", "words").out
    assert earlier.started() == ["1", "2", "2", "3"]
    assert earlier.goes("inbox", "--json").json["waiting"] == []


@pytest.mark.requirement("earlier-version.session")
def test_a_plan_in_the_loop_is_finished_by_a_later_session(
    unpack: Callable[[str], Earlier],
) -> None:
    earlier = unpack("session")
    assert earlier.statuses("write-two-files") == ["proved", "pending"]
    told = earlier.python("-c", FINISH)
    assert told.out.splitlines() == ["Reject", "Accept done 0"], told.err
    assert earlier.goes("status", "write-two-files", "--json").json["status"] == "done"


@pytest.mark.requirement("earlier-version.journal")
def test_a_journal_reads_byte_for_byte_as_it_did_and_its_anchor_holds(
    unpack: Callable[[str], Earlier],
) -> None:
    earlier = unpack("finished")
    assert len(earlier.events()) == 26
    assert earlier.goes("log", "--json").out == (FIXTURES / "finished.jsonl").read_text()
    assert earlier.goes("status", "words", "--json").json["status"] == "done"
    assert "OK    journal anchor" in earlier.goes("doctor").out
