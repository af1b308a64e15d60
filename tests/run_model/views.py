"""All that people are shown of a plan, after every event: what one view tells, all tell."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.approval.remind import waiting
from planbound.disk.files import ConflictCopy, PlanFile, Shelf
from planbound.doctor.doctor import plan_checks
from planbound.journal.event import RunOutcome
from planbound.journal.record import Record
from planbound.journal.words import QuestionKind
from planbound.plan.model import PlanStatus, StepStatus
from planbound.state.plan import PlanState, fold, questions_of
from planbound.state.question import Question
from planbound.state.run import RunState, lay_out
from planbound.team.standup import queue_status, standup
from planbound.workspace.overview import overview, plan_infos
from planbound.workspace.readiness import readiness
from planbound.workspace.tree import Workspace
from tests.run_model.people import People, read
from tests.run_model.world import FILE, SLUG, World

NOT_OF_A_RUN = {
    QuestionKind.APPROVAL,
    QuestionKind.CLARIFICATION,
    QuestionKind.INTEGRATION,
    QuestionKind.INCOMPLETE,
}


class Folds:
    """The folds that say where a plan is, each fed record by record."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.plan = PlanState(SLUG)

    def read(self, record: Record) -> None:
        """Take one record."""
        self.records.append(record)
        self.plan.apply(record)

    @property
    def questions(self) -> dict[str, Question]:
        """What the plan asks a person."""
        return self.plan.questions.open

    def agree(self, state: RunState | None) -> None:
        """Compare them; `state` is where the run is, as it was approved."""
        folded = self.plan
        assert (folded.waiting is not None) == bool(self.questions), (folded, self.questions)
        if state is not None:
            self._run_agrees(state, folded)

    def agree_with_all(self) -> None:
        """Compare them with what reads the journal from its beginning."""
        folded = fold(self.records)
        inbox = {each.id: each for each in questions_of(folded.values())}
        assert inbox.keys() == self.questions.keys()
        assert folded == {SLUG: self.plan}
        reminded = [question.plan for question in waiting(folded.values())]
        kinds = {each.kind for each in inbox.values()}
        asked = QuestionKind.APPROVAL in kinds and QuestionKind.CLARIFICATION not in kinds
        assert bool(reminded) == asked, f"reminders say {reminded}, the inbox {inbox}"

    def _run_agrees(self, state: RunState, folded: PlanState) -> None:
        wanted = _status(state)
        # Whatever is in the file since: the run is of the text that was approved.
        assert folded.decided_status is wanted, f"fold says {folded.decided_status}, not {wanted}"
        run = {key for key, each in self.questions.items() if each.kind not in NOT_OF_A_RUN}
        assert run == set(state.questions), "invariant 4: the inbox says something else"
        for slot, step in zip(state.layout.slots, state.steps, strict=True):
            task = folded.steps.get(slot.id)
            settled = task is not None and task.status.is_settled
            skipped = step.status is StepStatus.SKIPPED and step.result is None  # not recorded yet
            assert settled == step.status.is_settled or skipped or slot.id in state.regressed, (
                f"invariant 4: fold says {task}, the run {step.status}"
            )


class Views:
    """What the commands print, over the same journal and the same files."""

    def __init__(self, world: World, people: People) -> None:
        self.world = world
        self.people = people
        self.workspace = OnePlan(world)

    def agree(self) -> None:
        """Compare list, inbox, standup, queue-status, ready and claims."""
        with self.world.quiet():
            self._agree()

    def _agree(self) -> None:
        world, files = self.world, self.world.disk
        seen = overview(self.workspace, files, lambda: world.journal)
        (line,) = seen.lines
        assert line.state is not None
        assert line.status is not None
        status = line.status.value
        infos = plan_infos(seen, [])
        inbox = self.people.questions()
        (queued,) = queue_status(seen, self.workspace).lines
        assert line.status is queued.status, f"list says {line.status}, queue-status {queued}"
        groups = standup(infos, world.clock.now())._asdict()
        group = next((name for name, found in groups.items() if found), None)
        if inbox:
            assert group == "waiting", f"the inbox has {inbox}, standup says {groups}"
        elif group == "waiting":
            assert status == "failed", f"the inbox is empty, standup says {groups}"
        if group == "building":
            assert status == "in-progress", (group, status)
        begins = SLUG in readiness(infos).ready
        assert not (begins and status in {"in-progress", "done", "failed"}), status
        self._claims_agree(status)

    def _claims_agree(self, status: str | None) -> None:
        held = [each for each in self.world.journal.leases().held() if not each.expired]
        for driver in self.world.living:
            if driver.holder == self.world.holder and driver.holder not in self.world.gone:
                assert [each.claim.holder for each in held] == [driver.holder], (status, held)

    def marks_agree(self) -> None:
        """Compare the marks in the file with the journal, as `doctor` does."""
        with self.world.quiet():
            checks, _ = plan_checks(self.workspace, self.world.disk, self.world.journal)
        drift = [each for each in checks if each.name == "file against journal"]
        assert [each.health.value for each in drift] == ["OK"], drift


class OnePlan(Workspace):
    """A workspace with the one plan of the model."""

    def __init__(self, world: World) -> None:
        self.world = world

    def plans(self, shelf: Shelf = Shelf.ACTIVE) -> list[PlanFile]:
        return [FILE] if shelf is Shelf.ACTIVE else []

    def find(self, reference: str) -> PlanFile | None:
        return FILE if reference == SLUG else None

    def planned_path(self, slug: str, shelf: Shelf = Shelf.ACTIVE) -> PlanFile:
        del slug, shelf
        return FILE

    def conflicts(self) -> list[ConflictCopy]:
        return []

    def names(self, shelf: Shelf) -> list[str]:
        return ["PLAN.md"] if shelf is Shelf.ACTIVE else []

    def place(self, shelf: Shelf, name: str) -> PlanFile:
        del shelf
        return FILE._replace(path=f"{FILE.path.rpartition('/')[0]}/{name}")

    def move(self, source: str, target: str) -> None:
        raise NotImplementedError

    def is_same(self, path: str, other: str) -> bool:
        return path == other

    def marker(self) -> str | None:
        return None

    def has_harness(self) -> bool:
        return True

    def has_content(self, file: PlanFile) -> bool:
        del file
        return True

    def has_artifact(self, pattern: str) -> bool:
        del pattern
        return False


def run_state(world: World, text: bytes, records: Sequence[Record]) -> RunState:
    """Return where the run of an approved text is."""
    plan = read(text)
    return RunState(lay_out(plan, world.recorder.step_ids(plan)), fold(records)[SLUG])


def _status(state: RunState) -> PlanStatus:
    if state.run is None:
        return PlanStatus.APPROVED
    ends = {
        None: PlanStatus.IN_PROGRESS,
        RunOutcome.DONE: PlanStatus.DONE,
        RunOutcome.DONE_WITH_SKIPS: PlanStatus.DONE_WITH_SKIPS,
        RunOutcome.REVISED: PlanStatus.DRAFT,
        RunOutcome.CANCELLED: PlanStatus.CANCELLED,
    }
    return ends.get(state.ended, PlanStatus.FAILED)
