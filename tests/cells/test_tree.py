"""The tree that a contract's command sees: the workspace is as it was, whatever was done to it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from planbound.cells import choose as namespaces
from planbound.cells.cell import CommandEnding, Laid, Outcome
from planbound.cells.copies import has_strangers
from planbound.cells.host import run_order
from planbound.cells.inside.order import Order
from planbound.errors import CellProblem
from tests.cells import cell_bench
from tests.cells.cell_bench import ALL, COPIED, WALLED, Bench, at_most, cells

pytestmark = pytest.mark.requirement("cell.walls")

bench = cell_bench.bench


def _state(bench: Bench) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in bench.names():
        path = bench.workspace / name
        state = path.lstat()
        content: object = None
        if stat.S_ISLNK(state.st_mode):
            content = path.readlink()
        elif stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        found[name] = (state.st_mode, state.st_mtime_ns, state.st_ino, content)
    return found


@pytest.mark.requirement("judging.caches")
def test_many_caches_are_taken_out_and_everything_around_them_is_as_it_was(bench: Bench) -> None:
    for number in range(30):
        bench.write(f"venv/lib/p{number}/__pycache__/a.pyc")
        bench.write(f"venv/lib/p{number}/a.py")
    bench.write("venv/pyvenv.cfg")
    bench.write("kept/b.pyc")
    os.chmod(bench.workspace / "venv/lib/p7", 0o750)
    (bench.workspace / "__pycache__").symlink_to("kept")
    (bench.workspace / "around").symlink_to("venv")
    caches = [f"venv/lib/p{number}/__pycache__" for number in range(30)]
    said = bench.says(
        "find . -name '__pycache__' -o -name '*.pyc' | sort; find . -name '*.py' | wc -l; "
        "stat -c %a venv/lib/p7; rm -r venv/lib/p8 && mkdir venv/lib/p8 && ls venv/lib/p8",
        remove=(*caches, "__pycache__", "around/lib/p1/a.py", "venv/lib/none/__pycache__"),
    )
    assert said.split() == ["./kept/b.pyc", "30", "750"]


def test_the_workspace_is_untouched_and_what_was_done_is_told(bench: Bench) -> None:
    for name in ("changed", "appended", "removed", "mode", "renamed", "d/below", "gone/x", "same"):
        bench.write(name)
    (bench.workspace / "link").symlink_to("changed")
    before = _state(bench)
    outcome = bench.run(
        "echo x > changed; echo x >> appended; rm removed; chmod 600 mode; mv renamed other; "
        "echo x > d/new; echo x > d/below; rm -r gone; rm link; ln -s same link; mkdir e; "
        "echo x > e/f; cat same > /dev/null"
    )
    assert outcome.exit_code == 0, outcome.stderr.text()
    assert _state(bench) == before
    told = set(outcome.written)
    assert "gone" in told or "gone/x" in told
    assert told - {"gone", "gone/x"} == {
        "changed", "appended", "removed", "mode", "renamed", "other", "d/new", "d/below", "link",
        "e/f",
    }  # fmt: skip
    assert outcome.written_count == len(outcome.written)
    assert list(outcome.written) == sorted(outcome.written)


def test_nothing_written_is_nothing_told(bench: Bench) -> None:
    bench.write("a/b")
    outcome = bench.run("cat a/b; ls -laR", lay=(Laid("laid", b"x"),), remove=("missing",))
    assert (outcome.written, outcome.written_count) == ((), 0)


@cells("namespaces", "copy")
def test_of_many_names_only_so_many_are_told_and_all_are_counted(bench: Bench) -> None:
    outcome = bench.run("for n in $(seq 1500); do : > f$n; done")
    assert (len(outcome.written), outcome.written_count) == (1000, 1500)


@cells(*ALL)
def test_what_is_written_to_a_closed_folder_is_told(bench: Bench) -> None:
    outcome = bench.run("mkdir d; echo x > d/f; chmod 000 d")
    assert outcome.written_count == 1


@cells(*ALL)
def test_what_was_in_a_folder_that_was_made_anew_is_told(bench: Bench) -> None:
    bench.write("d/a")
    outcome = bench.run("rm -r d && mkdir d")
    assert outcome.written_count == 1


# -- laid over, taken out, collected ----------------------------------------------------------


def test_a_laid_file_is_there_with_its_mode(bench: Bench) -> None:
    bench.write("old", "old")
    said = bench.says(
        "cat old new/deep/file; stat -c %a old tool; ./tool",
        lay=(
            Laid("old", b"laid\n", 0o600),
            Laid("new/deep/file", b"deep\n"),
            Laid("tool", b"#!/bin/sh\necho runs\n", 0o755),
        ),
    )
    assert said == "laid\ndeep\n600\n755\nruns\n"
    assert bench.names() == ["old"]


def test_whatever_is_in_the_way_of_a_laid_file_goes(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("as it was\n")
    bench.write("folder/with/files")
    (bench.workspace / "link").symlink_to(outside / "file")
    (bench.workspace / "dangling").symlink_to(tmp_path / "not-there")
    (bench.workspace / "linked").symlink_to(outside)
    bench.write("file", "a file where a folder is needed")
    os.mkfifo(bench.workspace / "pipe")
    before = _state(bench)
    names = ("folder", "link", "dangling", "linked/file", "linked/a/b", "file/below", "pipe")
    said = bench.says(
        f"cat {' '.join(names)}", lay=tuple(Laid(name, f"{name}\n".encode()) for name in names)
    )
    assert said.split() == list(names)
    assert _state(bench) == before
    assert (outside / "file").read_text() == "as it was\n"
    assert sorted(os.listdir(outside)) == ["file"]
    assert not (tmp_path / "not-there").exists()


def test_what_is_taken_out_cannot_be_seen(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    for name in ("keep", "file", "folder/a/b", "folder/c"):
        bench.write(name)
    (bench.workspace / "folder/closed").mkdir(mode=0)
    (bench.workspace / "link").symlink_to(outside)
    (bench.workspace / "linked").symlink_to(outside)
    before = _state(bench)
    said = bench.says("ls", remove=("file", "folder", "link", "linked/kept", "missing/x", "keep/x"))
    assert said.split() == ["keep", "linked"]
    assert _state(bench) == before
    assert (outside / "kept").exists()


@cells(*ALL)
def test_a_file_in_a_folder_that_cannot_be_written_is_taken_out_too(bench: Bench) -> None:
    bench.write("closed/poisoned.pyc")
    (bench.workspace / "closed").chmod(0o555)
    assert bench.says("ls closed", remove=("closed/poisoned.pyc",)) == ""


def test_collected_files_are_returned_and_only_files(bench: Bench) -> None:
    bench.write("before", "from the workspace")
    outcome = bench.run(
        "printf 'a\\0b' > report; : > empty; mkfifo pipe; ln -s report link; "
        "ln -s /etc/passwd out; head -c 20M /dev/zero > large; echo x > closed; chmod 0 closed",
        collect=("report", "empty", "before", "pipe", "link", "out", "missing", "large"),
    )
    large = outcome.collected["large"]
    assert dict(outcome.collected) == {
        "report": b"a\0b", "empty": b"", "before": b"from the workspace", "large": large,
    }  # fmt: skip
    assert len(large) == 16 << 20


def test_a_folder_where_a_file_is_to_be_collected_is_passed_over(bench: Bench) -> None:
    try:
        outcome = bench.run("mkdir folder; echo x > file", collect=("folder", "file"))
    except CellProblem as problem:
        raise AssertionError(str(problem)) from problem
    assert dict(outcome.collected) == {"file": b"x\n"}


@cells(*WALLED)
def test_nothing_is_collected_through_a_linked_folder(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    outcome = bench.run(
        f"ln -s {secret} masked; ln -s /etc etc; mkdir real; echo x > real/key; ln -s real way",
        collect=("masked/key", "etc/passwd", "way/key"),
        masked=(str(secret),),
    )
    assert dict(outcome.collected) == {}


# -- odd trees --------------------------------------------------------------------------------

ODD = ["a b", "new\nline", "\udcff\udcfe", "-rf", "\u00fc\u4e2d", "quote'\"", "$(id)", "#x", "*"]


def test_odd_names_are_names(bench: Bench) -> None:
    for name in ODD:
        bench.write(f"{name}/{name}", "content")
    outcome = bench.run(
        "grep -rl content . -Z | tr -cd '\\0' | wc -c; echo x >> ./-rf/-rf; mkdir n; "
        "printf x > $'n/\\xff\\n'",
        lay=tuple(Laid(f"laid/{name}", b"content") for name in ODD),
        remove=("*",),
        collect=(*(f"laid/{name}" for name in ODD), "n/\udcff\n"),
    )
    assert outcome.stdout.text() == f"{2 * len(ODD) - 1}\n", outcome.stderr.text()
    assert outcome.written == ("-rf/-rf", "n/\udcff\n")
    assert len(outcome.collected) == len(ODD) + 1


@pytest.mark.parametrize(
    "name", ["a:b", "a\\,b:c\udcff\n", "upperdir=x,", "x '\"$(id)*" + "d" * 200]
)
@cells(*ALL)
def test_the_workspace_may_have_any_name(bench: Bench, name: str) -> None:
    moved = bench.folder / name
    bench.workspace.rename(moved)
    bench.workspace = moved
    bench.write("file", "content")
    outcome = bench.run("cat file; echo x > new; rm file")
    assert (outcome.stdout.text(), outcome.exit_code) == ("content", 0), outcome.stderr.text()
    assert outcome.written == ("file", "new")
    assert bench.names() == ["file"]


@cells(*ALL)
def test_a_workspace_behind_a_link_is_the_one_it_leads_to(bench: Bench) -> None:
    bench.write("file", "content")
    link = bench.folder / "link"
    link.symlink_to(bench.workspace)
    assert bench.says("cat file; echo x > new", workspace=str(link)) == "content"
    assert bench.names() == ["file"]


@cells(*ALL)
def test_a_deep_tree_is_seen_to_its_end(bench: Bench) -> None:
    deep = "/".join(["d"] * 200)
    bench.write(f"{deep}/file", "content")
    outcome = bench.run(f"cat {deep}/file; echo x > {deep}/new")
    assert outcome.stdout.text() == "content"
    assert outcome.written == (f"{deep}/new",)


@cells(*ALL)
def test_a_command_cannot_break_the_harness_by_a_deep_tree(bench: Bench) -> None:
    script = "import os\nfor _ in range(1200): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').close()"
    try:
        with at_most(30):
            outcome = bench.run("", command=("/usr/bin/python3", "-c", script))
        assert (outcome.ending, outcome.exit_code) == (CommandEnding.EXITED, 0)
        assert outcome.written_count == 1
    finally:
        _remove_rooms()


def _remove_rooms() -> None:
    """Remove what this process could not: else every later cell on this machine stumbles on it."""
    own = f"planbound-cell-{os.getpid()}-"
    for name in os.listdir("/dev/shm"):
        if name.startswith(own):
            cell_bench.remove(f"/dev/shm/{name}")


@cells(*ALL)
def test_what_is_neither_file_nor_folder_does_not_stop_a_cell(bench: Bench) -> None:
    os.mkfifo(bench.workspace / "pipe")
    (bench.workspace / "dangling").symlink_to("nowhere")
    (bench.workspace / "loop").symlink_to("loop")
    bench.write("file", "content")
    assert bench.says("cat file") == "content"


@cells("namespaces")
def test_a_file_that_nobody_may_read_cannot_be_read(bench: Bench) -> None:
    bench.write("closed").chmod(0)
    assert bench.says("cat closed || echo refused") == "refused\n"


@cells(*COPIED)
def test_a_copy_keeps_times_and_modes(bench: Bench) -> None:
    bench.write("tool").chmod(0o751)
    os.utime(bench.workspace / "tool", ns=(10**18, 10**18 + 123_456_789))
    (bench.workspace / "link").symlink_to("tool")
    said = bench.says("stat -c '%a %.Y' tool; readlink link")
    assert said == "751 1000000000.123456789\ntool\n"


@cells("landlock")
def test_large_folders_are_linked_and_cannot_be_written_through_the_link(bench: Bench) -> None:
    bench.write("node_modules/x", "content")
    bench.write("venv/own", "somebody's own folder")
    outcome = bench.run("cat node_modules/x; echo x > node_modules/x; echo x > venv/own")
    assert outcome.stdout.text() == "content"
    assert outcome.written == ("venv/own",)
    assert (bench.workspace / "node_modules/x").read_text() == "content"


# -- where no overlay can be laid ---------------------------------------------------------------


@cells("namespaces")
def test_a_copy_stands_in_where_no_overlay_can_be_laid(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespaces, "has_strangers", lambda _workspace: True)
    bench.write("kept", "as it was")
    bench.write("cache/x", "x")
    outcome = bench.run(
        f'test "$PWD" = {bench.workspace} && test ! -e cache && cat laid && echo x > kept',
        lay=(Laid("laid", b"laid\n"),),
        remove=("cache",),
        watched=("kept",),
    )
    assert outcome.exit_code == 0, outcome
    assert outcome.stdout.head == b"laid\n"
    assert outcome.trespassed == ("kept",)
    assert (bench.workspace / "kept").read_text() == "as it was"


@cells("namespaces")
def test_a_file_system_that_takes_no_overlay_gets_a_copy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(order: Order, *given: Any) -> Outcome:
        if order.stand_in is None:
            raise CellProblem("no cell could be made: mount overlay /x: Invalid argument")
        return run_order(order, *given)

    monkeypatch.setattr(namespaces, "run_order", refuses)
    bench.write("there", "yes")
    assert bench.says("cat there") == "yes"


def test_folders_of_others_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    own = (tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    monkeypatch.setattr(os, "getuid", lambda: own[0] or 4711)
    monkeypatch.setattr(os, "getgid", lambda: own[1] + 1)
    assert has_strangers(str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert not has_strangers(str(tmp_path))
