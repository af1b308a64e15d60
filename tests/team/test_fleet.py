"""Fleet: many plans at once, each in a worktree of its own, in the order that they demand."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planbound.plan.digest import digest
from planbound.plan.parse import parse
from tests.needs import need
from tests.program import Outcome as Ended
from tests.run.bench import Bench, Step, until


class Harbour:
    """A repository with plans, each of which writes files of its own."""

    def __init__(self, folder: Path) -> None:
        need("git", "worktrees are made with it")
        self.bench = Bench(folder)
        self.git("init", "-q", "-b", "main")
        self.worktrees = folder / "repo.worktrees"

    def git(self, *arguments: str) -> str:
        """Run git as a user does."""
        who = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
        command = ["git", *who, *arguments]
        done = subprocess.run(command, cwd=self.bench.workspace, check=True, capture_output=True)
        return done.stdout.decode()

    def lay(
        self,
        name: str,
        *works: str,
        touches: str = "",
        depends_on: str = "",
        fields: str = "",
    ) -> None:
        """Lay a plan; each step does its work for bash and has to make `src/NAME-NUMBER`."""
        steps = [
            Step(
                f"Write part {number} of {name}",
                work=work,
                contract=f"grep -qx right src/{name}-{number}",
                touches=f"src/{name}-{number}",
                target=f"coder-{name}",
                fields=fields,
            )
            for number, work in enumerate(works or (f"echo right > src/{name}-1",), 1)
        ]
        self.bench.lay(*steps, name=name, touches=touches or f'"src/{name}-*"')
        file = self.bench.workspace / ".harness" / f"PLAN-{name}.md"
        owner = f"owner: tester\ndepends_on: [{depends_on}]\n"
        if depends_on:
            file.write_text(file.read_text().replace("owner: tester\n", owner))

    def approve(self, *names: str) -> None:
        """Commit what there is, and approve plans."""
        self.git("add", "planbound.toml", "src")
        self.git("commit", "-qm", "begin")
        for name in names:
            data = (self.bench.workspace / ".harness" / f"PLAN-{name}.md").read_bytes()
            seen = digest(parse(data, path=name))
            self.bench.goes("approve", name, "--digest", seen, "--as", "tester")

    def gated(self, name: str, number: int = 1) -> str:
        """Return the work of an agent that goes on when a gate opens."""
        gate = self.gate(name)
        file = f"src/{name}-{number}"
        return f"echo half > {file}; until test -e {gate}; do sleep 0.05; done; echo right > {file}"

    def gate(self, name: str) -> Path:
        """Return the file for which an agent waits."""
        return self.bench.folder / "agents" / f"gate-{name}"

    def at_work(self, *names: str) -> None:
        """Wait until the agents of plans have begun."""
        for name in names:
            until((self.worktrees / name / "src" / f"{name}-1").exists, what=f"{name} never began")

    def order(self) -> list[tuple[str, str]]:
        """Return which plans began and ended, in turn."""
        kinds = {"EXECUTION_STARTED": "begins", "EXECUTION_COMPLETE": "ends"}
        return [(kinds[e.kind], e.plan) for e in self.bench.log().of(*kinds)]

    def statuses(self) -> dict[str, str]:
        """Return how runs ended."""
        return {e.plan: e["status"] for e in self.bench.log().of("EXECUTION_COMPLETE")}

    def processes(self) -> list[str]:
        """Return the command lines of all that a fleet of this repository started."""
        mark = str(self.bench.folder).encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = entry.read_bytes()
            except OSError:
                continue
            if mark in command and b"planbound" in command:
                found.append(command.decode(errors="replace"))
        return found


@pytest.fixture
def harbour(tmp_path: Path) -> Harbour:
    return Harbour(tmp_path)


def row_of(done: Ended, name: str) -> dict[str, object]:
    """Return what `--json` says about a plan."""
    (found,) = [row for row in done.json["plans"] if row["plan"] == name]
    assert isinstance(found, dict)
    return found


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out.decode() + err.decode()


# -- together and in turn ----------------------------------------------------------------------


@pytest.mark.requirement("command.fleet")
def test_plans_that_touch_nothing_in_common_run_at_once(harbour: Harbour) -> None:
    names = ("one", "two")
    for name in names:
        harbour.lay(name, harbour.gated(name), f"echo right > src/{name}-2")
    harbour.approve(*names)
    with harbour.bench.start("fleet", "--jobs", "2") as fleet:
        harbour.at_work(*names)
        assert [what for what, _ in harbour.order()] == ["begins"] * 2
        for name in names:
            harbour.gate(name).touch()
        code, said = finish(fleet)
    assert code == 0, said
    for name in names:
        lines = [line for line in said.splitlines() if line.startswith(f"{name}: ")]
        assert lines[0] == f"{name}: started in {harbour.worktrees / name}"
        assert lines[-2:] == [f"{name}: 2/2 proved", f"{name}: done"]
        assert harbour.git("show", f"planbound/{name}:src/{name}-2") == "right\n"
    assert said.endswith("2 of 2 done: `planbound integrate` brings them together\n")
    assert harbour.bench.goes("fleet", code=3).err.startswith("nothing to do:")
    assert harbour.bench.verifies()


@pytest.mark.thorough
@pytest.mark.requirement("fleet.overlap")
def test_plans_whose_touches_meet_run_one_after_the_other(harbour: Harbour) -> None:
    for name in ("one", "two"):
        harbour.lay(name, touches=f'"src/{name}-1", "src/shared"')
    harbour.approve("one", "two")
    done = harbour.bench.goes("fleet", "--jobs", "2")
    assert "two: held back: waits for `one`: `src/shared` meets `src/shared`" in done.out
    assert harbour.order() == [
        ("begins", "one"),
        ("ends", "one"),
        ("begins", "two"),
        ("ends", "two"),
    ]


@pytest.mark.requirement("fleet.same-file")
def test_a_plan_on_the_files_of_another_begins_with_its_work_and_is_merged_after_it(
    harbour: Harbour,
) -> None:
    # By name the second would be merged first, and by size, too.
    for name, line in (("zig", "left"), ("alpha", "right")):
        work = f"cat src/shared >> src/was-{name}; echo {line} >> src/shared"
        harbour.lay(name, work, touches=f'"src/shared", "src/was-{name}"')
        file = harbour.bench.workspace / ".harness" / f"PLAN-{name}.md"
        contract = f"grep -qx {line} src/shared && test -e src/was-{name}"
        text = file.read_text().replace(f"grep -qx right src/{name}-1", contract)
        file.write_text(text.replace(f"- src/{name}-1", f"- src/shared\n- src/was-{name}"))
    harbour.bench.write("src/shared", "begin\n")
    harbour.approve("zig", "alpha")
    harbour.bench.goes("fleet", "zig")
    harbour.bench.goes("fleet", "--jobs", "2")
    spawned = harbour.bench.log().of("WORKTREE_SPAWNED")
    assert [event.details.get("builds_on") for event in spawned] == [None, ["zig"]]
    order = harbour.bench.goes("merge-order", "--json").json["order"]
    assert [turn["slug"] for turn in order] == ["zig", "alpha"]
    assert "waits for `zig`" in harbour.bench.goes("integrate", "alpha", code=2).out
    harbour.bench.goes("integrate")
    assert harbour.git("show", "main:src/shared") == "begin\nleft\nright\n"


@pytest.mark.thorough
def test_no_more_plans_run_at_once_than_is_said(harbour: Harbour) -> None:
    for name in ("one", "two"):
        harbour.lay(name)
    harbour.approve("one", "two")
    done = harbour.bench.goes("fleet", "--jobs", "1")
    assert "two: held back: waits for a free place: `--jobs` is 1" in done.out
    assert [plan for _, plan in harbour.order()] == ["one", "one", "two", "two"]
    assert "expected 1 to 64" in harbour.bench.goes("fleet", "--jobs", "0", code=2).err


@pytest.mark.requirement("fleet.dependencies")
def test_a_plan_begins_with_the_work_of_all_that_it_depends_on(harbour: Harbour) -> None:
    harbour.lay("left")
    harbour.lay("right")
    harbour.lay(
        "both", "cat src/left-1 src/right-1 | sort -u > src/both-1", depends_on="left, right"
    )
    harbour.approve("left", "right", "both")
    done = harbour.bench.goes("fleet", "--jobs", "3", "--json")
    assert done.json["exit_code"] == 0
    log = harbour.bench.log()
    base = log.of("WORKTREE_SPAWNED").of(branch="planbound/both")[0]["base"]
    subject, *parents = harbour.git("log", "-1", "--format=%s%n%P", base).split("\n")
    assert subject == "Base of plan `both`: `left` and `right`"
    tips = [harbour.git("rev-parse", f"planbound/{name}").strip() for name in ("left", "right")]
    assert parents[0].split() == tips
    assert row_of(done, "both") == {
        "plan": "both",
        "state": "done",
        "reason": None,
        "worktree": str(harbour.worktrees / "both"),
        "branch": "planbound/both",
        "proved": 1,
        "holds": 0,
        "attested": 0,
        "steps": 1,
        "exit_code": 0,
        "log": str(harbour.bench.folder / "state" / "runs" / "both.log"),
    }
    ends = [event.seq for event in log.of("EXECUTION_COMPLETE") if event.plan != "both"]
    (begin,) = [event.seq for event in log.of("EXECUTION_STARTED") if event.plan == "both"]
    assert max(ends) < begin


@pytest.mark.thorough
def test_dependencies_that_conflict_hold_a_plan_back(harbour: Harbour) -> None:
    (harbour.bench.workspace / "src" / "shared").write_text("begin\n")
    for name in ("left", "right"):
        work = f"echo right > src/{name}-1; echo {name} > src/shared"
        harbour.lay(name, work, touches=f'"src/{name}-1", "src/shared"')
        file = harbour.bench.workspace / ".harness" / f"PLAN-{name}.md"
        file.write_text(
            file.read_text().replace(f"- src/{name}-1\n", f"- src/{name}-1\n- src/shared\n")
        )
    harbour.lay("both", depends_on="left, right")
    harbour.approve("left", "right", "both")
    for name in ("left", "right"):  # a fleet would let the second begin with the first one's work
        harbour.bench.goes("spawn", name)
    done = harbour.bench.goes("fleet", "--json", code=1)
    both = row_of(done, "both")
    assert both["state"] == "held back"
    assert str(both["reason"]).startswith(
        "its dependencies `left` and `right` conflict in src/shared: integrate them first"
    )
    assert not (harbour.worktrees / "both").exists()


@pytest.mark.thorough
def test_a_plan_of_which_nobody_knows_what_it_touches_runs_alone(harbour: Harbour) -> None:
    harbour.lay("open")
    file = harbour.bench.workspace / ".harness" / "PLAN-open.md"
    text = re.sub(r"touches: \[.*\n", "", file.read_text())
    file.write_text(text.replace("**touches:**\n- src/open-1\n", ""))
    harbour.lay("told")
    harbour.approve("open", "told")
    done = harbour.bench.goes("fleet", "--jobs", "2")
    assert "open: held back: its frontmatter has no `touches`, so nobody can tell" in done.out
    assert [plan for _, plan in harbour.order()] == ["told", "told", "open", "open"]


# -- what is not run ---------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("fleet.held-back")
def test_what_nobody_approved_is_held_back_and_the_others_run(harbour: Harbour) -> None:
    harbour.lay("good")
    harbour.lay("draft")
    harbour.lay("next", depends_on="draft")
    harbour.approve("good", "next")
    done = harbour.bench.goes("fleet", code=4)
    assert "good: done" in done.out
    assert "draft: held back: not approved yet: `planbound approve draft`" in done.out
    assert (
        "next: held back: waits for `draft`: not approved yet: `planbound approve draft`"
        in done.out
    )
    assert [path.name for path in harbour.worktrees.iterdir()] == ["good"]


def test_a_plan_that_only_its_file_calls_approved_is_not_run(harbour: Harbour) -> None:
    harbour.lay("sly")
    file = harbour.bench.workspace / ".harness" / "PLAN-sly.md"
    file.write_text(file.read_text().replace("status: draft", "status: approved"))
    done = harbour.bench.goes("fleet", code=4)
    assert "sly: held back: not approved yet: `planbound approve sly`" in done.out
    assert not harbour.worktrees.exists()


@pytest.mark.thorough
def test_what_depends_on_a_plan_that_failed_is_held_back(harbour: Harbour) -> None:
    harbour.lay("bad", "echo wrong > src/bad-1", fields="**on_fail:** abort\n")
    harbour.lay("good")
    harbour.lay("next", depends_on="bad")
    harbour.approve("bad", "good", "next")
    done = harbour.bench.goes("fleet", "--jobs", "2", code=1)
    assert harbour.statuses() == {"bad": "failed", "good": "done"}
    assert "`next` is held back: waits for `bad`, which failed" in done.err
    assert "`bad` failed" in done.err
    assert "    [Task 1/1] ✗ Write part 1 of bad: contract failed (exit 1)" in done.err
    assert not (harbour.worktrees / "next").exists()


@pytest.mark.thorough
def test_a_plan_that_asks_waits_in_the_inbox_and_goes_on_when_it_is_answered(
    harbour: Harbour,
) -> None:
    harbour.lay(
        "shy",
        f"test -e {harbour.gate('shy')} && echo right > src/shy-1",
        fields="**on_fail:** escalate\n",
    )
    harbour.lay("next", depends_on="shy")
    harbour.approve("shy", "next")
    done = harbour.bench.goes("fleet", code=4)
    assert "`shy` waits for you: `planbound inbox`" in done.err
    assert "shy: waits for you: the agent ended with 1; " in done.out
    assert "`next` is held back: waits for `shy`, which waits for a person" in done.err
    harbour.gate("shy").touch()
    question = harbour.bench.question("shy")["id"]
    harbour.bench.goes("answer", question, "retry", "--as", "tester")
    harbour.bench.goes("fleet")
    assert harbour.statuses() == {"shy": "done", "next": "done"}


@pytest.mark.thorough
def test_a_plan_whose_place_is_taken_is_held_back_and_the_others_run(harbour: Harbour) -> None:
    harbour.lay("one")
    harbour.lay("two")
    harbour.approve("one", "two")
    (harbour.worktrees / "one").mkdir(parents=True)
    (harbour.worktrees / "one" / "mine").write_text("mine")
    done = harbour.bench.goes("fleet", "--json", code=1)
    assert row_of(done, "two")["state"] == "done"
    one = row_of(done, "one")
    assert one["state"] == "held back"
    assert str(one["reason"]).startswith(f"there is a folder at `{harbour.worktrees / 'one'}`")
    assert (harbour.worktrees / "one" / "mine").read_text() == "mine"


@pytest.mark.thorough
def test_a_run_that_is_refused_says_why(harbour: Harbour) -> None:
    harbour.lay("one")
    harbour.approve("one")
    file = harbour.bench.workspace / ".harness" / "PLAN-one.md"
    file.write_text(file.read_text().replace("# Do the work", "# Do other work"))
    done = harbour.bench.goes("fleet", code=4)
    assert "`one` is held back: not approved yet" in done.err
    assert "status: draft" in file.read_text()
    file.write_text(file.read_text().replace("# Do other work", "# Do the work"))
    settings = harbour.bench.workspace / "planbound.toml"
    settings.write_text(settings.read_text() + '[contracts]\ntimeout = "7m"\n')
    done = harbour.bench.goes("fleet", code=1)
    assert "`one` was refused" in done.err
    assert "    error: the approval of `one` does not hold: configuration changed" in done.err


# -- names -------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_only_the_plans_that_are_named_are_run(harbour: Harbour) -> None:
    for name in ("one", "two"):
        harbour.lay(name)
    harbour.lay("next", depends_on="one")
    harbour.approve("one", "two", "next")
    done = harbour.bench.goes("fleet", "two", "next", "two", code=1)
    assert harbour.statuses() == {"two": "done"}
    assert "next: held back: waits for `one` (approved), which is not asked for" in done.out
    assert "one: " not in done.out
    typo = harbour.bench.goes("fleet", "tow", code=2)
    assert "there is no plan `tow`" in typo.err
    assert "hint: did you mean `two`?" in typo.err
    there = harbour.bench.run("fleet", "two", cwd=harbour.worktrees / "two")
    assert there.code == 3, there.err


# -- interrupted, killed, twice ----------------------------------------------------------------


@pytest.mark.requirement("fleet.resume")
def test_a_fleet_that_was_interrupted_goes_on(harbour: Harbour) -> None:
    for name in ("one", "two", "three"):
        harbour.lay(name, harbour.gated(name))
    harbour.approve("one", "two", "three")
    with harbour.bench.start("fleet", "--jobs", "2") as fleet:
        harbour.at_work("one", "three")
        os.kill(fleet.pid, signal.SIGINT)
        code, said = finish(fleet)
    assert code == 130, said
    assert "one: interrupted" in said
    assert said.endswith("interrupted; go on with `planbound fleet`\n")
    assert not harbour.processes()
    for name in ("one", "two", "three"):
        harbour.gate(name).touch()
    harbour.bench.goes("fleet", "--jobs", "2")
    assert harbour.statuses() == {"one": "done", "two": "done", "three": "done"}
    begun = [plan for what, plan in harbour.order() if what == "begins"]
    assert sorted(begun[:4]) == ["one", "one", "three", "three"], "what was begun goes first"


@pytest.mark.thorough
def test_interrupted_twice_it_ends_at_once_and_leaves_nothing_running(harbour: Harbour) -> None:
    # An agent that does not listen makes the run wait for it.
    harbour.lay("deaf", "trap '' TERM INT; echo half > src/deaf-1; sleep 900")
    harbour.approve("deaf")
    with harbour.bench.start("fleet") as fleet:
        harbour.at_work("deaf")
        os.kill(fleet.pid, signal.SIGINT)
        assert fleet.stderr is not None
        while b"stopping" not in fleet.stderr.readline():
            assert fleet.poll() is None
        os.kill(fleet.pid, signal.SIGINT)
        assert finish(fleet)[0] == 130
    until(lambda: not harbour.processes(), what=lambda: str(harbour.processes()))
    harbour.bench.ends_all()


@pytest.mark.requirement("fleet.killed")
def test_a_fleet_that_was_killed_leaves_no_run_behind_and_goes_on(harbour: Harbour) -> None:
    for name in ("one", "two"):
        harbour.lay(name, harbour.gated(name))
    harbour.lay("next", depends_on="one")
    harbour.approve("one", "two", "next")
    with harbour.bench.start("fleet", "--jobs", "2") as fleet:
        harbour.at_work("one", "two")
        fleet.kill()
        fleet.wait()
    until(lambda: not harbour.processes(), what=lambda: str(harbour.processes()))
    harbour.bench.ends_all()
    for name in ("one", "two"):
        harbour.gate(name).touch()
    harbour.bench.goes("fleet")
    assert harbour.statuses() == {"one": "done", "two": "done", "next": "done"}
    assert harbour.bench.verifies()


@pytest.mark.requirement("fleet.once")
def test_two_fleets_at_once_run_no_plan_twice_and_both_end(harbour: Harbour) -> None:
    for name in ("one", "two"):
        harbour.lay(name, harbour.gated(name))
    harbour.lay("next", depends_on="one")
    harbour.approve("one", "two", "next")
    with harbour.bench.start("fleet") as first, harbour.bench.start("fleet") as second:
        harbour.at_work("one", "two")
        for name in ("one", "two"):
            harbour.gate(name).touch()
        ends = [finish(first), finish(second)]
    assert [code for code, _ in ends] in ([0, 0], [0, 3], [3, 0]), ends
    log = harbour.bench.log()
    for kind in ("WORKTREE_SPAWNED", "EXECUTION_STARTED", "TASK_STARTED"):
        assert sorted(event.plan for event in log.of(kind)) == ["next", "one", "two"], kind


@pytest.mark.thorough
def test_killed_at_any_event_a_fleet_goes_on(harbour: Harbour) -> None:
    harbour.lay("one")
    harbour.lay("two", "cp src/one-1 src/two-1", depends_on="one")
    harbour.approve("one", "two")
    killed = -signal.SIGKILL
    for failpoint, code in (
        ("before:WORKTREE_REQUESTED:1", killed),
        ("after:WORKTREE_REQUESTED:1", killed),
        ("before:WORKTREE_SPAWNED:1", killed),
        ("after:WORKTREE_SPAWNED:1", killed),
        ("before:TASK_COMPLETED:1", 1),  # that is in the process of the run
        ("before:WORKTREE_SPAWNED:1", killed),  # of the second plan, when the first is done
        ("before:WORK_COMMITTED:1", 0),  # in the process of the run, after its end
    ):
        harbour.bench.goes("fleet", code=code, PLANBOUND_FAILPOINT=failpoint)
    harbour.bench.goes("fleet", code=3)
    log = harbour.bench.log()
    assert harbour.statuses() == {"one": "done", "two": "done"}
    assert sorted(event.plan for event in log.of("TASK_COMPLETED")) == ["one", "two"]
    assert harbour.git("show", "planbound/two:src/two-1") == "right\n"
    assert harbour.bench.verifies()


# -- on a terminal -----------------------------------------------------------------------------


def on_terminal(bench: Bench, *arguments: str, **extra: str) -> str:
    """Run the program with a terminal; return all that was drawn on it."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "planbound", *arguments],
        cwd=bench.workspace,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=bench.environment(TERM="xterm", **extra),
        start_new_session=True,
    ) as process:
        os.close(follower)
        found = b""
        while True:
            try:
                data = os.read(leader, 4096)
            except OSError:
                break
            if not data:
                break
            found += data
        process.wait(timeout=300)
    os.close(leader)
    return found.decode()


@pytest.mark.thorough
def test_on_a_terminal_a_table_is_drawn_in_place(harbour: Harbour) -> None:
    harbour.lay("one")
    harbour.lay("two", depends_on="one")
    harbour.approve("one", "two")
    shown = on_terminal(harbour.bench, "fleet", NO_COLOR="1")
    assert "\x1b[2A" in shown, "two rows are drawn over"
    assert not re.search(r"\x1b\[[0-9;]*m", shown), "no colour"
    last = shown.rpartition("\x1b[2A")[2].replace("\x1b[K", "").replace("\x1b[J", "").splitlines()
    assert re.fullmatch(r"one  done  1/1  \d+\.\d s", last[0])
    assert re.fullmatch(r"two  done  1/1  \d+\.\d s", last[1])
    assert "started in" not in shown


@pytest.mark.thorough
@pytest.mark.requirement("command.judge")
def test_judge_names_the_cure_where_the_baseline_is_not_of_this(harbour: Harbour) -> None:
    bench = harbour.bench
    bench.settings = ""
    harbour.lay("one")
    harbour.lay("two")
    harbour.approve("one", "two")
    bench.goes("fleet", "one")
    bench.goes("integrate")
    judged = bench.goes("judge", "two", code=1)
    assert "hint: `one` was merged since the baseline was taken: `planbound approve" in judged.err
    bench.write("planbound.toml", bench.settings + '[contracts]\ntimeout = "200s"\n')
    for shown in ("judge two", "judge two --json"):
        judged = bench.goes(*shown.split(), code=1)
        assert "`planbound approve two`" in (judged.out if "json" in shown else judged.err)
