"""The gate: what is approved is what was shown, and it is recorded with all that it binds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from planbound.engine.gate.approval import Approval, Method, approval_of, takes_back
from planbound.engine.inbox import KINDS, is_asked, note
from planbound.engine.judging.case import Case
from planbound.engine.judging.programs import Tool
from planbound.engine.judging.verdict import Verdict
from planbound.engine.manifest import Manifest
from planbound.engine.run.question import Question
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.digest import digest
from planbound.plan.edit import set_plan_status
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import write
from planbound.ports.files import Files, PlanFile
from planbound.ports.journal import Journal, Query
from planbound.ports.tree import Vault
from planbound.source import Diagnostic
from planbound.usecases.frozen_judges import judges_of, read_frozen
from planbound.usecases.record import Recorder

_DECISIONS = (
    EventKind.GATE_APPROVED,
    EventKind.GATE_REJECTED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_CREATED,
)


class Sheet(NamedTuple):
    """Everything that an approval binds, taken from one reading of the plan."""

    plan: Plan
    slug: str
    digest: str
    tree: str
    judges: Mapping[str, str]
    configuration: str
    baseline: tuple[Verdict, ...]
    tools: tuple[Tool, ...] = ()
    """The programs that contracts call."""
    warnings: tuple[Diagnostic, ...] = ()
    """What makes a plan doubtful as a whole: whoever approves it has seen them."""
    missing: tuple[str, ...] = ()
    """The programs that contracts call, that are not there, and that no step brings."""

    @property
    def seen(self) -> tuple[str, ...]:
        """Return the codes of the warnings."""
        return tuple(sorted({item.code for item in self.warnings}))


NAMESPACE = "planbound-approval@v1"
"""What a signature is for: one that was made for something else approves nothing."""


def statement(sheet: Sheet, project: str, *, missing: bool = False) -> bytes:
    """Return what is signed: the same bytes for the same plan, judges, tree and configuration.

    With `missing` it says which programs are not there, and that it is approved all the same.
    """
    said = {
        "configuration": sheet.configuration,
        "digest": sheet.digest,
        "judges": hashlib.sha256(
            json.dumps(dict(sheet.judges), sort_keys=True).encode("ascii")
        ).hexdigest(),
        "namespace": NAMESPACE,
        "plan": sheet.slug,
        "project": project,
        "tree": sheet.tree,
    }
    if missing and sheet.missing:
        said["missing_tools"] = ", ".join(sheet.missing)
    if sheet.tools:
        said["tools"] = ", ".join(str(tool) for tool in sheet.tools)
    return json.dumps(said, sort_keys=True, indent=2).encode("ascii") + b"\n"


def judge_digests(cases: Sequence[Case], manifest: Manifest, vault: Vault) -> dict[str, str]:
    """Return every file that a contract judges by, with the digest of its content."""
    found = judges_of(cases, manifest, partial(read_frozen, manifest, vault)).files
    entries = {path: manifest.entry(path) for path in sorted(found)}
    return {path: entry.content.hex() for path, entry in entries.items() if entry is not None}


def last_approval(journal: Journal, slug: str) -> Approval | None:
    """Return the approval of a plan that nothing has overruled."""
    approval = None
    for record in journal.read(Query(plan=slug, events=_DECISIONS)):
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.GATE_APPROVED:
            approval = approval_of(details)
        elif kind is not EventKind.PLAN_REWRITTEN or takes_back(details):
            approval = None
    return approval


def consumer(journal: Journal, slug: str, nonce: str) -> str | None:
    """Return the run that used an approval up; None where none did."""
    for record in journal.read(Query(plan=slug, events=(EventKind.EXECUTION_STARTED,))):
        if record.draft.details.get("nonce") == nonce:
            return str(record.draft.details.get("run"))
    return None


def request(recorder: Recorder, sheet: Sheet, *, text: str | None = None) -> None:
    """Note that somebody is asked; the same question, until it is decided, is noted once."""
    details: dict[str, Json] = {
        "plan_id": sheet.slug,
        "digest": sheet.digest,
        "judges": dict(sheet.judges),
        "tree": sheet.tree,
    }
    if text is not None:
        details["text"] = text
    # Asked again it is another question, once the one before was settled in whatever way.
    settled, questions = 0, dict[str, Question]()
    for record in recorder.journal.read(Query(plan=sheet.slug, events=KINDS)):
        was_open = is_asked(questions)
        note(questions, record)
        if was_open and not is_asked(questions):
            settled = record.seq
    key = f"{sheet.digest} {sheet.tree} {settled}"
    recorder.record(EventKind.GATE_APPROVAL_REQUESTED, sheet.slug, details, key=key)


def keep_text(vault: Vault, data: bytes) -> str:
    """Keep the text of a plan, so that the next approver sees what became different."""
    key = hashlib.sha256(data)
    vault.keep([(key.digest(), data)])
    return key.hexdigest()


def last_text(journal: Journal, vault: Vault, slug: str) -> bytes | None:
    """Return the text that was approved last, whatever has become of it."""
    key = None
    for record in journal.read(Query(plan=slug, events=(EventKind.GATE_APPROVED,))):
        key = record.draft.details.get("text")
    return vault.content(bytes.fromhex(key)) if isinstance(key, str) else None


def approve(
    recorder: Recorder, sheet: Sheet, approval: Approval, *, text: str | None = None
) -> None:
    """Note the approval, with everything that it is bound to."""
    details: dict[str, Json] = {
        "modifications": list(approval.modifications),
        "digest": approval.digest,
        "judges": dict(approval.judges),
        "tree": sheet.tree,
        "by": approval.by,
        "nonce": approval.nonce,
        "method": approval.method,
        "strength": Method(approval.method).strength.value,
        "configuration": approval.configuration,
    }
    if approval.tools:
        details["tools"] = dict(approval.tools)
    if sheet.warnings:
        details["seen"] = list(sheet.seen)
    if sheet.missing:
        details["missing_tools"] = list(sheet.missing)
    optional = {
        "expires": approval.expires,
        "project": approval.project,
        "policy": approval.policy,
        "text": text,
    }
    details.update({name: value for name, value in optional.items() if value is not None})
    recorder.record(EventKind.GATE_APPROVED, sheet.slug, details, key=approval.nonce)


class Rewriting(NamedTuple):
    """How a plan was changed: by whom, and what."""

    by: str
    how: str
    changes: tuple[str, ...] = ()
    """One by one, where they are known."""
    text_before: str | None = None
    text: str | None = None
    """Where the texts are kept."""


def rewrite(recorder: Recorder, slug: str, before: str, after: str, said: Rewriting) -> None:
    """Note that somebody changed a plan at the gate: from one digest to another."""
    details: dict[str, Json] = {"from": before, "to": after, "by": said.by, "reason": said.how}
    if said.changes:
        details["changes"] = list(said.changes)
    kept = {"text_before": said.text_before, "text": said.text}
    details.update({name: key for name, key in kept.items() if key is not None})
    recorder.record(EventKind.PLAN_REWRITTEN, slug, details)


def reject(recorder: Recorder, slug: str, plan: Plan, *, by: str, reason: str) -> None:
    """Note a refusal."""
    details: dict[str, Json] = {"reason": reason, "by": by, "digest": digest(plan)}
    recorder.record(EventKind.GATE_REJECTED, slug, details)


def ask(recorder: Recorder, slug: str, plan: Plan, *, by: str, question: str) -> None:
    """Note a question; the plan stays where it is until it is answered."""
    details: dict[str, Json] = {"question": question, "by": by, "digest": digest(plan)}
    recorder.record(EventKind.GATE_CLARIFICATION_ASKED, slug, details)


def show_status(files: Files, file: PlanFile, data: bytes, plan: Plan, status: PlanStatus) -> None:
    """Write into the file what the journal says; the digest does not change."""
    if plan.status is not status:
        files.replace(file.path, write(set_plan_status(plan, status)), expected=data)
