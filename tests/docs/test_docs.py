"""What the docs show is what the program prints: see tools/console.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import lay_program
from tests.tables import first_always
from tools.console import PAGES, ROOT, Laid, Session, Shell, difference, fences, matches

_ALWAYS = {"README.md", "docs/quickstart.md", "docs/concepts/gate.md"}
"""Pages for `make test`; the commands of the others do what the tests of the features do, too."""


_PROCESSES = {"README.md", "docs/concepts/run.md"}
"""Pages whose commands are processes: the first one, and one on which a run is killed."""


class ForkingShell(Shell):
    """A workspace in which the program is run in forks, as in most tests."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        program = self.bin / "planbound"
        program.unlink()
        self.inherited = (lay_program(program),)


@pytest.mark.thorough
@pytest.mark.requirement("docs.readme")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page in _ALWAYS else pytest.mark.thorough) for page in PAGES],
)
def test_console_blocks_show_what_the_program_prints(page: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path) if page in _PROCESSES else ForkingShell(tmp_path)
    wrong = []
    for part in fences(page):
        if isinstance(part, Laid):
            shell.lay(part)
            continue
        printed = shell.run(part)
        assert len(printed) == len(part.commands), f"{page}: the shell ended in the middle"
        wrong += [
            f"{page}:{command.line}: {command.text}\n{difference(command.output, lines)}"
            for command, lines in zip(part.commands, printed, strict=True)
            if not matches(command.output, lines)
        ]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.requirement("docs.readme")
@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_first_pages_show_the_program_at_work(page: str) -> None:
    shown = [part for part in fences(page) if isinstance(part, Session)]
    assert any("planbound" in command.text for part in shown for command in part.commands)


@pytest.mark.requirement("docs.reference")
@pytest.mark.parametrize(
    "arguments",
    first_always(
        [["tools.reference", "--check"], ["benchmarks.table", "--check"], ["tools.repository"]]
    ),
)
def test_repository_checks_pass(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_line_of_dots_stands_for_any_lines() -> None:
    assert matches(["a", "...", "c"], ["a", "c"])
    assert matches(["a", "...", "c"], ["a", "b", "b", "c"])
    assert not matches(["a", "...", "c"], ["a", "b"])
    assert not matches(["a"], ["a", "b"])


def test_times_and_ids_stand_for_any_of_their_kind() -> None:
    assert matches(["c2ec127a: 0.1 s"], ["727f66b1: 12.3 s"])
    assert not matches(["c2ec127a: 0.1 s"], ["727f66b1: 1 min 2 s"])
    assert not matches(["digest 062c5149500d"], ["digest 20b21f7c1ce5"])
