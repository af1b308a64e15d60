"""The door to GitHub: what it is called, and a `gh` that does not end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planbound.errors import GitHubProblem
from planbound.git.github import GitHub, HostedRepository, hosted_at
from tests.receipts.scripted_gh import ScriptedGh
from tests.tables import one_fact

ADDRESSES = [
    ("https://github.com/octo/lending.git", "octo/lending"),
    ("https://github.com/octo/lending", "octo/lending"),
    ("https://x-access-token:secret@github.com/octo/lending.git/", "octo/lending"),
    ("git@github.com:octo/lending.git", "octo/lending"),
    ("github.com:octo/lending", "octo/lending"),
    ("ssh://git@ssh.github.com:443/octo/lending.git", "octo/lending"),
    ("ssh://git@github.example.org/octo/a.b_c-d.git", "github.example.org/octo/a.b_c-d"),
    ("/srv/git/lending.git", None),
    ("../lending.git", None),
    ("file://srv/octo/lending.git", None),
    ("https://github.com/octo", None),
    ("https://github.com/octo/lending/tree/main", None),
    ("https://github.com/octo/lending?x=1", None),
    ("ext::sh -c octo/lending", None),
    ("git@github.com:octo/../lending", None),
]


@one_fact("address, name", ADDRESSES)
def test_a_repository_is_told_by_the_address_of_its_remote(address: str, name: str | None) -> None:
    found = hosted_at(address)
    assert (None if found is None else str(found)) == name


def door(gh: ScriptedGh, seconds: float = 60.0) -> GitHub:
    path = f"{gh.programs}{os.pathsep}{os.environ['PATH']}"
    repository = HostedRepository("github.com", "octo", "lending")
    environment = {"PATH": path, "HOME": str(gh.folder), "SECRET": "1", "GH_TOKEN": "t"}
    return GitHub(repository, roots=["/nonexistent"], environment=environment, seconds=seconds)


@pytest.mark.requirement("publish.bounded")
def test_a_gh_that_hangs_is_ended(tmp_path: Path) -> None:
    gh = ScriptedGh(tmp_path)
    os.mkfifo(gh.folder / "hangs")
    with pytest.raises(GitHubProblem, match=r"`gh api` did not end in 0\.2 s"):
        door(gh, seconds=0.2).account()
    with pytest.raises(GitHubProblem, match="`gh auth` did not end"):
        door(gh, seconds=0.2).obstacle()


def test_gh_gets_the_variables_that_lead_to_an_account_and_no_other(tmp_path: Path) -> None:
    gh = ScriptedGh(tmp_path)
    assert door(gh).account() == 7
    (call,) = gh.calls()
    assert {"GH_TOKEN", "HOME", "PATH", "GH_PROMPT_DISABLED"} <= set(call["variables"])
    assert "SECRET" not in call["variables"]


TOKENS = {"GH_TOKEN": "t", "GITHUB_TOKEN": "t", "GH_ENTERPRISE_TOKEN": "e"}


@pytest.mark.parametrize(
    ("host", "named", "meant", "given"),
    [
        ("github.com", False, "", {"GH_TOKEN", "GITHUB_TOKEN"}),
        ("evil.example", False, "", set()),
        ("evil.example", False, "git.example", set()),
        ("git.example", False, "git.example", set(TOKENS)),
        ("git.example", True, "", set(TOKENS)),
    ],
)
def test_the_address_of_a_remote_leads_no_token_elsewhere(
    tmp_path: Path, *, host: str, named: bool, meant: str, given: set[str]
) -> None:
    gh = ScriptedGh(tmp_path)
    environment = {**TOKENS, "GH_HOST": meant, "PATH": f"{gh.programs}{os.pathsep}/usr/bin:/bin"}
    repository = HostedRepository(host, "octo", "lending")
    asked = GitHub(repository, roots=[], environment=environment, named=named)
    assert asked.obstacle() is None
    (call,) = gh.calls()
    assert set(call["variables"]) & set(TOKENS) == given


def test_an_answer_of_another_shape_is_a_clear_error(tmp_path: Path) -> None:
    gh = ScriptedGh(tmp_path)
    gh.put("me", "seven")
    with pytest.raises(GitHubProblem, match="has no `id`"):
        door(gh).account()
    gh.put("pulls", [{"head": "x", "base": "main", "state": "open"}])
    with pytest.raises(GitHubProblem, match="has no `number`"):
        door(gh).pull_request("x", "main")
