"""A file that is no plan of the workspace: what to do is said, or done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import SOUND, Program
from tests.run.bench import Bench, Step, plan_text

ASKED = (
    ("run",),
    ("resume",),
    ("submit",),
    ("status",),
    ("gate",),
    ("approve", "--digest", "0" * 16, "--as", "x"),
    ("decide", "approved", "--as", "x"),
    ("reject", "--reason", "no", "--as", "x"),
    ("ask", "why?", "--as", "x"),
    ("attach",),
    ("cancel", "--as", "x"),
    ("amend", "--as", "x"),
    ("waive", "1", "--reason", "so", "--as", "x"),
    ("attest", "1", "--as", "x"),
    ("spawn",),
)


@pytest.mark.thorough
@pytest.mark.requirement("command.outside")
def test_every_command_says_what_to_do_with_a_file_from_elsewhere(program: Program) -> None:
    program.write("docs/greeting.md", SOUND)
    program.run("init")
    for command, *rest in ASKED:
        done = program.run(command, "docs/greeting.md", *rest)
        assert done.code == 2, (command, done.err)
        assert "`docs/greeting.md` is outside of `.harness/`" in done.err, (command, done.err)
        assert "`planbound stage greeting --from docs/greeting.md`" in done.err
        assert "`planbound import docs/greeting.md`" in done.err
    # To look at it needs no place.
    for command in ("verify", "show", "judge"):
        assert ".harness/`" not in program.run(command, "docs/greeting.md").err


@pytest.mark.requirement("command.outside")
def test_a_plan_in_the_queue_a_nameless_one_and_a_link_are_told_as_such(program: Program) -> None:
    program.run("init")
    program.write("docs/later.md", SOUND)
    program.write("specs/login/PLAN.md", SOUND)
    program.run("stage", "later", "--from", "docs/later.md")
    staged = program.run("run", ".harness/queued-plans/PLAN-later.md")
    assert "waits in the queue" in staged.err
    assert "`planbound activate later`" in staged.err
    assert (
        "`planbound stage login --from specs/login/PLAN.md`"
        in program.run("run", "specs/login/PLAN.md").err
    )
    (program.workspace / ".harness/PLAN-far.md").symlink_to("../docs/later.md")
    assert "leads outside of `.harness/`" in program.run("status", "far").err
    assert "not standard input" in program.run("run", "-", stdin=SOUND).err


@pytest.mark.thorough
@pytest.mark.requirement("command.outside")
def test_stage_takes_the_file_in_and_finds_it_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    step = Step("Make a")
    bench.lay(step)
    bench.plan_file.unlink()
    bench.write("docs/small.md", plan_text(step))
    # It is no way around the gate.
    first = bench.goes("run", "docs/small.md", "--stage", code=2)
    assert "wrote .harness/PLAN-small.md" in first.err
    assert "`small` is not approved" in first.err
    bench.approve("small")
    bench.goes("run", "docs/small.md", "--stage")
    assert bench.log("small").kinds[:2] == ["PLAN_STAGED", "PLAN_ACTIVATED"]
    bench.write("docs/small.md", plan_text(step, Step("Make b")))
    other = bench.goes("run", "docs/small.md", "--stage", code=2)
    assert "is another plan than `docs/small.md`" in other.err
