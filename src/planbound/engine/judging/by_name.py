"""What became of each test since the baseline, by its name.

Several tests may have one name (rows of a table, groups): then their numbers are compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from planbound.engine.judging.summary import Case
from planbound.source.pattern import lazy_pattern

# An object's place in memory, in the name of a row: another one in every run.
_ADDRESS = lazy_pattern(r"\b0x[0-9a-fA-F]{6,16}\b")
_OUTCOMES = ("passed", "failed", "skipped")


class Compared(NamedTuple):
    """How the tests differ from those of the baseline."""

    new_failures: tuple[str, ...]
    disappeared: tuple[str, ...]


def compare(before: Iterable[Case], now: Iterable[Case]) -> Compared:
    """Return the tests that fail or are skipped and did not before, and those that are gone."""
    then, since = _by_name(before), _by_name(now)
    failures: list[str] = []
    gone: list[str] = []
    for name, counts in since.items():
        known = then.get(name, Counter())
        if counts["failed"] > known["failed"] or counts["passed"] < known["passed"]:
            failures.append(name)
    for name, counts in then.items():
        if since.get(name, Counter()).total() < counts.total():
            gone.append(name)
    return Compared(
        tuple(sorted(name for name in failures if name not in gone)), tuple(sorted(gone))
    )


def encode(cases: Sequence[Case]) -> bytes:
    """Return a list of tests as bytes, the same for the same tests."""
    listed = {
        outcome: sorted(_plain(case.id) for case in cases if case.outcome == outcome)
        for outcome in _OUTCOMES
    }
    return json.dumps(listed, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def decode(data: bytes) -> tuple[Case, ...]:
    """Return the tests of a list; raise ValueError where it is none."""
    listed = json.loads(data)
    if not isinstance(listed, dict):
        raise ValueError("this is no list of tests")  # noqa: TRY004 - damaged, not mistaken
    return tuple(
        Case(str(name), outcome) for outcome in _OUTCOMES for name in listed.get(outcome, ())
    )


def _by_name(cases: Iterable[Case]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for case in cases:
        found.setdefault(_plain(case.id), Counter())[case.outcome] += 1
    return found


def _plain(name: str) -> str:
    return _ADDRESS.sub("0x...", name)
