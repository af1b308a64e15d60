"""What an outcome means: the kind of verdict, before anybody asks how well it is founded."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, assert_never

from planbound.cells.cell import CommandEnding, Outcome
from planbound.journal.event import VerdictKind
from planbound.judging.verdict import VerdictReason
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
from planbound.script import Script
from planbound.script.runners import BY_NAME, RUNNERS
from planbound.script.runners.runner import (
    JudgedTree,
    ReportedOutcome,
    ReportedTest,
    RequiredTest,
    Summary,
)
from planbound.script.walk import find_call
from planbound.source import lazy_pattern

# -- what an outcome means: the kind of verdict, before anybody asks how well it is founded ------


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
) -> VerdictReason:
    """Return what an outcome means for a contract.

    `failing` are codes that say no more than that tests failed, where that is no failure by itself.
    Where failures are wanted, a run in which one test fails and not one passes checked something.
    """
    match outcome.ending:
        case CommandEnding.NOT_STARTED:
            return VerdictReason(
                VerdictKind.UNRUNNABLE, outcome.reason or "it could not be started"
            )
        case CommandEnding.TIMED_OUT:
            return VerdictReason(VerdictKind.TIMEOUT, outcome.reason or "it ran past its limit")
        case CommandEnding.EXHAUSTED:
            return VerdictReason(VerdictKind.KILLED, outcome.reason or "it used up what it may")
        case CommandEnding.STOPPED:
            return VerdictReason(VerdictKind.KILLED, f"stopped: {outcome.reason}")
        case CommandEnding.SIGNALLED:
            return VerdictReason(VerdictKind.KILLED, f"ended by {_signal(outcome.signal)}")
        case CommandEnding.EXITED:
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
) -> VerdictReason:
    code = outcome.exit_code
    wanted = [item.code for item in expectations if isinstance(item, ExitCodeIs)]
    if any(code != number for number in wanted) or not (wanted or code in failing | {0}):
        return _another_code(outcome, (wanted or [0])[0], summary)
    for item in expectations:
        if not isinstance(item, _COUNTED) and (reason := _unmet(item, outcome)):
            return VerdictReason(VerdictKind.FAIL, reason)
    if summary is not None and not summary.passed and not is_red_wanted:
        return VerdictReason(VerdictKind.VACUOUS, f"{said(summary)}: nothing passed")
    for item in expectations:
        if isinstance(item, MinimumTests):
            if summary is None:
                return VerdictReason(
                    VerdictKind.VACUOUS, f"no runner says how many tests passed, of {item.minimum}"
                )
            if summary.passed < item.minimum:
                return VerdictReason(
                    VerdictKind.FAIL, f"{said(summary)}; expected {item.minimum} or more to pass"
                )
    return VerdictReason(VerdictKind.PASS, said(summary) if summary else f"exit {code}")


def _another_code(outcome: Outcome, wanted: int, summary: Summary | None) -> VerdictReason:
    code = outcome.exit_code
    assert code is not None
    errors = outcome.stderr.text()
    if code in {_NOT_EXECUTABLE, _NOT_FOUND}:
        named = _NO_COMMAND.search(errors)
        what = f"`{named[1]}` was not found" if named and code == _NOT_FOUND else "cannot be run"
        return VerdictReason(VerdictKind.UNRUNNABLE, f"exit {code}: {what}")
    if missing := _NO_MODULE.search(errors):
        return VerdictReason(
            VerdictKind.UNRUNNABLE, f"exit {code}: Python has no module `{missing[1]}`"
        )
    if code in _FROM_OUTSIDE:
        return VerdictReason(VerdictKind.KILLED, f"exit {code}: ended by {_signal(code - 128)}")
    if summary is not None and not summary.passed and not summary.failed:
        return VerdictReason(VerdictKind.VACUOUS, f"exit {code}, {said(summary)}: no test ran")
    expected = "" if wanted == 0 else f", expected {wanted}"
    reason = f"exit {code}{expected}"
    return VerdictReason(VerdictKind.FAIL, f"{reason}: {said(summary)}" if summary else reason)


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


# -- what became of each test since the baseline -------------------------------------------------


# An object's place in memory, in the name of a row: another one in every run.
_ADDRESS = lazy_pattern(r"\b0x[0-9a-fA-F]{6,16}\b")


class Compared(NamedTuple):
    """How the tests differ from those of the baseline."""

    new_failures: tuple[str, ...]
    disappeared: tuple[str, ...]


def compare(before: Iterable[ReportedTest], now: Iterable[ReportedTest]) -> Compared:
    """Return the tests that fail or are skipped and did not before, and those that are gone."""
    then, since = _by_name(before), _by_name(now)
    failures: list[str] = []
    gone: list[str] = []
    for name, counts in since.items():
        known = then.get(name, Counter[ReportedOutcome]())
        is_worse = counts[ReportedOutcome.FAILED] > known[ReportedOutcome.FAILED]
        if is_worse or counts[ReportedOutcome.PASSED] < known[ReportedOutcome.PASSED]:
            failures.append(name)
    for name, counts in then.items():
        if since.get(name, Counter()).total() < counts.total():
            gone.append(name)
    return Compared(
        tuple(sorted(name for name in failures if name not in gone)), tuple(sorted(gone))
    )


def encode(cases: Sequence[ReportedTest]) -> bytes:
    """Return a list of tests as bytes, the same for the same tests."""
    listed = {
        outcome.value: sorted(_plain(case.id) for case in cases if case.outcome is outcome)
        for outcome in ReportedOutcome
    }
    return json.dumps(listed, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def decode(data: bytes) -> tuple[ReportedTest, ...]:
    """Return the tests of a list; raise ValueError where it is none."""
    listed = json.loads(data)
    if not isinstance(listed, dict):
        raise ValueError("this is no list of tests")  # noqa: TRY004 - damaged, not mistaken
    return tuple(
        ReportedTest(str(name), outcome)
        for outcome in ReportedOutcome
        for name in listed.get(outcome.value, ())
    )


def _by_name(cases: Iterable[ReportedTest]) -> dict[str, Counter[ReportedOutcome]]:
    found: dict[str, Counter[ReportedOutcome]] = {}
    for case in cases:
        found.setdefault(_plain(case.id), Counter())[case.outcome] += 1
    return found


def _plain(name: str) -> str:
    return _ADDRESS.sub("0x...", name)


# -- which tests must have passed, and how many the sources declare ------------------------------

_SKIPS = lazy_pattern(r"(?i)skip|xfail")
_TEST_NAME = lazy_pattern(r"(?i)test|spec")
_LOADED = tuple(pattern for runner in RUNNERS for pattern, _why in runner.loaded)
"""What runners load before the tests."""


def is_test_file(path: str) -> bool:
    """Say whether a file holds tests, and not what says which of them run."""
    name = path.rpartition("/")[2]
    if _TEST_NAME.search(name) is None:  # most files: there may be a hundred thousand
        return False
    return not any(pattern.fullmatch(name) for pattern in _LOADED)


def is_skipping(content: bytes) -> bool:
    """Say whether a judge speaks of tests that are not run."""
    return _SKIPS.search(content.decode("utf-8", "replace")) is not None


def required_names(
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    judges: Mapping[str, bytes],
) -> tuple[RequiredTest, ...]:
    """Return the tests that a contract with one of these runners must run."""
    if not judges:
        return ()
    every = sorted({*paths, *judges})
    project = JudgedTree(every, lambda path: judges.get(path) or read(path), "")
    for name in runner.split(" + "):
        row = BY_NAME.get(name)
        if row is not None and row.required is not None:
            found = find_call(script, row.programs, project)
            return tuple(row.required(found, project, judges)) if found is not None else ()
    return ()


def missing_names(required: Sequence[RequiredTest], text: str) -> tuple[str, ...]:
    """Return the required tests that an output does not show as passed, as `path::name`.

    Several may have one name: each must have passed.
    """
    wanted = Counter((each.name, each.passing) for each in required)
    short = {
        name
        for (name, passing), count in wanted.items()
        if len(re.findall(passing.replace("{name}", re.escape(name)), text, re.MULTILINE)) < count
    }
    return tuple(f"{each.path}::{each.name}" for each in required if each.name in short)


_DECLARED = tuple(dict.fromkeys(each.declared for each in RUNNERS if each.declared is not None))


def may_declare(path: str) -> bool:
    """Say whether a file may declare tests."""
    anywhere = (each.endings for each in _DECLARED if each.anywhere)
    return is_test_file(path) or any(path.endswith(endings) for endings in anywhere)


def declared_tests(files: Mapping[str, bytes]) -> int:
    """Return how many tests stand in files, each row of a table not counted by itself."""
    return sum(_declared(path, data) for path, data in files.items())


def _declared(path: str, data: bytes) -> int:
    return next((each.count(data) for each in _DECLARED if path.endswith(each.endings)), 0)
