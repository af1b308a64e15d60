"""`planbound review`."""

from __future__ import annotations

import argparse

from planbound.cli import drafting
from planbound.cli.inputs import read_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.plan.digest import digest
from planbound.source.visible import visible
from planbound.usecases.review import review
from planbound.usecases.verify import verify
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.proposing import open_repository


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Ask the reviewer for comments on a plan; they decide nothing."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, parts)
    found = verify(data, path=file.shown, surroundings=parts.surroundings())
    with drafting.drafter_for(parts, drafting.REVIEWER, terminal) as drafter:
        terminal.note(f"asking `{visible(drafter.name)}`")
        comments = review(drafter, found, open_repository(parts), drafting.cleaner(parts))
    if arguments.json:
        terminal.json(
            {
                "slug": file.slug,
                "digest": digest(found.plan),
                "reviewer": drafter.name,
                "comments": comments,
                "approves": False,
            }
        )
        return ExitCode.DONE
    for line in comments.split("\n"):
        terminal.out(visible(line))
    terminal.note(
        f"this is the advice of `{visible(drafter.name)}`: it approves nothing, and nothing of it"
        " was recorded"
    )
    return ExitCode.DONE
