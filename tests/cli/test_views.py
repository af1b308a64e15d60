"""`list`, `ready`, `merge-order`, `queue-status`, `standup` and `doctor`."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from planbound.disk.files import Files
from planbound.doctor.doctor import (
    Check,
    Health,
    StateFolder,
    doctor,
    is_well,
    journal_checks,
    plan_checks,
    state_check,
    tool_checks,
)
from planbound.errors import JournalProblem
from planbound.journal.chain import Anchor
from planbound.journal.event import EventKind
from planbound.journal.log import check
from planbound.journal.record import Draft, Journal, Json
from planbound.journal.sqlite import SqliteJournal
from planbound.plan.model import PlanStatus
from planbound.plan.parse import parse
from planbound.team.standup import find_merge_order, find_standup, queue_status
from planbound.testing.journal import MemoryJournal
from planbound.workspace.context import Context
from planbound.workspace.overview import NO_JOURNAL, overview, ready
from planbound.workspace.readiness import HeldBack
from planbound.workspace.tree import Workspace
from tests.journal import told
from tests.program import SOUND, Program

E = EventKind
COMMANDS = ("list", "ready", "merge-order", "queue-status", "standup", "doctor")
STEPS = [step.id for step in parse(SOUND).steps]
DONE: dict[str, Json] = {"completed": 3, "failed": 0, "skipped": 0, "waived": 0}


def text(*, status: str = "draft", depends_on: str = "", touches: str = "") -> str:
    """Return a plan whose steps say nothing of what they touch."""
    lines = SOUND.replace("status: draft", f"status: {status}").splitlines(keepends=True)
    plan = "".join(
        line for line in lines if not line.startswith("**touches") and "- " not in line[:2]
    )
    extra = f"depends_on: [{depends_on}]\n" + (f"touches: [{touches}]\n" if touches else "")
    return plan.replace("owner: orchestrator\n", f"owner: orchestrator\n{extra}", 1)


class Events:
    """A journal that is filled event by event."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        self.number = 0

    def add(
        self,
        plan: str,
        kind: EventKind,
        task: str | None = None,
        details: dict[str, Json] | None = None,
        *,
        at: str = "2026-11-15T09:00:00.000000Z",
    ) -> Events:
        self.number += 1
        draft = Draft(f"e{self.number}", at, kind, plan, task, None, told(kind, details))
        self.journal.append([draft])
        return self

    def done(self, plan: str, at: str = "2026-11-15T09:00:00.000000Z") -> Events:
        for step in STEPS:
            self.add(plan, E.TASK_STARTED, step, {"attempt": 1}, at=at)
            self.add(plan, E.TASK_COMPLETED, step, {"result": "proved"}, at=at)
        return self.add(plan, E.EXECUTION_COMPLETE, None, DONE, at=at)

    def open(self) -> Journal | None:
        return self.journal


def nothing() -> Journal | None:
    return None


def broken() -> Journal | None:
    raise JournalProblem("the journal is not a database")


def tree(program: Program) -> Workspace:
    root = str(program.workspace)
    return Workspace(root, current=root)


def snapshot(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return of everything below a folder its mode, its time of change and its content."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (stat.st_mode, stat.st_mtime_ns, content)
    return found


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("wants_json", [True, False])
def test_every_view_works_where_nothing_is_and_writes_nothing(
    tmp_path: Path, command: str, *, wants_json: bool
) -> None:
    folder = tmp_path / "not a repository" / "below"
    folder.mkdir(parents=True)
    program = Program(folder)
    before = snapshot(tmp_path)
    done = program.run(command, *(["--json"] if wants_json else []))
    assert done.code == 0, done
    if wants_json:
        assert done.json is not None
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_every_view_reads_a_full_workspace_from_below_and_writes_nothing(
    program: Program, command: str
) -> None:
    program.plan("hello", text(touches="src/**"))
    program.plan("hello-built", text(status="done", touches="built/**"))
    program.plan("hello-busy", text(status="in-progress", touches="busy/**"))
    program.plan("bad", b"\xff\xfe\x00")
    program.plan("hello (conflicted copy 2026-01-02)")
    program.write(".harness/queued-plans/PLAN-later.md", text(depends_on="hello"))
    program.write(".harness/archive/PLAN.archive.20261101-old.md", text(status="done"))
    program.write(".harness/active-plan", "hello\n")
    program.write(".harness/progress-hello.md", "2026-11-15 09:00 coder — begun\n")
    below = program.workspace / "src" / "deep"
    below.mkdir(parents=True)
    before = snapshot(program.workspace)
    for arguments in ((), ("--json",)):
        done = program.run(command, *arguments, cwd=below)
        assert done.code == 0, done
        assert "hello" in done.out
        assert "\x1b" not in done.out
    assert snapshot(program.workspace) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_every_view_works_on_a_tree_that_cannot_be_written(program: Program, command: str) -> None:
    program.plan("hello", text(touches="src/**"))
    folders = [program.workspace, program.workspace / ".harness"]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = program.run(command, "--json", obeys_permissions=True)
        assert done.code == 0, done
        assert "hello" in done.out or command in {"merge-order", "standup", "doctor"}
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_view_works_in_a_linked_worktree(tmp_path: Path, command: str) -> None:
    main, linked = Program(tmp_path / "main"), Program(tmp_path / "linked")
    main.plan("hello", text(status="done", touches="src/**"))
    main.write(".git/worktrees/linked/commondir", "../..\n")
    linked.write(".git", f"gitdir: {main.workspace}/.git/worktrees/linked\n")
    linked.write(".harness/active-plan", "hello\n")
    done = linked.run(command, "--json")
    assert done.code == 0, done
    assert "hello" in done.out or command == "ready"
    if command == "list":
        assert done.json[0]["bound"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_view_says_so_where_the_main_worktree_is_lost(tmp_path: Path, command: str) -> None:
    linked = Program(tmp_path / "linked")
    linked.write(".git", f"gitdir: {tmp_path}/gone/.git/worktrees/linked\n")
    done = linked.run(command)
    assert done.code == {"queue-status": 0, "doctor": 1}.get(command, 2), done
    assert "is not there" in (done.out if command == "doctor" else done.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_journal_that_is_no_database_is_told_and_the_files_are_shown(
    program: Program, tmp_path: Path, command: str
) -> None:
    program.plan("hello", text(status="done", touches="src/**"))
    program.write("state/journal.sqlite", b"no database" * 1000)
    before = snapshot(tmp_path)
    done = program.run(command, PLANBOUND_STATE=str(tmp_path / "state"))
    assert done.code == (1 if command == "doctor" else 0), done
    told = done.out if command == "doctor" else done.err
    assert "FAIL  database" in told or "what its file says" in told
    assert snapshot(tmp_path) == before


# list


@pytest.mark.requirement("command.list")
def test_list_has_active_plans_first_then_staged_then_archived_on_demand(program: Program) -> None:
    program.plan("b")
    program.write(".harness/queued-plans/PLAN-a.md", SOUND)
    program.write(".harness/archive/PLAN.archive.20261101-z.md", SOUND)
    program.write(".harness/archive/PLAN.archive.20261101-z-2.md", SOUND)
    program.write(".harness/archive/PLAN.archive.20261102-y-3.md", SOUND)
    program.write(".harness/archive/progress.archive.20261101-z.md", "")
    listed = program.run("list", "--json").json
    assert [(line["slug"], line["shelf"]) for line in listed] == [("b", "active"), ("a", "staged")]
    everything = program.run("list", "--all", "--json").json
    assert [line["slug"] for line in everything] == ["b", "a", "y-3", "z", "z"]
    assert "(archived)" in program.run("list", "--all").out


@pytest.mark.requirement("command.list")
def test_list_names_the_bound_plan_and_conflict_copies(program: Program) -> None:
    program.plan("a")
    program.plan("b")
    program.write(".harness/PLAN-b (1).md", SOUND)
    program.write(".harness/progress-b.sync-conflict-20260102-030405-ABCDEFG.md", "")
    program.write(".harness/Copy of PLAN-gone.md", SOUND)
    named_only = program.run("list", "--json")
    assert [line["bound"] for line in named_only.json] == [False, False]
    program.write(".harness/active-plan", "a\n")
    done = program.run("list", "--json")
    a, b = done.json
    assert (a["bound"], b["bound"]) == (True, False)
    assert len(b["conflicts"]) == 2
    assert a["conflicts"] == []
    assert "`.harness/Copy of PLAN-gone.md` is a conflict copy" in done.err
    program.write(".harness/active-plan", "nobody\n")
    dangling = program.run("list", "--json")
    assert (dangling.code, [line["bound"] for line in dangling.json]) == (0, [False, False])
    assert "nobody" in dangling.err


@pytest.mark.requirement("command.list")
def test_named_plans_alone_are_healthy(program: Program) -> None:
    program.plan("a")
    done = program.run("list")
    assert (done.code, done.err) == (0, "")


@pytest.mark.requirement("command.list")
@pytest.mark.requirement("invariant.no-event-no-state")
def test_where_file_and_journal_disagree_the_journal_wins(program: Program) -> None:
    program.plan("a", SOUND.replace("### 1. Say", "### 1. ✅ Say"))
    events = Events().add("a", E.PLAN_CREATED)
    events.add("a", E.TASK_STARTED, STEPS[1], {"attempt": 1})
    (line,) = overview(tree(program), Files(), events.open).lines
    assert (line.status, line.done) == (PlanStatus.IN_PROGRESS, 0)
    events.add("a", E.TASK_COMPLETED, STEPS[1], {"result": "proved"})
    (line,) = overview(tree(program), Files(), events.open).lines
    assert (line.done, line.steps) == (1, 3)
    (line,) = overview(tree(program), Files(), nothing).lines
    assert (line.status, line.done) == (PlanStatus.DRAFT, 1)


@pytest.mark.requirement("command.list")
def test_a_broken_journal_is_a_warning(program: Program) -> None:
    program.plan("a")
    seen = overview(tree(program), Files(), broken)
    assert not seen.has_journal
    assert "not a database" in seen.warnings[0]


# ready


@pytest.mark.requirement("command.ready")
def test_ready_without_a_journal_believes_the_files_and_says_so(program: Program) -> None:
    program.plan("base", text(status="done"))
    program.plan("a", text(depends_on="PLAN-base.md, old", touches="src/a/**"))
    program.plan("b", text(depends_on="a", touches="src/b/**"))
    program.plan("c", text())
    program.write(".harness/archive/PLAN.archive.20261101-old.md", text(status="done"))
    data = program.run("ready", "--json").json
    assert set(data) == {"ready", "safe_together", "held_back", "degrade_warnings"}
    assert data["ready"] == ["a", "c"]
    assert data["safe_together"] == ["a"]
    assert [held["slug"] for held in data["held_back"]] == ["b", "c"]
    assert data["held_back"][0]["reason"] == "waits for `a` (draft)"
    assert NO_JOURNAL in data["degrade_warnings"]
    assert len(data["degrade_warnings"]) == 2  # the other one is about `touches` of `c`
    shown = program.run("ready")
    assert "a  safe to begin, but not approved yet: `planbound approve a`" in shown.out
    assert "c  ready, held back" in shown.out


def test_with_a_journal_a_done_mark_in_a_file_counts_for_nothing(program: Program) -> None:
    program.plan("base", text(status="done"))
    program.plan("a", text(depends_on="base", touches="src/**"))
    events = Events().add("a", E.PLAN_CREATED)
    found = ready(overview(tree(program), Files(), events.open))
    assert found.held_back == (HeldBack("a", "waits for `base` (claimed)"),)
    assert "`base` is done by its file" in found.warnings[0]
    found = ready(overview(tree(program), Files(), events.done("base").open))
    assert (found.safe_together, found.warnings) == (("a",), ())


def test_an_archived_plan_that_the_journal_saw_done_satisfies_a_dependency(
    program: Program,
) -> None:
    program.write(".harness/archive/PLAN.archive.20261101-base.md", text())
    program.write(".harness/queued-plans/PLAN-a.md", text(depends_on="base", touches="src/**"))
    events = Events().done("base").add("base", E.PLAN_ARCHIVED)
    assert ready(overview(tree(program), Files(), events.open)).safe_together == ("a",)


def test_a_started_plan_holds_back_who_touches_the_same(program: Program) -> None:
    program.plan("busy", text(touches='"src/*.py"'))
    program.plan("a", text(touches="src/main.py"))
    program.plan("b", text(touches="docs/"))
    events = Events().add("busy", E.TASK_STARTED, STEPS[0], {"attempt": 1})
    found = ready(overview(tree(program), Files(), events.open))
    assert (found.ready, found.safe_together) == (("a", "b"), ("b",))
    assert found.held_back[0].reason.startswith("waits for `busy`, which is in progress")


def test_what_a_step_touches_beyond_its_plan_counts(program: Program) -> None:
    own = SOUND.replace("owner: orchestrator\n", "owner: orchestrator\ntouches: [docs/a]\n")
    program.plan("a", own)
    program.plan("b", text(touches="hello.txt"))
    assert len(ready(overview(tree(program), Files(), nothing)).safe_together) == 1


def test_a_staged_copy_of_an_active_or_finished_plan_is_no_second_one(program: Program) -> None:
    for name in ("active", "over"):
        program.write(f".harness/queued-plans/PLAN-{name}.md", text(touches="src/**"))
    program.plan("active", text(status="in-progress", touches="src/**"))
    program.write(".harness/archive/PLAN.archive.20261101-over.md", text(status="done"))
    found = ready(overview(tree(program), Files(), nothing))
    assert found.ready == ()
    assert [held.slug for held in found.held_back] == ["over"]


# merge-order


@pytest.mark.requirement("command.merge-order")
def test_merge_order_gives_each_plan_its_reason(program: Program) -> None:
    program.plan("a", text(status="done", depends_on="z"))
    program.plan("b", text(status="done"))
    program.plan("z", text(status="done"))
    program.plan("c", text(depends_on="z"))
    data = program.run("merge-order", "--json").json
    assert [turn["slug"] for turn in data["order"]] == ["b", "z", "a"]
    assert all("not known" in turn["reason"] for turn in data["order"])
    assert "3. a  level 1, after `z`" in program.run("merge-order").out
    order, _ = find_merge_order(overview(tree(program), Files(), nothing), {}, {"b": 9, "z": 3})
    assert [turn.slug for turn in order.turns] == ["z", "b", "a"]


def test_merge_order_refuses_a_cycle(program: Program) -> None:
    program.plan("a", text(status="done", depends_on="b"))
    program.plan("b", text(status="done", depends_on="a"))
    done = program.run("merge-order")
    assert (done.code, done.out) == (1, "")
    assert "a → b → a" in done.err
    assert program.run("merge-order", "--json").json["cycle"] == ["a", "b", "a"]


def test_a_plan_that_is_done_by_its_file_alone_is_not_merged(program: Program) -> None:
    program.plan("a", text(status="done"))
    order, warnings = find_merge_order(overview(tree(program), Files(), Events().open), {}, {})
    assert order.turns == ()
    assert len(warnings) == 1


# queue-status


@pytest.mark.requirement("command.queue-status")
def test_queue_status_has_one_line_for_each_plan(program: Program) -> None:
    program.write(".harness/PLAN.md", text(status="approved"))
    program.plan("a", text())
    program.plan("dir", text()).unlink()
    (program.workspace / ".harness/PLAN-dir.md").mkdir()
    program.write(".harness/queued-plans/PLAN-later.md", text())
    program.write(".harness/queued-plans/PLAN-a.md", text())
    program.write(".harness/progress.md", "first\n2026-11-15 09:00 ana — \x1b[2Jé" + "x" * 200)
    program.write(".harness/progress-a.md", "old\n\n2026-11-15 09:00 ana — begun\r\n\n")
    before = snapshot(program.workspace)
    done = program.run("queue-status")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[1:] == [
        "a [draft] 2026-11-15 09:00 ana — begun",
        "dir [unreadable]",
        "later [staged]",
    ]
    name, status, progress = lines[0].split(" ", 2)
    assert (name, status) == ("PLAN", "[approved]")
    assert progress.startswith("2026-11-15 09:00 ana — \\x1b[2Jé")
    assert (len(progress), progress[-1]) == (120, "…")
    assert snapshot(program.workspace) == before


def test_queue_status_ends_with_0_whatever_is_broken(program: Program) -> None:
    program.write(".harness", "a file")
    assert program.run("queue-status").code == 0
    assert program.run("queue-status", "--workspace", "nowhere").code == 0
    assert program.run("queue-status", "--json", "--workspace", "nowhere").json["plans"] == []


def test_queue_status_reads_only_the_end_of_the_progress(program: Program) -> None:
    program.plan("a")
    path = program.write(".harness/progress-a.md", "")
    with path.open("r+b") as file:
        file.truncate(5_000_000_000)  # sparse
        file.seek(0, os.SEEK_END)
        file.write(b"\nthe last line\n")
    (line,) = queue_status(overview(tree(program), Files(), nothing), tree(program)).lines
    assert line.progress == "the last line"


# standup


@pytest.mark.requirement("command.standup")
def test_standup_puts_each_plan_where_it_belongs(program: Program) -> None:
    for name in ("quick", "slow", "over", "asking", "fresh"):
        program.plan(name)
    events = Events().add("fresh", E.PLAN_CREATED, at="2026-11-15T11:30:00.000000Z")
    events.add("slow", E.TASK_STARTED, STEPS[0], {"attempt": 1}, at="2026-11-15T09:59:00.000000Z")
    events.add("quick", E.TASK_STARTED, STEPS[0], {"attempt": 1}, at="2026-11-15T11:30:00.000000Z")
    request: dict[str, Json] = {"plan_id": "asking", "digest": "d"}
    events.add("asking", E.GATE_APPROVAL_REQUESTED, None, request)
    events.done("over")
    found, warnings = find_standup(
        overview(tree(program), Files(), events.open), "2026-11-15T12:00:00.000000Z"
    )
    assert [[each.slug for each in group] for group in found] == [
        ["quick"],
        ["over"],
        ["fresh", "slow"],
        ["asking"],
    ]
    assert found.waiting[0].about == "approval"
    assert warnings == ()


def test_standup_shows_its_four_groups(program: Program) -> None:
    program.plan("a", text(status="in-progress"))
    done = program.run("standup")
    assert "building (1)\n  a  [in-progress]" in done.out
    assert "waiting for a person (0)" in done.out
    data = program.run("standup", "--json").json
    assert set(data) == {"building", "mergeable", "idle", "waiting", "degrade_warnings"}


# doctor


def examine(program: Program, journal: Journal | None = None) -> dict[str, list[Check]]:
    found: dict[str, list[Check]] = {}
    for each in plan_checks(tree(program), Files(), journal)[0]:
        assert (each.cure is None) == (each.health is Health.OK)
        found.setdefault(each.name, []).append(each)
    return found


def healths(checks: list[Check]) -> set[Health]:
    return {check.health for check in checks}


@pytest.mark.requirement("command.doctor")
def test_doctor_of_a_sound_workspace_finds_nothing_and_says_where_it_looked(
    program: Program,
) -> None:
    found = examine(program)
    assert all(healths(checks) == {Health.OK} for checks in found.values())
    assert str(program.workspace / ".harness") in found["plans"][0].message
    assert "found nothing" in found["plans"][0].message
    done = program.run("doctor")
    assert "OK    hooks: none installed\n" in done.out
    assert "OK    journal anchor: nothing was noted yet\n" in done.out
    assert done.code == 0


@pytest.mark.requirement("doctor.plans")
def test_doctor_names_the_plans_and_counts_no_empty_file(program: Program) -> None:
    program.plan("one", text())
    program.plan("words", "not a plan\n")
    program.write(".harness/queued-plans/PLAN-later.md", text())
    program.plan("blank", "\ufeff \n")
    done = program.run("doctor")
    assert "2 read without a fault" in done.out
    assert ": one, later (staged)\n" in done.out
    assert "WARN  plans: `.harness/PLAN-blank.md` is empty: no plan" in done.out
    assert "WARN  plans: `.harness/PLAN-words.md` has no steps: no plan" in done.out
    assert done.code == 0


@pytest.mark.requirement("doctor.plans")
def test_an_empty_file_is_no_draft(program: Program) -> None:
    program.plan("blank", "\ufeff \n")
    program.write(".harness/queued-plans/PLAN-later.md", "")
    (program.workspace / ".harness/PLAN-none.md").write_text("")
    listed = program.run("list").out
    assert "blank  [empty]  the file holds no plan\n" in listed
    assert "later  [empty]  the file holds no plan  (staged)\n" in listed
    assert {each["status"] for each in program.run("list", "--json").json} == {"empty"}
    queue = program.run("queue-status").out
    assert queue == "blank [empty]\nnone [empty]\nlater [empty]\n"
    idle = program.run("standup").out
    assert "idle (3)\n  blank  [empty] the file holds no plan\n" in idle
    assert "blank  held back: the file holds no plan" in program.run("ready").out
    # Nothing is written into it, either.
    assert (program.workspace / ".harness/PLAN-none.md").read_text() == ""


def test_doctor_warns_of_a_dangling_marker_and_of_conflict_copies(program: Program) -> None:
    program.plan("a")
    program.write(".harness/active-plan", "gone\n")
    program.write(".harness/PLAN-a (1).md", SOUND)
    program.write(".harness/queued-plans/Copy of PLAN-x.md", SOUND)
    found = examine(program)
    assert healths(found["binding"]) == {Health.WARN}
    assert healths(found["conflict copies"]) == {Health.WARN}
    assert len(found["conflict copies"]) == 2
    done = program.run("doctor")
    assert done.code == 0
    assert "WARN  binding:" in done.out
    assert "cure:" in done.out


@pytest.mark.requirement("verify.plan-dependencies")
def test_verify_and_doctor_tell_of_circles_and_of_plans_that_are_not_there(
    program: Program,
) -> None:
    program.plan("a", text(depends_on="b"))
    program.plan("b", text(depends_on="c"))
    program.write(".harness/queued-plans/PLAN-c.md", text(depends_on="a"))
    program.plan("d", text(depends_on="money, old"))
    program.write(".harness/archive/PLAN.archive.20261101-old.md", text(status="done"))
    done = program.run("verify", "a", "d")
    assert done.code == 1
    assert "PB306" in done.out
    assert "these plans wait for each other: `a → b → c → a`" in done.out
    assert "there is no plan `money`" in done.out
    assert "`old`" not in done.out
    done = program.run("verify", "-", stdin=text(depends_on="old, mony"), cwd=None)
    assert (done.code, done.out.count("PB305")) == (1, 1)
    done = program.run("doctor")
    assert done.code == 1
    assert "FAIL  dependencies: these plans wait for each other: a → b → c → a" in done.out
    assert "FAIL  dependencies: `d` waits for `money`, which is no plan" in done.out
    assert done.out.count("dependencies:") == 2
    program.plan("b", text())
    program.plan("money", text())
    assert program.run("verify", "a", "d").code == 0
    assert "OK    dependencies: every plan that is waited for is there" in program.run("doctor").out


def test_doctor_fails_where_a_plan_cannot_be_read(program: Program) -> None:
    program.plan("good")
    (program.workspace / ".harness/PLAN-dir.md").mkdir()
    done = program.run("doctor", "--json")
    assert done.code == 1
    assert not done.json["ok"]
    failed = [check for check in done.json["checks"] if check["health"] == "FAIL"]
    assert [check["name"] for check in failed] == ["plans"]
    assert failed[0]["cure"]


def test_doctor_tells_configuration_errors_and_goes_on(program: Program) -> None:
    program.write("planbound.toml", "profil = 'strict'\n")
    done = program.run("doctor")
    assert done.code == 1
    assert "FAIL  configuration: unknown key `profil`" in done.out
    assert "OK    hooks: none installed" in done.out


def test_doctor_sees_marks_that_the_journal_does_not_know(program: Program) -> None:
    program.plan("a", SOUND.replace("### 1. Say", "### 1. ✅ Say"))
    program.plan("b", text(status="done"))
    program.plan("c", text())
    events = Events().add("a", E.PLAN_CREATED).add("c", E.PLAN_VERIFIED)
    messages = [check.message for check in examine(program, events.journal)["file against journal"]]
    assert messages == [
        "`a`: step 1 is `done` in the file, `pending` in the journal",
        "`b`: the file says `done`, the journal knows nothing of the plan",
    ]
    program.plan("a", SOUND)
    program.plan("b", text())
    found = examine(program, events.journal)["file against journal"]
    assert healths(found) == {Health.OK}
    events.add("c", E.GATE_APPROVED)
    found = examine(program, events.journal)["file against journal"]
    assert found[0].message == "`c`: the file says `draft`, and its status is `approved`"


def anchor_check(journal: Journal | None, noted: Anchor) -> Check:
    return list(journal_checks(check(journal, noted, guarded=lambda: None)))[-1]


def test_doctor_compares_the_journal_with_its_anchor() -> None:
    journal = Events().done("a").journal
    head = journal.head()
    intact = Anchor(head.seq, head.hash, "2026-11-15T09:00:00.000000Z", "p")
    assert anchor_check(journal, intact).health is Health.OK
    gone = anchor_check(None, intact)
    assert (gone.name, gone.health) == ("journal anchor", Health.FAIL)
    assert gone.message == "the journal was deleted"
    found = anchor_check(journal, intact._replace(hash="f" * 64))
    assert (found.health, found.message) == (Health.FAIL, "the journal was rewritten")


def test_doctor_says_that_the_database_cannot_be_reached(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(workspace=str(program.workspace), state=str(program.workspace / "state"))
    monkeypatch.setattr(context, "existing_journal", broken)
    checks = doctor(context)
    assert not is_well(checks)
    database = next(check for check in checks if check.name == "database")
    assert (database.health, database.message) == (Health.FAIL, "the journal is not a database")


@pytest.mark.parametrize(
    ("mode", "own", "health"),
    [
        (None, True, Health.OK),
        (0o700, True, Health.OK),
        (0o755, True, Health.WARN),
        (0o770, True, Health.FAIL),
        (0o700, False, Health.FAIL),
    ],
)
def test_doctor_looks_at_who_can_reach_the_state_home(
    mode: int | None, health: Health, *, own: bool
) -> None:
    check = state_check(StateFolder("/state", mode, own))
    assert check.health is health
    assert "/state" in check.message


@pytest.mark.thorough
def test_doctor_says_that_the_state_home_cannot_be_made(program: Program) -> None:
    locked = program.workspace / "locked"
    locked.mkdir(mode=0o555)
    words = ("doctor", "--state", str(locked / "state"), "--json")
    done = program.run(*words, obeys_permissions=True)
    (state,) = (each for each in done.json["checks"] if each["name"] == "state home")
    assert (done.code, state["health"]) == (0, "WARN")
    assert f"cannot be made: nothing may be written in {locked}" in state["message"]
    locked.chmod(0o755)
    done = program.run(*words, obeys_permissions=True)
    (state,) = (each for each in done.json["checks"] if each["name"] == "state home")
    assert state["health"] == "OK"


def test_doctor_warns_of_tools_that_are_not_there(program: Program) -> None:
    found = list(tool_checks({"git": True, "bwrap": False}))
    assert [check.health for check in found] == [Health.OK, Health.WARN]
    assert "sandbox" in found[1].message
    done = program.run("doctor", PATH="/nowhere")
    assert done.code == 0
    assert "WARN  tools: `git` is not on the PATH" in done.out


def test_views_read_the_journal_of_the_state_home(program: Program, tmp_path: Path) -> None:
    program.plan("a", text(touches="src/**", status="done"))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    journal = SqliteJournal(str(state / "journal.sqlite"))
    Events(journal).add("a", E.PLAN_CREATED)
    Events(journal).done("a")
    (line,) = program.run("list", "--json", PLANBOUND_STATE=str(state)).json
    assert (line["status"], line["status_from"], line["done"]) == ("done", "journal", 3)
    assert line["last_event"] == "EXECUTION_COMPLETE"
    order = program.run("merge-order", "--json", PLANBOUND_STATE=str(state)).json
    assert [turn["slug"] for turn in order["order"]] == ["a"]
    assert order["degrade_warnings"] == []
    doctored = program.run("doctor", PLANBOUND_STATE=str(state))
    assert "OK    journal chain: every record follows" in doctored.out
