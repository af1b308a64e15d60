"""What a pass shows about the work: red before and green after is proved, anything else holds."""

from __future__ import annotations

import enum
from typing import NamedTuple

_GREEN = "pass"
_UNSEEN = frozenset({"tampered", "out-of-scope"})
"""Nobody knows what the contract says of a tree that changed under it."""


class Result(enum.Enum):
    """What a contract that passes makes of a step or a postcondition."""

    PROVED = "proved"
    """It was seen red before the work."""
    HOLDS = "holds"
    """It is green, and nobody saw the work make it so."""


class Look(NamedTuple):
    """What a contract said when the harness looked at it, before it was done."""

    verdict: str
    tree: str = ""
    """The files that it was about; empty: nobody looked at them."""
    contract: str = ""
    """The digest of the contract."""

    @property
    def is_seen(self) -> bool:
        """Whether anybody knows from it what the contract said."""
        return self.verdict not in _UNSEEN

    @property
    def is_red(self) -> bool:
        """Whether the contract did not pass: also one that could not even run was not green."""
        return self.is_seen and self.verdict != _GREEN


class Before(NamedTuple):
    """All that is known of a contract before the work."""

    attempt: Look | None = None
    """Before the first attempt at its step."""
    approval: Look | None = None
    """When the plan was approved."""


class Proof(NamedTuple):
    """What a pass shows, and by what."""

    result: Result
    reason: str
    baseline: str | None = None
    """What the contract said before, where anybody looked."""
    at: str | None = None
    """When that was: `attempt` or `approval`."""


def proof_of(before: Before, tree: str) -> Proof:
    """Return what a pass on a tree shows: the one rule for runs, loops, copies and worktrees."""
    looks = (("attempt", before.attempt), ("approval", before.approval))
    seen = [(at, look) for at, look in looks if look is not None and look.is_seen]
    if not seen:
        return Proof(Result.HOLDS, why_held(None))
    # The last look that found it red; the first one where none did.
    at, look = next((each for each in seen if each[1].is_red), seen[0])
    # Red and green on the same files: whatever made it green, it was not the work.
    if not look.is_red or (look.tree and look.tree == tree):
        return Proof(Result.HOLDS, why_held(look.verdict), look.verdict, at)
    when = "before the work" if at == "attempt" else "when the plan was approved"
    return Proof(Result.PROVED, f"it was red {when}", look.verdict, at)


def why_held(baseline: object) -> str:
    """Return why something holds and is not proved, by what its contract said before."""
    if baseline is None:
        return "nobody saw it red"
    if baseline == _GREEN:
        return "it was green before the work"
    return f"it was `{baseline}` before, and no file changed since"


def held(reason: object) -> str:
    """Return how it is said that something holds."""
    return f"holds ({reason})" if reason else "holds"


def tally(proved: object, steps: object, holds: object, attested: object = 0) -> str:
    """Return what steps came to, each by its own word: `2/4 proved, 1 holds, 1 attested`."""
    count = f"{proved}/{steps} proved"
    count += f", {holds} hold{'s' if holds == 1 else ''}" if holds else ""
    return f"{count}, {attested} attested" if attested else count


def foretold(*, red: bool) -> str:
    """Return what will come of a step whose contract is green before any work."""
    if red:
        return "green now, and red is demanded: it will be `vacuous`, and a person is asked"
    return "green now: if it is green after the work it `holds`, and is not proved"
