"""Read, follow and check the journal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from planbound.journal.chain import Anchor, AnchorState, ChainFault, compare, verify
from planbound.journal.record import GENESIS, Head, Journal, Query, Record


class Checked(NamedTuple):
    """What a walk along the chain found."""

    head: Head
    faults: tuple[ChainFault, ...]
    anchor: AnchorState
    anchored: Anchor | None

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults and self.anchor in {AnchorState.INTACT, AnchorState.UNANCHORED}


MAX_FAULTS = 100
"""More are not worth telling."""


def check(
    journal: Journal | None,
    anchored: Anchor | None,
    *,
    guarded: Callable[[], bool | None] | None = None,
    folder: str | None = None,
) -> Checked:
    """Walk the whole chain and compare it with the anchor; None is a journal that is not there.

    The anchor has to be read first: what is appended meanwhile must not look as if it were gone.

    `guarded` says whether the store's own protection still stands: a journal that ends too early
    was cut off where it does not, and is an old copy where it does.

    `folder` is the state home, where it is noted whether something is wrong (`broken_mark`).
    """
    if journal is None:
        return Checked(GENESIS, (), compare(anchored, GENESIS, None), anchored)
    faults: list[ChainFault] = []
    for fault in verify(journal.read(Query())):
        faults.append(fault)
        if len(faults) >= MAX_FAULTS:
            break
    head = journal.head()
    at_anchor = None
    if anchored is not None and anchored.seq > 0:
        records = journal.read(Query(after=anchored.seq - 1))
        at_anchor = next((r for r in records if r.seq == anchored.seq), None)
    stands = guarded() if guarded else None
    counted = None if stands is None else head.seq + (0 if stands else 1)
    state = compare(anchored, head, at_anchor, counted=counted)
    found = Checked(head=head, faults=tuple(faults), anchor=state, anchored=anchored)
    if folder is not None:
        _mark(folder, sound=found.sound)
    return found


def broken_mark(folder: str) -> str:
    """Return the file of a state home that is there after something was found wrong."""
    return os.path.join(folder, "journal-is-broken")


def _mark(folder: str, *, sound: bool) -> None:
    """Note what a check found, for whoever builds upon what the journal tells."""
    with contextlib.suppress(OSError):  # who may not write there may look all the same
        if sound:
            os.unlink(broken_mark(folder))
        else:
            with open(broken_mark(folder), "xb"):
                pass


def follow(journal: Journal, query: Query, *, seconds: float = 60.0) -> Iterator[Record]:
    """Yield the records asked for, then each new one as it comes; never ends by itself."""
    seen = query.after
    first = True
    while True:
        # The head is taken before reading: what comes in between is read now or next time.
        head = journal.head().seq
        if head > seen or first:
            wanted = query if first else replace(query, after=seen, last=None)
            for record in journal.read(wanted):
                seen = max(seen, record.seq)
                yield record
            seen, first = max(seen, head), False
        journal.wait(seen, seconds)
