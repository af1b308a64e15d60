"""What a command cannot see, reach or get out of."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbound.cells import choose as choosing
from planbound.cells.cell import CommandEnding
from planbound.cells.choose import choose, trials
from planbound.cells.isolation import Isolation
from planbound.cells.probe import try_to_break_out
from planbound.cells.scratch import Scratch
from planbound.errors import CellProblem
from tests.cells import cell_bench
from tests.cells.cell_bench import APART, COPIED, WALLED, Bench, cells

pytestmark = pytest.mark.requirement("cell.walls", "cell.fails-closed")

bench = cell_bench.bench


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/key").write_text("SECRET")
    return folder


@pytest.fixture
def listener() -> Iterator[int]:
    """A listener on the host's loopback that greets whoever comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello from the host\n")

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@cells(*WALLED)
def test_a_masked_folder_cannot_be_read_or_written(bench: Bench, secret: Path) -> None:
    outcome = bench.run(
        f"cat {secret}/deep/key /proc/self/root{secret}/deep/key; echo x > {secret}/x; "
        f"cd {secret} && cat deep/key; mv {secret} {secret}2; rm -rf {secret}; ls -R {secret}",
        masked=(str(secret),),
        exposed=(str(secret.parent),),
    )
    assert b"SECRET" not in outcome.stdout.head
    assert b"key" not in outcome.stdout.head
    assert (secret / "deep/key").read_text() == "SECRET"
    assert os.listdir(secret) == ["deep"]


@cells(*WALLED)
def test_a_masked_file_cannot_be_read_or_written(bench: Bench, secret: Path) -> None:
    key = secret / "deep/key"
    outcome = bench.run(
        f"cat {key}; echo x > {key}; rm -f {key}", masked=(str(key),), exposed=(str(secret),)
    )
    assert outcome.stdout.head == b""
    assert key.read_text() == "SECRET"


@cells(*WALLED)
def test_a_masked_path_by_a_link_hides_what_it_leads_to(bench: Bench, secret: Path) -> None:
    link = secret.parent / "link"
    link.symlink_to(secret)
    outcome = bench.run(
        f"cat {secret}/deep/key {link}/deep/key", masked=(str(link),), exposed=(str(secret.parent),)
    )
    assert outcome.stdout.head == b""


def test_a_masked_path_that_is_missing_changes_nothing(bench: Bench) -> None:
    missing = "/var/planbound-nowhere"
    assert bench.says(f"test ! -e {missing} && echo fine", masked=(missing,)) == "fine\n"
    assert not os.path.exists(missing)


@cells(
    *WALLED,
)
def test_a_masked_path_in_the_workspace_is_hidden(bench: Bench) -> None:
    bench.write("vault/key", "SECRET")
    bench.write("file", "SECRET")
    masked = (str(bench.workspace / "vault"), str(bench.workspace / "file"))
    outcome = bench.run("cat vault/key file; ls vault", masked=masked)
    assert outcome.stdout.head == b""


@cells("namespaces", "bubblewrap")
def test_a_masked_path_in_an_agents_workspace_is_hidden(bench: Bench) -> None:
    bench.write("vault/key", "SECRET")
    masked = (str(bench.workspace / "vault"),)
    outcome = bench.run("cat vault/key; echo x > vault/key", masked=masked, writable=True)
    assert outcome.stdout.head == b""
    assert (bench.workspace / "vault/key").read_text() == "SECRET"


@cells(*WALLED)
def test_a_workspace_below_a_masked_folder_is_there(bench: Bench) -> None:
    bench.write("file", "content")
    (bench.folder / "beside").write_text("SECRET")
    outcome = bench.run("cat file; cat ../beside", masked=(str(bench.folder),))
    assert (outcome.ending, outcome.stdout.head) == (CommandEnding.EXITED, b"content"), outcome


@cells(*APART)
def test_what_is_exposed_can_be_read_and_not_written(bench: Bench, secret: Path) -> None:
    outcome = bench.run(
        f"cat {secret}/deep/key; echo x > {secret}/deep/key; touch {secret}/new; "
        f"chmod 777 {secret}/deep; rm -f {secret}/deep/key",
        exposed=(str(secret), "/tmp/planbound-nowhere"),
    )
    assert outcome.stdout.head == b"SECRET"
    assert (secret / "deep/key").read_text() == "SECRET"
    assert os.listdir(secret) == ["deep"]


@cells(*APART)
def test_what_is_in_a_hosts_room_and_not_exposed_is_not_there(bench: Bench, secret: Path) -> None:
    assert str(secret).startswith("/tmp/")
    assert bench.says(f"test -e {secret} || echo hidden") == "hidden\n"


@cells(*APART)
def test_rooms_are_private_and_gone_afterwards(bench: Bench) -> None:
    script = (
        'for p in /tmp /var/tmp /dev/shm ~; do test -z "$(ls $p/planbound-mark 2> /dev/null)" '
        "&& echo x > $p/planbound-mark && echo free; done"
    )
    assert bench.says(script) == bench.says(script) == "free\n" * 4
    for room in ("/tmp", "/var/tmp", "/dev/shm", "/tmp/home"):
        assert not os.path.exists(f"{room}/planbound-mark")


@cells(*COPIED)
def test_home_and_temporary_folder_of_a_copy_are_gone_afterwards(bench: Bench) -> None:
    said = bench.says("echo x > ~/x; echo x > $TMPDIR/x; echo ~; echo $TMPDIR; pwd -P")
    assert not [path for path in said.split() if os.path.exists(path)]


@cells(*WALLED)
def test_the_harness_cannot_be_seen_into(bench: Bench) -> None:
    outcome = bench.run(
        f"cat /proc/{os.getpid()}/environ /proc/$PPID/environ /proc/1/environ; "
        "readlink /proc/$PPID/exe; "
        "for n in $(seq 0 40); do echo x > /proc/$PPID/fd/$n; readlink /proc/$PPID/fd/$n; done"
    )
    assert outcome.stdout.head == b""


@cells(*WALLED)
def test_no_process_of_a_cell_writes_to_another_one_or_to_the_kernel(bench: Bench) -> None:
    outcome = bench.run(
        "for name in mem comm oom_score_adj coredump_filter clear_refs attr/current; do\n"
        "  for who in $$ self; do\n"
        "    ( exec 9>> /proc/$who/$name ) 2> /dev/null && echo wrote $who $name\n"
        "  done\n"
        "done\n"
        "for name in sys/kernel/core_pattern sysrq-trigger irq/default_smp_affinity; do\n"
        "  ( exec 9<> /proc/$name ) 2> /dev/null && echo wrote $name\n"
        "done\n"
        "true"
    )
    assert outcome.stdout.text() == "", outcome.stdout.text()


def test_a_program_sees_itself_and_its_own_in_proc(bench: Bench) -> None:
    said = bench.says(
        "ps -o comm= -p $$; cat /proc/self/comm /proc/$$/comm;"
        " cat <(echo by a descriptor); echo out > /dev/stdout | cat;"
        " echo again > /proc/self/fd/1; head -c 4 /proc/self/exe | tail -c 3"
    )
    assert said == "bash\ncat\nbash\nby a descriptor\nout\nagain\nELF"


def test_the_command_is_what_the_kernel_takes_first_where_memory_runs_out(bench: Bench) -> None:
    assert bench.says("cat /proc/self/oom_score_adj") == "1000\n"


# -- network ----------------------------------------------------------------------------------

_SERVE = """
import http.server, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/file").read().decode())
"""


@cells(*APART)
def test_a_command_can_talk_to_itself(bench: Bench) -> None:
    bench.write("file", "served")
    outcome = bench.run("", command=("/usr/bin/python3", "-c", _SERVE))
    assert outcome.stdout.text() == "served\n", outcome.stderr.text()


@cells(*WALLED)
def test_the_hosts_network_is_out_of_reach(bench: Bench, listener: int) -> None:
    outcome = bench.run(f"cat < /dev/tcp/127.0.0.1/{listener}")
    assert outcome.stdout.head == b""
    assert outcome.exit_code != 0


@pytest.mark.parametrize("writable", [False, True])
def test_with_the_network_the_host_is_reached(
    bench: Bench, listener: int, *, writable: bool
) -> None:
    script = f"cat < /dev/tcp/127.0.0.1/{listener}"
    assert bench.says(script, network=True, writable=writable) == "hello from the host\n"


# -- probes and choice ------------------------------------------------------------------------


@pytest.mark.parametrize("writable", [False, True])
def test_nothing_gets_out_of_what_a_level_promises(
    bench: Bench, tmp_path: Path, *, writable: bool
) -> None:
    findings = try_to_break_out(bench.cell, str(tmp_path / "probe"), writable=writable)
    assert findings
    assert not [
        finding.probe.name
        for finding in findings
        if not finding.held and bench.cell.isolation.reaches(finding.probe.needed)
    ]


def test_probes_find_what_a_weaker_cell_lets_through(tmp_path: Path) -> None:
    class Boaster:
        """Says that it is walled, and is not: only probes that harm nothing are of use here."""

        name = "boaster"
        isolation = Isolation.I2

        def __init__(self) -> None:
            self.cell = Bench("landlock", tmp_path).cell
            self.run = self.cell.run

    findings = try_to_break_out(Boaster(), str(tmp_path / "probe"))
    broken = {finding.probe.name for finding in findings if not finding.held}
    assert broken == {"changes the mode of a file outside", "changes the times of a file outside"}


def test_the_strongest_cell_is_chosen(tmp_path: Path) -> None:
    scratch = Scratch(str(tmp_path / "scratch"))
    strongest = max(
        (trial.cell.isolation for trial in trials(scratch) if trial.works),
        key=lambda level: level.value,
    )
    cell = choose(scratch)
    assert cell.isolation is strongest
    assert choose(scratch, demanded=strongest).name == cell.name


@pytest.mark.parametrize("demanded", [Isolation.I3, Isolation.I4])
def test_more_than_there_is_cannot_be_had(tmp_path: Path, demanded: Isolation) -> None:
    with pytest.raises(CellProblem) as caught:
        choose(Scratch(str(tmp_path / "scratch")), demanded=demanded)
    assert f"isolation {demanded.value} is demanded" in caught.value.message
    assert "only I2" in caught.value.message


def test_where_only_a_copy_works_walls_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "_KINDS", choosing._KINDS[-1:])
    scratch = Scratch(str(tmp_path / "scratch"))
    assert choose(scratch).isolation is Isolation.I0
    with pytest.raises(CellProblem):
        choose(scratch, demanded=Isolation.I1)


@cells("namespaces", "bubblewrap")
def test_what_is_exposed_buries_none_of_the_cells_rooms(bench: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    said = bench.says(
        f"cat {secret}; cat /proc/1/comm; ls /run; : > /tmp/x && echo own",
        exposed=("/", "/usr", "/tmp"),
    )
    assert "SECRET" not in said
    assert said.endswith("planbound-cell\nown\n")


_MOVE_BLOCKS = """\
import fcntl, struct
with open("judge", "r+b") as judge, open("mine", "w+b") as mine:
    mine.write(bytes(8192))
    mine.flush()
    order = struct.pack("<IIQQQQ", 0, judge.fileno(), 0, 0, 2, 0)
    for call in (0xC028660F, 0xC0C0586D):
        try:
            fcntl.ioctl(mine, call, bytearray(order))
            print("moved")
        except OSError as error:
            print(error.strerror)
"""


@cells(*WALLED)
def test_no_file_gets_the_blocks_of_another_one_without_being_written(bench: Bench) -> None:
    # The kernel gives content without a time: `known.py` and summaries would not see it.
    (bench.workspace / "judge").write_bytes(b"j" * 8192)
    outcome = bench.run("", command=("/usr/bin/python3", "-c", _MOVE_BLOCKS), writable=True)
    assert outcome.stdout.head == b"Operation not permitted\n" * 2
    assert (bench.workspace / "judge").read_bytes() == b"j" * 8192
