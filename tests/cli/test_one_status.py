"""One word for where a plan is: in its file and in every view, at every point of its life."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planbound.cli.main import main
from planbound.cli.named_plans import note_verified
from planbound.cli.terminal import Terminal
from planbound.session.tools import open_tools
from planbound.workspace.context import Context
from planbound.workspace.marks import look_at, notice
from planbound.workspace.surroundings import verify
from tests.run.bench import Bench, Step, plan_text
from tests.tables import first_always

AGENT = """\
[agents.coder]
kind = "command"
command = ["{agent}"]
"""


class Walk(Bench):
    """One plan, `walk`, and every view of it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__(folder)
        self._capsys = capsys
        self.agent("coder", Step("make a", work=("true", "true", "true", "echo right > src/a")))
        self.write("planbound.toml", AGENT.format(agent=self.folder / "agents" / "coder"))
        text = plan_text(Step("make a", fields="**on_fail:** retry(1), then abort"))
        self.write(".harness/PLAN-walk.md", text)

    @property
    def file(self) -> Path:
        """Return the plan's file."""
        return self.workspace / ".harness" / "PLAN-walk.md"

    @property
    def mark(self) -> str:
        """Return the status in the file."""
        lines = self.file.read_text().splitlines()
        (found,) = (line for line in lines if line.startswith("status:"))
        return found.removeprefix("status:").strip()

    def edit(self, old: str, new: str) -> None:
        """Change the text as a person does."""
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    def said(self, *words: str) -> str:
        """Return what a command prints that only looks."""
        self._capsys.readouterr()
        place = ["--workspace", str(self.workspace), "--state", str(self.folder / "state")]
        main([*place, *words])
        return self._capsys.readouterr().out

    def words(self) -> dict[str, str]:
        """Return the word of each view, the ones that write nothing first."""

        def data(*words: str) -> Any:
            return json.loads(self.said(*words, "--json"))

        groups = data("standup")
        shown = self.said("show", "walk").splitlines()[1]
        loop = open_tools(
            workspace=str(self.workspace),
            state=str(self.folder / "state"),
            session="s",
            name="walk",
        )
        told = loop.plan_show()
        return {
            "queue-status": self.said("queue-status").split("[")[1].split("]")[0],
            "queue-status --json": data("queue-status")["plans"][0]["status"],
            "standup --json": next(
                each["status"]
                for name, group in groups.items()
                if name != "degrade_warnings"
                for each in group
            ),
            "standup": self.said("standup").split("[")[1].split("]")[0],
            "list": self.said("list").split("[")[1].split("]")[0],
            "list --json": data("list")[0]["status"],
            "status": self.said("status", "walk").split(": ", 1)[1].split(",")[0].split(" (")[0],
            "status --json": data("status", "walk")["status"],
            "show": shown.split(" · ")[1],
            "show --json": data("show", "walk")["status"],
            "plan_show": told.text.split(", ")[1],
            "plan_show, data": str(told.data["status"]),
            "plan_status": str(loop.plan_status().data["status"]),
            "session-start": (loop.orientation() or f", {self.mark}, ").split(", ")[1],
            "file": self.mark,
        }


@pytest.fixture
def walk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Walk:
    found = Walk(tmp_path, capsys)
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    return found


@pytest.mark.thorough
@pytest.mark.requirement("status.one-word")
@pytest.mark.requirement("views.agree")
def test_every_view_and_the_file_have_one_word_for_a_plan_all_its_life(walk: Walk) -> None:
    def edit() -> None:
        walk.edit("# Do the work", "# Do other work")

    def undo() -> None:
        walk.edit("# Do other work", "# Do the work")

    life: list[tuple[Callable[[], object], str]] = [
        (lambda: None, "draft"),
        (lambda: walk.goes("verify", "walk"), "verified"),
        (edit, "draft"),
        (lambda: walk.goes("verify", "walk"), "verified"),
        (undo, "verified"),
        (lambda: walk.approve("walk"), "approved"),
        (lambda: walk.goes("verify", "walk"), "approved"),
        (edit, "draft"),
        (undo, "approved"),
        (lambda: walk.goes("run", "walk", PLANBOUND_FAILPOINT="before:TASK_STARTED:2", code=-9),
         "in-progress"),
        (edit, "draft"),
        (lambda: walk.goes("run", "walk", code=2), "draft"),
        (undo, "in-progress"),
        (lambda: walk.goes("run", "walk", code=1), "failed"),
        (lambda: walk.goes("verify", "walk"), "failed"),
        (edit, "draft"),
        (undo, "failed"),
        (lambda: walk.goes("resume", "walk"), "done"),
        (lambda: walk.goes("verify", "walk"), "done"),
        (edit, "draft"),
        (undo, "done"),
    ]  # fmt: skip
    for number, (act, word) in enumerate(life):
        act()
        words = walk.words()
        assert (number, words) == (number, dict.fromkeys(words, word))


def edits(walk: Walk) -> list[str]:
    said = [json.loads(line) for line in walk.said("log", "walk", "--json").splitlines()]
    return [each["details"]["status"] for each in said if each["event"] == "PLAN_EDITED"]


@pytest.mark.thorough
@pytest.mark.requirement("loop.undone")
@pytest.mark.parametrize("word", first_always(["in-progress", "approved"]))
def test_plan_show_leaves_an_undone_edit_undone(walk: Walk, word: str) -> None:
    def revisions() -> list[object]:
        looked = loop.plan_show()
        said = (walk.said(*each, "--json") for each in (("status", "walk"), ("show", "walk")))
        return [looked.data["revision"], *(json.loads(each)["revision"] for each in said)]

    walk.approve("walk")
    if word == "in-progress":
        walk.goes("run", "walk", PLANBOUND_FAILPOINT="before:TASK_STARTED:2", code=-9)
    loop = open_tools(
        workspace=str(walk.workspace), state=str(walk.folder / "state"), session="s", name="walk"
    )
    loop.plan_show()
    text = walk.file.read_text()
    for other in ("# Do other work", "# Do less"):
        walk.edit("# Do the work", other)
        assert "draft" in loop.plan_show().text
        assert (other in walk.file.read_text(), walk.mark) == (True, "draft")
        assert revisions() == [1, 1, 1]
        walk.edit(other, "# Do the work")
        for _ in range(2):
            assert f", {word}, revision 1" in loop.plan_show().text
            assert walk.file.read_text() == text
        assert revisions() == [1, 1, 1]
    words = walk.words()
    assert words == dict.fromkeys(words, word)


@pytest.mark.requirement("loop.undone")
def test_plan_show_leaves_what_was_changed_at_the_gate_as_people_put_it(walk: Walk) -> None:
    loop = open_tools(
        workspace=str(walk.workspace), state=str(walk.folder / "state"), session="s", name="walk"
    )
    loop.plan_show()
    before = walk.file.read_text()
    step = "### " + before.partition("### ")[2].partition("\n## ")[0]
    said = ("decide", "walk", "edit step 1", "--with", "-", "--as", "ann")
    assert walk.run(*said, stdin=step.replace("make a", "make all").encode()).code == 4
    assert "make all" in walk.file.read_text()
    walk.file.write_text(before)
    assert loop.plan_show().ok
    assert "make all" not in walk.file.read_text()


LOOKS = (
    ("status", "walk"),
    ("show", "walk"),
    ("list",),
    ("ready",),
    ("standup",),
    ("run", "walk"),
    ("gate", "walk"),
    ("submit", "walk"),
    ("doctor", "--fix"),
)


@pytest.mark.thorough
@pytest.mark.requirement("status.noticed")
def test_whoever_looks_first_writes_draft_and_nobody_after_it(walk: Walk) -> None:
    walk.approve("walk")
    for number, look in enumerate(LOOKS, 1):
        walk.edit("# Do the work", "# Do other work")
        walk.said(*look)
        assert (look, walk.mark) == (look, "draft")
        before = walk.file.stat().st_mtime_ns
        walk.said(("status", "list", "standup", "queue-status", "doctor")[number % 5])
        assert (look, walk.file.stat().st_mtime_ns) == (look, before)
        # To look, and to notice, takes nothing back: it is the text that is not approved.
        walk.edit("# Do other work", "# Do the work")
        walk.said("list")
        assert walk.mark == "approved"
        assert (look, edits(walk)) == (look, ["draft", "approved"] * number)
    walk.edit("# Do the work", "# Do other work")
    walk.run("hook", "session-start", stdin=b"{}", PLANBOUND_PLAN="walk")
    assert (walk.mark, edits(walk)[-1]) == ("draft", "draft")


@pytest.mark.requirement("status.noticed")
def test_two_who_look_at_once_record_an_edit_once(walk: Walk) -> None:
    walk.approve("walk")
    walk.edit("# Do the work", "# Do other work")
    contexts = [
        Context(workspace=str(walk.workspace), state=str(walk.folder / "state")) for _ in range(2)
    ]
    file = contexts[0].tree.planned_path("walk")
    looks = [look_at(each.existing_journal(), file, walk.file.read_bytes()) for each in contexts]
    for each, look in zip(contexts, looks, strict=True):
        notice(each.recorder(), each.files, look)
    assert (edits(walk), walk.mark) == (["draft"], "draft")


@pytest.mark.thorough
@pytest.mark.requirement("status.noticed")
def test_where_nothing_can_be_written_the_right_word_is_still_shown(walk: Walk) -> None:
    walk.approve("walk")
    walk.edit("# Do the work", "# Do other work")
    harness, state = walk.workspace / ".harness", walk.folder / "state"
    folders = [harness, state, *(each for each in state.rglob("*") if each.is_dir())]
    files = [each for each in (*harness.rglob("*"), *state.rglob("*")) if each.is_file()]
    for path in (*files, *folders):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for command in (("status", "walk"), ("show", "walk"), ("list",), ("standup",)):
            done = walk.run(*command, obeys_permissions=True)
            assert done.code == 0, (command, done.err)
            assert "draft" in done.out, (command, done.out)
        assert walk.mark == "approved"
    finally:
        for path in (*folders, *files):
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.thorough
@pytest.mark.requirement("status.verified")
def test_verify_marks_only_what_it_verified(walk: Walk) -> None:
    text = walk.file.read_bytes()
    assert walk.goes("verify", "walk", "--check").err == ""
    assert walk.file.read_bytes() == text
    assert walk.log() == []
    outside = walk.write("PLAN-walk.md", text)
    walk.goes("verify", str(outside))
    walk.run("verify", "-", stdin=text)
    assert (outside.read_bytes(), walk.mark) == (text, "draft")
    walk.write(".harness/PLAN-walk.md", text.replace(b"**target:** coder", b"**target:** nobody"))
    walk.goes("verify", "walk", code=1)
    assert (walk.mark, walk.log().of("PLAN_VERIFIED")) == ("draft", [])
    walk.write(".harness/PLAN-walk.md", text)
    walk.goes("verify", "walk")
    # Only the one line is another, and to verify it again changes nothing.
    assert walk.file.read_bytes() == text.replace(b"status: draft", b"status: verified")
    before = walk.file.stat().st_mtime_ns
    walk.goes("verify", "walk")
    assert (walk.file.stat().st_mtime_ns, len(walk.log().of("PLAN_VERIFIED"))) == (before, 1)
    # What a person said no to is a draft, until somebody verifies it once more.
    walk.goes("reject", "walk", "--reason", "not like that", "--as", "ann")
    assert (walk.mark, json.loads(walk.said("list", "--json"))[0]["status"]) == ("draft",) * 2
    walk.goes("verify", "walk")
    assert (walk.mark, json.loads(walk.said("list", "--json"))[0]["status"]) == ("verified",) * 2


@pytest.mark.thorough
@pytest.mark.requirement("status.verified")
def test_verify_says_that_it_could_not_mark_the_file(walk: Walk) -> None:
    text, harness = walk.file.read_bytes(), walk.workspace / ".harness"
    harness.chmod(0o555)
    try:
        done = walk.run("verify", "walk", obeys_permissions=True)
    finally:
        harness.chmod(0o755)
    assert (done.code, walk.file.read_bytes()) == (0, text)
    assert "the file does not show that it is verified" in done.err


@pytest.mark.requirement("status.verified")
def test_what_somebody_writes_while_it_is_verified_is_not_lost(walk: Walk) -> None:
    context = Context(workspace=str(walk.workspace), state=str(walk.folder / "state"))
    file = context.tree.planned_path("walk")
    result = verify(walk.file.read_bytes(), path=file.shown, surroundings=context.surroundings())
    walk.edit("# Do the work", "# Do other work")
    text = walk.file.read_bytes()
    note_verified(context, file, result, Terminal())
    assert walk.file.read_bytes() == text
    assert json.loads(walk.said("list", "--json"))[0]["status"] == "draft"


@pytest.mark.requirement("doctor.fix")
def test_doctor_names_wrong_marks_and_puts_them_right_if_told_to(walk: Walk) -> None:
    walk.approve("walk")
    sound = walk.file.read_bytes()
    walk.edit("status: approved", "status: done # by hand")
    walk.edit("### 1. make a", "### 1. ✅ make a")
    forged = walk.file.read_bytes()
    said = walk.run("doctor").out
    assert "`walk`: the file says `done`, and its status is `approved`" in said
    assert "`walk`: step 1 is `done` in the file, `pending` in the journal" in said
    assert "`planbound doctor --fix`" in said
    assert walk.file.read_bytes() == forged
    mended = walk.run("doctor", "--fix", "--json").json
    assert [each.split(":")[0] for each in mended["mended"]] == ["`walk`"] * 2
    assert walk.file.read_bytes() == sound.replace(b"approved", b"approved # by hand")
    assert "they agree about every active plan" in walk.run("doctor", "--fix").out
    # What the journal knows nothing of was never done.
    walk.plan("other", sound.replace(b"status: approved", b"status: done"))
    walk.run("doctor", "--fix")
    assert b"status: draft" in (walk.workspace / ".harness" / "PLAN-other.md").read_bytes()


@pytest.mark.requirement("ready.unwritten")
def test_what_still_says_todo_is_not_ready(walk: Walk) -> None:
    walk.goes("new", "later")
    data = json.loads(walk.said("ready", "--json"))
    assert data["ready"] == ["walk"]
    reasons = {each["slug"]: each["reason"] for each in data["held_back"]}
    assert reasons["later"] == "step 1 still says `TODO`"


@pytest.mark.requirement("status.one-word")
def test_a_plan_under_way_that_was_changed_is_not_put_away(walk: Walk) -> None:
    walk.approve("walk")
    walk.goes("run", "walk", PLANBOUND_FAILPOINT="before:ATTEMPT_ENDED:1", code=-9)
    walk.edit("# Do the work", "# Do other work")
    assert walk.said("list").split("[")[1].split("]")[0] == walk.mark == "draft"
    assert "`walk` is in progress" in walk.goes("archive", "walk", code=2).err
    walk.goes("cancel", "walk", "--as", "ann")
    assert walk.mark == "draft"
    walk.edit("# Do other work", "# Do the work")
    walk.goes("archive", "walk")
    assert walk.log("walk").one("PLAN_ARCHIVED")["status"] == "cancelled"
    (listed,) = json.loads(walk.said("list", "--all", "--json"))
    assert (listed["shelf"], listed["status"]) == ("archived", "cancelled")
