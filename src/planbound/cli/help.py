"""`planbound help`, and what is said of a command that is not there."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planbound import __version__
from planbound.cli.commands import COMMANDS, FIRST_HOUR, GROUPS, commands_in
from planbound.cli.parser import CommandParser, global_options, parser_of, width
from planbound.errors import ExitCode, UsageError
from planbound.plan.vocabulary import fold, nearest
from planbound.source import visible

if TYPE_CHECKING:
    import argparse

    from planbound.cli.terminal import Terminal

_SUGGESTED, _SHOWN = 3, 60
_NARROWEST = 40


# -- one screen ----------------------------------------------------------------------------------


def overview_lines(width: int) -> Iterator[str]:
    """Yield the help of the program: what one needs first, then every command by its group."""
    yield "usage: planbound [--workspace DIR] [--state DIR] COMMAND [ARGUMENT ...]"
    yield "       planbound --help | --version"
    yield ""
    yield "Planbound holds agents to the plan. The first hour:"
    yield from _rows({name: COMMANDS[name].sentence for name in FIRST_HOUR}, width)
    yield ""
    yield "All commands (`planbound help GROUP` or `planbound help COMMAND` explains them):"
    yield from _rows({group: ", ".join(commands_in(group)) for group in GROUPS}, width)


def group_lines(group: str, width: int) -> Iterator[str]:
    """Yield the commands of a group, each with its sentence."""
    yield f"{group}: {GROUPS[group]}"
    yield from _rows({name: COMMANDS[name].sentence for name in commands_in(group)}, width)
    yield ""
    if group in COMMANDS:
        yield f"`{group}` is a command, too: `planbound {group} --help` explains it."
    else:
        yield "`planbound COMMAND --help` explains one of them."


def _rows(rows: dict[str, str], width: int) -> Iterator[str]:
    """Yield names and what is said of each, wrapped beside the names."""
    column = max(map(len, rows)) + 4
    for name, text in rows.items():
        lines = textwrap.wrap(text, max(width - column, _NARROWEST), break_on_hyphens=False)
        for number, line in enumerate(lines):
            yield f"{f'  {name}' if number == 0 else '':<{column}}{line}"


class _ProgramParser(CommandParser):
    """The program without a command: its help is one screen."""

    def format_help(self) -> str:
        return "".join(f"{line}\n" for line in overview_lines(width()))


def program_parser() -> CommandParser:
    """Return the parser of the program itself: what stands alone, and goes with every command."""
    parser = _ProgramParser(prog="planbound", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"planbound {__version__}")
    global_options(parser)
    return parser


# -- `planbound help` ----------------------------------------------------------------------------


def configure_help(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="a group or a command")


def run_help(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show the commands of a group, the help of a command, or both by one screen."""
    topic = arguments.topic
    if topic is None:
        lines = overview_lines(width())
    elif topic in GROUPS:
        lines = group_lines(topic, width())
    elif topic in COMMANDS:
        lines = iter(parser_of(topic).format_help().splitlines())
    else:
        raise unknown(topic, "group or command", "lists them")
    for line in lines:
        terminal.out(line)
    return ExitCode.DONE


def unknown(word: str, kind: str = "command", tells: str = "lists the commands") -> UsageError:
    """Return what is said of a word that is no command: the likely ones, never all of them."""
    hint = f"`planbound --help` {tells}"
    if word in GROUPS:
        hint = f"it is a group: `planbound help {word}` lists its commands"
    elif likely := _likely(word):
        hint = f"did you mean {' or '.join(f'`{name}`' for name in likely)}? {hint}"
    return UsageError(f"there is no {kind} `{visible(word[:_SHOWN])}`", hint=hint)


def _likely(word: str) -> list[str]:
    meant = nearest(word, COMMANDS)
    if meant is not None:
        return [meant]
    begun = [name for name in COMMANDS if fold(word) and fold(name).startswith(fold(word))]
    group = nearest(word, GROUPS)
    return begun[:_SUGGESTED] or ([f"help {group}"] if group else [])
