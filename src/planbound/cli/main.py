"""The program: finds the command, runs it, turns every end into an exit code."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import NoReturn

from planbound import __version__
from planbound.cli.commands import ALIASES, COMMANDS, module_of, run_of
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, PlanboundError

_LOOKING = frozenset({"doctor", "gc"})
"""What shows what is left behind, instead of removing it unasked."""
_NAMES = (["completion", "plans"], ["completion", "staged"])
"""What the scripts of `planbound completion` ask for."""
_PASSING = ("cells", "cells-probe", "copies", "homes", "scratch")
"""The folders of a state home in which nothing is when nobody works."""


def entry_point() -> NoReturn:
    """Run the program in `sys.argv` and end the process."""
    # A command lives for moments and makes no cycles to speak of: looking for them costs a tenth.
    gc.disable()
    for name in ("stdout", "stderr"):  # closed by who started us: nobody reads it
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for good
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _close_pipe()
    except OSError as error:
        sys.stderr.write(f"error: cannot write the output: {error.strerror}\n")
        code = ExitCode.USAGE
        _close_pipe()
    # Nothing is left to do but free memory; the system does that faster.
    sys.stderr.flush()
    os._exit(code)


def main(argv: list[str]) -> int:
    """Run one command; return the exit code."""
    terminal = Terminal()
    terminal.for_programs = _asks_for_json(argv)
    try:
        return _run(argv, terminal)
    except PlanboundError as error:
        terminal.failure(error.code, error.message, error.hint)
        if isinstance(error, NothingToDo):  # an answer, not an error
            terminal.note(f"nothing to do: {error.message}")
        else:
            terminal.problem(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        terminal.failure("interrupted", "interrupted", None)
        # A terminal shows `^C` behind what was typed, or behind the question.
        terminal.note("\ninterrupted" if sys.stderr.isatty() else "interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()
    except SystemExit as error:  # argparse ends by itself on --help and on bad usage
        return error.code if isinstance(error.code, int) else ExitCode.USAGE
    except Exception as error:  # noqa: BLE001 - the one place where a bug of ours ends
        return _broken(error, argv, terminal)


def _run(argv: list[str], terminal: Terminal) -> int:
    # Only the module of the command at hand is imported: start-up is paid by every call.
    word = _command_in(argv)
    name = None if word is None else ALIASES.get(word, word)
    if word is None or name is None:
        from planbound.cli.help import program_parser  # noqa: PLC0415 - seldom

        program = program_parser()
        program.parse_args(argv)  # ends by itself on --help, --version and an unknown option
        program.print_help(sys.stderr)
        return ExitCode.USAGE
    if name not in COMMANDS:
        from planbound.cli.help import program_parser, unknown  # noqa: PLC0415 - seldom

        program = program_parser()
        _, left = program.parse_known_args(argv)
        if left[0] not in {name, "--json"}:  # the word was meant as the value of that option
            program.error(f"unrecognized arguments: {left[0]}")
        raise unknown(name)
    if name == "hook" and not {"-h", "--help"}.intersection(argv):
        # No word on its command line may end it otherwise than with an answer.
        answered: int = module_of(name).answer_host(argv)
        return answered
    if argv in _NAMES:  # a key was pressed, and somebody waits
        print("\n".join(module_of(name).plan_names(argv[1])))  # noqa: T201 - as it is
        return ExitCode.DONE
    from planbound.cli.parser import parser_of  # noqa: PLC0415 - hooks do without

    parser = parser_of(name)
    place = argv.index(word)
    arguments = parser.parse_args(argv[:place] + argv[place + 1 :])
    try:
        return run_of(name)(arguments, terminal)
    finally:
        if name not in _LOOKING:
            _tidy()


def _tidy() -> None:
    """Remove what killed processes left in a state home that this command looked into."""
    parts = sys.modules.get("planbound.workspace.context")
    for home, opened in parts.USED.items() if parts is not None else ():
        if not any(_holds_anything(os.path.join(home, name)) for name in _PASSING):
            continue
        from planbound.doctor.gc import sweep  # noqa: PLC0415 - most find nothing

        with contextlib.suppress(Exception):  # whatever it is, the command did its work
            sys.stdout.flush()
            sweep(opened)


def _holds_anything(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _asks_for_json(argv: list[str]) -> bool:
    """Say whether a program reads the output; asked before the words are understood."""
    if "--json" in argv or "--format=json" in argv:
        return _command_in(argv) != "hook"  # which answers in the shape of its host
    return any(argv[at : at + 2] == ["--format", "json"] for at in range(len(argv)))


def _command_in(argv: list[str]) -> str | None:
    """Return the command: the first word that is not a global option or its value."""
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in {"--workspace", "--state"}:
            skip = True
        elif word.startswith("-"):
            if word in {"--version", "-h", "--help"}:
                return None
        else:
            return word
    return None


def _close_pipe() -> ExitCode:
    """Whoever read our output went away: that is not an error, and nobody is left to tell."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    return ExitCode.DONE


def _broken(error: Exception, argv: list[str], terminal: Terminal) -> ExitCode:
    from planbound.disk.space import disk_problem  # noqa: PLC0415 - only when it breaks

    problem = disk_problem(error)
    if problem is None:
        return _report(error, argv, terminal)
    terminal.failure(problem.code, problem.message, problem.hint)
    terminal.problem(problem.message, problem.hint)
    return problem.exit_code


def _report(error: Exception, argv: list[str], terminal: Terminal) -> ExitCode:
    import tempfile  # noqa: PLC0415 - only when we crash
    import traceback  # noqa: PLC0415 - the same

    text = f"planbound {__version__}, Python {sys.version}\n\narguments: {argv!r}\n\n"
    text += "".join(traceback.format_exception(error))
    message = f"this is a bug in Planbound: {type(error).__name__}: {error}"
    hint = None
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="planbound-bug-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as file:
            file.write(text)
        hint = f"the report is in {file.name}; please send it to us"
    with contextlib.suppress(OSError):
        terminal.failure("bug", message, hint)
    terminal.problem(message, hint)
    if hint is None:
        terminal.note(text)
    return ExitCode.BUG
