"""Claims: who works on a plan keeps others from it, and from what it touches, in every worktree."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
from pathlib import Path

import pytest

from planbound.disk.lock import this_process
from planbound.errors import LeaseLost
from planbound.journal.leases import Claim
from planbound.workspace.context import Context
from tests.needs import need
from tests.run.bench import Bench, Step, until
from tests.session.scratch import Scratch
from tests.tables import first_always


class Yard:
    """A repository with a worktree for each of its plans, whose agents work until a gate opens."""

    def __init__(self, folder: Path, *, settings: str = "") -> None:
        need("git", "worktrees are made with it")
        self.main = Bench(folder, settings=settings)
        self._git("init", "-q")

    def lay(self, **touches: str) -> None:
        """Lay and approve plans, each of which writes one file into a worktree of its own."""
        for name, file in touches.items():
            gate = self.gate(name)
            work = f"echo half > {file}; until test -e {gate}; do sleep 0.05; done"
            step = Step(
                f"Write for {name}",
                work=f"{work}; echo right > {file}",
                contract=f"grep -qx right {file}",
                touches=file,
                target=f"coder-{name}",
            )
            self.main.lay(step, name=name)
        self._git("add", "planbound.toml", "src")
        self._git("commit", "-qm", "begin")
        for name in touches:
            self._git("worktree", "add", "-q", "-b", name, str(self.main.folder / name))
            self.at(name).approve(name)

    def at(self, name: str) -> Bench:
        """Return what drives the program in the worktree of a plan."""
        bench = copy.copy(self.main)
        bench.workspace = self.main.folder / name
        return bench

    def gate(self, name: str) -> Path:
        """Return the file for which an agent waits."""
        return self.main.folder / "agents" / f"gate-{name}"

    def at_work(self, name: str, file: str) -> None:
        """Wait until the agent of a plan has begun."""
        until((self.main.folder / name / file).exists, what="the agent never began")

    def _git(self, *arguments: str) -> None:
        who = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
        subprocess.run(
            ["git", *who, *arguments], cwd=self.main.workspace, check=True, capture_output=True
        )


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def told(process: subprocess.Popen[bytes], text: str) -> str:
    """Return the line on standard error with a text; wait for it."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line.decode():
            return line.decode()
    raise AssertionError(f"it never said {text!r}")


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Wait for a process; return its exit code and what it said at last."""
    out, err = process.communicate(timeout=300)
    return process.returncode, out.decode() + err.decode()


# -- waiting -----------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("lease.touches")
def test_a_plan_whose_touches_meet_those_of_another_worktree_waits_for_it(yard: Yard) -> None:
    yard.lay(one="src/shared", two="src/shared")
    yard.gate("two").touch()
    with yard.at("one").start("run", "one") as first:
        yard.at_work("one", "src/shared")
        with yard.at("two").start("run", "two") as second:
            note = told(second, "waits for `one`")
            assert note.startswith("note: `two` waits for `one`, which process")
            assert f"process {first.pid} on" in note
            assert note.endswith(
                f"runs in {yard.at('one').workspace}: `src/shared` meets `src/shared`\n"
            )
            assert not yard.main.log("two").of("EXECUTION_STARTED")
            yard.gate("one").touch()
            assert ended(first)[0] == 0
            code, rest = ended(second)
            assert code == 0, rest
            assert "waits for" not in rest
    log = yard.main.log()
    assert [event["status"] for event in log.of("EXECUTION_COMPLETE")] == ["done", "done"]
    order = [
        (event.kind, event.plan) for event in log.of("EXECUTION_STARTED", "EXECUTION_COMPLETE")
    ]
    assert order == [
        ("EXECUTION_STARTED", "one"),
        ("EXECUTION_COMPLETE", "one"),
        ("EXECUTION_STARTED", "two"),
        ("EXECUTION_COMPLETE", "two"),
    ]


@pytest.mark.thorough
def test_plans_in_two_worktrees_that_touch_nothing_in_common_run_at_once(yard: Yard) -> None:
    yard.lay(one="src/one", two="src/two")
    yard.gate("two").touch()
    with yard.at("one").start("run", "one") as first:
        yard.at_work("one", "src/one")
        yard.at("two").goes("run", "two", "--no-wait")
        assert first.poll() is None
        yard.gate("one").touch()
        assert ended(first)[0] == 0


@pytest.mark.thorough
@pytest.mark.requirement("lease.touches")
def test_who_does_not_want_to_wait_is_refused(yard: Yard) -> None:
    yard.lay(one="src/shared", two="src/shared")
    with yard.at("one").start("run", "one"):
        yard.at_work("one", "src/shared")
        refused = yard.at("two").goes("run", "two", "--no-wait", code=2)
        assert "`two` waits for `one`, which process" in refused.err
        both = yard.at("two").goes("run", "two", "--no-wait", "--wait", code=2)
        assert "not allowed with" in both.err
    assert not yard.main.log("two").of("EXECUTION_STARTED")


@pytest.mark.thorough
@pytest.mark.parametrize("options", first_always([(), ("--wait",)]))
def test_who_waits_for_another_plan_can_be_interrupted(
    yard: Yard, options: tuple[str, ...]
) -> None:
    yard.lay(one="src/shared", two="src/shared")
    with yard.at("one").start("run", "one"):
        yard.at_work("one", "src/shared")
        with yard.at("two").start("run", "two", *options) as second:
            told(second, "waits for `one`")
            os.kill(second.pid, signal.SIGINT)
            assert ended(second)[0] == 130
        (claim,) = yard.main.goes("claims", "--json").json["claims"]
        assert claim["plan"] == "one"
    assert not yard.main.log("two").of("EXECUTION_STARTED")


@pytest.mark.thorough
def test_nobody_waits_for_a_dead_process(yard: Yard) -> None:
    yard.lay(one="src/shared", two="src/shared")
    yard.gate("two").touch()
    with yard.at("one").start("run", "one") as first:
        yard.at_work("one", "src/shared")
        first.kill()
        first.wait()
    assert "expired: its holder is dead" in yard.main.goes("claims").out
    done = yard.at("two").goes("run", "two")
    assert "waits for" not in done.err
    assert yard.main.goes("claims").out == "nobody works on anything\n"


@pytest.mark.thorough
def test_a_worker_leaves_a_plan_that_waits_for_another_worktree_and_takes_it_later(
    yard: Yard,
) -> None:
    yard.lay(one="src/shared", two="src/shared", three="src/three")
    for name in ("two", "three"):
        yard.gate(name).touch()
        yard.at(name).goes("submit", name)
    with yard.at("one").start("run", "one") as first:
        yard.at_work("one", "src/shared")
        yard.main.goes("worker", "--once")
        assert yard.main.log("three").last["status"] == "done"
        assert not yard.main.log("two").of("EXECUTION_STARTED")
        yard.gate("one").touch()
        assert ended(first)[0] == 0
    yard.main.goes("worker", "--once")
    assert yard.main.log("two").last["status"] == "done"


@pytest.mark.thorough
def test_a_worker_that_is_told_to_stop_gives_back_what_waits_for_its_worktree(
    tmp_path: Path,
) -> None:
    yard = Yard(tmp_path, settings="")
    yard.lay(one="src/one", two="src/two")
    here = yard.at("one")
    here.goes("submit", "two")
    with here.start("run", "one") as first:
        yard.at_work("one", "src/one")
        with here.start("worker") as worker:
            until(lambda: bool(here.status("two")["holder"]), what="nobody took it")
            os.kill(worker.pid, signal.SIGINT)
            code, said = ended(worker)
        assert (code, "Traceback" in said) == (0, False), said
        assert here.status("two")["holder"] is None
        assert first.poll() is None
    assert not here.log("two").of("EXECUTION_STARTED")


@pytest.mark.thorough
def test_a_plan_that_was_stopped_is_cancelled_while_another_worktree_has_what_it_touches(
    yard: Yard,
) -> None:
    yard.lay(one="src/shared", two="src/shared")
    two = yard.at("two")
    with two.start("run", "two") as process:
        yard.at_work("two", "src/shared")
        os.kill(process.pid, signal.SIGINT)
        assert ended(process)[0] == 130
    with yard.at("one").start("run", "one"):
        yard.at_work("one", "src/shared")
        two.goes("cancel", "two", "--as", "ann", "--reason", "enough")
    assert two.log("two").last["status"] == "cancelled"


# -- who works on what -------------------------------------------------------------------------


@pytest.mark.requirement("command.claims")
def test_claims_say_who_works_where_on_what(yard: Yard) -> None:
    assert yard.main.goes("claims").out == "nobody works on anything\n"
    assert yard.main.goes("claims", "--json").json == {"claims": []}
    assert not (yard.main.folder / "state").exists(), "to look makes nothing"
    yard.lay(one="src/one", two="src/two")
    with yard.at("one").start("run", "one") as first:
        yard.at_work("one", "src/one")
        (claim,) = yard.at("two").goes("claims", "--json").json["claims"]
        assert claim.pop("holder").startswith(f"process {first.pid} on")
        assert 0 < claim.pop("expires_in") <= 30
        assert claim == {
            "plan": "one",
            "worktree": str(yard.at("one").workspace),
            "touches": ["src/one"],
            "number": 2,  # the first one was that of its approval
            "expired": False,
        }
        shown = yard.main.goes("claims").out.splitlines()
        assert shown[0].startswith(f"one  process {first.pid} on")
        assert "lease 2, " in shown[0]
        assert shown[0].endswith(" s left unless it is renewed")
        assert shown[1:] == [f"  worktree {yard.at('one').workspace}", "  touches src/one"]


# -- taking it away ----------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("lease.revoked")
@pytest.mark.requirement("command.release")
@pytest.mark.requirement("lease.fenced")
def test_a_person_takes_the_lease_of_a_run_and_that_run_stops(yard: Yard) -> None:
    yard.lay(one="src/shared", two="src/shared")
    yard.gate("two").touch()
    with yard.at("one").start("run", "one") as first:
        yard.at_work("one", "src/shared")
        with yard.at("two").start("run", "two") as second:
            told(second, "waits for `one`")
            refused = yard.main.goes("release", "one", code=2)
            assert "it is not said who decides" in refused.err
            yard.main.goes("release", "one", "--as", "ann", code=2, PLANBOUND_ATTEMPT="1")
            assert first.poll() is None
            done = yard.main.goes("release", "one", "--as", "ann", "--reason", "it hangs")
            assert done.out.startswith(f"`one` released by ann: process {first.pid} on")
            assert done.out.endswith("has lost its lease and writes nothing more\n")
            code, said = ended(first)
            assert code == 2
            assert "the lease of `one` was lost to ann; nothing was written" in said
            assert ended(second)[0] == 0
    log = yard.main.log("one")
    event = log.one("LEASE_RELEASED")
    assert log.last == event
    assert event["holder"].startswith(f"process {first.pid} on")
    assert {name: event[name] for name in ("by", "method", "number", "reason")} == {
        "by": "ann",
        "method": "name",
        "number": 2,
        "reason": "it hangs",
    }
    assert not log.of("SESSION_RELEASED")
    followed = yard.main.goes("attach", "one", code=1).out
    assert f"taken from {event['holder']} by ann: it hangs" in followed
    yard.main.ends_all()


@pytest.mark.thorough
def test_a_run_whose_lease_was_taken_away_can_go_on(yard: Yard) -> None:
    yard.lay(one="src/one")
    one = yard.at("one")
    with one.start("run", "one") as process:
        yard.at_work("one", "src/one")
        released = one.goes("release", "one", "--as", "ann", "--json").json
        assert released["holder"].startswith(f"process {process.pid} on")
        assert (released["plan"], released["by"], released["session"]) == ("one", "ann", False)
        assert ended(process)[0] == 2
    assert "reason" not in one.log("one").one("LEASE_RELEASED").details
    again = one.goes("release", "one", "--as", "ann", code=2)
    assert "an agent that works on `one` by itself is let go only for a reason" in again.err
    yard.gate("one").touch()
    one.goes("resume", "one")
    assert one.log("one").last["status"] == "done"
    assert one.verifies()


def test_an_agent_in_the_loop_and_a_lease_are_released_together(tmp_path: Path) -> None:
    bench = Scratch(tmp_path)
    bench.loop().plan_create("Do it", ["Say it"])
    context = Context(workspace=str(bench.workspace), state=str(tmp_path / "state"))
    holder = this_process()
    claim = Claim("do-it", str(bench.workspace), None, holder.name, holder.mark)
    held_lease = context.leases().acquire(claim, seconds=600)
    refused = bench.goes("release", "do-it", "--as", "ann", code=2)
    assert "only for a reason" in refused.err
    context.leases().renew(held_lease, seconds=600)
    done = bench.goes("release", "do-it", "--as", "ann", "--reason", "enough")
    assert done.out.splitlines() == [
        f"`do-it` released by ann: {holder.name} has lost its lease and writes nothing more",
        "`do-it` released by ann: no agent owes anything to it",
    ]
    assert bench.log().kinds[-2:] == ["LEASE_RELEASED", "SESSION_RELEASED"]
    with pytest.raises(LeaseLost):
        context.leases().renew(held_lease, seconds=600)
    context.close()
    known = bench.status("do-it")
    assert (known["status"], known["outcome"]) == ("failed", "released")


def test_what_nobody_works_on_is_not_released(yard: Yard) -> None:
    yard.main.goes("new", "idle")
    done = yard.main.goes("release", "idle", "--as", "ann", code=3)
    assert "no agent works on `idle`" in done.err
    assert not yard.main.log().of("LEASE_RELEASED", "SESSION_RELEASED")
