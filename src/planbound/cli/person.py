"""Who decides: a person at a terminal, or one that is named."""

from __future__ import annotations

import argparse
import sys

from planbound.errors import UsageError
from planbound.usecases.answer import Person
from planbound.wiring.judging import refuse_in_cell


def configure(parser: argparse.ArgumentParser) -> None:
    """Add who decides."""
    parser.add_argument("--as", dest="by", metavar="NAME", help="who decides")


def is_terminal() -> bool:
    """Say whether somebody may be sitting here."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def the_person(name: str | None) -> Person:
    """Return who decides; refuse in a cell, and where nobody is named."""
    refuse_in_cell()
    if name:
        return Person(name, "terminal" if is_terminal() else "name")
    if not is_terminal():
        raise UsageError("nobody decides", hint="without a terminal say who: `--as NAME`")
    import getpass  # noqa: PLC0415 - only here

    return Person(getpass.getuser(), "terminal")
