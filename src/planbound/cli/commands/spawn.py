"""`planbound spawn`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli.inputs import read_plan
from planbound.cli.terminal import Terminal
from planbound.engine.team.state import Binding
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.team.spawn import AlreadySpawned
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.team import spawn_plan


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", metavar="NAME", help="the plan")
    parser.add_argument(
        "--base", metavar="REV", help="what it begins with (default: the main worktree's commit)"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Make a worktree and a branch for a plan."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, _ = read_plan(arguments.plan, parts)
    parts.demand_own(file)
    try:
        spawned = spawn_plan(parts, file, arguments.base)
    except AlreadySpawned as there:
        if arguments.json:
            terminal.json(_data(there.binding) | {"spawned": False})
        else:
            terminal.out(there.binding.path)
            terminal.note(f"nothing to do: {there.message}")
        return ExitCode.NOTHING_TO_DO
    if arguments.json:
        notes = list(spawned.notes)
        terminal.json(_data(spawned.binding) | {"spawned": True, "notes": notes})
        return ExitCode.DONE
    for note in spawned.notes:
        terminal.note(f"note: {visible(note)}")
    terminal.out(spawned.binding.path)
    branch, base = spawned.binding.branch, spawned.binding.base[:12]
    terminal.note(
        f"on `{visible(branch)}`, from {base}; run it with `planbound run {shlex.quote(file.slug)}`"
    )
    return ExitCode.DONE


def _data(binding: Binding) -> dict[str, object]:
    return {
        "plan": binding.plan,
        "worktree": binding.path,
        "workspace": binding.workspace,
        "branch": binding.branch,
        "base": binding.base,
    }
