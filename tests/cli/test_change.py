"""`fmt` and `expand` as processes."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys

import pytest

from tests.plan.strategies import FIXTURES
from tests.program import SOUND, Program

SLOPPY = SOUND.replace("### 1. Say", "## Step 1: Say").replace("```shell", "```console", 1)
MIGRATION = (FIXTURES / "migration.md").read_text(encoding="utf-8")


@pytest.mark.requirement("command.fmt")
def test_fmt_prints_a_diff_and_writes_the_file(program: Program) -> None:
    path = program.plan("sloppy", SLOPPY)
    path.chmod(0o640)
    done = program.run("fmt", "sloppy")
    assert done.code == 0
    assert "-## Step 1: Say it in English" in done.out
    assert "+### 1. Say it in English" in done.out
    assert path.read_text() == SOUND
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    again = program.run("fmt", "sloppy")
    assert (again.code, again.out) == (0, "")
    assert "nothing to repair" in again.err


@pytest.mark.requirement("command.fmt")
def test_fmt_check_says_so_and_writes_nothing(program: Program) -> None:
    path = program.plan("sloppy", SLOPPY)
    done = program.run("fmt", "--check", "sloppy")
    assert done.code == 1
    assert "would repair" in done.err
    assert path.read_text() == SLOPPY
    program.plan("sound")
    assert program.run("fmt", "--check", "sound").code == 0


@pytest.mark.requirement("command.fmt")
def test_fmt_of_standard_input_writes_to_standard_output(program: Program) -> None:
    done = program.run("fmt", "-", stdin=SLOPPY)
    assert (done.code, done.out) == (0, SOUND)


@pytest.mark.requirement("command.fmt")
def test_fmt_leaves_binary_files_and_links_as_they_are(program: Program) -> None:
    path = program.plan("binary", b"\0\1\2# x\r\n")
    assert program.run("fmt", "binary").code == 0
    assert path.read_bytes() == b"\0\1\2# x\r\n"
    real = program.write("real.md", SLOPPY)
    link = program.workspace / ".harness/PLAN-link.md"
    link.symlink_to(real)
    assert program.run("fmt", "link").code == 0
    assert link.is_symlink()
    assert real.read_text() == SOUND


@pytest.mark.requirement("command.expand")
def test_expand_writes_the_template_out(program: Program) -> None:
    path = program.plan("move", MIGRATION)
    program.write("inventory.txt", "a.py\nb.py\nc.py\n")
    done = program.run(
        "expand", "move", "--step", "3-N", "--batches", "inventory.txt", "--size", "2"
    )
    assert (done.code, done.err) == (0, "")
    assert "`3-N` is now steps 3 to 4" in done.out
    shown = program.run("show", "move", "--json").json
    assert [step["number"] for step in shown["steps"]] == [1, 2, 3, 4, 5]
    assert "- c.py" in path.read_text()


@pytest.mark.requirement("command.expand")
def test_expand_by_count_and_print_only(program: Program) -> None:
    path = program.plan("move", MIGRATION)
    done = program.run("expand", "move", "--step", "3–N", "--count", "2", "--print")
    assert done.code == 0
    assert "### 4. Migrate file batch (2 of 2)" in done.out
    assert path.read_text() == MIGRATION


@pytest.mark.requirement("command.expand")
def test_expand_says_which_placeholder_it_does_not_know(program: Program) -> None:
    program.plan("move", MIGRATION.replace("Migrate file batch", "Migrate {files}"))
    done = program.run("expand", "move", "--step", "3-N", "--count", "2")
    assert done.code == 0
    known = "`{batch}`, `{n}`, `{count}`, `{step}`"
    assert done.err == f"warning: `{{files}}` stays as it is: the placeholders are {known}\n"


@pytest.mark.requirement("cli.honest-ends")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--step", "9-N", "--count", "2"], "its templates: `3-N`, `N+1`"),
        (["--step", "3-N", "--count", "0"], "expected 1 to"),
        (["--step", "3-N", "--count", "x"], "`--count` is `x`, expected a whole number"),
        (["--step", "3-N"], "one of the arguments --batches --count --draft is required"),
        (["--count", "2"], "--step"),
        (["--step", "3-N", "--batches", "nowhere.txt"], "No such file"),
        (["--step", "3-N", "--batches", "empty.txt"], "names no batch"),
        (["--step", "3-N", "--count", "2", "--size", "3"], "goes with `--batches`"),
        (["--step", "N+1", "--count", "1"], "expand the templates from the top"),
    ],
)
def test_expand_refuses_with_a_reason(program: Program, arguments: list[str], message: str) -> None:
    path = program.plan("move", MIGRATION)
    program.write("empty.txt", "\n# nothing\n")
    done = program.run("expand", "move", *arguments)
    assert done.code == 2
    assert message in done.err
    assert path.read_text() == MIGRATION


@pytest.mark.requirement("cli.honest-ends")
def test_a_full_disk_leaves_the_old_plan_whole(program: Program) -> None:
    path = program.plan("sloppy", SLOPPY)

    def no_room() -> None:
        # A write beyond the limit fails with EFBIG, as a full disk fails with ENOSPC.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(
        [sys.executable, "-B", "-m", "planbound", "fmt", "sloppy"],
        cwd=program.workspace, capture_output=True, text=True, check=False,
        preexec_fn=no_room, env=program.environment(),
    )  # fmt: skip
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert path.read_text() == SLOPPY
    assert sorted(os.listdir(path.parent)) == ["PLAN-sloppy.md"]
