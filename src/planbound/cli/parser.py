"""How the words of a command line are read; what cannot be read is told with the likely cure."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from functools import partial
from typing import Any, NoReturn

from planbound.cli.commands import COMMANDS, configure_of
from planbound.errors import UsageError
from planbound.plan.vocabulary import nearest

_UNKNOWN = "unrecognized arguments"
_MISSING = "the following arguments are required"
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")


class CommandParser(argparse.ArgumentParser):
    """A parser that refuses as every other part of the program does."""

    def error(self, message: str) -> NoReturn:
        """Refuse the words, and name the option that was probably meant."""
        what, _, words = message.partition(": ")
        if what == _MISSING:
            self._refuse("; ".join(map(self._missing, words.split(", "))), None)
        if what == _UNKNOWN and not any(word.startswith("-") for word in words.split()):
            self._refuse(self._too_many(words), self._meant(message))
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
        message = f"`{_name(action)}` is `{visible(str(value))}`, {_expected(action)}"
        self._refuse(message, nearest(str(value), names))

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Refuse what is no number where one is wanted."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type is not int:
                raise
            from planbound.source import visible  # noqa: PLC0415 - start-up

            message = f"`{_name(action)}` is `{visible(arg_string)}`, expected a whole number"
            self._refuse(message, None)

    def _missing(self, name: str) -> str:
        """Return that an argument has to be given, and what it may be."""
        action = next((each for each in self._actions if _name(each) == name), None)
        expected = f", {_expected(action)}" if action is not None and action.choices else ""
        return f"`{name}` is missing{expected}"

    def _too_many(self, words: str) -> str:
        """Return that nothing is to be said by these words, and what can be said instead."""
        from planbound.source import visible  # noqa: PLC0415 - start-up

        takes = [each for each in self._actions if not each.option_strings]
        known = ", ".join(f"`{_name(each)}` ({each.help})" for each in takes)
        takes_only = f"takes only {known}" if takes else "takes nothing but options"
        return f"`{visible(words)}` is too much: `{self.prog}` {takes_only}"

    def _meant(self, message: str) -> str | None:
        if not message.startswith(_UNKNOWN):
            return None
        words = _OPTION.findall(message.partition(":")[2])
        found = (nearest(word, self._option_string_actions) for word in words)
        return next((option for option in found if option is not None), None)


def _name(action: argparse.Action) -> str:
    """Return how an option or argument is called where it is told of."""
    if action.option_strings:
        return action.option_strings[-1]
    return action.metavar if isinstance(action.metavar, str) else action.dest


def _expected(action: argparse.Action) -> str:
    return f"expected one of {', '.join(map(str, action.choices or ()))}"


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
