"""What `judge` and `baseline` share: the plan, what is asked about, and the way to say it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from planbound.cli.inputs import read_bound_plan
from planbound.cli.terminal import Terminal
from planbound.engine.judging.case import Case, cases
from planbound.engine.judging.programs import Tool
from planbound.engine.judging.verdict import Subject
from planbound.engine.manifest import Manifest
from planbound.errors import PlanboundError, UsageError
from planbound.plan.model import Command, Plan
from planbound.ports.files import PlanFile
from planbound.source.visible import visible
from planbound.usecases.bench import Bench
from planbound.usecases.verify import verify
from planbound.wiring.parts import Parts
from planbound.wiring.tools import cautions, contract_tools


class Asked(NamedTuple):
    """A plan that can be judged, and what of it."""

    file: PlanFile
    plan: Plan
    cases: tuple[Case, ...]
    held: bool
    """Whether it is a plan of this workspace, so that the journal speaks of it."""
    parts: Parts
    """For the worktree that the plan is bound to."""

    @property
    def judged(self) -> list[Case]:
        """Return what has a command."""
        return [case for case in self.cases if isinstance(case.contract, Command)]

    @property
    def waiting(self) -> list[Case]:
        """Return what has none."""
        return [case for case in self.cases if not isinstance(case.contract, Command)]


def configure_plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that both have."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(step=None, postconditions=False)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what chooses a part of a plan, too."""
    configure_plan(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--step", action="append", metavar="N", help="only this step; repeatable")
    which.add_argument("--postconditions", action="store_true", help="only the postconditions")


def ask(arguments: argparse.Namespace, parts: Parts, terminal: Terminal) -> Asked:
    """Return what is to be judged.

    A plan with errors is judged too, for a look is not a run: the gate is stricter.
    """
    parts, file, data = read_bound_plan(arguments.plan, parts)
    verified = verify(data, path=file.shown, surroundings=parts.surroundings())
    chosen = _chosen(verified.plan, arguments)
    with suppress(PlanboundError):  # that a verdict is not on record is said where it is noted
        parts.see(file, verified.plan)
    if not any(isinstance(case.contract, Command) for case in chosen):
        raise UsageError(
            f"there is no contract to run in {file.shown}", hint="`planbound verify` says more"
        )
    if verified.errors:
        count = f"{verified.errors} error{'' if verified.errors == 1 else 's'}"
        terminal.note(f"note: the plan has {count}; `planbound verify` says which")
    return Asked(file, verified.plan, chosen, parts.holds(file.path), parts)


def tell_tools(
    asked: Asked, bench: Bench, tree: Manifest | None, terminal: Terminal, *, silent: bool
) -> tuple[Tool, ...]:
    """Say which programs the contracts will use, and what they were to get and will not."""
    tools = contract_tools(asked.parts, bench, asked.judged, tree)
    if tools and not silent:
        terminal.out(f"contracts use {visible(', '.join(map(str, tools)))}")
    for caution in cautions(asked.parts):
        terminal.note(f"note: {caution}")
    return tools


def _chosen(plan: Plan, arguments: argparse.Namespace) -> tuple[Case, ...]:
    found = tuple(cases(plan))
    if arguments.postconditions:
        chosen = tuple(case for case in found if case.subject is Subject.POSTCONDITION)
        if not chosen:
            raise UsageError("the plan has no postconditions")
        return chosen
    if not arguments.step:
        return found
    steps = {case.number: case for case in found if case.subject is Subject.STEP}
    steps |= {case.id: case for case in steps.values() if case.id}
    for name in arguments.step:
        if name not in steps:
            numbers = ", ".join(case.number for case in found if case.subject is Subject.STEP)
            raise UsageError(f"the plan has no step `{name}`", hint=f"it has the steps {numbers}")
    wanted: Sequence[Case] = [steps[name] for name in dict.fromkeys(arguments.step)]
    return tuple(case for case in found if case in wanted)
