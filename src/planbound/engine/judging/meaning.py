"""What an outcome means: the kind of verdict, before anybody asks how well it is founded."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import assert_never

from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.judging.summary import Summary
from planbound.engine.judging.verdict import Finding, VerdictKind
from planbound.plan.model import (
    Contains,
    ExitCodeIs,
    Expectation,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OutputIs,
    Stream,
)
from planbound.source.pattern import lazy_pattern

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
# What the kernel, a limit or somebody else ends a program by; a shell says 128 and the number.
_FROM_OUTSIDE = {
    128 + number
    for number in (signal.SIGKILL, signal.SIGXCPU, signal.SIGXFSZ)
}  # fmt: skip
# Looked at with the tests' names and numbers.
_COUNTED = (MinimumTests, MaximumFailures, NoNewFailures)
_NO_MODULE = lazy_pattern(r"(?m)^\S{0,300}?python[\d.]{0,10}: No module named (\S{1,200})$")
_NO_COMMAND = lazy_pattern(
    r"(?m)^[^:\n]{0,300}: (?:line \d{1,9}: )?(\S{1,200}): "
    r"(?:command not found|No such file.{0,80})$"
)


def needles(expectations: Sequence[Expectation]) -> tuple[bytes, ...]:
    """Return what has to be searched for while the output passes by."""
    return tuple(
        item.text.encode("utf-8", "surrogateescape")
        for item in expectations
        if isinstance(item, Contains)
    )


def meaning(
    outcome: Outcome,
    expectations: Sequence[Expectation],
    summary: Summary | None,
    failing: frozenset[int] = frozenset(),
    *,
    wants_failures: bool = False,
) -> Finding:
    """Return what an outcome means for a contract.

    `failing` are codes that say no more than that tests failed, where that is no failure by itself.
    Where failures are wanted, a run in which one test fails and not one passes checked something.
    """
    match outcome.ending:
        case Ending.NOT_STARTED:
            return Finding(VerdictKind.UNRUNNABLE, outcome.reason or "it could not be started")
        case Ending.TIMED_OUT:
            return Finding(VerdictKind.TIMEOUT, outcome.reason or "it ran past its limit")
        case Ending.EXHAUSTED:
            return Finding(VerdictKind.KILLED, outcome.reason or "it used up what it may")
        case Ending.STOPPED:
            return Finding(VerdictKind.KILLED, f"stopped: {outcome.reason}")
        case Ending.SIGNALLED:
            return Finding(VerdictKind.KILLED, f"ended by {_signal(outcome.signal)}")
        case Ending.EXITED:
            red = wants_failures and summary is not None and summary.failed > 0
            return _exited(outcome, expectations, summary, failing, is_red_wanted=red)
        case _:
            assert_never(outcome.ending)


def _exited(
    outcome: Outcome,
    expectations: Sequence[Expectation],
    summary: Summary | None,
    failing: frozenset[int],
    *,
    is_red_wanted: bool,
) -> Finding:
    code = outcome.exit_code
    wanted = [item.code for item in expectations if isinstance(item, ExitCodeIs)]
    if any(code != number for number in wanted) or not (wanted or code in failing | {0}):
        return _another_code(outcome, (wanted or [0])[0], summary)
    for item in expectations:
        if not isinstance(item, _COUNTED) and (reason := _unmet(item, outcome)):
            return Finding(VerdictKind.FAIL, reason)
    if summary is not None and not summary.passed and not is_red_wanted:
        return Finding(VerdictKind.VACUOUS, f"{said(summary)}: nothing passed")
    for item in expectations:
        if isinstance(item, MinimumTests):
            if summary is None:
                return Finding(
                    VerdictKind.VACUOUS, f"no runner says how many tests passed, of {item.minimum}"
                )
            if summary.passed < item.minimum:
                return Finding(
                    VerdictKind.FAIL, f"{said(summary)}; expected {item.minimum} or more to pass"
                )
    return Finding(VerdictKind.PASS, said(summary) if summary else f"exit {code}")


def _another_code(outcome: Outcome, wanted: int, summary: Summary | None) -> Finding:
    code = outcome.exit_code
    assert code is not None
    errors = outcome.stderr.text()
    if code in {_NOT_EXECUTABLE, _NOT_FOUND}:
        named = _NO_COMMAND.search(errors)
        what = f"`{named[1]}` was not found" if named and code == _NOT_FOUND else "cannot be run"
        return Finding(VerdictKind.UNRUNNABLE, f"exit {code}: {what}")
    if missing := _NO_MODULE.search(errors):
        return Finding(VerdictKind.UNRUNNABLE, f"exit {code}: Python has no module `{missing[1]}`")
    if code in _FROM_OUTSIDE:
        return Finding(VerdictKind.KILLED, f"exit {code}: ended by {_signal(code - 128)}")
    if summary is not None and not summary.passed and not summary.failed:
        return Finding(VerdictKind.VACUOUS, f"exit {code}, {said(summary)}: no test ran")
    expected = "" if wanted == 0 else f", expected {wanted}"
    reason = f"exit {code}{expected}"
    return Finding(VerdictKind.FAIL, f"{reason}: {said(summary)}" if summary else reason)


def _unmet(expectation: ExitCodeIs | Contains | OutputIs, outcome: Outcome) -> str | None:
    """Return what does not hold, where something does not."""
    match expectation:
        case ExitCodeIs():
            return None  # looked at first
        case Contains():
            stream = expectation.stream
            captured = outcome.stdout if stream is Stream.STDOUT else outcome.stderr
            wanted = expectation.text.encode("utf-8", "surrogateescape")
            return None if wanted in captured.found else f"{stream.value} does not contain it"
        case OutputIs():
            whole = outcome.stdout.head + outcome.stdout.tail
            wanted = expectation.text.encode("utf-8", "surrogateescape")
            same = not outcome.stdout.dropped and _same(whole, wanted)
            return None if same else "stdout is another"
        case _:
            assert_never(expectation)


def _same(output: bytes, wanted: bytes) -> bool:
    # A command ends its last line; whoever writes an expectation seldom does.
    return output == wanted or output.removesuffix(b"\n").removesuffix(b"\r") == wanted


def said(summary: Summary) -> str:
    """Return a summary in words, as the runners write it."""
    parts = [f"{summary.failed} failed"] if summary.failed else []
    parts.append(f"{summary.passed} passed")
    if summary.skipped:
        parts.append(f"{summary.skipped} skipped")
    if summary.deselected:
        parts.append(f"{summary.deselected} deselected")
    return ", ".join(parts)


def _signal(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"
