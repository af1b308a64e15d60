"""The motor `dbos`: the same run, as a DBOS workflow, on both databases."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.program import WITHOUT_WALLS
from tests.run.bench import Bench, Step, until
from tests.run.dbos.databases import kept_by_dbos

DBOS = '[run]\nmotor = "dbos"\nlease = "2s"\n'
UNTIL_TOLD = ('if told "did not pass"; then echo right > src/b; else echo wrong > src/b; fi',)
REFUSED_ONCE = ('echo "connect: connection reset by peer" >&2; exit 1', "echo right > src/b")
PATIENT = DBOS + (
    '[recovery.transient]\nmatch = ["transient"]\nactions = ["retry"]\nbackoff = ["4s"]\nmax = 2\n'
)


def has(bench: Bench, kind: str, **details: str) -> bool:
    return bool(bench.log().of(kind, **details))


@pytest.mark.requirement("motor.dbos")
@pytest.mark.requirement("recovery.outcome")
def test_a_run_with_a_retry_is_the_same_as_without_dbos(bench: Bench) -> None:
    bench.prepare(Step("Make a"), Step("Make b", work=UNTIL_TOLD), Step("Make c"), settings=DBOS)
    done = bench.goes("run")
    log = bench.log()
    assert done.out.splitlines()[-1].startswith("3/3 proved, 0 waived, 1/1 postconditions.")
    assert log.one("EXECUTION_STARTED")["motor"] == "dbos"
    assert [event["attempt"] for event in log.of("TASK_STARTED")] == [1, 1, 2, 1]
    told = log.one("RECOVERY_OUTCOME")
    assert (told["recovery"], told["outcome"]) == (log.one("RECOVERY_APPLIED").id, "success")
    assert bench.verifies()


@pytest.mark.thorough
def test_dbos_says_nothing_and_keeps_nothing_of_a_run_that_is_over(bench: Bench) -> None:
    bench.prepare(Step("Make a"), settings=DBOS)
    done = bench.goes("run")
    assert "dbos" not in (done.out + done.err).lower()
    assert kept_by_dbos(bench) == []


@pytest.mark.thorough
@pytest.mark.requirement("motor.dbos")
def test_a_run_that_was_killed_goes_on_where_the_proof_ends(bench: Bench) -> None:
    bench.program = WITHOUT_WALLS  # its agent tells from outside that it works
    stuck = "test -e $HOME/../go || { touch $HOME/../here; sleep 60; }; echo right > src/b"
    stuck = stuck.replace("$HOME/..", str(bench.folder))
    bench.prepare(Step("Make a"), Step("Make b", work=stuck), Step("Make c"), settings=DBOS)
    with bench.start("run") as process:
        until((bench.folder / "here").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kept_by_dbos(bench) != []
    (bench.folder / "go").touch()
    bench.goes("run")
    log = bench.log()
    assert [event["resumed"] for event in log.of("EXECUTION_STARTED")] == [False, True]
    assert len({event["run"] for event in log.of("EXECUTION_STARTED")}) == 1
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2", "2", "3"]
    assert log.last.details["status"] == "done"
    assert kept_by_dbos(bench) == []
    bench.ends_all()
    assert bench.verifies()


@pytest.mark.thorough
def test_each_motor_goes_on_with_what_the_other_began(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.program = WITHOUT_WALLS  # its agent tells from outside that it works
    here = tmp_path / "here"
    stuck = Step("Make b", work=f"touch {here}; sleep 60")
    bench.prepare(Step("Make a"), stuck, settings=DBOS)
    for settings in (DBOS, ""):
        bench.write("planbound.toml", bench.settings.replace(DBOS, settings))
        with bench.start("run") as process:
            until(here.exists)
            process.kill()
            process.wait()
        here.unlink()
    bench.agent("coder", Step("Make a"), Step("Make b"))
    bench.write("planbound.toml", bench.settings)
    bench.goes("run")
    log = bench.log()
    assert [event["motor"] for event in log.of("EXECUTION_STARTED")] == ["dbos", "inline", "dbos"]
    assert [event.number for event in log.of("TASK_STARTED")] == ["1", "2", "2", "2"]


@pytest.mark.thorough
@pytest.mark.requirement("motor.dbos")
def test_a_wait_before_a_retry_survives_a_kill(bench: Bench) -> None:
    bench.prepare(Step("Make a"), Step("Make b", work=REFUSED_ONCE), settings=PATIENT)
    with bench.start("run") as process:
        until(lambda: has(bench, "RECOVERY_APPLIED"))
        process.send_signal(signal.SIGKILL)
        process.wait()
    bench.goes("run")
    log = bench.log()
    assert [event["attempt"] for event in log.of("TASK_STARTED", number="2")] == [1, 2]
    begun = log.of("TASK_STARTED", number="2")[-1].seq
    lines = map(json.loads, bench.goes("log", "--json").out.splitlines())
    stamps = {line["seq"]: line["timestamp"] for line in lines}
    assert log.one("RECOVERY_APPLIED")["until"] <= stamps[begun]
    assert log.one("RECOVERY_OUTCOME")["outcome"] == "success"


@pytest.mark.thorough
def test_a_signal_ends_a_wait_and_the_run_can_go_on(bench: Bench) -> None:
    bench.prepare(Step("Make b", work=REFUSED_ONCE), settings=PATIENT.replace("4s", "20s"))
    with bench.start("run") as process:
        until(lambda: has(bench, "RECOVERY_APPLIED"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 130
    assert bench.log().last.kind == "EXECUTION_PAUSED"
    assert bench.status()["steps"][0]["attempts"] == 1


@pytest.mark.thorough
def test_an_answer_from_elsewhere_wakes_a_run_that_stays(bench: Bench) -> None:
    works = ("echo wrong > src/a", "echo right > src/a")
    bench.prepare(Step("Make a", work=works, fields="**on_fail:** escalate"), settings=DBOS)
    with bench.start("run", "--stay") as process:
        until(lambda: has(bench, "EXECUTION_PAUSED", reason="waiting"))
        until(lambda: len(kept_by_dbos(bench)) > 2, what="DBOS does not wait")
        bench.answer("retry")
        assert process.wait(timeout=10) == 0
    assert bench.status()["status"] == "done"
    assert len(bench.log().of("EXECUTION_STARTED")) == 1
    assert kept_by_dbos(bench) == []


@pytest.mark.thorough
def test_a_run_that_stays_ends_when_it_is_cancelled(bench: Bench) -> None:
    work = Step("Make a", work="echo wrong > src/a", fields="**on_fail:** escalate")
    bench.prepare(work, settings=DBOS)
    with bench.start("run", "--stay") as process:
        until(lambda: has(bench, "EXECUTION_PAUSED", reason="waiting"))
        bench.goes("cancel", "PLAN", "--as", "tester")
        assert process.wait(timeout=10) == 1
    assert bench.log().one("EXECUTION_COMPLETE")["status"] == "cancelled"


@pytest.mark.thorough
def test_a_second_process_cannot_drive_the_same_plan(bench: Bench) -> None:
    bench.program = WITHOUT_WALLS  # its agent tells from outside that it works
    here, go = bench.folder / "here", bench.folder / "go"
    work = f"echo x >> {here}; until test -e {go}; do sleep 0.05; done; echo right > src/a"
    bench.prepare(Step("Make a", work=work), settings=DBOS)
    with bench.start("run") as process:
        until(here.exists)
        refused = bench.goes("run", code=2)
        assert f"process {process.pid} on" in refused.err
        go.touch()
        assert process.wait(timeout=20) == 0
    assert here.read_text() == "x\n"


@pytest.mark.thorough
def test_a_holder_that_lost_its_lease_writes_nothing_any_more(bench: Bench) -> None:
    bench.program = WITHOUT_WALLS  # its agent tells from outside that it works
    here, go = bench.folder / "here", bench.folder / "go"
    work = f"touch {here}; until test -e {go}; do sleep 0.05; done; echo right > src/a"
    bench.prepare(Step("Make a", work=work), settings=DBOS)
    with bench.start("run") as slow:
        until(here.exists)
        slow.send_signal(signal.SIGSTOP)
        with bench.start("run", "--wait") as quick:
            until(lambda: str(quick.pid) in bench.run("claims", "--json").out)
            taken = bench.log().last.seq
            # Its agent may still write to the workspace: nobody else does until it is gone.
            go.touch()
            slow.send_signal(signal.SIGCONT)
            assert slow.wait(timeout=20) == 2
            assert quick.wait(timeout=20) == 0
    first = next(event for event in bench.log() if event.seq > taken)
    assert first.kind == "EXECUTION_STARTED"
    assert bench.verifies()


@pytest.mark.thorough
def test_first_launches_at_once_do_not_get_in_each_others_way(bench: Bench) -> None:
    names = [f"p{number}" for number in range(4)]
    for name in names:
        bench.lay(Step(f"Make {name}", target=f"coder-{name}"), name=name)
    bench.write("planbound.toml", bench.settings + DBOS)
    for name in names:
        bench.approve(name)
    with ThreadPoolExecutor(len(names)) as pool:
        codes = list(pool.map(lambda name: bench.run("run", name).code, names))
    assert codes == [0] * len(names)


@pytest.mark.requirement("motor.inline-alone")
def test_the_inline_motor_does_not_even_import_dbos(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.prepare(Step("Make a"))
    done = bench.goes("run", PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert "planbound.run.loop" in imported
    assert not {name for name in imported if name.partition(".")[0] in {"dbos", "sqlalchemy"}}


@pytest.mark.thorough
def test_a_missing_package_is_named_before_anything_begins(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.prepare(Step("Make a"), settings=DBOS)
    fake = tmp_path / "fake" / "dbos"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise ImportError('no dbos here')\n")
    refused = bench.goes("run", code=2, PYTHONPATH=str(fake.parent))
    assert "need the package `dbos`" in refused.err
    assert "pip install 'planbound[dbos]'" in refused.err
    assert not bench.log().of("EXECUTION_STARTED")


@pytest.mark.parametrize("value", ['"fast"', "0", '"0s"'])
def test_a_lease_that_is_no_duration_is_refused(tmp_path: Path, value: str) -> None:
    bench = Bench(tmp_path)
    bench.write("planbound.toml", f"[run]\nlease = {value}\n")
    bench.write(".harness/PLAN.md", "# Nothing\n")
    refused = bench.goes("verify", code=2)
    assert "`run.lease`" in refused.err
