"""An agent's cell: the workspace itself is written to, but for what is kept from it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planbound.cells.cell import HostView
from tests.cells import cell_bench
from tests.cells.cell_bench import APART, Bench, cells, nap, running, wait_until
from tests.git import git_scene

pytestmark = pytest.mark.requirement("cell.agent")

bench = cell_bench.bench


def test_what_an_agent_writes_stays(bench: Bench) -> None:
    for name in ("changed", "removed", "renamed", "mode"):
        bench.write(name)
    bench.says(
        "echo x > changed; rm removed; mv renamed other; mkdir d; echo x > d/new; chmod 750 mode",
        writable=True,
    )
    assert bench.names() == ["changed", "d", "d/new", "mode", "other"]
    assert (bench.workspace / "changed").read_text() == "x\n"
    assert (bench.workspace / "mode").stat().st_mode & 0o777 == 0o750


def test_an_agent_works_at_the_workspaces_own_path(bench: Bench) -> None:
    said = bench.says("pwd -P; echo $W", writable=True, environment={"W": "{workspace}"})
    assert said == f"{bench.workspace}\n" * 2


REPLACING = [
    "echo x > judge", "echo x >> judge", "rm -f judge", "mv judge away", "mv -f own judge",
    "chmod 777 judge", "touch -d 2001-01-01 judge", "ln -f own judge", "ln -sf own judge",
    "truncate -s 0 judge", "ln judge alias && echo x > alias", "sed -i s/as/x/ judge",
    "cp -f own judge", "echo x > kept/new", "echo x > kept/file", "rm -rf kept",
    "mv kept away", "mkdir kept/d", "rm -f deep/er/judge", "echo x > deep/er/judge",
    "setfattr -n user.x -v x judge", "mount -o remount,rw judge", "umount judge",
    "/usr/bin/python3 -c 'import os; os.rename(\"own\", \"judge\")'",
]  # fmt: skip


def _all_of(attempts: list[str], came_true: str) -> str:
    """Return a script that makes every attempt and writes down those that did something."""
    lines = [
        f"echo x > own; ( {attempt} ) > /dev/null 2>&1; if {came_true}; then echo {number}; fi"
        for number, attempt in enumerate(attempts)
    ]
    return "\n".join([*lines, "exit 0"])


def _succeeded(attempts: list[str], said: str) -> list[str]:
    return [attempts[int(number)] for number in said.split()]


@cells(*APART)
def test_what_is_read_only_cannot_be_written_replaced_or_removed(bench: Bench) -> None:
    kept = ("judge", "kept/file", "deep/er/judge")
    for name in kept:
        bench.write(name)
    before = {name: (bench.workspace / name).stat() for name in kept}
    came_true = '[ "$(cat judge kept/* deep/er/judge | sort -u)" != "as it was" ]'
    said = bench.says(
        _all_of(REPLACING, came_true),
        writable=True,
        read_only=("judge", "kept", "deep/er/judge", "missing"),
    )
    assert _succeeded(REPLACING, said) == []
    assert os.listdir(bench.workspace / "kept") == ["file"]
    for name, state in before.items():
        assert (bench.workspace / name).read_text() == "as it was\n"
        now = (bench.workspace / name).stat()
        assert (now.st_mode, now.st_ino, now.st_mtime_ns) == (
            state.st_mode, state.st_ino, state.st_mtime_ns,
        )  # fmt: skip


@cells(*APART)
def test_a_read_only_file_cannot_be_replaced_by_moving_its_folder(bench: Bench) -> None:
    bench.write("tests/judge")
    bench.run(
        "mv tests away; mkdir tests; echo x > tests/judge",
        writable=True,
        read_only=("tests/judge",),
    )
    assert (bench.workspace / "tests/judge").read_text() == "as it was\n"


@cells(*APART)
def test_a_read_only_file_behind_a_linked_folder_cannot_be_written(bench: Bench) -> None:
    bench.write("real/judge")
    (bench.workspace / "tests").symlink_to("real")
    bench.run("echo x > tests/judge", writable=True, read_only=("tests/judge",))
    assert (bench.workspace / "tests/judge").read_text() == "as it was\n"


PLANTING = [
    "echo x > planted", "rm -f planted; echo x > planted", "mv -f own planted",
    "mkdir planted", "ln -s own planted", "ln -sfn own planted", "cp own planted",
    "mv planted away; echo x > planted", "chmod 666 planted; echo x > planted",
    "echo x > sub/planted", "rm -rf sub/planted; mkdir sub/planted",
]  # fmt: skip


@cells(*APART)
def test_what_is_absent_cannot_come_to_be_and_nothing_is_left(bench: Bench) -> None:
    bench.write("sub/own")
    came_true = "[ -f planted -o -f sub/planted -o -d planted -o -d sub/planted -o -L planted ]"
    script = _all_of(PLANTING, came_true)
    said = bench.says(script, writable=True, absent=("planted", "sub/planted"))
    assert _succeeded(PLANTING, said) == []
    assert set(bench.names()) <= {"own", "sub", "sub/own"}


@cells(*APART)
@pytest.mark.requirement("cell.untracked")
def test_git_in_the_cell_does_not_show_what_is_absent(bench: Bench) -> None:
    bench.write("sub/file")
    names = ("planted", "sub/pl[an] ted")
    script = (
        "git status --short -uall; git add -A && git ls-files; test -e planted && echo there;"
        "tail -n 2 .git/info/exclude"
    )
    git_scene.sh(bench.workspace, "git init -q .")
    exclude = (bench.workspace / ".git/info/exclude").read_bytes()
    there = "there\n/planted\n/sub/pl\\[an\\]\\ ted\n"
    said = bench.says(script, writable=True, absent=names)
    assert said.startswith("?? sub/file\nsub/file\n" + there)
    assert (bench.workspace / ".git/info/exclude").read_bytes() == exclude
    # Without a place to hide them git would stumble over them: then nothing is put there.
    (bench.workspace / ".git/info/exclude").unlink()
    assert bench.says("ls; git add -A", writable=True, absent=names) == "sub\n"


@cells(*APART)
def test_what_is_absent_cannot_come_to_be_by_moving_its_folder(bench: Bench) -> None:
    bench.write("sub/own")
    script = "mv sub away; mkdir sub; echo x > sub/planted"
    bench.run(script, writable=True, absent=("sub/planted",))
    assert not [name for name in bench.names() if name.endswith("planted")]


@cells(*APART)
def test_a_killed_harness_leaves_no_placeholder_once_the_next_cell_ran(bench: Bench) -> None:
    word = nap()
    with bench.harness(f"sleep {word}", writable=True, absent=("planted",)) as process:
        assert wait_until(lambda: running(word))
        assert bench.names() == ["planted"]
        process.kill()
        process.wait(timeout=30)
        assert wait_until(lambda: not running(word))
    with bench.harness("true") as process:
        process.wait(timeout=30)
    assert bench.names() == []
    assert bench.rooms() == []


@cells(*APART)
def test_an_interrupted_harness_leaves_no_placeholder(bench: Bench) -> None:
    word = nap()
    with bench.harness(f"sleep {word}", writable=True, absent=("planted",)) as process:
        assert wait_until(lambda: running(word))
        process.send_signal(2)
        process.wait(timeout=30)
    assert bench.names() == []


@cells(*APART)
def test_a_file_that_came_to_be_by_another_hand_is_not_taken_away(bench: Bench) -> None:
    bench.write("planted", "")
    (bench.workspace / "planted").chmod(0o600)
    bench.run("true", writable=True, absent=("planted",))
    assert bench.names() == ["planted"]


def test_a_log_in_that_is_passed_is_written_to_and_stays(bench: Bench, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".agent").mkdir(parents=True)
    (home / ".agent" / "before").write_text("seen\n")
    (home / ".agent.json").write_text("{}\n")
    shared = (str(home / ".agent"), str(home / ".agent.json"))
    view = HostView(home=str(home), closed=(str(home),), shared=shared)
    said = bench.says(
        "cat ~/.agent/before ~/.agent.json; echo x > ~/.agent/after; echo x > ~/.agent.json;"
        "echo x > ~/else",
        writable=True,
        view=view,
    )
    assert said == "seen\n{}\n"
    assert sorted(os.listdir(home / ".agent")) == ["after", "before"]
    assert (home / ".agent.json").read_text() == "x\n"
    assert sorted(os.listdir(home)) == [".agent", ".agent.json"]


@cells(*APART)
def test_a_home_that_is_named_by_a_link_has_its_log_in(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "home" / ".agent").mkdir(parents=True)
    (tmp_path / "link").symlink_to("home")
    link = tmp_path / "link"
    view = HostView(home=str(link), closed=(str(link),), shared=(str(link / ".agent"),))
    bench.run("echo x > ~/.agent/after", writable=True, view=view)
    assert os.listdir(tmp_path / "home" / ".agent") == ["after"]


@cells("namespaces", "bubblewrap", "landlock")
def test_an_agent_cannot_write_beside_its_workspace(bench: Bench, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    bench.run(f"echo x > {beside}/f; echo x > ../f; echo x > /etc/planbound-test", writable=True)
    assert os.listdir(beside) == []
    assert not (tmp_path / "f").exists()
    assert not os.path.exists("/etc/planbound-test")
