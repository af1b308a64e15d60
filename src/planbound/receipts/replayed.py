"""What a receipt says and what is found here, side by side; and the shape in which that is kept."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from planbound.cells.cell import evidence_reaches
from planbound.cells.isolation import Isolation
from planbound.journal.words import Result, VerdictKind
from planbound.judging.reproduction import is_reproduction
from planbound.judging.verdict import Verdict
from planbound.plan.model import Contract, Evidence, Judged
from planbound.receipts.predicate import (
    ItemBaseline,
    ItemJudge,
    ItemMutated,
    ItemOutput,
    ItemTests,
    RunHarness,
    RunItem,
    RunSettings,
)

REPLAY = "https://planbound.dev/attestation/replay/v0.1"

_PASSED = frozenset({Result.PROVED.value, Result.HOLDS.value})
"""What a receipt calls the items that passed."""
_UNDECIDED = frozenset({VerdictKind.TIMEOUT, VerdictKind.KILLED})
_BY_PEOPLE = {
    Result.CLAIMED.value: "an agent says so, and nobody judged it",
    Result.ATTESTED.value: "a person answers for it",
    VerdictKind.WAIVED.value: "a person went on without a pass",
    Result.SKIPPED.value: "a person left it out",
}


class ReplayOutcome(enum.Enum):
    """What became of an item on this machine."""

    SAME = "same"
    """It passes here, too."""
    DIFFERS = "differs"
    """The receipt says that it passed, and here it does not."""
    FLAKY = "flaky"
    """Once it failed here and once it passed, on the same files."""
    UNRUNNABLE = "unrunnable"
    """It cannot be run here."""
    INCONCLUSIVE = "inconclusive"
    """It ran out of time, or was ended: neither pass nor fail."""
    MISSING_JUDGE = "missing judge"
    """A file that judges it is not to be had here."""
    NOT_JUDGED = "not judged"
    """The receipt claims no pass that could be seen again."""


# -- the predicate of a replay -------------------------------------------------------------------


class _Replayed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the predicate: what it does not know is refused."""


class ReplayedJudge(_Replayed, frozen=True, kw_only=True):
    """A judge of the receipt, and where it was here."""

    path: str
    sha256: str
    found: bool
    laid: bool
    """Whether the judged tree had another file there, or none: it was judged by the receipt's."""


class ReplayedItem(_Replayed, frozen=True, kw_only=True):
    """An item of the receipt, and what became of it here."""

    kind: str
    number: str
    title: str
    contract: str | None
    recorded: str
    """Its result in the receipt."""
    recorded_evidence: str | None
    recorded_isolation: str | None
    outcome: str
    """`same`, `differs`, `flaky`, `unrunnable`, `inconclusive`, `missing judge`, `not judged`."""
    reason: str
    verdict: str | None
    evidence: str | None
    short_of: tuple[str, ...]
    """What keeps the evidence from the next level."""
    isolation: str | None
    baseline: ItemBaseline | None
    """What it said here on the files that the work began with; null: these are not here."""
    exit_code: int | None
    seconds: float | None
    canary: str | None
    tests: ItemTests | None
    mutated: ItemMutated | None
    judges: tuple[ReplayedJudge, ...]
    output: ItemOutput | None


class ReplayedReceipt(_Replayed, frozen=True, kw_only=True):
    """The receipt that was judged again."""

    sha256: str
    """Of the file."""
    key: str | None
    """The fingerprint of the key that signed it; null where nobody did, or it does not check."""
    unsigned: bool
    """Whether it was judged again although it does not check."""
    refused: tuple[str, ...]
    """The names of the checks that did not hold."""


class ReplayedTree(_Replayed, frozen=True, kw_only=True):
    """The files that were judged here."""

    git_tree: str
    folder: str
    """The workspace, seen from the top of the repository; empty: the top itself."""
    recorded: str | None
    """The tree of the receipt."""
    revision: str | None
    """What was asked for; null: the tree of the receipt."""
    commit: str | None
    base: str | None
    """The tree that the work began with, where it is here, too."""


class PlanReplay(_Replayed, frozen=True, kw_only=True):
    """The predicate `replay/v0.1`: an independent verdict on what a receipt claims."""

    version: str
    made: str
    slug: str
    revision: int
    digest: str
    receipt: ReplayedReceipt
    tree: ReplayedTree
    whole: bool
    """Whether this is about all items, and not about some steps."""
    same: bool
    """Whether all that the receipt calls proved or holding passes here, too."""
    independent: bool
    """Whether another key signs this than signed the receipt, and the walls are I2 or more."""
    items: tuple[ReplayedItem, ...]
    settings: RunSettings | None
    """What contracts ran under here."""
    not_given: tuple[str, ...]
    """What the receipt names that contracts did not get here: variables, the network, files."""
    tools: tuple[str, ...]
    """The programs of this machine that the contracts used."""
    harness: RunHarness


# -- what a receipt is about ---------------------------------------------------------------------


def commit_of(subjects: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the commit that a receipt names: a hint, where its tree can be found."""
    found = (each["digest"].get("gitCommit") for each in subjects)
    return next((each for each in found if isinstance(each, str)), None)


def touched_judges(subjects: Sequence[Mapping[str, Any]]) -> dict[str, ItemJudge]:
    """Return the files that the work changed, as it left them, each as a judge that it may be."""
    found = {}
    for each in subjects[1:]:  # the first is the tree
        name, digests = each["name"], each["digest"]
        if "gitCommit" not in digests and "sha256" in digests:
            found[name] = ItemJudge(
                path=name,
                sha256=digests["sha256"],
                git_blob=digests.get("gitBlob"),
                editable=True,
            )
    return found


# -- deciding ------------------------------------------------------------------------------------


class ItemOutcome(NamedTuple):
    """What became of an item, and why."""

    outcome: ReplayOutcome
    reason: str


def why_not_judged(item: RunItem, contract: Contract | None) -> str | None:
    """Return why an item is not judged again; None where it is."""
    if item.kind == "precondition":
        return "it was about the files before the work"
    if item.result not in _PASSED:
        return _BY_PEOPLE.get(item.result, f"it is `{item.result}` in the receipt")
    if not isinstance(contract, Judged):
        return "it has no contract to run"
    if is_reproduction(contract):
        return "it shows a fault that later work mended"
    return None


def compared(found: Verdict, again: Verdict | None) -> ItemOutcome:
    """Return what a verdict makes of an item that passed; `again` is a second one, after a fail."""
    if found.kind is VerdictKind.PASS:
        return ItemOutcome(ReplayOutcome.SAME, found.reason)
    if again is not None and again.kind is VerdictKind.PASS:
        reason = f"it failed and passed on the same files: {found.reason}"
        return ItemOutcome(ReplayOutcome.FLAKY, reason)
    if found.kind is VerdictKind.UNRUNNABLE:
        return ItemOutcome(ReplayOutcome.UNRUNNABLE, found.reason)
    if found.kind is VerdictKind.FLAKY:
        return ItemOutcome(ReplayOutcome.FLAKY, found.reason)
    if found.kind in _UNDECIDED:
        return ItemOutcome(ReplayOutcome.INCONCLUSIVE, found.reason)
    return ItemOutcome(ReplayOutcome.DIFFERS, found.reason)


def is_same(items: Iterable[ReplayedItem]) -> bool:
    """Say whether all that passed passes again; no, where there was nothing to see."""
    judged = [item for item in items if item.outcome != ReplayOutcome.NOT_JUDGED.value]
    return bool(judged) and all(item.outcome == ReplayOutcome.SAME.value for item in judged)


def is_independent(recorded: Sequence[str], own: str | None, isolation: Isolation) -> bool:
    """Say whether a replay is somebody else's word: another key, behind walls.

    `recorded` are the keys that signed the receipt. Where nobody signed, nobody knows who it was.
    """
    return (
        bool(recorded)
        and own is not None
        and own not in recorded
        and isolation.reaches(Isolation.I2)
    )


class ReplayEvidence(NamedTuple):
    """How well a verdict of a replay is founded."""

    level: Evidence
    short_of: tuple[str, ...]


def replay_evidence(
    found: Verdict, *, independent: bool, by_all_judges: bool = True
) -> ReplayEvidence:
    """Return the level of a verdict: `E5` is a pass that was found again by somebody else.

    Without a failure that was seen here there is nothing to be found again: from E3 on. What kept
    it from E4 is still said: a product that can read its judges can do so here, too. Without the
    judges that were held out it is another question that was answered.
    """
    if found.kind is not VerdictKind.PASS or not evidence_reaches(found.evidence, Evidence.E3):
        return ReplayEvidence(found.evidence, found.short_of)
    if not by_all_judges:
        why = "the judges that were held out are not here"
        return ReplayEvidence(found.evidence, (*found.short_of, why))
    if independent:
        short_of = () if found.evidence is Evidence.E4 else found.short_of
        return ReplayEvidence(Evidence.E5, short_of)
    why = "the key that signed the receipt is this one, or nobody knows it, or there is no I2"
    return ReplayEvidence(found.evidence, (*found.short_of, why))
