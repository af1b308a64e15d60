"""Approvals that a person gives in the client of an agent, where the configuration allows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planbound.engine.gate.approval import Method
from planbound.errors import ConcurrentModification
from planbound.journal.event import EventKind
from planbound.plan.digest import digest
from planbound.plan.model import Attest, Command, Contract
from planbound.ports.files import PlanFile
from planbound.ports.journal import Query
from planbound.source.visible import visible
from planbound.usecases.gate import Sheet
from planbound.usecases.locate import locate
from planbound.usecases.verify import verify
from planbound.wiring.approving import Consent, Shown, approve, lay_before
from planbound.wiring.bound import at_worktree
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts

TYPED = 6
"""How many characters of the digest a person types."""
_LONGEST = 6000


class Question(NamedTuple):
    """What a person is asked; what is approved is what this shows."""

    slug: str
    digest: str
    text: str


class ElicitedApprovals:
    """Asks, and records the answer, as weak as any word that is not signed.

    The configuration is the one of the start: what an agent writes into it later opens nothing.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        rules = parts.configuration.gate
        self._allowed = rules.elicitation and not rules.signed

    def question(self, slug: str) -> Question | None:
        """Return what to ask; None where a client may not be asked, or could not show it all."""
        return self._ask(slug)[0]

    def approve(self, question: Question, by: str) -> None:
        """Record a person's yes to exactly what they were shown."""
        refuse_in_cell()
        asked, shown = self._ask(question.slug)
        if asked != question or shown is None:
            raise ConcurrentModification(
                "the plan was changed while it was looked at: nothing was approved",
                hint="ask again: `plan_request_approval()`",
            )
        approve(shown.looked_at(), Consent(by, Method.ELICITATION), lambda _note: None)

    def _ask(self, slug: str) -> tuple[Question | None, Shown | None]:
        if not self._allowed:
            return None, None
        parts, file, data = self._read(slug)
        found = verify(data, path=file.shown, surroundings=parts.surroundings())
        # What a contract needs and does not have is for `planbound approve --missing-tools`.
        if found.errors or found.missing() or self._has_run(slug):
            return None, None
        shown = lay_before(parts, file, data, found)
        text = "\n".join(_lines(slug, shown.sheet))
        question = Question(slug, shown.sheet.digest, text) if len(text) <= _LONGEST else None
        return question, shown

    def _read(self, slug: str) -> tuple[Parts, PlanFile, bytes]:
        """Return a plan, and the parts for the worktree that it is bound to."""
        file = locate(slug, self._parts.tree)
        self._parts.demand_own(file)
        parts = at_worktree(self._parts, file)
        if parts is not self._parts:
            parts.configuration = self._parts.configuration
        return parts, file, parts.reader.read(file.path)

    def _has_run(self, slug: str) -> bool:
        """Say whether the plan was ever run: what that proved is for `planbound approve`."""
        journal = self._parts.existing_journal()
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
    for condition in plan.postconditions:
        yield f"at the end: {visible(condition.statement)}"
        yield f"   {_contract(condition.contract)}"
    for path, content in sheet.judges.items():
        yield f"judged by {visible(path)} ({content[:8]})"
    yield "A step whose contract is green before the work will hold, and not be proved."
    yield f"Its digest is {digest(plan)[:TYPED]}: type that to approve exactly this."


def _contract(contract: Contract | None) -> str:
    match contract:
        case Command():
            return f"runs: {visible(contract.text.strip())}"
        case Attest():
            return f"a person attests: {visible(contract.statement)}"
        case _:
            return "nothing is run: it is claimed, not proved"
