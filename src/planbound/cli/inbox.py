"""What waits for a person, and who is told of it: `planbound inbox` and `notify`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planbound.approval.remind import remind_waiting, still_waits
from planbound.cells.isolation import refuse_in_cell
from planbound.cli.person import (
    QuestionAsked,
    configure_person,
    question_asked,
    question_lines,
    tail_lines,
)
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, UsageError
from planbound.journal.record import Journal
from planbound.plan.model import StepStatus
from planbound.run.people import find_question, questions
from planbound.source import visible
from planbound.state.plan import plan_state
from planbound.state.question import Question
from planbound.state.step import held
from planbound.workspace.context import Context
from planbound.workspace.told import Arrival, QuestionDelivery, deliveries

if TYPE_CHECKING:
    from planbound.workspace.notify import DeliveryAttempt


# -- what waits for a person: `planbound inbox` --------------------------------------------------


class ReceiverTold(JsonObject, frozen=True):
    """Whether one receiver was told of a question."""

    question: str
    """Its id."""
    target: str
    arrival: Arrival
    reason: str | None
    """Why the last try failed."""


class Inbox(JsonObject, frozen=True):
    waiting: list[QuestionAsked]
    """The oldest question first."""
    deliveries: list[ReceiverTold]
    """For each question the receivers of `[[notify]]` that are to be told of it."""


def configure_inbox(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="show this question in full; its plan, if that has only one",
    )
    parser.add_argument("--plan", metavar="PLAN", help="only what concerns this plan")
    parser.add_argument(
        "--next", action="store_true", help="ask one question after the other, and take the answers"
    )
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_inbox(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List what waits for a person, the oldest first."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    journal = context.existing_journal()
    remind_waiting(context)
    if arguments.next:
        return _next(context, journal, arguments, terminal)
    if arguments.id is not None:
        if journal is None:
            raise NothingToDo("nothing waits for a person")
        return _show(journal, find_question(journal, arguments.id), arguments, terminal)
    waiting = questions(journal, arguments.plan) if journal is not None else []
    if arguments.json:
        arrived = [
            ReceiverTold(
                question=each.question,
                target=each.target,
                arrival=each.arrival,
                reason=each.reason or None,
            )
            for each in deliveries(context, waiting)
        ]
        asked = [question_asked(question) for question in waiting]
        terminal.json(Inbox(waiting=asked, deliveries=arrived))
        return ExitCode.DONE
    if not waiting:
        terminal.out("nothing waits for a person")
        return ExitCode.DONE
    arrivals: dict[str, list[QuestionDelivery]] = {}
    for each in deliveries(context, waiting):
        arrivals.setdefault(each.question, []).append(each)
    for question in waiting:
        for line in question_lines(question):
            terminal.out(line)
        for line in _held(journal, question.plan):
            terminal.out(line)
        if question.reminders:
            terminal.out(f"    asked again {question.reminders} times")
        for told in arrivals.get(question.id, ()):
            terminal.out(f"    {visible(told.words)}")
    return ExitCode.DONE


def _next(
    context: Context, journal: Journal | None, arguments: argparse.Namespace, terminal: Terminal
) -> ExitCode:
    if arguments.json:
        raise UsageError("`--next` is a dialogue: `--json` has nothing to print")
    refuse_in_cell()
    # It loads what decides.
    from planbound.cli.inbox_dialogue import (  # noqa: PLC0415
        InboxDialogue,
        refuse_without_terminal,
    )

    refuse_without_terminal()
    if journal is not None:
        return InboxDialogue(context, journal, arguments, terminal).hold()
    if arguments.id is not None:
        raise NothingToDo("nothing waits for a person")
    terminal.out("nothing waits for a person")
    return ExitCode.DONE


def _held(journal: Journal | None, slug: str) -> Iterator[str]:
    """Yield the steps of a plan that hold: who decides about it should not take them for more."""
    state = plan_state(journal, slug) if journal is not None else None
    for step in state.steps.values() if state is not None else ():
        if step.status is StepStatus.HOLDS:
            yield f"    “{visible(step.name or step.id)}” {held(step.reason)}"


def _show(
    journal: Journal, question: Question, arguments: argparse.Namespace, terminal: Terminal
) -> ExitCode:
    if arguments.json:
        terminal.json(question_asked(question))
        return ExitCode.DONE
    for line in question_lines(question):
        terminal.out(line)
    terminal.out(f"    since {question.since}, {question.kind.value}")
    for line in _held(journal, question.plan):
        terminal.out(line)
    for line in tail_lines(question):
        terminal.out(line)
    return ExitCode.DONE


# -- `planbound notify` --------------------------------------------------------------------------


class Delivery(JsonObject, frozen=True):
    """One try to tell somebody of an event."""

    fate: str
    target: str
    event: str
    plan: str
    task_id: str | None
    id: str
    seq: int
    tries: int
    reason: str | None
    """Why it was not delivered."""


class NotifyReport(JsonObject, frozen=True):
    deliveries: list[Delivery]
    obstacles: list[str]
    """What keeps it from trying."""


def configure_notify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="try each only once, and do not wait")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_notify(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Deliver what is outstanding, and say what became of it."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    if not context.configuration.notify:
        raise NothingToDo("the configuration has no `[[notify]]`")
    from planbound.workspace.notify import Fate, deliver  # noqa: PLC0415 - start-up time
    from planbound.workspace.receivers import make_outbox  # noqa: PLC0415 - the same

    refuse_in_cell()
    outbox = make_outbox(context)
    for slug in remind_waiting(context, deliver=False):
        terminal.note(f"note: {still_waits(slug)}")
    for entry in outbox.new:
        terminal.note(f"note: `{entry.target.shown}` is told of what happens from now on")
    for obstacle in outbox.obstacles:
        terminal.problem(obstacle)
    attempts = []
    for attempt in deliver(
        outbox.deliveries, outbox.entries, once=arguments.once, sleep=time.sleep
    ):
        attempts.append(attempt)
        if not arguments.json:
            terminal.out(_line(attempt))
    if arguments.json:
        terminal.json(
            NotifyReport(
                deliveries=[_delivery(attempt) for attempt in attempts],
                obstacles=list(outbox.obstacles),
            )
        )
    ends = {(attempt.entry, attempt.record.seq): attempt.fate for attempt in attempts}
    if outbox.obstacles or any(fate is not Fate.DELIVERED for fate in ends.values()):
        return ExitCode.FAILED
    if not attempts:
        left = any(outbox.deliveries.wait(entry) is not None for entry in outbox.entries)
        why = "another process delivers just now" if left else "everybody was told of everything"
        terminal.note(f"nothing to do: {why}")
        return ExitCode.NOTHING_TO_DO
    return ExitCode.DONE


def _line(attempt: DeliveryAttempt) -> str:
    draft = attempt.record.draft
    about = f"{draft.plan or '-'}/{draft.task_id}" if draft.task_id else draft.plan or "-"
    line = f"{attempt.fate.value}: {draft.kind.value} {about} to {attempt.entry.target.shown}"
    if attempt.reason:
        line += f": {attempt.reason} (try {attempt.tries} of {attempt.entry.retries + 1})"
    return visible(line)


def _delivery(attempt: DeliveryAttempt) -> Delivery:
    draft = attempt.record.draft
    return Delivery(
        fate=attempt.fate.value.replace(" ", "-"),
        target=attempt.entry.target.shown,
        event=draft.kind.value,
        plan=draft.plan,
        task_id=draft.task_id,
        id=draft.id,
        seq=attempt.record.seq,
        tries=attempt.tries,
        reason=attempt.reason or None,
    )


SHAPES: dict[str, Shapes] = {
    "inbox": {"": Inbox, "ID": QuestionAsked},
    "notify": {"": NotifyReport},
}
