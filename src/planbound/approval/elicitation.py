"""Approvals that a person gives in the client of an agent, where the configuration allows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planbound.approval.approve import TYPED, Candidate, Consent, Shown, approve, lay_before
from planbound.approval.sheet import Sheet, missing_programs
from planbound.cells.isolation import refuse_in_cell
from planbound.errors import ConcurrentModification
from planbound.git.place import at_worktree
from planbound.journal.event import EventKind
from planbound.journal.record import Query
from planbound.journal.words import Method
from planbound.plan.digest import digest
from planbound.plan.model import (
    Attest,
    CaseTable,
    Command,
    Condition,
    Contract,
    Step,
    named_controls,
)
from planbound.plan.parse import parse
from planbound.source import visible, visible_lines
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

_LONGEST = 6000


class Form(NamedTuple):
    """What a person is asked; what is approved is what this shows."""

    slug: str
    digest: str
    text: str


class ElicitedApprovals:
    """Asks, and records the answer, as weak as any word that is not signed.

    The configuration is the one of the start: what an agent writes into it later opens nothing.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        rules = context.configuration.gate
        self._allowed = rules.elicitation and not rules.signed

    def form(self, slug: str) -> Form | None:
        """Return what to ask; None where a client may not be asked, or could not show it all."""
        return self._ask(slug)[0]

    def approve(self, form: Form, by: str, typed: str) -> None:
        """Record a person's yes to exactly what they were shown."""
        refuse_in_cell()
        asked, shown = self._ask(form.slug)
        if asked != form or shown is None:
            raise ConcurrentModification(
                "the plan was changed while it was looked at: nothing was approved",
                hint="ask again: `plan_request_approval()`",
            )
        approve(shown.looked_at(), Consent(by, Method.ELICITATION, typed))

    def _ask(self, slug: str) -> tuple[Form | None, Shown | None]:
        if not self._allowed:
            return None, None
        candidate = self._read(slug)
        found = candidate.verified()
        # What a contract needs and does not have is for `planbound approve --missing-tools`.
        if found.errors or missing_programs(found) or self._has_run(slug):
            return None, None
        shown = lay_before(candidate, found)
        text = "\n".join(_lines(slug, shown.sheet))
        form = Form(slug, shown.sheet.digest, text) if len(text) <= _LONGEST else None
        return form, shown

    def _read(self, slug: str) -> Candidate:
        """Return a plan, and the context for the worktree that it is bound to."""
        file = locate(slug, self._context.tree)
        self._context.demand_own(file)
        context = at_worktree(self._context, file)
        if context is not self._context:
            context.configuration = self._context.configuration
        data = context.reader.read(file.path)
        return Candidate(context, file, data, parse(data, path=file.shown))

    def _has_run(self, slug: str) -> bool:
        """Say whether the plan was ever run: what that proved is for `planbound approve`."""
        journal = self._context.existing_journal()
        started = Query(plan=slug, events=(EventKind.EXECUTION_STARTED,), last=1)
        return journal is not None and any(True for _ in journal.read(started))


def _lines(slug: str, sheet: Sheet) -> Iterator[str]:
    plan = sheet.plan
    yield f"An agent asks: may it work by the plan `{slug}`?"
    for item in sheet.warnings:
        yield f"warning {item.code}, line {item.line}: {visible(item.message)}"
    if plan.objective is not None:
        yield visible(plan.objective.value)
    for step in plan.steps:
        yield f"{step.label}. {visible(step.title)}"
        yield f"   {_contract(step.contract)}"
        yield from _controls(step)
    for condition in plan.postconditions:
        yield f"at the end: {visible(condition.statement)}"
        yield f"   {_contract(condition.contract)}"
        yield from _controls(condition)
    for path, content in sheet.judges.items():
        yield f"judged by {visible(path)} ({content[:8]})"
    yield "A step whose contract is green before the work will hold, and not be proved."
    yield f"Its digest is {digest(plan)[:TYPED]}: type that to approve exactly this."


def _controls(owner: Step | Condition) -> Iterator[str]:
    names = ", ".join(visible(name) for name, _ in named_controls(owner.rejects))
    if names:
        yield f"   has to fail with: {names}"


def _contract(contract: Contract | None) -> str:
    match contract:
        case CaseTable():
            cases = visible_lines(contract.text.strip())
            return f"compares cases outside the product's process: {cases}"
        case Command():
            return f"runs: {visible_lines(contract.text.strip())}"
        case Attest():
            return f"a person attests: {visible(contract.statement)}"
        case _:
            return "nothing is run: it is claimed, not proved"
