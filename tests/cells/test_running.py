"""A command runs in a cell: how it starts, what it is given, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from planbound.cells.cell import CommandEnding, HostView
from planbound.cells.egress import parse_destination
from planbound.errors import CellProblem
from tests.cells import cell_bench
from tests.cells.cell_bench import (
    ALL,
    APART,
    COPIED,
    Bench,
    at_most,
    can_be_had,
    cells,
    in_both_ways,
    nap,
    running,
    told,
)
from tests.needs import need

pytestmark = pytest.mark.requirement("shell.exact", "shell.environment")

bench = cell_bench.bench
everybodys = cell_bench.everybodys


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_status_is_the_commands(bench: Bench, code: int) -> None:
    outcome = bench.run(f"exit {code}")
    assert (outcome.ending, outcome.exit_code, outcome.signal) == (CommandEnding.EXITED, code, None)
    assert outcome.leftovers == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_death_by_signal_is_told_from_an_exit(bench: Bench, number: int) -> None:
    outcome = bench.run(f"kill -{number:d} $$")
    assert (outcome.ending, outcome.exit_code) == (CommandEnding.SIGNALLED, None)
    assert outcome.signal == number


def test_a_program_that_is_missing_is_not_started_and_the_reason_is_told(bench: Bench) -> None:
    outcome = bench.run("", command=("/nowhere/program", "x"))
    assert outcome.ending is CommandEnding.NOT_STARTED
    assert "/nowhere/program" in outcome.reason
    assert "No such file" in outcome.reason


def test_a_file_that_cannot_be_run_is_not_started(bench: Bench) -> None:
    outcome = bench.run("", command=("/etc/passwd",))
    assert outcome.ending is CommandEnding.NOT_STARTED
    assert "Permission denied" in outcome.reason


@pytest.mark.parametrize(
    "name",
    [
        *("a b", "it's", "\u00fc"),
        "new\nline",
        "a\\b",
        "\udcff",
    ],
)
@cells("namespaces", "copy")
def test_a_program_with_an_odd_name_that_is_missing_is_not_started(bench: Bench, name: str) -> None:
    outcome = bench.run("", command=(f"/nowhere/{name}",))
    assert outcome.ending is CommandEnding.NOT_STARTED


def test_a_workspace_that_is_not_there_is_a_problem_of_the_cell(
    bench: Bench, tmp_path: Path
) -> None:
    with pytest.raises(CellProblem):
        bench.run("true", workspace=str(tmp_path / "nowhere"))


def test_a_child_in_the_background_delays_nothing_and_is_counted(bench: Bench) -> None:
    word = nap()
    with at_most(15):
        outcome = bench.run(f"(sleep {word} &); exit 0")
    assert (outcome.ending, outcome.exit_code) == (CommandEnding.EXITED, 0)
    assert outcome.leftovers == 1
    assert not running(word)


def test_output_of_a_command_is_whole_although_a_child_holds_the_pipe(bench: Bench) -> None:
    word = nap()
    with at_most(15):
        outcome = bench.run(f"sleep {word} & sleep {word} & head -c 300000 /dev/zero; exit 3")
    assert (outcome.exit_code, outcome.stdout.length, outcome.leftovers) == (3, 300_000, 2)
    assert not running(word)


def test_a_child_that_ended_before_the_command_is_no_leftover(bench: Bench) -> None:
    outcome = bench.run("/bin/true & exec /bin/sleep 0.3")
    assert outcome.leftovers == 0


def test_standard_input_is_empty(bench: Bench) -> None:
    assert bench.says("wc -c; readlink /proc/self/fd/0") == "0\n/dev/null\n"


def test_a_command_has_a_session_of_its_own_and_no_terminal(bench: Bench) -> None:
    said = bench.says("read -r pid _ _ _ group session tty _ < /proc/self/stat; "
                      'echo "$(( $$ == session )) $(( group == session )) $tty"')  # fmt: skip
    assert said == "1 1 0\n"


def test_a_command_starts_in_the_workspace(bench: Bench) -> None:
    bench.write("here")
    assert "here" in bench.says("cat here > /dev/null && ls").split()


@cells(*APART)
def test_the_workspace_keeps_its_path(bench: Bench) -> None:
    assert bench.says("pwd -P") == f"{bench.workspace}\n"


def _environment(bench: Bench, **extra: str) -> dict[str, str]:
    given = {"A": "b c", "NEW": "x\ny", "EMPTY": "", "BYTES": "\udcff", **extra}
    outcome = bench.run("", command=("/usr/bin/env", "-0"), environment=given)
    pairs = os.fsdecode(outcome.stdout.head).split("\0")[:-1]
    return dict(pair.split("=", 1) for pair in pairs)


@cells(*APART)
def test_the_environment_is_exactly_what_was_given(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HARNESS", "x")
    found = _environment(bench, HOME="{home}", W="<{workspace}>")
    assert found == {
        "A": "b c", "NEW": "x\ny", "EMPTY": "", "BYTES": "\udcff",
        "HOME": "/tmp/home", "W": f"<{bench.workspace}>",
    }  # fmt: skip


@cells(*COPIED)
def test_a_copy_has_a_folder_for_temporary_files_in_its_environment_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HARNESS", "x")
    found = _environment(bench, HOME="{home}", W="{workspace}")
    assert set(found) == {"A", "NEW", "EMPTY", "BYTES", "HOME", "W", "TMPDIR"}
    assert len({found["HOME"], found["W"], found["TMPDIR"], str(bench.workspace)}) == 4


def test_no_descriptor_but_the_first_three_is_inherited(bench: Bench) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003 - it has no name
    try:
        said = bench.says("", command=("/bin/ls", "/proc/self/fd"))
    finally:
        os.close(reading)
        os.close(writing)
    # `ls` itself opens the folder.
    assert len(said.split()) == 4
    assert said.split()[:3] == ["0", "1", "2"]


def test_signals_are_as_they_are_for_any_program(bench: Bench) -> None:
    said = bench.says("", command=("/bin/grep", "^Sig[BI]", "/proc/self/status"))
    # 32 and 33 belong to the C library, which lets nobody touch them.
    owned = 0b11 << 31
    assert {int(line.split()[1], 16) & ~owned for line in said.splitlines()} == {0}


# -- an ordinary user -------------------------------------------------------------------------


ORDINARY = """
id -u; echo written > new; rm gone; (sleep {word} &)
cat unreadable; echo $?; echo x > /etc/planbound-test; echo $?
"""


@pytest.mark.skipif(os.getuid() != 0, reason="every other test runs as an ordinary user")
@pytest.mark.parametrize("kind_and_way", in_both_ways(ALL))
def test_an_ordinary_user_has_the_same_cells(everybodys: Path, kind_and_way: str) -> None:
    need("setpriv", "root becomes an ordinary user by it")
    kind, *way = kind_and_way.split()
    can_be_had(kind)
    own = everybodys / "own"
    bench = Bench(kind, own)
    bench.write("gone")
    bench.write("unreadable").chmod(0)
    os.chown(bench.workspace, 65534, 65534)
    word = nap()
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3",
         str(everybodys / "harness.py"), kind, bench.scratch, *way],
        input=cell_bench.pickled(bench.request(ORDINARY.format(word=word))),
        capture_output=True,
        env={"PYTHONPATH": str(everybodys / "src")},
        timeout=300,
        check=False,
    )  # fmt: skip
    outcome = told(done.stdout).outcome
    assert outcome is not None, told(done.stdout).problem
    assert (outcome.ending, outcome.exit_code) == (CommandEnding.EXITED, 0), outcome
    assert outcome.stdout.text() == "65534\n1\n1\n", outcome.stderr.text()
    assert {"gone", "new"} <= set(outcome.written)
    assert outcome.leftovers == 1
    assert not running(word)
    assert bench.names() == ["gone", "unreadable"]
    assert not os.path.exists("/etc/planbound-test")


HOME_OF_ANYBODY = """
cat ~/.cargo/tool ~/.shared/tool; ls -A ~/.. | sort | tr '\\n' ' '; ls -A /srv /root
echo new > ~/.cargo/tool; cat ~/.cargo/tool; echo x > ~/mine && cat ~/mine; cat ~/secret
echo $HTTPS_PROXY | cut -d: -f1
exit 0
"""


@pytest.mark.requirement("cell.home", "cell.egress")
@pytest.mark.skipif(os.getuid() != 0, reason="every other test runs as an ordinary user")
def test_an_ordinary_user_has_the_same_home_and_the_same_way_out(everybodys: Path) -> None:
    need("setpriv", "root becomes an ordinary user by it")
    home = everybodys / "own" / "home"
    for name in (".cargo/tool", ".shared/tool", "secret"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{name}\n")
    for path in (home, *home.rglob("*")):
        if ".shared" not in path.parts:
            os.chown(path, 65534, 65534)
    bench = Bench("namespaces", everybodys / "own")
    os.chown(bench.workspace, 65534, 65534)
    view = HostView(
        home=str(home),
        closed=(str(home), "/srv", "/root", "/var"),
        tools=(str(home / ".cargo"), str(home / ".shared")),
    )
    request = bench.request(
        HOME_OF_ANYBODY, writable=True, view=view, egress=(parse_destination("example.org"),)
    )
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3",
         str(everybodys / "harness.py"), "namespaces", bench.scratch],
        input=cell_bench.pickled(request),
        capture_output=True,
        env={"PYTHONPATH": str(everybodys / "src")},
        timeout=300,
        check=False,
    )  # fmt: skip
    outcome = told(done.stdout).outcome
    assert outcome is not None, told(done.stdout).problem
    said = outcome.stdout.text().split()
    assert said[:2] == [".cargo/tool", ".shared/tool"]
    assert said[-3:] == ["new", "x", "http"], outcome
    assert "secret" not in said
    assert (home / ".cargo/tool").read_text() == ".cargo/tool\n"
