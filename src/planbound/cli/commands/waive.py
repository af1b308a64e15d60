"""`planbound waive`."""

from __future__ import annotations

import argparse

from planbound.cli import person
from planbound.cli.inputs import read_own_plan
from planbound.cli.pending import note_next
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.usecases import answer as answers
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.people import decided_state


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    parser.add_argument("subject", metavar="STEP", help="its number, or `postcondition:2`")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why")
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Go on without a pass: a person's decision, on record for ever."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, parts)
    if not arguments.reason.strip():
        raise UsageError("the reason is empty", hint="say why it goes on without a pass")
    who = person.the_person(arguments.by)
    state = decided_state(parts, file, data)
    said = answers.waive(
        parts.recorder(), file.slug, state, arguments.subject, arguments.reason, who
    )
    if arguments.json:
        terminal.json({"plan": file.slug, "waived": said, "by": who.name})
    else:
        terminal.out(f"{said} of `{file.slug}` waived by {who.name}")
        note_next(parts, file.slug, terminal)
    return ExitCode.DONE
