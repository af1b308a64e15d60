"""A tree laid out in a repository of its own; the one that it comes from is only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.errors import GitProblem
from planbound.git.checkout import lay_tree, tree_without
from planbound.git.repository import Repository
from tests.team.repo import Team


@pytest.fixture
def repository(team: Team) -> Repository:
    """Return the repository as the harness sees it; nothing is to be written into it."""
    return Repository(
        str(team.workspace / ".git"),
        str(team.workspace),
        str(team.folder / "view"),
        to_write=False,
    )


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def test_the_files_of_a_tree_are_laid_out_and_git_works_there(
    team: Team, repository: Repository
) -> None:
    team.write("src/a.txt", "one\n")
    before = team.commit("one")
    team.write("src/a.txt", "two\n")
    after = team.commit("two")
    trace = team.traps()
    team.write(".gitattributes", "* filter=trap\n")
    own = everything(team.workspace / ".git")
    tree = team.git("rev-parse", f"{after}^{{tree}}")
    laid = lay_tree(repository, tree, str(team.folder / "there"), commit=after, base=before)
    assert laid.commit == after
    there = Path(laid.path)
    assert (there / "src" / "a.txt").read_text() == "two\n"
    assert team.git("status", "--porcelain", cwd=there) == ""
    assert team.git("diff", "--name-only", "HEAD~1", cwd=there) == "src/a.txt"
    assert not trace.exists()
    assert everything(team.workspace / ".git") == own


def test_a_tree_without_a_commit_gets_one_on_the_base(team: Team, repository: Repository) -> None:
    base = team.commit("base")
    team.write("new.txt", "new\n")
    team.git("add", "--all")
    tree = team.git("write-tree")
    laid = lay_tree(repository, tree, str(team.folder / "there"), commit=base, base=base)
    assert laid.commit not in {base, ""}
    assert team.git("rev-parse", "HEAD^", cwd=Path(laid.path)) == base
    assert team.git("diff", "--name-only", "HEAD^", cwd=Path(laid.path)) == "new.txt"


def test_a_shallow_clone_will_do(team: Team) -> None:
    for number in range(3):
        team.write("a.txt", f"{number}\n")
        team.commit(str(number))
    clone = team.folder / "clone"
    team.git("clone", "--quiet", "--depth", "1", f"file://{team.workspace}", str(clone))
    shallow = Repository(str(clone / ".git"), str(clone), str(team.folder / "v"), to_write=False)
    head = team.git("rev-parse", "HEAD", cwd=clone)
    tree = team.git("rev-parse", "HEAD^{tree}", cwd=clone)
    laid = lay_tree(shallow, tree, str(team.folder / "there"), commit=head, base=None)
    assert team.git("log", "--format=%s", cwd=Path(laid.path)) == "2"


def test_a_tree_that_is_not_there_is_a_problem_of_git(team: Team, repository: Repository) -> None:
    with pytest.raises(GitProblem):
        lay_tree(repository, "0" * 40, str(team.folder / "there"), commit=None, base=None)


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_tree_without_one_of_its_folders_has_the_id_that_git_gives(
    tmp_path: Path, team: Team, form: str
) -> None:
    place = tmp_path / form
    team.git("init", "--quiet", f"--object-format={form}", str(place))
    for name in ("a.txt", ".harness/PLAN.md", "src/b/c.txt", "run.sh"):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("a.txt")
    team.git("add", "--all", cwd=place)
    whole = team.git("write-tree", cwd=place)
    team.git("rm", "--quiet", "-r", "--cached", ".harness", cwd=place)
    without = team.git("write-tree", cwd=place)
    repository = Repository(str(place / ".git"), str(place), str(tmp_path / "v"), to_write=False)
    assert tree_without(repository, whole, ".harness") == without
    assert tree_without(repository, without, ".harness") == without
