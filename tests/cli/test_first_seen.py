"""A plan that somebody wrote by hand gets its beginning in the journal when it is first seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import SOUND, Program


def created(program: Program) -> list[tuple[str, str]]:
    """Return plan and origin of every beginning."""
    lines = program.run("log", "--json", "--event", "PLAN_CREATED").out.splitlines()
    found = map(json.loads, lines)
    return [(event["plan"], event["details"]["origin"]) for event in found]


@pytest.mark.thorough
@pytest.mark.requirement("journal.first-seen")
def test_a_plan_that_was_written_by_hand_begins_once(program: Program) -> None:
    program.plan("hello", SOUND)
    program.write("docs/far.md", SOUND)
    program.plan("blank", "\n")
    program.run("verify", "hello", "docs/far.md", "blank")
    program.run("verify", "hello")
    program.run("judge", "hello")
    program.run("list")
    assert created(program) == [("hello", "file")]
    kinds = [json.loads(line)["event"] for line in program.run("log", "--json").out.splitlines()]
    assert kinds[:2] == ["PLAN_CREATED", "PLAN_VERIFIED"]
    # With a journal there, a look is enough; what says more of itself than a draft is not touched.
    program.plan("second", SOUND)
    program.plan("boast", SOUND.replace("status: draft", "status: done"))
    program.run("list")
    program.run("status", "second")
    assert created(program) == [("hello", "file"), ("second", "file")]
    program.plan("third", SOUND.replace("three", "four"))
    event = json.dumps({"session_id": "s", "cwd": str(program.workspace)})
    program.run("hook", "session-start", "--host", "claude", stdin=event)
    assert created(program)[2:] == [("third", "file")]
    # What the program made itself has its beginning already.
    program.run("new", "made")
    program.run("verify", "made")
    assert created(program)[3:] == [("made", "new")]
    # To look at a plan writes nothing into the workspace.
    assert not (program.workspace / ".harness/progress-hello.md").exists()


@pytest.mark.requirement("journal.first-seen")
def test_another_plan_by_the_name_of_one_that_was_put_away_begins_anew(program: Program) -> None:
    program.plan("hello", SOUND)
    program.run("verify", "hello")
    program.run("archive", "hello")
    program.plan("hello", SOUND)
    program.run("verify", "hello")
    assert created(program) == [("hello", "file")] * 2


@pytest.mark.thorough
@pytest.mark.requirement("journal.first-seen")
def test_looking_makes_no_journal_and_works_where_nothing_can_be_written(
    program: Program, tmp_path: Path
) -> None:
    program.plan("hello", SOUND)
    for command in ("list", "status"):
        assert program.run(command, *(["hello"] if command == "status" else [])).code == 0
    assert "nothing has happened yet" in program.run("log").err
    program.run("verify", "hello")
    program.plan("second", SOUND)
    homes = [path.parent for path in tmp_path.rglob("journal.sqlite")]
    assert homes
    for path in (each for home in homes for each in (*home.iterdir(), home)):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        done = program.run("list", obeys_permissions=True)
        assert done.code == 0
        assert "second" in done.out
    finally:
        for home in homes:
            home.chmod(0o700)
            for path in home.iterdir():
                path.chmod(0o700)


@pytest.mark.thorough
@pytest.mark.requirement("journal.first-seen")
def test_many_who_see_it_at_once_note_it_once(program: Program) -> None:
    program.plan("other", SOUND)
    program.run("verify", "other")
    program.plan("hello", SOUND)
    crowd = [
        subprocess.Popen(
            [sys.executable, "-m", "planbound", "verify", "hello"],
            cwd=program.workspace,
            env=program.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(6)
    ]
    assert [each.wait(60) for each in crowd] == [0] * 6
    assert created(program) == [("other", "file"), ("hello", "file")]
