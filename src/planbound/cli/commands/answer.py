"""`planbound answer`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli import person
from planbound.cli.inputs import read_plan
from planbound.cli.pending import note_next
from planbound.cli.terminal import Terminal
from planbound.engine.run.question import Choice, Question, QuestionKind
from planbound.errors import ExitCode, Refused, UsageError
from planbound.plan.limits import LimitError, parse_budget
from planbound.usecases import answer as answers
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.people import decided_state, end_run

_CHOICES = [choice.value for choice in Choice]
_ENDS = frozenset({Choice.ABORT.value, Choice.REVISE.value})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "id",
        metavar="ID",
        help="the question, as `planbound inbox` shows it; its plan, if it asks one only",
    )
    parser.add_argument("choice", nargs="?", choices=_CHOICES, help="what to do")
    parser.add_argument("--guidance", metavar="TEXT", default="", help="for the next attempt")
    parser.add_argument("--budget", metavar="BUDGET", help="with `raise`: how much more")
    parser.add_argument("--text", metavar="TEXT", help="the answer to a question about a plan")
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Answer a question that waits in the inbox."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    journal = parts.existing_journal()
    if journal is None:
        raise UsageError("nothing waits for a person")
    question = answers.find_question(journal, arguments.id)
    who = person.the_person(arguments.by)
    said = _answer(parts, question, who, arguments)
    if said in _ENDS:
        end_run(parts, *read_plan(question.plan, parts))
    if arguments.json:
        terminal.json({"id": question.id, "plan": question.plan, "answer": said, "by": who.name})
        return ExitCode.DONE
    terminal.out(f"{question.id}: {said}, by {who.name}")
    if question.kind is not QuestionKind.CLARIFICATION and said not in _ENDS:
        note_next(parts, question.plan, terminal)
    elif said == Choice.REVISE.value:
        terminal.note(
            f"change the plan, then `planbound amend {shlex.quote(question.plan)}`;"
            f" or let a model do both: `planbound redraft {shlex.quote(question.plan)}`"
        )
    return ExitCode.DONE


def _answer(
    parts: Parts, question: Question, who: answers.Person, arguments: argparse.Namespace
) -> str:
    recorder = parts.recorder()
    if question.kind is QuestionKind.CLARIFICATION:
        if not (arguments.text or "").strip():
            raise UsageError("the answer is empty", hint="say it with `--text '...'`")
        answers.clarify(recorder, question, who, arguments.text)
        return "answered"
    if question.kind is QuestionKind.APPROVAL:
        raise Refused(
            "a plan is approved by looking at it",
            hint=f"`planbound approve {shlex.quote(question.plan)}`",
        )
    if question.kind is QuestionKind.INTEGRATION:
        raise Refused(
            "a merge that was stopped is mended, not answered",
            hint=f"then try it again: `planbound integrate {shlex.quote(question.plan)}`",
        )
    if arguments.choice is None:
        raise UsageError("no answer", hint=f"one of: {', '.join(question.choices)}")
    choice = Choice(arguments.choice)
    if choice is Choice.RAISE and choice.value in question.choices:
        if not arguments.budget:
            raise UsageError("how much more?", hint="`--budget '100k tokens, $2, 1h'`")
        try:
            more = parse_budget(arguments.budget)
        except LimitError as error:
            raise UsageError(f"`--budget`: {error.reason}", hint=error.hint) from error
        answers.raise_budget(recorder, question, who, more)
        return "raise"
    state = None
    if choice is Choice.SKIP and choice.value in question.choices:
        state = decided_state(parts, *read_plan(question.plan, parts))
    answers.answer(recorder, question, choice, who, arguments.guidance, state)
    return choice.value
