"""Noting in the journal what a command did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planbound.cli.terminal import Terminal
from planbound.errors import ConcurrentModification, FileProblem, JournalProblem
from planbound.plan.model import Plan
from planbound.plan.parse import parse, write
from planbound.ports.files import PlanFile
from planbound.usecases.verify import Verified
from planbound.wiring.parts import Parts

if TYPE_CHECKING:
    from planbound.engine.judging.verdict import Verdict
    from planbound.usecases.archive import Archived


def note_created(parts: Parts, file: PlanFile, terminal: Terminal, *, origin: str) -> None:
    """Note that a plan was written for the first time."""
    try:
        plan = parse(parts.files.read(file.path), path=file.shown)
        parts.recorder().created(file.slug, plan, path=parts.relative(file.path), origin=origin)
    except JournalProblem as error:
        _excuse(error, terminal)


def note_verified(parts: Parts, file: PlanFile, result: Verified, terminal: Terminal) -> bytes:
    """Note that a plan of this workspace was verified, and mark its file so; return its text."""
    from planbound.usecases.marks import look_at, show_status  # noqa: PLC0415 - start-up time

    data = write(result.plan)
    if not parts.holds(file.path):
        return data
    try:
        parts.see(file, result.plan)
        if result.errors:
            return data
        recorder = parts.recorder()
        recorder.verified(
            file.slug, result.plan, path=parts.relative(file.path), warnings=result.warnings
        )
        return show_status(parts.files, look_at(recorder.journal, file, data))
    except JournalProblem as error:
        _excuse(error, terminal)
    except (ConcurrentModification, FileProblem) as error:
        # Whoever changed it meanwhile has a text that nobody verified yet.
        terminal.note(f"note: the file does not show that it is verified: {error.message}")
    return data


def note_moved(parts: Parts, event: str, file: PlanFile, plan: Plan, terminal: Terminal) -> None:
    """Note that a plan was staged or activated."""
    from planbound.journal.event import EventKind  # noqa: PLC0415 - start-up time

    try:
        path = parts.relative(file.path)
        parts.recorder().moved(EventKind[event], file.slug, plan, path=path)
    except JournalProblem as error:
        _excuse(error, terminal)


def note_archived(parts: Parts, archived: Archived, terminal: Terminal) -> None:
    """Note that a plan was put away, and where it was in its life."""
    from planbound.journal.event import EventKind  # noqa: PLC0415 - start-up time

    try:
        path, status = parts.relative(archived.file.path), archived.status.value
        recorder = parts.recorder()
        kind = EventKind.PLAN_ARCHIVED
        recorder.moved(kind, archived.slug, archived.plan, path=path, status=status)
    except JournalProblem as error:
        _excuse(error, terminal)


def note_judged(parts: Parts, slug: str, verdict: Verdict, terminal: Terminal) -> None:
    """Note a verdict that somebody asked for outside of a run."""
    from planbound.journal.event import EventKind  # noqa: PLC0415 - start-up time
    from planbound.usecases.verdict_events import note_verdict  # noqa: PLC0415

    try:
        note_verdict(parts.recorder(), EventKind.CONTRACT_EVALUATED, slug, verdict)
    except JournalProblem as error:
        _excuse(error, terminal)


def _excuse(error: JournalProblem, terminal: Terminal) -> None:
    # What was asked for is done; that it is not on record must not be overlooked either.
    terminal.note(f"note: this is not in the journal: {error.message}")
