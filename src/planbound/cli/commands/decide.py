"""`planbound decide`."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import assert_never

from planbound.cli.commands.ask import question
from planbound.cli.commands.reject import refuse
from planbound.cli.gate import Gate
from planbound.cli.gate_arguments import configure_approval, configure_person
from planbound.cli.inputs import STANDARD_INPUT
from planbound.cli.terminal import Terminal
from planbound.engine.gate.decision import (
    Add,
    Approve,
    Ask,
    Edit,
    Modification,
    Reject,
    Skip,
    Unclear,
    read_changes,
    read_decision,
)
from planbound.errors import ExitCode, UsageError
from planbound.plan.digest import digest
from planbound.plan.parse import MAX_BYTES
from planbound.source.visible import visible
from planbound.usecases.modify import TextChange, refuse_needed, say_change


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    configure_person(parser)
    parser.add_argument("said", metavar="TEXT", help='such as "approved, but skip task 2"')
    parser.add_argument(
        "--with",
        dest="file",
        metavar="FILE",
        help="the text of the step that is edited or added; `-` is standard input",
    )
    configure_approval(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Do what somebody says about a plan; what is not understood is asked back."""
    before = Gate(arguments, terminal)
    labels = [step.label for step in before.plan.steps]
    changes = read_changes(arguments.said, labels)
    # A change of the text approves nothing, so it needs no yes: the plan is shown again.
    if changes and not any(isinstance(change, Skip) for change in changes):
        return _approve(before, changes, arguments.file, terminal)
    decision = read_decision(arguments.said, labels)
    match decision:
        case Approve():
            return _approve(before, decision.modifications, arguments.file, terminal)
        case Reject():
            return refuse(before, decision.reason, terminal)
        case Ask():
            return question(before, decision.question, terminal)
        case Unclear():
            terminal.note(f"not decided: {visible(decision.question)}")
            return ExitCode.WAITING
        case _:
            assert_never(decision)


def _approve(
    before: Gate, modifications: tuple[Modification, ...], file: str | None, terminal: Terminal
) -> ExitCode:
    skipped = [item for item in modifications if isinstance(item, Skip)]
    changes: list[TextChange] = [item for item in modifications if not isinstance(item, Skip)]
    if file is not None and not any(isinstance(item, Edit | Add) for item in changes):
        raise UsageError("`--with` is for a step that is edited or added")
    if changes:
        before.change(changes, _read(before, file))
        terminal.note(
            "the plan was changed and is not approved yet: look at it again with "
            f"`planbound approve {shlex.quote(before.file.slug)}`;"
            f" its digest is {digest(before.plan)[:12]}"
        )
        return ExitCode.WAITING
    labels = [item.step for item in skipped]
    refuse_needed(before.plan, labels)
    before.check()
    if not before.is_sound():
        return ExitCode.FAILED
    return before.decide(before.sheet(labels), tuple(say_change(item) for item in skipped))


def _read(before: Gate, file: str | None) -> str | None:
    if file is None:
        return None
    data = (
        sys.stdin.buffer.read(MAX_BYTES)
        if file == STANDARD_INPUT
        else before.parts.reader.read(file)
    )
    return data.decode("utf-8", "surrogateescape")
