"""What is done about a failed attempt: it is tried again, a person is asked, or the step ends."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import assert_never

from planbound.agents.control import FLOODED
from planbound.cells.cell import CommandEnding, Outcome
from planbound.journal.event import (
    BudgetExceeded,
    FailureDetected,
    PermissionRequired,
    RecoveryApplied,
    RecoveryEscalation,
    TaskFailed,
    VerdictKind,
    replaced,
)
from planbound.journal.record import Draft
from planbound.journal.words import (
    Choice,
    FailureClass,
    Limit,
    QuestionKind,
    QuestionSubject,
    RecoveryMove,
)
from planbound.judging.restore import diff_since
from planbound.judging.verdict import Verdict
from planbound.run.attempt import OVER_MAX_COST, OVER_ROLE, Attempted, WorkOrder
from planbound.run.budget import Excess, Shortages, excess
from planbound.run.classify import Classified, Failure, classify, patterns_of
from planbound.run.recovery import (
    BLOCKED,
    Abort,
    AskPermission,
    Escalate,
    FailureHistory,
    Retry,
    answer,
    recipe_for,
)
from planbound.run.session import RunSession
from planbound.run.trouble import agent_trouble, blocked, printed, sentence, trouble
from planbound.source import lazy_pattern
from planbound.state.run import BLOCKED_RULE, Slot
from planbound.state.step import Spent, StepState

_LOST = Classified(FailureClass.TRANSIENT, "runner-ended")
_OVER = Classified(FailureClass.BUDGET, "agent-over-budget")
_CLAIMED = Classified(FailureClass.LOGIC, "contract-failed")
_MOST_LOST = 5
"""So often an attempt may lose its runner before a person is asked."""
PHANTOM = "phantom completion"
"""How it is called where an agent is content, and nobody did anything."""
_DIFF = 6000
_NUMBER = lazy_pattern(r"\d+(?:\.\d+)?|\b[0-9a-f]{7,64}\b")
_STOPPED = (
    (OVER_MAX_COST, Classified(FailureClass.BUDGET, "agent-over-max-cost")),
    (OVER_ROLE, Classified(FailureClass.BUDGET, "agent-over-role-budget")),
    ("budget", _OVER),
    (FLOODED, Classified(FailureClass.FLOODED, "agent-flooded")),
)
"""What it is that an agent was stopped, by how the reason begins; the first that fits."""
_OWN_BUDGETS = frozenset({"agent-over-max-cost", "agent-over-role-budget"})
"""Limits of an attempt: there is no budget of the plan to be raised."""


class FailureAnswers:
    """Says what a failure is, and makes the events of what is done about it."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self.recipes = session.context.configuration.recipes
        self.patterns = patterns_of(self.recipes)

    def classified(self, order: WorkOrder, attempted: Attempted, verdict: Verdict) -> Classified:
        """Return what kind of failure it is that an attempt failed."""
        worked, judged = attempted.worked, verdict.outcome
        agent = worked.outcome if worked else Outcome(CommandEnding.EXITED, exit_code=0)
        if agent.ending is CommandEnding.STOPPED:
            for reason, found in _STOPPED:
                if agent.reason.startswith(reason):
                    return found
        if agent.ending is CommandEnding.TIMED_OUT and order.budget_seconds:
            return Classified(FailureClass.BUDGET, "agent-over-time-budget")
        if (stuck := self._stuck(order, attempted, verdict)) is not None:
            return stuck
        if PHANTOM in verdict.reason:
            return Classified(FailureClass.LOGIC, "phantom-completion")
        found = classify(
            Failure(
                verdict=verdict.kind,
                agent_ending=agent.ending,
                agent_exit=agent.exit_code,
                agent_signal=agent.signal,
                agent_output=printed(worked),
                agent_error=worked.error if worked else None,
                missing_credential=worked.missing if worked else None,
                contract_exit=judged.exit_code if judged else None,
                contract_signal=judged.signal if judged else None,
                contract_output=(judged.stdout.text() + judged.stderr.text()) if judged else "",
                exhausted_memory=agent.ending is CommandEnding.EXHAUSTED
                and "memory" in agent.reason,
            ),
            self.patterns,
        )
        if found.kind is FailureClass.UNKNOWN and blocked(attempted) is not None:
            return _CLAIMED  # it says why it ended, and that is a claim as any other
        return found

    def _stuck(self, order: WorkOrder, attempted: Attempted, verdict: Verdict) -> Classified | None:
        """Return what it is that an agent says it is blocked; None where that is no matter.

        It is a claim, and what counts is the work: where there is some, it failed as any other.
        Where nothing was done it has to try once, and only then a person is asked.
        """
        if verdict.kind is not VerdictKind.FAIL or blocked(attempted) is None:
            return None
        step = self.session.state.steps[order.slot.place]
        if not attempted.idle and (not verdict.tree or verdict.tree != step.judged_tree):
            return None
        again = step.blocked > 0
        return Classified(FailureClass.BLOCKED if again else FailureClass.LOGIC, BLOCKED_RULE)

    def _printed_the_same(self, step: StepState, attempted: Attempted) -> bool:
        """Say whether agent and contract printed what they did the last time, but for numbers."""
        if step.feedback is None or step.said is None or attempted.worked is None:
            return False
        notes, verdict = self.session.notes, attempted.verdict
        judged = notes.tail(verdict.outcome) if verdict and verdict.outcome else ""
        return (_NUMBER.sub("0", notes.said(attempted.worked)), _NUMBER.sub("0", judged)) == (
            _NUMBER.sub("0", step.said),
            _NUMBER.sub("0", step.feedback.output),
        )

    def answered(self, order: WorkOrder, attempted: Attempted, found: Classified) -> list[Draft]:
        """Return that an attempt failed, and what follows from that."""
        session, slot, verdict = self.session, order.slot, attempted.verdict
        assert verdict is not None
        step = session.state.steps[slot.place]
        signature = _signature(found, verdict)
        repeated = step.repeated + 1 if signature and signature == step.signature else 1
        same = repeated > 1 and self._printed_the_same(step, attempted)
        history = FailureHistory(dict(step.recovered), step.retries, repeated, same)
        decision = answer(found, history, slot.on_fail, self.recipes, session.context.jitter())
        if isinstance(decision, Retry) and found.rule == BLOCKED_RULE:
            decision = decision._replace(guidance=BLOCKED)
        wrong = trouble(attempted, session.clean, found)
        failure = FailureDetected(
            error_message=wrong.error,
            failed=wrong.failed,
            verdict=verdict.kind,
            exit_code=wrong.exit_code,
            signature=signature or None,
            attempt=order.number,
        )
        notes = session.notes
        if isinstance(decision, Abort):
            return [
                notes.about(failure, slot),
                *self.fail(slot, order.number, sentence(attempted, session.clean, found), found),
            ]
        drafts = notes.failure(slot, order.number, found, failure)
        match decision:
            case Retry():
                drafts.append(self._retry(slot, order.number, found, decision))
            case AskPermission():
                needed = PermissionRequired(
                    reason=decision.reason,
                    attempt=order.number,
                    credential=decision.credential or None,
                )
                drafts.append(notes.about(needed, slot))
                drafts.append(self._escalation(order, attempted, found, decision))
            case Escalate():
                if found.kind is FailureClass.BUDGET and found.rule not in _OWN_BUDGETS:
                    over = excess(session.state, slot, _used(attempted))
                    drafts.extend(self._budget_question(slot, order.number, over))
                else:
                    drafts.append(self._escalation(order, attempted, found, decision))
            case _:
                assert_never(decision)
        return drafts

    def fail(self, slot: Slot, attempt: int, message: str, found: Classified) -> list[Draft]:
        """Return that a step failed for good, and its type."""
        notes = self.session.notes
        return [
            notes.about(TaskFailed(attempt=attempt, error_message=message), slot),
            notes.classified(slot, attempt, found),
        ]

    def _retry(self, slot: Slot, attempt: int, found: Classified, decision: Retry) -> Draft:
        backoff = decision.backoff
        event = RecoveryApplied(
            attempt=attempt,
            recipe_name=decision.recipe,
            outcome=RecoveryMove.RETRY,
            failure_type=found.kind,
            retry=decision.number,
            of=decision.of,
            backoff=round(backoff, 3) if backoff else None,
            until=_later(self.session.now(), backoff) if backoff else None,
            reason=decision.guidance or None,
        )
        return self.session.notes.about(event, slot)

    def again(self, slot: Slot, attempt: int, drafts: list[Draft]) -> list[Draft]:
        """Return that an attempt which nobody saw the end of did not do it, and is made anew."""
        notes = self.session.notes
        step = self.session.state.steps[slot.place]
        failure = FailureDetected(error_message="the runner ended before the attempt did")
        drafts = [*drafts, *notes.failure(slot, attempt, _LOST, failure)]
        if step.recovered.get(FailureClass.TRANSIENT, 0) >= _MOST_LOST:
            reason = f"its runner ended {_MOST_LOST} times before the attempt did"
            choices = (Choice.RETRY, Choice.SKIP, Choice.ABORT, Choice.REVISE)
            asked = RecoveryEscalation(
                reason=reason, user_decision=None, attempt=attempt, exhausted=True
            )
            return [*drafts, self.question(QuestionKind.FAILURE, slot, choices, asked)]
        event = RecoveryApplied(
            attempt=attempt,
            recipe_name="resume",
            outcome=RecoveryMove.RETRY,
            failure_type=FailureClass.TRANSIENT,
        )
        return [*drafts, notes.about(event, slot)]

    def _escalation(
        self,
        order: WorkOrder,
        attempted: Attempted,
        found: Classified,
        decision: Escalate | AskPermission,
    ) -> Draft:
        verdict = attempted.verdict
        assert verdict is not None
        asks = isinstance(decision, AskPermission)
        kind = QuestionKind.PERMISSION if asks else QuestionKind.FAILURE
        is_claim = found.rule == BLOCKED_RULE
        of_agent = is_claim or found.kind is not FailureClass.LOGIC
        is_troubled = of_agent and bool(agent_trouble(attempted, self.session.clean))
        what = sentence(attempted, self.session.clean, found)
        diff = diff_since(order.setting.frozen, order.judging, _DIFF)
        tail = self._last_output(attempted, of_agent=is_troubled)
        asked = RecoveryEscalation(
            reason=f"{what}; {decision.reason}",
            user_decision=None,
            attempt=order.number,
            failure_type=found.kind,
            verdict=verdict.kind,
            output_tail=tail,
            diff=self.session.clean(diff or "")[:_DIFF],
            agent_tail=self.agent_tail(attempted, tail),
            exhausted=decision.exhausted if isinstance(decision, Escalate) else None,
            question=decision.question or None,
        )
        choices = (Choice.RETRY, Choice.SKIP, Choice.ABORT, Choice.REVISE)
        return self.question(kind, order.slot, choices, asked)

    def agent_tail(self, attempted: Attempted, shown: str | None) -> str | None:
        """Return the end of what the agent printed, where it is not shown already."""
        said = self.session.notes.said(attempted.worked) if attempted.worked else ""
        return None if not said.strip() or said == shown else said

    def _last_output(self, attempted: Attempted, *, of_agent: bool) -> str:
        """Return what tells most about a failure: the agent's words, or the contract's."""
        notes, verdict = self.session.notes, attempted.verdict
        said = notes.said(attempted.worked) if attempted.worked else ""
        judged = ""
        if verdict is not None and verdict.outcome is not None:
            judged = notes.tail(verdict.outcome)
        return (said or judged) if of_agent else (judged or said)

    def question(
        self,
        kind: QuestionKind,
        slot: Slot | None,
        choices: Sequence[Choice],
        asked: RecoveryEscalation,
    ) -> Draft:
        """Return a question to a person; one of the recipe's own stands in front of the reason."""
        own = asked.question
        held: tuple[Slot, ...] = ()
        if slot is not None and Choice.SKIP in choices:
            held = self.session.state.left_out_with(slot.place)
        event = replaced(
            asked,
            reason=f"{own} {asked.reason}" if own else asked.reason,
            escalation=self.session.context.nonce(),
            kind=kind,
            choices=tuple(choices),
            subject=asked.subject
            or (QuestionSubject.PLAN if slot is None else QuestionSubject.STEP),
            leaves_out=tuple(each.label for each in held) or None,
        )
        return self.session.notes.about(event, slot)

    def own_question(self, found: Classified) -> str | None:
        """Return what the recipe for a failure asks in its own words."""
        return recipe_for(found, self.recipes).question or None

    def ask_budget(self, slot: Slot, found: Excess | Shortages) -> None:
        """Ask a person before an attempt begins that what is left does not cover."""
        attempts = self.session.state.steps[slot.place].attempts
        self.session.append(self._budget_question(slot, attempts, found))

    def _budget_question(
        self, slot: Slot, attempt: int, found: Excess | Shortages | None
    ) -> list[Draft]:
        exceeded = BudgetExceeded(limit=Limit.TOKENS, attempt=attempt)
        reason = "the agent says that its own budget is used up"
        if found is not None:
            reason = found.question()
            exceeded = found.event(attempt)
        asked = RecoveryEscalation(
            reason=reason,
            user_decision=None,
            attempt=attempt,
            failure_type=FailureClass.BUDGET,
            question=self.own_question(_OVER),
        )
        choices = (Choice.RAISE, Choice.ABORT, Choice.REVISE)
        return [
            self.session.notes.about(exceeded, slot),
            self.question(QuestionKind.BUDGET, slot, choices, asked),
        ]


def _used(attempted: Attempted) -> Spent:
    """Return what an attempt used, as far as that is known."""
    if attempted.worked is None:
        return Spent()
    usage = attempted.worked.usage
    return Spent(
        tokens=usage.tokens or 0,
        dollars=usage.dollars or Decimal(0),
        seconds=attempted.worked.outcome.duration,
    )


def _signature(found: Classified, verdict: Verdict) -> str | None:
    """Return the same text for the same failure on the same tree."""
    if not verdict.tree:
        return None
    code = verdict.outcome.exit_code if verdict.outcome else None
    text = f"{found.kind.value} {verdict.kind.value} {code} {verdict.tree}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _later(now: str, seconds: float) -> str:
    moment = datetime.fromisoformat(now) + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
