"""What people do around a run: the commands, without their faces."""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import Decimal
from functools import lru_cache

from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.gate.approval import Approval, Method
from planbound.engine.judging.case import cases
from planbound.engine.run.decide import Finish, Pace, decide
from planbound.engine.run.question import Choice, Question, QuestionKind
from planbound.engine.run.state import RunState
from planbound.errors import NothingToDo, Refused
from planbound.plan.digest import digest
from planbound.plan.limits import Budget
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse, write
from planbound.usecases import amend as amending
from planbound.usecases import answer as answering
from planbound.usecases import gate
from planbound.usecases.baseline import FrozenTree, Taken, freeze, note_baseline, observe
from planbound.usecases.modify import refuse_needed
from planbound.usecases.run.ending import Ending
from planbound.usecases.run.projection import Projection
from planbound.usecases.run.runner import CANCELLED
from planbound.usecases.run.session import Session
from planbound.usecases.run.start import claim_of
from planbound.usecases.stillness import nobody_runs
from tests.run_model.world import FILE, SLUG, World


@lru_cache(maxsize=200)
def read(data: bytes) -> Plan:
    """Return a plan; most are looked at again and again."""
    return parse(data, path=FILE.shown)


WHO = answering.Person("somebody", "terminal")


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
        return answering.state_of(self.recorder, self.world.vault, SLUG, self.world.plan_data())

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
        if state.approval and state.approval.digest == digest(plan) and state.is_running:
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
            method=Method.TERMINAL.value,
            modifications=changes,
            project="project",
        )
        text = gate.keep_text(world.vault, world.plan_data())
        taken = Taken(tree, sheet.digest, sheet.configuration)
        with self._stillness():
            self._keep_proofs(plan)
            note_baseline(self.recorder, SLUG, taken, sheet.baseline)
            gate.approve(self.recorder, sheet, approval, text=text)
        self._show(PlanStatus.APPROVED)

    def _sheet(self, plan: Plan) -> tuple[FrozenTree, gate.Sheet]:
        bench, found = self.world.bench(), tuple(cases(plan))
        with self.world.quiet():
            tree = freeze(bench.tree, bench.vault, bench.rules)
            return tree, gate.Sheet(
                plan=plan,
                slug=SLUG,
                digest=digest(plan),
                tree=tree.manifest.digest,
                judges=gate.judge_digests(found, tree.manifest, bench.vault),
                configuration=configuration_digest(bench.configuration),
                baseline=tuple(observe(bench, found)),
            )

    def look(self) -> None:
        """Look at the sheet without a terminal: the approval waits from then on."""
        state, plan = self.state(), self.plan()
        if state.approval and state.approval.digest == digest(plan) and state.ended is None:
            raise NothingToDo("it is approved")
        gate.request(self.recorder, self._sheet(plan)[1])
        waiting = [each.digest for each in self.questions() if each.kind is QuestionKind.APPROVAL]
        assert waiting == [digest(plan)], "who is told that it waits finds it in the inbox"

    def verify(self) -> None:
        """Verify the plan as it is."""
        self.recorder.verified(SLUG, self.plan(), path=FILE.shown, warnings=0)

    def ask(self) -> None:
        """Ask something about the plan."""
        gate.ask(self.recorder, SLUG, self.plan(), by=WHO.name, question="why?")

    def clarify(self, question: Question) -> None:
        """Answer what was asked about the plan."""
        answering.clarify(self.recorder, question, WHO, "because")

    def _stillness(self) -> AbstractContextManager[None]:
        self.world.holder = self.driver_name() or WHO.name
        return nobody_runs(self.world.journal.leases(), SLUG, holder=WHO.name)

    def _keep_proofs(self, plan: Plan) -> None:
        before = gate.last_text(self.world.journal, self.world.vault, SLUG)
        if before is None:
            return
        approved = parse(before, path="approved")
        try:
            amendment = amending.examine(self.recorder, SLUG, approved, plan)
        except (NothingToDo, Refused):
            return
        amending.amend(self.recorder, SLUG, (approved, plan), amendment, by=WHO.name, reason="")

    def amend(self) -> None:
        """Take the text in the file as the next revision."""
        before = gate.last_text(self.world.journal, self.world.vault, SLUG)
        if before is None:
            raise Refused("it was never approved")
        plans = (parse(before, path="approved"), self.plan())
        with self._stillness():
            amendment = amending.examine(self.recorder, SLUG, *plans)
            amending.amend(self.recorder, SLUG, plans, amendment, by=WHO.name, reason="better")
        self._show(PlanStatus.DRAFT)

    def reject(self) -> None:
        """Refuse the plan."""
        gate.reject(self.recorder, SLUG, self.plan(), by=WHO.name, reason="no")
        self._show(PlanStatus.DRAFT)

    def _show(self, status: PlanStatus) -> None:
        data = self.world.plan_data()
        with self.world.quiet():
            gate.show_status(self.world.disk, FILE, data, self.plan(), status)

    # -- the run -------------------------------------------------------------------------------

    def questions(self) -> list[Question]:
        """Return what waits for somebody."""
        return answering.questions(self.world.journal, SLUG)

    def answer(self, question: Question, choice: str, guidance: str = "") -> None:
        """Answer a question."""
        if choice == Choice.RAISE.value and choice in question.choices:
            more = Budget(tokens=2000, seconds=Decimal(10**6))
            answering.raise_budget(self.recorder, question, WHO, more)
            return
        answering.answer(self.recorder, question, Choice(choice), WHO, guidance, self.state())

    def waive(self, subject: str, reason: str) -> None:
        """Go on without a pass."""
        answering.waive(self.recorder, SLUG, self.state(), subject, reason, WHO)

    def attest(self, subject: str) -> None:
        """Sign a statement."""
        answering.attest(self.recorder, SLUG, self.state(), subject, WHO)

    def settle(self, question: Question) -> None:
        """Do away with a question by whatever helps for certain."""
        if question.kind is QuestionKind.BUDGET:
            self.answer(question, Choice.RAISE.value)
            return
        subject = question.task_id or f"{question.subject}:{question.number}"
        if question.kind is QuestionKind.ATTESTATION:
            self.attest(subject)
        else:
            self.waive(subject, "enough")

    def cancel(self, *, noticed: bool) -> None:
        """End the run; `noticed`: whoever drives it has seen that at once."""
        answering.cancel(self.recorder, SLUG, self.state(), WHO, "")
        holder = self.driver_name()
        if holder is not None:
            for driver in self.world.living:
                if driver.holder == holder and driver.session is not None and noticed:
                    driver.session.control.stop(CANCELLED)
            return
        world, state = self.world, self.state()
        name = world.name("canceller-")
        desk = world.desk(name)
        with world.quiet():
            fence = desk.leases.acquire(claim_of(desk, state.layout.plan), seconds=1e9)
            world.holder = name
            action = decide(state, Pace(now=world.clock.now()))
            data = write(state.layout.plan)
            session = Session(desk, state, fence, data=data, run=state.run or "")
            assert isinstance(action, Finish)
            session.append(Ending(session).drafts(action))
            Projection(session).finish()
            desk.leases.release(fence)
