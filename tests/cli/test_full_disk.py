"""A disk that is full, read-only or broken: said as what it is, and nothing is half-done."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planbound.disk.space import disk_of, disk_problem, size_text
from planbound.workspace.vault import Vault
from tests.needs import need
from tests.run.bench import Bench, Step
from tests.tables import first_always
from tests.workspace.test_vault import pair

pytestmark = pytest.mark.requirement("disk.no-bug")

APPROVE = "approve --as tester --digest {digest}"
PLAIN = (
    "verify",
    "new other",
    APPROVE,
    "judge",
    "baseline",
    "run",
    "resume",
    "answer x retry",
    "inbox",
    "cancel",
)
READING = ("status", "list", "log", "show", "standup", "claims")
SOME = ("new other", "baseline", "run", "status", "log", "doctor")
"""One of each kind: one that writes a plan, that keeps a tree, that runs, that reads."""
NAMESPACE = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]


def small_disks(script: str, bench: Bench) -> str:
    """Run a script of bash that may mount what it likes; return what it said."""
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("nobody but root may mount here")
    done = subprocess.run(
        [*NAMESPACE, "/bin/bash", "-c", f"set -e\n{script}"],
        cwd=bench.workspace,
        env=bench.environment(PB=f"{sys.executable} -m planbound"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def each(commands: tuple[str, ...], digest: str) -> str:
    """Return a script that tries every command, and says how it ended."""
    lines = [
        f'echo "== {words}"; code=0; $PB {words} 2>&1 || code=$?; echo "-- $code"'
        for words in (command.format(digest=digest) for command in commands)
    ]
    return "\n".join(lines)


def ends(said: str) -> dict[str, tuple[int, str]]:
    """Return how every command ended, and what it said."""
    found = re.findall(r"^== (\w+).*?\n(.*?)^-- (\d+)$", said, re.MULTILINE | re.DOTALL)
    return {name: (int(code), text) for name, text, code in found}


def digest_of(bench: Bench) -> str:
    return str(bench.run("show", "--json").json["digest"])[:16]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "commands",
    first_always([SOME, (*PLAIN, *READING, "doctor")]),
    ids=["one of each kind", "every command"],
)
def test_on_a_full_disk_no_command_is_a_bug_and_afterwards_all_goes_on(
    tmp_path: Path, commands: tuple[str, ...]
) -> None:
    bench = Bench(tmp_path)
    bench.lay(Step("Make a"))
    (tmp_path / "state").mkdir(mode=0o700)
    digest = digest_of(bench)
    state = shlex.quote(str(tmp_path / "state"))
    said = small_disks(
        f"""
        mount -t tmpfs -o size=2m,mode=700 small {state}
        $PB approve --as tester --digest {digest} >/dev/null
        echo 'more' > src/more  # which has to be kept, too
        cat /dev/zero > {state}/filler 2>/dev/null || true
        {each(commands, digest)}
        rm {state}/filler
        {each(("run", "log --verify"), digest)}
        """,
        bench,
    )
    full, _, after = said.rpartition("== run\n")
    codes = ends(full)
    assert {name: code for name, (code, _) in codes.items() if code not in {0, 1, 2, 3, 4}} == {}
    assert "bug" not in full
    for name in ("baseline", "run"):
        assert codes[name][0] == 2, codes[name]
        assert re.search("[Nn]o space", codes[name][1]), codes[name]
    assert {codes[name][0] for name in READING if name in commands} == {0}, codes
    assert f"{tmp_path}/state (small, tmpfs)" in codes["doctor"][1]
    assert "hardly any space is left" in codes["doctor"][1]
    assert codes["doctor"][0] == 1
    gone_on = ends("== run\n" + after)
    assert gone_on["run"][0] == gone_on["log"][0] == 0, after


@pytest.mark.thorough
def test_what_does_not_fit_into_the_vault_leaves_the_state_home_as_it_was(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.lay(Step("Make a"))
    bench.write("large", os.urandom(3_000_000))
    (tmp_path / "state").mkdir(mode=0o700)
    state = shlex.quote(str(tmp_path / "state"))
    said = small_disks(
        f"""
        mount -t tmpfs -o size=2m,mode=700 small {state}
        {each(("baseline", "list"), "")}
        df --output=used -B1 {state} | tail -1
        truncate -s 1200000 large  # fits once, and not twice
        {each(("baseline",), "")}
        """,
        bench,
    )
    (first, text), (second, _) = (
        ends(part)["baseline"] for part in re.split("(?<=\n)(?= *\\d+\n)", said)
    )
    assert (first, second) == (2, 0), said
    assert "no space left" in text
    used = re.search(r"^ *(\d+)$", said, re.MULTILINE)
    assert used is not None
    assert int(used[1]) < 400_000


@pytest.mark.requirement("gate.all-or-nothing")
def test_an_approval_on_a_read_only_mount_does_not_count(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.lay(Step("Make a"))
    digest = digest_of(bench)
    workspace = shlex.quote(str(bench.workspace))
    said = small_disks(
        f"""
        mount --bind {workspace} {workspace}
        mount -o remount,bind,ro {workspace}
        cd {workspace}
        {each((APPROVE, "status", "run", "reject --reason no --as tester", "doctor"), digest)}
        """,
        bench,
    )
    codes = ends(said)
    assert codes["approve"][0] == 2
    assert "Read-only file system" in codes["approve"][1]
    assert "approved" not in codes["status"][1]
    assert (codes["run"][0], "is not approved" in codes["run"][1]) == (2, True)
    assert "it is read-only" in codes["doctor"][1]
    assert codes["reject"][0] == 2
    assert not bench.log().of("GATE_APPROVED", "BASELINE_OBSERVED", "GATE_REJECTED")
    bench.approve()


@pytest.mark.thorough
@pytest.mark.parametrize("name", first_always(["ENOSPC", "EDQUOT", "EROFS", "EIO"]))
def test_a_disk_that_fails_at_any_call_is_no_bug(tmp_path: Path, name: str) -> None:
    need("strace", "it makes system calls fail")
    bench = Bench(tmp_path)
    bench.prepare(Step("Make a"))
    calls = "pwrite64,fsync,fdatasync,ftruncate,mkdir,rename,unlink,flock"
    for words in (["run"], ["new", "other"]):
        done = subprocess.run(
            ["strace", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, "-e", f"trace={calls}", "-e",
             f"inject={calls}:error={name}:when=3+", sys.executable, "-m", "planbound", *words],
            cwd=bench.workspace,
            env=bench.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode in {0, 1, 2}, (words, done.stdout + done.stderr)
        assert "Traceback" not in done.stderr
    assert bench.verifies()


def _from(error: BaseException) -> Exception:
    found = RuntimeError("something of ours")
    found.__cause__ = error
    return found


WRAPPED: tuple[Callable[[OSError], BaseException], ...] = (
    lambda error: error,
    _from,
    lambda error: ExceptionGroup("several", [ValueError(), _from(error)]),
)


@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_an_error_of_the_disk_is_found_wherever_it_is(
    number: int, wrapped: Callable[[OSError], BaseException]
) -> None:
    problem = disk_problem(wrapped(OSError(number, "x", "/some/where")))
    assert problem is not None
    assert "`/some/where`" in problem.message
    assert problem.hint


def test_other_errors_are_not_the_disks() -> None:
    for error in (OSError(errno.ENOENT, "x"), ValueError("no space left"), sqlite3.Error()):
        assert disk_problem(error) is None


def test_the_disk_of_a_path_is_told_also_where_nothing_is_yet(tmp_path: Path) -> None:
    here, nowhere = disk_of(str(tmp_path)), disk_of(str(tmp_path / "a/b"))
    assert (here.mount, here.device) == (nowhere.mount, nowhere.device)
    assert str(tmp_path).startswith(here.mount)
    assert [size_text(size) for size in (0, 999, 1000, 294_000_000, 10**13)] == [
        "0 bytes", "999 bytes", "1.0 kB", "294.0 MB", "10.0 TB",
    ]  # fmt: skip


def test_a_vault_with_a_log_of_an_earlier_version_is_read_and_goes_on_without(
    tmp_path: Path,
) -> None:
    path = tmp_path / "vault.sqlite"
    vault = Vault(str(path))
    one, two = pair(b"one"), pair(b"two")
    vault.keep([one])
    vault.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO object VALUES (?, ?)", two)
        connection.commit()
        assert os.path.getsize(f"{path}-wal")
        assert vault.content(two[0]) == b"two"  # while the other one has it open
    connection.close()
    vault.close()
    assert (vault.content(one[0]), vault.content(two[0])) == (b"one", b"two")
    assert not os.path.exists(f"{path}-wal")
    vault.close()
    assert json.dumps(sorted(os.listdir(tmp_path))).count("wal") == 0
