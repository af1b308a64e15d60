"""The evidence of a question, for people: its contract, the last verdict, and what was printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from planbound.cli.person import tail_lines
from planbound.errors import PlanboundError
from planbound.journal.event import ContractEvaluated, EventKind, number_of, subject_of
from planbound.journal.record import Journal, Query, Record
from planbound.plan.contract import expectation_text
from planbound.plan.model import CaseTable, Command, Condition, Contract, Step
from planbound.plan.parse import parse
from planbound.receipts.fragments import measured
from planbound.receipts.story import TellingEvent
from planbound.source import visible
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

_MOST = 12
"""So many names of files are told of one thing."""


class QuestionEvidence(NamedTuple):
    """What is known about what a person is asked."""

    question: Question
    contract: Contract | None
    """As the file reads now; None where it has none, or the file cannot be read."""
    verdict: TellingEvent | None
    """The last one about the same step or condition."""


def evidence_of(context: Context, journal: Journal, question: Question) -> QuestionEvidence:
    """Gather what a person should see before they answer."""
    contract = None
    with suppress(PlanboundError):  # the question can be answered all the same
        contract = _contract(context, question)
    return QuestionEvidence(question, contract, last_verdict(journal, question))


def last_verdict(journal: Journal, question: Question) -> TellingEvent | None:
    """Return the last verdict about what a person is asked; None where nothing was judged."""
    if question.number is None:
        return None
    kinds = (EventKind.CONTRACT_EVALUATED,)
    query = Query(plan=question.plan, task=question.task_id, events=kinds)
    found = None
    for record in journal.read(query):
        if question.task_id is not None or _is_about(record, question):
            found = record
    return TellingEvent(found.seq, found.draft.timestamp, found.event) if found else None


def _is_about(record: Record, question: Question) -> bool:
    event = record.event
    subject = subject_of(event)
    if subject is None or question.subject is None or record.draft.task_id is not None:
        return False
    return (subject.value, number_of(event)) == (question.subject.value, question.number)


def _contract(context: Context, question: Question) -> Contract | None:
    if question.number is None:
        return None
    file = locate(question.plan, context.tree)
    plan = parse(context.reader.read(file.path), path=file.shown)
    items: tuple[Step | Condition, ...] = plan.steps
    if question.task_id is None:
        of_plan = question.subject is not None and question.subject.value == "precondition"
        items = plan.preconditions if of_plan else plan.postconditions
    for item in items:
        name = item.label if isinstance(item, Step) else str(item.number)
        if name == question.number:
            return item.contract
    return None


def evidence_lines(evidence: QuestionEvidence) -> Iterator[str]:
    """Yield the evidence; nothing of it can move the cursor or paint."""
    question = evidence.question
    yield from _contract_lines(evidence.contract)
    if evidence.verdict is not None:
        yield from _verdict_lines(evidence.verdict)
    yield from tail_lines(question)


def verdict_text(record: Record) -> Iterator[str]:
    """Yield a verdict with both ends of what was printed."""
    draft, event = record.draft, record.event
    yield f"{visible(draft.plan)}  {visible(draft.task_name or '')}".rstrip()
    yield from _verdict_lines(TellingEvent(record.seq, draft.timestamp, event))
    if isinstance(event, ContractEvaluated):
        for title, text in (("it began", event.output_head), ("it ended", event.output_tail)):
            if text and text.strip():
                yield f"  {title}:"
                yield from (f"    {visible(line)}" for line in text.strip().splitlines())


def _contract_lines(contract: Contract | None) -> Iterator[str]:
    match contract:
        case Command() | CaseTable():
            yield "  contract:"
            yield from (f"    $ {visible(line)}" for line in contract.text.strip().splitlines())
            told = [expectation_text(each.value) for each in contract.expectations]
            yield f"    expects {visible(', '.join(told) or 'exit_code == 0')}"
        case None:
            pass
        case _:
            yield f"  a person attests: {visible(contract.statement)}"


def _verdict_lines(told: TellingEvent) -> Iterator[str]:
    event = told.event
    if not isinstance(event, ContractEvaluated):
        return
    facts = ", ".join((event.verdict.value, *measured(event)))
    yield f"  last verdict: {visible(facts)} (event #{told.seq}, {told.when[:19]}Z)"
    if event.reason and event.reason != f"exit {event.exit_code}":
        yield f"    why: {visible(event.reason)}"
    for title, names in (
        ("outside `touches`", event.outside),
        ("judges that changed", event.tampered),
        ("new failures", event.new_failures),
        ("tests that did not run", event.disappeared),
    ):
        if names:
            more = f", and {len(names) - _MOST} more" if len(names) > _MOST else ""
            yield f"    {title}: {visible(', '.join(names[:_MOST]))}{more}"
