"""`planbound attest`."""

from __future__ import annotations

import argparse

from planbound.cli import person
from planbound.cli.inputs import read_own_plan
from planbound.cli.pending import note_next
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases import answer as answers
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.people import decided_state


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    parser.add_argument("subject", metavar="STEP", help="its number, or `postcondition:2`")
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Sign a statement with one's name."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, parts)
    who = person.the_person(arguments.by)
    state = decided_state(parts, file, data)
    statement = answers.attest(parts.recorder(), file.slug, state, arguments.subject, who)
    if arguments.json:
        terminal.json({"plan": file.slug, "statement": statement, "by": who.name})
    else:
        terminal.out(f"attested by {who.name}: {visible(statement)}")
        note_next(parts, file.slug, terminal)
    return ExitCode.DONE
