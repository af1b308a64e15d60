"""`planbound submit`."""

from __future__ import annotations

import argparse

from planbound.cli.inputs import read_bound_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.marking import look
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="although a plan that it depends on is not proved; is recorded",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Put an approved plan on the queue of the workers."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    parts, file, data = read_bound_plan(arguments.plan, parts)
    parts.demand_own(file)
    look(parts, file, data)
    from planbound.wiring.workers import submit_plan  # noqa: PLC0415 - after what may be refused

    ticket = submit_plan(parts, file, anyway=arguments.anyway)
    if arguments.json:
        terminal.json(
            {
                "slug": ticket.plan,
                "priority": ticket.priority.value,
                "roles": list(ticket.roles),
                "workspace": ticket.workspace,
            }
        )
    else:
        terminal.out(f"`{ticket.plan}` is on the queue, priority {ticket.priority.value}")
    return ExitCode.DONE
