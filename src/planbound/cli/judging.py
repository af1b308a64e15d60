"""What `judge` and `baseline` share: the plan, what is asked about, and the way to say it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from planbound.cli.inputs import read_plan
from planbound.cli.reports import text
from planbound.cli.terminal import Terminal
from planbound.engine.judging.case import Case, cases
from planbound.engine.judging.verdict import Subject
from planbound.errors import UsageError
from planbound.journal.redact import Redactor
from planbound.plan.model import Command, Plan
from planbound.ports.files import PlanFile
from planbound.usecases.verify import Verified, verify
from planbound.wiring.parts import Parts


class Asked(NamedTuple):
    """A plan that can be judged, and what of it."""

    file: PlanFile
    plan: Plan
    cases: tuple[Case, ...]
    held: bool
    """Whether it is a plan of this workspace, so that the journal speaks of it."""

    @property
    def judged(self) -> list[Case]:
        """Return what has a command."""
        return [case for case in self.cases if isinstance(case.contract, Command)]

    @property
    def waiting(self) -> list[Case]:
        """Return what has none."""
        return [case for case in self.cases if not isinstance(case.contract, Command)]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that both have."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--step", action="append", metavar="N", help="only this step; repeatable")
    which.add_argument("--postconditions", action="store_true", help="only the postconditions")
    parser.add_argument("--json", action="store_true", help="for programs")


def ask(arguments: argparse.Namespace, parts: Parts, terminal: Terminal) -> Asked | None:
    """Return what is to be judged; None, with the diagnostics said, for a plan with errors."""
    file, data = read_plan(arguments.plan, parts)
    verified = verify(data, path=file.shown, surroundings=parts.surroundings())
    if verified.errors:
        _complain(verified, arguments, terminal)
        return None
    held = parts.holds(file.path)
    return Asked(file, verified.plan, _chosen(verified.plan, arguments), held)


def _complain(verified: Verified, arguments: argparse.Namespace, terminal: Terminal) -> None:
    if arguments.json:
        from planbound.cli.reports import data  # noqa: PLC0415 - one format a call

        terminal.json({"verdicts": [], "diagnostics": data.as_data(verified.diagnostics)})
    else:
        for item in verified.diagnostics:
            for line in text.render(verified.plan.source, item, terminal):
                terminal.out(line)
            terminal.out()
    terminal.problem(
        "the plan has errors, and nothing was run", "mend them; `planbound verify` says the same"
    )


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


def redactor(parts: Parts) -> Redactor:
    """Return what takes secrets out of what contracts print."""
    import os  # noqa: PLC0415 - the environment's values are secrets

    return Redactor(os.environ, parts.configuration.redact)
