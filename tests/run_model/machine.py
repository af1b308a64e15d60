"""The state machine: rules that may follow each other in any order, and what holds after each."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import currently_in_test_context, note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from planbound.approval import record as gate
from planbound.errors import LeaseLost, NothingToDo, PlanboundError, Refused, UsageError
from planbound.journal.event import EventKind, RunOutcome
from planbound.journal.record import Record
from planbound.journal.words import Choice, QuestionKind
from planbound.plan.digest import digest
from planbound.plan.edit import mark_progress
from planbound.plan.model import PlanStatus, StepStatus
from planbound.run.loop import Again, Asking, Halted, Later, Next, RunEnded
from planbound.state.plan import PlanState
from planbound.state.question import Question
from planbound.state.run import RunState
from planbound.workspace.progress import ProgressLines
from tests.run_model.checker import SETTLED, Checker
from tests.run_model.people import People, read
from tests.run_model.plans import LETTERS, PlanShape, changed, plan_shapes
from tests.run_model.views import Folds, Views, run_state
from tests.run_model.world import (
    FILE,
    JUDGE,
    SECRETS,
    SLUG,
    SUBVERTED,
    Attempt,
    Crash,
    Driver,
    Judged,
    Work,
    World,
)

MOST_TURNS = 80
"""So many turns in a row at most before a run has to wait for somebody or something, or ends."""
_MOST_ROUNDS = 60
_CLOCKED = ("session", "order", "ending")
_HARMLESS = (Refused, NothingToDo, UsageError)
"""What people are told whose wish cannot be granted."""


class Script(NamedTuple):
    """What agents do, one after the other, and what contracts come to."""

    attempts: list[Attempt] = []  # noqa: RUF012 - never changed
    verdicts: list[Judged] = []  # noqa: RUF012
    usual: Work = Work.RIGHT
    """What agents do from then on: some never learn."""


scripts = st.builds(
    Script,
    attempts=st.lists(
        st.builds(
            Attempt,
            work=st.sampled_from([*Work, *[Work.RIGHT] * 4, *[Work.WRONG, Work.NOTHING] * 2]),
            tokens=st.sampled_from((10, 10, 10, None, 300, 700)),
            talks=st.booleans(),
        ),
        max_size=4,
    ),
    verdicts=st.lists(st.sampled_from([*Judged, *[Judged.HONEST] * 12]), max_size=5),
    usual=st.sampled_from([*[Work.RIGHT] * 5, Work.WRONG, Work.OUTSIDE, Work.TRANSIENT]),
)
ANSWERS = ("retry", "retry", "retry", "settle", "settle", "skip", "skip", "abort", "revise")
MEDDLING = (
    "edit file", "remove file", "put judges back", "tick", "waive", "attest", "leases expire",
    "time passes",
)  # fmt: skip
DECISIONS = (
    "approve", "reject", "cancel", "edit plan", "put plan back", "rewrite", "amend", "amend",
    "look", "verify", "ask",
)  # fmt: skip
_PATHS = ("src/a/work", "src/b/work", "elsewhere/file", "tests/check-a.sh", "src/not-ready")
MEANWHILE = (
    "crash", "crash", "crash", "cancel", "overtake", "edit plan", "tick", "edit file", "waive",
    "reject", "stop",
)  # fmt: skip
meanwhile = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from(MEANWHILE)), max_size=2, unique_by=lambda x: x[0]
)
numbers = st.integers(0, 5)


class RunMachine(RuleBasedStateMachine):
    """One plan, its runners, and everybody who meddles."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.clock_patch = pytest.MonkeyPatch()
        self.shapes: dict[str, PlanShape] = {}
        self.last = 0

    @initialize(
        shape=plan_shapes(),
        jobs=st.sampled_from((1, 2)),
        approved=st.integers(0, 4),
    )
    def begin(self, shape: PlanShape, jobs: int, *, approved: int) -> None:
        self.shape, self.jobs = shape, jobs
        self.world = World(shape.text())
        for module in _CLOCKED:
            self.clock_patch.setattr(f"planbound.run.{module}.time", self.world.clock)
        self.people = People(self.world)
        self.folds, self.views = Folds(), Views(self.world, self.people)
        self.state: RunState | None = None
        self.shown = b""
        self.progress = ProgressLines()
        self.checker = Checker(self.shapes, SECRETS, subverted=SUBVERTED)
        self._know(shape)
        self.world.recorder.created(SLUG, self.people.plan(), path=FILE.shown, origin="new")
        if approved:
            self.people.approve()
            if approved > 1:
                self._start()

    def teardown(self) -> None:
        try:
            if hasattr(self, "world") and sys.exc_info()[0] is None:
                self._bring_to_its_end()
        finally:
            for driver in self.world.living if hasattr(self, "world") else ():
                driver.drop()
            self.clock_patch.undo()

    def _know(self, shape: PlanShape) -> None:
        self.shapes[digest(read(shape.text()))] = shape

    def _try(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except _HARMLESS as refusal:
            tell(f"refused: {refusal.message}")
            return False
        return True

    # -- runners -------------------------------------------------------------------------------

    def _start(self) -> Driver | None:
        held = self.people.driver_name()
        try:
            driver = self.world.start(self.jobs)
        except (Refused, NothingToDo) as refusal:
            tell(f"not started: {refusal.message}")
            return None
        assert held is None, f"{held} runs it already"
        return driver

    @rule()
    def start(self) -> None:
        self._start()

    @precondition(lambda self: self.world.living)
    @rule(
        which=numbers,
        first=numbers,
        look=st.booleans(),
        script=scripts,
        meanwhile=meanwhile,
    )
    def turn(
        self,
        which: int,
        first: int,
        *,
        look: bool,
        script: Script,
        meanwhile: list[tuple[int, str]],
    ) -> None:
        driver = self.world.living[which % len(self.world.living)]
        self._script(script)
        if look and driver.session is not None:
            driver.session.refresh(at_once=True)
        with self.world.meanwhile(self._due(driver, meanwhile)):
            self._turn(driver, first)

    @precondition(lambda self: self.world.living)
    @rule(
        which=numbers,
        first=numbers,
        patience=st.integers(0, 4),
        script=scripts,
        meanwhile=meanwhile,
    )
    def drive(
        self,
        which: int,
        first: int,
        patience: int,
        script: Script,
        meanwhile: list[tuple[int, str]],
    ) -> None:
        driver = self.world.living[which % len(self.world.living)]
        self._script(script)
        with self.world.meanwhile(self._due(driver, meanwhile)):
            self._drive(driver, patience, first)

    def _drive(self, driver: Driver, patience: int, first: int = 0) -> None:
        for _ in range(MOST_TURNS):
            said = self._turn(driver, first)
            if isinstance(said, Later) and patience:
                self.world.clock.reach(said.until)
                patience -= 1
            elif not isinstance(said, Again):
                if isinstance(said, Asking) and driver.runner is not None:
                    self._guarded(driver, lambda: driver.pause("waiting"))
                return
        raise AssertionError("the run does not come to an end")

    def _turn(self, driver: Driver, first: int) -> Next | None:
        if driver.runner is None:
            return None
        said: list[Next] = []
        assert driver.session is not None
        is_other = digest(self.people.plan()) != driver.session.digest
        self._guarded(driver, lambda: said.append(driver.turn(first)))
        if not said:
            return None
        stops = isinstance(said[0], Halted) or said[0] == RunEnded(RunOutcome.CANCELLED)
        assert stops or not is_other, "invariant 2: it goes on, and the plan is another"
        if isinstance(said[0], RunEnded):
            driver.end()
        elif isinstance(said[0], Halted):
            reason = said[0].reason
            self._guarded(driver, lambda: driver.pause(reason))
        return said[0]

    def _guarded(self, driver: Driver, action: Callable[[], object]) -> None:
        """Let a runner do something; it may be gone afterwards."""
        try:
            action()
        except Crash:
            tell(f"{driver.holder} crashed")
            driver.drop()
            self.world.gone.add(driver.holder)
        except LeaseLost:
            assert self.world.holder != driver.holder, "it lost a lease that is its own"
            tell(f"{driver.holder} was overtaken")
            driver.drop()

    def _script(self, script: Script) -> None:
        self.world.attempts.clear()
        self.world.attempts.extend(script.attempts)
        self.world.verdicts.clear()
        self.world.verdicts.extend(script.verdicts)
        self.world.usual = Attempt(script.usual)

    def _due(
        self, driver: Driver, wanted: Sequence[tuple[int, str]]
    ) -> list[tuple[int, Callable[[], None]]]:
        actions: dict[str, Callable[[], object]] = {
            "crash": crash,
            "cancel": lambda: self.people.cancel(noticed=True),
            "overtake": lambda: self._overtake(driver),
            "edit plan": lambda: self._edit_plan(0, 0),
            "tick": lambda: self._tick(0),
            "edit file": lambda: self.world.edit("src/a/work", b"by hand"),
            "waive": lambda: self.people.waive("1", "enough"),
            "reject": self.people.reject,
            "stop": lambda: _stop(driver),
        }
        return [(count, partial(_do, actions[name])) for count, name in wanted]

    def _overtake(self, driver: Driver) -> None:
        if self.people.driver_name() == driver.holder:
            self.world.gone.add(driver.holder)
            self._start()

    @precondition(lambda self: self.world.living)
    @rule(which=numbers, noticed=st.booleans())
    def crash(self, which: int, *, noticed: bool) -> None:
        driver = self.world.living[which % len(self.world.living)]
        driver.drop()
        if noticed:
            self.world.gone.add(driver.holder)

    @precondition(lambda self: self.world.living)
    @rule(which=numbers)
    def interrupt(self, which: int) -> None:
        driver = self.world.living[which % len(self.world.living)]
        self._script(Script())
        self._guarded(driver, lambda: driver.halt("interrupted"))
        assert driver.runner is None

    @rule(script=scripts, meanwhile=meanwhile, how=st.sampled_from(ANSWERS))
    def go_on(self, script: Script, meanwhile: list[tuple[int, str]], how: str) -> None:
        """Do what a patient person does: whatever it takes that the run goes on."""
        self._put_plan_back()
        if self.checker.approval is None or self.checker.ended not in {None, "failed"}:
            self._leases_expire()
            self._approve(None)
            self.holds()
        for question in self.people.questions():
            self._answer(question, how, secret=False)
        driver = next(iter(self.world.living), None) or self._start()
        if driver is not None:
            self._script(script)
            with self.world.meanwhile(self._due(driver, meanwhile)):
                self._drive(driver, patience=3)

    # -- people --------------------------------------------------------------------------------

    @precondition(lambda self: self.people.questions())
    @rule(which=numbers, how=st.sampled_from(ANSWERS), secret=st.booleans())
    def respond(self, which: int, how: str, *, secret: bool) -> None:
        waiting = self.people.questions()
        self._answer(waiting[which % len(waiting)], how, secret=secret)

    def _answer(self, question: Question, how: str, *, secret: bool) -> None:
        if how == "settle" and question.choices:
            self._try(lambda: self.people.settle(question))
        elif question.kind is QuestionKind.CLARIFICATION:
            self.people.clarify(question)
        elif question.choices:
            wanted = Choice(how)
            word = wanted if wanted in question.choices else question.choices[0]
            guidance = f"use {SECRETS[1]}" if secret else "look again"
            self._try(lambda: self.people.answer(question, word, guidance))

    @rule(what=st.sampled_from(MEDDLING), one=numbers, other=numbers)
    def meddle(self, what: str, one: int, other: int) -> None:
        """Do what nobody minds very much."""
        words = ("step", "step", "step", "step", "precondition", "postcondition")
        subject = f"{words[one]}:{other % 4 + 1}"
        match what:
            case "edit file":
                text = ("by hand", "right\n", SECRETS[1])[other % 3]
                self.world.edit(_PATHS[one % len(_PATHS)], text.encode())
            case "remove file":
                self.world.edit(_PATHS[one % len(_PATHS)], None)
            case "put judges back":
                self._put_judges_back()
            case "tick":
                self._tick(one)
            case "waive":
                self._try(lambda: self.people.waive(subject, f"see {SECRETS[0]}"))
            case "attest":
                self._try(lambda: self.people.attest(subject))
            case "leases expire":
                self._leases_expire()
            case _:
                self.world.clock.pass_by(10.0**one)

    @rule(what=st.sampled_from(DECISIONS), one=numbers, other=numbers)
    def decide(self, what: str, one: int, other: int) -> None:
        """Do what changes everything."""
        match what:
            case "approve":
                self._approve(one or None)
            case "reject":
                self._try(self.people.reject)
            case "cancel":
                self._try(lambda: self.people.cancel(noticed=bool(one % 2)))
            case "edit plan":
                self._edit_plan(one, other)
            case "put plan back":
                self._put_plan_back()
            case "look":
                self._try(self.people.look)
            case "verify":
                self.people.verify()
            case "ask":
                self.people.ask()
            case "rewrite":
                before = digest(self.people.plan())
                self._edit_plan(one, other)
                after = digest(self.people.plan())
                gate.record_change(
                    self.world.recorder, SLUG, before, after, gate.Rewriting("somebody", "so")
                )
            case _:
                self._edit_plan(one, other)
                self._try(self.people.amend)

    def _leases_expire(self) -> None:
        self.world.gone |= {driver.holder for driver in self.world.drivers}

    def _approve(self, skipped: int | None) -> None:
        self._put_judges_back()  # who approves has looked at what judges
        label = None if skipped is None else str(min(skipped, len(self.people.plan().steps)))
        self._try(lambda: self.people.approve(label))

    def _put_judges_back(self) -> None:
        for name in ("", *(f"-{letter}" for letter in LETTERS)):
            self.world.edit(f"tests/check{name}.sh", JUDGE)

    def _edit_plan(self, how: int, place: int) -> None:
        self.shape = changed(self.shape, how, place)
        self._know(self.shape)
        self.world.disk.write(FILE.path, self.shape.text())

    def _tick(self, place: int) -> None:
        plan = self.people.plan()
        steps = [step.status.value if step.status else StepStatus.PENDING for step in plan.steps]
        steps[place % len(steps)] = StepStatus.DONE
        ticked = mark_progress(plan, PlanStatus.DONE, steps).to_bytes()
        self.world.disk.write(FILE.path, ticked)

    def _put_plan_back(self) -> None:
        approval = self.checker.approval
        if approval is not None:
            self.shape = self.shapes[approval.digest]
            self.world.disk.write(FILE.path, self.shape.text())

    # -- what holds ----------------------------------------------------------------------------

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "world"):
            return
        records = self.world.records()
        for record in records[self.last :]:
            self._read(record)
        news, self.last = len(records) - self.last, len(records)
        for driver in self.world.living:
            assert driver.session is not None
            live = driver.session.state
            again = RunState(live.layout, PlanState(live.plan.slug))
            again.apply_all(record for record in records if record.seq <= live.seq)
            assert snapshot(again) == snapshot(live), "invariant 4: the live state is another"
        if news or self.world.plan_data() != self.shown:
            self.shown = self.world.plan_data()
            self.folds.agree_with_all()
            self.views.agree()
        for text in (*self.world.prompts, *self.world.lines, self.world.plan_data().decode()):
            assert not any(secret in text for secret in SECRETS), "invariant 8: a secret is told"
        self.world.prompts.clear()

    def _read(self, record: Record) -> None:
        """Take one record, and compare what the folds say of it."""
        self.world.lines.append(self.progress.line(record) or "")
        self.checker.read(record)
        self.folds.read(record)
        approval = self.checker.approval
        if record.kind is EventKind.GATE_APPROVED and approval is not None:
            text = self.shapes[approval.digest].text()
            self.state = run_state(self.world, text, self.folds.records)
        elif self.state is not None:
            self.state.apply(record)
        known = self.state if approval is not None else None
        self.folds.agree(known)
        if known is not None:
            self._phases_agree(known)

    def _phases_agree(self, state: RunState) -> None:
        told = {
            slot.id: _PHASES[step.status]
            for slot, step in zip(state.layout.slots, state.steps, strict=True)
        }
        for name, status in self.checker.counts().items():
            assert told[name] == status, f"invariant 4: {name} is {told[name]}, and {status}"

    # -- the end -------------------------------------------------------------------------------

    def _bring_to_its_end(self) -> None:
        """Whatever happened, honest work and a person's answers bring the plan to its end."""
        self.holds()
        for driver in self.world.living:
            driver.drop()
        self._leases_expire()
        self._script(Script())
        if self.checker.approval is None:
            self._approve(None)
            self.holds()
        self._put_plan_back()
        self._mend_workspace()
        state = self.people.state()
        if state.approval is not None:
            for path, content in state.approval.judges.items():
                self.world.edit(path, self.world.vault.content(bytes.fromhex(content)))
        for count in range(_MOST_ROUNDS):
            state = self.people.state()
            if state.ended not in {None, RunOutcome.FAILED}:
                if count:  # else nobody has written into the file since it was put back
                    self.views.marks_agree()
                return
            runner = self._start()
            self.holds()
            assert runner is not None, "an approved plan with an honest tree cannot go on"
            self._drive(runner, 100)
            self.holds()
            for question in self.people.questions():
                # More budget may have answered it along with another one.
                if question in self.people.questions():
                    self._settle(question, count)
                    self.holds()
            if count > 3:
                self._waive_failed()
        raise AssertionError("the plan never comes to an end")

    def _settle(self, question: Question, count: int) -> None:
        if count < 3 and Choice.RETRY in question.choices:
            self.people.answer(question, Choice.RETRY)
        elif question.kind.value not in {"approval", "clarification"}:
            self.people.settle(question)

    def _waive_failed(self) -> None:
        """Such as a step that has to be red before, and was made already."""
        state = self.people.state()
        if state.ended is RunOutcome.FAILED:
            for index in list(state.failed()):
                self.people.waive(state.layout.slots[index].id, "enough")
                self.holds()

    def _mend_workspace(self) -> None:
        for name in LETTERS:
            self.world.edit(f"src/{name}/broken-after", None)
        for path in ("src/not-ready", "elsewhere/file"):
            self.world.edit(path, None)


_PHASES = {
    StepStatus.PENDING: "pending",
    StepStatus.IN_PROGRESS: "started",
    StepStatus.WAITING: "waiting",
    StepStatus.DONE: "proved",
    StepStatus.HOLDS: "holds",
    StepStatus.ATTESTED: "attested",
    StepStatus.WAIVED: "waived",
    StepStatus.SKIPPED: "skipped",
    StepStatus.FAILED: "failed",
}
assert {"proved", "waived", "skipped"} < SETTLED


def snapshot(value: RunState) -> tuple[object, ...]:
    """Return all of a state, so that it can be compared."""
    return value.plan, value.steps, value.open, value.unmet, value.unsettled


def tell(text: str) -> None:
    """Tell who reads the failing example; only the thread of the test can."""
    if currently_in_test_context() and threading.current_thread() is threading.main_thread():
        note(text)


def crash() -> None:
    raise Crash


def _stop(driver: Driver) -> None:
    if driver.session is not None:
        driver.session.control.stop("interrupted")


def _do(action: Callable[[], object]) -> None:
    try:
        action()
    except PlanboundError as error:
        tell(f"meanwhile: {error.message}")
