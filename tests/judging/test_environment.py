"""Contracts are judged with the project's own programs, in every kind of cell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planbound.agents.program import Program as AgentProgram
from planbound.cells.cell import Cell
from planbound.cells.choose import PROGRAM, BubblewrapCell, CopyCell, LandlockCell, NamespaceCell
from planbound.cells.scratch import Scratch
from planbound.judging.case import cases
from planbound.judging.context import judging_context, scratch
from planbound.judging.judge import observe
from planbound.judging.verdict import Verdict
from planbound.plan.parse import parse
from planbound.workspace.agents import AgentRules
from planbound.workspace.context import Context
from tests.cells.cell_bench import by_strength
from tests.needs import need
from tests.program import Program
from tests.project_environment import make_environment
from tests.run.bench import Bench, Step

PLAN = """\
---
type: plan
status: draft
owner: tester
---

# Do the work

## Steps

### 1. Do it

**target:** coder
**touches:**
- src/**

**task:** Write what the contract asks for into the files of the project.

**contract:**
```shell
{contract}
```
"""
KINDS: dict[str, Callable[[Scratch], Cell]] = {
    "namespaces": NamespaceCell,
    "bubblewrap": BubblewrapCell,
    "landlock": LandlockCell,
    "copy": CopyCell,
}


def observed(folder: Path, kind: str, contract: str) -> Verdict:
    """Return what a contract says in a kind of cell."""
    if kind == "bubblewrap":
        need(PROGRAM, "Debian's package `bubblewrap` has it")
    root, state = folder / "workspace", folder / "state"
    (root / ".harness").mkdir(parents=True, exist_ok=True)
    state.mkdir(exist_ok=True)
    context = Context(workspace=str(root), state=str(state))
    bench = judging_context(context, KINDS[kind](scratch(context)))
    plan = parse(PLAN.format(contract=contract).encode(), path="PLAN-it.md")
    return next(observe(bench, cases(plan)))


@pytest.mark.requirement("environment.found", "environment.none-of-ours")
@pytest.mark.parametrize("kind", by_strength(tuple(KINDS)))
def test_an_environment_outside_is_shown_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interpreter is below the temporary folder as well, and is named through a link.
    base = tmp_path / "python" / "3.9" / "bin"
    base.mkdir(parents=True)
    (base / "python3.9").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    (tmp_path / "python" / "current").symlink_to("3.9")
    prefix = make_environment(tmp_path / "environments" / "mine", packages=False)
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to(tmp_path / "python/current/bin/python3.9")
    next((prefix / "lib").glob("*/site-packages")).joinpath("ours.py").write_text("X = 1\n")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / ".venv").symlink_to("../environments/mine")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    found = observed(
        tmp_path,
        kind,
        "python -c 'import sys, ours; print(sys.prefix)'\n"
        'test "$(command -v python)" = "$VIRTUAL_ENV/bin/python"\n'
        f"! command -v planbound\n! python -c 'import planbound'\n"
        f'! printf "%s" "$PATH" | grep -F {Path(sys.executable).parent}',
    )
    assert found.kind.value == "pass", (found.reason, found.outcome)


@pytest.mark.requirement("environment.broken")
@pytest.mark.parametrize("kind", by_strength(["namespaces", "copy"]))
def test_a_broken_environment_judges_nothing_that_could_need_it(kind: str, tmp_path: Path) -> None:
    prefix = make_environment(tmp_path / "workspace" / ".venv", packages=False)
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to("/gone/python3.9")
    found = observed(tmp_path, kind, "python3 -c pass")
    assert found.kind.value == "unrunnable"
    assert found.reason == "the environment `.venv` is broken: there is no `/gone/python3.9`"
    assert any("python3 -m venv --clear" in note for note in found.notes)
    assert observed(tmp_path, kind, "grep -c root /etc/passwd").kind.value == "pass"


@pytest.mark.requirement("environment.none-of-ours")
def test_a_package_of_ours_does_not_stand_in_for_the_projects(program: Program) -> None:
    # Planbound's own environment has an intact one by this name.
    program.write("src/pytest/__init__.py", "raise RuntimeError('broken')\n")
    site = next(
        (make_environment(program.workspace / ".venv", packages=False) / "lib").glob("*/site-*")
    )
    (site / "editable.pth").write_text(f"{program.workspace}/src\n")
    program.plan("it", PLAN.format(contract="python -c 'import pytest'"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = program.run("judge", "it", "--json", VIRTUAL_ENV=sys.prefix, PATH=path)
    verdict = done.json["verdicts"][0]
    assert verdict["verdict"] == "fail", verdict
    assert "RuntimeError: broken" in verdict["stderr"]["tail"] + verdict["stderr"]["head"]


@pytest.mark.thorough
@pytest.mark.requirement("environment.none-of-ours", "environment.found")
def test_an_agent_works_with_the_projects_programs(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    prefix = make_environment(bench.workspace / ".venv", packages=False)
    work = 'printf "%s\\n" "$PATH" "$VIRTUAL_ENV" "$(command -v planbound || echo none)" > src/a'
    step = Step("make a", work=work, contract="test -s src/a")
    own = str(Path(sys.executable).parent)
    bench.extra = {"VIRTUAL_ENV": sys.prefix, "PATH": f"{own}:{os.environ['PATH']}"}
    bench.prepare(step)
    bench.goes("run")
    path, environment, found = (bench.workspace / "src" / "a").read_text().splitlines()
    assert path.split(":")[0] == str(prefix / "bin")
    assert own not in path.split(":")
    assert environment == str(prefix)
    assert found == "none"


@pytest.mark.requirement("environment.found")
def test_no_file_of_the_workspace_takes_an_agents_place(tmp_path: Path) -> None:
    folders = [tmp_path / "workspace" / ".venv" / "bin", tmp_path / "home" / "bin"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "codex").write_text("#!/bin/sh\n")
        (folder / "codex").chmod(0o755)
    variables = {"PATH": f"{folders[0]}:{folders[1]}", "VIRTUAL_ENV": str(folders[0].parent)}
    program = AgentProgram(AgentRules(name="coder"), variables)
    for workspace in (tmp_path / "workspace", tmp_path / "copy"):
        assert program.find("codex", str(workspace)) == str(folders[1] / "codex")
    (folders[1] / "codex").unlink()
    assert program.find("codex", str(tmp_path / "workspace")) == str(folders[0] / "codex")
    assert program.find("python-of-nobody", "/") is None
