"""Which plan is a session's own: as a function and as a process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from planbound.errors import BindingError, PlanboundError
from planbound.workspace.locate import ActivePlan, BoundBy, locate, resolve_active_plan
from planbound.workspace.root import find_root, main_worktree, plans_root
from planbound.workspace.tree import Workspace
from tests.program import SOUND, Program

pytestmark = pytest.mark.requirement("invariant.bind-loudly")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    command = ["git", "-C", str(folder), *identity, "-c", "protocol.file.allow=always"]
    subprocess.run([*command, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Program:
    """A repository with a commit, in a folder of its own."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "--quiet")
    git(main, "commit", "--quiet", "--allow-empty", "-m", "first")
    return Program(main)


@pytest.fixture
def linked(repository: Program) -> Program:
    """A linked worktree of it."""
    git(repository.workspace, "worktree", "add", "--quiet", "../linked")
    return Program(repository.workspace.parent / "linked")


def tree(program: Program) -> Workspace:
    root = find_root(str(program.workspace))
    return Workspace(root, current=root)


def resolve(program: Program, name: str | None = None) -> ActivePlan | None:
    """Resolve by the function and by the process, and hold the two to one answer."""
    arguments = ["resolve-active-plan", *([f"--plan={name}"] if name is not None else [])]
    before = snapshot(program.workspace)
    done = program.run(*arguments)
    data = program.run(*arguments, "--json")
    assert snapshot(program.workspace) == before
    assert (data.code, data.err) == (done.code, done.err)
    try:
        binding = resolve_active_plan(name, tree(program))
    except PlanboundError as error:
        assert isinstance(error, BindingError)
        assert (done.code, done.out) == (2, ""), done
        assert error.message in done.err
        assert data.json["error"]["message"] == error.message
        raise
    if binding is None:
        assert (done.code, done.out) == (1, ""), done
        assert data.json["error"]["code"] == "no-harness"
        assert "there is no `.harness/`" in done.err
        return None
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{binding.plan.path}\t{binding.progress.path}\n"
    assert data.json == {
        "slug": binding.plan.slug,
        "plan_path": binding.plan.path,
        "progress_path": binding.progress.path,
        "bound_by": binding.by.value,
    }
    return binding


def snapshot(folder: Path) -> dict[str, object]:
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if ".git/" not in str(path)
    }


def bound(program: Program, name: str | None = None) -> tuple[str, str, BoundBy]:
    binding = resolve(program, name)
    assert binding
    return binding.plan.path, binding.progress.path, binding.by


def paths(program: Program, plan: str, progress: str) -> tuple[str, str]:
    harness = program.workspace.resolve() / ".harness"
    return str(harness / plan), str(harness / progress)


def three(program: Program) -> None:
    program.write(".harness/PLAN.md", SOUND)
    program.plan("foo")
    program.plan("Bar")


@pytest.mark.requirement("command.resolve-active-plan")
def test_what_is_named_comes_first_then_the_marker_then_the_plan_without_a_name(
    program: Program,
) -> None:
    three(program)
    assert bound(program) == (*paths(program, "PLAN.md", "progress.md"), BoundBy.UNNAMED)
    program.write(".harness/active-plan", "Bar\n")
    assert bound(program) == (*paths(program, "PLAN-Bar.md", "progress-Bar.md"), BoundBy.MARKER)
    expected = (*paths(program, "PLAN-foo.md", "progress-foo.md"), BoundBy.ARGUMENT)
    for name in ("foo", "foo.md", "PLAN-foo.md", "PLAN-foo"):
        assert bound(program, name) == expected
    assert bound(program, "PLAN.md")[:2] == paths(program, "PLAN.md", "progress.md")
    # What is named is not disturbed by a marker that is unusable.
    program.write(".harness/active-plan", "../x")
    assert bound(program, "foo") == expected


@pytest.mark.parametrize("marker", ["foo", "foo\n", "PLAN-foo.md\r\n", "\n  foo.md \n\n"])
def test_a_marker_may_be_written_in_several_ways(program: Program, marker: str) -> None:
    three(program)
    program.write(".harness/active-plan", marker)
    assert bound(program)[:2] == paths(program, "PLAN-foo.md", "progress-foo.md")


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("", "is blank"),
        (" \n\t\r\n", "is blank"),
        ("foo\nBar\n", "has 2 lines"),
        ("foo\n\nfoo\n", "has 2 lines"),
        ("../foo", "not one path component"),
        ("../../main/.harness/PLAN-foo.md", "not one path component"),
        (".harness/PLAN-foo.md", "not one path component"),
        ("..", "not one path component"),
        (".", "not one path component"),
        ("PLAN-../foo.md", "not one path component"),
        ("a\\b", "not one path component"),
        ("foo\0", "U+0000"),
        ("\ufefffoo", "U+FEFF"),
        (b"foo\xff", "not text in UTF-8"),
        ("foo" + "\n" * 20_000 + "Bar", "too long"),
        ("absent", "there is no such plan"),
        ("FOO", "did you mean `foo`?"),
        ("bar", "did you mean `Bar`?"),
    ],
)
def test_a_marker_that_cannot_be_used_is_loud_and_never_falls_back(
    program: Program, marker: str | bytes, message: str
) -> None:
    three(program)
    program.write(".harness/active-plan", marker)
    with pytest.raises(BindingError) as caught:
        resolve(program)
    assert "active-plan" in caught.value.message
    assert message in f"{caught.value.message} {caught.value.hint}"
    with pytest.raises(BindingError):
        locate(None, tree(program))


@pytest.mark.parametrize("kind", ["folder", "fifo", "dangling"])
def test_a_marker_that_is_no_file_is_loud(program: Program, kind: str) -> None:
    three(program)
    marker = program.workspace / ".harness/active-plan"
    make_odd(marker, kind)
    with pytest.raises(BindingError, match="cannot be read"):
        resolve(program)


def make_odd(path: Path, kind: str) -> None:
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere")


@pytest.mark.parametrize("kind", ["folder", "fifo", "dangling"])
@pytest.mark.parametrize("name", [None, "odd"])
def test_a_plan_that_is_no_file_is_loud(program: Program, kind: str, name: str | None) -> None:
    three(program)
    make_odd(program.workspace / ".harness/PLAN-odd.md", kind)
    program.write(".harness/active-plan", "odd")
    with pytest.raises(BindingError, match="cannot read"):
        resolve(program, name)


@pytest.mark.parametrize("content", ["", " \n\t\n" * 50_000, "\ufeff\n"])
@pytest.mark.parametrize("name", [None, "void"])
def test_a_named_plan_that_is_empty_is_loud(
    program: Program, content: str, name: str | None
) -> None:
    three(program)
    program.plan("void", content)
    program.write(".harness/active-plan", "void")
    with pytest.raises(BindingError, match="is empty"):
        resolve(program, name)


@pytest.mark.parametrize(
    "other",
    [
        "PLAN-FOO.md",
        "plan-foo.md",
        "PLAN-foo (1).md",
        "PLAN-foo (Ana's conflicted copy 2026-01-02).md",
        "PLAN-foo [Conflict].md",
        "Copy of PLAN-foo.md",
        "PLAN-foo - Copy.md",
        "PLAN-foo.sync-conflict-20260102-030405-ABCDEFG.md",
    ],
)
@pytest.mark.parametrize("name", [None, "foo"])
def test_a_plan_that_may_be_another_is_loud(program: Program, other: str, name: str | None) -> None:
    three(program)
    program.write(".harness/active-plan", "foo")
    program.write(f".harness/{other}", SOUND)
    with pytest.raises(BindingError, match="ambiguous") as caught:
        resolve(program, name)
    assert other in caught.value.message


def test_a_conflict_copy_of_the_unnamed_plan_is_loud_too(program: Program) -> None:
    three(program)
    program.write(".harness/PLAN (conflicted copy 2026-01-02).md", SOUND)
    with pytest.raises(BindingError, match="ambiguous"):
        resolve(program)


def test_a_conflict_copy_is_never_the_plan(program: Program) -> None:
    name = "foo (conflicted copy 2026-01-02)"
    program.plan(name)
    with pytest.raises(BindingError, match=r"is a conflict copy of `PLAN-foo.md`"):
        resolve(program, name)


@pytest.mark.parametrize("other", ["PLAN-foo.md~", ".#PLAN-foo.md", "PLAN-Bar (1).md"])
def test_an_editors_copy_and_the_copy_of_another_plan_do_not_disturb(
    program: Program, other: str
) -> None:
    three(program)
    program.write(".harness/active-plan", "foo")
    program.write(f".harness/{other}", SOUND)
    assert bound(program)[:2] == paths(program, "PLAN-foo.md", "progress-foo.md")


@pytest.mark.parametrize(
    "name", ["", "..", "../foo", "a/b", ".harness/PLAN-foo.md", "/etc/passwd", "absent", "FOO"]
)
def test_a_name_that_cannot_be_used_is_loud(program: Program, name: str) -> None:
    three(program)
    with pytest.raises(BindingError):
        resolve(program, name)


def test_named_plans_alone_bind_nobody(program: Program) -> None:
    program.plan("foo")
    with pytest.raises(BindingError, match="no plan is named") as caught:
        resolve(program)
    assert caught.value.hint == "name one of `foo`"
    (program.workspace / ".harness/PLAN-foo.md").unlink()
    with pytest.raises(BindingError, match="there is no plan here"):
        resolve(program)


def test_without_a_harness_folder_there_is_nothing_to_resolve(program: Program) -> None:
    assert resolve(program) is None
    assert resolve(program, "foo") is None
    with pytest.raises(BindingError):
        resolve(program, "../foo")
    program.write(".harness", "a file")
    assert resolve(program) is None


def test_a_folder_outside_of_git_and_a_subfolder_work(tmp_path: Path) -> None:
    program = Program(tmp_path)
    three(program)
    below = tmp_path / "src/deep"
    below.mkdir(parents=True)
    assert bound(program)[0] == str(tmp_path.resolve() / ".harness/PLAN.md")
    done = program.run("resolve-active-plan", "--plan", "foo", cwd=below)
    assert done.out.split("\t")[0] == str(tmp_path.resolve() / ".harness/PLAN-foo.md")


def test_resolving_needs_no_right_to_write(program: Program) -> None:
    three(program)
    folders = [program.workspace / ".harness", program.workspace]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = program.run("resolve-active-plan", obeys_permissions=True)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert (done.code, done.err) == (0, "")


def test_a_folder_that_cannot_be_listed_is_told(program: Program) -> None:
    three(program)
    harness = program.workspace / ".harness"
    harness.chmod(0o000)
    try:
        done = program.run("resolve-active-plan", obeys_permissions=True)
    finally:
        harness.chmod(0o755)
    assert (done.code, done.out) == (2, "")
    assert "Permission denied" in done.err


def test_a_linked_worktree_has_its_own_marker_and_the_main_ones_plans(
    repository: Program, linked: Program
) -> None:
    three(repository)
    assert bound(linked)[:2] == paths(repository, "PLAN.md", "progress.md")
    linked.write(".harness/active-plan", "foo")
    # Plans that git checked out here are not the ones that count.
    linked.plan("Bar", "stale")
    assert bound(linked)[:2] == paths(repository, "PLAN-foo.md", "progress-foo.md")
    assert bound(linked, "Bar")[:2] == paths(repository, "PLAN-Bar.md", "progress-Bar.md")
    assert bound(repository)[:2] == paths(repository, "PLAN.md", "progress.md")
    repository.write(".harness/active-plan", "Bar")
    assert bound(linked)[0].endswith("PLAN-foo.md")
    below = linked.workspace / "src/deep"
    below.mkdir(parents=True)
    done = linked.run("resolve-active-plan", cwd=below)
    assert done.out.split("\t")[0] == str(repository.workspace.resolve() / ".harness/PLAN-foo.md")
    assert {line["slug"] for line in linked.run("list", "--json").json} == {"PLAN", "foo", "Bar"}
    assert tree(linked).root == str(linked.workspace.resolve())


def test_a_linked_worktree_falls_back_to_nothing_of_its_own(
    repository: Program, linked: Program
) -> None:
    linked.plan("foo")
    assert resolve(linked) is None
    linked.write(".harness/active-plan", "foo")
    with pytest.raises(BindingError, match="no such plan"):
        resolve(linked)


def test_a_worktree_inside_the_main_one_and_a_relative_pointer(repository: Program) -> None:
    three(repository)
    git(repository.workspace, "worktree", "add", "--quiet", ".trees/a")
    inside = Program(repository.workspace / ".trees/a")
    assert bound(inside)[:2] == paths(repository, "PLAN.md", "progress.md")
    (inside.workspace / ".git").write_text("gitdir: ../../.git/worktrees/a\n")
    assert bound(inside)[:2] == paths(repository, "PLAN.md", "progress.md")


def test_a_workspace_that_is_a_folder_of_the_repository_has_a_counterpart(
    repository: Program, linked: Program
) -> None:
    repository.write("app/.harness/PLAN.md", SOUND)
    linked.write("app/planbound.toml", "")
    linked.write("scratch/.harness/PLAN.md", SOUND)
    main = repository.workspace.resolve()
    assert plans_root(str(linked.workspace / "app")) == str(main / "app")
    own = str(linked.workspace / "scratch")
    assert plans_root(own) == own


def test_a_lost_main_worktree_is_told_where_it_matters(
    repository: Program, linked: Program
) -> None:
    three(repository)
    linked.write("some.md", SOUND)
    repository.workspace.rename(repository.workspace.with_name("moved"))
    with pytest.raises(BindingError, match="is a linked worktree") as caught:
        resolve(linked)
    assert caught.value.hint
    assert "git worktree repair" in caught.value.hint
    assert linked.run("show", "some.md").code == 0
    git(repository.workspace.with_name("moved"), "worktree", "repair", str(linked.workspace))
    assert bound(linked)[0].endswith("moved/.harness/PLAN.md")


def test_a_worktree_of_a_bare_repository_is_its_own(repository: Program, tmp_path: Path) -> None:
    for name in ("bare.git", "project/.git"):
        git(tmp_path, "clone", "--quiet", "--bare", str(repository.workspace), name)
        git(tmp_path / name, "worktree", "add", "--quiet", "--detach", f"{tmp_path}/{name}-tree")
        tree_of_bare = Program(Path(f"{tmp_path}/{name}-tree"))
        three(tree_of_bare)
        assert bound(tree_of_bare)[:2] == paths(tree_of_bare, "PLAN.md", "progress.md")


def test_a_submodule_is_its_own_and_its_linked_worktree_finds_it(
    repository: Program, tmp_path: Path
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "--quiet", "add", str(repository.workspace), "sub")
    sub = str((outer / "sub").resolve())
    assert main_worktree(sub) == sub
    git(outer / "sub", "worktree", "add", "--quiet", f"{tmp_path}/sub-linked")
    assert main_worktree(str(tmp_path / "sub-linked")) == sub


def test_a_clone_with_its_repository_elsewhere_is_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", f"--separate-git-dir={tmp_path}/store", "work")
    assert main_worktree(str(tmp_path / "work")) == str(tmp_path / "work")


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir:", "gitdir: /nowhere/at/all"])
def test_a_git_file_that_points_to_no_worktree_is_not_one(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert main_worktree(str(tmp_path)) == str(tmp_path)
