"""`planbound cancel`."""

from __future__ import annotations

import argparse

from planbound.cli import person
from planbound.cli.inputs import read_own_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.people import cancel_run


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why")
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """End a run; the agent at work is stopped, what was proved stays on record."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, parts)
    who = person.the_person(arguments.by)
    holder = cancel_run(parts, file, data, who, arguments.reason)
    if arguments.json:
        terminal.json({"plan": file.slug, "cancelled_by": who.name, "holder": holder})
    elif holder is not None:
        terminal.out(f"`{file.slug}` is cancelled; {holder} stops its agent now")
    else:
        terminal.out(f"`{file.slug}` is cancelled")
    return ExitCode.DONE
