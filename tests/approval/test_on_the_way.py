"""What an approval says was changed on the way to it."""

from __future__ import annotations

import hashlib

import pytest

from planbound.approval.record import changes_since_approval
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.journal.redact import Redactor
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.state.append import Recorder
from planbound.testing.journal import MemoryJournal
from tests.journal import happened
from tests.program import SOUND

pytestmark = pytest.mark.requirement("gate.modifications")


class Shelf:
    """Keeps texts, as the vault does."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    def put(self, text: str) -> str:
        key = hashlib.sha256(text.encode())
        self.kept[key.digest()] = text.encode()
        return key.hexdigest()

    def content(self, key: bytes) -> bytes | None:
        return self.kept.get(key)


class Way:
    """A plan, and what happened to it."""

    def __init__(self) -> None:
        self.shelf = Shelf()
        times = iter(range(10**6))
        self.recorder = Recorder(
            MemoryJournal(),
            redactor=Redactor({}),
            now=lambda: f"2026-11-01T00:00:00.{next(times):06}Z",
        )

    def note(self, kind: EventKind, **details: Json) -> None:
        self.recorder.record(happened(kind, details), "it")

    def asked(self, text: str) -> None:
        found = digest(parse(text.encode(), path=""))
        kind = EventKind.GATE_APPROVAL_REQUESTED
        self.note(kind, plan_id="it", digest=found, text=self.shelf.put(text))

    def changes(self, text: str = SOUND) -> list[str]:
        plan = parse(text.encode(), path="")
        return list(changes_since_approval(self.recorder.journal, self.shelf.content, "it", plan))


def test_what_somebody_changed_in_the_file_is_named_by_step() -> None:
    way = Way()
    way.asked(SOUND)
    assert way.changes() == []
    other = SOUND.replace("grep -qx bonjour", "grep -q bonjour")
    assert way.changes(other) == ["edit 2 in the file"]
    assert way.changes(SOUND.replace("All three are there", "All are there")) == ["edit the file"]
    rest = SOUND[SOUND.index("### 3.") :].replace(" (depends on 1, 2)", "")
    assert way.changes(SOUND.partition("### 2.")[0] + rest) == ["remove 2 in the file"]


def test_a_yes_begins_a_new_way() -> None:
    way = Way()
    swapped: dict[str, Json] = {"from": "a", "to": "b", "changes": ["swap 2 and 3"]}
    way.note(EventKind.PLAN_REWRITTEN, **swapped)
    assert way.changes()[0] == "swap 2 and 3"
    found = digest(parse(SOUND.encode(), path=""))
    way.note(EventKind.GATE_APPROVED, modifications=[], digest=found, text=way.shelf.put(SOUND))
    assert way.changes() == []


def test_what_an_agent_says_about_its_rewriting_skips_nothing() -> None:
    way = Way()
    rewritten: dict[str, Json] = {"from": "a", "to": "b", "session": "s", "reason": "skip 2"}
    # What a session only found changed is told by the texts, and an undo of it not at all.
    way.note(EventKind.PLAN_REWRITTEN, **rewritten)
    rewritten["by"] = "s"
    way.note(EventKind.PLAN_REWRITTEN, **rewritten)
    assert way.changes() == [], "before anybody is asked, it is a draft of the agent's own"
    way.asked(SOUND)
    way.note(EventKind.PLAN_REWRITTEN, **rewritten)
    assert "rewrite: skip 2" in way.changes()
    assert not any(change.startswith("skip") for change in way.changes())
