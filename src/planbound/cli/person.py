"""Who decides, a person at a terminal or one that is named; and what they are asked."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from planbound.cli.shape import JsonObject
from planbound.errors import UsageError
from planbound.journal.words import (
    Choice,
    FailureClass,
    PersonMethod,
    QuestionKind,
    QuestionSubject,
)
from planbound.source import visible
from planbound.state.question import Question

if TYPE_CHECKING:
    from planbound.run.people import Person


# -- who decides: a person at a terminal, or one that is named -----------------------------------


def configure_person(parser: argparse.ArgumentParser) -> None:
    """Add who decides."""
    parser.add_argument("--as", dest="by", metavar="NAME", help="who decides")


def is_terminal() -> bool:
    """Say whether somebody may sit at a terminal; a program can pretend to."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def prompt(question: str) -> str | None:
    """Return what is typed at the terminal; None at its end."""
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None


def name_of_person(given: str | None) -> str:
    """Return who decides; refuse where nobody is named and nobody sits there."""
    if given:
        return given
    if not is_terminal():
        raise UsageError(
            "it is not said who decides", hint="without a terminal say who: `--as NAME`"
        )
    import getpass  # noqa: PLC0415 - only here

    return getpass.getuser()


def refuse_agents(root: str, state: str | None, *, signed: bool = False) -> None:
    """Refuse a decision that an agent would take; `signed`: its signature says whose it is."""
    from planbound.session.hosts import hand  # noqa: PLC0415 - start-up

    hand.refuse_agents(root, state, os.environ, signed=signed)


def the_person(given: str | None, root: str, state: str | None = None) -> Person:
    """Return who decides, and how that is known; refuse in a cell, and an agent."""
    from planbound.cells.isolation import refuse_in_cell  # noqa: PLC0415 - start-up
    from planbound.run.people import Person  # noqa: PLC0415 - start-up

    refuse_in_cell()
    refuse_agents(root, state)
    name = name_of_person(given)
    return Person(name, PersonMethod.TERMINAL if is_terminal() else PersonMethod.NAME)


# -- A question that waits for a person, for programs and for people -----------------------------


class QuestionAsked(JsonObject, frozen=True):
    """A question that waits for a person."""

    id: str
    plan: str
    kind: QuestionKind
    reason: str
    since: str
    task_id: str | None
    title: str | None
    number: str | None
    subject: QuestionSubject | None
    choices: list[Choice]
    """What `planbound answer` takes."""
    leaves_out: list[str]
    """The steps that `skip` leaves out, too: they depend on this one."""
    failure_type: FailureClass | None
    exhausted: bool
    """Whether every try that a recipe allows is used."""
    output_tail: str
    agent_tail: str
    diff: str
    reminders: int
    """How often it was asked again."""
    question: str
    """What a recipe asks in words of its own."""
    digest: str | None
    """Of a question of the gate: the text that it is about."""
    line: int | None
    """Of a comment on a plan: the line that it is about."""
    quoted: str
    """What stood in that line."""


def question_asked(question: Question) -> QuestionAsked:
    """Return a question for programs."""
    asked = asdict(question)
    del asked["request"], asked["seq"]  # for whoever reminds people, not for programs
    asked |= {"choices": list(question.choices), "leaves_out": list(question.leaves_out)}
    return QuestionAsked(**asked)


_WAIVABLE = frozenset({QuestionKind.REGRESSION, QuestionKind.CONDITION})
"""There nothing can be skipped: to go on without a pass is to waive it."""


def question_lines(question: Question) -> Iterator[str]:
    """Yield a question as people read it."""
    place = f"step {question.number} of `{question.plan}`"
    if question.task_id is None:
        place = f"`{question.plan}`"
    title = f" ({visible(question.title)})" if question.title else ""
    if question.line is not None:
        place += f", line {question.line}"
    yield f"{question.id}  {place}{title}: {visible(question.reason)}"
    if question.quoted.strip():
        yield f"    > {visible(question.quoted.strip())}"
    choices = [_words(choice) for choice in question.choices]
    if question.kind is QuestionKind.ATTESTATION:
        yield f"    planbound attest {shlex.quote(question.plan)} {subject_asked(question)}"
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


def tail_lines(question: Question) -> Iterator[str]:
    """Yield the ends of what was printed, and what was changed so far; only what there is."""
    for title, tail in (
        ("last output", question.output_tail),
        ("the agent printed", question.agent_tail),
        ("changed so far", question.diff),
    ):
        if tail.strip():
            yield f"  {title}:"
            yield from (f"    {visible(line)}" for line in tail.strip().splitlines())


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
    subject = subject_asked(question)
    return f"planbound waive {shlex.quote(question.plan)} {subject} --reason '...'"


def subject_asked(question: Question) -> str:
    """Return the step or condition that is asked about, as commands take it."""
    if question.task_id is not None:
        return str(question.number)
    return f"{question.subject}:{question.number}"


def _words(choice: Choice) -> str:
    return "raise --budget '...'" if choice is Choice.RAISE else choice.value
