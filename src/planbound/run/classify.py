"""Which class a failure has: by the verdict, by how the agent ended, by what was printed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from planbound.agents.output import (
    breakdown,
    error_kind,
    find_sign,
    last_words,
    lines_of,
    pieces_of,
)
from planbound.agents.signs import credential_near
from planbound.cells.cell import CommandEnding
from planbound.journal.event import VerdictKind
from planbound.journal.words import Failed, FailureClass
from planbound.plan.limits import LimitError, parse_duration
from planbound.script.runners import RUNNERS
from planbound.source import lazy_pattern, visible
from planbound.workspace.recipes import Recipe

# -- A failure as it is known, and what it was classified as -------------------------------------


_BY_RECIPE = "recipe-"


class Failure(NamedTuple):
    """All that is known about a failed attempt."""

    verdict: VerdictKind | None = None
    agent_ending: CommandEnding | None = None
    agent_exit: int | None = None
    agent_signal: int | None = None
    agent_output: str = ""
    agent_error: str | None = None
    """The kind of error that an agent reports by itself, such as `rate_limit`."""
    contract_exit: int | None = None
    contract_signal: int | None = None
    contract_output: str = ""
    exhausted_memory: bool = False
    missing_credential: str | None = None
    """The name of a variable that the agent needs and that is not set."""

    @property
    def is_of_agent(self) -> bool:
        """Whether the agent did not run to its end in peace.

        What a contented agent printed is about its work, and no sign of a failure.
        """
        return (
            self.agent_ending not in {None, CommandEnding.EXITED}
            or self.agent_exit not in {None, 0}
            or self.agent_signal is not None
            or self.agent_error is not None
            or self.missing_credential is not None
            or (self.verdict, self.contract_exit, self.contract_signal) == (None, None, None)
        )


class Classified(NamedTuple):
    """What kind of failure it is, and how that is known."""

    kind: FailureClass
    rule: str
    """The stable name of the rule that matched."""
    credential: str | None = None
    """The variable that is missing or refused, where one is named."""
    retry_after: float | None = None
    """The seconds that a service asks to wait."""

    @property
    def recipe(self) -> str | None:
        """The recipe whose pattern matched, if that is how it was classified."""
        return self.rule.removeprefix(_BY_RECIPE) if self.rule.startswith(_BY_RECIPE) else None


class Pattern(NamedTuple):
    """A regular expression of a recipe, and what it makes of a failure."""

    recipe: str
    text: str
    kind: FailureClass | None
    """None: the failure keeps the class that it has without the pattern."""

    @property
    def rule(self) -> str:
        """The name under which a match is recorded."""
        return f"{_BY_RECIPE}{self.recipe}"


def patterns_of(recipes: tuple[Recipe, ...]) -> tuple[Pattern, ...]:
    """Return the patterns that failures are looked through for, in order.

    A recipe for exactly one class widens that class; any other only answers.
    """
    return tuple(
        Pattern(recipe.name, text, next(iter(recipe.classes)) if len(recipe.classes) == 1 else None)
        for recipe in recipes
        for text in recipe.patterns
    )


# -- what went wrong, in the words of what failed: the line of an output that tells most ---------


LONGEST = 300
"""So many characters of an error are kept in an event."""
_LOOKED_AT = 40
_STAMP = r"(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]{1,20}(?:Z|[+-]\d\d:?\d\d)?\]?\s{1,4})?"
_COMPLAINT = lazy_pattern(
    rf"{_STAMP}(?:\S{{1,200}}:\s){{0,4}}(?:[\[✗✖x]?\s?(?i:error|fatal|panic|failure)\b"
    r"|E\s{2,6}\S|npm (?:ERR!|error)\s|Exception in thread "
    r"|(?:\w{1,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)\b|(?:FAIL|FAILED)\s\S"
    r"|(?i:cannot|can't|could not|couldn't|unable to|failed to)\s)"
)
# What is printed behind an error and says nothing about it.
_AFTERWARDS = lazy_pattern(
    r"npm (?:ERR!|error)\s{1,8}(?:A complete log|/|errno\b)"
    r"|error: (?:aborting due|could not compile)"
)
_EXIT = lazy_pattern(r"exit \d{1,3}(?:, expected \d{1,3})?(?=$|;)")


class AttemptTrouble(NamedTuple):
    """What failed in an attempt, and of what."""

    failed: Failed
    error: str
    """The error itself; a whole sentence where nothing tells it."""
    exit_code: int | None = None
    """That of what failed."""


def telling_line(lines: Sequence[str]) -> str:
    """Return the line that says most about why a program failed; empty where it said nothing."""
    if (seen := find_sign(lines)) is not None:
        return one_line(_message(lines[seen.line]))
    found = _complaints(lines)
    return one_line(_message(found[-1] if found else last_words(lines, most=2 * LONGEST)))


def _complaints(lines: Sequence[str]) -> list[str]:
    return [
        line
        for line in lines[-_LOOKED_AT:]
        if _COMPLAINT.match(line.strip()) and not _AFTERWARDS.match(line.strip())
    ]


def _message(line: str) -> str:
    """Return what an error says that is written as JSON; any other line as it is."""
    text = line.strip()
    if not text.startswith("{"):
        return line
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return line
    for key in ("error", "message"):
        value = found.get(key)
        found = value if isinstance(value, dict) else found
        if isinstance(value, str) and value.strip():
            return value
    return line


def contract_error(reason: str, lines: Sequence[str]) -> str:
    """Return why a contract failed; where that is an exit code alone, with what it printed.

    Its first complaint is the one that the others follow from.
    """
    bare = _EXIT.match(reason)
    first = next(iter(_complaints(lines)), "") if bare else ""
    line = one_line(first or (last_words(lines) if bare else ""))
    if bare is None or not line:
        return reason
    return f"{bare.group()}: {line}{reason[bare.end() :]}"


def one_line(text: str) -> str:
    """Return a text as one line that hides nothing and is not too long."""
    return visible(" ".join(text.split()))[:LONGEST]


# -- how long a service asks to wait, as outputs tell it -----------------------------------------


MAX_RETRY_AFTER = 3600.0
"""Who asks for more than an hour is asked again after one."""
_AMOUNT = (
    r"\d{1,6}(?:\.\d{1,9})?\s?"
    r"(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)(?![a-z])"
)
_DURATION = rf"{_AMOUNT}(?:[ ,]{{0,2}}{_AMOUNT}){{0,3}}"
_ASKED = lazy_pattern(
    r"retry[-_ ]?after[-_]?ms[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<milliseconds>\d{1,9})(?![\d.:-])"
    r"|retry[-_ ]?(?:after|delay)(?:[-_]?seconds)?[\"']?\s{0,2}"
    rf"(?:[:=]?\s{{0,2}}[\"']?(?P<header>{_DURATION})"
    r"|[:=]\s{0,2}[\"']?(?P<seconds>\d{1,6})(?:\.\d{1,6})?(?![\w.:-]))"
    r"|(?:try(?:ing)? again|retry(?:ing)?|wait(?:ing)?|available|resets?) "
    rf"(?:in |for |after )?(?:about |at least |approximately )?(?P<said>{_DURATION})",
    re.IGNORECASE,
)


def retry_after(lines: Sequence[str]) -> float | None:
    """Return the seconds that were asked for last; a date is not read."""
    for line in reversed(lines):
        match = None
        for match in _ASKED.finditer(line):  # noqa: B007 - the last one counts
            pass
        if match is not None:
            return min(_seconds(match), MAX_RETRY_AFTER)
    return None


def _seconds(match: re.Match[str]) -> float:
    if match["milliseconds"]:
        return int(match["milliseconds"]) / 1000
    if match["seconds"]:
        return float(match["seconds"])
    try:
        return float(parse_duration(match["header"] or match["said"]))
    except LimitError:  # Nothing at all, such as `0s`.
        return 0.0


# -- which kind of failure it is: by verdict, by how the agent ended, by what it printed ---------


_DECISIVE = {
    VerdictKind.TAMPERED: FailureClass.TAMPERED,
    VerdictKind.OUT_OF_SCOPE: FailureClass.OUT_OF_SCOPE,
    VerdictKind.VACUOUS: FailureClass.VACUOUS,
    VerdictKind.FLAKY: FailureClass.FLAKY,
    VerdictKind.UNRUNNABLE: FailureClass.UNRUNNABLE,
}
_CONTRACT = {
    VerdictKind.FAIL: Classified(FailureClass.LOGIC, "contract-failed"),
    VerdictKind.TIMEOUT: Classified(FailureClass.HUNG, "contract-timed-out"),
    VerdictKind.KILLED: Classified(FailureClass.TRANSIENT, "contract-killed"),
}
_ENDINGS = {
    CommandEnding.TIMED_OUT: Classified(FailureClass.HUNG, "agent-timed-out"),
    CommandEnding.EXHAUSTED: Classified(FailureClass.TRANSIENT, "agent-exhausted"),
    CommandEnding.NOT_STARTED: Classified(FailureClass.UNRUNNABLE, "agent-not-started"),
}
_KILLED = Classified(FailureClass.TRANSIENT, "agent-killed")
_STOPPED = Classified(FailureClass.TRANSIENT, "agent-stopped")
_CRASHED = Classified(FailureClass.AGENT, "agent-crashed")
_BROKE_DOWN = Classified(FailureClass.AGENT, "agent-broke-down")
_STOPPING_SIGNALS = {9: _KILLED, 1: _STOPPED, 2: _STOPPED, 13: _STOPPED, 15: _STOPPED}
"""Somebody else ended it: what it printed is not about that."""
_CRASHES = dict.fromkeys((4, 5, 6, 7, 8, 11, 25, 31), _CRASHED)
"""It ended itself: what it printed may say more, such as that memory was used up."""
_TELLING_EXITS = {
    124: Classified(FailureClass.HUNG, "agent-exit-124"),
    126: Classified(FailureClass.UNRUNNABLE, "agent-exit-126"),
    127: Classified(FailureClass.UNRUNNABLE, "agent-exit-127"),
}
_LAST_EXITS = {
    code: Classified(kind, f"agent-exit-{code}")
    for code, kind in {
        64: FailureClass.INVALID_INPUT,
        65: FailureClass.INVALID_INPUT,
        66: FailureClass.INVALID_INPUT,
        69: FailureClass.TRANSIENT,
        70: FailureClass.AGENT,
        75: FailureClass.TRANSIENT,
        77: FailureClass.PERMISSION,
        78: FailureClass.INVALID_INPUT,
        101: FailureClass.AGENT,
    }.items()
}
"""The codes of sysexits and of panics, for agents that print nothing that tells more."""
_EXCEPTION = lazy_pattern(r"(?:\w{1,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)\b")
_TESTS_FAILED = lazy_pattern(
    "|".join(dict.fromkeys(runner.failed for runner in RUNNERS if runner.failed))
)
_LAST = 6
"""So many lines at the end of an output may be the summary of a test runner, and what follows."""
_FAILED_TESTS = Classified(FailureClass.LOGIC, "agent-tests-failed")
_UNKNOWN = Classified(FailureClass.UNKNOWN, "unknown")


def classify(failure: Failure, patterns: Sequence[Pattern] = ()) -> Classified:
    """Return the kind of a failure, with the rule that says so.

    `patterns` are those of the recipes, see `patterns_of`.
    """
    if failure.verdict in _DECISIVE:
        return Classified(_DECISIVE[failure.verdict], f"verdict-{failure.verdict.value}")
    found = _of_agent(failure) if failure.is_of_agent else _of_contract(failure)
    if (pattern := _matching(failure, patterns)) is not None:
        found = found._replace(kind=pattern.kind or found.kind, rule=pattern.rule)
    return found if found.kind is not FailureClass.TRANSIENT else _with_wait(found, failure)


def _of_contract(failure: Failure) -> Classified:
    if failure.verdict in _CONTRACT:
        return _CONTRACT[failure.verdict]
    if failure.verdict is not None:
        return _UNKNOWN
    if failure.contract_signal is not None:
        return _CONTRACT[VerdictKind.KILLED]
    if failure.contract_exit in {126, 127}:
        return Classified(FailureClass.UNRUNNABLE, f"contract-exit-{failure.contract_exit}")
    return _CONTRACT[VerdictKind.FAIL] if failure.contract_exit else _UNKNOWN


def _of_agent(failure: Failure) -> Classified:
    """Return what the agent failed of; where nothing tells, that is what a person is asked."""
    if failure.missing_credential is not None:
        name = failure.missing_credential
        return Classified(FailureClass.PERMISSION, "credential-missing", credential=name)
    if failure.exhausted_memory:
        return Classified(FailureClass.TRANSIENT, "memory-exhausted")
    if failure.agent_ending in _ENDINGS:
        return _ENDINGS[failure.agent_ending]
    signal, code = failure.agent_signal, failure.agent_exit
    if signal is None and code is not None and 128 < code < 160:
        signal = code - 128  # how a shell tells of a signal
    return (
        _STOPPING_SIGNALS.get(signal or 0)
        or _of_report(failure)
        or _TELLING_EXITS.get(code or 0)
        or _of_output(failure)
        or _CRASHES.get(signal or 0)
        or _LAST_EXITS.get(code or 0)
        or _of_exception(failure)
        or _of_tests(failure)
        or _UNKNOWN
    )


def _of_report(failure: Failure) -> Classified | None:
    known = error_kind(failure.agent_error) if failure.agent_error else None
    if known is None:
        return None
    name = None
    if known.kind is FailureClass.PERMISSION and (lines := lines_of(failure.agent_output)):
        name = credential_near(lines, len(lines) - 1)
    return Classified(known.kind, known.rule, credential=name)


def _of_output(failure: Failure) -> Classified | None:
    # What the agent itself names as its error comes before everything that it printed.
    printed = lines_of(failure.agent_output)
    if (found := _signed(lines_of(failure.agent_error))) is not None:
        return found
    if (begin := breakdown(printed)) is not None:
        # Its last words may tell why: a connection that broke, a key that is missing.
        return _signed(printed[begin:]) or _BROKE_DOWN
    return _signed(printed)


def _signed(lines: Sequence[str]) -> Classified | None:
    seen = find_sign(lines)
    if seen is None:
        return None
    asks = seen.sign.kind is FailureClass.PERMISSION
    name = credential_near(lines, seen.line) if asks else None
    return Classified(seen.sign.kind, seen.sign.rule, credential=name)


def _of_exception(failure: Failure) -> Classified | None:
    """Return that an agent reports an exception of its own program as its error."""
    return _BROKE_DOWN if _EXCEPTION.match(failure.agent_error or "") else None


def _of_tests(failure: Failure) -> Classified | None:
    """Return that an agent ended with the failing tests that it ran: the work is not done yet."""
    lines = [line for line in lines_of(failure.agent_output) if line.strip()]
    is_summary = any(_TESTS_FAILED.match(line.strip()) for line in lines[-_LAST:])
    return _FAILED_TESTS if is_summary and failure.agent_error is None else None


def _matching(failure: Failure, patterns: Sequence[Pattern]) -> Pattern | None:
    if not patterns:
        return None
    lines = lines_of(failure.agent_error, failure.agent_output, failure.contract_output)
    pieces = pieces_of(lines)
    for pattern in patterns:
        search = lazy_pattern(pattern.text).search
        if any(search(piece) for piece in pieces):
            return pattern
    return None


def _with_wait(found: Classified, failure: Failure) -> Classified:
    lines = lines_of(failure.agent_output, failure.agent_error)
    return found._replace(retry_after=retry_after(lines))
