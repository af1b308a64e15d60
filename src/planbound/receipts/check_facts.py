"""Checks the values of a receipt: that each is of its kind, and agrees with what it rests on."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planbound.receipts.claims import GREEN, item_name

Values = Mapping[str, Any]
VERSION = "0.1"
LEVELS = ("E0", "E1", "E2", "E3", "E4")
"""What a run can reach; E5 is the word of somebody else, who judged again."""
WALLS = ("I0", "I1", "I2", "I3", "I4")
STRENGTHS = {
    "terminal": "word",
    "digest": "word",
    "elicitation": "word",
    "page": "word",
    "signature": "proof",
    "policy": "rule",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_DOLLARS = re.compile(r"\d{1,30}(?:\.\d{1,30})?")
_LONGEST_NAME = 255
_TO_SECONDS = 19
_COUNTED = re.compile(r"(tests >=|failed <=) (\d{1,18})")

_OTHER_ENDS = ("exit_code", "failed", "no new")
"""Expectations with which a command may end otherwise than with 0."""


def is_slug(name: str) -> bool:
    """Say whether a name can be a plan's: one part of a path, and nothing that hides."""
    plain = not any(unicodedata.category(each) == "Cc" for each in name)
    fits = 0 < len(name.encode("utf-8", "surrogateescape")) <= _LONGEST_NAME
    return plain and fits and not set(name) & {"/", "\\"} and name not in {".", ".."}


def is_time(text: str) -> bool:
    """Say whether a text is a time in UTC, as receipts write it."""
    return bool(_TIME.fullmatch(text))


def is_fingerprint(text: str) -> bool:
    """Say whether a text is the fingerprint of a key: each key has one only."""
    # 43 digits are two bits more than 32 bytes.
    return bool(_FINGERPRINT.fullmatch(text)) and text[-1] in "AEIMQUYcgkosw048"


# -- an item --------------------------------------------------------------------------------------


def number_faults(item: Values) -> Iterator[str]:
    """Yield numbers of an item that cannot be, or that are not what its contract expects."""
    counts = [item["attempts"], item["repeat"], item["seconds"] or 0]
    for part, names in (
        ("tests", ("passed", "failed", "skipped")),
        ("mutated", ("tests", "sensitive")),
        ("output", ("bytes",)),
    ):
        counts += [(item[part] or {}).get(name) or 0 for name in names]
    if any(count < 0 for count in counts):
        yield "a count is less than nothing"
    tests, wanted = item["tests"], item["expectations"]
    if item["result"] not in GREEN:
        return
    if tests is None:
        plain = item["form"] == "command" and not any(
            said.startswith(_OTHER_ENDS) for said in wanted
        )
        if plain and item["exit_code"] not in (0, None):
            yield f"it passes with exit code {item['exit_code']}, and expects no other than 0"
        return
    for said in wanted:
        match = _COUNTED.fullmatch(said)
        if match is None:
            continue
        few = match[1] == "tests >=" and tests["passed"] + tests["skipped"] < int(match[2])
        if few or (match[1] == "failed <=" and tests["failed"] > int(match[2])):
            yield f"it passes, its tests were {_tests_told(tests)}, and it expects `{said}`"


def _tests_told(tests: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in tests.items())


def event_faults(items: Sequence[Values], cited: Mapping[int, str]) -> Iterator[str]:
    """Yield events that items rest on, and that tell something else or of another item."""
    green = [item for item in items if item["result"] in GREEN]
    for field, those in (("seq", items), ("settled_by", green)):
        used = Counter(item[field] for item in those if item[field] is not None)
        yield from (f"event {seq} tells of {n} items" for seq, n in used.items() if n > 1)
    for item in items:
        name, look = item_name(item), item["baseline"]
        if item["seq"] is not None and item["seq"] not in cited:
            yield f"{name}: event {item['seq']} is not cited"
        if look is None or look["seq"] is None:
            continue
        if cited.get(look["seq"]) != "BASELINE_OBSERVED":
            yield f"{name}: event {look['seq']} tells of no baseline"
        elif look["at"] == "attempt" and (item["seq"] or look["seq"] + 1) <= look["seq"]:
            yield f"{name}: its baseline was seen after the work"


def level_faults(item: Values) -> Iterator[str]:
    """Yield levels that there are none of, or that no run reaches."""
    for field, known in (("evidence", LEVELS), ("isolation", WALLS)):
        if item[field] is not None and item[field] not in known:
            yield f"`{item[field]}` is nothing that a run reaches"
    if item["demanded_evidence"] not in (None, *LEVELS, "E5"):
        yield f"nobody can demand `{item['demanded_evidence']}`"


# -- the approval, deviations, agents -------------------------------------------------------------


def approval_fault(run: Values) -> str | None:
    """Return what an approval says otherwise than what it rests on; None: nothing."""
    given = run["approval"]
    cited = {event["seq"]: event["event"] for event in run["journal"]["events"]}
    if STRENGTHS.get(given["method"]) != given["strength"]:
        return f"`{given['method']}` is not worth `{given['strength']}`"
    if cited.get(given["seq"]) != "GATE_APPROVED":
        return f"event {given['seq']} tells of no approval"
    if not is_time(given["at"]) or given["at"][:_TO_SECONDS] > run["made"]:
        return "it is of a time that was not yet, or is none"
    if list(cited.values()).count("GATE_APPROVED") > 1:
        return None  # Approved again on the way: earlier items rest on what was frozen then.
    return _judge_fault(run)


def _judge_fault(run: Values) -> str | None:
    approved = run["approval"]["judges"]
    frozen = {judge["path"]: judge for item in run["items"] for judge in item["judges"]}
    # Of the same files judges are the same, whoever may change them later.
    same = run["base"]["tree"] is not None and run["base"]["tree"] == run["approval"]["tree"]
    for path, judge in frozen.items():
        known = approved.get(path)
        if known != judge["sha256"] and (same or not (judge["editable"] or known is None)):
            return f"`{path}` is not a judge that was approved"
    for path in approved.keys() - frozen.keys() if same else ():
        return f"`{path}` was approved as a judge, and no item has it"
    return None


def deviation_faults(run: Values) -> Iterator[str]:
    """Yield what deviations say otherwise than the items, the approval and the agents."""
    items = {item_name(item): item for item in run["items"]}
    for each in run["deviations"]:
        kind, item = each["deviation"], items.get(each.get("item") or "")
        if each.get("item") is not None and item is None:
            yield f"`{kind}` is told of {each['item']}, which is no item"
        for field, wanted in _same_as(kind, item, run):
            if each[field] != wanted:
                yield f"`{kind}` says {field} `{each[field]}`, and it is `{wanted}`"


def _same_as(kind: str, item: Values | None, run: Values) -> Iterator[tuple[str, object]]:
    if kind == "unknown-cost":
        yield "attempts", sum(agent["unknown"] for agent in run["agents"])
    elif kind == "approved-by-policy" and run["approval"] is not None:
        yield "seq", run["approval"]["seq"]
    elif item is None:
        return
    elif kind in ("waived", "attested", "skipped", "claimed"):
        yield "seq", item["settled_by"]
    elif kind == "unsettled":
        yield "result", item["result"]
    elif kind == "bare-run":
        yield "isolation", item["isolation"]
    elif kind == "little-evidence":
        yield "evidence", item["evidence"]
    elif kind == "reused":
        yield "of", item["reused"]


def agent_faults(agents: Sequence[Values]) -> Iterator[str]:
    """Yield what agents cannot have said of themselves."""
    for each in agents:
        counts = (each["attempts"], each["unknown"], each["tokens"])
        if not each["claimed"]:
            yield f"agent `{each['name']}`: nobody measured what it says of itself"
        if min(counts) < 0 or each["unknown"] > each["attempts"]:
            yield f"agent `{each['name']}`: its numbers cannot be"
        if not _DOLLARS.fullmatch(each["dollars"]):
            yield f"agent `{each['name']}`: `{each['dollars']}` is no amount"
