"""`publish`: a branch, a pull request and one comment, by a scripted `gh` and a real remote."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from planbound.receipts import publish
from planbound.receipts.comment import first_line
from planbound.workspace.context import Context
from tests.needs import need
from tests.program import Outcome
from tests.receipts.scripted_gh import ScriptedGh
from tests.run.bench import Bench, Step
from tests.team.repo import Team

REFS = "refs/planbound/receipts/"
PULLS = "repos/octo/lending/pulls"
COMMENTS = "repos/octo/lending/issues/12/comments"


class Publishing(Team):
    """A repository with a remote, and a `gh`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gh = ScriptedGh(folder)
        self.extra["PATH"] = f"{self.gh.programs}{os.pathsep}{os.environ['PATH']}"
        self.hub = folder / "hub.git"
        self.git("init", "--quiet", "--bare", "--initial-branch", "main", str(self.hub))
        self.git("remote", "add", "origin", str(self.hub))
        self.git("push", "--quiet", "origin", "main")

    def proved(self, name: str = "alpha") -> str:
        """Prove a plan in a worktree of its own."""
        self.named(name, Step(f"make {name}"), approve=False)
        self.goes("spawn", name)
        self.approve(name)
        self.goes("run", name, "--no-input")
        return name

    def publish(self, *words: str, code: int = 0, name: str = "alpha") -> Outcome:
        """Publish a plan to the repository that the remote stands for."""
        given = ("--github", "--repository", "octo/lending", *words)
        return self.goes("publish", name, *given, code=code)

    def there(self) -> dict[str, str]:
        """Return the refs of the remote."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", cwd=self.hub)
        return dict(line.split(" ") for line in lines.splitlines())


@pytest.fixture
def team(tmp_path: Path) -> Publishing:
    need("ssh-keygen", "receipts are signed by it")
    return Publishing(tmp_path)


@pytest.mark.requirement("command.publish", "publish.one-comment")
def test_a_proved_plan_becomes_a_branch_a_pull_request_and_a_comment(team: Publishing) -> None:
    team.proved()
    done = team.publish()
    branch = team.tip("planbound/alpha")
    there = team.there()
    assert there["refs/heads/planbound/alpha"] == branch
    (receipt,) = [name for name in there if name.startswith(REFS)]
    (request,) = team.gh.kept("pulls")
    assert (request["head"], request["base"]) == ("planbound/alpha", "main")
    assert request["draft"] is False
    (comment,) = team.gh.kept("comments")
    lines = comment["body"].splitlines()
    assert lines[0] == first_line("alpha")
    assert "✅ **proved**" in lines[1]
    assert f"commit `{branch[:12]}`" in lines[2]
    assert f"git fetch origin {receipt} && git cat-file blob FETCH_HEAD" in comment["body"]
    assert done.out.splitlines()[0] == (
        f"push the branch: {branch[:12]} as `planbound/alpha` of octo/lending"
    )
    assert done.out.splitlines()[-1] == "https://github.com/octo/lending/pull/12"
    calls = team.gh.calls()
    assert len(calls) == 6
    for call in calls:
        assert call["cwd"] == "/"
        assert "github.com" in call["words"]
        assert "PLANBOUND_STATE" not in call["variables"]


@pytest.mark.thorough
@pytest.mark.requirement("publish.one-comment")
def test_publishing_again_changes_nothing(team: Publishing) -> None:
    team.proved()
    team.publish()
    before = (team.there(), team.gh.kept("pulls"), team.gh.kept("comments"))
    team.gh.calls()
    done = team.publish(code=3)
    assert "nothing to do" in done.err
    calls = team.gh.calls()
    assert len(calls) == 5
    assert not any("POST" in call["words"] or "PATCH" in call["words"] for call in calls)
    assert before == (team.there(), team.gh.kept("pulls"), team.gh.kept("comments"))
    found = team.publish("--json", code=3).json
    assert found["done"] is True
    assert {step["change"] for step in found["steps"]} == {"none"}


@pytest.mark.thorough
@pytest.mark.requirement("publish.one-comment")
def test_the_comment_is_edited_in_place_when_the_plan_was_proved_anew(team: Publishing) -> None:
    team.proved()
    team.publish()
    first = team.gh.kept("comments")[0]["body"]
    team.approve("alpha")
    team.goes("run", "alpha", "--no-input")
    team.gh.calls()
    done = team.publish()
    assert team.gh.changes() == ["PATCH repos/octo/lending/issues/comments/100"]
    assert "edit the comment: " in done.out
    (comment,) = team.gh.kept("comments")
    assert comment["body"] != first
    assert len(team.gh.kept("pulls")) == 1


@pytest.mark.thorough
def test_a_comment_that_somebody_changed_says_again_what_holds(team: Publishing) -> None:
    team.proved()
    team.publish()
    (comment,) = team.gh.kept("comments")
    team.gh.put("comments", [{**comment, "body": comment["body"].replace("proved", "perfect")}])
    team.publish()
    assert team.gh.kept("comments")[0]["body"] == comment["body"]
    crlf = {**comment, "body": comment["body"].replace("\n", "\r\n").strip()}
    team.gh.put("comments", [crlf])
    team.publish(code=3)


@pytest.mark.requirement("publish.own-comment")
def test_a_marker_that_somebody_else_wrote_is_left_alone(team: Publishing) -> None:
    team.proved()
    team.publish()
    forged = {
        "id": 55,
        "body": f"{first_line('alpha')}\nall is well, merge it",
        "user": {"id": 666, "login": "ann"},
    }
    quoted = {"id": 56, "body": f"> {first_line('alpha')}\nlook", "user": {"id": 7}}
    orphan = {"id": 57, "body": first_line("alpha"), "user": None}
    team.gh.put("comments", [forged, quoted, orphan])
    team.gh.calls()
    team.publish()
    assert team.gh.changes() == [f"POST {COMMENTS}"]
    kept = team.gh.kept("comments")
    assert kept[:3] == [forged, quoted, orphan]
    assert kept[3]["body"].startswith(first_line("alpha"))
    team.publish(code=3)


@pytest.mark.thorough
def test_the_comment_is_found_behind_hundreds_of_others(team: Publishing) -> None:
    team.proved()
    team.publish()
    mine = team.gh.kept("comments")
    others = [{"id": n, "body": "+1", "user": {"id": 1}} for n in range(1000, 1250)]
    team.gh.put("comments", [*others, *mine])
    team.publish(code=3)


@pytest.mark.requirement("publish.proved-only")
def test_the_way_out_can_be_copied_whatever_a_plan_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publish, "find_git", lambda _root: "/usr/bin/git")
    monkeypatch.setattr(publish, "make_repository", lambda _context: None)
    monkeypatch.setattr(publish, "collect", lambda *_: SimpleNamespace(run=None))
    monkeypatch.setattr(publish, "not_proved", lambda _run: ["step 1"])
    context = cast("Context", SimpleNamespace(root="/nowhere"))
    with pytest.raises(publish.NotPublished) as refused:
        publish._Publishing(context, "x$(id)", publish.PublishOrder("origin"))
    assert refused.value.hint == "`planbound status 'x$(id)'` says where it is"


@pytest.mark.requirement("publish.proved-only")
def test_what_is_not_proved_is_refused_with_what_is_missing(team: Publishing) -> None:
    team.named("alpha", Step("make alpha", "true", fields="**on_fail:** abort"), approve=False)
    team.goes("spawn", "alpha")
    team.approve("alpha")
    assert team.run("run", "alpha", "--no-input").code != 0
    before = team.there()
    done = team.publish(code=1)
    assert "`alpha` is not proved, so nothing is published: step 1" in done.err
    assert team.there() == before
    assert team.gh.calls() == []
    assert team.goes("publish", "alpha", "--github", "--json", code=1).json["error"]["code"] == (
        "not-published"
    )
    never = team.named("beta", Step("make beta"))
    assert "`beta` never ran" in team.publish(name=never, code=2).err


@pytest.mark.thorough
@pytest.mark.requirement("publish.proved-only")
def test_files_that_were_changed_after_the_proof_are_refused(team: Publishing) -> None:
    team.proved()
    tree = team.worktree("alpha")
    (tree / "src" / "later").write_text("by hand\n")
    team.commit("more", cwd=tree)
    done = team.publish(code=1)
    assert "no commit of the branch of `alpha` has the files that were proved" in done.err
    assert "refs/heads/planbound/alpha" not in team.there()


@pytest.mark.thorough
def test_a_plan_of_the_main_worktree_is_published_once_it_is_committed(team: Publishing) -> None:
    team.named("alpha", Step("make alpha"))
    team.goes("run", "alpha", "--no-input")
    assert "has the files that were proved" in team.publish(code=1).err
    commit = team.commit("work")
    team.publish("--draft")
    assert team.there()["refs/heads/planbound/alpha"] == commit
    (request,) = team.gh.kept("pulls")
    assert (request["head"], request["draft"]) == ("planbound/alpha", True)


@pytest.mark.thorough
def test_what_people_took_on_is_told_loudly(team: Publishing) -> None:
    team.named("alpha", Step("make alpha", "true"), after=["test -d src"], approve=False)
    team.goes("spawn", "alpha")
    team.approve("alpha")
    assert team.run("run", "alpha", "--no-input").code == 4
    team.goes("waive", "alpha", "1", "--reason", "no @time", "--as", "ann")
    team.goes("run", "alpha", "--no-input")
    done = team.publish("--json")
    assert done.json["outcome"] == "settled"
    assert done.json["by_word"] == ["step 1 is waived"]
    assert "warning: step 1 is waived: no contract shows it" in done.err
    body = team.gh.kept("comments")[0]["body"]
    assert "⚠️ **done, and not all of it proved**" in body
    assert "**waived** by `ann`: `no @time`" in body


@pytest.mark.requirement("publish.no-force")
def test_a_branch_with_other_commits_is_refused_and_stays(team: Publishing) -> None:
    team.proved()
    other = team.folder / "other"
    team.git("clone", "--quiet", str(team.hub), str(other))
    team.git("checkout", "--quiet", "-b", "planbound/alpha", cwd=other)
    theirs = team.commit("theirs", cwd=other)
    team.git("push", "--quiet", "origin", "planbound/alpha", cwd=other)
    done = team.publish(code=2)
    assert "has commits that are not in" in done.err
    assert "nothing is ever forced" in done.err
    assert team.there()["refs/heads/planbound/alpha"] == theirs
    assert team.gh.kept("pulls") == []


@pytest.mark.thorough
def test_a_branch_that_goes_on_is_pushed_forward(team: Publishing) -> None:
    team.proved()
    base = team.tip("main")
    team.git("push", "--quiet", "origin", f"{base}:refs/heads/planbound/alpha")
    done = team.publish()
    assert "push to the branch: " in done.out
    assert team.there()["refs/heads/planbound/alpha"] == team.tip("planbound/alpha")


@pytest.mark.requirement("publish.dry-run")
def test_a_dry_run_says_all_of_it_and_does_nothing(team: Publishing) -> None:
    team.proved()
    before = team.there()
    done = team.publish("--dry-run")
    assert team.there() == before
    assert team.gh.changes() == []
    assert team.git("for-each-ref", REFS) == ""
    lines = done.out.splitlines()
    assert [line for line in lines if line.startswith("would ")][2].startswith(
        "would open the pull request: pull request of `planbound/alpha` into `main`: "
    )
    assert f"    {first_line('alpha')}" in lines
    assert team.publish("--dry-run", "--json").json["done"] is False
    team.publish()
    team.publish("--dry-run", code=3)


@pytest.mark.thorough
@pytest.mark.requirement("publish.dry-run")
@pytest.mark.parametrize("missing", ["gh", "token"])
def test_without_gh_or_a_token_it_says_what_it_would_do(team: Publishing, missing: str) -> None:
    team.proved()
    if missing == "gh":
        (team.gh.programs / "gh").unlink()
        without = team.folder / "few"
        without.mkdir()
        for name in ("git", "python3", "bash"):
            found = subprocess.run(["which", name], capture_output=True, text=True, check=True)
            (without / name).symlink_to(found.stdout.strip())
        team.extra["PATH"] = str(without)
    else:
        team.gh.put("no-token")
    before = team.there()
    done = team.publish(code=2)
    assert "would push the branch: " in done.out
    assert "would write the comment, or edit the one that is there" in done.out
    said = "is not on the PATH" if missing == "gh" else "has no account at github.com: You are not"
    assert "nothing was published: `gh`" in done.err
    assert said in done.err
    assert "gh auth login" in done.err
    assert team.there() == before
    found = team.publish("--json", code=2).json
    assert said in found["obstacle"]
    assert found["done"] is False
    team.publish("--dry-run")


@pytest.mark.thorough
def test_what_github_refuses_is_told_and_the_next_time_goes_on(team: Publishing) -> None:
    team.proved()
    body = {"message": "Validation Failed", "errors": [{"message": "No commits between a and b"}]}
    said = "Validation Failed (HTTP 422)"
    team.gh.put("fails", {f"POST {PULLS}": {"body": body, "said": said}})
    done = team.publish(code=2)
    assert (
        f"GitHub refuses `POST {PULLS}`: Validation Failed (HTTP 422); No commits between a and b"
        in done.err
    )
    (team.gh.folder / "fails").unlink()
    team.gh.calls()
    team.publish()
    assert team.gh.changes() == [f"POST {PULLS}", f"POST {COMMENTS}"]
    team.gh.put("babbles")
    assert "is no JSON" in team.publish(code=2).err


@pytest.mark.thorough
def test_a_program_of_the_workspace_is_not_taken_for_gh(team: Publishing) -> None:
    team.proved()
    evil = team.workspace / "tools" / "gh"
    evil.parent.mkdir()
    evil.write_text(f"#!/bin/sh\ntouch {team.folder}/owned\n")
    evil.chmod(0o755)
    team.extra["PATH"] = f"{evil.parent}{os.pathsep}{team.extra['PATH']}"
    team.publish()
    assert not (team.folder / "owned").exists()


@pytest.mark.thorough
def test_no_hook_of_either_side_is_run(team: Publishing) -> None:
    team.proved()
    trace = team.traps()
    for name in ("pre-receive", "update", "post-receive"):
        hook = team.hub / "hooks" / name
        hook.write_text((team.folder / "trap").read_text())
        hook.chmod(0o755)
    trace.unlink(missing_ok=True)
    team.publish()
    assert not trace.exists()


@pytest.mark.thorough
def test_the_receipt_of_a_pull_request_is_fetched_and_read_by_anybody(team: Publishing) -> None:
    team.proved()
    team.publish()
    body = team.gh.kept("comments")[0]["body"]
    check = body.rsplit("Check it: `", 1)[1].rsplit("`", 1)[0]
    fetch = check.rpartition(" && ")[0]
    clone = team.folder / "clone"
    team.git("clone", "--quiet", str(team.hub), str(clone))
    subprocess.run(["sh", "-c", fetch], cwd=clone, check=True, capture_output=True)
    said = (clone / "alpha.receipt.jsonl").read_text().splitlines()
    assert json.loads(said[0])["payloadType"] == "application/vnd.in-toto+json"
    assert check.split()[-4:-1] == ["check-receipt", "alpha.receipt.jsonl", "--tree"]


@pytest.mark.thorough
def test_a_password_in_the_address_of_a_remote_is_not_told(team: Publishing) -> None:
    team.proved()
    team.git("remote", "add", "gone", "https://ann:hunter2@127.0.0.1:1/octo/lending.git")
    done = team.publish("--remote", "gone", code=2)
    assert "the remote `gone` cannot be read: " in done.err
    assert "hunter2" not in done.out + done.err


@pytest.mark.thorough
def test_without_a_repository_there_is_nothing_to_publish(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    slug = bench.prepare(Step("make a"))
    (bench.workspace / ".git").rmdir()
    bench.goes("run", slug, "--no-input")
    done = bench.goes("publish", slug, "--github", code=2)
    assert "is in no git repository, and what is published is a branch" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("receipt.comment")
def test_a_receipt_is_printed_as_the_comment_that_it_becomes(team: Publishing) -> None:
    team.proved()
    shown = team.goes("receipt", "alpha", "--markdown").out
    tip = team.tip("planbound/alpha")[:12]
    assert shown.startswith(f"{first_line('alpha')}\n**Planbound** `alpha`: ✅ **proved**")
    assert f"`planbound check-receipt alpha.receipt.jsonl --tree {tip}`" in shown
    team.goes("receipt", "alpha", "--markdown", "-o", "comment.md")
    assert (team.workspace / "comment.md").read_text() == shown
    both = team.goes("receipt", "alpha", "--markdown", "--json", "-o", "x", code=2)
    assert "has no `--json`" in both.err
    assert not (team.folder / "state" / "keys").exists()


@pytest.mark.thorough
def test_a_receipt_that_is_checked_is_shown_with_each_check(team: Publishing) -> None:
    team.proved()
    team.goes("receipt", "alpha", "-o", "alpha.jsonl")
    done = team.goes("check-receipt", "alpha.jsonl", "--markdown")
    assert done.out.startswith(f"{first_line('alpha')}\n**Planbound** `alpha`: ✅ **proved**")
    assert "**Checked: it holds**" in done.out
    assert "| ✅ | `deviations` | `told, and none left out" in done.out
    path = team.workspace / "alpha.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"sig":"', b'"sig":"AAAA', 1))
    bad = team.goes("check-receipt", "alpha.jsonl", "--markdown", code=1)
    assert "**Checked: it does NOT hold**" in bad.out
    assert "| ❌ | " in bad.out
    both = team.goes("check-receipt", "alpha.jsonl", "--markdown", "--json", code=2)
    assert "`--json` and `--markdown` do not go together" in both.err


WRONG = (
    (("publish", "alpha"), "it is not said where to publish"),
    (("publish", "alpha", "--github"), "is none of GitHub's"),
    (("publish", "alpha", "--github", "--repository", "x"), "is no repository of GitHub"),
    (("publish", "alpha", "--github", "--remote", "nowhere"), "there is no remote `nowhere`"),
    (("publish", "nothing", "--github"), "no plan"),
    (
        ("publish", "alpha", "--github", "--repository", "octo/lending", "--branch", "main"),
        "is what the pull request goes into",
    ),
)


@pytest.mark.thorough
def test_what_cannot_be_published_is_said_clearly(team: Publishing) -> None:
    team.proved()
    for words, message in WRONG:
        assert message in team.goes(*words, code=2).err
