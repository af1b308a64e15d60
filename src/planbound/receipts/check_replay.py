"""Checks that what the receipt of a replay says follows from what else it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planbound.receipts.check_facts import LEVELS, WALLS, is_fingerprint
from planbound.receipts.claims import FAILS, GREEN, OK, OPEN, Checked, item_name

_REPLAY_OUTCOMES = (
    *("same", "differs", "flaky", "unrunnable", "inconclusive", "missing judge"),
    "not judged",
)
_WALLS = ("I2", "I3", "I4")
_INDEPENDENT = "E5"


def check_replay(
    run: Mapping[str, Any], subjects: Sequence[Mapping[str, Any]]
) -> Iterator[Checked]:
    """Yield each check: its name, whether it holds, and why."""
    given = run["receipt"]
    by = f"signed by {given['key']}" if given["key"] else "not signed"
    yield "receipt", OPEN, f"it judged again the receipt with SHA-256 {given['sha256']}, {by}"
    right = [each["digest"].get("gitTree") for each in subjects[:1]] == [run["tree"]["git_tree"]]
    yield "subject", right, "the tree that was judged" if right else "not the tree that it names"
    faults = list(_replay_faults(run))
    yield "items", not faults, "; ".join(faults[:5]) or "each word follows from its own fields"
    yield "same", *_passed_again(run)


def _replay_faults(run: Mapping[str, Any]) -> Iterator[str]:
    names = [item_name(item) for item in run["items"]]
    if len(set(names)) != len(names):
        yield "an item stands there twice"
    own, given = run["harness"]["key"], run["receipt"]
    if given["key"] is not None and not is_fingerprint(given["key"]):
        yield f"`{given['key']}` is no fingerprint of a key"
    if given["unsigned"] != bool(given["refused"] or given["key"] is None):
        yield "whether the receipt checks does not follow from what was refused"
    others = own is not None and given["key"] not in (None, own["fingerprint"])
    others = others and not given["unsigned"]
    judged = [item for item in run["items"] if item["verdict"] is not None]
    if run["independent"] and not (others and all(i["isolation"] in _WALLS for i in judged)):
        words = "it is the same key, there are no walls, or the receipt does not check"
        yield f"it is called independent, and {words}"
    for name, item in zip(names, run["items"], strict=True):
        yield from (f"{name}: {fault}" for fault in _item_faults_again(item))
        if item["evidence"] == _INDEPENDENT and not run["independent"]:
            yield f"{name}: E5 takes an independent verdict"


def _item_faults_again(item: Mapping[str, Any]) -> Iterator[str]:
    if item["evidence"] not in (None, *LEVELS, _INDEPENDENT):
        yield f"`{item['evidence']}` is no level"
    if item["isolation"] not in (None, *WALLS):
        yield f"`{item['isolation']}` is no isolation"
    if item["evidence"] == _INDEPENDENT and item["verdict"] != "pass":
        yield f"{_INDEPENDENT} takes a pass"
    if item["outcome"] not in _REPLAY_OUTCOMES:
        yield f"`{item['outcome']}` is no outcome"
    if (item["outcome"] == "same") != (item["verdict"] == "pass"):
        yield f"`{item['outcome']}` does not follow from `{item['verdict']}`"
    if item["outcome"] == "same" and item["recorded"] not in GREEN:
        yield f"`{item['recorded']}` is nothing that could be seen again"


def _passed_again(run: Mapping[str, Any]) -> tuple[bool | None, str]:
    judged = [item for item in run["items"] if item["outcome"] != "not judged"]
    passed = [item for item in judged if item["outcome"] == "same"]
    if run["same"] != (bool(judged) and len(passed) == len(judged)):
        return FAILS, "it does not follow from the items"
    words = f"{len(passed)} of {len(judged)} pass again"
    words += "" if run["whole"] else ", of the steps that were chosen"
    return (OK, words) if run["same"] else (OPEN, words)
