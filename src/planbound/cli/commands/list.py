"""`planbound list`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.ports.files import Shelf
from planbound.source.visible import visible
from planbound.usecases.overview import HOLDS_NOTHING, NO_JOURNAL, Overview, PlanLine
from planbound.wiring.marking import look_at_all
from planbound.wiring.parts import Parts

_SHELVES = {Shelf.ACTIVE: "active", Shelf.STAGED: "staged", Shelf.ARCHIVE: "archived"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--all", action="store_true", help="the archived plans, too")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List the plans of the workspace."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    seen = look_at_all(parts)
    lines = [line for line in seen.lines if arguments.all or line.shelf is not Shelf.ARCHIVE]
    _notes(seen, terminal)
    if arguments.json:
        terminal.json([_data(line) for line in lines])
        return ExitCode.DONE
    if not lines:
        terminal.note(f"no plans in {parts.root}/.harness")
        terminal.note("hint: begin one with `planbound new NAME`")
        return ExitCode.DONE
    width = max(len(visible(line.file.slug)) for line in lines)
    for line in lines:
        terminal.out(_text(line, width, terminal))
    return ExitCode.DONE


def _notes(seen: Overview, terminal: Terminal) -> None:
    for warning in seen.warnings:
        if warning != NO_JOURNAL:  # the list of a workspace in which nothing ran needs no excuse
            terminal.note(f"warning: {visible(warning)}")
    if seen.unbound is not None:
        terminal.note(f"warning: {visible(seen.unbound)}")
    for copy in seen.conflicts:
        terminal.note(f"warning: `{visible(copy.shown)}` is a conflict copy")


def _text(line: PlanLine, width: int, terminal: Terminal) -> str:
    name = terminal.style(visible(line.file.slug).ljust(width), "bold")
    if line.problem is not None:
        return f"{name}  {terminal.style('unreadable', 'red')}  {visible(line.problem)}"
    about = HOLDS_NOTHING if line.is_empty else _about(line)
    text = f"{name}  [{line.word}]  {about}"
    if line.shelf is not Shelf.ACTIVE:
        text += f"  ({_SHELVES[line.shelf]})"
    if line.bound:
        text += terminal.style("  (bound here)", "cyan")
    if line.state and line.state.last_event and line.state.last:
        when = line.state.last[:16].replace("T", " ")
        text += terminal.style(f"  {line.state.last_event.value} {when}", "dim")
    if line.conflicts:
        copies = ", ".join(f"`{visible(shown)}`" for shown in line.conflicts)
        text += terminal.style(f"  conflict copy: {copies}", "yellow")
    return text


def _about(line: PlanLine) -> str:
    steps = f"{line.done}/{line.steps} steps"
    if line.holds:
        steps += f", {line.holds} hold{'s' if line.holds == 1 else ''}"
    if line.attested:
        steps += f", {line.attested} attested"
    if line.templates:
        steps += f", {line.templates} to expand"
    objective = visible(line.objective) if line.objective else "(no objective)"
    return f"{steps}  {objective}"


def _data(line: PlanLine) -> dict[str, object]:
    state = line.state
    by_file = line.is_empty or (
        state is None and line.plan is not None and line.status is line.plan.status
    )
    return {
        "slug": line.file.slug,
        "path": line.file.path,
        "status": line.word,
        "objective": line.objective,
        "steps": line.steps,
        "done": line.done,
        "holds": line.holds,
        "attested": line.attested,
        "templates": line.templates,
        "problem": line.problem,
        "shelf": _SHELVES[line.shelf],
        "status_from": "file" if by_file else "journal",
        "last_event": state.last_event.value if state and state.last_event else None,
        "last_event_at": state.last if state else None,
        "waiting": state.waiting if state else None,
        "bound": line.bound,
        "conflicts": list(line.conflicts),
    }
