"""The one way to an approval, for the command line and for the client of an agent."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.gate.approval import Approval, Method
from planbound.engine.judging.case import cases
from planbound.engine.judging.proof import Look
from planbound.errors import ConcurrentModification, FileProblem, Refused
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.ports.files import PlanFile
from planbound.source import Diagnostic
from planbound.source.visible import visible
from planbound.usecases import gate
from planbound.usecases.amend import NotUnderWay, amend, examine
from planbound.usecases.baseline import FrozenTree, Taken, freeze, note_baseline, observe
from planbound.usecases.bench import Bench
from planbound.usecases.on_the_way import changed_on_the_way
from planbound.usecases.record import Recorder
from planbound.usecases.unkept import unkept
from planbound.usecases.verify import Verified
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.wiring.people import stillness
from planbound.wiring.tools import contract_tools, said_tools


class Shown(NamedTuple):
    """A plan as it lies before whoever decides, all of it from one reading."""

    parts: Parts
    """Of the worktree that the plan is bound to."""
    file: PlanFile
    data: bytes
    found: Verified
    bench: Bench
    tree: FrozenTree
    sheet: gate.Sheet

    @property
    def plan(self) -> Plan:
        """Return the plan."""
        return self.found.plan

    def looked_at(self) -> Shown:
        """Run every contract once, to see which are red before the work, and which lack a tool."""
        baseline = tuple(observe(self.bench, tuple(cases(self.plan))))
        missing = self.found.missing(baseline)
        return self._replace(sheet=self.sheet._replace(baseline=baseline, missing=missing))


class Consent(NamedTuple):
    """Somebody's yes."""

    by: str
    method: Method
    expires: str | None = None
    modifications: tuple[str, ...] = ()
    """What is part of this yes and of no text: steps that are skipped."""
    policy: str | None = None
    missing_tools: bool = False
    """Whether it is a yes in spite of programs that are not there."""


def lay_before(parts: Parts, file: PlanFile, data: bytes, found: Verified) -> Shown:
    """Freeze the tree, and say what an approval would bind; no contract is run."""
    bench, plan = make_bench(parts), found.plan
    tree = freeze(bench.tree, bench.vault, bench.rules, unkept(bench, plan))
    contracts = tuple(cases(plan))
    sheet = gate.Sheet(
        plan=plan,
        slug=file.slug,
        digest=digest(plan),
        tree=tree.manifest.digest,
        judges=gate.judge_digests(contracts, tree.manifest, bench.vault),
        configuration=configuration_digest(parts.configuration),
        baseline=(),
        tools=contract_tools(parts, bench, contracts, tree.manifest),
        warnings=found.doubts,
        missing=found.missing(),
    )
    return Shown(parts, file, data, found, bench, tree, sheet)


def refuse_unseen(sheet: gate.Sheet) -> None:
    """Refuse to approve over a baseline that could not be taken."""
    for verdict in sheet.baseline:
        if not Look(verdict.kind.value).is_seen:
            raise Refused(
                f"the baseline of `{sheet.slug}` could not be taken: {verdict.subject.value}"
                f" {verdict.number} is `{verdict.kind.value}`: {verdict.reason};"
                " nothing was approved",
                hint="let nothing else write to the workspace meanwhile, and approve again",
            )


def refuse_missing(sheet: gate.Sheet) -> None:
    """Refuse contracts that could not run for want of a program."""
    if sheet.missing:
        named = ", ".join(f"`{name}`" for name in sheet.missing)
        many = len(sheet.missing) > 1
        raise Refused(
            f"contracts of `{sheet.slug}` need {named}, which {'are' if many else 'is'} not there;"
            " nothing was approved",
            hint=f"install {'them' if many else 'it'} where contracts look (`planbound doctor`),"
            " or let a step do it; `--missing-tools` approves all the same",
        )


def refuse_policy(policy: str, warnings: Sequence[Diagnostic], missing: Sequence[str]) -> None:
    """Refuse to let a policy approve what somebody has to have seen."""
    reasons = [f"{item.code}: {item.message}" for item in warnings]
    reasons += [f"there is no program `{name}`, which a contract calls" for name in missing]
    if reasons:
        raise Refused(
            f"the policy `{policy}` does not approve this plan; no policy approves over\n"
            + "\n".join(f"  {visible(reason)}" for reason in reasons),
            hint="a person can: `planbound approve`",
        )


def approve(shown: Shown, consent: Consent, say: Callable[[str], None]) -> Approval:
    """Record the approval of exactly what was shown, all of it or nothing."""
    parts, file, sheet = shown.parts, shown.file, shown.sheet
    if parts.reader.read(file.path) != shown.data:
        raise ConcurrentModification(
            "the plan was changed while it was looked at: nothing was approved",
            hint="look at it again",
        )
    refuse_unseen(sheet)
    if consent.method is Method.POLICY:
        refuse_policy(consent.policy or consent.by, sheet.warnings, sheet.missing)
    elif not consent.missing_tools:
        refuse_missing(sheet)
    # Where the file cannot show it, nothing goes on record.
    parts.real_files.refuse_unwritable(file.path)
    approval = Approval(
        nonce=secrets.token_hex(16),
        digest=sheet.digest,
        judges=sheet.judges,
        configuration=sheet.configuration,
        by=consent.by,
        method=consent.method.value,
        expires=consent.expires,
        project=parts.state.project,
        policy=consent.policy,
        tools=said_tools(sheet.tools),
    )
    recorder = parts.recorder()
    with stillness(parts, sheet.slug):
        _keep_proofs(recorder, shown, consent.by, say)
        way = changed_on_the_way(
            recorder.journal, shown.bench.vault.content, sheet.slug, sheet.plan
        )
        approval = approval._replace(modifications=(*way, *consent.modifications))
        kept = gate.keep_text(shown.bench.vault, shown.data)
        # Only now: a look, or a refusal, must not put a new tree in the place of the frozen one.
        taken = Taken(shown.tree, sheet.digest, sheet.configuration)
        note_baseline(recorder, sheet.slug, taken, sheet.baseline)
        gate.approve(recorder, sheet, approval, text=kept)
    _show(shown, say)
    return approval


def _show(shown: Shown, say: Callable[[str], None]) -> None:
    try:
        file, data, plan = shown.file, shown.data, shown.plan
        gate.show_status(shown.parts.files, file, data, plan, PlanStatus.APPROVED)
    except FileProblem as problem:
        # It is on record, so it counts: what people read comes after.
        say(f"note: the file does not show it yet: {problem.message}")


def in_spite_of(sheet: gate.Sheet) -> Iterator[str]:
    """Yield what a plan is approved in spite of."""
    if sheet.warnings:
        yield f"seen: {', '.join(sheet.seen)}"
    if sheet.missing:
        yield f"not there: {', '.join(sheet.missing)}"


def _keep_proofs(recorder: Recorder, shown: Shown, by: str, say: Callable[[str], None]) -> None:
    """Take a plan that was changed while its run was under way as its next revision."""
    slug = shown.sheet.slug
    before = gate.last_text(recorder.journal, shown.bench.vault, slug)
    if before is None:
        return
    approved = parse(before, path="approved")
    try:
        amendment = examine(recorder, slug, approved, shown.plan)
    except NotUnderWay:
        return
    except Refused as refusal:
        say(f"note: nothing that was proved is kept: {refusal.message}")
        return
    plans = (approved, shown.plan)
    amend(recorder, slug, plans, amendment, by=by, reason="approved as changed")
    if amendment.kept:
        say(f"note: revision {amendment.revision}, {len(amendment.kept)} steps stay settled")
