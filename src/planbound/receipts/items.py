"""The items of a receipt: what the plan says of each, and what the journal says about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.journal.event import (
    Attested,
    BaselineObserved,
    ContractEvaluated,
    EventKind,
    PostconditionClaimed,
    PreconditionClaimed,
    Result,
    TaskCompleted,
    TaskSkipped,
    VerdictKind,
    Waived,
)
from planbound.journal.fields import ProbeCall
from planbound.journal.record import Record, details_text
from planbound.journal.words import BaselineMoment, SubjectKind
from planbound.judging.case import Case, cases
from planbound.plan.contract import expectation_text
from planbound.plan.digest import contract_digest
from planbound.plan.model import (
    Attest,
    CaseTable,
    Command,
    Contract,
    Expectation,
    StepStatus,
)
from planbound.receipts.claims import item_name
from planbound.receipts.predicate import (
    ItemBaseline,
    ItemJudge,
    ItemMutated,
    ItemOutput,
    ItemTests,
    RunItem,
)
from planbound.state.plan import PlanState
from planbound.state.run import Layout, RunState, Slot
from planbound.state.step import Look, StepState

Redact = Callable[[str], str]

# -- what the journal says about each item, in one pass -------------------------------------------


class ItemEvents(NamedTuple):
    """The events about one item that count, the last of each."""

    baseline: Record | None = None
    approved: Record | None = None
    """What its contract said when the plan was approved."""
    evaluated: Record | None = None
    passed: Record | None = None
    """The last pass."""
    settled: Record | None = None
    """By a completion, a person, or the agent's word."""


class StoryOfItems:
    """By item what was told about it."""

    def __init__(self, records: Iterable[Record], contracts: Mapping[str, str | None]) -> None:
        """Read the events; of another contract than the text's nothing counts."""
        self._told: dict[str, ItemEvents] = {}
        self._contracts = contracts
        for record in records:
            self._take(record)

    def of(self, name: str) -> ItemEvents:
        """Return what was told of a step by its id, or of a condition as `postcondition 2`."""
        return self._told.get(name, ItemEvents())

    def _take(self, record: Record) -> None:
        event, name = record.event, name_of(record)
        told = self.of(name)
        match event:
            case BaselineObserved() if self._counts(name, event.contract):
                at_gate = event.baseline is not None
                told = told._replace(**{"approved" if at_gate else "baseline": record})
            case ContractEvaluated() if self._counts(name, event.contract):
                told = told._replace(evaluated=record)
                if event.verdict is VerdictKind.PASS:
                    told = told._replace(passed=record)
            case TaskCompleted() | TaskSkipped() | Waived() | Attested():
                told = told._replace(settled=record)
            case PreconditionClaimed() | PostconditionClaimed():
                told = told._replace(settled=record)
            case _:
                return
        self._told[name] = told

    def _counts(self, name: str, contract: str | None) -> bool:
        return contract is None or self._contracts.get(name) in {None, contract}


def name_of(record: Record) -> str:
    """Return how an event calls the item that it is about; empty where it is about none."""
    if record.draft.task_id is not None:
        return record.draft.task_id
    match record.kind:
        case EventKind.PRECONDITION_CLAIMED:
            subject: object = SubjectKind.PRECONDITION
        case EventKind.POSTCONDITION_CLAIMED | EventKind.POSTCONDITION_BLOCKED:
            subject = SubjectKind.POSTCONDITION
        case _:
            subject = getattr(record.event, "subject", None)
    return f"{subject} {getattr(record.event, 'number', None)}" if subject is not None else ""


# -- the items ------------------------------------------------------------------------------------


class ItemPlace(NamedTuple):
    """An item of the plan, and where it is."""

    case: Case
    name: str
    """As the journal calls it."""
    status: StepStatus
    reason: str | None
    attempts: int
    step: StepState | None
    probe: ProbeCall | None = None
    """What the harness looks at where there is no contract."""

    @property
    def called(self) -> str:
        """How it is called in a receipt: `step 2`."""
        return item_name({"kind": self.case.subject.value, "number": self.case.number})


class FoundItem(NamedTuple):
    """An item, where it is, and what was told about it."""

    item: RunItem
    place: ItemPlace
    told: ItemEvents

    @property
    def name(self) -> str:
        """How it is called in a receipt: `step 2`."""
        return self.place.called


class ItemSource(NamedTuple):
    """What the items of a run are made of."""

    state: RunState
    records: Sequence[Record]
    contracts: Mapping[str, str | None]
    """By the journal's name the digest of each contract, as the plan has it."""
    judges: Sequence[tuple[ItemJudge, ...]]
    """Of each item, in the order of the plan; empty where nobody knows them."""

    @property
    def loop(self) -> bool:
        """Whether an agent works on the plan by itself, and no run."""
        return self.state.plan.run.run is None


def found_items(source: ItemSource, clean: Redact) -> list[FoundItem]:
    """Return every item of a plan."""
    state, story = source.state, StoryOfItems(source.records, source.contracts)
    everything = tuple(cases(state.layout.plan))
    found = []
    for index, place in enumerate(places(everything, state, story, loop=source.loop)):
        told = story.of(place.name)
        judges = source.judges[index] if source.judges else ()
        found.append(FoundItem(run_item(place, told, judges, clean), place, told))
    return found


def contracts_of(layout: Layout) -> dict[str, str | None]:
    """Return by the journal's name of each item the digest of its contract."""
    slots = iter(layout.slots)
    return {
        next(slots).id if case.subject is SubjectKind.STEP else f"{case.subject} {case.number}": (
            contract_digest(case.contract) if case.contract else None
        )
        for case in cases(layout.plan)
    }


def places(
    cases: Sequence[Case], state: RunState, story: StoryOfItems, *, loop: bool
) -> Iterator[ItemPlace]:
    """Yield every item with where it is; `loop`: an agent works by itself, and no run."""
    probes = state.plan.session.probes if loop else {}
    slots = iter(state.layout.slots)
    for case in cases:
        if case.subject is SubjectKind.STEP:
            place = _step_place(case, next(slots), state, loop=loop)
        elif loop:
            place = _loop_place(case, state.plan)
        else:
            place = _condition_place(case, state.plan, story)
        probe = probes.get(f"{case.subject} {case.number}") if case.contract is None else None
        yield place._replace(probe=probe)


def _step_place(case: Case, slot: Slot, state: RunState, *, loop: bool) -> ItemPlace:
    if loop:
        item = state.plan.session.steps.get(slot.id)
        if item is not None:
            why = item.reason or None
            return ItemPlace(case, slot.id, item.status, why, item.attempts, None)
        return ItemPlace(case, slot.id, StepStatus.PENDING, None, 0, None)
    step = state.steps[slot.place]
    return ItemPlace(case, slot.id, step.status, step.reason, step.attempts, step)


def _loop_place(case: Case, plan: PlanState) -> ItemPlace:
    name, post = f"{case.subject} {case.number}", case.subject is SubjectKind.POSTCONDITION
    known = plan.session.conditions if post else plan.session.preconditions
    item = known.get(case.number)
    if item is None:
        return ItemPlace(case, name, StepStatus.PENDING, None, 0, None)
    return ItemPlace(case, name, item.status, item.reason or None, 0, None)


def _condition_place(case: Case, plan: PlanState, story: StoryOfItems) -> ItemPlace:
    facts, name = plan.run, f"{case.subject} {case.number}"
    verdict = facts.conditions.get(case.number)
    if case.subject is SubjectKind.PRECONDITION:
        # A run that went on has not looked at it again.
        last = story.of(name).evaluated
        seen = last.event if last is not None else None
        verdict = seen.verdict if isinstance(seen, ContractEvaluated) else None
    verdict = facts.answered.get(name, verdict)
    result = facts.condition_results.get(case.number)
    return ItemPlace(case, name, _condition_status(verdict, result), None, 0, None)


def _condition_status(verdict: VerdictKind | None, result: Result | None) -> StepStatus:
    match verdict:
        case None:
            return StepStatus.PENDING
        case VerdictKind.PASS:
            return StepStatus.DONE if result is Result.PROVED else StepStatus.HOLDS
        case VerdictKind.WAIVED:
            return StepStatus.WAIVED
        case VerdictKind.ATTESTED:
            return StepStatus.ATTESTED
        case _:
            return StepStatus.FAILED


def run_item(
    place: ItemPlace, told: ItemEvents, judges: tuple[ItemJudge, ...], clean: Redact
) -> RunItem:
    """Return an item of the receipt."""
    case, contract = place.case, place.case.contract
    green = place.status.is_green
    record = told.passed if green else told.evaluated
    event = record.event if record is not None else None
    seen = event if isinstance(event, ContractEvaluated) else None
    settles = _settling(place, told)
    return RunItem(
        kind=case.subject.value,
        number=case.number,
        id=case.id,
        title=clean(case.title),
        form="probe" if place.probe is not None else _form(contract),
        contract=contract_digest(contract) if contract is not None else None,
        command=_command(place, clean),
        expectations=tuple(clean(expectation_text(each)) for each in _expectations(contract)),
        timeout=case.seconds,
        repeat=case.repeat,
        demanded_evidence=case.evidence.value if case.evidence else None,
        demanded_baseline=case.baseline.value if case.baseline else None,
        touches=case.touches,
        judges=judges,
        result=_result(place),
        verdict=seen.verdict.value if seen else None,
        reason=_reason(place, seen, clean),
        evidence=seen.evidence if seen else None,
        isolation=seen.isolation if seen else None,
        exit_code=seen.exit_code if seen else None,
        seconds=float(seen.duration) if seen and seen.duration is not None else None,
        baseline=_baseline(place, told, seen),
        canary=seen.canary if seen else None,
        tests=_tests(seen),
        mutated=_mutated(seen),
        tree=seen.tree if seen else None,
        output=_output(seen, clean),
        attempts=place.attempts,
        reused=seen.reused if seen else None,
        seq=record.seq if record is not None else None,
        settled_by=settles.seq if settles is not None else None,
    )


def facts_of(case: Case) -> dict[str, object]:
    """Return what the plan alone says of an item, as a receipt has it."""
    contract = case.contract
    command = contract.statement if isinstance(contract, Attest) else None
    return {
        "id": case.id,
        "title": case.title,
        "form": _form(contract),
        "command": contract.text if isinstance(contract, Command | CaseTable) else command,
        "expectations": [expectation_text(each) for each in _expectations(contract)],
        "timeout": case.seconds,
        "repeat": case.repeat,
        "demanded_evidence": case.evidence.value if case.evidence else None,
        "demanded_baseline": case.baseline.value if case.baseline else None,
        "touches": list(case.touches),
    }


_RESULTS = {StepStatus.DONE: "proved"}


def _result(place: ItemPlace) -> str:
    return _RESULTS.get(place.status, place.status.value)


def _reason(place: ItemPlace, seen: ContractEvaluated | None, clean: Redact) -> str | None:
    why = place.reason or (seen.reason if seen else None)
    return clean(why) if why else None


def _settling(place: ItemPlace, told: ItemEvents) -> Record | None:
    """Return the event that settled an item; a condition that passes is settled by the verdict."""
    if not place.status.is_settled:
        return None
    if place.status.is_green and place.case.subject is not SubjectKind.STEP:
        return told.passed
    return told.settled


def _baseline(
    place: ItemPlace, told: ItemEvents, seen: ContractEvaluated | None
) -> ItemBaseline | None:
    """Return what the contract said before the work, as the one who settled it has told."""
    done = told.settled.event if told.settled is not None else None
    source = done if isinstance(done, TaskCompleted) and place.status.is_green else seen
    if source is not None and source.baseline is not None:
        at = source.baseline_at or BaselineMoment.ATTEMPT
        return _look(source.baseline, at, told)
    step = place.step
    if step is not None and step.baseline is not None:
        return _look(step.baseline.verdict, BaselineMoment.ATTEMPT, told)
    if told.approved is not None and isinstance(told.approved.event, BaselineObserved):
        return _look(told.approved.event.verdict, BaselineMoment.APPROVAL, told)
    return None


def _look(verdict: VerdictKind, at: BaselineMoment, told: ItemEvents) -> ItemBaseline:
    record = told.approved if at is BaselineMoment.APPROVAL else told.baseline
    said = record.event if record is not None else None
    same = isinstance(said, BaselineObserved) and said.verdict is verdict
    return ItemBaseline(
        verdict=verdict.value,
        red=Look(verdict).is_red,
        at=at.value,
        seq=record.seq if record is not None and same else None,
    )


def _tests(seen: ContractEvaluated | None) -> ItemTests | None:
    if seen is None or seen.tests is None:
        return None
    found = seen.tests
    return ItemTests(passed=found.passed, failed=found.failed, skipped=found.skipped)


def _mutated(seen: ContractEvaluated | None) -> ItemMutated | None:
    if seen is None or seen.mutated is None:
        return None
    found = seen.mutated
    return ItemMutated(tests=found.tests, sensitive=found.sensitive, blind=found.blind)


def _output(seen: ContractEvaluated | None, clean: Redact) -> ItemOutput | None:
    if seen is None or seen.output_digest is None:
        return None
    out, _, error = seen.output_digest.partition(" ")
    head, tail = clean(seen.output_head or ""), clean(seen.output_tail or "")
    # An older version kept the end only, and may have cut it.
    size = len((seen.output_tail or "").encode("utf-8", "surrogatepass"))
    whole = seen.output_size is not None and size >= seen.output_size
    begin, end = both_ends(head + tail) if head or whole else (None, tail[-_END:])
    return ItemOutput(
        bytes=seen.output_size, stdout_sha256=out, stderr_sha256=error, begin=begin, end=end
    )


_END = 600
"""Characters of an output: enough for its summary, and no transcript."""


def both_ends(text: str) -> tuple[str | None, str]:
    """Return the beginning of an output, None where its end is all of it, and the end."""
    return text[: len(text) - _END][:_END] if len(text) > _END else None, text[-_END:]


# -- contracts as the plan writes them ------------------------------------------------------------


def _form(contract: Contract | None) -> str:
    match contract:
        case None:
            return "none"
        case Command():
            return "command"
        case CaseTable():
            return "cases"
        case Attest():
            return "attest"


def _command(place: ItemPlace, clean: Redact) -> str | None:
    contract, probe = place.case.contract, place.probe
    if contract is not None:
        return clean(contract.statement if isinstance(contract, Attest) else contract.text)
    return clean(f"{probe.name} {details_text(probe.arguments)}") if probe is not None else None


def _expectations(contract: Contract | None) -> Iterator[Expectation]:
    if isinstance(contract, Command | CaseTable):
        yield from (each.value for each in contract.expectations)
