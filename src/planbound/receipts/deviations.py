"""What is not as it should be: found in the events and in the items, and never left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from planbound.cells.isolation import Isolation
from planbound.journal.event import (
    AttemptEnded,
    Attested,
    BudgetRaised,
    ContractEvaluated,
    ExecutionStarted,
    GateApproved,
    JudgeTampered,
    PlanAmended,
    ScopeViolated,
    TaskSkipped,
    Waived,
)
from planbound.journal.record import Record
from planbound.journal.words import Method, SubjectKind
from planbound.receipts.claims import GREEN, SETTLED
from planbound.receipts.items import ItemEvents, ItemPlace
from planbound.receipts.predicate import (
    AmendedPlan,
    ApprovedInSpite,
    AttestedItem,
    BareRun,
    ClaimedItem,
    Deviation,
    EditableJudge,
    EditedMeanwhile,
    LateCondition,
    LeftScope,
    LittleEvidence,
    NobodyLooked,
    RaisedBudget,
    ReusedRuns,
    RunAgent,
    RunAnyway,
    RunItem,
    SkippedItem,
    TouchedJudge,
    UnknownCost,
    UnsettledItem,
    WaivedItem,
    WithoutApproval,
)
from planbound.state.step import dollars_of, tokens_of

Redact = Callable[[str], str]
_LITTLE = (None, "E0", "E1")


def of_item(
    item: RunItem, place: ItemPlace, told: ItemEvents, clean: Redact
) -> Iterator[Deviation]:
    """Yield what is to be said of one item."""
    name = f"{item.kind} {item.number}"
    if item.result not in SETTLED:
        yield UnsettledItem(item=name, result=item.result, reason=item.reason)
    elif item.result not in GREEN:
        yield _by_word(item.result, name, told, clean)
    yield from (
        EditableJudge(item=name, path=judge.path) for judge in item.judges if judge.editable
    )
    if item.isolation == Isolation.I0.value:
        yield BareRun(item=name, isolation=item.isolation)
    if item.result in GREEN and item.evidence in _LITTLE:
        yield LittleEvidence(item=name, evidence=item.evidence)
    if item.reused is not None:
        yield ReusedRuns(item=name, of=item.reused)
    last = told.evaluated
    if place.case.subject is SubjectKind.PRECONDITION and last is not None:
        event = last.event
        if isinstance(event, ContractEvaluated) and event.late:
            yield LateCondition(item=name, seq=last.seq)


def _by_word(result: str, name: str, told: ItemEvents, clean: Redact) -> Deviation:
    record = told.settled
    event = record.event if record is not None else None
    seq = record.seq if record is not None else None
    match event:
        case Waived() if result == "waived" and seq is not None:
            return WaivedItem(item=name, by=event.by, reason=clean(event.reason), seq=seq)
        case Attested() if result == "attested" and seq is not None:
            said = clean(event.statement)
            return AttestedItem(item=name, by=event.by, statement=said, seq=seq)
        case TaskSkipped() if result == "skipped":
            why = clean(event.reason) if event.reason else None
            return SkippedItem(item=name, by=event.by, reason=why, seq=seq)
    if result == "skipped":
        return SkippedItem(item=name, by=None, reason=None, seq=None)
    return ClaimedItem(item=name, seq=seq)


def of_approval(
    approval: Record | None, life: Sequence[Record], clean: Redact
) -> Iterator[Deviation]:
    """Yield what is to be said of the approval, and of how the plan changed."""
    event = approval.event if approval is not None else None
    if approval is None or not isinstance(event, GateApproved):
        yield WithoutApproval()
    else:
        if event.method is Method.POLICY:
            yield NobodyLooked(policy=event.policy or event.by or "", seq=approval.seq)
        if event.seen or event.missing_tools:
            yield ApprovedInSpite(
                warnings=event.seen or (),
                missing_tools=event.missing_tools or (),
                seq=approval.seq,
            )
    for record in life:
        if isinstance(record.event, PlanAmended):
            amended = record.event
            why = clean(amended.reason) if amended.reason else None
            yield AmendedPlan(revision=amended.revision, by=amended.by, reason=why, seq=record.seq)


def of_run(life: Sequence[Record], names: Callable[[Record], str | None]) -> Iterator[Deviation]:
    """Yield what happened on the way; `names` says how the item of an event is called."""
    for record in life:
        match record.event:
            case JudgeTampered(files=files, restored=restored):
                yield TouchedJudge(
                    item=names(record), files=files, restored=bool(restored), seq=record.seq
                )
            case ScopeViolated(files=files, restored=restored):
                yield LeftScope(
                    item=names(record), files=files, restored=bool(restored), seq=record.seq
                )
            case ExecutionStarted(anyway=anyway, edited=edited):
                if anyway:
                    yield RunAnyway(what=anyway, seq=record.seq)
                if edited:
                    yield EditedMeanwhile(files=edited, seq=record.seq)
            case BudgetRaised(by=by):
                yield RaisedBudget(by=by, seq=record.seq)


# -- who worked, by their own word -----------------------------------------------------------------


def agents_of(
    life: Sequence[Record], kinds: Callable[[str], tuple[str | None, str | None]]
) -> tuple[RunAgent, ...]:
    """Return the agents of all attempts; `kinds` says what an agent is configured as."""
    found: dict[str, list[AttemptEnded]] = {}
    for record in life:
        if isinstance(record.event, AttemptEnded):
            found.setdefault(record.event.agent or "", []).append(record.event)
    return tuple(_agent(name, found[name], kinds(name)) for name in sorted(found))


def _agent(
    name: str, ended: Sequence[AttemptEnded], kind: tuple[str | None, str | None]
) -> RunAgent:
    dollars = sum((dollars_of(each) or Decimal(0) for each in ended), Decimal(0))
    return RunAgent(
        name=name,
        kind=kind[0],
        model=kind[1],
        attempts=len(ended),
        unknown=sum(tokens_of(each) is None or dollars_of(each) is None for each in ended),
        tokens=sum(tokens_of(each) or 0 for each in ended),
        dollars=f"{dollars:f}",
    )


def of_cost(agents: Sequence[RunAgent]) -> Iterator[Deviation]:
    """Yield that nobody knows what all of it cost."""
    unknown = sum(agent.unknown for agent in agents)
    if unknown:
        yield UnknownCost(attempts=unknown)
