"""Standup: what is being built, can be merged, lies idle, or waits for a person."""

from __future__ import annotations

from typing import NamedTuple

from planbound.engine import standup as engine
from planbound.engine.configuration import Require
from planbound.usecases.overview import Overview, plan_infos


class StandupReport(NamedTuple):
    """The groups, and what could not be found out."""

    standup: engine.Standup
    warnings: tuple[str, ...]


def standup(seen: Overview, now: str, require: Require = Require.CLAIMED) -> StandupReport:
    """Return where each active plan stands at a time, UTC as the journal writes it."""
    warnings = list(seen.warnings)
    infos = plan_infos(seen, warnings, require)
    found = engine.standup(infos, now, has_journal=seen.has_journal)
    return StandupReport(found, tuple(warnings))
