"""What the gate writes into the journal and reads from it: decisions, and changes before them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from planbound.disk.files import Files, PlanFile
from planbound.errors import FileProblem
from planbound.journal.event import (
    EventKind,
    GateApprovalRequested,
    GateApproved,
    GateClarificationAsked,
    GateRejected,
    PlanAmended,
    PlanCreated,
    PlanRewritten,
)
from planbound.journal.record import Journal, Provenance, Query, Record
from planbound.journal.words import PersonMethod
from planbound.plan.digest import digest, step_digest
from planbound.plan.edit import set_plan_status
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse, write
from planbound.state.append import Recorder
from planbound.state.approval import Approval, is_noticed
from planbound.state.plan import known_plan, plan_state
from planbound.state.question import KINDS
from planbound.state.run import RunState, lay_out

if TYPE_CHECKING:
    from planbound.approval.sheet import Sheet
    from planbound.workspace.vault import Vault

# -- decisions ------------------------------------------------------------------------------------


def record_request(
    recorder: Recorder, sheet: Sheet, *, text: str | None = None, measured: Iterable[str] = ()
) -> None:
    """Note that somebody is asked; the same question, until it is decided, is noted once."""
    event = GateApprovalRequested(
        plan_id=sheet.slug,
        digest=sheet.digest,
        judges=dict(sheet.judges),
        tree=sheet.tree,
        text=text,
        measured=tuple(measured) or None,
    )
    # Asked again it is another question, once the one before was settled in whatever way.
    state = plan_state(recorder.journal, sheet.slug, KINDS)
    settled = state.questions.settled if state is not None else 0
    key = f"{sheet.digest} {sheet.tree} {settled}"
    recorder.record(event, sheet.slug, key=key)


def keep_text(vault: Vault, data: bytes) -> str:
    """Keep the text of a plan, so that the next approver sees what became different."""
    key = hashlib.sha256(data)
    vault.keep([(key.digest(), data)])
    return key.hexdigest()


def last_text(journal: Journal, vault: Vault, slug: str) -> bytes | None:
    """Return the text that was approved last, whatever has become of it."""
    key = None
    for record in journal.read(Query(plan=slug, events=(EventKind.GATE_APPROVED,))):
        event = record.event
        key = event.text if isinstance(event, GateApproved) else key
    return vault.content(bytes.fromhex(key)) if key is not None else None


def approved_state(recorder: Recorder, vault: Vault, slug: str, data: bytes) -> RunState:
    """Return where a plan is; of a run by the text that was approved, whatever its file says."""
    known = known_plan(recorder.journal, slug)
    text = last_text(recorder.journal, vault, slug) if known.run.run is not None else None
    plan = parse(data if text is None else text, path=slug)
    return RunState(lay_out(plan, recorder.step_ids(plan)), known)


class KeptSignature(NamedTuple):
    """Where what a person has signed is kept, and the signature."""

    statement: str
    signature: str
    through: PersonMethod | None = None
    """Where it was handed in."""


def keep_signature(vault: Vault, statement: bytes, path: str) -> KeptSignature:
    """Keep what was signed, word for word: a receipt hands both on."""
    try:
        with open(path, "rb") as file:
            signature = file.read(_MOST_SIGNATURE)
    except OSError as error:
        raise FileProblem(f"cannot read `{path}`: {error.strerror}") from error
    return KeptSignature(keep_text(vault, statement), keep_text(vault, signature))


_MOST_SIGNATURE = 64 << 10
"""Bytes; ssh-keygen's are some hundred."""


def record_approval(
    recorder: Recorder,
    sheet: Sheet,
    approval: Approval,
    *,
    text: str | None = None,
    signed: KeptSignature | None = None,
) -> None:
    """Note the approval, with everything that it is bound to."""
    event = GateApproved(
        modifications=approval.modifications,
        digest=approval.digest,
        judges=dict(approval.judges),
        tree=sheet.tree,
        by=approval.by,
        nonce=approval.nonce,
        method=approval.method,
        strength=approval.method.strength,
        configuration=approval.configuration,
        tools=dict(approval.tools) if approval.tools else None,
        seen=tuple(sheet.seen) if sheet.warnings else None,
        missing_tools=tuple(sheet.missing) or None,
        expires=approval.expires,
        project=approval.project,
        policy=approval.policy,
        text=text,
        statement=signed.statement if signed else None,
        signature=signed.signature if signed else None,
        through=signed.through if signed else None,
    )
    recorder.record(event, sheet.slug, key=approval.nonce)


class Rewriting(NamedTuple):
    """How a plan was changed: by whom, and what."""

    by: str
    how: str
    changes: tuple[str, ...] = ()
    """One by one, where they are known."""
    text_before: str | None = None
    text: str | None = None
    """Where the texts are kept."""
    method: PersonMethod | None = None


def record_change(recorder: Recorder, slug: str, before: str, after: str, said: Rewriting) -> None:
    """Note that somebody changed a plan at the gate: from one digest to another."""
    event = PlanRewritten(
        from_=before,
        to=after,
        by=said.by,
        reason=said.how,
        changes=said.changes or None,
        text_before=said.text_before,
        text=said.text,
        method=said.method,
    )
    recorder.record(event, slug)


def record_rejection(
    recorder: Recorder, slug: str, plan: Plan, *, by: str, reason: str, method: PersonMethod | None
) -> None:
    event = GateRejected(reason=reason, by=by, digest=digest(plan), method=method)
    recorder.record(event, slug)


def record_question(recorder: Recorder, slug: str, plan: Plan, *, by: str, question: str) -> None:
    """Note a question; the plan stays where it is until it is answered."""
    recorder.record(GateClarificationAsked(question=question, by=by, digest=digest(plan)), slug)


def show_status(files: Files, file: PlanFile, data: bytes, plan: Plan, status: PlanStatus) -> None:
    """Write into the file what the journal says; the digest does not change."""
    if plan.status is not status:
        files.replace(file.path, write(set_plan_status(plan, status)), expected=data)


# -- what became different since the last yes: at the gate, by an amendment, or in the file -------


_KINDS = (
    EventKind.PLAN_CREATED,
    EventKind.GATE_APPROVED,
    EventKind.GATE_APPROVAL_REQUESTED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
)
_HAND = "edit the file"


def changes_since_approval(
    journal: Journal, kept: Callable[[bytes], bytes | None], slug: str, plan: Plan
) -> tuple[str, ...]:
    """Return every change since the last yes, or since the plan is there, in order.

    `kept` returns a text that the vault keeps.
    """
    history = _TextHistory(kept)
    for record in journal.read(Query(plan=slug, events=_KINDS)):
        if record.draft.provenance is Provenance.LIVE:
            history.take(record)
    history.come_to(digest(plan), plan)
    return tuple(history.changes)


class _TextHistory:
    """The texts that a plan had, one after the other, and what was said about each step of it."""

    def __init__(self, kept: Callable[[bytes], bytes | None]) -> None:
        self.changes: list[str] = []
        self._kept = kept
        self._digest: str | None = None
        """Of the text that is known last; None before anybody saw one."""
        self._text: str | None = None

    def take(self, record: Record) -> None:
        match record.event:
            case PlanCreated():
                self.changes, self._digest, self._text = [], None, None
            case GateApproved(digest=digest, text=text):
                self.changes = []
                self._stand(digest, text)
            case GateApprovalRequested(digest=digest, text=text):
                self.come_to(digest, self._read(text))
                self._stand(digest, text)
            case PlanRewritten() as event if not is_noticed(event):
                self._rewritten(event)
            case PlanAmended(revision=revision, reason=reason, to=to):
                self.changes.append(
                    f"amend to revision {revision}{f': {reason}' if reason else ''}"
                )
                self._stand(to, None)

    def come_to(self, there: str | None, plan: Plan | None) -> None:
        """Note what is different in a text that nothing else led to."""
        if self._digest is not None and there is not None and there != self._digest:
            before = self._read(self._text)
            known = () if before is None or plan is None else differences(before, plan)
            self.changes += tuple(known) or (_HAND,)

    def _rewritten(self, event: PlanRewritten) -> None:
        by_tools = event.session is not None
        # What an agent tries before it asks is its own draft.
        if not by_tools or self._digest is not None:
            self.come_to(event.from_, self._read(event.text_before))
            self.changes += _described(event, by_tools=by_tools)
            self._stand(event.to, event.text)

    def _stand(self, there: str | None, text: str | None) -> None:
        if there != self._digest or text is not None:
            self._digest, self._text = there, text

    def _read(self, key: str | None) -> Plan | None:
        data = self._kept(bytes.fromhex(key)) if key is not None else None
        return parse(data, path="") if data is not None else None


def _described(event: PlanRewritten, *, by_tools: bool) -> list[str]:
    if event.changes is not None:
        return list(event.changes)
    # An agent's own words must not be read as what a person decided: `skip 2` skips.
    if by_tools:
        return [f"rewrite: {event.reason or 'by the plan tools'}"]
    return [event.reason or _HAND]


def differences(before: Plan, after: Plan) -> Iterator[str]:
    """Yield in words what somebody changed in a text as a whole."""
    old = {step.id: step for step in before.steps}
    new = {step.id: step for step in after.steps}
    found = [f"remove {step.label} in the file" for name, step in old.items() if name not in new]
    for name, step in new.items():
        if name not in old:
            found.append(f"add {step.label} in the file")
        elif step_digest(after, step) != step_digest(before, old[name]):
            found.append(f"edit {step.label} in the file")
    if [name for name in old if name in new] != [name for name in new if name in old]:
        found.append(
            f"reorder {', '.join(old[name].label for name in new if name in old)} in the file"
        )
    yield from found
