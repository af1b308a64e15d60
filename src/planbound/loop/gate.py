"""The gate in a loop of one's own: nothing ends as done that it has not accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planbound.engine.loop.finalization import Accept, Capped, Reject, Silent
from planbound.engine.loop.state import INCOMPLETE
from planbound.errors import ExitCode, PlanboundError
from planbound.loop.session import Session

UNDECIDED = "undecided"
"""The gate had nothing to decide: there is no plan, or a person is asked."""


class IncompletePlan(PlanboundError):  # noqa: N818 - named for what is left, as its siblings are
    """An agent ended, and its plan is not done; `missing` says what is left."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class FinalizationGate:
    """Decides whether an agent may end."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def check(
        self, final_text: str | None, *, waiting: str | None = None
    ) -> Accept | Reject | Capped | Silent:
        """Decide about the agent's last word.

        Ask it before anything else, also for an empty last message and when a limit ends the loop.
        What has a contract is judged on the files as they are now, and the decision is on record.

        Args:
            final_text: The last message, as it is.
            waiting: Why nothing is to be decided now, such as tasks in the background.

        Returns:
            `Accept`: it may end, as `outcome` says. `Reject`: tell the agent `message`, and go on.
            `Capped`: it may end, and is not done. `Silent`: nothing is demanded of it.
        """
        return self.session.check(final_text or "", waiting=waiting)


def gate(session: Session) -> FinalizationGate:
    """Return the gate of a session."""
    return FinalizationGate(session)


class Ending(NamedTuple):
    """How a gated loop ended."""

    outcome: str
    """`done`, `finished with blocked items`, `incomplete`, or `undecided`."""
    text: str
    """The agent's last message."""
    turns: int
    decision: Accept | Reject | Capped | Silent

    @property
    def is_done(self) -> bool:
        """Whether everything is done, with nothing blocked."""
        return self.outcome == "done"

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what is left of an incomplete plan."""
        return self.decision.missing if isinstance(self.decision, Reject | Capped) else ()


def run_gated(
    turn: Callable[[str | None], str | None], gate: FinalizationGate, *, max_turns: int = 50
) -> Ending:
    """Let an agent have turns until the gate lets it end, or the turns are used up.

    Args:
        turn: Lets the agent work until it would end, and returns its last message. It is given
            None the first time, and then why the gate refused.
        gate: The gate of the agent's session.
        max_turns: So many turns at most; the plan is then incomplete, whatever the agent said.
    """
    count, refusal = 0, None
    while True:
        count += 1
        text = turn(refusal) or ""
        decision = gate.check(text)
        if not isinstance(decision, Reject) or count >= max_turns:
            return Ending(_outcome(decision), text, count, decision)
        refusal = decision.message


def _outcome(decision: Accept | Reject | Capped | Silent) -> str:
    match decision:
        case Accept():
            return decision.outcome
        case Reject() | Capped():
            return INCOMPLETE
        case Silent():
            return UNDECIDED
