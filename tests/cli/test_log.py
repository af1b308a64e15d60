"""The journal as a user sees it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.program import SOUND, Outcome, Program


def events(program: Program, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in program.run("log", "--json", *arguments).out.splitlines()]


def journal_file(program: Program) -> Path:
    (found,) = (program.workspace / ".home/.local/state/planbound").glob("*/journal.sqlite")
    return found


@pytest.mark.requirement("journal.records")
def test_new_init_and_verify_are_on_record(program: Program) -> None:
    program.run("init")
    program.run("new", "hello")
    program.plan("sound")
    program.run("verify", "sound")
    program.run("verify", "sound")
    program.run("verify", "hello")
    found = events(program)
    assert [(item["event"], item["plan"]) for item in found] == [
        ("PLAN_CREATED", "PLAN"),
        ("PLAN_CREATED", "hello"),
        ("PLAN_CREATED", "sound"),
        ("PLAN_VERIFIED", "sound"),
    ]
    for item in found:
        assert {"seq", "timestamp", "event", "plan", "task_id", "task_name", "details", "prev",
                "hash", "provenance"} <= set(item)  # fmt: skip
        assert item["timestamp"].endswith("Z")
        assert item["provenance"] == "live"
    assert found[1]["prev"] == found[0]["hash"]
    assert found[1]["details"]["task_count"] == 3
    program.plan("sound", SOUND.replace("Say hello in three", "Say hello in many"))
    program.run("verify", "sound")
    assert len(events(program, "--event", "PLAN_VERIFIED")) == 2


@pytest.mark.requirement("journal.records")
def test_only_plans_of_the_workspace_are_on_record(program: Program) -> None:
    path = program.write("elsewhere.md", SOUND)
    assert program.run("verify", str(path)).code == 0
    assert program.run("verify", "-", stdin=SOUND).code == 0
    done = program.run("log")
    assert (done.code, done.out) == (0, "")
    assert "nothing has happened yet" in done.err


@pytest.mark.requirement("journal.query")
def test_the_log_is_searched_by_plan_event_time_and_number(program: Program) -> None:
    for name in ("a", "b", "c"):
        program.run("new", name)
    assert [item["plan"] for item in events(program, "b")] == ["b"]
    assert [item["plan"] for item in events(program, "--last", "2")] == ["b", "c"]
    assert len(events(program, "--event", "plan-created", "--event", "PLAN_VERIFIED")) == 3
    assert len(events(program, "--since", "1h")) == 3
    assert events(program, "--until", "1h") == []
    assert events(program, "--since", "2100-01-01") == []
    assert events(program, "--task", "nothing") == []
    assert "PLAN_CREATED  b" in program.run("log", "b").out


@pytest.mark.requirement("cli.honest-ends")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--event", "PLAN_CREATD"], "did you mean `PLAN_CREATED`?"),
        (["--since", "yesterday"], "`yesterday` is not a time"),
        (["--last", "-1"], "expected 0 or more"),
        (["--last", "x"], "`--last` is `x`, expected a whole number"),
        (["../x"], "not a plan's name"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    program: Program, arguments: list[str], message: str
) -> None:
    program.run("new", "a")
    done = program.run("log", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.requirement("journal.follow")
@pytest.mark.requirement("command.log")
def test_follow_shows_a_new_event_as_it_comes(program: Program) -> None:
    program.run("new", "a")
    with subprocess.Popen(
        [sys.executable, "-m", "planbound", "log", "--follow", "--json", "b"],
        cwd=program.workspace, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env=program.environment(),
    ) as process:  # fmt: skip
        assert process.stdout
        program.run("new", "x")
        program.run("new", "b")
        line = process.stdout.readline()
        process.terminate()
    assert json.loads(line)["plan"] == "b"


def rewrite(path: Path, statement: str) -> None:
    """Change the database as somebody with write access would."""
    connection = sqlite3.connect(path)
    for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'"):
        connection.execute(f"drop trigger {name}")
    connection.execute(statement)
    connection.commit()
    connection.close()


def table(path: Path) -> str:
    connection = sqlite3.connect(path)
    names = [str(row[0]) for row in connection.execute("select name from sqlite_master")]
    connection.close()
    return next(name for name in names if "event" in name or "record" in name or "journal" in name)


def verify(program: Program) -> Outcome:
    return program.run("log", "--verify", "--json")


@pytest.mark.requirement("journal.tamper-evident")
def test_a_whole_journal_is_called_intact(program: Program) -> None:
    assert verify(program).json["anchor"] == "unanchored"
    program.run("new", "a")
    program.run("new", "b")
    done = verify(program)
    assert (done.code, done.json["anchor"], done.json["faults"]) == (0, "intact", [])
    head = program.run("log", "--anchor").out.split()
    assert head == ["2", done.json["hash"]]


@pytest.mark.requirement("journal.tamper-evident")
def test_a_changed_record_breaks_the_chain(program: Program) -> None:
    for name in ("a", "b", "c"):
        program.run("new", name)
    path = journal_file(program)
    rewrite(path, f"update {table(path)} set plan = 'z' where seq = 2")
    done = verify(program)
    assert done.code == 1
    assert done.json["faults"][0]["seq"] == 2


@pytest.mark.requirement("journal.tamper-evident")
def test_a_truncated_a_restored_a_rewritten_and_a_deleted_journal_are_each_named(
    program: Program,
) -> None:
    program.run("new", "a")
    path = journal_file(program)
    old = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    for name in ("b", "c"):
        program.run("new", name)

    rewrite(path, f"delete from {table(path)} where seq = 3")
    done = verify(program)
    assert (done.code, done.json["anchor"]) == (1, "truncated")

    for file in path.parent.iterdir():
        if file.is_file():
            file.unlink()
    for name, content in old.items():
        (path.parent / name).write_bytes(content)
    done = verify(program)
    assert (done.code, done.json["anchor"]) == (1, "restored")

    for name in ("x", "y", "z"):
        program.run("new", name)
    done = verify(program)
    assert (done.code, done.json["anchor"], done.json["faults"]) == (1, "rewritten", [])

    shutil.rmtree(path.parent)
    done = verify(program)
    assert (done.code, done.json["anchor"]) == (1, "deleted")


@pytest.mark.requirement("invariant.secrets-stay-out")
def test_secrets_do_not_reach_the_journal(program: Program) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    value = "correct-horse-battery"
    title = f"Use {secret} and {value}"
    text = SOUND.replace("Say it in English", title)
    program.plan("leaky", text)
    assert program.run("verify", "leaky", MY_API_KEY=value).code == 0
    raw = b"".join(
        file.read_bytes() for file in (program.workspace / ".home").rglob("*") if file.is_file()
    )
    assert secret.encode() not in raw
    assert value.encode() not in raw
    assert secret.lower().replace("_", "-").encode() not in raw
    assert "step-1" in events(program)[0]["details"]["dependencies"]


@pytest.mark.requirement("journal.records")
def test_verify_works_with_a_note_where_the_state_home_cannot_be_written(
    program: Program, tmp_path: Path
) -> None:
    program.plan("hello")
    blocked = program.write("blocked", "a file")
    done = program.run("verify", "hello", "--state", str(blocked / "below"))
    assert done.code == 0
    assert "no problems" in done.out
    assert "note: this is not in the journal" in done.err


def test_the_state_home_is_where_it_is_told_to_be(program: Program) -> None:
    here = program.workspace / "state"
    program.run("new", "a", PLANBOUND_STATE=str(here))
    assert (here / "journal.sqlite").is_file()
    assert os.stat(here / "journal.sqlite").st_mode & 0o777 == 0o600
    assert len(events(program)) == 0
    program.run("--state", str(here), "new", "b")
    assert len(program.run("log", "--json", "--state", str(here)).out.splitlines()) == 2


def test_a_journal_that_is_no_database_is_told(program: Program) -> None:
    program.run("new", "a")
    for file in journal_file(program).parent.iterdir():
        if file.is_file():
            file.write_bytes(b"this is not a database, whatever it says" * 100)
    done = program.run("log")
    assert done.code == 2
    assert "error:" in done.err
    assert "Traceback" not in done.err
    assert program.run("new", "b").code == 0
