"""`planbound approve`."""

from __future__ import annotations

import argparse

from planbound.cli import gate
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    gate.configure(parser)
    gate.configure_approval(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show what would run, and take the approval."""
    before = gate.Gate(arguments, terminal)
    before.check()
    if not before.is_sound():
        return ExitCode.FAILED
    return before.decide(before.sheet())
