"""Which kind of failure it is: by verdict, by how the agent ended, by what it printed.

A verdict about the judging itself wins over everything. What a recipe of the configuration looks
for comes next. Then the agent: where it did not come to its end, its failure is the reason that
the contract fails, also where nobody knows what it failed of. At last, what the contract came to.
"""

from __future__ import annotations

from collections.abc import Sequence

from planbound.engine.judging.outcome import Ending
from planbound.engine.judging.verdict import VerdictKind
from planbound.engine.recovery.agent_error import error_kind
from planbound.engine.recovery.breakdown import breakdown
from planbound.engine.recovery.classified import Classified, Failure, Pattern
from planbound.engine.recovery.credential import credential_near
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.output import find_sign, lines_of, pieces_of
from planbound.engine.recovery.retry_after import retry_after
from planbound.source.pattern import lazy_pattern

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
    Ending.TIMED_OUT: Classified(FailureClass.HUNG, "agent-timed-out"),
    Ending.EXHAUSTED: Classified(FailureClass.TRANSIENT, "agent-exhausted"),
    Ending.NOT_STARTED: Classified(FailureClass.UNRUNNABLE, "agent-not-started"),
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
    r"FAILED \S{1,300}::|\S{1,300}::\S{1,300} FAILED\b"
    r"|=*\s?(?:\d{1,9} \w{1,12}, ){0,4}\d{1,9} (?:failed|errors?)\b.{0,120}\bin \d"  # pytest
    r"|FAILED \((?:failures|errors)="  # unittest
    r"|Tests?:?\s{1,12}(?:\d{1,9} \w{1,12}[,|]\s){0,4}\d{1,9} failed\b"  # jest, vitest
    r"|\d{1,9} failing$"  # mocha
    r"|(?:# |ℹ )fail [1-9]"  # TAP, node
    r"|test result: FAILED\b"  # cargo
    r"|FAIL(?:\s\S{1,200}\s[\d.]{1,12}s)?$"  # go
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
