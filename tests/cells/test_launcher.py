"""A launcher starts cells as a fresh interpreter does: out of reach, and gone with the harness."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbound.cells import host, launcher
from planbound.cells.cell import CommandEnding, Laid
from planbound.cells.launcher import Launcher
from planbound.errors import CellProblem
from tests.cells import cell_bench
from tests.cells.cell_bench import Bench, at_most, end, nap, running, wait_until
from tests.cells.cell_harness import NoLauncher

pytestmark = pytest.mark.requirement("cell.launcher")

everybodys = cell_bench.everybodys

SOURCE = Path(launcher.__file__).parents[2]
SECRET = "xyzzy-4711-plugh"
IS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root sees into a hidden process")


@pytest.fixture(name="bench", params=["namespaces"])
def _bench(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    """A bench whose launcher nobody else has."""
    cell_bench.can_be_had(request.param)
    launcher.WARM.close()
    own = Launcher()
    monkeypatch.setattr(launcher, "WARM", own)
    yield Bench(request.param, tmp_path)
    own.close()


def kinds(*names: str) -> pytest.MarkDecorator:
    """Run a test for some kinds of cell, the first one always."""
    return pytest.mark.parametrize("bench", cell_bench.by_strength(names), indirect=True)


warm_kinds = kinds("namespaces", "landlock", "copy")


def children(parent: int) -> list[int]:
    """Return the processes that have this parent, zombies counted."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(stat[1]) == parent:
                found.append(int(name))
    return found


def launchers(harness: int | None = None) -> list[int]:
    """Return the launchers of a harness; by default of this process."""
    return [
        number
        for number in children(os.getpid() if harness is None else harness)
        if b"cells.inside.warm import" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]


def lives(number: int) -> bool:
    """Say whether a process is there that has not ended."""
    try:
        state = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return False
    return state not in {b"Z", b"X"}


def the_launcher() -> int:
    assert wait_until(launchers)  # for a moment a new process has no command line
    (number,) = launchers()
    return number


# -- it is used ----------------------------------------------------------------------------------


@warm_kinds
def test_one_launcher_starts_all_cells_of_a_process(bench: Bench) -> None:
    assert bench.works()
    first = the_launcher()
    assert bench.works()
    assert bench.works()
    assert launchers() == [first]
    assert wait_until(lambda: children(first) == [])


LOOK = r"""
cd /proc/self
grep -E '^(Umask|Uid|Gid|Groups|Sig[A-Z][a-z]|ShdPnd|Cap|NoNewPrivs|Seccomp|NSpid)' status
cd -
cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup
cut -d' ' -f 4,5,6,7,8 /proc/self/stat
readlink /proc/self/cwd /proc/self/fd/0; env | sort; trap
find /proc/self/fd/ -mindepth 1 | sort
awk '{print $5, $6}' /proc/self/mountinfo | sort
for n in /proc/1/environ /proc/1/mem /proc/1/fd; do cat $n > /dev/null 2>&1 && echo open $n; done
exit 0
"""


@warm_kinds
@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("stdin", [b"", b"some"])
def test_a_command_finds_the_same_as_from_a_fresh_interpreter(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, network: bool, stdin: bytes
) -> None:
    def seen(way: Launcher) -> list[str]:
        monkeypatch.setattr(launcher, "WARM", way)
        lines = bench.says(LOOK, stdin=stdin, network=network).splitlines()
        lines = [line for line in lines if "planbound-cell-" not in line]  # its scratch folder
        # Without a namespace the numbers of processes are the host's.
        return lines if bench.kind == "namespaces" else [each for each in lines if _is_plain(each)]

    warm, fresh = launcher.WARM, NoLauncher()
    # Among the mounts are those of the host, where others may mount something meanwhile.
    assert any(seen(warm) == seen(fresh) for _ in range(3)), (seen(warm), seen(fresh))
    assert len(seen(warm)) > 40


def _is_plain(line: str) -> bool:
    digits = line.replace(" ", "").replace("-", "")
    return not (line.startswith("NSpid") or digits.isdigit())


def test_an_order_may_be_larger_than_any_buffer(bench: Bench) -> None:
    large = os.urandom(1 << 20) * 6
    outcome = bench.run(
        "cmp large - && echo same", lay=(Laid("large", large),), stdin=large, collect=("large",)
    )
    assert outcome.stdout.text() == "same\n", outcome
    assert outcome.collected["large"] == large
    assert len(launchers()) == 1


# -- it cannot be reached from a cell ------------------------------------------------------------


REACH = """
for name in mem environ maps fd/3 fd/4 root cwd exe; do
    (exec 9< /proc/{number}/$name) 2> /dev/null && echo opened $name
done
ls /proc/{number}/fd /proc/{number}/map_files > /dev/null 2>&1 && echo listed
for name in mem oom_score_adj uid_map; do
    (exec 9>> /proc/{number}/$name) 2> /dev/null && echo wrote $name
done
for each in 0 USR1 TERM STOP KILL IO CHLD; do
    kill -$each {number} 2> /dev/null && echo signalled $each
done
echo tried
"""


@kinds("namespaces", "bubblewrap", "landlock")
@pytest.mark.parametrize("writable", [False, True])
def test_a_command_cannot_reach_the_launcher(bench: Bench, *, writable: bool) -> None:
    launcher.prepare()
    number = the_launcher()
    said = bench.says(REACH.format(number=number), writable=writable)
    assert said == "tried\n"
    assert launchers() == [number]
    assert bench.works()


@warm_kinds
def test_a_command_inherits_nothing_of_the_launcher(bench: Bench) -> None:
    script = "import os; print(sorted(int(name) for name in os.listdir('/proc/self/fd')))"
    outcome = bench.run("", command=("/usr/bin/python3", "-I", "-S", "-c", script))
    # 3 is the folder itself.
    assert outcome.stdout.text() == "[0, 1, 2, 3]\n", outcome


FIND_SOCKETS = """
import os, socket
for line in open("/proc/net/unix").read().splitlines()[1:]:
    name = line.split()[7:]
    print("named", name) if name else None
for number in range(200):
    try:
        os.fstat(number)
    except OSError:
        continue
    try:
        socket.socket(fileno=os.dup(number)).getpeername()
        print("connected", number)
    except OSError:
        pass
"""


def test_a_command_finds_no_way_to_the_launcher_by_a_socket(bench: Bench) -> None:
    assert bench.works()
    outcome = bench.run("", command=("/usr/bin/python3", "-I", "-c", FIND_SOCKETS))
    assert (outcome.stdout.text(), outcome.exit_code) == ("", 0), outcome


@IS_ROOT
@warm_kinds
def test_nothing_of_an_order_or_an_output_stays_in_the_launcher(bench: Bench) -> None:
    half = len(SECRET) // 2
    for writable in (False, True):
        outcome = bench.run(
            f"cat; echo $TOKEN; echo $TOKEN >&2; echo {SECRET}; echo {SECRET} > $TOKEN",
            environment={"PATH": cell_bench.PATH, "TOKEN": SECRET},
            stdin=SECRET.encode(),
            writable=writable,
        )
        assert outcome.stdout.text().count(SECRET) == 3
    number = the_launcher()
    memory = _memory(number)
    assert b"cells.inside.warm" in memory  # it is really its memory
    assert SECRET[:half].encode() not in memory
    assert SECRET[half:].encode() not in memory
    assert str(bench.workspace).encode() not in memory


def _memory(number: int) -> bytes:
    found = []
    with open(f"/proc/{number}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{number}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            first, last = (int(part, 16) for part in place.split("-"))
            if rights.startswith("rw"):
                memory.seek(first)
                found.append(memory.read(last - first))
    return b"".join(found)


@IS_ROOT
def test_the_launcher_holds_one_socket_and_nothing_else(bench: Bench) -> None:
    for _ in range(5):
        assert bench.works()
    number = the_launcher()
    held = [os.readlink(f"/proc/{number}/fd/{name}") for name in os.listdir(f"/proc/{number}/fd")]
    assert [each.partition(":")[0] for each in sorted(held)] == ["/dev/null"] * 3 + ["socket"]


# -- whatever is wrong with it, cells run, and run once ------------------------------------------


@warm_kinds
def test_a_launcher_that_was_killed_is_replaced(bench: Bench) -> None:
    assert bench.works()
    killed = the_launcher()
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: not lives(killed))
    assert bench.works()
    assert bench.works()
    assert the_launcher() != killed


@warm_kinds
def test_a_cell_whose_launcher_is_killed_ends_and_leaves_nothing(bench: Bench) -> None:
    word = nap()

    def kill() -> None:
        wait_until(lambda: len(running(word)) == 2)
        os.kill(the_launcher(), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    with at_most(30):
        outcome = bench.run(f"(setsid sleep {word} &); sleep {word}")
    thread.join()
    try:
        assert outcome.ending is CommandEnding.EXHAUSTED, outcome
        assert wait_until(lambda: not running(word))
        assert bench.works()
    finally:
        end(word)


def test_a_launcher_that_does_not_answer_is_left_and_the_order_runs_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.works()
    stopped = the_launcher()
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(launcher, "_PATIENCE", 0.05)
    bench.says("echo once >> said", writable=True)
    os.kill(stopped, signal.SIGCONT)
    # Now it takes the order that was left with it; it is done with that when it has no child.
    monkeypatch.setattr(launcher, "_PATIENCE", 20)
    assert bench.works()
    assert wait_until(lambda: children(stopped) == [])
    assert (bench.workspace / "said").read_text() == "once\n"
    assert launchers() == [stopped]


BROKEN = {
    "it ends at once": "pass",
    "it ends when it is asked": "door.recvmsg(9, 999)",
    "it takes the order and forks nobody": "while door.recvmsg(9, 999)[0]: pass",
    "it closes what it was given and stays": (
        "import os\n"
        "while True:\n"
        "    _, fds, _, _ = socket.recv_fds(door, 9, 9)\n"
        "    if not fds: break\n"
        "    [os.close(each) for each in fds]"
    ),
    "what it forks dies at once": (
        "import os\n"
        "while True:\n"
        "    _, fds, _, _ = socket.recv_fds(door, 9, 9)\n"
        "    if not fds: break\n"
        "    if os.fork() == 0: os._exit(0)\n"
        "    [os.close(each) for each in fds]"
    ),
    "it is no Python": None,
}


@pytest.mark.parametrize("fault", BROKEN)
def test_with_a_broken_launcher_cells_run_all_the_same(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    really, code = launcher._python_that, BROKEN[fault]

    def broken(module: str, *numbers: int) -> list[str]:
        if module != "warm":
            return really(module, *numbers)
        if code is None:
            return ["/nowhere/python"]
        start = f"import socket\ndoor = socket.socket(fileno={numbers[0]})\n"
        return [sys.executable, "-I", "-S", "-c", start + code]

    monkeypatch.setattr(launcher, "_python_that", broken)
    monkeypatch.setattr(launcher, "_PATIENCE", 0.5)
    descriptors = sorted(os.listdir("/proc/self/fd"))
    for _ in range(5):
        bench.says("echo again >> said", writable=True)
    assert (bench.workspace / "said").read_text() == "again\n" * 5
    launcher.WARM.close()
    assert sorted(os.listdir("/proc/self/fd")) == descriptors


def test_an_answer_without_a_handle_is_no_second_start(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.works()
    really = socket.recv_fds
    monkeypatch.setattr(socket, "recv_fds", lambda *given: (really(*given)[0], [], 0, None))
    word = nap()
    with at_most(30), pytest.raises(CellProblem, match="cannot be started"):
        bench.run(f"echo once >> said; sleep {word}", writable=True)
    assert not running(word)
    monkeypatch.undo()


def test_an_interruption_before_the_answer_leaves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.works()
    word = nap()

    def interrupted(*_: object) -> bool:
        wait_until(lambda: running(word))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(launcher, "_answered", interrupted)
        with at_most(30), pytest.raises(KeyboardInterrupt):
            bench.run(f"(setsid sleep {word} &); sleep {word}")
    assert not running(word)
    assert bench.rooms() == []
    assert bench.works()


def test_an_interruption_while_a_launcher_does_not_answer_is_heeded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench.works()
    stopped = the_launcher()
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(host, "_PATIENCE", 0.2)

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(launcher, "_answered", interrupted)
        with at_most(20), pytest.raises(KeyboardInterrupt):
            bench.run("echo never >> said", writable=True)
    os.kill(stopped, signal.SIGCONT)
    assert bench.works()
    assert wait_until(lambda: children(stopped) == [])
    assert not (bench.workspace / "said").exists()
    assert bench.rooms() == []


# -- nothing is left -----------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("count", [30, pytest.param(200, marks=pytest.mark.thorough)])
def test_many_cells_leave_no_descriptor_process_or_folder(bench: Bench, count: int) -> None:
    assert bench.works()
    number = the_launcher()
    descriptors = sorted(os.listdir("/proc/self/fd"))
    before = sorted(children(os.getpid()))
    for _ in range(count):
        assert bench.works()
    assert sorted(os.listdir("/proc/self/fd")) == descriptors
    assert sorted(children(os.getpid())) == before
    # Those take their mounts away when nobody waits for them any more.
    assert wait_until(lambda: children(number) == [])
    assert bench.rooms() == []


def test_threads_share_one_launcher_from_the_beginning(bench: Bench) -> None:
    said: list[str] = []
    together = threading.Barrier(4)

    def run(name: str) -> None:
        together.wait()
        said.extend(bench.says(f"echo {name}") for _ in range(5))

    threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == sorted(f"{name}\n" for name in "abcd" for _ in range(5))
    assert len(launchers()) == 1


def test_a_launcher_outlives_the_thread_that_started_it(bench: Bench) -> None:
    first = threading.Thread(target=bench.works)
    first.start()
    running_still = threading.Thread(target=first.join)
    running_still.start()
    word = nap()
    assert bench.says(f"sleep 0.2; echo {word}") == f"{word}\n"
    running_still.join()
    number = the_launcher()
    assert bench.works()
    assert launchers() == [number]


OTHER_THREAD = """
import threading
first = threading.Thread(target=prepare)
first.start(); first.join()
print(run("sleep 0.1; echo done"), flush=True)
"""

BLOCKED_SIGNALS = """
import signal, threading

def begin():
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    prepare()

first = threading.Thread(target=begin)
first.start(); first.join()
# The keeper of the command waits for SIGCHLD itself.
print(run("grep SigBlk /proc/1/status | cut -f2 | sed s/10000$/00000/"), flush=True)
"""

FORKS = """
import os
run("true")
own = children()
child = os.fork()
if child == 0:
    assert children() == []
    assert run("echo in the fork") == "in the fork"
    assert children() not in ([], own)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert run("echo in the parent") == "in the parent"
assert children() == own
print("both", flush=True)
"""

HELD_BY_A_FORK = """
import os, time
run("true")
own = children()
fork = FORK()
if fork == 0:
    os.closerange(0, 3)
    time.sleep(60)
    os._exit(0)
print(*own, fork, flush=True)
os.kill(os.getpid(), 9)
"""

OTHER_LIMITS = """
import resource
run("true")
own = children()
resource.setrlimit(resource.RLIMIT_NOFILE, (123, 123))
assert run("ulimit -n") == "123"
assert children() == own
os.umask(0o077)
assert run("ulimit -n") == "123"
print("fine", flush=True)
"""

OTHER_USER = """
import os
run("true")
own = children()
for folder in sys.argv[1:]:
    os.chown(folder, 65534, 65534)
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
assert run("id -u") == "65534"
(other,) = children()
assert other not in own
for name in ("environ", "mem", "fd"):
    try:
        os.listdir(f"/proc/{other}/fd") if name == "fd" else open(f"/proc/{other}/{name}").close()
    except PermissionError:
        continue
    sys.exit(f"{name} can be read")
print("fine", flush=True)
"""

NO_SIGPIPE = """
import os, signal
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
run("true")
(number,) = children()
os.kill(number, 9)
assert run("echo on") == "on"
print("fine", flush=True)
"""

HARNESS = """
import os, sys
from planbound.cells.cell import Limits, Request
from planbound.cells.choose import NamespaceCell
from planbound.cells.launcher import prepare
from planbound.cells.scratch import Scratch

def run(script):
    cell = NamespaceCell(Scratch(sys.argv[1]))
    outcome = cell.run(Request(("/bin/bash", "-c", script), sys.argv[2],
                               {"PATH": "/usr/bin:/bin"}, Limits(seconds=20)))
    assert outcome.exit_code == 0, outcome
    return outcome.stdout.text().strip()

def children():
    path = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    return [int(number) for number in open(path).read().split()]
"""


def harness(
    bench: Bench, script: str, python: str = sys.executable, source: Path = SOURCE
) -> subprocess.CompletedProcess[str]:
    """Run a harness of its own process that does what a script says."""
    return subprocess.run(
        [python, "-c", HARNESS + script, bench.scratch, str(bench.workspace)],
        env={"PATH": cell_bench.PATH, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (OTHER_THREAD, "done"),
        (BLOCKED_SIGNALS, "0" * 16),
        (FORKS, "both"),
        (OTHER_LIMITS, "fine"),
        (NO_SIGPIPE, "fine"),
    ],
    ids=["another thread", "a thread that blocks signals", "a fork", "other limits", "no SIGPIPE"],
)
def test_a_harness_may_be_as_it_likes(bench: Bench, script: str, said: str) -> None:
    done = harness(bench, script)
    assert (done.stdout.strip(), done.returncode) == (said, 0), done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(os.getuid() != 0, reason="only root becomes another user")
def test_a_harness_that_becomes_another_user_has_no_launcher_of_the_first(
    everybodys: Path,
) -> None:
    bench = Bench("namespaces", everybodys / "own")
    done = harness(bench, OTHER_USER, "/usr/bin/python3", everybodys / "src")
    assert (done.stdout.strip(), done.returncode) == ("fine", 0), done.stderr


# The C library's leaves Python no chance to close what a fork should not have.
@pytest.mark.parametrize("fork", ["os.fork", "__import__('ctypes').PyDLL(None).fork"])
def test_a_launcher_ends_with_a_harness_whose_fork_lives_on(bench: Bench, fork: str) -> None:
    done = harness(bench, HELD_BY_A_FORK.replace("FORK", fork))
    assert done.returncode == -signal.SIGKILL, done.stderr
    number, left = map(int, done.stdout.split())
    try:
        assert wait_until(lambda: not lives(number))
        assert lives(left)
    finally:
        os.kill(left, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@warm_kinds
def test_a_harness_that_ends_takes_its_launcher_along(bench: Bench, number: signal.Signals) -> None:
    word = nap()
    with bench.harness(f"(setsid sleep {word} &); sleep {word}") as process:
        assert wait_until(lambda: len(running(word)) == 2)
        (own,) = launchers(process.pid)
        below = children(own)
        assert below
        process.send_signal(number)
        process.wait(timeout=30)
        assert wait_until(lambda: not any(map(lives, (own, *below))) and not running(word))
    assert bench.works()


def test_a_harness_that_ends_by_itself_leaves_no_launcher(bench: Bench) -> None:
    done = harness(bench, 'run("true"); print(*children(), flush=True)')
    assert done.returncode == 0, done.stderr
    number = int(done.stdout)
    assert wait_until(lambda: not lives(number))
