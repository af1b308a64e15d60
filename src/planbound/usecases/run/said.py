"""What an agent let be known of itself: nothing of it says anything about the step."""

from __future__ import annotations

from collections.abc import Callable

from planbound.engine.blocked import SAYS_BLOCKED, blocked_reason
from planbound.engine.judging.outcome import Ending
from planbound.engine.recovery.breakdown import last_words
from planbound.engine.recovery.classified import Classified
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.output import lines_of
from planbound.ports.agent import Worked
from planbound.usecases.run.attempt import Attempted

_LONGEST = 300


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
    if outcome.ending is not Ending.EXITED:
        return f"the agent: {outcome.reason or outcome.ending.value}"
    if worked.error:
        return f"the agent reports: {worked.error[:_LONGEST]}"
    return "" if not outcome.exit_code else f"the agent ended with {outcome.exit_code}"


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
    words = clean(words or "")[:_LONGEST]
    said = "; ".join(part for part in (how, words) if part)
    return f"the agent broke down: {said}" if said else "the agent broke down"
