"""Doctor tells how it is with the worktrees of plans, and with what only looks like one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.team.test_prune import Yard


class Told(NamedTuple):
    """What doctor says about one thing."""

    health: str
    message: str
    cure: str | None


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def told(yard: Yard) -> list[Told]:
    """Return what doctor says about worktrees."""
    found = yard.goes("doctor", "--json").json["checks"]
    return [
        Told(each["health"], each["message"], each["cure"])
        for each in found
        if each["name"] == "worktrees"
    ]


def test_without_worktrees_there_is_one_line_and_git_is_not_asked(yard: Yard) -> None:
    assert told(yard) == [Told("OK", "none", None)]
    assert not list((yard.folder / "state").glob("**/git"))


def test_without_a_repository_there_is_one_line(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    shutil.rmtree(yard.workspace / ".git")
    assert told(yard) == [Told("OK", "none", None)]


def test_an_active_worktree_is_told_with_its_branch_and_status(yard: Yard) -> None:
    tree = yard.spawn("one")
    yard.work(tree)
    assert told(yard) == [Told("OK", f"`one` at {tree} on `planbound/one`: draft", None)]


@pytest.mark.requirement("doctor.worktrees")
def test_a_merged_worktree_is_told_with_the_command_that_removes_it(yard: Yard) -> None:
    tree = yard.merged("one")
    (found,) = told(yard)
    assert found.health == "WARN"
    assert found.message.startswith(f"merged, not pruned: `one` at {tree} on `planbound/one`")
    assert found.cure == "`planbound prune one`"
    assert tree.is_dir()
    yard.goes("prune", "one")
    assert told(yard) == [Told("OK", "none", None)]


@pytest.mark.requirement("doctor.worktrees")
def test_a_worktree_that_no_plan_has_is_orphaned(yard: Yard) -> None:
    tree = yard.spawn("one")
    beside, far = tree.parent / "beside", yard.folder / "far"
    yard.git("worktree", "add", "-q", "--detach", str(beside))
    yard.git("worktree", "add", "-q", "-b", "planbound/far", str(far))
    yard.git("worktree", "add", "-q", "-b", "private", str(yard.folder / "private"))
    shutil.rmtree(far)
    found = [each for each in told(yard) if each.health == "WARN"]
    assert {each.message for each in found} == {
        f"orphaned: no plan has the worktree {beside} with a detached HEAD",
        f"orphaned: no plan has the worktree {far} on `planbound/far`, and its folder is gone",
    }
    cures = {str(each.cure).partition(", then ")[2] for each in found}
    assert cures == {f"`git worktree remove {path}`" for path in (beside, far)}


@pytest.mark.requirement("doctor.worktrees")
def test_a_worktree_whose_folder_is_gone_dangles(yard: Yard) -> None:
    tree = yard.spawn("one")
    yard.work(tree)
    shutil.rmtree(tree)
    (found,) = told(yard)
    assert found.health == "WARN"
    assert found.message == f"dangling: `one` at {tree} on `planbound/one`: its folder is gone"
    assert "`planbound spawn one` brings it back" in str(found.cure)
    yard.git("merge", "-q", "planbound/one")
    assert told(yard)[0].cure == "`planbound prune one` forgets it: nothing of it is lost"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("checkout", "-q", "--detach"), "no branch (HEAD is detached)"),
        (("checkout", "-q", "-b", "aside"), "has `aside` checked out"),
    ],
)
def test_a_worktree_on_another_branch_dangles(
    yard: Yard, words: tuple[str, ...], expected: str
) -> None:
    tree = yard.spawn("one")
    yard.git(*words, at=tree)
    (found,) = told(yard)
    assert found.health == "WARN"
    assert found.message.startswith("dangling: `one`")
    assert expected in found.message
    assert "put `planbound/one` back there" in str(found.cure)


def test_a_folder_in_the_place_of_a_worktree_is_told(yard: Yard) -> None:
    tree = yard.spawn("one")
    shutil.rmtree(tree)
    tree.mkdir()
    (found,) = told(yard)
    assert found.message.startswith("dangling: `one`")
    assert "act on whatever repository is around it" in str(found.cure)


@pytest.mark.requirement("doctor.worktrees")
def test_a_folder_that_looks_like_a_slot_and_is_none_is_told(yard: Yard) -> None:
    root = yard.spawn("one").parent
    for name in ("two", "three"):
        yard.plan(name)
    (root / "two").mkdir()
    (root / "unrelated").mkdir()
    yard.git("init", "-q", str(root / "three"))
    found = [each for each in told(yard) if each.health == "WARN"]
    assert [each.cure for each in found] == ["move it away", "move it away"]
    assert [each.message.removeprefix(f"{root}/").partition(": ") for each in found] == [
        (
            "three looks like the worktree of `three` and is none",
            ": ",
            "it belongs to another repository",
        ),
        (
            "two looks like the worktree of `two` and is none",
            ": ",
            "git commands there act on whatever repository is around it",
        ),
    ]


def test_a_worktree_that_was_left_half_made_is_told(yard: Yard) -> None:
    yard.plan("one")
    yard.run("spawn", "one", PLANBOUND_FAILPOINT="before:WORKTREE_SPAWNED:1")
    (found,) = told(yard)
    assert found.health == "WARN"
    assert found.message.startswith("half-made: `one`")
    assert found.cure == "`planbound spawn one` clears it and makes it anew"
    yard.keeps("one", "it was left half-made")


def test_a_pointer_that_disagrees_with_the_journal_is_told(yard: Yard) -> None:
    tree = yard.spawn("one")
    yard.write(".harness/worktree-for-one", "/elsewhere\n")
    yard.write(".harness/worktree-for-two", "/nowhere\n")
    found = [each for each in told(yard) if each.health == "WARN"]
    assert [each.message for each in found] == [
        f"`.harness/worktree-for-one` says /elsewhere, and {tree} is recorded",
        "`.harness/worktree-for-two` says /nowhere, and no worktree is recorded",
    ]


def test_a_marker_that_names_another_plan_is_told(yard: Yard) -> None:
    tree = yard.merged("one")
    (tree / ".harness" / "active-plan").write_text("two\n")
    found = told(yard)[0]
    assert found.health == "WARN"
    assert "names `two`, and the worktree is `one`'s" in found.message
    assert found.cure == "write `one` into it"
    yard.keeps("one", "its marker names `two`")


def test_git_that_cannot_be_read_is_a_warning_and_the_other_checks_go_on(yard: Yard) -> None:
    yard.spawn("one")
    (yard.workspace / ".git" / "HEAD").unlink()
    (found,) = told(yard)
    assert found.health == "WARN"
    assert "HEAD" in found.message
