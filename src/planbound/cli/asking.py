"""A question of a run, asked at the terminal where it runs."""

from __future__ import annotations

import select
import sys
from decimal import Decimal

from planbound.cli.person import question_lines, the_person
from planbound.errors import NothingToDo, PlanboundError
from planbound.journal.words import Choice, QuestionKind
from planbound.plan.limits import Budget, LimitError, parse_budget
from planbound.run.loop import CANCELLED
from planbound.run.people import (
    answer,
    attest,
    raise_budget,
)
from planbound.run.session import RunSession
from planbound.source import visible
from planbound.state.question import Question

_ATTEST = "attest"
_LOOK = 0.2
"""How often a prompt looks whether its question is still open, and the run is to go on."""
_LATER = frozenset({"later", "quit", "q"})


def ask_one(session: RunSession, question: Question) -> bool:
    """Ask until there is an answer; say whether there is one, and not `later`."""
    for line in question_lines(question):
        _say_question(line)
    words = [_ATTEST] if question.kind is QuestionKind.ATTESTATION else []
    words += [choice.value for choice in question.choices]
    while True:
        typed = _read(session, f"{', '.join(words)}, later? ", question)
        if typed is None:
            return _is_settled(session, question)
        word, rest = _split(typed)
        if word in _LATER:
            return False
        if word not in words:
            if word:
                _say_question(
                    f"`{visible(word)}` is not an answer here: {', '.join(words)}, or later"
                )
            continue
        try:
            if _answered(session, question, word, rest):
                return True
        except NothingToDo as error:
            _say_question(error.message)  # somebody was faster, by another way
            return True
        except PlanboundError as error:
            _say_question(error.message)
            if error.hint:
                _say_question(f"hint: {error.hint}")


def _answered(session: RunSession, question: Question, word: str, rest: str) -> bool:
    recorder, who = session.context.recorder, the_person(None, session.judging.tree.root)
    if word == _ATTEST:
        subject = question.number if question.task_id else f"{question.subject}:{question.number}"
        statement = attest(recorder, question.plan, session.state, subject or "", who)
        _say_question(f"attested by {who.name}: {visible(statement)}")
        return True
    choice = Choice(word)
    if choice is Choice.RAISE:
        more = _budget(session, rest, question)
        if more is None:
            return False
        raise_budget(recorder, question, who, more)
        return True
    if choice is Choice.RETRY and not rest and question.task_id is not None:
        asked = "what should the next attempt know? (enter: nothing) "
        rest = _read(session, asked, question) or ""
    session.refresh(at_once=True)
    answer(recorder, question, choice, who, rest.strip(), session.state)
    return True


def _budget(session: RunSession, text: str, question: Question) -> Budget | None:
    """Return how much more may be spent; None where that is not to be understood."""
    example = "100k tokens, $2, 1h"
    if not text:
        text = _read(session, f"how much more? (for example {example}) ", question) or ""
    try:
        more = parse_budget(text)
    except LimitError as error:
        _say_question(f"{error.reason}; write it like `{example}`")
        return None
    if not any(amount is not None and Decimal(amount) > 0 for amount in more[:3]):
        _say_question(f"nothing more is allowed by that; write it like `{example}`")
        return None
    return more


def _split(typed: str) -> tuple[str, str]:
    """Return the first word, and what follows it: `retry: look at the tests`."""
    word, _, rest = typed.strip().partition(" ")
    head, colon, tail = word.partition(":")
    if colon:
        word, rest = head, f"{tail} {rest}"
    return word.rstrip(",.;").lower(), rest.strip(" :,")


def _is_settled(session: RunSession, question: Question) -> bool:
    """Return whether somebody answered it by another way, or ended the run."""
    if session.control.reason == CANCELLED or session.state.cancelled:
        return True
    return question.id not in session.state.questions


def _read(session: RunSession, prompt: str, question: Question) -> str | None:
    """Return what is typed; None at the end of the input, or when there is no need to ask."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    while not select.select([sys.stdin], [], [], _LOOK)[0]:
        session.refresh()
        if _is_settled(session, question):
            _say_question(f"\n`{question.id}` was settled elsewhere")
            return None
        if session.control.reason is not None:
            return None
    typed = sys.stdin.readline()
    return typed.strip() if typed else None


def _say_question(text: str) -> None:
    sys.stderr.write(text + "\n")
