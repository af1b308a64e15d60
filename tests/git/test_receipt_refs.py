"""Receipts in a repository: kept below the tree that they are about, and sent without force."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

import pytest

from planbound.git.receipts import (
    RECEIPTS,
    keep_receipt,
    kept_receipts,
    read_receipt,
    send_receipts,
)
from planbound.git.repository import Repository
from tests.team.repo import Team

ONE, TWO = b'{"one": 1}\n', b'{"two": 2}\n'


@pytest.fixture
def repository(team: Team) -> Repository:
    """Return the repository as the harness sees it."""
    return Repository(str(team.workspace / ".git"), str(team.workspace), str(team.folder / "view"))


def test_many_receipts_of_one_tree_stand_side_by_side(team: Team, repository: Repository) -> None:
    tree = team.git("rev-parse", "HEAD^{tree}")
    first = keep_receipt(repository, tree, ONE)
    second = keep_receipt(repository, tree, TWO)
    assert first == f"{RECEIPTS}{tree}/{hashlib.sha256(ONE).hexdigest()}"
    assert {kept.ref for kept in kept_receipts(repository, tree)} == {first, second}
    assert team.git("show", first) == ONE.decode().strip()
    assert kept_receipts(repository, "0" * 40) == []


def test_the_same_receipt_is_kept_once(team: Team, repository: Repository) -> None:
    tree = team.git("rev-parse", "HEAD^{tree}")
    assert keep_receipt(repository, tree, ONE) == keep_receipt(repository, tree, ONE)
    assert len(kept_receipts(repository)) == 1


def test_a_ref_that_leads_to_something_else_is_no_receipt(
    team: Team, repository: Repository
) -> None:
    tree = team.git("rev-parse", "HEAD^{tree}")
    ref = keep_receipt(repository, tree, ONE)
    other = team.git("hash-object", "-w", str(team.workspace / ".gitignore"))
    team.git("update-ref", ref, other)
    (kept,) = kept_receipts(repository, tree)
    assert read_receipt(repository, kept, 1 << 20) is None
    team.git("update-ref", f"{RECEIPTS}{tree}/no-digest", other)
    assert len(kept_receipts(repository, tree)) == 1


def test_housekeeping_of_git_leaves_them(team: Team, repository: Repository) -> None:
    tree = team.git("rev-parse", "HEAD^{tree}")
    keep_receipt(repository, tree, ONE)
    team.git("gc", "--quiet", "--prune=now")
    (kept,) = kept_receipts(repository, tree)
    assert read_receipt(repository, kept, 1 << 20) == ONE
    assert read_receipt(repository, kept, 3) is None


def hub_of(team: Team) -> Path:
    hub = team.folder / "hub.git"
    team.git("init", "--quiet", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    return hub


def test_they_are_sent_to_the_remote_and_no_hook_is_run_on_either_side(
    team: Team, repository: Repository
) -> None:
    hub = hub_of(team)
    trace = team.traps()
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        shutil.copy(team.folder / "trap", hub / "hooks" / name)
    tree = team.git("rev-parse", "HEAD^{tree}")
    refs = [keep_receipt(repository, tree, ONE), keep_receipt(repository, tree, TWO)]
    trace.unlink(missing_ok=True)
    assert send_receipts(repository, "origin", refs) is None
    assert send_receipts(repository, "origin", refs) is None  # it is there already
    assert not trace.exists()
    listed = team.git("for-each-ref", "--format=%(refname)", cwd=hub).splitlines()
    assert sorted(refs) == listed


def test_another_content_under_the_name_stays_at_the_remote(
    team: Team, repository: Repository
) -> None:
    hub = hub_of(team)
    tree = team.git("rev-parse", "HEAD^{tree}")
    ref = keep_receipt(repository, tree, ONE)
    (hub / "other").write_text("other\n")
    other = team.git("hash-object", "-w", "other", cwd=hub)
    team.git("update-ref", ref, other, cwd=hub)
    assert send_receipts(repository, "origin", [ref]) is not None
    assert team.git("rev-parse", ref, cwd=hub) == other


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ext::sh -c touch% /tmp/owned", "a program of its own"),
        ("http://example.org/x.git", "reached by `http`"),
        ("git://example.org/x.git", "reached by `git`"),
        ("--upload-pack=touch", "a program of its own"),
    ],
)
def test_nothing_is_sent_where_a_program_or_a_clear_text_would_carry_it(
    team: Team, repository: Repository, address: str, said: str
) -> None:
    ref = keep_receipt(repository, team.git("rev-parse", "HEAD^{tree}"), ONE)
    with (team.workspace / ".git" / "config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = {address}\n')
    problem = send_receipts(repository, "origin", [ref])
    assert problem is not None
    assert said in problem


def test_a_remote_that_is_not_there_is_told(team: Team, repository: Repository) -> None:
    ref = keep_receipt(repository, team.git("rev-parse", "HEAD^{tree}"), ONE)
    assert send_receipts(repository, "origin", [ref]) == "there is no remote `origin`"
    team.git("remote", "add", "origin", str(team.folder / "nowhere"))
    problem = send_receipts(repository, "origin", [ref])
    assert problem is not None
    assert "nowhere" in problem


def test_what_the_repository_says_about_credentials_is_not_run(
    team: Team, repository: Repository
) -> None:
    script = team.folder / "helper"
    script.write_text(f"#!/bin/sh\ntouch {team.folder}/owned\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    hub = hub_of(team)
    team.git("config", "credential.helper", f"!{script}")
    team.git("config", "core.sshCommand", str(script))
    team.git("config", "remote.origin.receivepack", str(script))
    team.git("config", "remote.origin.url", f"ssh://localhost:1{hub}")
    ref = keep_receipt(repository, team.git("rev-parse", "HEAD^{tree}"), ONE)
    assert send_receipts(repository, "origin", [ref]) is not None
    assert not os.path.exists(team.folder / "owned")
