"""Stopped, cut off, beside others: a run goes on where the proof ends, and nobody writes twice."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.bench import Bench, Step, until
from tests.tables import first_always

A, B, C = Step("Make a"), Step("Make b"), Step("Make c")
SLOW = "echo begun > src/a; sleep 600"
"""The work of an agent that is there until somebody stops it."""


def at_work(bench: Bench, file: str = "src/a") -> None:
    """Wait until an agent is at work: it has written a file, here or in a copy."""
    copies = bench.folder / "state" / "copies"

    def is_so() -> bool:
        here = (bench.workspace / file).exists()
        return here or any(copies.glob(f"*/{file}"))

    until(is_so, what="the agent never began")


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for a process; return its exit code and what it said."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out.decode(), err.decode()


# -- Ctrl-C ------------------------------------------------------------------------------------


@pytest.mark.requirement("run.interrupt")
def test_an_interrupt_ends_the_agent_and_the_run_can_go_on(bench: Bench) -> None:
    bench.prepare(Step("Make a", work=(SLOW, "echo right > src/a")), B, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench)
        os.killpg(process.pid, signal.SIGINT)
        code, _, err = ended(process)
    assert code == 130
    assert "planbound resume PLAN" in err
    assert not bench.agents()
    log = bench.log()
    assert log.one("ATTEMPT_ENDED")["ending"] == "interrupted"
    assert log.last.kind == "EXECUTION_PAUSED"
    assert log.last["reason"] == "interrupted"
    assert not log.of("FAILURE_DETECTED", "CONTRACT_EVALUATED")
    assert bench.status()["holder"] is None
    resumed = bench.goes("resume", "PLAN")
    assert "going on with run" in resumed.err
    log = bench.log()
    assert log.last["status"] == "done"
    assert len({event["run"] for event in log.of("EXECUTION_STARTED")}) == 1


@pytest.mark.thorough
@pytest.mark.requirement("run.interrupt")
def test_a_second_interrupt_ends_it_at_once(bench: Bench) -> None:
    # The agent does not care: what it started goes on until it is killed.
    stubborn = "trap '' INT TERM; echo begun > src/a; while :; do sleep 0.1; done"
    bench.prepare(Step("Make a", work=(stubborn, "echo right > src/a")), B, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench)
        os.kill(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGINT)
        code, _, _ = ended(process)
    assert code == 130
    bench.ends_all()
    bench.goes("resume", "PLAN")


@pytest.mark.thorough
def test_a_request_to_terminate_is_as_good_as_an_interrupt(bench: Bench) -> None:
    bench.prepare(Step("Make a", work=(SLOW, "echo right > src/a")), B, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench)
        os.kill(process.pid, signal.SIGTERM)
        code, _, _ = ended(process)
    assert code == 130
    assert bench.log().last["reason"] == "interrupted"


@pytest.mark.thorough
def test_an_interrupt_ends_all_that_work_side_by_side(bench: Bench) -> None:
    slow = [
        Step(
            f"Make {name}",
            work=(f"echo x > src/{name}; sleep 600", f"echo right > src/{name}"),
            depends="none",
        )
        for name in "abc"
    ]
    bench.prepare(*slow)
    with bench.start("run", "PLAN", "--jobs", "3") as process:
        for name in "abc":
            at_work(bench, f"src/{name}")
        os.killpg(process.pid, signal.SIGINT)
        code, _, _ = ended(process)
    assert code == 130
    assert not bench.agents()
    endings = [event["ending"] for event in bench.log().of("ATTEMPT_ENDED")]
    assert endings == ["interrupted"] * 3
    bench.goes("resume", "PLAN", "--jobs", "3")
    assert bench.log().last["completed"] == 3


# -- after a crash -----------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("run.edited")
def test_an_edit_between_crash_and_resume_is_shown(bench: Bench) -> None:
    bench.prepare(A, B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:TASK_COMPLETED:2")
    bench.write("src/readme", "a person was here\n")
    bench.write("src/new", "and made this\n")
    resumed = bench.goes("resume", "PLAN")
    assert "somebody changed src/readme" in resumed.err
    log = bench.log()
    assert log.of("EXECUTION_STARTED")[1]["edited"] == ["src/new", "src/readme"]
    assert log.last["status"] == "done"


@pytest.mark.requirement("run.edited")
def test_an_edited_judge_is_refused(bench: Bench) -> None:
    bench.write("check.sh", "grep -qx right src/c\n")
    bench.prepare(A, B, Step("Make c", contract="bash check.sh"))
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:TASK_COMPLETED:2")
    bench.write("check.sh", "true\n")
    refused = bench.goes("resume", "PLAN", code=2)
    assert "judge changed: check.sh" in refused.err
    assert len(bench.log().of("EXECUTION_STARTED")) == 1


@pytest.mark.thorough
def test_an_edited_judge_proves_nothing_though_an_attempt_is_open(bench: Bench) -> None:
    bench.write("check.sh", "grep -qx right src/a\n")
    bench.prepare(Step("Make a", contract="bash check.sh", work="echo wrong > src/a"), B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="before:ATTEMPT_ENDED:1")
    bench.write("check.sh", "true\n")
    bench.run("resume", "PLAN")
    log = bench.log()
    assert not log.of("TASK_COMPLETED", number="1")
    assert log.of("CONTRACT_EVALUATED", number="1")[0]["verdict"] == "tampered"


@pytest.mark.requirement("run.not-paid-twice")
@pytest.mark.parametrize("jobs", first_always(["1", "2"]))
def test_work_that_passes_is_not_paid_twice(bench: Bench, jobs: str) -> None:
    bench.prepare(A, B, C)
    bench.goes("run", "PLAN", "--jobs", jobs, code=-9, PLANBOUND_FAILPOINT="before:ATTEMPT_ENDED:1")
    assert not bench.log().of("CONTRACT_EVALUATED")
    bench.goes("resume", "PLAN", "--jobs", jobs)
    log = bench.log()
    assert len(log.of("TASK_STARTED", number="1")) == 1
    assert log.one("ATTEMPT_ENDED", number="1")["ending"] == "lost"
    assert log.of("CONTRACT_EVALUATED", number="1")[0]["verdict"] == "pass"
    assert len(log.of("TASK_COMPLETED", number="1")) == 1
    assert bench.read("src/a") == "right\n"


@pytest.mark.thorough
def test_work_that_does_not_pass_is_done_again(bench: Bench) -> None:
    bench.prepare(Step("Make a", work=("echo half > src/a", "echo right > src/a")), B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="before:ATTEMPT_ENDED:1")
    bench.goes("resume", "PLAN")
    log = bench.log()
    assert len(log.of("TASK_STARTED", number="1")) == 2
    assert log.of("FAILURE_CLASSIFIED", number="1")[0]["rule"] == "runner-ended"


@pytest.mark.thorough
def test_a_contract_that_was_green_before_says_nothing_about_lost_work(bench: Bench) -> None:
    bench.prepare(Step("Make a", contract="test -d src", work="echo right > src/a"), B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:TASK_STARTED:1")
    assert not (bench.workspace / "src/a").exists()
    bench.goes("resume", "PLAN")
    assert bench.read("src/a") == "right\n", "it was never dispatched"


@pytest.mark.thorough
def test_what_was_proved_is_not_judged_again_before_the_end(bench: Bench) -> None:
    bench.prepare(A, B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:TASK_COMPLETED:2")
    before = len(bench.log())
    bench.goes("resume", "PLAN")
    later = bench.log()[before:]
    judged = [
        (event.number, event.details.get("final"))
        for event in later
        if event.kind == "CONTRACT_EVALUATED" and event.task is not None
    ]
    assert ("1", None) not in judged
    assert ("2", None) not in judged
    assert judged.count(("1", True)) == 1, "once more on the final tree, which is another one"


@pytest.mark.thorough
def test_nothing_is_judged_again_on_a_tree_that_did_not_change(bench: Bench) -> None:
    # The last step leaves the tree as it is judged: nothing is left to be unsure about.
    bench.prepare(A, after=("test -s src/a",))
    bench.goes("run", "PLAN")
    assert len(bench.log().of("CONTRACT_EVALUATED", number="1")) == 1


@pytest.mark.thorough
def test_a_step_that_a_person_broke_meanwhile_is_noticed_at_the_end(bench: Bench) -> None:
    bench.prepare(A, B, C)
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:TASK_COMPLETED:2")
    bench.write("src/a", "broken\n")
    asked = bench.goes("resume", "PLAN", code=4)
    assert "somebody changed src/a" in asked.err
    assert "regressed: step 1" in asked.err


@pytest.mark.thorough
@pytest.mark.requirement("command.resume")
def test_what_could_go_on_is_offered(bench: Bench) -> None:
    bench.prepare(A, B, C)
    nothing = bench.goes("resume", code=3)
    assert "no run that could go on" in nothing.err
    bench.goes("run", "PLAN", code=-9, PLANBOUND_FAILPOINT="after:TASK_STARTED:1")
    bench.goes("resume")
    assert bench.log().last["status"] == "done"


@pytest.mark.thorough
def test_a_plan_that_changes_while_it_runs_stops_the_run(bench: Bench) -> None:
    changes = Step("Make b", work="echo right > src/b; sleep 600")
    bench.prepare(A, changes, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench, "src/b")
        text = bench.plan_file.read_text()
        bench.plan_file.write_text(text.replace("grep -qx right src/c", "true"))
        os.kill(process.pid, signal.SIGINT)
        ended(process)
    bench.agent("coder", A, B, C)
    refused = bench.goes("resume", "PLAN", code=2)
    assert "digest changed" in refused.err


@pytest.mark.requirement("invariant.approved-plan-is-law")
def test_a_plan_that_changes_between_two_steps_stops_the_run(bench: Bench) -> None:
    gate = bench.folder / "agents" / "gate"
    waits = f"echo right > src/b; while ! test -e {gate}; do sleep 0.05; done"
    bench.prepare(A, Step("Make b", work=waits), C)
    with bench.start("run", "PLAN") as process:
        at_work(bench, "src/b")
        text = bench.plan_file.read_text()
        bench.plan_file.write_text(text.replace("grep -qx right src/c", "true"))
        gate.touch()
        code, _, err = ended(process)
    assert code == 2
    assert "digest changed" in err
    log = bench.log()
    assert not log.of("TASK_STARTED", number="3")
    assert not log.of("TASK_COMPLETED", number="3")
    bench.plan_file.write_text(text)
    bench.goes("resume", "PLAN")
    assert bench.log().last["status"] == "done"


@pytest.mark.thorough
def test_ticking_progress_by_hand_does_not_stop_a_run(bench: Bench) -> None:
    gate = bench.folder / "agents" / "gate"
    waits = f"echo right > src/b; while ! test -e {gate}; do sleep 0.05; done"
    bench.prepare(A, Step("Make b", work=waits), C)
    with bench.start("run", "PLAN") as process:
        at_work(bench, "src/b")
        text = bench.plan_file.read_text()
        bench.plan_file.write_text(text + "\n<!-- a remark -->\n")
        gate.touch()
        code, _, err = ended(process)
    assert code == 0, err
    assert "<!-- a remark -->" in bench.plan_file.read_text()


# -- others ------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("lease.one-runner")
def test_a_second_run_of_a_plan_is_refused_with_the_name_of_the_first(bench: Bench) -> None:
    bench.prepare(Step("Make a", work=SLOW), B, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench)
        refused = bench.goes("run", "PLAN", code=2)
        assert f"process {process.pid} on" in refused.err
        assert bench.status()["holder"].startswith(f"process {process.pid} on")
        os.kill(process.pid, signal.SIGINT)
        ended(process)


@pytest.mark.thorough
@pytest.mark.requirement("lease.dead-holder")
def test_a_killed_runner_is_no_obstacle(bench: Bench) -> None:
    bench.prepare(Step("Make a", work=(SLOW, "echo right > src/a")), B, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench)
        process.kill()
        process.wait()
    bench.ends_all()
    bench.goes("resume", "PLAN")
    entries = sorted(path.name for path in bench.workspace.iterdir())
    assert entries == [".git", ".harness", "planbound.toml", "src"], "nothing of a cell is left"


def hold(bench: Bench) -> Path:
    """Return the file that keeps the first steps of two plans from ending."""
    return bench.folder / "agents" / "hold"


def two_plans(bench: Bench, touches: str) -> tuple[Path, Path]:
    """Lay two plans whose second agents wait for files; return these."""
    gates = (bench.folder / "agents" / "gate-one", bench.folder / "agents" / "gate-two")
    for name, gate, own in (("one", gates[0], "src/one"), ("two", gates[1], touches)):
        wait = f"echo half > {own}; while ! test -e {gate}; do sleep 0.05; done; echo right > {own}"
        steps = [
            Step(
                f"Keep {own}",
                contract=f"grep -qx kept {own}.kept",
                touches=f"{own}.kept",
                work=f"echo kept > {own}.kept; while test -e {hold(bench)}; do sleep 0.05; done",
                target=f"coder-{name}",
            ),
            Step(
                f"Make {own}",
                work=wait,
                contract=f"grep -qx right {own}",
                touches=own,
                target=f"coder-{name}",
            ),
            Step(
                f"Show {own}",
                contract=f"test -s {own}.shown",
                touches=f"{own}.shown",
                work=f"ls src > {own}.shown",
                target=f"coder-{name}",
            ),
        ]
        bench.lay(*steps, name=name, after=(f"test -s {own}",))
    for name in ("one", "two"):
        bench.approve(name)
    return gates


@pytest.mark.requirement("run.worktree")
@pytest.mark.requirement("lease.worktree")
def test_two_plans_run_side_by_side_and_do_not_see_each_other(bench: Bench) -> None:
    first_gate, second_gate = two_plans(bench, "src/two")
    hold(bench).touch()
    with bench.start("run", "one") as first:
        at_work(bench, "src/one.kept")
        with bench.start("run", "two") as second:
            until(lambda: bool(bench.status("two")["holder"]))
            hold(bench).unlink()
            # Both are at work, each in a copy, and the second comes to its end before the first.
            at_work(bench, "src/one")
            at_work(bench, "src/two")
            second_gate.touch()
            code, out, err = ended(second)
            assert code == 0, out + err
        assert first.poll() is None
        first_gate.touch()
        code, out, err = ended(first)
    assert code == 0, out + err
    for name in ("one", "two"):
        log = bench.log(name)
        assert log.last["status"] == "done"
        assert {event.plan for event in log} == {name}
        assert not log.of("SCOPE_VIOLATED", "JUDGE_TAMPERED", "FAILURE_DETECTED")
        assert bench.read(f"src/{name}") == "right\n"
    assert "half" not in bench.read("src/two.shown")
    assert bench.verifies()


@pytest.mark.thorough
def test_a_plan_waits_for_the_step_of_another_that_works_in_the_workspace(bench: Bench) -> None:
    gates = two_plans(bench, "src/two")
    gates[1].touch()
    with bench.start("run", "one") as first:
        at_work(bench, "src/one")  # in the workspace itself: it was alone when this began
        with bench.start("run", "two") as second:
            until(lambda: bool(bench.status("two")["holder"]))
            time.sleep(0.5)
            assert not bench.log("two").of("EXECUTION_STARTED")
            gates[0].touch()
            code, out, err = ended(second)
            assert code == 0, out + err
            assert "waits until a step of another plan has ended" in err
        assert ended(first)[0] == 0


@pytest.mark.thorough
def test_who_waits_for_the_worktree_can_be_interrupted(bench: Bench) -> None:
    two_plans(bench, "src/two")
    with bench.start("run", "one") as first:
        at_work(bench, "src/one")
        with bench.start("run", "two") as second:
            until(lambda: bool(bench.status("two")["holder"]))
            os.kill(second.pid, signal.SIGINT)
            assert ended(second)[0] == 130
        assert not bench.log("two").of("EXECUTION_STARTED")
        os.kill(first.pid, signal.SIGINT)
        assert ended(first)[0] == 130


@pytest.mark.thorough
def test_a_plan_that_ran_earlier_does_not_bother_one_that_was_approved_before(bench: Bench) -> None:
    for gate in two_plans(bench, "src/two"):
        gate.touch()
    bench.goes("run", "two")
    bench.goes("run", "one")
    assert bench.log("one").last["status"] == "done"


@pytest.mark.thorough
@pytest.mark.requirement("lease.worktree")
def test_plans_that_touch_the_same_are_refused_or_wait(bench: Bench) -> None:
    first_gate, second_gate = two_plans(bench, "src/one.kept")
    second_gate.touch()
    with bench.start("run", "one") as first:
        at_work(bench, "src/one")
        refused = bench.goes("run", "two", code=2)
        assert "cannot run beside `one`" in refused.err
        assert f"process {first.pid} on" in refused.err
        with bench.start("run", "two", "--wait") as second:
            time.sleep(0.5)
            assert second.poll() is None
            assert not bench.log("two").of("EXECUTION_STARTED")
            first_gate.touch()
            assert ended(first)[0] == 0
            code, out, err = ended(second)
    assert code == 0, out + err
    assert bench.log("two").last["status"] == "done"


@pytest.mark.thorough
@pytest.mark.requirement("lease.fenced")
def test_a_runner_that_was_paused_and_lost_its_lease_writes_nothing_more(bench: Bench) -> None:
    bench.settings = '[run]\nlease = "1s"\n'
    # A plan that may change everything has the worktree to itself: only the lease keeps others out.
    slow = "echo x > src/a; sleep 0.3; echo right > src/a"
    bench.prepare(Step("Make a", work=slow, touches=""), B, C)
    with bench.start("run", "PLAN") as process:
        at_work(bench)
        os.kill(process.pid, signal.SIGSTOP)

        def is_free() -> bool:
            return bench.run("resume", "PLAN").code == 0

        until(is_free, what="the lease was never lost")
        after = bench.log()
        assert after.last["status"] == "done"
        os.kill(process.pid, signal.SIGCONT)
        code, _, err = ended(process)
    assert code == 2
    assert "lease" in err
    assert [event.id for event in bench.log()] == [event.id for event in after]
    assert bench.verifies()
    assert bench.goes("show", "PLAN", "--json").json["status"] == "done"


# -- a machine in trouble ----------------------------------------------------------------------


@pytest.mark.thorough
def test_a_full_disk_is_a_clear_error_and_the_run_can_go_on(bench: Bench) -> None:
    bench.prepare(A, B, C)
    journal = bench.folder / "state" / "journal.sqlite"
    largest = max(path.stat().st_size for path in journal.parent.glob("journal.sqlite*"))
    with limited(largest + 8192):
        failed = bench.run("run", "PLAN")
    assert failed.code not in {0, 70}, failed.out + failed.err
    assert "error:" in failed.err
    assert "Traceback" not in failed.err
    bench.ends_all()
    assert bench.verifies()
    bench.goes("resume", "PLAN")
    assert bench.log().last["status"] == "done"


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """Let no file of the processes that are started grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# -- side by side ------------------------------------------------------------------------------


def branches(names: str, **work: str) -> list[Step]:
    """Return steps that do not depend on each other."""
    return [
        Step(f"Make {name}", work=work.get(name, f"echo right > src/{name}"), depends="none")
        for name in names
    ]


@pytest.mark.requirement("run.parallel")
def test_independent_steps_run_at_the_same_time(bench: Bench) -> None:
    wait = "echo half > src/{0}; sleep 1; echo right > src/{0}"
    bench.prepare(*branches("abcd", **{name: wait.format(name) for name in "abcd"}))
    bench.goes("run", "PLAN", "--jobs", "4")
    log = bench.log()
    starts, ends = log.of("TASK_STARTED"), log.of("ATTEMPT_ENDED")
    assert len(starts) == 4
    assert starts[-1].seq < ends[0].seq, "the last began before the first ended"
    assert {bench.read(f"src/{name}") for name in "abcd"} == {"right\n"}


@pytest.mark.thorough
@pytest.mark.requirement("run.parallel")
def test_half_written_files_of_one_are_never_in_what_another_is_judged_on(bench: Bench) -> None:
    half = "echo half > src/a; sleep 1; echo right > src/a"
    alone = "test -s src/b && ! test -e src/a"
    steps = branches("ab", a=half)
    steps[1] = Step(
        "Make b",
        work="sleep 0.5; ls src > src/b",
        contract=alone,
        depends="none",
        fields="**on_fail:** escalate",
    )
    bench.prepare(*steps, C, after=("grep -qx right src/a", "! grep -qx a src/b"))
    done = bench.run("run", "PLAN", "--jobs", "2")
    log = bench.log()
    verdict = log.of("CONTRACT_EVALUATED", number="2")[0]
    assert verdict["verdict"] == "pass", done.out
    assert "a\n" not in bench.read("src/b")


@pytest.mark.thorough
def test_a_write_into_the_scope_of_another_is_a_violation_of_the_writer(bench: Bench) -> None:
    roams = "echo right > src/a; echo stolen > src/b; sleep 0.3"
    steps = branches("ab", a=roams, b="sleep 0.3; echo right > src/b")
    bench.prepare(*steps, Step("Make c", depends="1, 2"))
    bench.agent("coder", Step("Make a", work=(roams, "echo right > src/a")), steps[1], C)
    bench.goes("run", "PLAN", "--jobs", "2")
    log = bench.log()
    violated = log.one("SCOPE_VIOLATED")
    assert (violated.number, violated["files"]) == ("1", ["src/b"])
    assert len(log.of("TASK_STARTED", number="2")) == 1
    assert bench.read("src/b") == "right\n"


@pytest.mark.thorough
def test_steps_that_touch_the_same_run_one_after_the_other_and_it_says_why(bench: Bench) -> None:
    steps = [
        Step("Make a", depends="none", touches="src/**"),
        Step("Make b", depends="none", touches="src/b"),
        Step("Make c", depends="none"),
    ]
    bench.prepare(*steps)
    done = bench.goes("run", "PLAN", "--jobs", "3")
    assert "one after the other: steps 1 and 2 touch the same files" in done.err
    log = bench.log()
    first_end = log.of("TASK_COMPLETED", number="1")[0].seq
    assert all(event.seq > first_end for event in log.of("TASK_STARTED") if event.number != "1")


@pytest.mark.thorough
def test_a_failed_step_stops_what_depends_on_it_and_nothing_else(bench: Bench) -> None:
    steps = [
        Step("Make a", work="sleep 0.2; true", depends="none", fields="**on_fail:** escalate"),
        Step("Make b", depends="none"),
        Step("Make c", depends="1"),
        Step("Make d", depends="2"),
    ]
    bench.prepare(*steps)
    bench.goes("run", "PLAN", "--jobs", "2", code=4)
    assert bench.phases() == ["waiting", "done", "pending", "done"]
    assert not bench.log().of("TASK_STARTED", number="3")


@pytest.mark.thorough
def test_an_answer_after_work_in_a_copy_goes_on_from_there(bench: Bench) -> None:
    work = 'if told "A person says"; then echo right >> src/a; else echo half > src/a; fi'
    bench.prepare(Step("Make a", work=work, fields="**on_fail:** escalate"), B, C)
    bench.goes("run", "PLAN", "--jobs", "2", code=4)
    assert not (bench.workspace / "src/a").exists(), "what did not pass is not applied"
    bench.answer("retry", "--guidance", "one line more")
    bench.goes("resume", "PLAN", "--jobs", "2")
    assert bench.read("src/a") == "half\nright\n"


@pytest.mark.thorough
def test_what_a_person_changed_before_the_answer_is_in_the_new_copy(bench: Bench) -> None:
    steps = branches("ab", a="grep -q here src/readme && echo right > src/a || echo half > src/a")
    steps[0] = Step(
        steps[0].title, work=steps[0].work, depends="none", fields="**on_fail:** escalate"
    )
    bench.prepare(*steps, C)
    bench.goes("run", "PLAN", "--jobs", "2", code=4)
    bench.write("src/readme", "a person was here\n")
    bench.answer("retry")
    bench.goes("resume", "PLAN", "--jobs", "2")
    assert bench.read("src/a") == "right\n"


@pytest.mark.thorough
def test_a_step_that_a_person_attests_works_in_the_workspace_itself(bench: Bench) -> None:
    roams = "echo right > src/a; echo mine > src/readme"
    shown = Step("Make a", work=roams, attest="it looks right", depends="none")
    bench.prepare(shown, *branches("bc"))
    bench.goes("run", "PLAN", "--jobs", "3", code=4)
    assert bench.read("src/a") == "right\n"
    assert bench.read("src/readme") == "some sources\n", "out of scope, and put back"
    assert bench.log().one("SCOPE_VIOLATED")["files"] == ["src/readme"]
    bench.goes("attest", "PLAN", "1", "--as", "tester")
    bench.goes("resume", "PLAN", "--jobs", "3")
    assert bench.read("src/a") == "right\n"
    assert (bench.log().last["completed"], bench.log().last["attested"]) == (2, 1)
