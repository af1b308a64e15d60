"""Workers: they take submitted plans, part with what waits, and take over from the dead."""

from __future__ import annotations

import base64
import json
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from planbound.journal.leases import my_claim
from tests.journal.conftest import POSTGRES
from tests.run.bench import until
from tests.run.dbos.databases import kept_by_dbos, new_database, write_rows
from tests.run.dbos.fleet import Fleet


@pytest.fixture(params=["sqlite", POSTGRES])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    address = None
    if request.param == "postgres":
        address = new_database(request.getfixturevalue("postgres"))
    made = Fleet(tmp_path, address=address)
    yield made
    made.journal.close()


@pytest.fixture
def on_postgres(postgres: str, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path, address=new_database(postgres))
    yield made
    made.journal.close()


def called(fleet: Fleet, name: str) -> Callable[[], bool]:
    return lambda: any(call[0] == name for call in fleet.calls())


@pytest.mark.requirement("command.submit", "command.worker")
def test_a_submitted_plan_is_run_by_a_worker(fleet: Fleet) -> None:
    assert fleet.goes("submit", fleet.add("hello", 2)).out == (
        "`hello` is on the queue, priority normal\n"
    )
    done = fleet.goes("worker", "--once")
    assert "hello: [Task 2/2] ✓ Make hello-2: contract passed" in done.out
    assert done.out.endswith("hello: ended: done\n")
    assert fleet.status("hello")["status"] == "done"
    assert fleet.log().one("EXECUTION_STARTED")["motor"] == "dbos"
    assert kept_by_dbos(fleet) == []


def test_a_worker_without_plans_has_nothing_to_do(on_postgres: Fleet) -> None:
    on_postgres.goes("worker", "--once", code=3)


class _Touching:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[object, ...]:
        return open, (self.path, "w")


@pytest.mark.requirement("worker.false-rows")
def test_a_row_that_is_no_ticket_runs_nothing_and_is_in_nobodys_way(fleet: Fleet) -> None:
    fleet.submit("hello")
    made = fleet.folder / "made"
    pickled = base64.b64encode(pickle.dumps(_Touching(made))).decode()
    ticket = '{"positionalArgs": [{"plan": "hello"}]}'
    write_rows(
        fleet,
        {"workflow_uuid": "a", "serialization": "py_pickle", "inputs": pickled},
        {"workflow_uuid": "b", "serialization": "py_pickle", "inputs": pickled, "output": pickled},
        {"workflow_uuid": "c", "serialization": "py_pickle", "error": pickled},
        {"workflow_uuid": "d", "serialization": "portable_json", "inputs": "{"},
        {"workflow_uuid": "e", "serialization": "portable_json", "inputs": "[]"},
        {"workflow_uuid": "f", "serialization": "portable_json", "inputs": ticket},
        {"workflow_uuid": "g", "serialization": "no such thing"},
        {"workflow_uuid": "h"},  # a whole ticket, of a plan that has one
    )
    fleet.submit("other")
    done = fleet.goes("worker", "--once")
    assert not made.exists()
    assert fleet.ended() == {"hello": 1, "other": 1}
    for name in "abcdefgh":
        assert done.err.count(f"the queue holds '{name}', which is no ticket") == 1


@pytest.mark.requirement("worker.false-rows")
def test_a_plan_whose_own_row_is_no_ticket_is_submitted_anew(fleet: Fleet) -> None:
    fleet.submit("hello")
    (name,) = kept_by_dbos(fleet)
    fleet.add("other")
    false = name.removesuffix("hello") + "other"
    write_rows(fleet, {"workflow_uuid": false, "inputs": "{"})
    fleet.goes("submit", "other")
    fleet.goes("worker", "--once")
    assert fleet.ended() == {"hello": 1, "other": 1}
    assert kept_by_dbos(fleet) == []


@pytest.mark.thorough
@pytest.mark.requirement("command.submit")
def test_a_plan_is_submitted_once(fleet: Fleet) -> None:
    fleet.submit("hello")
    assert "`hello` is on the queue already" in fleet.goes("submit", "hello", code=3).err
    fleet.goes("worker", "--once")
    assert "`hello` is done already" in fleet.goes("submit", "hello", code=3).err


@pytest.mark.requirement("command.submit")
def test_what_could_not_be_run_is_not_submitted(on_postgres: Fleet) -> None:
    fleet = on_postgres
    fleet.add("hello")
    path = fleet.workspace / ".harness" / "PLAN-hello.md"
    path.write_text(path.read_text().replace("grep -qx", "grep -q"))
    assert "digest changed" in fleet.goes("submit", "hello", code=2).err
    fleet.plan("other", path.read_text())
    assert "`other` is not approved" in fleet.goes("submit", "other", code=2).err
    assert "the queue has no plan" in fleet.goes("worker", "--once", code=3).err


def test_a_plan_that_was_edited_since_is_taken_off_the_queue(on_postgres: Fleet) -> None:
    fleet = on_postgres
    fleet.submit("hello")
    path = fleet.workspace / ".harness" / "PLAN-hello.md"
    path.write_text(path.read_text().replace("grep -qx", "grep -q"))
    assert "hello: refused: " in fleet.goes("worker", "--once", code=1).out
    assert kept_by_dbos(fleet) == []


@pytest.mark.requirement("command.worker")
def test_the_urgent_come_first_and_then_the_old(on_postgres: Fleet) -> None:
    fleet = on_postgres
    for name, priority in (("a", ""), ("b", "low"), ("c", "urgent"), ("d", "high"), ("e", "")):
        fleet.submit(name, priority=priority)
    fleet.goes("worker", "--once")
    assert [name for name, _ in fleet.calls()] == ["c-1", "d-1", "a-1", "e-1", "b-1"]


@pytest.mark.requirement("worker.roles")
def test_a_worker_leaves_plans_that_need_others(on_postgres: Fleet) -> None:
    fleet = on_postgres
    fleet.submit("review", target="reviewer")
    fleet.submit("code", target="coder")
    done = fleet.goes("worker", "--once", "--roles", "coder", "--json")
    said = [json.loads(line) for line in done.out.splitlines()]
    assert [(each["plan"], each["event"]) for each in said] == [("code", "took"), ("code", "ended")]
    fleet.goes("worker", "--once", "--roles", "coder,reviewer")
    assert fleet.status("review")["status"] == "done"
    assert "which is no role" in fleet.goes("worker", "--roles", "cooder", code=2).err


@pytest.mark.thorough
@pytest.mark.requirement("worker.waiting")
def test_a_plan_that_waits_for_a_person_keeps_nobody_busy(fleet: Fleet) -> None:
    fleet.submit("wrong")
    fleet.submit("hello")
    with fleet.worker() as worker:
        until(lambda: fleet.ended()["hello"] == 1, what=fleet.said)
        until(lambda: "wrong: waiting" in fleet.said(), what=fleet.said)
        assert worker.poll() is None
        assert fleet.status("wrong")["holder"] is None
        question = fleet.question("wrong")["id"]
        fleet.goes("answer", question, "retry", "--as", "tester", "--guidance", "be right")
        until(lambda: fleet.ended()["wrong"] == 1, what=fleet.said)
    assert fleet.status("wrong")["status"] == "done"
    assert [attempt for name, attempt in fleet.calls() if name == "wrong-1"] == [1, 2]


@pytest.mark.requirement("worker.waiting", "worker.roles")
def test_a_worker_ends_with_4_when_all_that_is_left_waits_for_a_person(fleet: Fleet) -> None:
    fleet.submit("wrong")
    fleet.goes("worker", "--once", "--roles", "reviewer", code=3)
    assert not fleet.log().of("EXECUTION_STARTED")
    fleet.goes("worker", "--once", code=4)
    assert fleet.status("wrong")["holder"] is None


def test_a_plan_that_was_cancelled_while_it_waited_leaves_the_queue(on_postgres: Fleet) -> None:
    fleet = on_postgres
    fleet.submit("wrong")
    fleet.goes("worker", "--once", code=4)
    fleet.goes("cancel", "wrong", "--as", "tester")
    fleet.run("worker", "--once")
    assert fleet.log().one("EXECUTION_COMPLETE")["status"] == "cancelled"
    assert kept_by_dbos(fleet) == []


@pytest.mark.thorough
@pytest.mark.requirement("command.worker")
def test_a_worker_that_is_told_to_stop_gives_its_plan_back(fleet: Fleet) -> None:
    fleet.submit("slow", 2)
    with fleet.worker() as worker:
        until(called(fleet, "slow-1"))
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=20) == 0
    assert fleet.log().last["reason"] == "interrupted"
    fleet.ends_all()
    (fleet.folder / "go").touch()
    fleet.goes("worker", "--once")
    fleet.check(2)


def test_a_second_signal_stops_a_worker_at_once(on_postgres: Fleet) -> None:
    fleet = on_postgres
    fleet.submit("slow")
    with fleet.worker() as worker:
        until(called(fleet, "slow-1"))
        worker.send_signal(signal.SIGINT)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=20) in {0, 130}  # the first one may have been enough already
    fleet.ends_all()


@pytest.mark.requirement("worker.takeover")
def test_a_dead_workers_plan_is_taken_over_after_judging_what_it_left(fleet: Fleet) -> None:
    fleet.submit("slow", 2)
    with fleet.worker() as first:
        until(called(fleet, "slow-1"))
        first.kill()
        first.wait()
        fleet.write("src/slow-1", "right\n")
        (fleet.folder / "go").touch()
        with fleet.worker():
            until(fleet.is_over, what=fleet.said)
    log = fleet.log()
    # What the first had left was right: nobody was paid twice.
    assert fleet.calls() == [("slow-1", 1), ("slow-2", 1)]
    assert log.one("ATTEMPT_ENDED", number="1")["ending"] == "lost"
    fleet.check(2)


@pytest.mark.requirement("worker.fenced")
def test_a_worker_that_was_overtaken_records_nothing_more_of_the_plan(fleet: Fleet) -> None:
    leases = fleet.journal.leases()
    fleet.submit("slow")
    with fleet.worker() as worker:
        until(called(fleet, "slow-1"))
        leases.revoke("slow", by="another")
        leases.acquire(my_claim("slow", str(fleet.workspace), ("src/slow-1",)), seconds=600)
        overtaken = fleet.journal.head().seq
        (fleet.folder / "go").touch()
        fleet.submit("next")
        until(lambda: fleet.ended()["next"] == 1, what=fleet.said)
        assert worker.poll() is None
    assert {event.plan for event in fleet.log() if event.seq > overtaken} == {"next"}
    assert "slow" in {held.claim.plan for held in leases.held()}
    assert "slow: broken" not in fleet.said()
    assert fleet.verifies()


@pytest.mark.thorough
@pytest.mark.requirement("worker.fenced")
def test_a_slow_worker_is_fenced_off_and_drops_the_plan(fleet: Fleet) -> None:
    fleet.submit("slow")
    with fleet.worker() as slow:
        until(called(fleet, "slow-1"))
        slow.send_signal(signal.SIGSTOP)
        with fleet.worker():
            # Its agent may still write to the workspace, so nobody else does until it is gone.
            until(lambda: "waits until a step" in fleet.said(), what=fleet.said)
            (fleet.folder / "go").touch()
            slow.send_signal(signal.SIGCONT)
            until(fleet.is_over, what=fleet.said)
        ended = fleet.journal.head().seq
        fleet.submit("next")
        until(fleet.is_over, what=fleet.said)
        assert slow.poll() is None
    log = fleet.log()
    assert {event.plan for event in log if event.seq > ended} == {"next"}
    assert "slow: broken" not in fleet.said()
    assert fleet.verifies()


def test_plans_that_touch_the_same_files_run_one_after_the_other(on_postgres: Fleet) -> None:
    fleet = on_postgres
    for name in ("one", "two"):
        fleet.add(name)
        path = fleet.workspace / ".harness" / f"PLAN-{name}.md"
        path.write_text(path.read_text().replace(f"- src/{name}-1", f"- src/{name}-1\n- src/both"))
        fleet.approve(name)
        fleet.goes("submit", name)
    fleet.goes("worker", "--once", "--concurrency", "4")
    log = fleet.log()
    ends = {event.plan: event.seq for event in log.of("EXECUTION_COMPLETE")}
    begins = {event.plan: event.seq for event in log.of("EXECUTION_STARTED")}
    first, second = sorted(ends, key=lambda plan: ends[plan])
    assert begins[second] > ends[first]


@pytest.mark.requirement("worker.takeover")
def test_workers_that_are_killed_prove_every_plan_exactly_once(
    on_postgres: Fleet,
) -> None:
    fleet = on_postgres
    fleet.let_agents_take(0.5)
    fleet.submit_many(12, 3)
    kills = fleet.storm(3, "--concurrency", "2", every=2.0, seconds=300)
    assert kills > 0
    fleet.check(3)
    fleet.goes("worker", "--once", code=3)
    assert kept_by_dbos(fleet) == []
