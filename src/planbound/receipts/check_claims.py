"""Checks that what a receipt says follows from what else it says.

A word such as `proved` has to follow from the fields of its item, and nothing that is to be told
as a deviation may be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planbound.receipts.check_facts import (
    Values,
    agent_faults,
    deviation_faults,
    event_faults,
    level_faults,
    number_faults,
)
from planbound.receipts.claims import (
    BY_WORD,
    GREEN,
    SETTLED,
    Checked,
    counts_of,
    item_name,
    outcome_of,
)

_TOLD = 5
_LITTLE = (None, "E0", "E1")
_STATUSES = ("pending", "in-progress", "waiting", "failed", "blocked", *SETTLED)
_KINDS = ("precondition", "step", "postcondition")
_SETTLES = {
    "proved": ("TASK_COMPLETED", "CONTRACT_EVALUATED"),
    "holds": ("TASK_COMPLETED", "CONTRACT_EVALUATED"),
    "claimed": ("TASK_COMPLETED", "PRECONDITION_CLAIMED", "POSTCONDITION_CLAIMED"),
    "attested": ("ATTESTED", "TASK_COMPLETED"),
    "waived": ("WAIVED",),
    "skipped": ("TASK_SKIPPED",),
}
_TELLS = {
    "waived": ("WAIVED",),
    "attested": ("ATTESTED", "TASK_COMPLETED"),
    "skipped": ("TASK_SKIPPED",),
    "claimed": _SETTLES["claimed"],
    "amended": ("PLAN_AMENDED",),
    "edited": ("PLAN_EDITED", "PLAN_REWRITTEN"),
    "approved-by-policy": ("GATE_APPROVED",),
    "approved-in-spite": ("GATE_APPROVED",),
    "approved-gates": ("GATE_APPROVED",),
    "approved-with-changes": ("GATE_APPROVED",),
    "tampered": ("JUDGE_TAMPERED",),
    "out-of-scope": ("SCOPE_VIOLATED",),
    "anyway": ("EXECUTION_STARTED",),
    "edited-meanwhile": ("EXECUTION_STARTED",),
    "budget-raised": ("BUDGET_RAISED",),
    "late": ("CONTRACT_EVALUATED",),
}
"""By deviation the kinds of events that it may rest on."""


def check_claims(run: Mapping[str, Any]) -> Iterator[Checked]:
    """Yield each check: its name, whether it holds, and why."""
    items = run["items"]
    cited = {event["seq"]: event["event"] for event in run["journal"]["events"]}
    yield "items", *_told(_item_faults(items, cited), "each word follows from its own fields")
    yield "evidence", *_told(_evidence_faults(items), "each level has what it takes")
    yield "counts", *_counts(run)
    deviations = _told(_deviation_faults(run, cited), _complete(run["deviations"]))
    yield "deviations", *deviations


def _told(faults: Iterator[str], well: str) -> tuple[bool, str]:
    found = list(faults)
    more = f" and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    return not found, "; ".join(found[:_TOLD]) + more if found else well


def _counts(run: Mapping[str, Any]) -> tuple[bool, str]:
    counts, outcome = counts_of(run["items"]), outcome_of(run["status"], run["items"])
    if run["counts"] != counts:
        return False, "they are not those of the items"
    if run["outcome"] != outcome:
        return False, f"the outcome is `{run['outcome']}`, and from the items follows `{outcome}`"
    green = counts["proved"] + counts["holds"]
    return True, f"{outcome}: {green} of {counts['items']} pass, {counts['proved']} of them proved"


# -- the word of each item ------------------------------------------------------------------------


def _item_faults(items: Sequence[Values], cited: Mapping[int, str]) -> Iterator[str]:
    names = Counter(item_name(item) for item in items)
    yield from (f"{name} stands there {count} times" for name, count in names.items() if count > 1)
    for item in items:
        yield from (f"{item_name(item)}: {fault}" for fault in _word_faults(item, cited))
    yield from event_faults(items, cited)


def _word_faults(item: Values, cited: Mapping[int, str]) -> Iterator[str]:
    result, verdict = item["result"], item["verdict"]
    if item["kind"] not in _KINDS or result not in _STATUSES:
        yield f"`{item['kind']}` that is `{result}` is none"
    if verdict is not None and cited.get(item["seq"]) != "CONTRACT_EVALUATED":
        yield "no event tells its verdict"
    if (item["contract"] is None) != (item["form"] in ("none", "probe")):
        yield "it has a contract, and none"
    if result in GREEN:
        yield from _green_faults(item)
    yield from number_faults(item)
    settled_by = item["settled_by"]
    if result not in SETTLED:
        if settled_by is not None:
            yield f"it is `{result}`, and something settled it"
    elif settled_by is None:
        if result != "skipped":
            yield "no event settled it"
    elif cited.get(settled_by) not in _SETTLES[result]:
        yield f"event {settled_by} does not make it `{result}`"


def _green_faults(item: Values) -> Iterator[str]:
    result, baseline = item["result"], item["baseline"]
    if item["verdict"] != "pass":
        yield f"it is `{result}` without a pass"
    if item["form"] not in ("command", "cases", "probe"):
        yield f"it is `{result}`, and nothing can be run for it"
    if result == "proved" and (baseline is None or not baseline["red"]):
        yield "it is `proved`, and nobody saw it red before"
    for said in item["expectations"]:
        if said.startswith("exit_code == ") and said != f"exit_code == {item['exit_code']}":
            yield f"it passes with exit code {item['exit_code']}, and expects `{said}`"
    if item["reused"] is not None and item["seq"] is not None and item["reused"] >= item["seq"]:
        yield "it rests on runs that came after it"
    if baseline is not None and baseline["red"] == (baseline["verdict"] in ("pass", *_UNSEEN)):
        yield f"its baseline is `{baseline['verdict']}`, which is another colour"


_UNSEEN = ("tampered", "out-of-scope")
"""Of these nobody knows what the contract said."""


def _evidence_faults(items: Sequence[Values]) -> Iterator[str]:
    for item in items:
        yield from (f"{item_name(item)}: {fault}" for fault in _unfounded(item))


def _unfounded(item: Values) -> Iterator[str]:
    yield from level_faults(item)
    level, canary, baseline = item["evidence"], item["canary"], item["baseline"]
    mutated = item["mutated"]
    if mutated is not None and mutated["sensitive"] + len(mutated["blind"]) > mutated["tests"]:
        yield "more tests were changed than there are"
    if item["verdict"] != "pass" or level is None:
        if item["result"] in GREEN and item["form"] != "probe":
            yield "it has no level of evidence"
        return
    if level > "E1" and (item["isolation"] or "I0") < "I1":
        yield f"{level} without a cell"
    if level > "E2" and canary != "red":
        red = baseline is not None and baseline["verdict"] in ("fail", "vacuous")
        if not red or canary in ("unclear", "green", "lost"):
            yield f"{level}, and nobody saw it fail"
    if item["demanded_evidence"] is not None and level < item["demanded_evidence"]:
        yield f"{level}, and the plan demands {item['demanded_evidence']}"


# -- what must not be left out --------------------------------------------------------------------


def _complete(deviations: Sequence[Values]) -> str:
    kinds = Counter(each["deviation"] for each in deviations)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"told, and none left out: {listed}" if kinds else "none, and none is to be told"


def _deviation_faults(run: Mapping[str, Any], cited: Mapping[int, str]) -> Iterator[str]:
    told = [_mark(each) for each in run["deviations"]]
    wanted = [*_of_items(run["items"]), *_of_plan(run)]
    for mark in wanted:
        if mark not in told:
            yield f"`{mark[0]}` is left out{f' of {mark[1]}' if mark[1] else ''}"
    named = ({kind for kind, _ in wanted} | set(_MARKED)) - set(_OF_AN_APPROVAL)
    for mark in told:
        if mark == ("editable-judge", ""):
            continue  # of which items is not known
        if mark[0] in named and mark not in wanted:
            yield f"`{mark[0]}` is told{f' of {mark[1]}' if mark[1] else ''}, and nothing shows it"
    for each in run["deviations"]:
        seq = each.get("seq")
        if seq is not None and cited.get(seq) not in _TELLS.get(each["deviation"], ()):
            yield f"`{each['deviation']}` rests on event {seq}, which tells something else"
    yield from deviation_faults(run)
    yield from agent_faults(run["agents"])
    yield from _untold(run, cited)


_MARKED = (
    *BY_WORD,
    *("unsettled", "editable-judge", "bare-run", "little-evidence", "reused", "unknown-cost"),
    *("holds", "without-approval"),
)
"""Deviations that the items, the approval or the agents show, too."""
_OF_AN_APPROVAL = ("approved-by-policy", "approved-with-changes")
"""Deviations that the approval shows; an earlier one, whose event is cited, may have them, too."""


def _mark(deviation: Values) -> tuple[str, str]:
    """Return what has to be the same in a deviation and in what shows it."""
    kind = deviation["deviation"]
    if kind == "editable-judge":
        return kind, f"{deviation['item']} {deviation['path']}" if deviation["item"] else ""
    if kind in _OF_AN_APPROVAL:
        return kind, f"event {deviation['seq']}"
    return kind, (deviation.get("item") or "") if kind in _MARKED else ""


def _of_items(items: Sequence[Values]) -> Iterator[tuple[str, str]]:
    for item in items:
        name, result = item_name(item), item["result"]
        if result not in SETTLED:
            yield "unsettled", name
        elif result != "proved":
            yield result, name
        for judge in item["judges"]:
            if judge["editable"]:
                yield "editable-judge", f"{name} {judge['path']}"
        if item["isolation"] == "I0":
            yield "bare-run", name
        if result in GREEN and item["evidence"] in _LITTLE:
            yield "little-evidence", name
        if item["reused"] is not None:
            yield "reused", name


def _of_plan(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if run["approval"] is None:
        yield "without-approval", ""
    else:
        event = f"event {run['approval']['seq']}"
        if run["approval"]["method"] == "policy":
            yield "approved-by-policy", event
        if run["approval"]["modifications"]:
            yield "approved-with-changes", event
    if any(agent["unknown"] for agent in run["agents"]) or (run["loop"] and not run["agents"]):
        yield "unknown-cost", ""


_ALWAYS_TOLD = {
    "PLAN_AMENDED": "amended",
    "PLAN_EDITED": "edited",
    "PLAN_REWRITTEN": "edited",
    "JUDGE_TAMPERED": "tampered",
    "SCOPE_VIOLATED": "out-of-scope",
    "BUDGET_RAISED": "budget-raised",
}
"""Events that are cited only because they are told as deviations."""


def _untold(run: Mapping[str, Any], cited: Mapping[int, str]) -> Iterator[str]:
    """Yield events that are cited and that no deviation tells."""
    rest = {each.get("seq") for each in run["deviations"]}
    for seq, event in cited.items():
        if event in _ALWAYS_TOLD and seq not in rest:
            yield f"event {seq} is `{event}`, and no deviation tells it"
    people = {item["settled_by"] for item in run["items"]}
    for seq, event in cited.items():
        if event in ("WAIVED", "ATTESTED", "TASK_SKIPPED") and seq not in rest | people:
            yield f"event {seq} is `{event}`, and no item and no deviation tells it"
