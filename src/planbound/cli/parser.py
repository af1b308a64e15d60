"""How the words of a command line are read; what cannot be read is told with the likely cure."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from functools import partial
from typing import NoReturn

from planbound.cli.commands import COMMANDS, configure_of
from planbound.errors import UsageError
from planbound.plan.vocabulary import nearest

_OPTION = re.compile(r"--?[A-Za-z][\w-]*")


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses as every other part of the program does."""

    def error(self, message: str) -> NoReturn:
        """Refuse the words, and name the option that was probably meant."""
        self._refuse(message, self._meant(message))

    def _refuse(self, message: str, meant: str | None) -> NoReturn:
        self.print_usage(sys.stderr)
        hint = f"`{self.prog} --help` tells what it takes"
        raise UsageError(message, hint=f"did you mean `{meant}`? {hint}" if meant else hint)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a word that is none of a few, and name the one that was probably meant."""
        if action.choices is None or value in action.choices:
            return
        from planbound.source import visible  # noqa: PLC0415 - start-up

        names = [str(choice) for choice in action.choices]
        what = action.option_strings[-1] if action.option_strings else action.metavar
        shown = f"`{what}` is" if isinstance(what, str) else "found"
        message = f"{shown} `{visible(str(value))}`, expected one of {', '.join(names)}"
        self._refuse(message, nearest(str(value), names))

    def _meant(self, message: str) -> str | None:
        if not message.startswith("unrecognized arguments"):
            return None
        words = _OPTION.findall(message.partition(":")[2])
        found = (nearest(word, self._option_string_actions) for word in words)
        return next((option for option in found if option is not None), None)


def parser_of(name: str) -> CommandParser:
    """Return the parser of a command."""
    parser = CommandParser(
        prog=f"planbound {name}",
        description=_sentence(COMMANDS[name].sentence),
        formatter_class=partial(argparse.HelpFormatter, width=width()),
        allow_abbrev=False,
    )
    global_options(parser)
    configure_of(name)(parser)
    return parser


def global_options(parser: argparse.ArgumentParser) -> None:
    """Add what goes with every command, before or after its name."""
    parser.add_argument(
        "--workspace", metavar="DIR", help="the workspace (default: the nearest one upwards)"
    )
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="the state home (default: $PLANBOUND_STATE, else in the XDG state folder)",
    )


def configure_fresh(parser: argparse.ArgumentParser) -> None:
    """Add the way to see everything run again."""
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="run every contract, also on what it was run on within a day",
    )


def width() -> int:
    """Return the width of help pages; left to argparse, every call would import `shutil` for it."""
    with contextlib.suppress(ValueError, OSError):
        return int(os.environ.get("COLUMNS", "")) - 2
    with contextlib.suppress(ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns - 2 if sys.__stdout__ else 78
    return 78


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."
