"""`planbound attach`."""

from __future__ import annotations

import argparse
import shlex
import sys

from planbound.cli.inputs import read_own_plan
from planbound.cli.reports.progress import ProgressReport
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo
from planbound.journal.event import EventKind
from planbound.journal.record import Record
from planbound.ports.journal import Journal, Query
from planbound.wiring.parts import Parts
from planbound.wiring.people import holder_of, run_state

_GOOD = frozenset({"done", "done with skips"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--json", action="store_true", help="one event per line")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Follow a run until it ends or waits; leaving it does not end it."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, parts)
    journal = parts.existing_journal()
    state = run_state(parts, file, data)
    if journal is None or state.run is None:
        raise NothingToDo(f"no run of `{file.slug}` has begun")
    report = ProgressReport(terminal)
    report.know(state.layout.plan)
    started = _start(journal, file.slug, state.run)
    after = started
    while True:
        ended = None
        for record in journal.read(Query(plan=file.slug, after=after)):
            after = record.seq
            _show(record, report, arguments, terminal)
            ended = _end(record) if record.draft.event is not EventKind.TASK_STARTED else None
        sys.stdout.flush()
        if ended is not None and (ended is not ExitCode.WAITING or not holder_of(parts, file.slug)):
            return ended
        if ended is None and not holder_of(parts, file.slug):
            terminal.note(f"nobody drives it now: `planbound resume {shlex.quote(file.slug)}`")
            return ExitCode.FAILED
        journal.wait(after, 1.0)


def _start(journal: Journal, slug: str, run: str) -> int:
    """Return where the run begins in the journal."""
    query = Query(plan=slug, events=(EventKind.EXECUTION_STARTED,))
    for record in journal.read(query):
        if record.draft.details.get("run") == run:
            return record.seq - 1
    return 0


def _show(
    record: Record, report: ProgressReport, arguments: argparse.Namespace, terminal: Terminal
) -> None:
    if arguments.json:
        from planbound.journal.codec import encode  # noqa: PLC0415 - only for programs

        terminal.out(encode(record))
        return
    for line in report.lines(record):
        terminal.out(line)


def _end(record: Record) -> ExitCode | None:
    details = record.draft.details
    if record.draft.event is EventKind.EXECUTION_COMPLETE:
        return ExitCode.DONE if details.get("status") in _GOOD else ExitCode.FAILED
    if record.draft.event is EventKind.EXECUTION_PAUSED:
        return ExitCode.WAITING if details.get("reason") == "waiting" else ExitCode.INTERRUPTED
    return None
