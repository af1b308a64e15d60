"""What a reader must not overlook: where a run deviates from the plan, or rests on a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planbound.cells.isolation import Isolation
from planbound.journal.event import (
    Attested,
    BudgetRaised,
    ContractEvaluated,
    Event,
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
from planbound.journal.words import Method
from planbound.judging.case import covers, judge_scope
from planbound.receipts.conversation import about_words, decision_words
from planbound.receipts.costs import total
from planbound.receipts.story import (
    ItemStory,
    PlanStory,
    TellingEvent,
)
from planbound.state.approval import is_noticed

_LITTLE = ("E0", "E1")


class DeviationLine(NamedTuple):
    """One thing that deviates."""

    word: str
    """What kind of thing it is."""
    about: str
    said: str
    seq: int | None = None
    """The event that tells it."""
    item: ItemStory | None = None
    """What it is about, where that is an item of the plan."""


def remarks(story: PlanStory) -> list[DeviationLine]:
    """Return what deviates: what is not done first, then words for passes, then what happened."""
    open_items = [_not_done(each) for each in story.items if not each.is_settled]
    by_word = [found for each in story.items for found in _of_item(each)]
    return [*open_items, *by_word, *_of_plan(story)]


def _not_done(item: ItemStory) -> DeviationLine:
    why = f": {item.reason}" if item.reason else ""
    return DeviationLine("not done", name_of(item), f"{item.word}{why}", None, item)


def name_of(item: ItemStory) -> str:
    """Return what an item is called: `step 2`."""
    return f"{item.subject.value} {item.number}"


def _of_item(item: ItemStory) -> Iterator[DeviationLine]:
    name = name_of(item)
    if item.word in {"claimed", "attested", "waived", "skipped"}:
        said, seq = _by_word(item)
        yield DeviationLine(item.word, name, said, seq, item)
    elif item.word == "holds":
        yield DeviationLine(
            "holds", name, item.reason or "green, and nobody saw it red", None, item
        )
    last = item.verdict
    if last is None or not isinstance(last.event, ContractEvaluated):
        return
    for word, said in _of_verdict(last.event, is_pass=item.is_pass):
        yield DeviationLine(word, name, said, last.seq, item)


def _of_verdict(event: ContractEvaluated, *, is_pass: bool) -> Iterator[tuple[str, str]]:
    if is_pass and event.evidence in _LITTLE:
        yield "little evidence", f"its pass is founded on {event.evidence}"
    if event.isolation == Isolation.I0.value:
        yield "not kept apart", "its contract ran as a plain process"
    if event.reused is not None:
        yield "taken over", f"nothing was run for it: it rests on the runs of event #{event.reused}"
    if event.late:
        yield "late", "it was seen to hold only when work had begun"


def _by_word(item: ItemStory) -> tuple[str, int | None]:
    """Return who settled an item, and by which words."""
    told = (*item.later, *(each for attempt in item.attempts for each in attempt.told))
    for each in sorted(told, key=lambda each: -each.seq):
        words = _word_of(each)
        if words:
            return words, each.seq
    if item.word == "skipped":
        return "left out when the plan was approved", None
    return "nobody judged it", None


def _word_of(each: TellingEvent) -> str:
    match each.event:
        case Waived(by=by, reason=said) | Attested(by=by, statement=said):
            return f"{said} (by {by})"
        case TaskSkipped(by=by, reason=reason):
            return f"{reason or 'without a reason'}{f' (by {by})' if by else ''}"
        case PreconditionClaimed(evidence=said) | PostconditionClaimed(evidence=said):
            return f"the agent says: {said}"
        case TaskCompleted(evidence=str(said)):
            return f"the agent says: {said}"
        case _:
            return ""


def _of_plan(story: PlanStory) -> Iterator[DeviationLine]:
    approved = [each.event for each in story.records if isinstance(each.event, GateApproved)]
    if not approved:
        yield DeviationLine("not approved", "the plan", "no approval of it is on record")
    for record in story.records:
        for word, said in _of_event(record.event):
            yield DeviationLine(word, about_words(record), said, record.seq)
    judges = approved[-1].judges if approved else None
    scope = judge_scope(story.plan)
    for path in judges or ():
        if covers(scope, path):
            said = f"the plan lets its steps change {path}, by which contracts judge"
            yield DeviationLine("editable judge", "the plan", said)
    spent = total(story.costs)
    if spent.no_tokens or spent.no_dollars:
        said = (
            f"of {spent.attempts} attempts {spent.no_tokens} did not say how many tokens they used,"
            f" and {spent.no_dollars} not what they cost"
        )
        yield DeviationLine("unknown cost", "the plan", said)
    elif story.state.session.session is not None and not story.costs:
        said = "an agent works on it by itself, and nobody says what it uses"
        yield DeviationLine("unknown cost", "the plan", said)
    if story.earlier:
        said = f"{story.earlier} events in the journal are those of another plan with this name"
        yield DeviationLine("an earlier plan", "the plan", said)


def _of_event(event: Event) -> Iterator[tuple[str, str]]:
    match event:
        case GateApproved():
            yield from _of_approval(event)
        case PlanAmended():
            why = f": {event.reason}" if event.reason else ""
            yield (
                "amended",
                f"revision {event.revision}{f' by {event.by}' if event.by else ''}{why}",
            )
        case PlanEdited():
            yield "edited", "its file was changed, by unknown hands"
        case PlanRewritten() if is_noticed(event):
            yield "edited", "its file was changed, by unknown hands"
        case ScopeViolated() | JudgeTampered():
            word = "out of scope" if isinstance(event, ScopeViolated) else "judges changed"
            back = "put back" if event.restored else "not put back"
            yield word, f"{', '.join(event.files)}; {back}"
        case ExecutionStarted():
            if event.anyway:
                yield "run anyway", f"not proved was {event.anyway}"
            if event.edited:
                yield "edited meanwhile", f"while the run stood still: {', '.join(event.edited)}"
        case BudgetRaised():
            yield "budget raised", f"{decision_words(event)}, by {event.by}"
        case _:
            pass


def _of_approval(event: GateApproved) -> Iterator[tuple[str, str]]:
    if event.method is Method.POLICY:
        yield "approved by a policy", f"no person looked: {event.policy or event.by or ''}"
    if event.seen:
        yield "in spite of warnings", ", ".join(event.seen)
    if event.missing_tools:
        yield "in spite of missing programs", ", ".join(event.missing_tools)
    if event.modifications:
        yield "approved with changes", ", ".join(event.modifications)
