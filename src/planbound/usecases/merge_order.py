"""Merge order: what to merge first of the plans that are finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planbound.engine import merge_order as engine
from planbound.engine.configuration import Require
from planbound.engine.team.resolution import after_its_base
from planbound.ports.files import Files, Workspace
from planbound.usecases.overview import OpenJournal, overview, plan_infos
from planbound.usecases.team.bindings import known_team


class OrderedPlans(NamedTuple):
    """The order, and what could not be found out."""

    order: engine.MergeOrder
    warnings: tuple[str, ...]


def merge_order(
    workspace: Workspace,
    files: Files,
    open_journal: OpenJournal,
    sizes: Mapping[str, int | None],
    require: Require = Require.CLAIMED,
) -> OrderedPlans:
    """Return the order; `sizes` are the lines that each plan changes since its merge base."""
    seen = overview(workspace, files, open_journal)
    warnings = list(seen.warnings)
    team = known_team(open_journal() if seen.has_journal else None)
    infos = [after_its_base(info, team) for info in plan_infos(seen, warnings, require)]
    order = engine.merge_order(infos, sizes)
    return OrderedPlans(order, tuple(warnings))
