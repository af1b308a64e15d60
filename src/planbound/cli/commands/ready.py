"""`planbound ready`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.ready import ready
from planbound.wiring.marking import look_at_all
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say which plans may begin now."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    require = parts.configuration.gate.require
    found = ready(look_at_all(parts), require)
    if arguments.json:
        terminal.json(
            {
                "ready": list(found.ready),
                "safe_together": list(found.safe_together),
                "held_back": [held._asdict() for held in found.held_back],
                "degrade_warnings": list(found.warnings),
            }
        )
        return ExitCode.DONE
    for warning in found.warnings:
        terminal.note(f"warning: {visible(warning)}")
    safe = frozenset(found.safe_together)
    for slug in found.safe_together:
        terminal.out(f"{terminal.style(visible(slug), 'bold')}  safe to begin now")
    ready_slugs = frozenset(found.ready)
    for held in found.held_back:
        state = "ready, held back" if held.slug in ready_slugs else "held back"
        name = terminal.style(visible(held.slug), "bold")
        terminal.out(f"{name}  {state}: {visible(held.reason)}")
    if not safe and not found.held_back:
        terminal.note(f"no plan waits to begin in {visible(parts.root)}/.harness")
    return ExitCode.DONE
