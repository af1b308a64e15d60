"""`planbound reject`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli.gate import Gate
from planbound.cli.gate_arguments import configure_plan, is_terminal, prompt
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.plan.model import PlanStatus
from planbound.source.visible import visible
from planbound.usecases.gate import reject


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    configure_plan(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why; asked for at a terminal")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Refuse a plan: back to draft."""
    if arguments.reason is not None and not arguments.reason.strip():
        raise UsageError("the reason is empty", hint='write `--reason "..."`, or leave it out')
    return refuse(Gate(arguments, terminal), arguments.reason or "", terminal)


def refuse(before: Gate, reason: str, terminal: Terminal) -> ExitCode:
    """Record a refusal; who gives no reason is asked for one, and refuses all the same."""
    slug, by = before.file.slug, before.by
    before.parts.real_files.refuse_unwritable(before.file.path)
    why = reason.strip() or _asked()
    reject(before.parts.recorder(), slug, before.plan, by=by, reason=why)
    before.show(PlanStatus.DRAFT)
    terminal.out(f"rejected `{slug}`{f': {visible(why)}' if why else ''}")
    if why:
        terminal.note(
            f"change the plan, or let a model do it: `planbound redraft {shlex.quote(slug)}`"
        )
    else:
        terminal.note(
            f'why? `planbound reject {shlex.quote(slug)} --reason "..."` puts it on record, too'
        )
    return ExitCode.DONE


def _asked() -> str:
    if not is_terminal():
        return ""
    try:
        return prompt("why? ") or ""
    except KeyboardInterrupt:  # the no was said already
        return ""
