"""Runs that others work at: `planbound submit`, `worker`, `attach` and `cancel`."""

from __future__ import annotations

import argparse
import gc
import json
import shlex
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType, to_builtins

from planbound.approval.remind import Reminder
from planbound.cells.isolation import refuse_in_cell
from planbound.cli.interrupt import signals
from planbound.cli.log import EventLine
from planbound.cli.named_plans import read_bound_plan, read_own_plan
from planbound.cli.person import configure_person, the_person
from planbound.cli.progress import ProgressReport
from planbound.cli.run import keep_asked, send_asked
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, UsageError
from planbound.journal.event import EventKind, ExecutionPaused, RunOutcome, run_of
from planbound.journal.record import Journal, Query, Record, encode
from planbound.plan.model import Plan
from planbound.run.people import run_state
from planbound.run.start import cancel_run
from planbound.run.workers import (
    TakenPlan,
    Worker,
    WorkerFate,
    WorkerRules,
    WorkerWatcher,
    submit_plan,
)
from planbound.source import visible
from planbound.state.run import RunState
from planbound.workspace.context import Context
from planbound.workspace.overview import look

if TYPE_CHECKING:
    from planbound.receipts.keep import KeptNow

# -- `planbound submit` --------------------------------------------------------------------------


class TicketMade(JsonObject, frozen=True):
    slug: str
    priority: str
    roles: list[str]
    """What a worker must be able to do."""
    workspace: str


def configure_submit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="run although a plan that it depends on is not proved; recorded",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_submit(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Put an approved plan on the queue of the workers."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    context, file, data = read_bound_plan(arguments.plan, context)
    context.demand_own(file)
    look(context, file, data)
    ticket = submit_plan(context, file, anyway=arguments.anyway)
    if arguments.json:
        terminal.json(
            TicketMade(
                slug=ticket.plan,
                priority=ticket.priority.value,
                roles=list(ticket.roles),
                workspace=ticket.workspace,
            )
        )
    else:
        terminal.out(f"`{ticket.plan}` is on the queue, priority {ticket.priority.value}")
    return ExitCode.DONE


# -- `planbound worker` --------------------------------------------------------------------------


_MOST = 64


class WorkerLine(JsonObject, frozen=True):
    plan: str
    event: str
    """`took`, or what became of it."""
    detail: str | UnsetType = UNSET


def configure_worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--roles", metavar="ROLE,...", help="take only plans whose steps need no other roles"
    )
    parser.add_argument(
        "--concurrency", type=int, default=1, metavar="N", help="how many plans at once (default 1)"
    )
    parser.add_argument("--once", action="store_true", help="end when nothing is left to take")
    parser.add_argument("--json", action="store_true", help="for programs: a line for each plan")


def run_worker(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Take plans from the queue and run them, until told to stop."""
    refuse_in_cell()
    gc.enable()  # it lives for days
    if not 1 <= arguments.concurrency <= _MOST:
        raise UsageError(f"`--concurrency` is {arguments.concurrency}, expected 1 to {_MOST}")
    context = Context(workspace=arguments.workspace, state=arguments.state)
    rules = WorkerRules(_roles(arguments.roles, context), arguments.concurrency, arguments.once)
    voice = _WorkerScreen(terminal, json_lines=arguments.json)
    worker = Worker(context, rules, voice)
    with signals(worker), Reminder(context, lambda text: voice.say("", text)):
        taken = worker.work()
    if arguments.once and not taken:
        terminal.note("nothing to do: the queue has no plan that could be taken")
    return _worker_exit_code(taken) if arguments.once else ExitCode.DONE


def _roles(text: str | None, context: Context) -> frozenset[str] | None:
    if text is None:
        return None
    roles = frozenset(word.strip() for word in text.split(",") if word.strip())
    known = context.configuration.roles
    for role in sorted(roles - known) or ([] if roles else [""]):
        raise UsageError(
            f"`--roles` names `{role}`, which is no role", hint=f"roles: {', '.join(sorted(known))}"
        )
    return roles


class _WorkerScreen(WorkerWatcher):
    """Says what a worker does, whichever of its threads it happens in."""

    def __init__(self, terminal: Terminal, *, json_lines: bool) -> None:
        self.terminal = terminal
        self.json_lines = json_lines
        self._reports: dict[str, ProgressReport] = {}
        self._kept: dict[str, tuple[Context, KeptNow]] = {}
        """Receipts that are to be sent when their plan is let go."""
        self._lock = threading.Lock()

    def took(self, name: str, plan: Plan) -> None:
        """Say that a plan was taken."""
        with self._lock:
            self._reports[name] = ProgressReport(self.terminal)
            self._reports[name].know(plan)
            self._tell(WorkerLine(plan=name, event="took"), "took it")

    def saw(self, plan: str, records: Sequence[Record]) -> None:
        """Say what happens to it."""
        if self.json_lines:
            return
        with self._lock:
            for record in records:
                for line in self._reports[plan].lines(record):
                    self.terminal.out(f"{plan}: {line}")
            sys.stdout.flush()

    def say(self, plan: str, text: str) -> None:
        """Say something else."""
        with self._lock:
            self.terminal.note(f"{plan}: {text}" if plan else text)

    def vouch(self, context: Context, plan: str) -> str | None:
        """Keep a receipt of it, where the configuration asks for that."""
        kept = keep_asked(context, plan, partial(self.say, plan))
        if kept is not None:
            self._kept[plan] = (context, kept)
        return kept.sha256 if kept is not None else None

    def left(self, taken: TakenPlan) -> None:
        """Say how it went."""
        if taken.plan in self._kept:
            send_asked(*self._kept.pop(taken.plan), partial(self.say, taken.plan))
        with self._lock:
            self._reports.pop(taken.plan, None)
            detail = f": {visible(taken.detail)}" if taken.detail else ""
            told = WorkerLine(plan=taken.plan, event=taken.fate.value, detail=taken.detail)
            self._tell(told, taken.fate.value + detail)

    def _tell(self, told: WorkerLine, text: str) -> None:
        if self.json_lines:
            self.terminal.out(json.dumps(to_builtins(told)))
        else:
            self.terminal.out(f"{told.plan}: {text}")
        sys.stdout.flush()


def _worker_exit_code(taken: list[TakenPlan]) -> ExitCode:
    last = {each.plan: each for each in taken}.values()
    if not last:
        return ExitCode.NOTHING_TO_DO
    if any(each.fate in {WorkerFate.BROKEN, WorkerFate.REFUSED} for each in last):
        return ExitCode.FAILED
    if any(
        each.fate is WorkerFate.ENDED and not RunOutcome(each.detail).is_complete for each in last
    ):
        return ExitCode.FAILED
    return (
        ExitCode.WAITING if any(each.fate is WorkerFate.WAITING for each in last) else ExitCode.DONE
    )


# -- `planbound attach` --------------------------------------------------------------------------


_BEGIN_AND_END = (EventKind.EXECUTION_STARTED, EventKind.EXECUTION_COMPLETE)


def configure_attach(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--json", action="store_true", help="one event per line")


def run_attach(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Follow a run until it ends or waits; leaving it does not end it."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, context)
    journal = context.existing_journal()
    state = run_state(context, file, data)
    if journal is None or state.run is None:
        raise NothingToDo(f"no run of `{file.slug}` has begun")
    report = ProgressReport(terminal)
    report.know(state.layout.plan)
    for record in _so_far(journal, file.slug, state):
        _show(record, report, arguments, terminal)
    while True:
        # Asked before the journal is read: whoever lets go of a run has written all of it.
        holder, head = context.holder_of(file.slug), journal.head().seq
        for record in _since(journal, file.slug, state):
            _show(record, report, arguments, terminal)
        sys.stdout.flush()
        if state.ended is not None:
            return ExitCode.DONE if state.ended.is_complete else ExitCode.FAILED
        if holder is None:
            return _left(file.slug, state, terminal)
        journal.wait(head, 1.0)


def _so_far(journal: Journal, slug: str, state: RunState) -> Iterator[Record]:
    """Yield what the run has written, up to its end: what comes later is not about it."""
    marks = list(journal.read(Query(plan=slug, events=_BEGIN_AND_END)))
    first = next(each.seq for each in marks if run_of(each.event) == state.run)
    last = state.seq if state.ended is None else marks[-1].seq
    for record in journal.read(Query(plan=slug, after=first - 1)):
        if record.seq > last:
            return
        yield record


def _since(journal: Journal, slug: str, state: RunState) -> Iterator[Record]:
    """Yield what happens next, up to the end of the run."""
    for record in journal.read(Query(plan=slug, after=state.seq)):
        if state.ended is not None:
            return
        state.apply(record)
        yield record


def _left(slug: str, state: RunState, terminal: Terminal) -> ExitCode:
    """Return what became of a run that nobody drives and that has not ended."""
    if state.paused == ExecutionPaused.WAITING and state.questions:
        return ExitCode.WAITING
    if state.paused is not None and state.paused != ExecutionPaused.WAITING:
        return ExitCode.INTERRUPTED
    terminal.note(f"nobody drives it now: `planbound resume {shlex.quote(slug)}`")
    return ExitCode.FAILED


def _show(
    record: Record, report: ProgressReport, arguments: argparse.Namespace, terminal: Terminal
) -> None:
    if arguments.json:
        terminal.out(encode(record))
        return
    for line in report.lines(record):
        terminal.out(line)


# -- `planbound cancel` --------------------------------------------------------------------------


class CancelMade(JsonObject, frozen=True):
    plan: str
    cancelled_by: str
    holder: str | None
    """Who ran it, and stops its agent now."""


def configure_cancel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why")
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_cancel(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """End a run; the agent at work is stopped, what was proved stays on record."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, context)
    who = the_person(arguments.by, context.root, arguments.state)
    holder = cancel_run(context, file, data, who, arguments.reason)
    if arguments.json:
        terminal.json(CancelMade(plan=file.slug, cancelled_by=who.name, holder=holder))
    elif holder is not None:
        terminal.out(f"`{file.slug}` is cancelled; {holder} stops its agent now")
    else:
        terminal.out(f"`{file.slug}` is cancelled")
    return ExitCode.DONE


SHAPES: dict[str, Shapes] = {
    "submit": {"": TicketMade},
    "worker": {"a line each": WorkerLine},
    "attach": {"a line each": EventLine},
    "cancel": {"": CancelMade},
}
