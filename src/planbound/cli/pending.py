"""Runs of this repository that were stopped before their end."""

from __future__ import annotations

import shlex

from planbound.cli.terminal import Terminal
from planbound.engine.gate.approval import is_noticed
from planbound.engine.inbox import KINDS, open_questions
from planbound.journal.event import EventKind
from planbound.journal.record import Provenance
from planbound.ports.journal import Query
from planbound.wiring.parts import Parts
from planbound.wiring.people import holder_of

_KINDS = (
    EventKind.EXECUTION_STARTED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_CREATED,
    EventKind.PLAN_ARCHIVED,
)


def pending(parts: Parts) -> list[str]:
    """Return the plans here whose run has begun and not ended, and that nobody drives."""
    journal = parts.existing_journal()
    if journal is None:
        return []
    begun: dict[str, None] = {}
    for record in journal.read(Query(events=_KINDS)):
        draft = record.draft
        if draft.provenance is not Provenance.LIVE:
            continue
        if draft.event is EventKind.EXECUTION_STARTED:
            begun[draft.plan] = None
        elif not is_noticed(draft.event, draft.details):
            begun.pop(draft.plan, None)
    if not begun:
        return []
    held = {each.claim.plan for each in parts.leases().held() if not each.expired}
    here = {file.slug for file in parts.tree.plans()}
    return [plan for plan in begun if plan in here and plan not in held]


def note_pending(parts: Parts, slug: str, terminal: Terminal) -> None:
    """Say which other runs could go on."""
    for other in pending(parts):
        if other != slug:
            terminal.note(f"note: {_stands(other, _question(parts, other))}")


def _stands(plan: str, question: str | None) -> str:
    if question is not None:
        return f"a run of `{plan}` waits for a person (question {question}): `planbound inbox`"
    return f"a run of `{plan}` stopped before its end: `planbound resume {shlex.quote(plan)}`"


def _question(parts: Parts, plan: str) -> str | None:
    """Return what a person is asked about a plan, the oldest question first."""
    journal = parts.existing_journal()
    found = open_questions(journal.read(Query(plan=plan, events=KINDS))) if journal else []
    return found[0].id if found else None


def note_next(parts: Parts, slug: str, terminal: Terminal) -> None:
    """Say how a run goes on after a person decided something."""
    holder = holder_of(parts, slug)
    if holder is None:
        terminal.note(f"go on with `planbound resume {shlex.quote(slug)}`")
    else:
        terminal.note(f"{holder} goes on with it")
