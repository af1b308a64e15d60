"""Calls by which commands of different cells can meet are heard of, and go on."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

import pytest

from planbound.cells import host, launcher
from planbound.cells.cell import CommandEnding
from planbound.cells.inside import kernel, seccomp
from tests.cells import cell_bench
from tests.cells.cell_bench import APART, Bench, cells
from tests.cells.cell_harness import NoLauncher
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("judging.beside")

bench = cell_bench.bench

PYTHON = """\
import ctypes, fcntl, mmap, os, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
env, null = os.open("/usr/bin/env", os.O_RDONLY), os.open("/dev/null", os.O_RDWR)
machine = os.uname().machine
libc.mmap.restype = ctypes.c_void_p
def futex(private):
    address = libc.mmap(None, 4096, 1, 2, env, ctypes.c_long(0))
    number = {"x86_64": 202, "aarch64": 98}[machine]
    return libc.syscall(number, ctypes.c_void_p(address), 1 | private, 1, None, None, 0)
"""
MEETING = (
    ("flock", "fcntl.flock(env, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
    ("flock on a device", "fcntl.flock(null, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
    ("lock", "fcntl.lockf(null, fcntl.LOCK_EX | fcntl.LOCK_NB)"),
    ("whose lock", "fcntl.fcntl(env, fcntl.F_GETLK, struct.pack('hhqqi', 0, 0, 0, 0, 0))"),
    ("lock of a description", "fcntl.fcntl(env, 37, struct.pack('hhqqi', 0, 0, 0, 0, 0))"),
    ("whose lease", "fcntl.fcntl(env, fcntl.F_GETLEASE)"),
    ("lease", "try: fcntl.fcntl(env, fcntl.F_SETLEASE, fcntl.F_RDLCK)\nexcept OSError: pass"),
    ("note", "fcntl.fcntl(os.open('/usr', 0), fcntl.F_NOTIFY, 1)"),
    ("a size of a pipe", "fcntl.fcntl(os.pipe()[1], 1031, 4096)"),
    ("watch", "assert libc.inotify_add_watch(libc.inotify_init1(0), b'/usr/bin/env', 32) > 0"),
    ("watch of a device", "libc.inotify_add_watch(libc.inotify_init1(0), b'/dev/null', 32)"),
    ("fanotify", "libc.fanotify_init(0x200, 0)"),
    ("a futex of a file", "assert futex(0) == 0"),
    ("a signal that is queued", "signal.signal(40, signal.SIG_IGN); os.kill(os.getpid(), 40)"),
    (
        "descriptors on their way",
        "a, b = socket.socketpair()\nsocket.send_fds(a, [b'x'], [0])\nassert b.recv(1) == b'x'",
    ),
)
ORDINARY = (
    ("nothing", "pass"),
    ("flags", "fcntl.fcntl(env, fcntl.F_GETFL); fcntl.fcntl(env, fcntl.F_SETFD, 1)"),
    ("a copy", "fcntl.fcntl(env, fcntl.F_DUPFD_CLOEXEC, 9); os.dup(env)"),
    ("seals", "fcntl.fcntl(os.memfd_create('a', 2), 1033, 1)"),
    ("a futex of its own", "assert futex(128) == 0"),
    ("a signal", "os.kill(os.getpid(), 0)"),
    ("a thread", "import threading; t = threading.Thread(target=print); t.start(); t.join()"),
    ("a process", "import subprocess; subprocess.run(['/bin/true'], check=True)"),
    ("a socket", "a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'"),
)


def heard(bench: Bench, code: str, *, writable: bool = False) -> bool:
    # Somebody else on this machine may hold the same lock.
    tried = f"try:\n    exec({code!r})\nexcept BlockingIOError:\n    pass\n"
    bench.write("try.py", f"{PYTHON}{tried}print('went on')\n")
    outcome = bench.run("/usr/bin/env python3 try.py", writable=writable)
    assert outcome.ending is CommandEnding.EXITED, outcome
    assert outcome.stdout.text().splitlines()[-1:] == ["went on"], outcome
    return outcome.could_meet


@pytest.mark.thorough
@cells(*APART)
def test_calls_by_which_cells_can_meet_are_heard_and_go_on(bench: Bench) -> None:
    missed = [name for name, code in MEETING if not heard(bench, code)]
    assert not missed
    assert not host.unheard()


@pytest.mark.thorough
@cells(*APART)
def test_ordinary_calls_are_not(bench: Bench) -> None:
    assert not [name for name, code in ORDINARY if heard(bench, code)]


@cells("namespaces")
def test_an_agent_is_not_listened_to(bench: Bench) -> None:
    assert not heard(bench, MEETING[0][1], writable=True)


@pytest.mark.thorough
@cells("namespaces")
def test_a_call_of_any_process_of_the_cell_is_heard_however_it_ends(bench: Bench) -> None:
    asks = (
        "(setsid flock -n /usr/bin/env true; echo done > told) & while ! test -e told; do :; done"
    )
    assert bench.run(asks).could_meet
    late = bench.request("flock /usr/bin/env true; kill -9 $$")
    assert bench.cell.run(late).could_meet
    endless = bench.request("flock -n /usr/bin/env true; while :; do :; done")
    outcome = bench.cell.run(endless._replace(limits=endless.limits._replace(seconds=1)))
    assert (outcome.ending, outcome.could_meet) == (CommandEnding.TIMED_OUT, True)


@cells("namespaces")
def test_locks_work_as_they_do_without_a_listener(bench: Bench) -> None:
    script = "exec 9> lock; flock 9; (exec 8> lock; flock -n 8 && echo both; true); echo one"
    assert bench.says(script) == "one\n"


def _listened_to() -> None:
    """Put a filter with a listener over this process: the kernel allows only one."""
    code = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
    buffer, header = seccomp._laid(code)
    kernel.gain_no_privileges()
    number = seccomp._SECCOMP[kernel.MACHINE]
    kernel.syscall(number, 1, 8, ctypes.addressof(header))
    del buffer


def test_where_nobody_can_listen_it_is_said_and_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "WARM", NoLauncher())
    bench = Bench("namespaces", tmp_path)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _listened_to()
            outcome = bench.run("echo it works")
            said = f"{outcome.stdout.text().strip()}, {outcome.could_meet}, {host.unheard()}"
            os.write(writing, said.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        assert pipe.read().startswith("it works, True, system call"), "it is refused"
    os.waitpid(child, 0)


@one_fact("machine", ["x86_64", "aarch64"])
def test_the_filter_is_well_formed_on_every_machine(machine: str) -> None:
    for tells in (False, True):
        made = _for(machine, tells=tells)
        lines = [made[place : place + 8] for place in range(0, len(made), 8)]
        assert len(lines) < 4096
        for place, line in enumerate(lines):
            code, yes, no, _ = struct.unpack("HBBI", line)
            if code & 0x07 == 0x05:
                assert place + 1 + max(yes, no) < len(lines)
        told = sum(line[4:] == struct.pack("I", 0x7FC00000) for line in lines)
        assert (told > 15) is tells


def _for(machine: str, *, tells: bool) -> bytes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seccomp, "MACHINE", machine)
        return seccomp._made(sockets=True, tells=tells)
