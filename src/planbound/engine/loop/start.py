"""What becomes of a precondition: it is about the start, so what held then holds for good."""

from __future__ import annotations

from collections.abc import Mapping

from planbound.engine.judging.proof import Before
from planbound.engine.loop.item import Item, Standing
from planbound.journal.record import Json

RED_FIRST = "red when it was first looked at, and made true since"
LATE = "nobody saw it hold before the work began"


def start_judged(item: Item, details: Mapping[str, Json], before: Before) -> Item:
    """Return a precondition after its contract was run; `before` is what was seen earlier."""
    if item.standing.is_settled:
        return item
    if details.get("verdict") != "pass":
        reason = str(details.get("reason") or details.get("verdict"))
        return item._replace(
            passed=False, reason=reason, output=str(details.get("output_tail") or "")
        )
    looks = [look for look in before if look is not None and look.is_seen]
    red = item.passed is False or any(look.is_red for look in looks)
    why = [RED_FIRST] if red else []
    # What was green when somebody approved the plan, and never red since, was seen before the work.
    if details.get("late") and (red or not looks):
        why.append(LATE)
    return item._replace(standing=Standing.HOLDS, passed=True, reason="; ".join(why), output="")


def start_claimed(item: Item, details: Mapping[str, Json], before: Before) -> Item:
    """Return a precondition that has no contract, after somebody said what shows it."""
    del before
    late = LATE if details.get("late") else ""
    evidence = str(details.get("evidence") or "")
    return item._replace(standing=Standing.CLAIMED, evidence=evidence, reason=late)
