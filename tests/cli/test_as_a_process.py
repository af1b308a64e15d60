"""The program as a process: every command starts, and the first hour goes through.

All other tests run `main(argv)` in a fork; see tests/README.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.cli.commands import COMMANDS
from tests.program import Program
from tests.run.bench import Bench, Step
from tests.tables import one_fact


@pytest.mark.thorough
@one_fact("command", COMMANDS)
def test_every_command_starts_and_says_how_it_is_used(program: Program, command: str) -> None:
    done = program.run(command, "--help", process=True)
    assert done.code == 0, done.err
    assert f"planbound {command}" in done.out
    assert done.err == ""


@pytest.mark.requirement("command.run")
def test_a_plan_is_approved_run_and_looked_at_by_processes(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.lay(Step("make a"), Step("make b"))
    shown = bench.goes("show", "--json", process=True).json
    assert bench.goes("verify", process=True).code == 0
    words = ("approve", "--digest", shown["digest"][:16], "--as", "tester")
    bench.goes(*words, process=True)
    bench.goes("run", process=True)
    assert bench.goes("status", "--json", process=True).json["status"] == "done"
    bench.goes("log", "--verify", process=True)
    assert "EXECUTION_COMPLETE" in bench.goes("log", "--json", process=True).out
    assert bench.goes("run", code=3, process=True).err.startswith("nothing to do")
