"""What people do around a run: the commands, without their faces."""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import Decimal
from functools import lru_cache

from planbound.approval import modify as amending
from planbound.approval import record as gate
from planbound.approval.modify import refuse_needed
from planbound.approval.record import approved_state
from planbound.approval.sheet import Sheet, judge_digests
from planbound.errors import NothingToDo, Refused
from planbound.journal.leases import Claim, hold_lease
from planbound.journal.record import HeldLease
from planbound.journal.words import Choice, Method, PersonMethod, QuestionKind
from planbound.judging.case import cases
from planbound.judging.judge import Taken, note_baseline, observe
from planbound.judging.reference import FrozenTree, freeze
from planbound.plan.digest import digest
from planbound.plan.limits import Budget
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse, write
from planbound.run import people as answers
from planbound.run.decide import Finish, Pace, decide
from planbound.run.ending import Projection, RunEnding
from planbound.run.loop import CANCELLED
from planbound.run.session import RunSession
from planbound.run.start import claim_of
from planbound.state.approval import Approval
from planbound.state.question import Question
from planbound.state.run import RunState
from planbound.workspace.configuration_digest import configuration_digest
from tests.run_model.world import FILE, SLUG, World


@lru_cache(maxsize=200)
def read(data: bytes) -> Plan:
    """Return a plan; most are looked at again and again."""
    return parse(data, path=FILE.shown)


WHO = answers.Person("somebody", PersonMethod.TERMINAL)


class People:
    """Somebody at the keyboard."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.recorder = world.recorder

    def plan(self) -> Plan:
        """Return the plan as its file is now."""
        return read(self.world.plan_data())

    def state(self) -> RunState:
        """Return where the plan is, as every command reads it."""
        return approved_state(self.recorder, self.world.vault, SLUG, self.world.plan_data())

    def driver_name(self) -> str | None:
        """Return who drives the plan now."""
        for held in self.world.journal.leases().held():
            if not held.expired:
                return held.claim.holder
        return None

    # -- the gate ------------------------------------------------------------------------------

    def approve(self, skipped: str | None = None) -> None:
        """Approve the plan as it is."""
        world = self.world
        plan = self.plan()
        state = self.state()
        is_running = state.run is not None and state.ended is None
        if state.approval and state.approval.digest == digest(plan) and is_running:
            raise NothingToDo("its run is under way")
        changes: tuple[str, ...] = ()
        if skipped is not None:
            refuse_needed(plan, [skipped])
            changes = (f"skip {skipped}",)
        tree, sheet = self._sheet(plan)
        approval = Approval(
            nonce=world.name("nonce-"),
            digest=sheet.digest,
            judges=sheet.judges,
            configuration=sheet.configuration,
            by=WHO.name,
            method=Method.TERMINAL,
            modifications=changes,
            project="project",
        )
        text = gate.keep_text(world.vault, world.plan_data())
        taken = Taken(tree, sheet.digest, sheet.configuration)
        with self._hold():
            self._keep_proofs(plan)
            note_baseline(self.recorder, SLUG, taken, sheet.baseline)
            gate.record_approval(self.recorder, sheet, approval, text=text)
        self._show(PlanStatus.APPROVED)

    def _sheet(self, plan: Plan) -> tuple[FrozenTree, Sheet]:
        judging, found = self.world.judging(), tuple(cases(plan))
        with self.world.quiet():
            tree = freeze(judging.tree, judging.vault, judging.rules)
            return tree, Sheet(
                plan=plan,
                slug=SLUG,
                digest=digest(plan),
                tree=tree.manifest.digest,
                judges=judge_digests(found, tree.manifest, judging.vault),
                configuration=configuration_digest(judging.configuration),
                baseline=tuple(observe(judging, found)),
            )

    def look(self) -> None:
        """Look at the sheet without a terminal: the approval waits from then on."""
        state, plan = self.state(), self.plan()
        if state.approval and state.approval.digest == digest(plan) and state.ended is None:
            raise NothingToDo("it is approved")
        gate.record_request(self.recorder, self._sheet(plan)[1])
        waiting = [each.digest for each in self.questions() if each.kind is QuestionKind.APPROVAL]
        assert waiting == [digest(plan)], "who is told that it waits finds it in the inbox"

    def verify(self) -> None:
        """Verify the plan as it is."""
        self.recorder.verified(SLUG, self.plan(), path=FILE.shown, warnings=0)

    def ask(self) -> None:
        """Ask something about the plan."""
        gate.record_question(self.recorder, SLUG, self.plan(), by=WHO.name, question="why?")

    def clarify(self, question: Question) -> None:
        """Answer what was asked about the plan."""
        answers.clarify(self.recorder, question, WHO, "because")

    def _hold(self) -> AbstractContextManager[HeldLease]:
        self.world.holder = self.driver_name() or WHO.name
        claim = Claim(SLUG, worktree=f"the gate of {SLUG}", touches=None, holder=WHO.name)
        return hold_lease(self.world.journal.leases(), claim)

    def _keep_proofs(self, plan: Plan) -> None:
        before = gate.last_text(self.world.journal, self.world.vault, SLUG)
        if before is None:
            return
        approved = parse(before, path="approved")
        try:
            amendment = amending.examine(self.recorder, SLUG, approved, plan)
        except (NothingToDo, Refused):
            return
        amending.record_amendment(
            self.recorder, SLUG, (approved, plan), amendment, gate.Rewriting(WHO.name, "")
        )

    def amend(self) -> None:
        """Take the text in the file as the next revision."""
        before = gate.last_text(self.world.journal, self.world.vault, SLUG)
        if before is None:
            raise Refused("it was never approved")
        plans = (parse(before, path="approved"), self.plan())
        with self._hold():
            amendment = amending.examine(self.recorder, SLUG, *plans)
            amending.record_amendment(
                self.recorder, SLUG, plans, amendment, gate.Rewriting(WHO.name, "better")
            )
        self._show(PlanStatus.DRAFT)

    def reject(self) -> None:
        """Refuse the plan."""
        gate.record_rejection(
            self.recorder, SLUG, self.plan(), by=WHO.name, reason="no", method=None
        )
        self._show(PlanStatus.DRAFT)

    def _show(self, status: PlanStatus) -> None:
        data = self.world.plan_data()
        with self.world.quiet():
            gate.show_status(self.world.disk, FILE, data, self.plan(), status)

    # -- the run -------------------------------------------------------------------------------

    def questions(self) -> list[Question]:
        """Return what waits for somebody."""
        return answers.questions(self.world.journal, SLUG)

    def answer(self, question: Question, choice: Choice, guidance: str = "") -> None:
        """Answer a question."""
        if choice is Choice.RAISE and choice in question.choices:
            more = Budget(tokens=2000, seconds=Decimal(10**6))
            answers.raise_budget(self.recorder, question, WHO, more)
            return
        answers.answer(self.recorder, question, choice, WHO, guidance, self.state())

    def waive(self, subject: str, reason: str) -> None:
        """Go on without a pass."""
        answers.waive(self.recorder, SLUG, self.state(), subject, reason, WHO)

    def attest(self, subject: str) -> None:
        """Sign a statement."""
        answers.attest(self.recorder, SLUG, self.state(), subject, WHO)

    def settle(self, question: Question) -> None:
        """Do away with a question by whatever helps for certain."""
        if question.kind is QuestionKind.BUDGET:
            self.answer(question, Choice.RAISE)
            return
        subject = question.task_id or f"{question.subject}:{question.number}"
        if question.kind is QuestionKind.ATTESTATION:
            self.attest(subject)
        else:
            self.waive(subject, "enough")

    def cancel(self, *, noticed: bool) -> None:
        """End the run; `noticed`: whoever drives it has seen that at once."""
        answers.cancel(self.recorder, SLUG, self.state(), WHO, "")
        holder = self.driver_name()
        if holder is not None:
            for driver in self.world.living:
                if driver.holder == holder and driver.session is not None and noticed:
                    driver.session.control.stop(CANCELLED)
            return
        world, state = self.world, self.state()
        name = world.name("canceller-")
        context = world.context(name)
        with world.quiet():
            held_lease = context.leases.acquire(claim_of(context, state.layout.plan), seconds=1e9)
            world.holder = name
            action = decide(state, Pace(now=world.clock.now()))
            data = write(state.layout.plan)
            session = RunSession(context, state, held_lease, data=data, run=state.run or "")
            assert isinstance(action, Finish)
            session.append(RunEnding(session).drafts(action, session.seen()))
            Projection(session).finish()
            context.leases.release(held_lease)
