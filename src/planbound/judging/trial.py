"""What came of trying a suite, and what the first plan says because of it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from planbound.errors import BindingError, CellProblem, Refused
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.corroborate import kept
from planbound.judging.judge import observe
from planbound.judging.tools import contract_tools
from planbound.judging.verdict import Verdict
from planbound.plan.parse import parse
from planbound.plan.skeleton import ProjectFacts, objective_line, skeleton
from planbound.plan.slug import UNNAMED
from planbound.script.runners.runner import ReportedOutcome
from planbound.workspace.configuration import Configuration
from planbound.workspace.context import Context
from planbound.workspace.environment import Found, find_environment, made_folders, program_folder
from planbound.workspace.project import (
    FOUND_BY_ITSELF,
    PROGRAMS,
    ProjectFiles,
    Suite,
    look_at_project,
)
from planbound.workspace.repository import RealRepository
from planbound.workspace.shelves import (
    Initialised,
    Missing,
    configuration_text,
    find_missing,
    initialise,
)

if TYPE_CHECKING:
    from planbound.script.runners.runner import Summary


# -- what came of trying a suite, and what the first plan says because of it ---------------------


NAMED = 50
"""So many failing tests are named in a plan."""
_ROOM = 3
"""A contract may take so many times as long as its suite took."""
_MINUTE = 60
_LONGEST_NAME = 300
_RAN = frozenset({VerdictKind.PASS, VerdictKind.FAIL})


class SuiteTrial(NamedTuple):
    """A suite, and what was seen of it."""

    suite: Suite
    command: str
    kind: VerdictKind | None = None
    """None: it was not tried."""
    reason: str = ""
    summary: Summary | None = None
    is_named: bool = False
    """Whether the tests can be judged by their names, and counted."""
    failing: tuple[str, ...] = ()
    """The names of the tests that fail, where the runner tells them."""
    seconds: float = 0.0
    cure: str = ""
    """What can be done where it did not start."""
    tail: tuple[str, ...] = ()
    """The last lines that it printed."""

    @property
    def is_known_to_run(self) -> bool:
        """Whether the command ran to its end and said yes or no."""
        return self.kind in _RAN


def said(trial: SuiteTrial) -> str:
    """Return what came of a trial, on one line."""
    what = {
        None: "not tried",
        VerdictKind.PASS: trial.reason,
        VerdictKind.FAIL: trial.reason,
        VerdictKind.UNRUNNABLE: f"does not start: {trial.reason}",
        VerdictKind.TIMEOUT: f"did not end: {trial.reason}",
        VerdictKind.VACUOUS: f"runs no test: {trial.reason}",
    }.get(trial.kind, f"cannot be judged: {trial.reason}")
    return f"{what}, {trial.seconds:.1f} s" if trial.is_known_to_run else what


def time_limit(trials: Sequence[SuiteTrial], default: float) -> str | None:
    """Return the time that contracts need, where it is more than they have."""
    longest = max((trial.seconds for trial in trials if trial.is_known_to_run), default=0.0)
    wanted = longest * _ROOM
    return f"{int(wanted // _MINUTE) + 1}m" if wanted > default else None


def known(trials: Sequence[SuiteTrial], tools: Sequence[str]) -> ProjectFacts:
    """Return what the first plan says about the suites that were tried."""
    first = trials[0]
    lasting = [trial for trial in trials if trial.is_known_to_run or trial is first]
    return ProjectFacts(
        command=first.command,
        expected=tuple(_wanted(first)),
        conditions=tuple(
            (_statement(trial), trial.command, tuple(_kept(trial))) for trial in lasting
        ),
        touches=first.suite.work,
        context=_context(first),
        notes=tuple(_notes(trials, tools)),
    )


def _kept(trial: SuiteTrial) -> list[str]:
    """Return what is expected of a suite that is no worse than it was."""
    red = trial.kind is not VerdictKind.PASS
    return ["no new failures"] if trial.is_named and red else ["exit_code == 0"]


def _wanted(trial: SuiteTrial) -> Iterator[str]:
    """Yield what is expected of the first step: red now, and green with one test more."""
    yield from _kept(trial)
    if trial.is_known_to_run and trial.is_named and trial.summary is not None:
        yield f"tests >= {trial.summary.passed + 1}"


def _statement(trial: SuiteTrial) -> str:
    where = f" in `{trial.suite.place}`" if trial.suite.place else ""
    if _kept(trial) == ["no new failures"]:
        return f"No test{where} fails that passed before"
    return f"The tests{where} pass"


def _context(trial: SuiteTrial) -> str:
    if trial.kind is None:
        return f"Nobody has tried `{trial.command}` yet."
    if not trial.is_known_to_run:
        return f"`{trial.command}` {said(trial)}; see the notes at the end."
    if trial.kind is VerdictKind.FAIL and trial.is_named:
        return (
            f"`{trial.command}` is red before any work ({trial.reason}; the notes at the end name"
            " them): step 1 asks for no new failures, and one test more."
        )
    if trial.kind is VerdictKind.FAIL:
        return f"`{trial.command}` is red before any work ({trial.reason}): mend that first."
    if not trial.is_named:
        return (
            f"`{trial.command}` is green now: a step that asks for nothing else holds, and proves"
            " nothing."
        )
    return (
        f"`{trial.command}` is green now ({trial.reason}); step 1 asks for one test more, so that"
        " it is red before the work."
    )


def _notes(trials: Sequence[SuiteTrial], tools: Sequence[str]) -> Iterator[str]:
    yield "What `planbound init` found:"
    yield ""
    for trial in trials:
        signs = ", ".join(_code(name) for name in trial.suite.signs) or "its tests"
        yield f"- {trial.suite.title}, by {signs}: {_code(trial.command)}"
        yield f"  - {said(trial)}"
        if trial.cure:
            yield f"  - {trial.cure}"
        if trial.failing:
            yield "  - these fail already:"
            yield from (f"    - {_code(name)}" for name in trial.failing[:NAMED])
            if len(trial.failing) > NAMED:
                yield f"    - and {len(trial.failing) - NAMED:,} more"
    if tools:
        yield f"- with {', '.join(tools)}"


def _code(text: str) -> str:
    """Return a text from outside as code on one line, whatever is in it."""
    return f"`{' '.join(text.replace('`', chr(39)).split())[:_LONGEST_NAME]}`"


# -- run the tests of a project once, in a cell, before anything is written about them -----------


_LINES = 5


def try_suite(judging: JudgingContext, suite: Suite, plain: Callable[[str], str]) -> SuiteTrial:
    """Return what came of a suite: of the first of its commands that starts.

    `plain` takes out of a text from outside what must not be written down.
    """
    first: SuiteTrial | None = None
    for command in suite.commands:
        trial = _trial(judging, suite, command, plain)
        if trial.kind is not VerdictKind.UNRUNNABLE:
            return trial
        first = first or trial
    assert first is not None, "a suite without a command is not tried"
    return first


def case_of(trial: SuiteTrial) -> Case:
    """Return the contract as it will stand in the plan, read from the plan's text."""
    plan = parse(skeleton("TODO", known=known([trial], ())).encode(), path="PLAN.md")
    return next(case for case in cases(plan) if case.subject is SubjectKind.STEP)


def _trial(
    judging: JudgingContext, suite: Suite, command: str, plain: Callable[[str], str]
) -> SuiteTrial:
    # First as a suite whose tests are named: so one run tells which of them fail.
    untried = SuiteTrial(suite, command, is_named=True)
    (verdict,) = observe(judging, [case_of(untried)])
    if verdict.tests is None and (verdict.outcome is None or verdict.kind is VerdictKind.VACUOUS):
        untried = SuiteTrial(suite, command)
        (verdict,) = observe(judging, [case_of(untried)])
    tests = kept(judging.vault, verdict.tests.key if verdict.tests else None) or ()
    failing = [test.id for test in tests if test.outcome is ReportedOutcome.FAILED]
    kind = verdict.kind
    if failing and kind in {VerdictKind.PASS, VerdictKind.VACUOUS}:
        # The suite as a whole is red, whether any test passes or none; there is nothing yet to
        # compare it with.
        kind = VerdictKind.FAIL
    return untried._replace(
        kind=kind,
        reason=plain(verdict.reason),
        summary=verdict.summary,
        is_named=verdict.tests is not None,
        failing=tuple(plain(name) for name in failing),
        seconds=verdict.outcome.duration if verdict.outcome else 0.0,
        cure=_cure(kind, suite, verdict),
        tail=tuple(plain(line) for line in _tail(verdict)),
    )


_NOT_INSTALLED = re.compile(
    r"ModuleNotFoundError|ImportError|No module named|Cannot find (?:module|package)"
)


def _cure(kind: VerdictKind, suite: Suite, verdict: Verdict) -> str:
    if kind is VerdictKind.TIMEOUT:
        return "name a smaller part of the tests, or try again with more time: `--limit 20m`"
    # Tests that ran and are red need no environment, unless they say what they did not find.
    is_red = kind is VerdictKind.FAIL and not _lacks_something(verdict)
    if kind is not VerdictKind.PASS and not is_red and suite.setup and not suite.is_set_up:
        return f"there is no environment of the project; make one: `{suite.setup}`"
    if kind is VerdictKind.UNRUNNABLE:
        return "install what is missing into the project's environment"
    return ""


def _lacks_something(verdict: Verdict) -> bool:
    if verdict.outcome is None:
        return False
    printed = verdict.outcome.stdout.text() + verdict.outcome.stderr.text()
    return _NOT_INSTALLED.search(printed) is not None


def _tail(verdict: Verdict) -> list[str]:
    """Return the end of what was printed, where nothing else says what went wrong."""
    if verdict.outcome is None or verdict.kind is VerdictKind.PASS or verdict.summary is not None:
        return []
    printed = verdict.outcome.stderr.text().strip() or verdict.outcome.stdout.text().strip()
    return printed.split("\n")[-_LINES:] if printed else []


# -- puts together what `init` needs: a look at the workspace, and a cell to try its tests in ------


def look_around(context: Context, configuration: Configuration) -> list[Suite]:
    """Return how the workspace is tested, as far as its files tell."""
    repository = RealRepository(context.root)
    paths = repository.listing().paths
    environment = find_environment(configuration, context.root)
    folders = os.pathsep.join(environment.path)
    programs = {name for name in PROGRAMS if shutil.which(name, path=folders)}
    elsewhere = {
        name: folder
        for name in PROGRAMS
        if name not in programs and (folder := program_folder(name, os.environ))
    }
    return look_at_project(
        ProjectFiles(
            paths,
            repository.read,
            made=made_folders(context.root, paths),
            has_environment=_is_lasting(environment.found, context.root),
            programs=programs,
            elsewhere=elsewhere,
        )
    )


def _is_lasting(found: Found | None, root: str) -> bool:
    """Say whether an environment is found without a word, also by who has not activated it."""
    if found is None:
        return False
    inside = os.path.relpath(os.path.realpath(found.prefix), os.path.realpath(root))
    is_outside = inside.startswith("..")
    return is_outside or "/" in inside or inside in FOUND_BY_ITSELF


class SuiteTrials:
    """Tries suites in a cell, with a configuration that nobody has written yet."""

    def __init__(self, context: Context, configuration: Configuration) -> None:
        self._context = context.at(context.root)
        self._context.configuration = configuration
        self._judging = judging_context(self._context)

    def trial_of(self, suite: Suite) -> SuiteTrial:
        """Return what came of a suite."""
        return try_suite(
            self._judging, suite, lambda text: self._context.redactor.redact(text).text
        )

    def tools_of(self, trials: Sequence[SuiteTrial]) -> tuple[str, ...]:
        """Return the programs that the commands use, with their versions."""
        tools = contract_tools(self._context, self._judging, [case_of(trial) for trial in trials])
        return tuple(map(str, tools))


# -- begin in a workspace: look how it is tested, try that, and write the first plan with it -----


TRIED = 3
"""So many suites are tried: of a large monorepo one sees by them how the others are named."""


class SuitesFound(NamedTuple):
    """How the project is tested, as far as its files tell."""

    suites: tuple[Suite, ...]


class TrialBegun(NamedTuple):
    """A command that is run now, and how long it may take."""

    command: str
    seconds: float


class TrialsDone(NamedTuple):
    """The programs that the commands used, with their versions."""

    tools: tuple[str, ...]


class NotTried(NamedTuple):
    """Why no command can be run here."""

    reason: str


class Begun(NamedTuple):
    """What was made, and what is to be done about it."""

    made: Initialised
    trials: tuple[SuiteTrial, ...]
    tools: tuple[str, ...]
    missing_path: tuple[str, ...]
    """Folders that the tests need on PATH, and that the configuration that is there has not."""
    in_repository: bool
    """Whether this is the top of a git repository."""


Beginning = SuitesFound | TrialBegun | SuiteTrial | TrialsDone | NotTried | Begun
"""What happens on the way, in this order; `Begun` is the last."""


def begin(context: Context, *, probe: bool, seconds: float | None) -> Iterator[Beginning]:
    """Make what a workspace needs, and leave alone what is there; yield what happens.

    Nothing is written before the last trial has ended: who interrupts one finds the workspace as
    it was. `seconds` is how long the tests may take, if not as long as contracts do.
    """
    missing = find_missing(context)
    trials: list[SuiteTrial] = []
    tools: tuple[str, ...] = ()
    if missing.plan:
        found = look_around(context, context.configuration)
        yield SuitesFound(tuple(found))
        suites = [suite for suite in found if suite.commands][:TRIED]
        trials = [SuiteTrial(suite, suite.commands[0]) for suite in suites]
        if probe and suites:
            configuration = _proposed(context.configuration, missing, suites, seconds)
            for each in _try(context, configuration, trials):
                if isinstance(each, TrialsDone):
                    tools = each.tools
                yield each
    path = _path([trial.suite for trial in trials])
    limit = time_limit(trials, context.configuration.contracts.seconds)
    made = initialise(
        context,
        _plan(trials, tools) if missing.plan else None,
        configuration_text(path, limit) if missing.configuration else None,
    )
    yield Begun(
        made,
        tuple(trials),
        tools,
        () if missing.configuration else path,
        os.path.lexists(os.path.join(context.root, ".git")),
    )


def _try(
    context: Context, configuration: Configuration, trials: list[SuiteTrial]
) -> Iterator[TrialBegun | SuiteTrial | TrialsDone | NotTried]:
    """Run the suites, and put what came of them in the place of what was not tried."""
    try:
        cell = SuiteTrials(context, configuration)
        for number, untried in enumerate(trials):
            yield TrialBegun(untried.command, configuration.contracts.seconds)
            trials[number] = cell.trial_of(untried.suite)
            yield trials[number]
        # The plan's first contract is one that is known to run, if there is any.
        trials.sort(key=lambda trial: not trial.is_known_to_run)
        yield TrialsDone(cell.tools_of(trials))
    except (CellProblem, Refused, BindingError) as error:
        yield NotTried(error.message)


def _proposed(
    configured: Configuration, missing: Missing, suites: Sequence[Suite], seconds: float | None
) -> Configuration:
    """Return the configuration as it will be when this is over."""
    contracts = configured.contracts
    if missing.configuration:
        contracts = replace(contracts, path=(*contracts.path, *_path(suites)))
    if seconds is not None:
        contracts = replace(contracts, seconds=seconds)
    return replace(configured, contracts=contracts)


def _path(suites: Sequence[Suite]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(folder for suite in suites for folder in suite.path))


def _plan(trials: Sequence[SuiteTrial], tools: Sequence[str]) -> str:
    objective = objective_line(None, UNNAMED)
    return skeleton(objective, known=known(trials, tools) if trials else None)
