"""What came of trying a suite, and what the first plan says because of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.engine.judging.verdict import VerdictKind
from planbound.engine.project.suite import Suite
from planbound.plan.skeleton import Known

if TYPE_CHECKING:
    from planbound.engine.judging.summary import Summary

NAMED = 50
"""So many failing tests are named in a plan."""
_ROOM = 3
"""A contract may take so many times as long as its suite took."""
_MINUTE = 60
_LONGEST_NAME = 300
_RAN = frozenset({VerdictKind.PASS, VerdictKind.FAIL})


class Trial(NamedTuple):
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


def said(trial: Trial) -> str:
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


def time_limit(trials: Sequence[Trial], default: float) -> str | None:
    """Return the time that contracts need, where it is more than they have."""
    longest = max((trial.seconds for trial in trials if trial.is_known_to_run), default=0.0)
    wanted = longest * _ROOM
    return f"{int(wanted // _MINUTE) + 1}m" if wanted > default else None


def known(trials: Sequence[Trial], tools: Sequence[str]) -> Known:
    """Return what the first plan says about the suites that were tried."""
    first = trials[0]
    lasting = [trial for trial in trials if trial.is_known_to_run or trial is first]
    return Known(
        command=first.command,
        expected=tuple(_wanted(first)),
        conditions=tuple(
            (_statement(trial), trial.command, tuple(_kept(trial))) for trial in lasting
        ),
        touches=first.suite.work,
        context=_context(first),
        notes=tuple(_notes(trials, tools)),
    )


def _kept(trial: Trial) -> list[str]:
    """Return what is expected of a suite that is no worse than it was."""
    red = trial.kind is not VerdictKind.PASS
    return ["no new failures"] if trial.is_named and red else ["exit_code == 0"]


def _wanted(trial: Trial) -> Iterator[str]:
    """Yield what is expected of the first step: red now, and green with one test more."""
    yield from _kept(trial)
    if trial.is_known_to_run and trial.is_named and trial.summary is not None:
        yield f"tests >= {trial.summary.passed + 1}"


def _statement(trial: Trial) -> str:
    where = f" in `{trial.suite.place}`" if trial.suite.place else ""
    if _kept(trial) == ["no new failures"]:
        return f"No test{where} fails that passed before"
    return f"The tests{where} pass"


def _context(trial: Trial) -> str:
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


def _notes(trials: Sequence[Trial], tools: Sequence[str]) -> Iterator[str]:
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
