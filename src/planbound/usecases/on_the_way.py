"""What became different on a plan's way to a yes: at the gate, by an amendment, or in its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from planbound.engine.gate.approval import is_noticed
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record
from planbound.plan.digest import digest, step_digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.ports.journal import Journal, Query

_KINDS = (
    EventKind.PLAN_CREATED,
    EventKind.GATE_APPROVED,
    EventKind.GATE_APPROVAL_REQUESTED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
)
_HAND = "edit the file"


def changed_on_the_way(
    journal: Journal, kept: Callable[[bytes], bytes | None], slug: str, plan: Plan
) -> tuple[str, ...]:
    """Return every change since the last yes, or since the plan is there, in order.

    `kept` returns a text that the vault keeps.
    """
    way = _Way(kept)
    for record in journal.read(Query(plan=slug, events=_KINDS)):
        if record.draft.provenance is Provenance.LIVE:
            way.take(record)
    way.come_to(digest(plan), plan)
    return tuple(way.changes)


class _Way:
    """The texts that a plan had, one after the other, and what was said about each step of it."""

    def __init__(self, kept: Callable[[bytes], bytes | None]) -> None:
        self.changes: list[str] = []
        self._kept = kept
        self._digest: str | None = None
        """Of the text that is known last; None before anybody saw one."""
        self._text: str | None = None

    def take(self, record: Record) -> None:
        details = record.draft.details
        match record.draft.event:
            case EventKind.PLAN_CREATED:
                self.changes, self._digest, self._text = [], None, None
            case EventKind.GATE_APPROVED:
                self.changes = []
                self._stand(details, "digest")
            case EventKind.GATE_APPROVAL_REQUESTED:
                self.come_to(_said(details, "digest"), self._read(_said(details, "text")))
                self._stand(details, "digest")
            case EventKind.PLAN_REWRITTEN if is_noticed(record.draft.event, details):
                pass  # the texts tell what is different in the end
            case EventKind.PLAN_REWRITTEN:
                self._rewritten(details)
            case EventKind.PLAN_AMENDED:
                revision, reason = details.get("revision"), _said(details, "reason")
                self.changes.append(
                    f"amend to revision {revision}{f': {reason}' if reason else ''}"
                )
                self._stand(details, "to")

    def come_to(self, there: str | None, plan: Plan | None) -> None:
        """Note what is different in a text that nothing else led to."""
        if self._digest is not None and there is not None and there != self._digest:
            before = self._read(self._text)
            known = () if before is None or plan is None else _differences(before, plan)
            self.changes += tuple(known) or (_HAND,)

    def _rewritten(self, details: Mapping[str, Json]) -> None:
        by_tools = details.get("session") is not None
        # What an agent tries before it asks is its own draft.
        if not by_tools or self._digest is not None:
            self.come_to(_said(details, "from"), self._read(_said(details, "text_before")))
            self.changes += _told(details, by_tools=by_tools)
            self._stand(details, "to")

    def _stand(self, details: Mapping[str, Json], name: str) -> None:
        there, text = _said(details, name), _said(details, "text")
        if there != self._digest or text is not None:
            self._digest, self._text = there, text

    def _read(self, key: str | None) -> Plan | None:
        data = self._kept(bytes.fromhex(key)) if key is not None else None
        return parse(data, path="") if data is not None else None


def _told(details: Mapping[str, Json], *, by_tools: bool) -> list[str]:
    changes, reason = details.get("changes"), _said(details, "reason")
    if isinstance(changes, list):
        return [str(change) for change in changes]
    # An agent's own words must not be read as what a person decided: `skip 2` skips.
    return [f"rewrite: {reason or 'by the plan tools'}" if by_tools else reason or _HAND]


def _differences(before: Plan, after: Plan) -> Iterator[str]:
    """Yield in words what somebody changed in the file."""
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


def _said(details: Mapping[str, Json], name: str) -> str | None:
    value = details.get(name)
    return value if isinstance(value, str) else None
