"""Before the first step and after the last: conditions, every contract once more, the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.engine.judging.case import Case, cases, plan_scope
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.proof import Before
from planbound.engine.judging.scope import Scope
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.engine.recovery.classified import Classified
from planbound.engine.recovery.failure import Failed, FailureClass
from planbound.engine.recovery.output import lines_of
from planbound.engine.recovery.telling import contract_error
from planbound.engine.run.decide import MET, Finish, unsure_steps
from planbound.engine.run.question import Choice, QuestionKind
from planbound.engine.run.step_state import Phase
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.plan.digest import contract_digest
from planbound.plan.model import Baseline, Command
from planbound.usecases.judge import Setting, judge
from planbound.usecases.reference import forgiving
from planbound.usecases.run.answering import Answering
from planbound.usecases.run.session import Session
from planbound.usecases.verdict_events import proof_details

_BATCH = 50


class Ending:
    """What is judged about the plan as a whole."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.answering = Answering(session)
        self._left: str | None = None
        """The tree after it was judged as a whole."""

    # -- before --------------------------------------------------------------------------------

    def check_preconditions(self) -> None:
        """Judge what must be true before anything runs."""
        wanted = [
            case
            for case in self._conditions(Subject.PRECONDITION)
            if f"precondition {case.number}" not in self.session.state.answered
        ]
        tests = self.session.state.approved_tests.get
        setting = Setting(frozen=None, scope=Scope(None), tests=tests)
        self._judge(wanted, setting, final=None)

    # -- after ---------------------------------------------------------------------------------

    def check(self) -> str:
        """Judge every step once more, and the postconditions; return the tree that was judged."""
        session = self.session
        tree = self._tree()
        again = [session.case(index) for index in unsure_steps(session.state, tree)]
        again = [case._replace(baseline=Baseline.ANY, evidence=None) for case in again]
        conditions = [
            case
            for case in self._conditions(Subject.POSTCONDITION)
            if not self._is_settled(case, tree)
        ]
        earlier = session.state.earlier
        setting = Setting(
            frozen=self._reference(),
            scope=plan_scope(session.layout.plan),
            plan_changed=session.changed_plan(),
            earlier=lambda name, of: frozenset(earlier.get((name, of), ())),
            before=self._before,
            # A step is compared with what was there before it; the end with what was approved.
            tests={**session.state.tests, **self._approved_tests(conditions)}.get,
        )
        self._judge([*again, *conditions], setting, final=tree)
        if session.control.reason is None:
            self._ask_about(conditions)
        self._left = tree if session.is_bare else self._tree()
        return tree

    def is_judged(self) -> bool:
        """Say whether the tree still is what the last check left; without a cell nobody knows."""
        return self.session.is_bare or self._tree() == self._left

    def _tree(self) -> str:
        session = self.session
        if session.is_bare:
            return session.stamp(session.bench.tree.root)
        return session.bench.tree.manifest(session.bench.rules).digest

    def _is_settled(self, case: Case, tree: str) -> bool:
        """Say whether a postcondition holds on this tree, or a person answers for it."""
        state = self.session.state
        found = state.conditions.get(case.number)
        if found == VerdictKind.PASS.value:
            return state.condition_trees.get(case.number) == tree
        return found in MET

    def _reference(self) -> Frozen | None:
        """Return the approved tree, with what people and other plans changed out of scope since."""
        session = self.session
        approved, bench = session.approved, session.bench
        if approved is None or session.is_bare:
            return approved
        plan = session.layout.plan
        now = bench.tree.manifest(bench.rules)
        return forgiving(approved, now, cases(plan), plan_scope(plan), bench.vault)

    def _conditions(self, subject: Subject) -> list[Case]:
        return [case for case in cases(self.session.layout.plan) if case.subject is subject]

    def _approved_tests(self, conditions: Iterable[Case]) -> dict[str, str]:
        known = self.session.state.approved_tests
        commands = [each.contract for each in conditions if isinstance(each.contract, Command)]
        return {name: known[name] for each in commands if (name := contract_digest(each)) in known}

    def _judge(self, wanted: list[Case], setting: Setting, *, final: str | None) -> None:
        session = self.session
        drafts: list[Draft] = []
        judged = [case for case in wanted if isinstance(case.contract, Command)]
        for verdict in judge(session.bench, judged, setting):
            if session.control.reason is not None:
                break
            if session.is_bare and final is not None:
                verdict = verdict._replace(tree=final)  # noqa: PLW2901 - nobody looked at a tree
            drafts.extend(self._judged(verdict, final=final is not None))
            if len(drafts) >= _BATCH:
                session.append(drafts)
                drafts = []
        session.append(drafts)

    def _before(self, case: Case) -> Before:
        """Return what a contract said before the work: of a postcondition that is the approval."""
        state = self.session.state
        slot = state.layout.find(case.number) if case.subject is Subject.STEP else None
        if slot is not None:
            return state.steps[slot.place].before
        look, approved = state.condition_looks.get(case.number), self.session.approved
        if look is not None and approved is not None and not self.session.is_bare:
            # As it looks to a run, which leaves the harness's own files out.
            look = look._replace(tree=approved.manifest.digest)
        return Before(approval=look)

    def _judged(self, verdict: Verdict, *, final: bool) -> Iterator[Draft]:
        session = self.session
        slot = None
        if verdict.subject is Subject.STEP:
            slot = session.layout.find(verdict.id or verdict.number)
        extra: dict[str, Json] = {"final": True} if final else {}
        if verdict.subject is Subject.POSTCONDITION and verdict.proof is not None:
            extra |= {**proof_details(verdict.proof), "reason": verdict.reason}
        yield session.notes.verdict(EventKind.CONTRACT_EVALUATED, verdict, slot, extra)
        if verdict.kind is VerdictKind.PASS or not final:
            return
        number = verdict.number
        found = Classified(FailureClass.LOGIC, "regressed" if slot else "postcondition-failed")
        attempt = session.state.steps[slot.place].attempts if slot else 1
        reason = "regressed" if slot else "the postcondition does not hold"
        outcome = verdict.outcome
        printed = lines_of(session.notes.tail(outcome)) if outcome else ()
        failure: dict[str, Json] = {
            "error_message": contract_error(verdict.reason, printed),
            "failed": Failed.CONTRACT.value,
            "verdict": verdict.kind.value,
            "reason": reason,
        }
        yield from session.notes.failure(slot, attempt, found, failure)
        if slot is not None:
            kind = QuestionKind.REGRESSION
            held = session.state.steps[slot.place].phase is Phase.HOLDS
            was = "held" if held else "was proved"
            text = f"regressed: step {number} {was}, and on the final tree: {verdict.reason}"
            choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        else:
            kind = QuestionKind.CONDITION
            text = f"postcondition {number} does not hold: {verdict.title}: {verdict.reason}"
            choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        details: dict[str, Json] = {
            "failure_type": found.kind.value,
            "verdict": verdict.kind.value,
            "subject": verdict.subject.value,
            "number": number,
            "output_tail": session.notes.tail(verdict.outcome) if verdict.outcome else "",
        }
        yield self.answering.question(kind, slot, text, choices, details)

    def _ask_about(self, conditions: list[Case]) -> None:
        """Ask a person for what no command can say."""
        drafts = []
        for case in conditions:
            if isinstance(case.contract, Command) or self._is_asked(case):
                continue
            text = f"postcondition {case.number} has to be attested: {case.title}"
            details: dict[str, Json] = {"subject": "postcondition", "number": case.number}
            choices = (Choice.ABORT, Choice.REVISE)
            drafts.append(
                self.answering.question(QuestionKind.ATTESTATION, None, text, choices, details)
            )
        self.session.append(drafts)

    def _is_asked(self, case: Case) -> bool:
        return any(
            question.subject == "postcondition" and question.number == case.number
            for question in self.session.state.questions.values()
        )

    # -- the end -------------------------------------------------------------------------------

    def drafts(self, action: Finish) -> list[Draft]:
        """Return the events that end a run: steps that failed, and the last one of all."""
        session, state = self.session, self.session.state
        drafts: list[Draft] = []
        for index in list(state.open):
            step, slot = state.steps[index], state.layout.slots[index]
            failed = step.phase is Phase.WAITING or (
                step.phase is Phase.STARTED and action.status in {"cancelled", "failed"}
            )
            if failed:
                found = Classified(FailureClass.UNRECOVERABLE, "run-ended")
                drafts.extend(self.answering.fail(slot, step.attempts, action.reason, found))
        failed_now = sum(draft.event is EventKind.TASK_FAILED for draft in drafts)
        held = [state.conditions.get(str(each.number)) in MET for each in state.layout.conditions]
        details: dict[str, Json] = {
            "completed": state.count(Phase.PROVED),
            "holds": state.count(Phase.HOLDS),
            "attested": state.count(Phase.ATTESTED),
            "failed": state.count(Phase.FAILED) + failed_now,
            "skipped": state.count(Phase.SKIPPED),
            "waived": state.count(Phase.WAIVED),
            "status": action.status,
            "postconditions": sum(held),
            "conditions": len(held),
            "recoveries": state.recoveries,
            "tokens": state.spent.tokens,
            **({"estimated": state.spent.estimated} if state.spent.estimated else {}),
            "dollars": str(state.spent.dollars),
            "unmetered": state.spent.unmetered,
            "duration": round(state.session_seconds(), 3),
            "revision": state.revision,
            "digest": session.digest,
            **session.seen(),
        }
        if action.reason:
            details["reason"] = action.reason
        drafts.append(session.notes.about(EventKind.EXECUTION_COMPLETE, None, details))
        return drafts
