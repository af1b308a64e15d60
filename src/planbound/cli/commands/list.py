"""`planbound list`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.overview import PlanLine, overview
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List the plans of the workspace."""
    parts = Parts(workspace=arguments.workspace)
    lines = overview(parts.tree, parts.files)
    if arguments.json:
        terminal.json([_data(line) for line in lines])
        return ExitCode.DONE
    if not lines:
        terminal.note(f"no plans in {parts.root}/.harness")
        terminal.note("hint: begin one with `planbound new NAME`")
        return ExitCode.DONE
    width = max(len(line.file.slug) for line in lines)
    for line in lines:
        terminal.out(_text(line, width, terminal))
    return ExitCode.DONE


def _text(line: PlanLine, width: int, terminal: Terminal) -> str:
    name = terminal.style(visible(line.file.slug).ljust(width), "bold")
    if line.problem is not None:
        return f"{name}  {terminal.style('unreadable', 'red')}  {visible(line.problem)}"
    steps = f"{line.done}/{line.steps} steps"
    if line.templates:
        steps += f", {line.templates} to expand"
    objective = visible(line.objective) if line.objective else "(no objective)"
    return f"{name}  [{line.status}]  {steps}  {objective}"


def _data(line: PlanLine) -> dict[str, object]:
    return {
        "slug": line.file.slug,
        "path": line.file.path,
        "status": line.status,
        "objective": line.objective,
        "steps": line.steps,
        "done": line.done,
        "templates": line.templates,
        "problem": line.problem,
    }
