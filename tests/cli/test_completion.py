"""Completion in real shells, and the manual page."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from planbound.cli.commands import COMMANDS
from tests.needs import need
from tests.program import Program

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shell(program: Program, tmp_path: Path) -> Program:
    """Return a workspace with plans, where the program is on the path."""
    program.plan("rounding")
    program.plan("round-trip")
    program.plan("my plan")
    program.write(".harness/queued-plans/PLAN-later.md", "x")
    program.write("notes/a.txt", "x")
    path = program.write("bin/planbound", f'#!/bin/sh\nexec {sys.executable} -m planbound "$@"\n')
    path.chmod(0o755)
    return program


def _run(program: Program, *words: str) -> str:
    path = f"{program.workspace / 'bin'}:{os.environ['PATH']}"
    environment = program.environment(PATH=path)
    done = subprocess.run(
        words, cwd=program.workspace, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


def _complete(program: Program, *words: str) -> set[str]:
    script = program.write("pb.bash", program.run("completion", "bash").out)
    typed = " ".join(shlex.quote(word) for word in words)
    asks = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _planbound"
    said = _run(
        program, "bash", "-c", f'source {script}; {asks}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    return set(said.split("\n")) - {""}


@pytest.mark.thorough
@pytest.mark.requirement("command.completion")
def test_bash_completes_commands_options_choices_plans_and_files(shell: Program) -> None:
    assert _complete(shell, "planbound", "") == set(COMMANDS)
    assert _complete(shell, "planbound", "app") == {"approve"}
    assert _complete(shell, "planbound", "run", "--no-") == {"--no-wait", "--no-input"}
    assert "--version" in _complete(shell, "planbound", "--")
    assert _complete(shell, "planbound", "run", "--jobs", "") == set()
    assert _complete(shell, "planbound", "verify", "--format", "s") == {"sarif"}
    assert _complete(shell, "planbound", "install", "co") == {"codex"}
    assert _complete(shell, "planbound", "answer", "q1", "re") == {"retry", "revise"}
    assert _complete(shell, "planbound", "help", "peo") == {"people"}
    assert _complete(shell, "planbound", "run", "rou") == {"rounding", "round-trip"}
    assert _complete(shell, "planbound", "run", "--jobs", "2", "rounding", "x") == set()
    assert "my\\ plan" in _complete(shell, "planbound", "show", "my")
    assert _complete(shell, "planbound", "activate", "") == {"later"}
    assert _complete(shell, "planbound", "decide", "rounding", "no", "--with", "no") == {"notes"}
    assert _complete(shell, "planbound", "--workspace", "no") == {"notes"}
    assert _complete(shell, "planbound", "--workspace", "notes", "app") == {"approve"}


@pytest.mark.requirement("command.completion")
def test_names_of_plans_are_found_quickly_and_silently(shell: Program, tmp_path: Path) -> None:
    done = shell.run("completion", "plans", cwd=shell.workspace / "notes")
    assert (done.code, done.out.splitlines()) == (0, ["my plan", "round-trip", "rounding"])
    asks = (
        "import sys, planbound.cli.main as m; m.main(['completion', 'plans']);"
        "print(sorted({'argparse', 'msgspec', 'planbound.plan.parse'} & set(sys.modules)))"
    )
    assert _run(shell, sys.executable, "-c", asks).endswith("[]\n")
    (shell.workspace / ".harness/queued-plans/PLAN-later.md").unlink()
    assert shell.run("completion", "staged").out.strip() == ""


@pytest.mark.requirement("command.completion")
@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_other_shells_take_their_script_where_they_are_installed(shell: Program, name: str) -> None:
    script = shell.write(f"pb.{name}", shell.run("completion", name).out)
    assert all(command in script.read_text() for command in COMMANDS)
    need(name, "it completes by its own rules")
    _run(shell, name, "-n", str(script))
    if name == "fish":
        asks = f"source {script}; complete -C 'planbound run rou'"
        assert {"rounding", "round-trip"} <= set(_run(shell, "fish", "-c", asks).split())


@pytest.mark.requirement("docs.man")
def test_the_manual_page_has_every_command_and_renders_without_a_warning() -> None:
    page = ROOT / "docs/planbound.1"
    text = page.read_text().replace("\\-", "-")
    assert all(f"\n.SS {name}\n" in text for name in COMMANDS)
    need("groff", "it says what is wrong with a manual page")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", str(page)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
