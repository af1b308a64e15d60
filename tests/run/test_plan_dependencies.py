"""A plan that depends on others is run when they are proved, or all the same, on record."""

from __future__ import annotations

import pytest

from tests.run.bench import Bench, Step, plan_text


def lay(bench: Bench, **depends_on: str) -> None:
    """Lay plans of one step each, and approve them."""
    agent = bench.agent("coder", *(Step(f"Make {name}") for name in depends_on))
    table = f'[agents.coder]\nkind = "command"\ncommand = ["{agent}"]\n'
    bench.write("planbound.toml", table)
    for name, others in depends_on.items():
        text = plan_text(Step(f"Make {name}"), depends_on=others)
        bench.write(f".harness/PLAN-{name}.md", text)
    for name in depends_on:
        bench.approve(name)


@pytest.mark.thorough
@pytest.mark.requirement("run.plan-dependencies")
def test_a_plan_is_run_when_what_it_depends_on_is_proved(bench: Bench) -> None:
    lay(bench, a="b", b="c", c="")
    refused = bench.goes("run", "a", code=2)
    assert "`a` depends on what is not proved: a → b → c (approved)" in refused.err
    assert "--anyway" in refused.err
    assert not bench.log("a").of("EXECUTION_STARTED")
    bench.goes("run", "c")
    # What is next on the way is named now.
    assert "a → b (approved)" in bench.goes("run", "a", code=2).err
    bench.goes("run", "b")
    bench.goes("run", "a")
    assert "anyway" not in bench.log("a").one("EXECUTION_STARTED").details


@pytest.mark.thorough
@pytest.mark.requirement("run.plan-dependencies")
def test_a_plan_that_is_run_all_the_same_says_so_for_ever(bench: Bench) -> None:
    lay(bench, a="b", b="c", c="")
    bench.goes("run", "a", "--anyway", PLANBOUND_FAILPOINT="after:TASK_STARTED:1", code=-9)
    # That was decided for the whole run: nobody is asked again when it goes on.
    done = bench.goes("resume", "a")
    assert "note: it runs although this is not proved: a → b → c (approved)" in done.err
    started = bench.log("a").of("EXECUTION_STARTED")
    assert [event["anyway"] for event in started] == ["a → b → c (approved)"] * 2
    assert bench.status("a")["anyway"] == "a → b → c (approved)"
    assert "run although this was not proved: a → b → c (approved)" in bench.goes("status", "a").out
    assert "anyway a → b → c (approved)" in bench.goes("log", "a").out


@pytest.mark.requirement("run.plan-dependencies")
def test_a_dependency_that_is_gone_or_only_says_that_it_is_done_holds_a_plan_back(
    bench: Bench,
) -> None:
    lay(bench, a="gone, said", gone="", said="")
    (bench.workspace / ".harness/PLAN-gone.md").unlink()
    said = bench.workspace / ".harness/PLAN-said.md"
    said.write_text(said.read_text().replace("status: approved", "status: done"))
    refused = bench.goes("run", "a", code=2)
    assert "a → gone (no such plan); a → said (approved)" in refused.err


@pytest.mark.thorough
@pytest.mark.requirement("run.plan-dependencies")
def test_a_worker_runs_all_the_same_what_was_submitted_so(bench: Bench) -> None:
    lay(bench, a="c", c="")
    assert "a → c (approved)" in bench.goes("submit", "a", code=2).err
    bench.goes("submit", "a", "--anyway")
    bench.goes("worker", "--once")
    assert bench.log("a").one("EXECUTION_STARTED")["anyway"] == "a → c (approved)"
