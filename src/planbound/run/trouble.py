"""What went wrong in an attempt, in words; nothing that an agent says of itself proves a step."""

from __future__ import annotations

from collections.abc import Callable

from planbound.agents.agent import Worked
from planbound.agents.output import find_sign, last_words, lines_of
from planbound.cells.cell import CommandEnding, Outcome
from planbound.journal.event import VerdictKind
from planbound.journal.words import Failed, FailureClass
from planbound.run.attempt import Attempted
from planbound.run.classify import (
    LONGEST,
    AttemptTrouble,
    Classified,
    contract_error,
    one_line,
    telling_line,
)
from planbound.state.question import SAYS_BLOCKED, blocked_reason
from planbound.state.run import BLOCKED_RULE
from planbound.state.step import ended_with

_JUDGING = frozenset(
    {
        VerdictKind.TAMPERED,
        VerdictKind.OUT_OF_SCOPE,
        VerdictKind.VACUOUS,
        VerdictKind.FLAKY,
        VerdictKind.UNRUNNABLE,
    }
)
"""Verdicts that stand above whatever the agent came to."""
_BY_SIGNAL = frozenset({"agent-killed", "agent-stopped", "agent-crashed"})
"""Rules by which a signal tells what it was, and not what was printed."""


def blocked(attempted: Attempted) -> str | None:
    """Return why the agent says that the step cannot be done; None where it does not."""
    if attempted.worked is None:
        return None
    worked = attempted.worked
    if worked.said is not None:
        return blocked_reason(worked.said)
    outcome = worked.outcome
    return blocked_reason(outcome.stdout.text()) or blocked_reason(outcome.stderr.text())


def printed(worked: Worked | None) -> str:
    """Return what an agent let be known, in words where it has them."""
    if worked is None:
        return ""
    outcome = worked.outcome
    said = outcome.stdout.text() if worked.said is None else worked.said
    return f"{said}\n{outcome.stderr.text()}"


def agent_trouble(
    attempted: Attempted, clean: Callable[[str], str], found: Classified | None = None
) -> str:
    """Return what was wrong with an agent, in words; empty where it ended in peace."""
    if attempted.worked is None:
        return ""
    worked, reason = attempted.worked, blocked(attempted)
    outcome = worked.outcome
    if found is not None and found.kind is FailureClass.AGENT:
        return _breakdown(worked, clean)
    if reason is not None:
        return f"{SAYS_BLOCKED}: {reason}"
    if outcome.ending is not CommandEnding.EXITED:
        return f"the agent: {_ending(outcome)}"
    if worked.error:
        return f"the agent reports: {worked.error[:LONGEST]}"
    return _exited(worked, clean) if outcome.exit_code else ""


def _exited(worked: Worked, clean: Callable[[str], str]) -> str:
    line, code = _line(worked, clean), worked.outcome.exit_code
    return f"the agent failed (exit {code}): {line}" if line else ended_with(code)


def trouble(attempted: Attempted, clean: Callable[[str], str], found: Classified) -> AttemptTrouble:
    """Return what failed in an attempt, and the error itself, without secrets."""
    worked, verdict = attempted.worked, attempted.verdict
    assert verdict is not None
    code = verdict.outcome.exit_code if verdict.outcome else None
    of_agent = worked is not None and bool(agent_trouble(attempted, clean))
    if found.rule == BLOCKED_RULE or (found.kind is FailureClass.LOGIC and blocked(attempted)):
        return AttemptTrouble(Failed.CONTRACT, agent_trouble(attempted, clean), code)
    if verdict.kind in _JUDGING or found.kind is FailureClass.LOGIC or not of_agent:
        judged = verdict.outcome
        printed_by = lines_of(clean(judged.stdout.text() + judged.stderr.text())) if judged else ()
        if verdict.kind is VerdictKind.TIMEOUT:
            return AttemptTrouble(Failed.TIME_LIMIT, f"the contract {verdict.reason}", code)
        return AttemptTrouble(Failed.CONTRACT, contract_error(verdict.reason, printed_by), code)
    assert worked is not None
    outcome = worked.outcome
    if outcome.ending is CommandEnding.TIMED_OUT:
        return AttemptTrouble(
            Failed.TIME_LIMIT, f"the agent {outcome.reason or 'ran past its limit'}"
        )
    return AttemptTrouble(Failed.AGENT, _error(worked, clean, found), outcome.exit_code)


def sentence(attempted: Attempted, clean: Callable[[str], str], found: Classified) -> str:
    """Return what failed in an attempt, for a person who is asked about it."""
    verdict, wrong = attempted.verdict, trouble(attempted, clean, found)
    assert verdict is not None
    if wrong.failed is Failed.TIME_LIMIT or blocked(attempted) is not None:
        return wrong.error
    if wrong.failed is Failed.AGENT:
        return agent_trouble(attempted, clean, found)
    is_fail = verdict.kind is VerdictKind.FAIL
    return f"the contract failed ({verdict.reason})" if is_fail else verdict.reason


def _error(worked: Worked, clean: Callable[[str], str], found: Classified) -> str:
    """Return the error of an agent, in its own words where it has any."""
    outcome = worked.outcome
    if outcome.ending is CommandEnding.SIGNALLED and found.rule in _BY_SIGNAL:
        return _ending(outcome)
    if outcome.ending not in {CommandEnding.EXITED, CommandEnding.SIGNALLED}:
        return one_line(clean(_ending(outcome)))
    if worked.error and " " in worked.error:
        return one_line(clean(worked.error))
    line = _line(worked, clean)
    if worked.error:  # a name alone, such as `max-turns`
        return one_line(clean(f"{worked.error}: {line}" if line else worked.error))
    if outcome.signal is not None:
        return line or _ending(outcome)
    return line or ended_with(outcome.exit_code)


def _ending(outcome: Outcome) -> str:
    """Return how an agent ended that did not exit by itself."""
    if outcome.signal is not None and not outcome.reason:
        return f"ended by signal {outcome.signal}"
    return outcome.reason or outcome.ending.value


def _line(worked: Worked, clean: Callable[[str], str]) -> str:
    """Return what tells most of what an agent printed: of its errors, before anything else."""
    everything = lines_of(clean(printed(worked)))
    if find_sign(everything) is None:
        errors = lines_of(clean(worked.outcome.stderr.text()))
        everything = errors if any(line.strip() for line in errors) else everything
    return telling_line(everything)


def _breakdown(worked: Worked, clean: Callable[[str], str]) -> str:
    """Return that an agent's own program broke down, with its last words."""
    outcome = worked.outcome
    how = outcome.reason or (f"exit {outcome.exit_code}" if outcome.exit_code else "")
    if outcome.signal is not None:
        how = f"signal {outcome.signal}"
    printed_last = last_words(lines_of(printed(worked)))
    # A name alone, such as `max-turns`, says less than what was printed.
    is_name = worked.error is None or " " not in worked.error
    words = (printed_last or worked.error) if is_name else worked.error
    words = clean(words or "")[:LONGEST]
    said = "; ".join(part for part in (how, words) if part)
    return f"the agent broke down: {said}" if said else "the agent broke down"
