"""`planbound init`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planbound.cli.named_plans import excuse
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.plan.limits import LimitError, parse_duration
from planbound.source import visible
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.judging.trial import Beginning, Begun, SuitesFound, SuiteTrial

_SHOWN = 5
_MINUTE = 60
_NEXT = "next: fill in what says TODO in .harness/PLAN.md, then `planbound verify`"


class TriedSuite(JsonObject, frozen=True):
    """A test suite that was found."""

    title: str
    command: str
    verdict: str | None
    """What came of running it: `pass`, `fail`, `unrunnable`, ...; null where it was not tried."""
    said: str
    failing: list[str]
    """The tests that fail already, where the runner tells their names."""
    seconds: float
    hint: str | None


class InitMade(JsonObject, frozen=True):
    made: list[str]
    """Files and folders, as seen from the workspace."""
    plan: str | None
    """The path of the first plan; null where there was one."""
    suites: list[TriedSuite]
    tools: list[str]
    """The programs that contracts use."""
    hints: list[str]


SHAPES: dict[str, Shapes] = {"init": {"": InitMade}}


def configure_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-probe", action="store_true", help="propose a test command, but do not try it"
    )
    parser.add_argument(
        "--limit", metavar="TIME", help="how long the tests may take when tried (default: 5m)"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_init(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Make what a workspace needs; leave alone what is there."""
    from planbound.cli.progress import live_line  # noqa: PLC0415 - start-up
    from planbound.judging.trial import Begun, begin  # noqa: PLC0415 - start-up

    context = Context(workspace=arguments.workspace, state=arguments.state)
    seconds = _seconds(arguments.limit)
    context.on_stage = live_line(quiet=arguments.json).judging
    for each in begin(context, probe=not arguments.no_probe, seconds=seconds):
        if not arguments.json:
            _say(each, terminal)
        elif isinstance(each, Begun):
            excuse(each.made.plan.unrecorded if each.made.plan else None, terminal)
            terminal.json(_made(each))
    return ExitCode.DONE


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(parse_duration(text))
    except LimitError as error:
        raise UsageError(error.reason, hint=error.hint) from error


def _say(each: Beginning, terminal: Terminal) -> None:
    from planbound.judging.trial import (  # noqa: PLC0415 - start-up
        Begun,
        NotTried,
        SuitesFound,
        SuiteTrial,
        TrialBegun,
        TrialsDone,
    )

    match each:
        case SuitesFound():
            for line in _found(each):
                terminal.out(line)
        case TrialBegun():
            limit = _spoken(each.seconds)
            terminal.note(f"trying `{visible(each.command)}` in a cell, for at most {limit}")
        case SuiteTrial():
            for line in _tried(each):
                terminal.out(line)
        case TrialsDone():
            if each.tools:
                terminal.out(f"contracts use {visible(', '.join(each.tools))}")
        case NotTried():
            terminal.note(f"note: not tried: {each.reason}")
        case Begun():
            _say_what_is_next(each, terminal)


def _found(found: SuitesFound) -> Iterator[str]:
    from planbound.judging.trial import TRIED  # noqa: PLC0415 - start-up

    for suite in found.suites[:TRIED]:
        signs = ", ".join(visible(name) for name in suite.signs)
        without = "" if suite.commands else "; no tests"
        yield f"found {visible(suite.title)}: {signs or 'its tests'}{without}"
    others = found.suites[TRIED:]
    if others:
        rest = ", ".join(visible(suite.title) for suite in others[:_SHOWN])
        yield f"found also {rest}{', …' if len(others) > _SHOWN else ''}"
    if not found.suites:
        yield "found no tests: no file here says how they are run"


def _spoken(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < _MINUTE else f"{seconds / _MINUTE:g} min"


def _tried(trial: SuiteTrial) -> Iterator[str]:
    from planbound.judging.trial import said  # noqa: PLC0415 - start-up

    yield f"tried `{visible(trial.command)}`: {visible(said(trial))}"
    for name in trial.failing[:_SHOWN]:
        yield f"  fails already: {visible(name)}"
    if len(trial.failing) > _SHOWN:
        yield f"  … and {len(trial.failing) - _SHOWN:,} more: the plan names them"
    for line in trial.tail:
        yield f"  | {visible(line)}"


def _say_what_is_next(begun: Begun, terminal: Terminal) -> None:
    plan = begun.made.plan
    if plan is not None:
        excuse(plan.unrecorded, terminal)
    for name in begun.made.made:
        terminal.out(f"made {name}")
    if plan is None:
        return
    for hint in _hints(begun):
        terminal.note(f"hint: {hint}")
    if not begun.in_repository:
        terminal.note("note: this is not the top of a git repository; several workers need one")
    terminal.note(_NEXT)


def _hints(begun: Begun) -> Iterator[str]:
    cures = [trial.cure for trial in begun.trials if trial.cure]
    yield from cures
    if cures:
        yield "remove .harness/PLAN.md, and `planbound init` tries it again"
    if begun.missing_path:
        named = ", ".join(f'"{folder}"' for folder in begun.missing_path)
        yield f"the tests need `[contracts] path = [{named}]`"


def _made(begun: Begun) -> InitMade:
    from planbound.judging.trial import said  # noqa: PLC0415 - start-up

    plan = begun.made.plan
    return InitMade(
        made=list(begun.made.made),
        plan=None if plan is None else plan.file.path,
        suites=[
            TriedSuite(
                title=trial.suite.title,
                command=trial.command,
                verdict=None if trial.kind is None else trial.kind.value,
                said=said(trial),
                failing=list(trial.failing),
                seconds=trial.seconds,
                hint=trial.cure or None,
            )
            for trial in begun.trials
        ],
        tools=list(begun.tools),
        hints=list(_hints(begun)),
    )
