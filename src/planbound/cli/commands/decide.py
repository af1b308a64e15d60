"""`planbound decide`."""

from __future__ import annotations

import argparse
from typing import assert_never

from planbound.cli import gate
from planbound.cli.commands.ask import question
from planbound.cli.commands.reject import refuse
from planbound.cli.terminal import Terminal
from planbound.engine.gate.decision import (
    Approve,
    Ask,
    Modification,
    Move,
    Reject,
    Remove,
    Reorder,
    Skip,
    Swap,
    Unclear,
    read_decision,
)
from planbound.errors import ExitCode, Refused
from planbound.plan.digest import digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse, write
from planbound.plan.revise import (
    RevisionError,
    move_step,
    remove_step,
    reorder_steps,
    swap_steps,
)
from planbound.source.visible import visible
from planbound.usecases.differences import difference

_TextChange = Remove | Move | Swap | Reorder


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    gate.configure_person(parser)
    parser.add_argument("said", metavar="TEXT", help='such as "approved, but skip task 2"')
    gate.configure_approval(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Do what somebody says about a plan; what is not understood is asked back."""
    before = gate.Gate(arguments, terminal)
    decision = read_decision(arguments.said, [step.label for step in before.plan.steps])
    match decision:
        case Approve():
            return _approve(before, decision.modifications, terminal)
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
    before: gate.Gate, modifications: tuple[Modification, ...], terminal: Terminal
) -> ExitCode:
    skipped = [item for item in modifications if isinstance(item, Skip)]
    others = [item for item in modifications if not isinstance(item, Skip)]
    if others:
        return _change(before, others, terminal)
    for item in skipped:
        _refuse_needed(before.plan, item.step)
    before.check()
    if not before.is_sound():
        return ExitCode.FAILED
    return before.decide(before.sheet(), tuple(f"skip {item.step}" for item in skipped))


def _refuse_needed(plan: Plan, label: str) -> None:
    for step in plan.steps:
        if step.depends is not None and any(item.value == label for item in step.depends):
            raise Refused(
                f"step {label} cannot be skipped: step {step.label} depends on it",
                hint="remove it from the plan, or skip both",
            )


def _change(before: gate.Gate, changes: list[_TextChange], terminal: Terminal) -> ExitCode:
    """Apply changes to the plan's text; what comes of it has to be looked at again."""
    ids = {step.label: step.id for step in before.plan.steps}
    plan = before.plan
    try:
        for change in changes:
            plan = parse(_revised(plan, change, ids), path=before.file.shown)
    except RevisionError as error:
        raise Refused(f"the plan cannot be changed like that: {error}") from error
    data = write(plan)
    before.parts.files.replace(before.file.path, data, expected=before.data)
    for line in difference(before.file.shown, before.data, data).splitlines():
        terminal.out(visible(line))
    now = digest(plan)[:12]
    terminal.note(
        f"the plan was changed and is not approved yet: look at it again with "
        f"`planbound approve {before.file.slug}`; its digest is {now}"
    )
    return ExitCode.WAITING


def _revised(plan: Plan, change: _TextChange, ids: dict[str, str]) -> str:
    match change:
        case Remove():
            return remove_step(plan, ids[change.step])
        case Swap():
            return swap_steps(plan, ids[change.first], ids[change.second])
        case Reorder():
            return reorder_steps(plan, [ids[label] for label in change.order])
        case Move():
            anchor = ids.get(change.anchor, change.anchor)
            if change.after:
                return move_step(plan, ids[change.step], after=anchor)
            return move_step(plan, ids[change.step], before=anchor)
        case _:
            assert_never(change)
