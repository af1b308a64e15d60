"""`planbound approve`."""

from __future__ import annotations

import argparse

from planbound.cli.gate import Gate
from planbound.cli.gate_arguments import configure_approval, configure_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    configure_plan(parser)
    configure_approval(parser)
    parser.add_argument(
        "--policy", metavar="NAME", help="let `[gate.policies.NAME]` of the configuration approve"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show what would run, and take the approval."""
    before = Gate(arguments, terminal)
    before.check()
    if not before.is_sound():
        return ExitCode.FAILED
    return before.decide(before.sheet())
