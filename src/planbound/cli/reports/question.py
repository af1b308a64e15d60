"""A question as people read it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from planbound.engine.run.question import Choice, Question, QuestionKind
from planbound.source.visible import visible

_WAIVABLE = frozenset({QuestionKind.REGRESSION, QuestionKind.CONDITION})
"""There nothing can be skipped: to go on without a pass is to waive it."""


def question_lines(question: Question) -> Iterator[str]:
    """Yield a question as people read it."""
    place = f"step {question.number} of `{question.plan}`"
    if question.task_id is None:
        place = f"`{question.plan}`"
    title = f" ({visible(question.title)})" if question.title else ""
    yield f"{question.id}  {place}{title}: {visible(question.reason)}"
    choices = [_words(choice) for choice in question.choices]
    if question.kind is QuestionKind.ATTESTATION:
        about = question.number if question.task_id else f"{question.subject}:{question.number}"
        yield f"    planbound attest {shlex.quote(question.plan)} {about}"
    if choices:
        yield f"    planbound answer {question.id} {'|'.join(choices)}"
        if question.kind in _WAIVABLE:
            yield f"    {_waive(question)}"
        if question.leaves_out:
            yield f"    {_left_out(question)}"
    elif question.kind is QuestionKind.APPROVAL:
        yield f"    planbound approve {shlex.quote(question.plan)}"
    elif question.kind is QuestionKind.INCOMPLETE:
        yield f"    planbound status {shlex.quote(question.plan)}"
        yield f"    planbound release {shlex.quote(question.plan)} --reason '...'"
    elif question.kind is QuestionKind.INTEGRATION:
        yield f"    planbound inbox {question.id}"
        yield f"    planbound integrate {shlex.quote(question.plan)} [--resolve]"
    elif question.kind is QuestionKind.CLARIFICATION:
        yield f"    planbound answer {question.id} --text '...'"


def _left_out(question: Question) -> str:
    """Return what `skip` takes with it, and what does not."""
    several = len(question.leaves_out) > 1
    steps = f"step{'s' if several else ''} {', '.join(question.leaves_out)}"
    kept = f"`{_waive(question)}`"
    return (
        f"`skip` leaves out {steps}, too, which depend{'' if several else 's'} on it;"
        f" to go on with {'them' if several else 'it'}: {kept}"
    )


def _waive(question: Question) -> str:
    """Return the command that goes on without a pass."""
    about = question.number if question.task_id else f"{question.subject}:{question.number}"
    return f"planbound waive {shlex.quote(question.plan)} {about} --reason '...'"


def _words(choice: str) -> str:
    return "raise --budget '...'" if choice == Choice.RAISE.value else choice
