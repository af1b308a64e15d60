"""`planbound reject`."""

from __future__ import annotations

import argparse

from planbound.cli.gate import Gate
from planbound.cli.gate_arguments import configure_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.plan.model import PlanStatus
from planbound.source.visible import visible
from planbound.usecases.gate import reject


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    configure_plan(parser)
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Refuse a plan: back to draft."""
    return refuse(Gate(arguments, terminal), arguments.reason, terminal)


def refuse(before: Gate, reason: str, terminal: Terminal) -> ExitCode:
    """Record a refusal with its reason."""
    if not reason.strip():
        raise UsageError("a refusal needs a reason", hint='write `--reason "..."`')
    before.parts.real_files.refuse_unwritable(before.file.path)
    reject(
        before.parts.recorder(), before.file.slug, before.plan, by=before.by, reason=reason.strip()
    )
    before.show(PlanStatus.DRAFT)
    before.parts.progress(before.file.slug, f"rejected by {before.by}: {reason.strip()}")
    terminal.out(f"rejected `{before.file.slug}`: {visible(reason.strip())}")
    terminal.note(f"change the plan, or let a model do it: `planbound redraft {before.file.slug}`")
    return ExitCode.DONE
