"""`planbound init`."""

from __future__ import annotations

import argparse
import os

from planbound.cli.journalling import note_created
from planbound.cli.terminal import Terminal
from planbound.engine.configuration import Configuration
from planbound.engine.project import Suite
from planbound.engine.project.trial import Trial, known, said, time_limit
from planbound.errors import (
    BindingError,
    CellProblem,
    ExitCode,
    Refused,
    UsageError,
)
from planbound.plan.limits import LimitError, parse_duration
from planbound.plan.skeleton import objective_line, skeleton
from planbound.plan.slug import UNNAMED
from planbound.source.visible import visible
from planbound.usecases.create import Lacking, configuration_text, initialise, lacking
from planbound.wiring.parts import Parts

_TRIED = 3
"""So many suites are tried: of a large monorepo one sees by them how the others are named."""
_SHOWN = 5
_MINUTE = 60
_NEXT = "next: fill in what says TODO in .harness/PLAN.md, then `planbound verify`"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--no-probe", action="store_true", help="propose a test command, but do not try it"
    )
    parser.add_argument(
        "--limit", metavar="TIME", help="how long the tests may take when tried (default: 5m)"
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Make what a workspace needs; leave alone what is there."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    seconds = _seconds(arguments.limit)
    configuration = parts.configuration
    lacks = lacking(
        parts.root,
        workspace=parts.tree,
        files=parts.files,
        configured=configuration != Configuration(),
    )
    begun = _Beginning(parts, configuration, lacks, terminal)
    if lacks.plan:
        begun.look()
        begun.find_out(probe=not arguments.no_probe, seconds=seconds)
    # Nothing is written before this: who interrupts a trial finds the workspace as it was.
    made = initialise(
        parts.root,
        workspace=parts.tree,
        files=parts.files,
        folders=parts.real_files,
        plan=begun.plan() if lacks.plan else None,
        configuration=begun.configuration_text() if lacks.configuration else None,
    )
    if lacks.plan:
        note_created(parts, parts.tree.planned_path(UNNAMED), terminal, origin="init")
    for name in made:
        terminal.out(f"made {name}")
    if lacks.plan:
        begun.say_what_is_next()
    return ExitCode.DONE


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(parse_duration(text))
    except LimitError as error:
        raise UsageError(error.reason, hint=error.hint) from error


def _spoken(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < _MINUTE else f"{seconds / _MINUTE:g} min"


class _Beginning:
    """What is found out about a workspace, and what is written because of it."""

    def __init__(
        self, parts: Parts, configuration: Configuration, lacks: Lacking, terminal: Terminal
    ) -> None:
        self.parts = parts
        self.configured = configuration
        self.lacks = lacks
        self.terminal = terminal
        self.suites: list[Suite] = []
        self.tools: tuple[str, ...] = ()
        self.trials: list[Trial] = []

    def look(self) -> None:
        """Say what the files tell."""
        from planbound.wiring.beginning import look_around  # noqa: PLC0415 - only for a new plan

        found = look_around(self.parts, self.configured)
        for suite in found[:_TRIED]:
            signs = ", ".join(visible(name) for name in suite.signs)
            without = "" if suite.commands else "; no tests"
            self.terminal.out(f"found {visible(suite.title)}: {signs or 'its tests'}{without}")
        if len(found) > _TRIED:
            rest = ", ".join(visible(suite.title) for suite in found[_TRIED:][:_SHOWN])
            self.terminal.out(f"found also {rest}{', …' if len(found) > _TRIED + _SHOWN else ''}")
        if not found:
            self.terminal.out("found no tests: no file here says how they are run")
        self.suites = [suite for suite in found if suite.commands][:_TRIED]

    def find_out(self, *, probe: bool, seconds: float | None) -> None:
        """Try what was found, unless that is not wanted or cannot be."""
        self.trials = [Trial(suite, suite.commands[0]) for suite in self.suites]
        if not probe or not self.suites:
            return
        from planbound.cli.live import live_line  # noqa: PLC0415 - only for a new plan
        from planbound.wiring.beginning import TrialBench  # noqa: PLC0415

        configuration = self._proposed(seconds)
        limit = _spoken(configuration.contracts.seconds)
        try:
            self.parts.told = live_line().judging
            bench = TrialBench(self.parts, configuration)
            for number, suite in enumerate(self.suites):
                command = visible(suite.commands[0])
                self.terminal.note(f"trying `{command}` in a cell, for at most {limit}")
                self.trials[number] = bench.trial_of(suite)
                self._say(self.trials[number])
            # The plan's first contract is one that is known to run, if there is any.
            self.trials.sort(key=lambda trial: not trial.is_known_to_run)
            self.tools = bench.tools_of(self.trials)
            if self.tools:
                self.terminal.out(f"contracts use {visible(', '.join(self.tools))}")
        except (CellProblem, Refused, BindingError) as error:
            self.terminal.note(f"note: not tried: {error.message}")

    def _proposed(self, seconds: float | None) -> Configuration:
        contracts = self.configured.contracts
        if self.lacks.configuration:
            contracts = contracts._replace(path=(*contracts.path, *self._path()))
        if seconds is not None:
            contracts = contracts._replace(seconds=seconds)
        return self.configured._replace(contracts=contracts)

    def _path(self) -> list[str]:
        return list(dict.fromkeys(folder for suite in self.suites for folder in suite.path))

    def _say(self, trial: Trial) -> None:
        self.terminal.out(f"tried `{visible(trial.command)}`: {visible(said(trial))}")
        for name in trial.failing[:_SHOWN]:
            self.terminal.out(f"  fails already: {visible(name)}")
        if len(trial.failing) > _SHOWN:
            self.terminal.out(f"  … and {len(trial.failing) - _SHOWN:,} more: the plan names them")
        for line in trial.tail:
            self.terminal.out(f"  | {visible(line)}")

    def plan(self) -> str:
        """Return the text of the first plan."""
        objective = objective_line(None, UNNAMED)
        return skeleton(objective, known=known(self.trials, self.tools) if self.trials else None)

    def configuration_text(self) -> str:
        """Return the text of the first configuration."""
        limit = time_limit(self.trials, self.configured.contracts.seconds)
        return configuration_text(self._path(), limit)

    def say_what_is_next(self) -> None:
        """Say what to do now."""
        for trial in self.trials:
            if trial.cure:
                self.terminal.note(f"hint: {trial.cure}")
        if any(trial.cure for trial in self.trials):
            self.terminal.note("hint: remove .harness/PLAN.md, and `planbound init` tries it again")
        path = self._path()
        if path and not self.lacks.configuration:
            named = ", ".join(f'"{folder}"' for folder in path)
            self.terminal.note(f"hint: the tests need `[contracts] path = [{named}]`")
        if not os.path.lexists(os.path.join(self.parts.root, ".git")):
            self.terminal.note(
                "note: this is not the top of a git repository; several workers need one"
            )
        self.terminal.note(_NEXT)
