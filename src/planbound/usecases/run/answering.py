"""Records what came of an attempt, and what is done about it: all in one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, assert_never

from planbound.engine.agents import work_type
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.judging.verdict import Verdict, VerdictKind
from planbound.engine.recovery.answer import (
    Abort,
    AskPermission,
    Escalate,
    History,
    Retry,
    answer,
    recipe_for,
)
from planbound.engine.recovery.classified import Classified, Failure, patterns_of
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.guidance import BLOCKED
from planbound.engine.run.budget import Excess, Shortages, excess
from planbound.engine.run.layout import Slot
from planbound.engine.run.question import Choice, QuestionKind
from planbound.engine.run.state import BLOCKED_RULE
from planbound.engine.run.step_state import Spent, StepState
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.source.pattern import lazy_pattern
from planbound.usecases.differences import changed_since
from planbound.usecases.run.attempt import Attempted, Order
from planbound.usecases.run.control import FLOODED
from planbound.usecases.run.homecoming import bring_home
from planbound.usecases.run.notes import names
from planbound.usecases.run.said import agent_trouble, blocked, printed, sentence, trouble
from planbound.usecases.run.session import Session
from planbound.usecases.run.staffing import OVER_MAX_COST, OVER_ROLE
from planbound.usecases.verdict_events import proof_details

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


class Misplaced(NamedTuple):
    """Why what was seen is not about the plan's own tree."""

    rule: str
    reason: str


class Answering:
    """Turns attempts into events."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.recipes = session.desk.configuration.recipes
        self.patterns = patterns_of(self.recipes)

    def record(self, order: Order, attempted: Attempted) -> None:
        """Record an attempt that ended, was stopped, or was left by a runner that is gone."""
        drafts = self._ended(order, attempted)
        if attempted.stopped is not None:
            # Without a verdict: it is judged before anything else when the run goes on.
            self.session.append(drafts)
        elif (wrong := self._misplaced(attempted)) is not None:
            self._mismatch(order, drafts, wrong)
        elif attempted.damage.destroyed:
            self._destroyed(order, attempted, drafts)
        elif attempted.verdict is None:
            self._attest(order, attempted, drafts)
        elif attempted.verdict.kind is VerdictKind.PASS and self._counts(order):
            self._passed(order, attempted, drafts)
        else:
            self._failed(order, attempted, drafts)

    def lost(self, slot: Slot) -> None:
        """Record that nothing is left of an attempt whose runner is gone."""
        step = self.session.state.steps[slot.place]
        self.session.append(self._again(slot, step.attempts, self._lost_agent(slot, step.attempts)))

    # -- the agent's part ----------------------------------------------------------------------

    def _ended(self, order: Order, attempted: Attempted) -> list[Draft]:
        notes, worked = self.session.notes, attempted.worked
        step = self.session.state.steps[order.slot.place]
        if worked is None:
            return [] if step.ended is not None else self._lost_agent(order.slot, order.number)
        extra: dict[str, Json] = {"prompt": order.prompt, "changed": names(attempted.changed)}
        if order.agent is not None:
            extra["agent"] = order.agent.name
        if (target := order.slot.step.target) is not None:
            extra["role"] = target.value
        extra["type"] = work_type(target.value if target is not None else None)
        if order.brief.subscriptions:
            extra["subscriptions"] = list(order.brief.subscriptions)
        if attempted.stopped is not None:
            extra["ending"] = "interrupted"
            extra["reason"] = attempted.stopped
        if attempted.damage.mended:
            extra["mended"] = names(attempted.damage.mended)
        return [notes.ended(order.slot, order.number, worked, extra)]

    def _lost_agent(self, slot: Slot, number: int) -> list[Draft]:
        details: dict[str, Json] = {
            "attempt": number,
            "ending": "lost",
            "reason": "the process that ran it is gone",
        }
        return [self.session.notes.about(EventKind.ATTEMPT_ENDED, slot, details)]

    def _counts(self, order: Order) -> bool:
        """Say whether a pass shows anything, where nobody saw the agent come to its end."""
        if order.agent is not None:
            return True
        step = self.session.state.steps[order.slot.place]
        ended = step.ended is not None and step.ended not in {"lost", "interrupted"}
        # Where nobody looked before the first attempt, no agent had begun it.
        look = step.approved if self.session.is_bare and not step.baseline else step.baseline
        return ended or (look is not None and look.is_red)

    def _misplaced(self, attempted: Attempted) -> Misplaced | None:
        """Return why what was seen is not about the plan's own tree."""
        wrong = self.session.misplaced()
        if wrong is not None:
            return Misplaced("another-worktree", wrong)
        if attempted.strayed:
            shown = ", ".join(attempted.strayed[:5])
            more = f" and {len(attempted.strayed) - 5} more" if len(attempted.strayed) > 5 else ""
            return Misplaced(
                "edits-in-another-worktree",
                "workspace-mismatch: files of this step changed in another worktree:"
                f" {shown}{more}",
            )
        return None

    # -- the ends ------------------------------------------------------------------------------

    def _passed(self, order: Order, attempted: Attempted, drafts: list[Draft]) -> None:
        session, verdict = self.session, attempted.verdict
        assert verdict is not None
        assert verdict.proof is not None
        notes, slot, proof = session.notes, order.slot, verdict.proof
        extra: dict[str, Json] = {"attempt": order.number}
        drafts.append(notes.verdict(EventKind.CONTRACT_EVALUATED, verdict, slot, extra))
        details: dict[str, Json] = {
            "attempt": order.number,
            "verdict": verdict.kind.value,
            **proof_details(proof),
        }
        if order.shown_at is not None:
            with session.occupancy.inside():
                refused = bring_home(self.session, order, attempted)
            if refused is not None:
                self._mismatch(order, drafts, Misplaced("copy-does-not-fit", refused))
                return
            details |= session.seen()
        elif attempted.manifest is not None:
            manifest = attempted.manifest
            details |= {"tree": manifest.digest, "manifest": session.keep(manifest)}
        else:
            details["tree"] = verdict.tree
        drafts.append(notes.about(EventKind.TASK_COMPLETED, slot, details))
        session.append(drafts)
        if order.shown_at is not None:
            session.desk.copies.remove(order.bench.tree.root)

    def _attest(self, order: Order, attempted: Attempted, drafts: list[Draft]) -> None:
        slot = order.slot
        drafts.extend(self._violations(order, attempted, (), attempted.outside))
        contract = slot.step.contract
        statement = getattr(contract, "statement", "") or slot.title
        drafts.append(
            self.question(
                QuestionKind.ATTESTATION,
                slot,
                f"a person has to attest: {statement}",
                (Choice.RETRY, Choice.ABORT, Choice.REVISE),
                {"attempt": order.number, **self._agent_tail(attempted, {})},
            )
        )
        self.session.append(drafts)

    def _failed(self, order: Order, attempted: Attempted, drafts: list[Draft]) -> None:
        attempted = self._named(order, attempted)
        session, verdict, slot = self.session, attempted.verdict, order.slot
        assert verdict is not None
        extra: dict[str, Json] = {"attempt": order.number}
        notes = session.notes
        drafts.append(notes.verdict(EventKind.CONTRACT_EVALUATED, verdict, slot, extra))
        tampered = [item.path for item in verdict.tampered]
        drafts.extend(self._violations(order, attempted, tampered, verdict.outside))
        was_left = order.agent is None
        step = session.state.steps[slot.place]
        cut_off = was_left and step.ended in {None, "lost", "interrupted"}
        if cut_off and verdict.kind not in {VerdictKind.TAMPERED, VerdictKind.OUT_OF_SCOPE}:
            session.append(self._again(slot, order.number, drafts))
            return
        found = self._classified(order, attempted, verdict)
        drafts.extend(self._answered(order, attempted, found))
        session.append(drafts)

    def _destroyed(self, order: Order, attempted: Attempted, drafts: list[Draft]) -> None:
        """Record an attempt that destroyed something, whatever its contract says; ask a person."""
        session, slot, verdict = self.session, order.slot, attempted.verdict
        found = Classified(FailureClass.DESTRUCTIVE, "agent-destroyed")
        destroyed = attempted.damage.destroyed
        reason = f"{found.kind.value}: the agent destroyed {', '.join(destroyed)}; put back"
        outside = attempted.outside
        if verdict is not None:
            verdict = verdict._replace(kind=VerdictKind.TAMPERED, reason=reason)
            extra: dict[str, Json] = {"attempt": order.number}
            drafts.append(session.notes.verdict(EventKind.CONTRACT_EVALUATED, verdict, slot, extra))
            outside = verdict.outside
        tampered = [item.path for item in verdict.tampered] if verdict is not None else []
        drafts.extend(self._violations(order, attempted, tampered, outside))
        failure: dict[str, Json] = {"error_message": reason, "destroyed": names(destroyed)}
        drafts.extend(session.notes.failure(slot, order.number, found, failure))
        decision = answer(found, History({}), slot.on_fail, self.recipes, 0.0)
        said = session.notes.said(attempted.worked) if attempted.worked else ""
        details: dict[str, Json] = {
            "attempt": order.number,
            "failure_type": found.kind.value,
            "output_tail": said,
            "exhausted": False,
        }
        choices = (Choice.RETRY, Choice.SKIP, Choice.ABORT, Choice.REVISE)
        why = f"{reason}; {decision.reason}" if isinstance(decision, Escalate) else reason
        drafts.append(self.question(QuestionKind.FAILURE, slot, why, choices, details))
        session.append(drafts)
        if order.shown_at is not None:
            session.desk.copies.remove(order.bench.tree.root)  # nobody goes on in that

    def _named(self, order: Order, attempted: Attempted) -> Attempted:
        """Return a failed attempt that says so where a content agent has changed nothing."""
        verdict = attempted.verdict
        assert verdict is not None
        idle = order.agent is not None and order.slot.touches is not None and attempted.idle
        if (
            not idle
            or verdict.kind is not VerdictKind.FAIL
            or agent_trouble(attempted, self.session.clean)
        ):
            return attempted
        reason = f"{verdict.reason}; {PHANTOM}: nothing changed in its scope"
        return attempted._replace(verdict=verdict._replace(reason=reason))

    def _violations(
        self, order: Order, attempted: Attempted, tampered: Sequence[str], outside: Sequence[str]
    ) -> list[Draft]:
        back = set(attempted.restored.back) if attempted.restored else set()
        drafts = []
        for kind, paths in (
            (EventKind.JUDGE_TAMPERED, tampered),
            (EventKind.SCOPE_VIOLATED, outside),
        ):
            if paths:
                details: dict[str, Json] = {
                    "files": names(paths),
                    "restored": set(paths) <= back,
                    "attempt": order.number,
                }
                drafts.append(self.session.notes.about(kind, order.slot, details))
        return drafts

    # -- failures ------------------------------------------------------------------------------

    def _classified(self, order: Order, attempted: Attempted, verdict: Verdict) -> Classified:
        worked, judged = attempted.worked, verdict.outcome
        agent = worked.outcome if worked else Outcome(Ending.EXITED, exit_code=0)
        if agent.ending is Ending.STOPPED:
            for reason, found in _STOPPED:
                if agent.reason.startswith(reason):
                    return found
        if agent.ending is Ending.TIMED_OUT and order.budget_seconds:
            return Classified(FailureClass.BUDGET, "agent-over-time-budget")
        if (stuck := self._stuck(order, attempted, verdict)) is not None:
            return stuck
        if PHANTOM in verdict.reason:
            return Classified(FailureClass.LOGIC, "phantom-completion")
        from planbound.engine.recovery.classify import classify  # noqa: PLC0415 - most pass

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
                exhausted_memory=agent.ending is Ending.EXHAUSTED and "memory" in agent.reason,
            ),
            self.patterns,
        )
        if found.kind is FailureClass.UNKNOWN and blocked(attempted) is not None:
            return _CLAIMED  # it says why it ended, and that is a claim as any other
        return found

    def _stuck(self, order: Order, attempted: Attempted, verdict: Verdict) -> Classified | None:
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

    def _answered(self, order: Order, attempted: Attempted, found: Classified) -> list[Draft]:
        session, slot, verdict = self.session, order.slot, attempted.verdict
        assert verdict is not None
        step = session.state.steps[slot.place]
        signature = _signature(found, verdict)
        repeated = step.repeated + 1 if signature and signature == step.signature else 1
        same = repeated > 1 and self._printed_the_same(step, attempted)
        history = History(dict(step.recovered), step.retries, repeated, same)
        decision = answer(found, history, slot.on_fail, self.recipes, session.desk.jitter())
        if isinstance(decision, Retry) and found.rule == BLOCKED_RULE:
            decision = decision._replace(guidance=BLOCKED)
        wrong = trouble(attempted, session.clean, found)
        failure: dict[str, Json] = {
            "error_message": wrong.error,
            "failed": wrong.failed.value,
            "verdict": verdict.kind.value,
            "exit_code": wrong.exit_code,
        }
        if signature:
            failure["signature"] = signature
        notes = session.notes
        if isinstance(decision, Abort):
            return [
                notes.about(EventKind.FAILURE_DETECTED, slot, {**failure, "attempt": order.number}),
                *self.fail(slot, order.number, sentence(attempted, session.clean, found), found),
            ]
        drafts = notes.failure(slot, order.number, found, failure)
        match decision:
            case Retry():
                drafts.append(self._retry(slot, order.number, found, decision))
            case AskPermission():
                details: dict[str, Json] = {"reason": decision.reason, "attempt": order.number}
                if decision.credential:
                    details["credential"] = decision.credential
                drafts.append(notes.about(EventKind.PERMISSION_REQUIRED, slot, details))
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
        details: dict[str, Json] = {"attempt": attempt, "error_message": message}
        return [
            notes.about(EventKind.TASK_FAILED, slot, details),
            notes.classified(slot, attempt, found),
        ]

    def _retry(self, slot: Slot, attempt: int, found: Classified, decision: Retry) -> Draft:
        details: dict[str, Json] = {
            "attempt": attempt,
            "recipe_name": decision.recipe,
            "outcome": "retry",
            "failure_type": found.kind.value,
            "retry": decision.number,
            "of": decision.of,
        }
        if decision.backoff:
            details["backoff"] = round(decision.backoff, 3)
            details["until"] = _later(self.session.now(), decision.backoff)
        if decision.guidance:
            details["reason"] = decision.guidance
        return self.session.notes.about(EventKind.RECOVERY_APPLIED, slot, details)

    def _again(self, slot: Slot, attempt: int, drafts: list[Draft]) -> list[Draft]:
        """Return that an attempt which nobody saw the end of did not do it, and is made anew."""
        notes = self.session.notes
        step = self.session.state.steps[slot.place]
        failure: dict[str, Json] = {"error_message": "the runner ended before the attempt did"}
        drafts = [*drafts, *notes.failure(slot, attempt, _LOST, failure)]
        if step.recovered.get(FailureClass.TRANSIENT, 0) >= _MOST_LOST:
            reason = f"its runner ended {_MOST_LOST} times before the attempt did"
            choices = (Choice.RETRY, Choice.SKIP, Choice.ABORT, Choice.REVISE)
            extra: dict[str, Json] = {"attempt": attempt, "exhausted": True}
            return [*drafts, self.question(QuestionKind.FAILURE, slot, reason, choices, extra)]
        details: dict[str, Json] = {
            "attempt": attempt,
            "recipe_name": "resume",
            "outcome": "retry",
            "failure_type": FailureClass.TRANSIENT.value,
        }
        return [*drafts, notes.about(EventKind.RECOVERY_APPLIED, slot, details)]

    # -- questions -----------------------------------------------------------------------------

    def _escalation(
        self,
        order: Order,
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
        diff = changed_since(order.setting.frozen, order.bench, _DIFF)
        extra: dict[str, Json] = {
            "attempt": order.number,
            "failure_type": found.kind.value,
            "verdict": verdict.kind.value,
            "output_tail": self._last_output(attempted, of_agent=is_troubled),
            "diff": self.session.clean(diff or "")[:_DIFF],
        }
        extra |= self._agent_tail(attempted, extra)
        if isinstance(decision, Escalate):
            extra["exhausted"] = decision.exhausted
        if decision.question:
            extra["question"] = decision.question
        reason = f"{what}; {decision.reason}"
        choices = (Choice.RETRY, Choice.SKIP, Choice.ABORT, Choice.REVISE)
        return self.question(kind, order.slot, reason, choices, extra)

    def _agent_tail(self, attempted: Attempted, extra: dict[str, Json]) -> dict[str, Json]:
        """Return the end of what the agent printed, where it is not shown already."""
        said = self.session.notes.said(attempted.worked) if attempted.worked else ""
        is_shown = not said.strip() or said == extra.get("output_tail")
        return {} if is_shown else {"agent_tail": said}

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
        reason: str,
        choices: Sequence[Choice],
        extra: dict[str, Json],
    ) -> Draft:
        """Return a question to a person; one of the recipe's own stands in front of the reason."""
        own = extra.get("question")
        details: dict[str, Json] = {
            "reason": f"{own} {reason}" if own else reason,
            "user_decision": None,
            "escalation": self.session.desk.nonce(),
            "kind": kind.value,
            "choices": [choice.value for choice in choices],
            "subject": "step" if slot is not None else "plan",
            **extra,
        }
        if slot is not None and Choice.SKIP in choices:
            held = self.session.state.left_out_with(slot.place)
            if held:
                details["leaves_out"] = [each.label for each in held]
        return self.session.notes.about(EventKind.RECOVERY_ESCALATION, slot, details)

    def _own_question(self, found: Classified) -> dict[str, Json]:
        """Return what the recipe for a failure asks in its own words."""
        own = recipe_for(found, self.recipes).question
        return {"question": own} if own else {}

    # -- the budget ----------------------------------------------------------------------------

    def ask_budget(self, slot: Slot, found: Excess | Shortages) -> None:
        """Ask a person before an attempt begins that what is left does not cover."""
        attempts = self.session.state.steps[slot.place].attempts
        self.session.append(self._budget_question(slot, attempts, found))

    def _budget_question(
        self, slot: Slot, attempt: int, found: Excess | Shortages | None
    ) -> list[Draft]:
        details: dict[str, Json] = {"limit": "tokens", "attempt": attempt}
        reason = "the agent says that its own budget is used up"
        if found is not None:
            reason = found.question()
            details |= found.details()
        extra: dict[str, Json] = {"attempt": attempt, "failure_type": FailureClass.BUDGET.value}
        extra |= self._own_question(_OVER)
        choices = (Choice.RAISE, Choice.ABORT, Choice.REVISE)
        return [
            self.session.notes.about(EventKind.BUDGET_EXCEEDED, slot, details),
            self.question(QuestionKind.BUDGET, slot, reason, choices, extra),
        ]

    # -- copies --------------------------------------------------------------------------------

    def _mismatch(self, order: Order, drafts: list[Draft], wrong: Misplaced) -> None:
        reason = wrong.reason
        found = Classified(FailureClass.WORKSPACE_MISMATCH, wrong.rule)
        failure: dict[str, Json] = {"error_message": reason}
        drafts.extend(self.session.notes.failure(order.slot, order.number, found, failure))
        extra: dict[str, Json] = {"attempt": order.number, "failure_type": found.kind.value}
        extra |= self._own_question(found)
        choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        drafts.append(self.question(QuestionKind.FAILURE, order.slot, reason, choices, extra))
        self.session.append(drafts)


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
