"""`planbound standup`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.engine.standup import Standup
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.standup import standup
from planbound.wiring.marking import look_at_all
from planbound.wiring.parts import Parts

_TITLES = {
    "building": "building",
    "mergeable": "mergeable",
    "idle": "idle",
    "waiting": "waiting for a person",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say where each plan stands that is not put away."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    require = parts.configuration.gate.require
    found, warnings = standup(look_at_all(parts), parts.now(), require)
    groups = dict(zip(Standup._fields, found, strict=True))
    if arguments.json:
        data: dict[str, object] = {
            name: [standing._asdict() for standing in group] for name, group in groups.items()
        }
        terminal.json(data | {"degrade_warnings": list(warnings)})
        return ExitCode.DONE
    for warning in warnings:
        terminal.note(f"warning: {visible(warning)}")
    for name, group in groups.items():
        terminal.out(terminal.style(f"{_TITLES[name]} ({len(group)})", "bold"))
        for standing in group:
            about = f"[{standing.status}] {visible(standing.about)}"
            terminal.out(f"  {visible(standing.slug)}  {about}")
    return ExitCode.DONE
