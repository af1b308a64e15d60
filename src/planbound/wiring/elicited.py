"""Approvals that a person gives in the client of an agent, where the configuration allows them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from typing import NamedTuple

from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.gate.approval import Approval, Method
from planbound.engine.judging.case import Case, cases
from planbound.errors import ConcurrentModification, FileProblem, Refused
from planbound.journal.event import EventKind
from planbound.plan.digest import digest
from planbound.plan.model import Attest, Command, Contract, Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.ports.files import PlanFile
from planbound.ports.journal import Query
from planbound.source.visible import visible
from planbound.usecases import gate
from planbound.usecases.baseline import Taken, freeze, note_baseline, observe
from planbound.usecases.bench import Bench
from planbound.usecases.locate import locate
from planbound.usecases.unkept import unkept
from planbound.usecases.verify import verify
from planbound.wiring.judging import make_bench, refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.people import stillness
from planbound.wiring.tools import contract_tools, said_tools

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
        if not self._allowed:
            return None
        _, data, plan = self._read(slug)
        found = verify(data, path=slug, surroundings=self._parts.surroundings())
        if found.errors or self._has_run(slug):
            return None
        text = "\n".join(_lines(slug, plan, self._judges(plan, make_bench(self._parts))))
        return Question(slug, digest(plan), text) if len(text) <= _LONGEST else None

    def approve(self, question: Question, by: str) -> None:
        """Record a person's yes to exactly what they were shown."""
        refuse_in_cell()
        if self.question(question.slug) != question:
            raise ConcurrentModification(
                "the plan was changed while it was looked at: nothing was approved",
                hint="ask again: `plan_request_approval()`",
            )
        file, data, plan = self._read(question.slug)
        bench = make_bench(self._parts)
        tree = freeze(bench.tree, bench.vault, bench.rules, unkept(bench, plan))
        found = tuple(cases(plan))
        sheet = gate.Sheet(
            plan=plan,
            slug=file.slug,
            digest=question.digest,
            tree=tree.manifest.digest,
            judges=gate.judge_digests(found, tree.manifest, bench.vault),
            configuration=configuration_digest(self._parts.configuration),
            baseline=tuple(observe(bench, found)),
            tools=contract_tools(self._parts, bench, found, tree.manifest),
        )
        self._parts.real_files.refuse_unwritable(file.path)
        recorder = self._parts.recorder()
        with stillness(self._parts, sheet.slug):
            taken = Taken(tree, sheet.digest, sheet.configuration)
            note_baseline(recorder, sheet.slug, taken, sheet.baseline)
            kept = gate.keep_text(bench.vault, data)
            gate.approve(recorder, sheet, self._approval(sheet, by), text=kept)
        # It is on record, so it counts: what people read comes after.
        with contextlib.suppress(FileProblem):
            gate.show_status(self._parts.files, file, data, plan, PlanStatus.APPROVED)
            self._parts.progress(sheet.slug, f"approved by {by}, in the client of an agent")

    def _approval(self, sheet: gate.Sheet, by: str) -> Approval:
        return Approval(
            nonce=secrets.token_hex(16),
            digest=sheet.digest,
            judges=sheet.judges,
            configuration=sheet.configuration,
            by=by,
            method=Method.ELICITATION.value,
            project=self._parts.state.project,
            tools=said_tools(sheet.tools),
        )

    def _read(self, slug: str) -> tuple[PlanFile, bytes, Plan]:
        file = locate(slug, self._parts.tree)
        if not self._parts.holds(file.path):
            raise Refused("only a plan in `.harness/` goes through the gate")
        data = self._parts.reader.read(file.path)
        return file, data, parse(data, path=file.shown)

    def _has_run(self, slug: str) -> bool:
        """Say whether the plan was ever run: what that proved is for `planbound approve`."""
        journal = self._parts.existing_journal()
        started = Query(plan=slug, events=(EventKind.EXECUTION_STARTED,), last=1)
        return journal is not None and any(True for _ in journal.read(started))

    def _judges(self, plan: Plan, bench: Bench) -> dict[str, str]:
        found: tuple[Case, ...] = tuple(cases(plan))
        tree = freeze(bench.tree, bench.vault, bench.rules, unkept(bench, plan))
        return gate.judge_digests(found, tree.manifest, bench.vault)


def _lines(slug: str, plan: Plan, judges: dict[str, str]) -> Iterator[str]:
    yield f"An agent asks: may it work by the plan `{slug}`?"
    if plan.objective is not None:
        yield visible(plan.objective.value)
    for step in plan.steps:
        yield f"{step.label}. {visible(step.title)}"
        yield f"   {_contract(step.contract)}"
    for condition in plan.postconditions:
        yield f"at the end: {visible(condition.statement)}"
        yield f"   {_contract(condition.contract)}"
    for path, content in judges.items():
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
