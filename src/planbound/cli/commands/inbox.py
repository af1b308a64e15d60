"""`planbound inbox`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli.reports.question import question_lines
from planbound.cli.reports.status import question_data
from planbound.cli.terminal import Terminal
from planbound.engine.fold import fold
from planbound.engine.judging.proof import held
from planbound.engine.run.question import Question
from planbound.errors import ExitCode, NothingToDo
from planbound.ports.journal import Journal, Query
from planbound.source.visible import visible
from planbound.usecases.answer import find_question, questions
from planbound.wiring.parts import Parts
from planbound.wiring.reminding import remind_waiting


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("id", nargs="?", metavar="ID", help="show all of it; its plan will do")
    parser.add_argument("--plan", metavar="PLAN", help="only what concerns this plan")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List what waits for a person, the oldest first."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    journal = parts.existing_journal()
    remind_waiting(parts)
    if arguments.id is not None:
        if journal is None:
            raise NothingToDo("nothing waits for a person")
        return _show(journal, find_question(journal, arguments.id), arguments, terminal)
    waiting = questions(journal, arguments.plan) if journal is not None else []
    if arguments.json:
        terminal.json({"waiting": [question_data(question) for question in waiting]})
        return ExitCode.DONE
    if not waiting:
        terminal.out("nothing waits for a person")
        return ExitCode.DONE
    for question in waiting:
        for line in question_lines(question):
            terminal.out(line)
        for line in _held(journal, question.plan):
            terminal.out(line)
        if question.reminders:
            terminal.out(f"    asked again {question.reminders} times")
    return ExitCode.DONE


def _held(journal: Journal | None, slug: str) -> Iterator[str]:
    """Yield the steps of a plan that hold: who decides about it should not take them for more."""
    state = fold(journal.read(Query(plan=slug))).get(slug) if journal is not None else None
    for task in state.tasks.values() if state is not None else ():
        if task.status == "holds":
            yield f"    “{visible(task.name or task.id)}” {held(task.reason)}"


def _show(
    journal: Journal, question: Question, arguments: argparse.Namespace, terminal: Terminal
) -> ExitCode:
    if arguments.json:
        terminal.json(question_data(question))
        return ExitCode.DONE
    for line in question_lines(question):
        terminal.out(line)
    terminal.out(f"    since {question.since}, {question.kind.value}")
    for line in _held(journal, question.plan):
        terminal.out(line)
    for title, text in (
        ("last output", question.output_tail),
        ("the agent printed", question.agent_tail),
        ("changed so far", question.diff),
    ):
        if text.strip():
            terminal.out(f"  {title}:")
            for line in text.strip().splitlines():
                terminal.out(f"    {visible(line)}")
    return ExitCode.DONE
