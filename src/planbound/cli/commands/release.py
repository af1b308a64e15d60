"""`planbound release`."""

from __future__ import annotations

import argparse

from planbound.cli import person
from planbound.cli.inputs import read_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.looped import release_plan
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why")
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Let an agent go that works by itself: a person's decision; nothing is done by it."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, _ = read_plan(arguments.plan, parts)
    if not arguments.reason.strip():
        raise UsageError("the reason is empty", hint="say why the agent is let go")
    who = person.the_person(arguments.by)
    release_plan(parts, file, who, arguments.reason.strip())
    if arguments.json:
        terminal.json({"plan": file.slug, "released": True, "by": who.name})
    else:
        terminal.out(f"`{file.slug}` released by {who.name}: no agent owes anything to it")
    return ExitCode.DONE
