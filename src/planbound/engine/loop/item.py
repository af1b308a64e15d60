"""One step, precondition or postcondition, as the journal knows it."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Standing(enum.Enum):
    """Where one step or postcondition is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    PROVED = "proved"
    """The harness saw its contract red before the work, and pass after it."""
    HOLDS = "holds"
    """The harness saw its contract pass, and not red before."""
    CLAIMED = "claimed"
    """It has no contract: somebody says so, with evidence."""
    BLOCKED = "blocked"
    WAIVED = "waived"
    """A person decided to go on without a pass."""
    ATTESTED = "attested"
    """A person signed its statement."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do."""
        return self.is_green or self is Standing.CLAIMED or self.is_by_person

    @property
    def is_green(self) -> bool:
        """Whether the harness saw its contract pass."""
        return self in {Standing.PROVED, Standing.HOLDS}

    @property
    def is_by_person(self) -> bool:
        """Whether a person settled it, so that no agent changes it."""
        return self in {Standing.WAIVED, Standing.ATTESTED}


class Item(NamedTuple):
    """What the journal knows of a step or a postcondition."""

    standing: Standing = Standing.PENDING
    evidence: str = ""
    """What was said to show it; kept when it is opened again."""
    notes: str = ""
    reason: str = ""
    """Why it is blocked or holds, or what its contract found last."""
    output: str = ""
    """The end of what its contract printed last."""
    tree: str | None = None
    """The files that it was judged on last."""
    attempts: int = 0
    passed: bool | None = None
    """Whether its contract passed then; None: it was not judged since it means what it means."""
    saw: str = ""
    """What its contract said when it passed last: `exit 0`, or how many tests."""
    at: str = ""
    """When that was."""
    regressed: bool = False
    """Whether it was green, and a later edit broke it."""


class Dropped(NamedTuple):
    """A step that a rewrite left out, for ever on record."""

    id: str
    title: str
    standing: str
    revision: int
