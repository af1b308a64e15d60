"""Stage, activate, archive, and the copies that synchronisers leave."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planbound.disk.files import Shelf
from planbound.errors import AlreadyExists, FileProblem, Refused
from planbound.workspace.context import Context
from planbound.workspace.shelves import archive_plan
from planbound.workspace.tree import Workspace
from tests.program import SOUND, Program


def harness(program: Program) -> Path:
    return program.workspace / ".harness"


def tree(program: Program) -> Workspace:
    root = str(program.workspace)
    return Workspace(root, current=root)


def archive(program: Program, name: str, date: str = "20260102") -> list[str]:
    """Archive a plan; return what the archive holds then."""
    state = str(program.workspace.parent / "archiver")
    archive_plan(Context(workspace=str(program.workspace), state=state), name, date)
    return sorted(os.listdir(harness(program) / "archive"))


def expecting(*artifacts: str) -> str:
    return SOUND.replace(
        "status: draft", f"status: draft\nexpected_artifacts: [{', '.join(artifacts)}]"
    )


def test_stage_writes_a_draft_where_plans_wait(program: Program) -> None:
    done = program.run("stage", "Rounding", "--objective", "Round once")
    assert (done.code, done.out) == (0, "wrote .harness/queued-plans/PLAN-Rounding.md\n")
    text = (harness(program) / "queued-plans/PLAN-Rounding.md").read_text()
    assert "# Round once" in text
    assert [line["shelf"] for line in program.run("list", "--json").json] == ["staged"]
    assert [file.slug for file in tree(program).plans(Shelf.STAGED)] == ["Rounding"]


def test_stage_copies_a_file_byte_for_byte_and_leaves_it(program: Program) -> None:
    data = SOUND.replace("\n", "\r\n").encode() + b"\xff"
    below = program.write("src/any.md", data).parent
    assert program.run("stage", "hello", "--from", "any.md", cwd=below).code == 0
    assert (harness(program) / "queued-plans/PLAN-hello.md").read_bytes() == data
    assert (below / "any.md").read_bytes() == data


@pytest.mark.parametrize("taken", ["queued-plans/PLAN-x.md", "PLAN-x.md", "queued-plans/PLAN-X.md"])
@pytest.mark.parametrize("dangling", [False, True])
@pytest.mark.requirement("command.stage")
def test_stage_never_writes_over_anything(program: Program, taken: str, dangling: bool) -> None:  # noqa: FBT001
    path = program.write(f".harness/{taken}", "mine")
    if dangling:
        path.unlink()
        path.symlink_to("nowhere")
    done = program.run("stage", "x")
    assert (done.code, done.out) == (2, "")
    assert "is there already" in done.err
    assert path.is_symlink() if dangling else path.read_text() == "mine"
    assert not (harness(program) / "nowhere").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["../x"], "not a plan's name"),
        (["PLAN"], "needs a name"),
        (["x", "--from", "absent.md"], "No such file"),
        (["x", "--from", "."], "is a directory"),
        (["x", "--from", "empty.md"], "is empty"),
        (["x", "--from", "empty.md", "--objective", "y"], "do not go together"),
        (["x", "--objective", " "], "the objective is empty"),
    ],
)
def test_stage_refuses_what_makes_no_plan(
    program: Program, arguments: list[str], message: str
) -> None:
    program.write("empty.md", " \n")
    done = program.run("stage", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert not harness(program).exists()


def test_activate_copies_and_the_staged_plan_stays(program: Program) -> None:
    staged = program.write(".harness/queued-plans/PLAN-hello.md", SOUND + "\r\n")
    done = program.run("activate", "PLAN-hello.md")
    assert (done.code, done.out) == (0, "wrote .harness/PLAN-hello.md\n")
    assert (harness(program) / "PLAN-hello.md").read_bytes() == staged.read_bytes()
    assert not os.path.samefile(harness(program) / "PLAN-hello.md", staged)
    assert program.run("list", "--json").json[0]["slug"] == "hello"
    assert program.run("activate", "hello").code == 2


@pytest.mark.parametrize("kind", ["file", "dangling", "folder", "other case"])
@pytest.mark.requirement("command.activate")
def test_activate_never_writes_over_anything(program: Program, kind: str) -> None:
    program.write(".harness/queued-plans/PLAN-hello.md", SOUND)
    path = harness(program) / "PLAN-hello.md"
    if kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "folder":
        path.mkdir()
    else:
        path = path if kind == "file" else path.with_name("PLAN-HELLO.md")
        path.write_text("mine")
    before = sorted(os.listdir(harness(program)))
    done = program.run("activate", "hello")
    assert (done.code, done.out) == (2, "")
    assert f"{path.name}` is there already" in done.err
    assert sorted(os.listdir(harness(program))) == before


@pytest.mark.parametrize(
    ("artifacts", "code"),
    [
        (["out.txt"], 3),
        (["out.txt", "lib/"], 3),
        (["lib"], 3),
        (["lib/*.py", '"**/out.txt"'], 3),
        (['"lib/{a,c}.py"'], 3),
        (["out.txt", "absent.txt"], 0),
        (["lib/*.js"], 0),
        (["absent/*.js"], 0),
        (["dangling"], 0),
        (["/etc/passwd"], 0),
        (["../outside.txt"], 0),
        (['""'], 0),
        ([], 0),
    ],
)
def test_activate_has_nothing_to_do_when_every_artifact_is_there(
    program: Program, tmp_path: Path, artifacts: list[str], code: int
) -> None:
    program.write("out.txt", "x")
    program.write("lib/a.py", "x")
    (program.workspace / "dangling").symlink_to("nowhere")
    program.write(".harness/queued-plans/PLAN-hello.md", expecting(*artifacts))
    done = program.run("activate", "hello")
    assert done.code == code, done.err
    assert (harness(program) / "PLAN-hello.md").exists() == (code == 0)
    assert ("nothing to do" in done.err) == (code == 3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hallo", "did you mean `hello`?"),
        ("HELLO", "did you mean `hello`?"),
        ("zzz", "there is no staged plan `zzz`"),
        ("empty", "is empty"),
        ("../x", "not a plan's name"),
        ("twice", "ambiguous"),
        ("twice (1)", "is a conflict copy"),
        ("folder", "is a directory"),
    ],
)
def test_activate_refuses_what_is_not_one_staged_plan(
    program: Program, name: str, message: str
) -> None:
    for staged in ("hello", "twice", "twice (1)"):
        program.write(f".harness/queued-plans/PLAN-{staged}.md", SOUND)
    program.write(".harness/queued-plans/PLAN-empty.md", "\n")
    (harness(program) / "queued-plans/PLAN-folder.md").mkdir()
    done = program.run("activate", name)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert os.listdir(harness(program)) == ["queued-plans"]


@pytest.mark.requirement("command.archive")
def test_archive_moves_the_plan_and_its_progress(program: Program) -> None:
    program.plan("Hello")
    program.plan("other")
    program.write(".harness/progress-Hello.md", "2026-01-02 03:04 ana — done\n")
    program.write(".harness/active-plan", "Hello\n")
    done = program.run("archive", "Hello")
    assert done.code == 0
    plan, progress = (Path(line.removeprefix("moved to ")) for line in done.out.splitlines())
    assert (program.workspace / plan).read_text() == SOUND
    assert "ana — done" in (program.workspace / progress).read_text()
    date = plan.name.removeprefix("PLAN.archive.").removesuffix("-Hello.md")
    assert len(date) == 8
    assert date.isdigit()
    assert progress.name == f"progress.archive.{date}-Hello.md"
    assert "still names `Hello`" in done.err
    left = sorted(os.listdir(harness(program)))
    assert left == ["PLAN-other.md", "active-plan", "archive"]


def test_archive_numbers_what_has_the_same_name_and_keeps_pairs_together(program: Program) -> None:
    program.plan("foo")
    assert archive(program, "foo") == ["PLAN.archive.20260102-foo.md"]
    program.plan("foo", SOUND + "second\n")
    program.write(".harness/progress-foo.md", "second\n")
    assert archive(program, "foo") == [
        "PLAN.archive.20260102-foo-2.md",
        "PLAN.archive.20260102-foo.md",
        "progress.archive.20260102-foo-2.md",
    ]
    (harness(program) / "archive/PLAN.archive.20260102-foo-3.md").symlink_to("nowhere")
    program.plan("foo", SOUND + "third\n")
    assert "PLAN.archive.20260102-foo-4.md" in archive(program, "foo")
    assert (harness(program) / "archive/PLAN.archive.20260102-foo.md").read_text() == SOUND
    program.write(".harness/PLAN.md", SOUND)
    assert "PLAN.archive.20260102-PLAN.md" in archive(program, "PLAN")


@pytest.mark.parametrize("moved", ["linked progress", "progress", "linked plan"])
def test_archive_finishes_what_was_cut_off(program: Program, moved: str) -> None:
    program.plan("foo")
    notes = program.write(".harness/progress-foo.md", "notes\n")
    folder = harness(program) / "archive"
    folder.mkdir()
    os.link(notes, folder / "progress.archive.20260102-foo.md")
    if moved != "linked progress":
        notes.unlink()
    if moved == "linked plan":
        plan = harness(program) / "PLAN-foo.md"
        os.link(plan, folder / "PLAN.archive.20260102-foo.md")
    assert archive(program, "foo") == [
        "PLAN.archive.20260102-foo.md",
        "progress.archive.20260102-foo.md",
    ]
    assert os.listdir(harness(program)) == ["archive"]


def test_archive_refuses_a_plan_in_progress(program: Program) -> None:
    program.plan("foo", SOUND.replace("status: draft", "status: in-progress"))
    done = program.run("archive", "foo")
    assert (done.code, done.out) == (2, "")
    assert "`foo` is in progress" in done.err
    assert "hint:" in done.err
    assert os.listdir(harness(program)) == ["PLAN-foo.md"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "there is no plan `absent`"),
        ("FOO", "did you mean `foo`?"),
        ("../foo", "not one path component"),
        ("a/b", "not one path component"),
        ("twice", "that is ambiguous"),
        ("link", "is a symbolic link"),
    ],
)
def test_archive_refuses_what_is_not_one_active_plan(
    program: Program, name: str, message: str
) -> None:
    program.plan("foo")
    program.plan("twice")
    program.plan("twice (conflicted copy 2026-01-02)")
    program.write("elsewhere.md", SOUND)
    (harness(program) / "PLAN-link.md").symlink_to("../elsewhere.md")
    before = {name for name in os.listdir(harness(program)) if name != "archive"}
    done = program.run("archive", name)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert set(os.listdir(harness(program))) - {"archive"} == before


def test_archive_says_when_it_may_not_write(program: Program) -> None:
    program.plan("foo")
    harness(program).chmod(0o555)
    try:
        done = program.run("archive", "foo", obeys_permissions=True)
    finally:
        harness(program).chmod(0o755)
    assert done.code == 2
    assert "Permission denied" in done.err


def test_a_date_of_another_form_is_a_mistake_of_ours(program: Program) -> None:
    with pytest.raises(ValueError, match="2026-01-02"):
        archive(program, "foo", "2026-01-02")


def test_a_move_goes_over_nothing_and_takes_no_links(program: Program) -> None:
    here = tree(program)
    one, two = program.write("one", "1"), program.write("two", "2")
    with pytest.raises(AlreadyExists):
        here.move(str(one), str(two))
    (program.workspace / "link").symlink_to("one")
    with pytest.raises(FileProblem, match="symbolic link"):
        here.move(str(program.workspace / "link"), str(program.workspace / "three"))
    with pytest.raises(FileProblem, match="No such file"):
        here.move(str(program.workspace / "absent"), str(program.workspace / "three"))
    assert (one.read_text(), two.read_text()) == ("1", "2")


def test_the_new_name_is_safe_before_the_old_one_goes(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.plan("foo")

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileProblem, match="Input/output error"):
        archive(program, "foo")
    assert (harness(program) / "PLAN-foo.md").read_text() == SOUND


def test_conflict_copies_are_no_plans_and_are_all_told(program: Program) -> None:
    program.plan("foo")
    program.plan("copy-of-data")
    program.plan("bar (1)")
    program.write(".harness/progress-foo.md", "x\n")
    program.write(".harness/queued-plans/PLAN-waits.md", SOUND)
    copies = {
        "PLAN-foo (Ana's conflicted copy 2026-01-02).md": "PLAN-foo.md",
        "PLAN-foo (1).md": "PLAN-foo.md",
        "PLAN-gone [Conflict].md": "PLAN-gone.md",
        "Copy of PLAN-foo.md": "PLAN-foo.md",
        "PLAN-foo - Copy.md": "PLAN-foo.md",
        "PLAN-foo.md~": "PLAN-foo.md",
        "progress-foo.sync-conflict-20260102-030405-ABCDEFG.md": "progress-foo.md",
        "active-plan (conflicted copy 2026-01-02)": "active-plan",
        "queued-plans/PLAN-waits (1).md": "PLAN-waits.md",
    }
    for name in copies:
        program.write(f".harness/{name}", SOUND)
    here = tree(program)
    assert [file.slug for file in here.plans()] == ["bar (1)", "copy-of-data", "foo"]
    assert [file.slug for file in here.plans(Shelf.STAGED)] == ["waits"]
    root = harness(program)
    found = {os.path.relpath(copy.path, root): copy.original for copy in here.conflicts()}
    assert found == copies
    listed = program.run("list", "--json").json
    assert {line["slug"] for line in listed if line["shelf"] == "active"} == {
        "bar (1)", "copy-of-data", "foo",
    }  # fmt: skip


def test_a_workspace_without_a_harness_has_no_conflicts(program: Program) -> None:
    assert tree(program).conflicts() == []
    assert tree(program).plans() == []


def test_binding_errors_are_refusals(program: Program) -> None:
    program.plan("foo")
    program.plan("Foo")
    with pytest.raises(Refused, match="ambiguous"):
        archive(program, "foo")
