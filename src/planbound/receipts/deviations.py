"""What is not as it should be: found in the events and in the items, and never left out.

Receipts, comments and pages go by this one list; `deviation_words.py` says it in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from planbound.cells.isolation import Isolation
from planbound.journal.event import (
    Attested,
    BudgetRaised,
    ContractEvaluated,
    EventKind,
    ExecutionStarted,
    GateApproved,
    JudgeTampered,
    PlanAmended,
    PlanEdited,
    PlanRewritten,
    PostconditionClaimed,
    PreconditionClaimed,
    ScopeViolated,
    TaskCompleted,
    TaskSkipped,
    Waived,
)
from planbound.journal.record import Record
from planbound.journal.words import Method, SubjectKind
from planbound.judging.case import Scope, covers
from planbound.receipts.claims import GREEN, SETTLED
from planbound.receipts.costs import AttemptCost, attempts
from planbound.receipts.items import FoundItem, name_of
from planbound.receipts.predicate import (
    AmendedPlan,
    ApprovedGates,
    ApprovedInSpite,
    ApprovedWithChanges,
    AttestedItem,
    BareRun,
    ClaimedItem,
    Deviation,
    EarlierPlan,
    EditableJudge,
    EditedMeanwhile,
    EditedPlan,
    HeldItem,
    LateCondition,
    LeftScope,
    LittleEvidence,
    NobodyLooked,
    RaisedBudget,
    ReusedRuns,
    RunAgent,
    RunAnyway,
    SkippedItem,
    TouchedJudge,
    UnknownCost,
    UnsettledItem,
    WaivedItem,
    WithoutApproval,
)
from planbound.state.approval import is_noticed
from planbound.state.plan import PlanState

Redact = Callable[[str], str]
_LITTLE = (None, "E0", "E1")


class WholeRun(NamedTuple):
    """What there is to know of a plan's run, of which the deviations are found."""

    items: Sequence[FoundItem]
    records: Sequence[Record]
    """In their order, those of this plan only."""
    scope: Scope
    """What the plan lets its steps change of its judges."""
    approval: Record | None
    """The one that the run rests on."""
    agents: Sequence[RunAgent]
    loop: bool
    """Whether an agent works on it by itself."""
    earlier: int
    """How many events are those of another plan that had the name before."""


def deviations_of(run: WholeRun, clean: Redact) -> tuple[Deviation, ...]:
    """Return all of them: what is not done, words for passes, then what happened."""
    by_item = [each for found in run.items for each in _of_item(found, clean)]
    open_items = [each for each in by_item if isinstance(each, UnsettledItem)]
    others = [each for each in by_item if not isinstance(each, UnsettledItem)]
    return (
        *open_items,
        *others,
        *(() if run.approval is not None else (WithoutApproval(),)),
        *_of_life(run, clean),
        *_of_unknown_judges(run),
        *_of_cost(run),
        *((EarlierPlan(events=run.earlier),) if run.earlier else ()),
    )


def approval_of(records: Sequence[Record], state: PlanState) -> Record | None:
    """Return the last approval, unless an agent in the loop had its plan changed since."""
    given = [each for each in records if each.kind is EventKind.GATE_APPROVED]
    last = given[-1] if given else None
    if last is None or state.run.run is not None or state.session.digest is None:
        return last
    event = last.event
    same = isinstance(event, GateApproved) and event.digest == state.session.digest
    return last if same else None


# -- items -----------------------------------------------------------------------------------------


def _of_item(found: FoundItem, clean: Redact) -> Iterator[Deviation]:
    item, told, name = found.item, found.told, found.name
    if item.result not in SETTLED:
        yield UnsettledItem(item=name, result=item.result, reason=item.reason)
    elif item.result == "holds":
        yield HeldItem(item=name, reason=item.reason)
    elif item.result not in GREEN:
        yield _by_word(found, clean)
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
    if found.place.case.subject is SubjectKind.PRECONDITION and last is not None:
        event = last.event
        if isinstance(event, ContractEvaluated) and event.late:
            yield LateCondition(item=name, seq=last.seq)


def _by_word(found: FoundItem, clean: Redact) -> Deviation:
    name, result, record = found.name, found.item.result, found.told.settled
    event = record.event if record is not None else None
    seq = record.seq if record is not None else None
    match event:
        case Waived() if result == "waived" and seq is not None:
            return WaivedItem(item=name, by=event.by, reason=clean(event.reason), seq=seq)
        case Attested() if result == "attested" and seq is not None:
            statement = clean(event.statement)
            return AttestedItem(item=name, by=event.by, statement=statement, seq=seq)
        case TaskSkipped() if result == "skipped":
            why = clean(event.reason) if event.reason else None
            return SkippedItem(item=name, by=event.by, reason=why, seq=seq)
    if result == "skipped":
        return SkippedItem(item=name, by=None, reason=None, seq=None)
    claims = PreconditionClaimed | PostconditionClaimed | TaskCompleted
    said = event.evidence if isinstance(event, claims) else None
    return ClaimedItem(item=name, evidence=clean(said) if said else None, seq=seq)


# -- what happened ---------------------------------------------------------------------------------


def _of_life(run: WholeRun, clean: Redact) -> Iterator[Deviation]:
    names = {found.place.name: found.name for found in run.items}
    for record in run.records:
        seq, item = record.seq, names.get(name_of(record))
        match record.event:
            case GateApproved() as event:
                yield from _of_approval(event, seq, clean)
            case PlanAmended() as event:
                why = clean(event.reason) if event.reason else None
                yield AmendedPlan(revision=event.revision, by=event.by, reason=why, seq=seq)
            case PlanEdited():
                yield EditedPlan(seq=seq)
            case PlanRewritten() as event if is_noticed(event):
                yield EditedPlan(seq=seq)
            case JudgeTampered(files=files, restored=restored):
                yield TouchedJudge(item=item, files=files, restored=bool(restored), seq=seq)
            case ScopeViolated(files=files, restored=restored):
                yield LeftScope(item=item, files=files, restored=bool(restored), seq=seq)
            case ExecutionStarted(anyway=anyway, edited=edited):
                if anyway:
                    yield RunAnyway(what=anyway, seq=seq)
                if edited:
                    yield EditedMeanwhile(files=edited, seq=seq)
            case BudgetRaised() as event:
                seconds = float(event.seconds) if event.seconds is not None else None
                yield RaisedBudget(
                    by=event.by, tokens=event.tokens, dollars=event.dollars,
                    seconds=seconds, seq=seq,
                )  # fmt: skip


def _of_approval(event: GateApproved, seq: int, clean: Redact) -> Iterator[Deviation]:
    if event.method is Method.POLICY:
        yield NobodyLooked(policy=event.policy or event.by or "", seq=seq)
    if event.seen or event.missing_tools:
        yield ApprovedInSpite(
            warnings=event.seen or (), missing_tools=event.missing_tools or (), seq=seq
        )
    if event.gates:
        yield ApprovedGates(gates=tuple(map(clean, event.gates)), seq=seq)
    if event.modifications:
        yield ApprovedWithChanges(changes=tuple(map(clean, event.modifications)), seq=seq)


def _of_unknown_judges(run: WholeRun) -> Iterator[Deviation]:
    """Yield judges that steps may change, where nobody knows any more which items they judge."""
    event = run.approval.event if run.approval is not None else None
    if not isinstance(event, GateApproved) or any(found.item.judges for found in run.items):
        return
    yield from (
        EditableJudge(item=None, path=path)
        for path in event.judges or ()
        if covers(run.scope, path)
    )


# -- who worked, by their own word -----------------------------------------------------------------


def agents_of(
    records: Sequence[Record],
    configured: Callable[[str], tuple[str | None, str | None]] = lambda _: (None, None),
) -> tuple[RunAgent, ...]:
    """Return the agents of all attempts; `configured` has the kind and model of each by now.

    That is what is told of attempts which an older version noted, without either.
    """
    found: dict[tuple[str, str | None, str | None], list[AttemptCost]] = {}
    for each in attempts(records):
        name = each.agent or ""
        known = each.kind is not None or each.model is not None
        kind, model = (each.kind, each.model) if known else configured(name)
        found.setdefault((name, kind, model), []).append(each)
    ordered = sorted(found, key=lambda key: tuple(part or "" for part in key))
    return tuple(_agent(key, found[key]) for key in ordered)


def _agent(key: tuple[str, str | None, str | None], tried: Sequence[AttemptCost]) -> RunAgent:
    name, kind, model = key
    dollars = sum((each.dollars or Decimal(0) for each in tried), Decimal(0))
    return RunAgent(
        name=name,
        kind=kind,
        model=model,
        attempts=len(tried),
        unknown=sum(each.tokens is None or each.dollars is None for each in tried),
        tokens=sum(each.tokens or 0 for each in tried),
        dollars=f"{dollars:f}",
    )


def _of_cost(run: WholeRun) -> Iterator[Deviation]:
    """Yield that nobody knows what all of it cost."""
    unknown = sum(agent.unknown for agent in run.agents)
    if unknown or (run.loop and not run.agents):
        yield UnknownCost(attempts=unknown)
