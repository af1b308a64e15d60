"""The program: finds the command, runs it, turns every end into an exit code."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn, Protocol

from planbound import __version__
from planbound.cli.quick_start import hurry
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, PlanboundError, UsageError

if TYPE_CHECKING:
    import argparse

COMMANDS = {
    "init": "find out how the repository is tested; make `.harness/`, a plan, a configuration",
    "new": "begin a new named plan",
    "draft": "let a model write a plan for a goal; it stays a draft",
    "redraft": "let a model write a plan anew, for a reason; what is proved stays",
    "review": "ask a model for comments on a plan: advice, never an approval",
    "import": "make a draft from a task list of another tool",
    "show": "show what a plan says",
    "list": "list the plans of the workspace",
    "verify": "say everything that is wrong with a plan; nothing is run",
    "fmt": "repair how a plan is written, and show the difference",
    "expand": "write a template such as `3–N` out into numbered steps",
    "explain": "tell what a diagnostic means and what to write instead",
    "agents": "say which agents are configured and installed, and try them",
    "baseline": "freeze the tree before any work, and say which contracts are red",
    "judge": "run the contracts on the workspace as it is, without an agent",
    "gate": "decide about a plan in a dialogue",
    "approve": "show what a plan would run, and approve exactly that",
    "reject": "refuse a plan, with the reason",
    "ask": "ask about a plan before deciding",
    "decide": "do what somebody says about a plan, such as `approved, but skip task 2`",
    "run": "run an approved plan, or go on where the proof ends",
    "resume": "go on with a run that was stopped, cut off, or failed",
    "submit": "put an approved plan on the queue of the workers",
    "worker": "take plans from the queue and run them, until told to stop",
    "status": "say where a plan is: its steps, what waits, who drives it",
    "attach": "follow a run that goes on elsewhere",
    "cancel": "end a run",
    "inbox": "list what waits for a person",
    "answer": "answer a question of a run: retry, skip, abort, revise",
    "waive": "go on without a pass; shown as waived for ever",
    "attest": "sign the statement of a step or condition",
    "claims": "say who works on which plan, and what nobody else may touch meanwhile",
    "release": "take a plan from whoever works on it; what is not done stays so",
    "amend": "change what is not proved yet of an approved plan",
    "selftest": "try to break out of the cells of this machine",
    "log": "read, follow and check the journal",
    "notify": "deliver what `[[notify]]` in the configuration asks for",
    "resolve-active-plan": "print the paths of the plan that this worktree is bound to",
    "stage": "write a draft into the queue",
    "activate": "copy a plan from the queue to where it is worked on",
    "archive": "put a finished plan away",
    "ready": "say which plans can start, and which of them together",
    "spawn": "make a worktree and a branch for a plan",
    "fleet": "spawn and run the plans that are safe together, then those that build on them",
    "prune": "remove worktrees and branches whose work is all merged, and say why the rest stays",
    "merge-order": "say in which order finished plans are merged",
    "integrate": "merge proved plans, each judged once more on the merged files",
    "queue-status": "one line for each plan with its last progress",
    "standup": "what is being built, mergeable, idle, waiting for a person",
    "mcp": "offer the plan tools to a client of the Model Context Protocol",
    "hook": "answer an event of an agent host, as JSON; `planbound install` sets it up",
    "install": "set up the hooks, plan tools and skill in an agent host, or take them away",
    "gc": "remove from the state home what no run, approval or receipt needs",
    "doctor": "say what is wrong with this workspace, and the cure",
}
_SUGGESTED, _SHOWN = 3, 60
_LOOKING = frozenset({"doctor", "gc"})
"""What shows what is left behind, instead of removing it unasked."""
_PASSING = ("cells", "cells-probe", "copies", "homes", "scratch")
"""The folders of a state home in which nothing is when nobody works."""


class CommandModule(Protocol):
    """What a module in `cli.commands` has."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments."""

    def run(self, arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
        """Do it."""


def entry_point() -> NoReturn:
    """Run the program in `sys.argv` and end the process."""
    # A command lives for moments and makes no cycles to speak of: looking for them costs a tenth.
    gc.disable()
    hurry()
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
    try:
        return _run(argv, terminal)
    except PlanboundError as error:
        if isinstance(error, NothingToDo):  # an answer, not an error
            terminal.note(f"nothing to do: {error.message}")
        else:
            terminal.problem(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        terminal.note("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return _close_pipe()
    except SystemExit as error:  # argparse ends by itself on --help and on bad usage
        return error.code if isinstance(error.code, int) else ExitCode.USAGE
    except Exception as error:  # noqa: BLE001 - the one place where a bug of ours ends
        return _broken(error, argv, terminal)


def _run(argv: list[str], terminal: Terminal) -> int:
    # Only the module of the command at hand is imported: start-up is paid by every call.
    name = _command_in(argv)
    if name is None:
        parser = overview()
        parser.parse_args(argv)  # ends by itself on --help, --version and an unknown option
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    if name not in COMMANDS:
        raise _unknown(name)
    if name == "hook" and not {"-h", "--help"}.intersection(argv):
        # No word on its command line may end it otherwise than with an answer.
        answered: int = importlib.import_module(module_of(name)).answer_host(argv)
        return answered
    import argparse  # noqa: PLC0415 - hooks do without: they are asked at every call of a tool

    module: CommandModule = importlib.import_module(module_of(name))
    parser = argparse.ArgumentParser(
        prog=f"planbound {name}",
        description=_sentence(COMMANDS[name]),
        formatter_class=partial(argparse.HelpFormatter, width=_width()),
        allow_abbrev=False,
    )
    _global_options(parser)
    module.configure(parser)
    place = argv.index(name)
    arguments = parser.parse_args(argv[:place] + argv[place + 1 :])
    try:
        return module.run(arguments, terminal)
    finally:
        if name not in _LOOKING:
            _tidy()


def _tidy() -> None:
    """Remove what killed processes left in a state home that this command looked into."""
    parts = sys.modules.get("planbound.wiring.parts")
    for home, opened in parts.USED.items() if parts is not None else ():
        if not any(_holds_anything(os.path.join(home, name)) for name in _PASSING):
            continue
        from planbound.wiring.sweeping import sweep  # noqa: PLC0415 - most find nothing

        with contextlib.suppress(Exception):  # whatever it is, the command did its work
            sys.stdout.flush()
            sweep(opened)


def _holds_anything(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def module_of(command: str) -> str:
    """Return the module of a command; a word that Python keeps for itself has a `_` behind it."""
    if command == "hook":  # a face of its own
        return "planbound.hooks.command"
    module = command.replace("-", "_")
    return f"planbound.cli.commands.{'import_' if module == 'import' else module}"


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


def _unknown(word: str) -> UsageError:
    """Return what is said of a word that is no command: the likely ones, never all of them."""
    from planbound.plan.suggest import fold, nearest  # noqa: PLC0415 - start-up
    from planbound.source.visible import visible  # noqa: PLC0415

    meant = nearest(word, COMMANDS)
    begun = [name for name in COMMANDS if fold(word) and fold(name).startswith(fold(word))]
    likely = [meant] if meant else begun[:_SUGGESTED]
    hint = "`planbound --help` lists the commands"
    if likely:
        hint = f"did you mean {' or '.join(f'`{name}`' for name in likely)}? {hint}"
    return UsageError(f"there is no command `{visible(word[:_SHOWN])}`", hint=hint)


def _global_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="DIR", help="the workspace (default: found upwards)")
    parser.add_argument(
        "--state", metavar="DIR", help="the state home (default: $PLANBOUND_STATE, else by XDG)"
    )


def overview() -> argparse.ArgumentParser:
    """Return the parser that knows the names of all commands, for `--help`."""
    import argparse  # noqa: PLC0415 - see `_run`

    parser = argparse.ArgumentParser(
        prog="planbound",
        description="Planbound holds agents to the plan.",
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=_width()),
        epilog="`planbound COMMAND --help` tells more.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"planbound {__version__}")
    _global_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser


def _width() -> int:
    """Return the width of help pages; left to argparse, every call would import `shutil` for it."""
    with contextlib.suppress(ValueError, OSError):
        return int(os.environ.get("COLUMNS", "")) - 2
    with contextlib.suppress(ValueError, OSError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns - 2 if sys.__stdout__ else 78
    return 78


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _close_pipe() -> ExitCode:
    """Whoever read our output went away: that is not an error, and nobody is left to tell."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    return ExitCode.DONE


def _broken(error: Exception, argv: list[str], terminal: Terminal) -> ExitCode:
    from planbound.store.disk import disk_problem  # noqa: PLC0415 - only when it breaks

    problem = disk_problem(error)
    if problem is None:
        return _report(error, argv, terminal)
    terminal.problem(problem.message, problem.hint)
    return problem.exit_code


def _report(error: Exception, argv: list[str], terminal: Terminal) -> ExitCode:
    import tempfile  # noqa: PLC0415 - only when we crash
    import traceback  # noqa: PLC0415

    text = f"planbound {__version__}, Python {sys.version}\n\narguments: {argv!r}\n\n"
    text += "".join(traceback.format_exception(error))
    terminal.problem(f"this is a bug in Planbound: {type(error).__name__}: {error}")
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="planbound-bug-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as file:
            file.write(text)
        terminal.note(f"hint: the report is in {file.name}; please send it to us")
    except OSError:
        terminal.note(text)
    return ExitCode.BUG
