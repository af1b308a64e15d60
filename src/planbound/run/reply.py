"""Answers the question of a run or of a gate, whoever asks: the command line, or the page."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from planbound.disk.files import PlanFile
from planbound.errors import Refused, UsageError
from planbound.journal.words import Choice, QuestionKind
from planbound.plan.limits import LimitError, parse_budget
from planbound.run.people import Person, answer, clarify, decided_state, raise_budget
from planbound.run.start import end_run
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

ENDS = frozenset({Choice.ABORT.value, Choice.REVISE.value})
"""The answers after which the run is over."""


class PersonsAnswer(NamedTuple):
    """What a person says to a question."""

    choice: str | None = None
    guidance: str = ""
    """For the next attempt."""
    budget: str = ""
    """With `raise`: how much more."""
    text: str = ""
    """The answer to a question about a plan."""


def reply(context: Context, question: Question, said: PersonsAnswer, who: Person) -> str:
    """Put an answer on record, and end the run where that is what it says; return it in a word."""
    given = _answered(context, question, said, who)
    if given in ENDS:
        end_run(context, *_plan(context, question))
    return given


def _answered(context: Context, question: Question, said: PersonsAnswer, who: Person) -> str:
    recorder = context.recorder()
    if question.kind is QuestionKind.CLARIFICATION:
        clarify(recorder, question, who, said.text)
        return "answered"
    if question.kind is QuestionKind.APPROVAL:
        raise Refused(
            "a request for an approval is not answered here",
            hint=f"`planbound approve {shlex.quote(question.plan)}`",
        )
    if question.kind is QuestionKind.INTEGRATION:
        raise Refused(
            "a merge that stopped is not answered here: its cause has to be removed",
            hint=f"then try it again: `planbound integrate {shlex.quote(question.plan)}`",
        )
    if said.choice is None:
        raise UsageError("no answer", hint=f"one of: {', '.join(map(str, question.choices))}")
    choice = Choice(said.choice)
    if choice is Choice.RAISE and choice in question.choices:
        if not said.budget:
            raise UsageError("how much more?", hint="`--budget '100k tokens, $2, 1h'`")
        try:
            more = parse_budget(said.budget)
        except LimitError as error:
            raise UsageError(f"`--budget`: {error.reason}", hint=error.hint) from error
        raise_budget(recorder, question, who, more)
        return "raise"
    state = None
    if choice is Choice.SKIP and choice in question.choices:
        state = decided_state(context, *_plan(context, question))
    answer(recorder, question, choice, who, said.guidance, state)
    return choice.value


def _plan(context: Context, question: Question) -> tuple[PlanFile, bytes]:
    file = locate(question.plan, context.tree)
    return file, context.reader.read(file.path)
