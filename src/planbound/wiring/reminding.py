"""Asks again for approvals, as often as the configuration wants."""

from __future__ import annotations

from planbound.usecases.remind import remind
from planbound.wiring.parts import Parts


def remind_waiting(parts: Parts) -> list[str]:
    """Return the plans whose approval was asked for once more."""
    every = parts.configuration.gate.remind
    journal = parts.existing_journal() if every is not None else None
    if every is None or journal is None:
        return []
    return remind(parts.recorder(), journal, every, parts.now())
