"""The kind `model` in whole runs: a process, a scripted model server, real cells and contracts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.model_scene import KEY
from tests.agents.model_server import ModelServer
from tests.agents.script import Reply, Script
from tests.run.bench import Bench, Step, plan_text, until
from tests.tables import first_always

QUICK = '[recovery.transient]\nbackoff = ["0.2s"]\n'
SPY = "env; cat /proc/*/environ | tr '\\0' '\\n'; ls /proc"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.libraries = "models"
    bench.extra = {"SCRIPTED_API_KEY": KEY}
    yield bench
    bench.ends_all()


def prepare(bench: Bench, model: ModelServer, *steps: Step, more: str = "", **plan: Any) -> None:
    bench.write(
        "planbound.toml",
        f'[agents.coder]\nkind = "model"\nmodel = "scripted"\nbase_url = "{model.url}/v1"\n'
        f'env = ["SCRIPTED_API_KEY"]\noptions = {{ retries = 0 }}\n{more}',
    )
    bench.write(".harness/PLAN.md", plan_text(*steps, **plan))
    bench.approve()


def write(name: str) -> Reply:
    return Reply(tool="write", arguments={"path": name, "content": "right\n"})


@pytest.mark.requirement("agent-model.session")
@pytest.mark.parametrize("motor", first_always(["inline", "dbos"]))
def test_a_model_that_lies_is_caught_and_does_the_work_in_the_same_session(
    bench: Bench, motor: str
) -> None:
    script = [
        *(Reply("All done."), Reply(shell=f"{SPY}; echo right > src/a"), Reply("Now it is.")),
        *(write("src/b"), Reply("Written.")),
    ]
    with ModelServer(script, key=KEY) as model:
        prepare(bench, model, Step("Make a"), Step("Make b"), more=f'[run]\nmotor = "{motor}"\n')
        bench.goes("run")

    assert bench.phases() == ["done", "done"]
    lie, told, after, other, _ = model.asked
    assert len(lie.users) == 1
    assert lie.users[0].startswith("# Make a\n")
    assert told.users[0] == lie.users[0]
    assert "did not pass" in told.users[1]
    assert other.users[0].startswith("# Make b\n")
    assert "Make a" not in other.everything
    log = bench.log()
    spent = [event["tokens"] for event in log.of("ATTEMPT_ENDED")]
    assert spent == [120, 240, 240]
    # The credential reached the service, and nobody else.
    assert lie.headers["authorization"] == f"Bearer {KEY}"
    assert "PATH=" in after.results[0]
    assert KEY not in after.everything
    kept = [path for path in bench.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in kept if KEY.encode() in path.read_bytes()] == []


@pytest.mark.requirement("agent-model.durable")
def test_a_run_that_is_killed_goes_on_with_what_was_paid_for(bench: Bench) -> None:
    script = [
        *(Reply("I look.", tool="list"), write("src/half"), Reply("?", delay=20)),
        *(write("src/a"), Reply("Done.")),
    ]
    with ModelServer(script) as model:
        prepare(bench, model, Step("Make a", touches="src/**"))
        with bench.start("run") as process:
            model.wait_for(3)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        bench.goes("resume")

    assert bench.phases() == ["done"]
    assert len(model.asked) == 5
    cut_off, first = model.asked[2], model.asked[3]
    # What the model had said and what its tools had answered is there, and not asked for again.
    assert first.results == cut_off.results
    assert len(first.results) == 2
    assert first.last_user.startswith("About the task “Make a”:")
    # Two answers before, two after; what the one that never came has cost is estimated.
    lost, ended = bench.log().of("ATTEMPT_ENDED")
    assert lost.details.get("tokens") is None
    assert ended["estimated"] > 0
    assert ended["tokens"] == 4 * 120 + ended["estimated"]


@pytest.mark.thorough
@pytest.mark.requirement("agent-model.durable")
def test_a_run_that_is_killed_while_a_tool_works_does_not_call_it_again(bench: Bench) -> None:
    script = [
        *(Reply(shell="echo once >> src/count; touch src/begun; sleep 900"), write("src/a")),
        Reply("Done."),
    ]
    with ModelServer(script) as model:
        prepare(bench, model, Step("Make a", touches="src/**"))
        with bench.start("run") as process:
            until((bench.workspace / "src" / "begun").exists)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        bench.goes("resume")

    assert bench.read("src/count") == "once\n"
    assert len(model.asked) == 3
    assert model.asked[1].results[0].startswith("Nobody saw the end of this call")


@pytest.mark.thorough
def test_a_run_that_is_interrupted_ends_at_once_and_goes_on_in_the_session(bench: Bench) -> None:
    script = [Reply(tool="list"), Reply("?", delay=20), write("src/a"), Reply("Done.")]
    with ModelServer(script) as model:
        prepare(bench, model, Step("Make a"))
        with bench.start("run") as process:
            model.wait_for(2)
            process.send_signal(signal.SIGINT)
            assert process.wait(15) == 130
        bench.goes("resume")

    assert bench.phases() == ["done"]
    assert len(model.asked) == 4
    assert model.asked[2].results == model.asked[1].results
    cut_off, ended = bench.log().of("ATTEMPT_ENDED")
    assert cut_off["estimated"] > 0
    assert (cut_off["tokens"], ended["tokens"]) == (120 + cut_off["estimated"], 240)
    assert bench.log().last["estimated"] == cut_off["estimated"]


@pytest.mark.requirement("agent-model.blocked")
def test_a_blocked_model_is_told_to_try_and_then_a_question(bench: Bench) -> None:
    script = [Reply(tool="blocked", arguments={"reason": "the service is not there"})]
    with ModelServer(script) as model:
        prepare(bench, model, Step("Make a"))
        bench.goes("run", code=4)

    assert "the service is not there" in bench.question()["reason"]
    assert len(model.asked) == 2
    assert "answered BLOCKED, and changed nothing" in model.asked[1].last_user


@pytest.mark.requirement("agent-model.budget")
def test_tokens_beyond_the_budget_stop_the_model(bench: Bench) -> None:
    with ModelServer([Reply(tool="list")]) as model:
        prepare(bench, model, Step("Make a"), fields="**Budget:** 300 tokens, 10 minutes")
        bench.goes("run", code=4)
        assert not model.asked
        question = bench.question()
        assert "300 tokens left, 5,000 tokens needed (the default estimate)" in question["reason"]
        bench.write(
            "planbound.toml",
            f'{bench.read("planbound.toml")}[budget]\nestimate = "100 tokens"\n',
        )
        bench.answer("raise", "--budget", "1 second")
        bench.goes("resume", code=4)

    assert len(model.asked) == 3
    question = bench.question()
    assert question["kind"] == "budget"
    assert "the budget is used up" in question["reason"]


@pytest.mark.thorough
def test_a_service_that_asks_to_wait_is_asked_again_in_the_same_session(bench: Bench) -> None:
    script = [Reply(tool="list"), Reply(status=429, retry_after=1), write("src/a"), Reply("Done.")]
    with ModelServer(script) as model:
        prepare(bench, model, Step("Make a"), more=QUICK)
        bench.goes("run")

    assert len(model.asked) == 4
    assert model.asked[2].results == model.asked[1].results
    assert bench.log().one("RECOVERY_APPLIED")["backoff"] >= 1


@pytest.mark.thorough
@pytest.mark.parametrize("is_set", first_always([True, False]))
def test_a_credential_that_does_not_work_is_asked_for_by_its_name(
    bench: Bench, *, is_set: bool
) -> None:
    bench.extra = {"SCRIPTED_API_KEY": "sk-another-one-that-is-wrong"} if is_set else {}
    with ModelServer([Reply("?")], key=KEY) as model:
        prepare(bench, model, Step("Make a"))
        bench.goes("run", code=4)

    assert bench.log().one("PERMISSION_REQUIRED")["credential"] == "SCRIPTED_API_KEY"
    assert len(model.asked) == int(is_set)


@pytest.mark.thorough
def test_two_models_work_at_the_same_time(bench: Bench) -> None:
    script = Script(
        [
            *(write("src/a")._replace(when="# Make a"), write("src/b")._replace(when="# Make b")),
            *(Reply("Done.", when="# Make a"), Reply("Done.", when="# Make b")),
        ]
    )
    with ModelServer(script) as model:
        prepare(bench, model, Step("Make a"), Step("Make b", depends="none"))
        bench.goes("run", "--jobs", "2")

    assert bench.phases() == ["done", "done"]


@pytest.mark.thorough
def test_without_the_library_the_run_says_what_to_install(bench: Bench) -> None:
    hidden = bench.folder / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name: None if name == 'pydantic_ai' else find(name)\n"
    )
    with ModelServer([Reply("?")]) as model:
        prepare(bench, model, Step("Make a"))
        bench.goes("run", code=4, PYTHONPATH=str(hidden))

    assert "pip install 'planbound[model]'" in bench.question()["reason"]
    assert not model.asked


@pytest.mark.requirement("agent-model.start")
def test_nobody_who_uses_no_model_waits_for_its_library(bench: Bench) -> None:
    bench.prepare(Step("Make a"))
    for arguments in (["--version"], ["run"], ["agents"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "planbound", *arguments],
            cwd=bench.workspace,
            env=bench.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "planbound.cli.main" in imported
        assert not {name for name in imported if name.startswith(("pydantic", "asyncio", "openai"))}
