"""What the events of a large plan add up to.

Limit: the events of a plan of 5,000 steps are folded in under 0.5 seconds.
"""

from __future__ import annotations

import sys

from benchmarks.measure import record, side_by_side
from planbound.journal.chain import link
from planbound.journal.event import EventKind
from planbound.journal.record import GENESIS, Details, Draft, Head, Json, Record
from planbound.state.plan import fold

STEPS = 5000
SECONDS = 0.5


def events(steps: int) -> list[Record]:
    """Return what a run of that many steps writes: four events a step."""
    told: list[tuple[EventKind, str | None, dict[str, Json]]] = [
        (EventKind.PLAN_CREATED, None, {"task_count": steps, "dependencies": {}})
    ]
    for number in range(1, steps + 1):
        name = f"step-{number}"
        told += [
            (EventKind.TASK_STARTED, name, {"attempt": 1}),
            (EventKind.BASELINE_OBSERVED, name, {"verdict": "fail"}),
            (EventKind.CONTRACT_EVALUATED, name, {"verdict": "pass", "exit_code": 0}),
            (EventKind.TASK_COMPLETED, name, {"result": "proved"}),
        ]
    head, records = GENESIS, []
    for number, (kind, task, details) in enumerate(told, 1):
        stamp = "2026-11-15T00:00:00.000000Z"
        draft = Draft(f"{number:032x}", stamp, kind, "big", task, task, Details.of(details))
        records.append(link(draft, head, number, 1))
        head = Head(records[-1].seq, records[-1].hash)
    return records


def main() -> int:
    """Measure, print, record; 1 where the limit is broken."""
    records = events(STEPS)
    times = side_by_side({f"fold {STEPS}": lambda: fold(records)}, 7)
    seconds = times[f"fold {STEPS}"]
    print(f"fold of {len(records):,} events of {STEPS:,} steps  {seconds * 1000:.1f} ms")
    print(f"limit {SECONDS * 1000:.0f} ms{'  OVER' if seconds > SECONDS else ''}")
    record("fold", times)
    return 1 if seconds > SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
