"""Appends to the golden file what no record in it tells yet: new kinds, new details of old ones.

`python -m tests.journal.golden`, once a kind is what it shall be. What is in the file stays.
"""

from __future__ import annotations

from pathlib import Path

from planbound.journal.chain import link
from planbound.journal.event import EVENTS, fields_of
from planbound.journal.record import Details, Draft, Head, decode, encode
from tests.journal import sample

GOLDEN = Path(__file__).parents[1] / "fixtures" / "journal"


def main() -> None:
    """Append one record for each kind that is not told of whole, with everything in it."""
    path = GOLDEN / "v1.jsonl"
    records = [decode(line) for line in path.read_text(encoding="ascii").splitlines()]
    told: dict[str, set[str]] = {}
    for record in (decode(line) for each in GOLDEN.glob("v1*.jsonl") for line in each.open()):
        told.setdefault(record.kind.value, set()).update(record.draft.details.json())
    for kind, event in EVENTS.items():
        details = {field.name: sample(field) for field in fields_of(event)}
        if kind.value in told and told[kind.value] >= details.keys():
            continue
        last = records[-1]
        draft = Draft(
            id=f"golden-{last.seq + 1}:{kind.value}",
            timestamp=last.draft.timestamp,
            kind=kind,
            plan=last.draft.plan,
            details=Details.of(details),
        )
        head = Head(last.seq, last.hash)
        records.append(link(draft, head, last.plan_seq + 1, event.VERSION))
        print(f"{path.name}: {kind.value}")
    path.write_text("".join(f"{encode(record)}\n" for record in records), encoding="ascii")


if __name__ == "__main__":
    main()
