"""What follows from what: how counts, the outcome and test results come from the items.

For who makes a receipt and for who checks one: both reckon it in this one way, from the values as
they stand in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Checked = tuple[str, bool | None, str]
"""A check: its name, what it comes to, and why."""
OK, FAILS, OPEN = True, False, None
"""What a check comes to; the last: it cannot be told, or there is nothing to tell."""
GREEN = ("proved", "holds")
BY_WORD = ("claimed", "attested", "waived", "skipped")
"""Results that no contract shows."""
SETTLED = (*GREEN, *BY_WORD)
_DONE = ("done", "done with skips", "finished with blocked items")


def item_name(item: Mapping[str, Any]) -> str:
    """Return how an item is called: `step 2`."""
    return f"{item['kind']} {item['number']}"


def counts_of(items: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many items there are of each result."""
    results = [item["result"] for item in items]
    found = {name: results.count(name) for name in SETTLED}
    return {"items": len(items), **found, "open": len(items) - sum(found.values())}


def outcome_of(status: str, items: Sequence[Mapping[str, Any]]) -> str:
    """Return what all of it comes to: `proved`, `holds`, `settled` or `unfinished`."""
    results = [item["result"] for item in items]
    if status not in _DONE or not all(result in SETTLED for result in results) or not items:
        return "unfinished"
    if not all(result in GREEN for result in results):
        return "settled"
    steps = [item["result"] for item in items if item["kind"] == "step"]
    return "proved" if all(result == "proved" for result in steps) else "holds"


# -- the other lines of a receipt ------------------------------------------------------------------


def is_tested(item: Mapping[str, Any]) -> bool:
    """Say whether an item has a test result of its own: its contract was judged, or a person did.

    What nobody has come to yet has none.
    """
    if item["contract"] is None:
        return False
    return item["verdict"] is not None or item["result"] in ("waived", "attested")


def test_result(item: Mapping[str, Any]) -> dict[str, object]:
    """Return the predicate `test-result/v0.1` of an item, for tools that know only that."""
    name = item_name(item)
    if item["result"] in GREEN:
        result, where = "PASSED", "passedTests"
    elif item["result"] in ("waived", "attested"):
        result, where = "WARNED", "warnedTests"
    else:
        result, where = "FAILED", "failedTests"
    contract = {"name": f"{name}: contract", "digest": {"sha256": item["contract"]}}
    judges = [
        {"name": judge["path"], "digest": {"sha256": judge["sha256"]}} for judge in item["judges"]
    ]
    return {"result": result, "configuration": [contract, *judges], where: [name]}
