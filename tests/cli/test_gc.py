"""`planbound gc`, and what is not kept in the first place."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planbound.judging.reference import names
from planbound.plan.parse import parse
from planbound.workspace.vault import Vault
from tests.run.bench import Bench, Step, plan_text
from tests.workspace.test_vault import pair

MEGABYTE = 1 << 20


def repository(bench: Bench, *ignored: str) -> None:
    """Make the workspace a repository that ignores some folders."""
    (bench.workspace / ".git").rmdir()
    subprocess.run(["git", "init", "--quiet", "."], cwd=bench.workspace, check=True)
    bench.write(".gitignore", "".join(f"{name}/\n" for name in ignored))


def size(bench: Bench) -> int:
    """Return how large the contents are that are kept."""
    return (bench.folder / "state/vault.sqlite").stat().st_size


def kept(bench: Bench) -> Vault:
    return Vault(str(bench.folder / "state/vault.sqlite"))


# -- what is not kept ----------------------------------------------------------------------------


@pytest.mark.requirement("state.ignored")
def test_what_git_ignores_and_no_contract_names_is_watched_and_not_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    repository(bench, "build", "checks", ".cache-of-ours")
    blobs = {name: os.urandom(3 * MEGABYTE) for name in ("build/a", "build/deep/b", "checks/large")}
    for name, content in blobs.items():
        bench.write(name, content)
    bench.write("checks/check.sh", "grep -qx right src/a\n")
    bench.prepare(Step("Make a", contract="sh checks/check.sh"))
    vault = kept(bench)
    here = {name for name, content in blobs.items() if vault.content(pair(content)[0]) is not None}
    assert here == {"checks/large"}, "the contract names `checks`"
    vault.close()
    # A change is seen as everywhere else, with its name.
    bench.write("build/deep/b", "changed")
    judged = bench.run("judge", "--json").json["verdicts"][0]
    assert (judged["verdict"], "build/deep/b" in judged["reason"]) == ("out-of-scope", True), judged
    bench.write("build/deep/b", blobs["build/deep/b"])
    bench.goes("run")
    assert size(bench) < 5 * MEGABYTE
    state = [each for each in bench.run("doctor", "--json").json["checks"]
             if each["name"] == "state home"]  # fmt: skip
    assert "is private, and has 3." in state[0]["message"], state


@pytest.mark.parametrize(
    ("contract", "touches", "folder", "expected"),
    [
        ("make check", "src/**", "build", False),
        ("./build/run", "src/**", "build", True),
        ("ls build", "src/**", "build", True),
        ("test -f rebuild/x", "src/**", "build", False),
        ("cargo test --target-dir=target", "src/**", "target", True),
        ("true", "build/out/**", "build", True),
        ("true", "**", "build", False),
        ("true", "src/build/x", "build", False),
        ("cat a/b/c", "src/**", "a/b", True),
    ],
)
def test_a_folder_is_named_by_contracts_and_by_what_may_change(
    contract: str, touches: str, folder: str, *, expected: bool
) -> None:
    text = plan_text(Step("Make a", contract=contract, touches=touches))
    assert names(parse(text.encode(), path=""), folder) is expected


# -- gc ------------------------------------------------------------------------------------------


@pytest.mark.requirement("command.gc", "gc.safe")
def test_what_was_replaced_goes_and_what_is_needed_stays(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    first, second = os.urandom(2 * MEGABYTE), os.urandom(2 * MEGABYTE)
    bench.write("src/data", first)
    bench.prepare(Step("Make a"), Step("Make b", work="echo x > src/data; false"))
    bench.write("src/data", second)
    bench.write("src/note", "so that it is another tree\n")
    bench.goes("baseline")
    before = size(bench)
    dry = bench.goes("gc", "--dry-run")
    assert "would remove" in dry.out
    assert "2.1 MB" in dry.out
    assert size(bench) == before
    said = bench.run("gc", "--json").json
    assert (said["contents"] >= 2, said["busy"], said["dry_run"]) == (True, False, False)
    assert size(bench) < before - MEGABYTE
    vault = kept(bench)
    assert vault.content(pair(first)[0]) is None
    assert vault.content(pair(second)[0]) == second
    vault.close()
    assert "nothing to remove" in bench.goes("gc").out
    # A run that is cut off, or that failed, can still put back what it has to.
    bench.goes("run", code=-9, PLANBOUND_FAILPOINT="after:TASK_STARTED:2")
    bench.goes("gc")
    bench.run("run")
    assert (bench.workspace / "src/data").read_bytes() == second
    assert bench.phases()[0] == "done"
    bench.goes("gc")
    assert bench.verifies()


@pytest.mark.thorough
@pytest.mark.requirement("gc.safe")
def test_nothing_that_is_kept_goes_while_somebody_works(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.prepare(Step("Make a"))
    vault = kept(bench)
    orphan = pair(b"whoever kept this has not said yet what for")
    vault.keep([orphan])
    busy = bench.goes("gc")
    assert "leaves 1 of" in busy.out
    assert "try again later" in busy.err
    assert vault.content(orphan[0]) == orphan[1]
    vault.close()
    assert "removed 1 of" in bench.goes("gc").out
    assert vault.content(orphan[0]) is None
    vault.close()
    # Of a journal that is not at hand nobody knows what it needs.
    vault.keep([orphan])
    vault.close()
    (tmp_path / "state/journal.elsewhere").touch()
    assert "PLANBOUND_DATABASE_URL" in bench.goes("gc").err
    assert vault.content(orphan[0]) == orphan[1]
    vault.close()


DISCARD = """
import os, signal, sys
from planbound.workspace import vault as module
vault = module.Vault(sys.argv[1])
with vault._handle as connection:
    def stop(statement):
        if statement.startswith(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(stop)
vault.discard([bytes.fromhex(key) for key in sys.argv[3:]])
"""


@pytest.mark.requirement("gc.safe")
@pytest.mark.parametrize("statement", ["DELETE", "COMMIT", "PRAGMA auto", "PRAGMA incremental"])
def test_a_clearing_that_is_killed_loses_nothing_that_is_needed(
    tmp_path: Path, statement: str
) -> None:
    path = str(tmp_path / "vault.sqlite")
    vault = Vault(path)
    contents = [pair(hashlib.sha256(bytes([each])).digest() * 5000) for each in range(20)]
    vault.keep(contents)
    vault.close()
    garbage = contents[::2]
    done = subprocess.run(
        [sys.executable, "-c", DISCARD, path, statement, *(key.hex() for key, _ in garbage)],
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    for key, content in contents[1::2]:
        assert vault.content(key) == content
    gone = vault.missing(key for key, _ in garbage)
    assert len(gone) == (len(garbage) if statement.startswith("PRAGMA") else 0)
    vault.discard(key for key, _ in garbage)
    assert os.path.getsize(path) < 12 * 160_000
    vault.close()
