"""Read, follow and check the journal."""

from __future__ import annotations

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
) -> Checked:
    """Walk the whole chain and compare it with the anchor; None is a journal that is not there.

    The anchor has to be read first: what is appended meanwhile must not look as if it were gone.

    `guarded` says whether the store's own protection still stands: a journal that ends too early
    was cut off where it does not, and is an old copy where it does.
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
    return Checked(head=head, faults=tuple(faults), anchor=state, anchored=anchored)


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
