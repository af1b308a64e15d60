"""Something else than a file's content changes after a pass: nothing that was measured may lie.

Each row is something that a contract can ask for. It passes, and what was measured is taken over as
long as nothing happens: that is the twin. Then it is changed, and a look at the same tree has to
say what a fresh one says.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.test_judge import Project, plan_text
from tests.cli.test_log import rewrite
from tests.needs import need_working
from tests.tables import first_always


class Lie(NamedTuple):
    """What is changed so that a contract no longer passes."""

    name: str
    contract: str
    """`{aside}` is a folder beside the workspace that contracts may read."""
    change: Callable[[Path, Path], object]
    """Given the workspace and the folder beside it."""


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def in_the_past(path: Path) -> None:
    os.utime(path, (1_000_000_000, 1_000_000_000))


def write_over(root: Path, name: str, text: bytes) -> None:
    """Write over an object of git's."""
    digest = subprocess.check_output(["git", "rev-parse", name], cwd=root, text=True).strip()
    path = root / ".git/objects" / digest[:2] / digest[2:]
    path.chmod(0o644)
    path.write_bytes(zlib.compress(b"blob %d\0%b" % (len(text), text)))


LIES = [
    Lie("a tag is removed", "git tag | grep -qx v1", lambda root, _: git(root, "tag", "-d", "v1")),
    Lie(
        "a commit is taken back",
        "test $(git log --oneline | wc -l) = 2",
        lambda root, _: git(root, "reset", "--soft", "HEAD~1"),
    ),
    Lie(
        "a branch is switched",
        "git symbolic-ref HEAD | grep -qx refs/heads/main",
        lambda root, _: git(root, "symbolic-ref", "HEAD", "refs/heads/other"),
    ),
    Lie(
        "something is staged",
        "git diff --cached --quiet",
        lambda root, _: git(root, "rm", "-q", "--cached", "src/a"),
    ),
    Lie(
        "a branch is moved that is called as what git keeps by content",
        "test $(git rev-parse lfs/main) = $(git rev-parse HEAD)",
        lambda root, _: shutil.copy(
            root / ".git/refs/heads/other", root / ".git/refs/heads/lfs/main"
        ),
    ),
    Lie(
        "a branch is moved that is called as a sample of a hook",
        "test $(git rev-parse v1.sample) = $(git rev-parse HEAD)",
        lambda root, _: shutil.copy(
            root / ".git/refs/heads/other", root / ".git/refs/heads/v1.sample"
        ),
    ),
    Lie(
        "an object of git's is written over",
        "git show HEAD:src/a | grep -qx right",
        lambda root, _: write_over(root, "HEAD:src/a", b"wrong\n"),
    ),
    Lie(
        "git gets an empty folder",
        "test ! -d .git/rebase-apply",
        lambda root, _: (root / ".git/rebase-apply").mkdir(),
    ),
    Lie(
        "a hook of git's may be executed",
        "test ! -x .git/hooks/pre-push",
        lambda root, _: (root / ".git/hooks/pre-push").chmod(0o755),
    ),
    Lie(
        "a file is edited that a link of git's leads to",
        "grep -qx right .git/linked",
        lambda _, aside: (aside / "data").write_text("wrong\n"),
    ),
    Lie(
        "a file is older than another one",
        "test ! src/a -ot src/b",
        lambda root, _: in_the_past(root / "src/a"),
    ),
    Lie(
        "a folder is older than a file",
        "test ! src -ot src/b",
        lambda root, _: in_the_past(root / "src"),
    ),
    Lie(
        "a file gets another name",
        "test $(stat -c %h src/a) = 1",
        lambda root, aside: (aside / "link").hardlink_to(root / "src/a"),
    ),
    Lie(
        "a program is edited that a script calls",
        "bash src/check.sh",
        lambda _, aside: (aside / "bin/tool").write_text("#!/bin/sh\nexit 1\n"),
    ),
    Lie(
        "a program is edited that a Python calls",
        "python3 src/check.py",
        lambda _, aside: (aside / "bin/tool").write_text("#!/bin/sh\nexit 1\n"),
    ),
    Lie(
        "a file is edited that a script names",
        "bash src/reads.sh",
        lambda _, aside: (aside / "data").write_text("wrong\n"),
    ),
    Lie(
        "a file is edited that the shell completes",
        "grep -qx right {aside}/da*",
        lambda _, aside: (aside / "data").write_text("wrong\n"),
    ),
    Lie(
        "a file beside the workspace is called as a cache",
        "grep -qx right {aside}/__pycache__/data",
        lambda _, aside: (aside / "__pycache__/data").write_text("wrong\n"),
    ),
    Lie(
        "a file is edited that a relative way leads to",
        "grep -qx right ../aside/data",
        lambda _, aside: (aside / "data").write_text("wrong\n"),
    ),
    Lie(
        "a file of a toolchain is edited that a contract names",
        "grep -qx right ~/.cargo/registry/index",
        lambda _, aside: (aside.parent / "home/.cargo/registry/index").write_text("wrong\n"),
    ),
    Lie(
        "a file of a toolchain is edited that a variable leads to",
        'grep -qx right "$HOME"/.cargo/registry/index',
        lambda _, aside: (aside.parent / "home/.cargo/registry/index").write_text("wrong\n"),
    ),
    Lie(
        "a toolchain is set up otherwise",
        "bash src/builds.sh",
        lambda _, aside: (aside.parent / "home/.cargo/config.toml").write_text("wrong\n"),
    ),
    *(
        Lie(f"a file of a toolchain is edited that {how}", contract, lambda _, aside: spoil(aside))
        for how, contract in (
            ("a shell keeps in a variable", 'd=~/.cargo/registry; grep -qx right "$d/index"'),
            (
                "a loop goes through",
                "for each in ~/.cargo/registry/index; do grep -qx right $each; done",
            ),
            ("a shell reads in", 'test "$(<$HOME/.cargo/registry/index)" = right'),
            ("a Python reads", "python3 src/opens.py"),
            ("a Makefile includes", "make -s -f src/includes.mk"),
            ("a variable leads to", "PYTHONPATH=src:$HOME/.cargo/registry python3 src/loads.py"),
            ("a linked package is", "grep -qx right node_modules/lib/index"),
            ("a link behind a link leads to", "grep -qx right src/out/in/index"),
        )
    ),
]


def spoil(aside: Path) -> None:
    """Write over what contracts name, whatever it is called there."""
    for name, text in (
        ("index", "wrong\n"),
        ("it.mk", "all:\n\tfalse\n"),
        ("it.py", "RIGHT = 0\n"),
    ):
        (aside.parent / "home/.cargo/registry" / name).write_text(text)


OPENS = """
import os

with open(os.path.expanduser("~/.cargo/registry/index")) as file:
    raise SystemExit(file.read() != "right\\n")
"""


def laid(project: Project, contract: str) -> Path:
    aside = project.workspace.parent / "aside"
    (aside / "bin").mkdir(parents=True)
    (aside / "__pycache__").mkdir()
    for name in ("data", "__pycache__/data"):
        (aside / name).write_text("right\n")
    (aside / "bin/tool").write_text("#!/bin/sh\nexit 0\n")
    (aside / "bin/tool").chmod(0o755)
    (project.home / ".cargo/registry").mkdir(parents=True)
    for name in ("config.toml", "registry/index"):
        (project.home / ".cargo" / name).write_text("right\n")
    (project.home / ".cargo/registry/it.mk").write_text("all:\n\ttrue\n")
    (project.home / ".cargo/registry/it.py").write_text("RIGHT = 1\n")
    (project.home / ".cargo/more").mkdir()
    (project.home / ".cargo/more/in").symlink_to(project.home / ".cargo/registry")
    (project.workspace / "node_modules").mkdir()
    (project.workspace / "node_modules/lib").symlink_to(project.home / ".cargo/registry")
    project.write("src/a", "right\n")
    project.write("src/b", "right\n")
    os.utime(project.workspace / "src/b", (1_500_000_000, 1_500_000_000))
    project.write("src/check.sh", "tool\n")
    project.write("src/check.py", "import subprocess\nraise SystemExit(subprocess.call('tool'))\n")
    project.write("src/reads.sh", f"grep -qx right {aside}/data\n")
    (project.workspace / "src/out").symlink_to(project.home / ".cargo/more")
    project.write("src/opens.py", OPENS)
    project.write("src/loads.py", "import it\nraise SystemExit(not it.RIGHT)\n")
    project.write("src/includes.mk", "include $(HOME)/.cargo/registry/it.mk\n")
    project.write("src/builds.sh", "cd; cd .cargo; grep -qx right config.toml\n")
    project.write("planbound.toml", f'[contracts]\npath = ["{aside}/bin"]\nread = ["{aside}"]\n')
    project.plan("it", plan_text(contract.format(aside=aside)))
    git(project.workspace, "init", "-q", "-b", "main")
    for name in ("one", "two"):
        git(project.workspace, "add", ".")
        git(project.workspace, "commit", "-q", "--allow-empty", "-m", name)
    git(project.workspace, "tag", "v1")
    git(project.workspace, "branch", "lfs/main")
    git(project.workspace, "branch", "v1.sample")
    git(project.workspace, "branch", "other", "HEAD~1")
    project.write(".git/hooks/pre-push", "exit 0\n")
    (project.workspace / ".git/linked").symlink_to(aside / "data")
    project.judge()  # the first look at a plan writes into its file
    return aside


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
@pytest.mark.parametrize("lie", first_always(LIES), ids=lambda lie: lie.name)
def test_nothing_is_taken_over_where_a_fresh_look_would_differ(project: Project, lie: Lie) -> None:
    aside = laid(project, lie.contract)
    project.first()
    twin = project.first()
    assert (twin["verdict"], twin["reused"] is not None) == ("pass", True)
    lie.change(project.workspace, aside)
    taken, fresh = project.first(), project.first("--fresh")
    assert fresh["verdict"] == "fail"
    assert (taken["verdict"], taken["reused"]) == ("fail", None)


def when_it_runs(command: str, change: Callable[[], object]) -> threading.Thread:
    """Change something as soon as a contract is seen to run."""

    def watch() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            for each in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    if command.encode() in each.read_bytes() and b"bash" in each.read_bytes():
                        change()
                        return
            time.sleep(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
@pytest.mark.parametrize(
    ("question", "path", "verdict"),
    first_always(
        [
            ("test -e node_modules/marker", "node_modules/marker", "tampered"),
            ("git rev-parse -q --verify refs/tags/v2", ".git/refs/tags/v2", "pass"),
        ],
        fields=3,
    ),
)
def test_what_changed_while_a_contract_ran_is_not_taken_over(
    project: Project, question: str, path: str, verdict: str
) -> None:
    command = f"sleep 3; {question}"
    laid(project, "true")
    project.plan("it", plan_text(command))
    project.run("verify", "it")  # writes into its file, too
    marker = project.workspace / path
    thread = when_it_runs(
        command, lambda: shutil.copy(project.workspace / ".git/refs/heads/main", marker)
    )
    try:
        assert project.first()["verdict"] == verdict
    finally:
        thread.join()
    marker.unlink()
    found = project.first()
    assert (found["verdict"], found["reused"]) == ("fail", None)


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
def test_every_folder_that_a_variable_leads_to_is_looked_at(project: Project) -> None:
    aside = laid(project, "python3 src/loads.py")
    for name in ("first", "second"):
        (aside.parent / name).mkdir()
    (aside.parent / "second/it.py").write_text("RIGHT = 1\n")
    project.write("planbound.toml", '[contracts]\nenv = ["PYTHONPATH"]\n')
    where = f"{aside.parent}/first:{aside.parent}/second"
    project.first(PYTHONPATH=where)
    assert project.first(PYTHONPATH=where)["reused"] is not None
    (aside.parent / "second/it.py").write_text("RIGHT = 0\n")
    found = project.first(PYTHONPATH=where)
    assert (found["verdict"], found["reused"]) == ("fail", None)


ASKS = """
import socket
import sys

with socket.socket(socket.AF_UNIX) as asked:
    asked.connect(sys.argv[1])
    raise SystemExit(asked.recv(9) != b"right")
"""


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
def test_what_a_service_answers_is_never_taken_over(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid(project, "python3 src/asks.py ../aside/socket")
    project.write("src/asks.py", ASKS)
    monkeypatch.chdir(project.workspace)
    said = [b"right"]

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                with server.accept()[0] as one:
                    one.sendall(said[0])

    with socket.socket(socket.AF_UNIX) as server:
        server.bind("../aside/socket")
        server.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            twins = [project.first()["verdict"] for _ in range(2)]
            said[0] = b"wrong"
            found = project.first()
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
    assert twins == ["pass", "pass"]
    assert (found["verdict"], found["reused"]) == ("fail", None)


@pytest.mark.requirement("judging.reuse")
def test_what_a_person_only_looks_at_in_git_changes_nothing(project: Project) -> None:
    laid(project, "grep -qx right src/a")
    project.first()
    for command in (["status"], ["log"], ["diff"], ["show"]):
        git(project.workspace, *command)
    assert project.first()["reused"] is not None


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
def test_limits_and_priorities_that_a_contract_inherits_are_seen(project: Project) -> None:
    for program, words in (("setarch", "-R"), ("chrt", "-b 0")):
        need_working(program, *words.split(), "true")
    laid(project, "test $(ulimit -n) -gt 300")

    def judged(command: str, start: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", f"{command}; {start} {sys.executable} -m planbound judge it --step 1"],
            cwd=project.workspace,
            env=project.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout + done.stderr

    assert "reused" not in judged("ulimit -n 512")
    assert "reused" in judged("ulimit -n 512")
    for start in ("setarch -R", "chrt -b 0"):
        assert "reused" not in judged("ulimit -n 512", start)
        assert "reused" in judged("ulimit -n 512", start)
    assert "reused" not in judged("ulimit -n 256")


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
@pytest.mark.parametrize("command", [("doctor",), ("log", "--verify")], ids=" ".join)
def test_after_the_chain_was_found_broken_nothing_is_taken_over(
    project: Project, command: tuple[str, ...]
) -> None:
    laid(project, "grep -qx right src/a")
    project.first()
    assert project.first()["reused"] is not None
    (journal,) = project.home.glob(".local/state/planbound/*/journal.sqlite")
    rewrite(journal, "update journal set plan = 'z' where seq = 1")
    assert project.run(*command).code == 1
    assert [project.first()["reused"] for _ in range(2)] == [None, None]
