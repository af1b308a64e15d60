"""`planbound ask`."""

from __future__ import annotations

import argparse

from planbound.cli.gate import Gate
from planbound.cli.gate_arguments import configure_person
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.source.visible import visible
from planbound.usecases.gate import ask


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    configure_person(parser)
    parser.add_argument("question", metavar="QUESTION", help="what is not clear")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Ask the owner of a plan before deciding."""
    return question(Gate(arguments, terminal), arguments.question, terminal)


def question(before: Gate, text: str, terminal: Terminal) -> ExitCode:
    """Record a question; the plan waits."""
    if not text.strip():
        raise UsageError("there is no question")
    before.parts.real_files.refuse_unwritable(before.file.path)
    ask(before.parts.recorder(), before.file.slug, before.plan, by=before.by, question=text.strip())
    owner = before.plan.frontmatter.owner
    whom = visible(owner.value) if owner else "its owner"
    terminal.out(f"asked {whom} about `{before.file.slug}`: {visible(text.strip())}")
    return ExitCode.DONE
