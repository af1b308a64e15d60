"""Receipts that `run` and `integrate` leave in the repository, and send to its remote."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.needs import need
from tests.run.bench import Bench, Step
from tests.team.repo import Team

REFS = "refs/planbound/receipts/"


class Keeping(Team):
    """A repository whose configuration keeps receipts."""

    def __init__(self, folder: Path, settings: str = "[receipts]\nkeep = true\n") -> None:
        need("ssh-keygen", "receipts are signed by it")
        super().__init__(folder, settings=settings)

    def kept(self, *, cwd: Path | None = None) -> dict[str, str]:
        """Return the kept receipts: by the digest of the file the tree that it is about."""
        said = self.git("for-each-ref", "--format=%(refname)", REFS, cwd=cwd).splitlines()
        pairs = [name.removeprefix(REFS).split("/") for name in said]
        return {sha256: tree for tree, sha256 in pairs}

    def trailer(self, name: str, revision: str) -> list[str]:
        """Return what a commit says under a name."""
        words = f"--format=%(trailers:key={name},valueonly,separator=%x2C)"
        return [each for each in self.git("log", "-1", words, revision).split(",") if each]

    def proved(self, name: str) -> str:
        """Prove a plan in a worktree of its own; return what the program said."""
        self.named(name, Step(f"make {name}"), approve=False)
        self.goes("spawn", name)
        self.approve(name)
        return self.goes("run", name, "--no-input").err


@pytest.fixture
def keeping(tmp_path: Path) -> Keeping:
    return Keeping(tmp_path)


@pytest.mark.requirement("receipts.kept")
def test_a_run_keeps_the_receipt_and_its_commit_names_it(keeping: Keeping) -> None:
    said = keeping.proved("alpha")
    ((sha256, tree),) = keeping.kept().items()
    assert tree == keeping.git("rev-parse", "planbound/alpha^{tree}")
    assert keeping.trailer("Planbound-Receipt", "planbound/alpha") == [f"sha256:{sha256}"]
    assert f"note: the receipt is kept: {REFS}{tree}/{sha256}" in said
    assert keeping.trailer("Assisted-by", "planbound/alpha") == []
    content = keeping.git("cat-file", "blob", f"{REFS}{tree}/{sha256}") + "\n"
    assert hashlib.sha256(content.encode()).hexdigest() == sha256


@pytest.mark.thorough
def test_without_the_setting_nothing_is_kept_and_nothing_named(tmp_path: Path) -> None:
    team = Keeping(tmp_path, settings="")
    assert "receipt" not in team.proved("alpha")
    assert team.kept() == {}
    assert "Planbound-Receipt" not in team.git("log", "-1", "--format=%B", "planbound/alpha")
    assert not (tmp_path / "state" / "keys").exists()


def test_a_run_in_the_main_worktree_keeps_one_too(keeping: Keeping) -> None:
    keeping.named("alpha", Step("make alpha"))
    keeping.goes("run", "alpha", "--no-input")
    keeping.commit("work")
    assert list(keeping.kept().values()) == [keeping.git("rev-parse", "HEAD^{tree}")]


def test_a_run_that_fails_keeps_none(keeping: Keeping) -> None:
    keeping.named("alpha", Step("make alpha", "true", fields="**on_fail:** abort"))
    assert keeping.run("run", "alpha", "--no-input").code != 0
    assert keeping.kept() == {}


@pytest.mark.requirement("receipts.merged")
def test_a_merge_names_the_receipt_and_has_it_under_its_own_tree(keeping: Keeping) -> None:
    keeping.proved("alpha")
    keeping.write("src/other", "other\n")
    keeping.commit("beside")  # so that the merge has a tree of its own
    (sha256,) = keeping.kept()
    keeping.goes("integrate", "alpha")
    assert keeping.trailer("Planbound-Receipt", "main") == [f"sha256:{sha256}"]
    trees = keeping.git("for-each-ref", "--format=%(refname)", REFS).splitlines()
    merged = keeping.git("rev-parse", "main^{tree}")
    own = keeping.git("rev-parse", "planbound/alpha^{tree}")
    assert trees == sorted(f"{REFS}{tree}/{sha256}" for tree in (merged, own))


@pytest.mark.thorough
def test_a_merge_whose_receipt_is_gone_gets_a_new_one(keeping: Keeping) -> None:
    keeping.proved("alpha")
    ((gone, tree),) = keeping.kept().items()
    keeping.git("update-ref", "-d", f"{REFS}{tree}/{gone}")
    keeping.goes("integrate", "alpha")
    assert gone not in keeping.kept()
    assert len(keeping.kept()) == 1


@pytest.mark.requirement("receipts.pushed")
def test_receipts_are_sent_to_the_remote_by_run_and_by_integrate(tmp_path: Path) -> None:
    team = Keeping(tmp_path, "[receipts]\npush = true\n")
    hub = tmp_path / "hub.git"
    team.git("init", "--quiet", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    assert "note: the receipt is sent to `origin`" in team.proved("alpha")
    assert team.kept(cwd=hub) == team.kept()
    team.write("src/other", "other\n")
    team.commit("beside")
    team.goes("integrate", "alpha")
    assert team.git("for-each-ref", REFS, cwd=hub) == team.git("for-each-ref", REFS)
    assert len(team.git("for-each-ref", REFS, cwd=hub).splitlines()) == 2


@pytest.mark.thorough
def test_a_remote_that_does_not_answer_ends_no_run(tmp_path: Path) -> None:
    team = Keeping(tmp_path, "[receipts]\npush = true\nremote = 'nowhere'\n")
    said = team.proved("alpha")
    assert "note: the receipt is not sent: there is no remote `nowhere`" in said
    assert len(team.kept()) == 1


def test_a_repository_without_a_tree_of_git_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, settings="[receipts]\nkeep = true\n")
    slug = bench.prepare(Step("make a"))
    said = bench.run("run", slug, "--no-input")
    assert said.code == 0, said.err
    assert "note: no receipt is kept: " in said.err


@pytest.mark.requirement("receipts.trailers")
def test_only_where_it_is_asked_for_commits_say_who_assisted(tmp_path: Path) -> None:
    team = Keeping(tmp_path, '[receipts]\ntrailers = ["Assisted-by"]\n')
    team.proved("alpha")
    assert team.trailer("Assisted-by", "planbound/alpha") == ["command"]
    assert team.kept() == {}
    team.goes("integrate", "alpha")
    assert team.trailer("Assisted-by", "main") == ["command"]


@pytest.mark.requirement("receipts.found")
def test_kept_receipts_are_found_by_commit_and_by_trailer(keeping: Keeping, tmp_path: Path) -> None:
    nothing = keeping.run("receipt", "--kept")
    assert nothing.code == 3
    assert "no receipt is kept here" in nothing.err
    keeping.proved("alpha")
    ((sha256, tree),) = keeping.kept().items()
    ref = f"{REFS}{tree}/{sha256}"
    for words in (["--kept"], ["--kept", "planbound/alpha"], ["--kept", tree]):
        assert keeping.goes("receipt", *words).out.split() == [ref]
    assert keeping.run("receipt", "--kept", "main").code == 3
    listed = keeping.goes("receipt", "--kept", "--json").json["kept"]
    assert listed == [{"ref": ref, "tree": tree, "sha256": sha256}]
    path = tmp_path / "found.jsonl"
    keeping.goes("receipt", "--kept", "planbound/alpha", "-o", str(path))
    assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    assert keeping.goes("check-receipt", str(path), "--tree", "planbound/alpha").code == 0
    # A commit on top of another base has another tree, and names it still.
    keeping.write("src/other", "other\n")
    keeping.commit("beside")
    keeping.git("cherry-pick", "planbound/alpha")
    assert keeping.goes("receipt", "--kept", "HEAD").out.split() == [ref]
    wrong = keeping.run("receipt", "--kept", "nothing-such")
    assert wrong.code == 2
    assert "names no commit" in wrong.err
    assert keeping.run("receipt", "alpha", "--kept", "HEAD").code == 2


@pytest.mark.thorough
def test_a_ref_that_was_bent_is_not_written_as_a_receipt(keeping: Keeping, tmp_path: Path) -> None:
    keeping.proved("alpha")
    ((sha256, tree),) = keeping.kept().items()
    other = keeping.git("hash-object", "-w", ".gitignore")
    keeping.git("update-ref", f"{REFS}{tree}/{sha256}", other)
    said = keeping.run("receipt", "--kept", "-o", str(tmp_path / "x"))
    assert said.code == 2
    assert "does not lead to the receipt that its name says" in said.err
    assert not (tmp_path / "x").exists()


@pytest.mark.thorough
def test_a_worker_keeps_and_sends_them_too(tmp_path: Path) -> None:
    team = Keeping(tmp_path, "[receipts]\npush = true\n")
    hub = tmp_path / "hub.git"
    team.git("init", "--quiet", "--bare", str(hub))
    team.git("remote", "add", "origin", str(hub))
    team.named("alpha", Step("make alpha"), approve=False)
    team.goes("spawn", "alpha")
    team.approve("alpha")
    team.goes("submit", "alpha")
    said = team.goes("worker", "--once")
    assert "alpha: note: the receipt is sent to `origin`" in said.err
    (sha256,) = team.kept(cwd=hub)
    assert team.trailer("Planbound-Receipt", "planbound/alpha") == [f"sha256:{sha256}"]
