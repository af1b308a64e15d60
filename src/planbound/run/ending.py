"""Before the first step and after the last: conditions, every contract once more, the end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from planbound.agents.output import lines_of
from planbound.errors import ConcurrentModification, FileProblem
from planbound.journal.event import (
    EventKind,
    ExecutionComplete,
    FailureDetected,
    RecoveryEscalation,
    RunOutcome,
    VerdictKind,
    replaced,
)
from planbound.journal.record import Draft
from planbound.journal.words import (
    Choice,
    Failed,
    FailureClass,
    QuestionKind,
    QuestionSubject,
    SubjectKind,
)
from planbound.judging.case import Case, Scope, asks_git
from planbound.judging.contract import Setting
from planbound.judging.events import shown_proof
from planbound.judging.judge import judge
from planbound.judging.reference import Frozen, with_changes_of_others
from planbound.judging.together import judge_together
from planbound.judging.verdict import Verdict
from planbound.plan.digest import contract_digest
from planbound.plan.edit import ProgressMarks
from planbound.plan.model import Baseline, Judged, PlanStatus, StepStatus
from planbound.plan.parse import parse
from planbound.run.answer import FailureAnswers
from planbound.run.classify import Classified, contract_error
from planbound.run.decide import Finish, unsure_steps
from planbound.run.session import RunSession, SeenTree
from planbound.state.plan import plan_status
from planbound.state.run import MET, Slot
from planbound.state.step import Before
from planbound.workspace.manifest import Manifest

_BATCH = 50


class RunEnding:
    """What is judged about the plan as a whole."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self.answers = FailureAnswers(session)
        self._judged_tree: str | None = None
        """The tree after it was judged as a whole."""

    # -- before --------------------------------------------------------------------------------

    def check_preconditions(self) -> None:
        """Judge what must be true before anything runs."""
        wanted = [
            case
            for case in self._conditions(SubjectKind.PRECONDITION)
            if f"precondition {case.number}" not in self.session.state.answered
        ]
        tests = self.session.state.approved_tests
        setting = Setting(frozen=None, scope=Scope(None), tests=tests)
        self._judge(wanted, setting, final=None)

    # -- after ---------------------------------------------------------------------------------

    def check(self) -> str:
        """Judge every step once more, and the postconditions; return the tree that was judged."""
        session = self.session
        now = self._tree()
        tree = now.digest
        again = [session.case(index) for index in unsure_steps(session.state, tree)]
        again = [case._replace(baseline=Baseline.ANY, evidence=None) for case in again]
        conditions = [
            case
            for case in self._conditions(SubjectKind.POSTCONDITION)
            if not self._is_settled(case, tree)
        ]
        if again or conditions:
            self._judge([*again, *conditions], self._last_setting(now, conditions), final=now)
        if session.control.reason is None:
            self._ask_about(conditions)
        self._judged_tree = tree
        return tree

    def _last_setting(self, now: Manifest, conditions: list[Case]) -> Setting:
        session = self.session
        return Setting(
            frozen=self._reference(now),
            scope=session.scope,
            plan_changed=session.changed_plan(),
            earlier=session.state.earlier,
            before=self._before,
            # A step is compared with what was there before it; the end with what was approved.
            tests={**session.state.tests, **self._approved_tests(conditions)},
        )

    def is_judged(self, tree: SeenTree) -> bool:
        """Say whether a tree is what the last check judged."""
        return tree.digest == self._judged_tree

    def _tree(self) -> Manifest:
        session = self.session
        return session.judging.tree.manifest(session.judging.rules)

    def _is_settled(self, case: Case, tree: str) -> bool:
        """Say whether a postcondition holds on this tree, or a person answers for it."""
        state = self.session.state
        found = state.conditions.get(case.number)
        if found is VerdictKind.PASS:
            return state.condition_trees.get(case.number) == tree and not asks_git(case.contract)
        return found in MET

    def _reference(self, now: Manifest) -> Frozen | None:
        """Return the approved tree, with what people and other plans changed out of scope since."""
        session = self.session
        approved, judging = session.approved, session.judging
        if approved is None:
            return None
        found = session.cases
        return with_changes_of_others(approved, now, found, session.scope, judging.vault)

    def _conditions(self, subject: SubjectKind) -> list[Case]:
        return [case for case in self.session.cases if case.subject is subject]

    def _approved_tests(self, conditions: Iterable[Case]) -> dict[str, str]:
        known = self.session.state.approved_tests
        commands = [each.contract for each in conditions if isinstance(each.contract, Judged)]
        return {name: known[name] for each in commands if (name := contract_digest(each)) in known}

    def _judge(self, wanted: list[Case], setting: Setting, *, final: Manifest | None) -> None:
        session = self.session
        drafts: list[Draft] = []
        judged = [case for case in wanted if isinstance(case.contract, Judged)]
        found: Iterable[Verdict]
        if final is None:
            found = judge(session.judging, judged, setting)
        else:
            found = judge_together(session.judging, judged, setting, final)
        for verdict in found:
            if session.control.reason is not None:
                break
            drafts.extend(self._judged(verdict, final=final is not None))
            if len(drafts) >= _BATCH:
                session.append(drafts)
                drafts = []
        session.append(drafts)

    def _before(self, case: Case) -> Before:
        """Return what a contract said before the work: of a postcondition that is the approval."""
        state = self.session.state
        slot = state.layout.find(case.number) if case.subject is SubjectKind.STEP else None
        if slot is not None:
            return state.steps[slot.place].before
        look, approved = state.condition_looks.get(case.number), self.session.approved
        if look is not None and approved is not None:
            # As it looks to a run, which leaves the harness's own files out.
            look = look._replace(tree=approved.manifest.digest)
        return Before(approval=look)

    def _judged(self, verdict: Verdict, *, final: bool) -> Iterator[Draft]:
        session = self.session
        slot = None
        if verdict.subject is SubjectKind.STEP:
            slot = session.layout.find(verdict.id or verdict.number)
        event = replaced(session.notes.evaluation(verdict), final=True if final else None)
        if verdict.subject is SubjectKind.POSTCONDITION and verdict.proof is not None:
            proof = shown_proof(verdict.proof)
            event = replaced(
                event,
                result=proof.result,
                baseline=proof.baseline,
                baseline_at=proof.baseline_at,
            )
        yield session.notes.evaluated(verdict, slot, event)
        if verdict.kind is VerdictKind.PASS or not final:
            return
        number = verdict.number
        found = Classified(FailureClass.LOGIC, "regressed" if slot else "postcondition-failed")
        attempt = session.state.steps[slot.place].attempts if slot else 1
        reason = FailureDetected.REGRESSED if slot else "the postcondition does not hold"
        outcome = verdict.outcome
        printed = lines_of(session.notes.tail(outcome)) if outcome else ()
        failure = FailureDetected(
            error_message=contract_error(verdict.reason, printed),
            failed=Failed.CONTRACT,
            verdict=verdict.kind.value,
            reason=reason,
        )
        yield from session.notes.failure(slot, attempt, found, failure)
        if slot is not None:
            kind = QuestionKind.REGRESSION
            held = session.state.steps[slot.place].status is StepStatus.HOLDS
            was = "held" if held else "was proved"
            text = f"regressed: step {number} {was}, and on the final tree: {verdict.reason}"
            choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        else:
            kind = QuestionKind.CONDITION
            text = f"postcondition {number} does not hold: {verdict.title}: {verdict.reason}"
            choices = (Choice.RETRY, Choice.ABORT, Choice.REVISE)
        asked = RecoveryEscalation(
            reason=text,
            user_decision=None,
            failure_type=found.kind,
            verdict=verdict.kind.value,
            subject=QuestionSubject(verdict.subject.value),
            number=number,
            output_tail=session.notes.tail(verdict.outcome) if verdict.outcome else "",
        )
        yield self.answers.question(kind, slot, choices, asked)

    def _ask_about(self, conditions: list[Case]) -> None:
        """Ask a person for what no command can say."""
        drafts = []
        for case in conditions:
            if isinstance(case.contract, Judged) or self._is_asked(case):
                continue
            text = f"postcondition {case.number} has to be attested: {case.title}"
            asked = RecoveryEscalation(
                reason=text,
                user_decision=None,
                subject=QuestionSubject.POSTCONDITION,
                number=case.number,
            )
            choices = (Choice.ABORT, Choice.REVISE)
            drafts.append(self.answers.question(QuestionKind.ATTESTATION, None, choices, asked))
        self.session.append(drafts)

    def _is_asked(self, case: Case) -> bool:
        return any(
            question.subject is QuestionSubject.POSTCONDITION and question.number == case.number
            for question in self.session.state.questions.values()
        )

    # -- the end -------------------------------------------------------------------------------

    def drafts(self, action: Finish, tree: SeenTree) -> list[Draft]:
        """Return the events that end a run on a tree: steps that failed, and the last of all."""
        session, state = self.session, self.session.state
        drafts: list[Draft] = []
        for index in list(state.open):
            step, slot = state.steps[index], state.layout.slots[index]
            failed = step.status is StepStatus.WAITING or (
                step.status is StepStatus.IN_PROGRESS
                and action.status in {RunOutcome.CANCELLED, RunOutcome.FAILED}
            )
            if failed:
                found = Classified(FailureClass.UNRECOVERABLE, "run-ended")
                drafts.extend(self.answers.fail(slot, step.attempts, action.reason, found))
        failed_now = sum(draft.kind is EventKind.TASK_FAILED for draft in drafts)
        held = [state.conditions.get(str(each.number)) in MET for each in state.layout.conditions]
        event = ExecutionComplete(
            completed=state.count(StepStatus.DONE),
            holds=state.count(StepStatus.HOLDS),
            attested=state.count(StepStatus.ATTESTED),
            failed=state.count(StepStatus.FAILED) + failed_now,
            skipped=state.count(StepStatus.SKIPPED),
            waived=state.count(StepStatus.WAIVED),
            status=action.status,
            postconditions=sum(held),
            conditions=len(held),
            recoveries=state.recoveries,
            tokens=state.spent.tokens,
            estimated=state.spent.estimated or None,
            dollars=str(state.spent.dollars),
            unmetered=state.spent.unmetered,
            duration=round(state.session_seconds(), 3),
            revision=state.revision,
            digest=session.digest,
            tree=tree.digest,
            manifest=tree.manifest,
            reason=action.reason or None,
        )
        drafts.append(session.notes.about(event, None))
        return drafts


# -- what people read: the marks in the plan's file. They follow the journal, never lead it ------


_EVERY = 1.0
"""How many seconds apart a large file is written at least, while the run goes on."""


class Projection:
    """Writes the marks of one plan."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self._written = 0.0
        self._took = 0.0
        self._marks = ProgressMarks(session.layout.plan)
        self._mine = session.data

    def show_soon(self) -> None:
        """Write the marks, unless they were written a moment ago."""
        if time.monotonic() - self._written >= max(_EVERY, 20 * self._took):
            self.show()

    def show(self, working: Slot | None = None) -> bool:
        """Write where the steps are; `working` is about to begin. Say whether that was due."""
        if working is not None and time.monotonic() - self._written < max(_EVERY, 20 * self._took):
            return False
        self._write(PlanStatus.IN_PROGRESS, working)
        return True

    def finish(self) -> None:
        """Write what the run came to, by the journal."""
        session = self.session
        session.refresh(at_once=True)
        self._write(plan_status(session.state.plan, session.digest), None)
        session.context.snapshots.forget()

    def _write(self, status: PlanStatus, working: Slot | None) -> None:
        start = time.monotonic()
        session = self.session
        steps = [step.status for step in session.state.steps]
        if working is not None:
            steps[working.place] = StepStatus.IN_PROGRESS
        file = session.context.file
        try:
            if session.changed_plan() is not None:
                return  # a person has another text there: that is theirs
            if session.data != self._mine:
                # Somebody wrote in it what does not change its meaning: their text is kept.
                self._marks = ProgressMarks(parse(session.data, path=file.shown))
            data = self._marks.shown(status, steps).to_bytes()
            if data != session.data:
                session.context.files.replace(file.path, data, expected=session.data)
                session.data = data
            self._mine = session.data
            if self._written:  # what took a moment only is soon made anew
                self._keep(status)
        except (ConcurrentModification, FileProblem):
            pass  # the journal has it; `doctor` says where file and journal disagree
        self._written = time.monotonic()
        self._took = self._written - start

    def _keep(self, status: PlanStatus) -> None:
        """Spare who goes on with this run what took long; in the time that writing marks has."""
        session = self.session
        if status is PlanStatus.IN_PROGRESS:
            session.context.snapshots.keep_plan(self._marks.plan, session.data)
            if session.last is not None:
                session.context.snapshots.keep_state(session.state.plan, session.last)
