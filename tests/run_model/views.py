"""All that people are shown of a plan, after every event: what one view tells, all tell."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.engine import fold as folding
from planbound.engine.fold import PlanState
from planbound.engine.gate.reminder import waiting
from planbound.engine.inbox import is_asked, note, open_questions
from planbound.engine.readiness import readiness
from planbound.engine.run.layout import lay_out
from planbound.engine.run.question import Question, QuestionKind
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.engine.standup import standup
from planbound.journal.record import Record
from planbound.plan.model import PlanStatus
from planbound.ports.files import ConflictCopy, PlanFile, Shelf
from planbound.usecases.doctor import Probes, doctor
from planbound.usecases.overview import overview, plan_infos
from planbound.usecases.queue_status import queue_status
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
        self.questions: dict[str, Question] = {}
        self.plan = folding._Plan(SLUG, "")

    def read(self, record: Record) -> None:
        """Take one record."""
        self.records.append(record)
        note(self.questions, record)
        if self.plan.begins_anew(record.draft.event):
            self.plan = folding._Plan(SLUG, record.draft.timestamp)
        self.plan.apply(record)

    def agree(self, state: RunState | None) -> None:
        """Compare them; `state` is where the run is, as it was approved."""
        folded = self.plan.state()
        assert (folded.waiting is not None) == bool(self.questions), (folded, self.questions)
        if state is not None:
            self._run_agrees(state, folded)

    def agree_with_all(self) -> None:
        """Compare them with what reads the journal from its beginning."""
        inbox = {each.id: each for each in open_questions(self.records)}
        assert inbox.keys() == self.questions.keys()
        assert folding.fold(self.records)[SLUG] == self.plan.state()._replace(
            first=self.records[0].draft.timestamp
        )
        reminded = [item.slug for item in waiting(self.records)]
        asked = is_asked(inbox) and not is_asked(inbox, QuestionKind.CLARIFICATION)
        assert bool(reminded) == asked, f"reminders say {reminded}, the inbox {inbox}"

    def _run_agrees(self, state: RunState, folded: PlanState) -> None:
        wanted = _status(state)
        # Whatever is in the file since: the run is of the text that was approved.
        assert folded.standing is wanted, f"fold says {folded.standing}, not {wanted}"
        run = {key for key, each in self.questions.items() if each.kind not in NOT_OF_A_RUN}
        assert run == set(state.questions), "invariant 4: the inbox says something else"
        for slot, step in zip(state.layout.slots, state.steps, strict=True):
            task = folded.tasks.get(slot.id)
            settled = task is not None and task.status in {
                "done",
                "holds",
                "attested",
                "waived",
                "skipped",
            }
            skipped = step.phase is Phase.SKIPPED and step.result is None  # not recorded yet
            assert settled == step.phase.is_settled or skipped or slot.place in state.regressed, (
                f"invariant 4: fold says {task}, the run {step.phase}"
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
        (queued,) = queue_status(self.workspace, files, lambda: world.journal, lambda _: "").lines
        assert status == queued.status, f"list says {line.status}, queue-status {queued}"
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
            checks = doctor(self.workspace, self.world.disk, lambda: self.world.journal, Probes())
        drift = [each for each in checks if each.name == "file against journal"]
        assert [each.health.value for each in drift] == ["OK"], drift


class OnePlan:
    """A workspace with the one plan of the model."""

    def __init__(self, world: World) -> None:
        self.world = world

    def plans(self, shelf: Shelf = Shelf.ACTIVE) -> Sequence[PlanFile]:
        return [FILE] if shelf is Shelf.ACTIVE else []

    def find(self, reference: str) -> PlanFile | None:
        return FILE if reference == SLUG else None

    def planned_path(self, slug: str, shelf: Shelf = Shelf.ACTIVE) -> PlanFile:
        del slug, shelf
        return FILE

    def conflicts(self) -> Sequence[ConflictCopy]:
        return []

    def names(self, shelf: Shelf) -> Sequence[str]:
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
    state = RunState(lay_out(plan, world.recorder.step_ids(plan)))
    state.apply_all(records)
    return state


def _status(state: RunState) -> PlanStatus:
    if state.run is None:
        return PlanStatus.APPROVED
    ends = {
        None: PlanStatus.IN_PROGRESS,
        "done": PlanStatus.DONE,
        "done with skips": PlanStatus.DONE_WITH_SKIPS,
        "revised": PlanStatus.DRAFT,
        "cancelled": PlanStatus.CANCELLED,
    }
    return ends.get(state.ended, PlanStatus.FAILED)
