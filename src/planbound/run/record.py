"""Records what came of an attempt, and what is done about it: all in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import FileProblem
from planbound.journal.event import (
    AttemptEnded,
    AttemptEnding,
    FailureDetected,
    JudgeTampered,
    RecoveryEscalation,
    ScopeViolated,
    TaskCompleted,
    VerdictKind,
    replaced,
)
from planbound.journal.record import Draft
from planbound.journal.words import Choice, FailureClass, QuestionKind
from planbound.judging.events import shown_proof
from planbound.run.answer import PHANTOM, FailureAnswers
from planbound.run.attempt import Attempted, WorkOrder
from planbound.run.classify import Classified
from planbound.run.recovery import (
    Escalate,
    FailureHistory,
    answer,
)
from planbound.run.session import RunSession, names
from planbound.run.trouble import agent_trouble
from planbound.state.run import Slot
from planbound.workspace.agents import work_type
from planbound.workspace.manifest import EntryType, changes


class Misplaced(NamedTuple):
    """Why what was seen is not about the plan's own tree."""

    rule: str
    reason: str


class AttemptRecorder:
    """Turns attempts into events."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self.answers = FailureAnswers(session)

    def record(self, order: WorkOrder, attempted: Attempted) -> None:
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
        self.session.append(
            self.answers.again(slot, step.attempts, self._lost_agent(slot, step.attempts))
        )

    def _ended(self, order: WorkOrder, attempted: Attempted) -> list[Draft]:
        notes, worked = self.session.notes, attempted.worked
        step = self.session.state.steps[order.slot.place]
        if worked is None:
            is_lost = order.left and step.ended is None
            return self._lost_agent(order.slot, order.number) if is_lost else []
        target, stopped = order.slot.step.target, attempted.stopped
        agent = order.agent.name if order.agent is not None else None
        rules = self.session.context.configuration.agents.get(agent or "")
        event = AttemptEnded(
            attempt=order.number,
            ending=AttemptEnding(worked.outcome.ending.value)
            if stopped is None
            else AttemptEnding.INTERRUPTED,
            reason=stopped,
            prompt=order.prompt,
            changed=names(attempted.changed),
            agent=agent,
            kind=rules.kind if rules is not None else None,
            model=rules.model if rules is not None else None,
            role=target.value if target is not None else None,
            type=work_type(target.value if target is not None else None),
            subscriptions=tuple(order.brief.subscriptions) or None,
            mended=names(attempted.damage.mended) or None,
            network=tuple(map(str, worked.outcome.traffic)) or None,
        )
        return [notes.ended(order.slot, order.number, worked, event)]

    def _lost_agent(self, slot: Slot, number: int) -> list[Draft]:
        event = AttemptEnded(
            attempt=number, ending=AttemptEnding.LOST, reason="the process that ran it is gone"
        )
        return [self.session.notes.about(event, slot)]

    def _counts(self, order: WorkOrder) -> bool:
        """Say whether a pass shows anything, where nobody saw the agent come to its end."""
        if not order.left:
            return True
        step = self.session.state.steps[order.slot.place]
        ended = step.ended is not None and not step.ended.is_cut_off
        return ended or (step.baseline is not None and step.baseline.is_red)

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

    def _passed(self, order: WorkOrder, attempted: Attempted, drafts: list[Draft]) -> None:
        session, verdict = self.session, attempted.verdict
        assert verdict is not None
        assert verdict.proof is not None
        notes, slot, proof = session.notes, order.slot, verdict.proof
        drafts.append(notes.evaluated(verdict, slot, notes.evaluation(verdict, order.number)))
        shown = shown_proof(proof)
        done = TaskCompleted(
            attempt=order.number,
            verdict=verdict.kind,
            result=shown.result,
            baseline=shown.baseline,
            baseline_at=shown.baseline_at,
            reason=shown.reason,
        )
        if order.shown_at is not None:
            with session.occupancy.inside():
                refused = _apply_copy(self.session, order, attempted)
            if refused is not None:
                self._mismatch(order, drafts, Misplaced("copy-does-not-fit", refused))
                return
            tree = session.seen()
            done = replaced(done, tree=tree.digest, manifest=tree.manifest)
        elif attempted.manifest is not None:
            manifest = attempted.manifest
            done = replaced(done, tree=manifest.digest, manifest=session.keep(manifest))
        else:
            done = replaced(done, tree=verdict.tree)
        drafts.append(notes.about(done, slot))
        session.append(drafts)
        if order.shown_at is not None:
            session.context.copies.remove(order.judging.tree.root)

    def _attest(self, order: WorkOrder, attempted: Attempted, drafts: list[Draft]) -> None:
        slot = order.slot
        drafts.extend(self._violations(order, attempted, (), attempted.outside))
        contract = slot.step.contract
        statement = getattr(contract, "statement", "") or slot.title
        asked = RecoveryEscalation(
            reason=f"a person has to attest: {statement}",
            user_decision=None,
            attempt=order.number,
            agent_tail=self.answers.agent_tail(attempted, None),
        )
        choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        drafts.append(self.answers.question(QuestionKind.ATTESTATION, slot, choices, asked))
        self.session.append(drafts)

    def _failed(self, order: WorkOrder, attempted: Attempted, drafts: list[Draft]) -> None:
        attempted = self._named(order, attempted)
        session, verdict, slot = self.session, attempted.verdict, order.slot
        assert verdict is not None
        notes = session.notes
        drafts.append(notes.evaluated(verdict, slot, notes.evaluation(verdict, order.number)))
        tampered = [item.path for item in verdict.tampered]
        drafts.extend(self._violations(order, attempted, tampered, verdict.outside))
        step = session.state.steps[slot.place]
        cut_off = order.left and (step.ended is None or step.ended.is_cut_off)
        if cut_off and verdict.kind not in {VerdictKind.TAMPERED, VerdictKind.OUT_OF_SCOPE}:
            session.append(self.answers.again(slot, order.number, drafts))
            return
        found = self.answers.classified(order, attempted, verdict)
        drafts.extend(self.answers.answered(order, attempted, found))
        session.append(drafts)

    def _destroyed(self, order: WorkOrder, attempted: Attempted, drafts: list[Draft]) -> None:
        """Record an attempt that destroyed something, whatever its contract says; ask a person."""
        session, slot, verdict = self.session, order.slot, attempted.verdict
        found = Classified(FailureClass.DESTRUCTIVE, "agent-destroyed")
        destroyed = attempted.damage.destroyed
        reason = f"{found.kind.value}: the agent destroyed {', '.join(destroyed)}; put back"
        outside = attempted.outside
        if verdict is not None:
            verdict = verdict._replace(kind=VerdictKind.TAMPERED, reason=reason)
            event = session.notes.evaluation(verdict, order.number)
            drafts.append(session.notes.evaluated(verdict, slot, event))
            outside = verdict.outside
        tampered = [item.path for item in verdict.tampered] if verdict is not None else []
        drafts.extend(self._violations(order, attempted, tampered, outside))
        failure = FailureDetected(error_message=reason, destroyed=names(destroyed))
        drafts.extend(session.notes.failure(slot, order.number, found, failure))
        decision = answer(found, FailureHistory({}), slot.on_fail, self.answers.recipes, 0.0)
        said = session.notes.said(attempted.worked) if attempted.worked else ""
        asked = RecoveryEscalation(
            reason=f"{reason}; {decision.reason}" if isinstance(decision, Escalate) else reason,
            user_decision=None,
            attempt=order.number,
            failure_type=found.kind,
            output_tail=said,
            exhausted=False,
        )
        choices = (Choice.RETRY, Choice.SKIP, Choice.ABORT, Choice.REVISE)
        drafts.append(self.answers.question(QuestionKind.FAILURE, slot, choices, asked))
        session.append(drafts)
        if order.shown_at is not None:
            session.context.copies.remove(order.judging.tree.root)  # nobody goes on in that

    def _named(self, order: WorkOrder, attempted: Attempted) -> Attempted:
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
        if verdict.left_out:
            return attempted  # it did work, where nobody looks: that is said
        reason = f"{verdict.reason}; {PHANTOM}: nothing changed in its scope"
        return attempted._replace(verdict=verdict._replace(reason=reason))

    def _violations(
        self,
        order: WorkOrder,
        attempted: Attempted,
        tampered: Sequence[str],
        outside: Sequence[str],
    ) -> list[Draft]:
        back = set(attempted.restored.back) if attempted.restored else set()
        about, number = self.session.notes.about, order.number
        drafts = []
        if tampered:
            restored = set(tampered) <= back
            changed = JudgeTampered(files=names(tampered), restored=restored, attempt=number)
            drafts.append(about(changed, order.slot))
        if outside:
            restored = set(outside) <= back
            left = ScopeViolated(files=names(outside), restored=restored, attempt=number)
            drafts.append(about(left, order.slot))
        return drafts

    def _mismatch(self, order: WorkOrder, drafts: list[Draft], wrong: Misplaced) -> None:
        reason = wrong.reason
        found = Classified(FailureClass.WORKSPACE_MISMATCH, wrong.rule)
        failure = FailureDetected(error_message=reason)
        drafts.extend(self.session.notes.failure(order.slot, order.number, found, failure))
        asked = RecoveryEscalation(
            reason=reason,
            user_decision=None,
            attempt=order.number,
            failure_type=found.kind,
            question=self.answers.own_question(found),
        )
        choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        drafts.append(self.answers.question(QuestionKind.FAILURE, order.slot, choices, asked))
        self.session.append(drafts)


def _apply_copy(session: RunSession, order: WorkOrder, attempted: Attempted) -> str | None:
    """Apply what a step did in its copy to the workspace; return why that cannot be."""
    frozen, manifest = order.setting.frozen, attempted.manifest
    home, copy = session.judging.tree, order.judging.tree
    if frozen is None or manifest is None:
        return "nothing is known of the copy's tree"
    found = [
        change
        for change in changes(frozen.manifest, manifest)
        if (entry := change.after or change.before) is not None
        and entry.type in {EntryType.FILE, EntryType.DIRECTORY, EntryType.LINK}
    ]
    now = home.manifest(session.judging.rules)
    for change in found:
        path = change.path.encode("utf-8", "surrogateescape")
        there = now.entries.get(path)
        if there not in {change.before, change.after}:
            return f"`{change.path}` changed in the workspace meanwhile"
    removed = [change for change in found if change.after is None]
    try:
        for change in (*(item for item in found if item.after is not None), *removed[::-1]):
            content = None
            if change.after is not None and change.after.type is EntryType.FILE:
                content = copy.content(change.path, change.after)
                if content is None:
                    return f"`{change.path}` is not as it was judged any more"
            path = change.path.encode("utf-8", "surrogateescape")
            home.put_back(path, change.after, content)
    except FileProblem as problem:
        return f"`{change.path}` cannot be written: {problem.message}"
    return None
