"""Which kept contents the journal still needs: for a run that can go on, or for an approval."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from planbound.journal.event import EventKind
from planbound.journal.record import Json, Record

_KEY = re.compile(r"[0-9a-f]{64}")
_OF_A_RUN = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.EXECUTION_PAUSED,
        EventKind.TASK_STARTED,
        EventKind.ATTEMPT_ENDED,
    }
)
"""What names trees that are needed only until the run is over."""
_RESUMABLE = "failed"


def needed_keys(records: Iterable[Record]) -> frozenset[str]:
    """Return the keys of everything that an event names and somebody may still ask for.

    Needed are the last baseline of a plan, what its runs compare with as long as they can go on,
    and whatever else any event names. Trees of runs that are over, and baselines that were
    followed by another, are not.
    """
    always: set[str] = set()
    baselines: dict[str, tuple[Json, set[str]]] = {}
    runs: dict[str, set[str]] = {}
    for record in records:
        draft = record.draft
        plan, keys = draft.plan, set(_keys(draft.details.values()))
        tests = draft.details.get("tests")
        if draft.event is EventKind.BASELINE_OBSERVED and isinstance(tests, dict):
            keys |= set(_keys(tests.values()))  # what later runs are compared with, by name
        if draft.event is EventKind.BASELINE_OBSERVED and "manifest" in draft.details:
            number = draft.details.get("baseline")
            known = baselines.get(plan)
            if known is None or known[0] != number:
                known = baselines[plan] = (number, set())
            known[1].update(keys)
        elif draft.event in _OF_A_RUN:
            runs.setdefault(plan, set()).update(keys)
        else:
            always |= keys
            ended = draft.event is EventKind.EXECUTION_COMPLETE
            if ended and draft.details.get("status") not in {None, _RESUMABLE}:
                runs.pop(plan, None)
            elif draft.event is EventKind.PLAN_CREATED:
                runs.pop(plan, None)  # another plan by the same name
                baselines.pop(plan, None)
    found = [always, *runs.values(), *(keys for _, keys in baselines.values())]
    return frozenset().union(*found)


def _keys(values: Iterable[Json]) -> Iterator[str]:
    return (each for each in values if isinstance(each, str) and _KEY.fullmatch(each))
