"""`planbound merge-order`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.engine.merge_order import describe_cycle
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.merge_order import merge_order
from planbound.wiring.merging import plan_sizes
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say in which order to merge the finished plans."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    order, warnings = merge_order(
        parts.tree,
        parts.files,
        parts.existing_journal,
        plan_sizes(parts),
        parts.configuration.gate.require,
    )
    if arguments.json:
        terminal.json(
            {
                "order": [turn._asdict() for turn in order.turns],
                "cycle": list(order.cycle),
                "degrade_warnings": list(warnings),
            }
        )
    else:
        for warning in warnings:
            terminal.note(f"warning: {visible(warning)}")
        for number, turn in enumerate(order.turns, start=1):
            name = terminal.style(visible(turn.slug), "bold")
            terminal.out(f"{number}. {name}  {visible(turn.reason)}")
    if order.cycle:
        terminal.problem(
            visible(describe_cycle(order.cycle)), "take one of them out of a `depends_on`"
        )
        return ExitCode.FAILED
    if not order.turns and not arguments.json:
        terminal.note(f"no finished plan in {visible(parts.root)}/.harness")
    return ExitCode.DONE
