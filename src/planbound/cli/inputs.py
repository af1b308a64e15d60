"""Plans named on the command line."""

from __future__ import annotations

import argparse
import sys

from planbound.errors import UsageError
from planbound.plan.parse import MAX_BYTES
from planbound.ports.files import PlanFile
from planbound.usecases.locate import locate
from planbound.wiring.parts import Parts

STANDARD_INPUT = "-"


def references(arguments: argparse.Namespace, parts: Parts) -> list[str | None]:
    """Return the plans that were named, every plan for `--all`, None for the bound one."""
    if not arguments.all:
        return arguments.plans or [None]
    if arguments.plans:
        raise UsageError("`--all` and names of plans do not go together")
    plans = parts.tree.plans()
    if not plans:
        raise UsageError("there is no plan here", hint="make one with `planbound new NAME`")
    return [plan.path for plan in plans]


def read_bound_plan(reference: str | None, parts: Parts) -> tuple[Parts, PlanFile, bytes]:
    """Return a plan, and the parts for the worktree that it is bound to."""
    file, data = read_plan(reference, parts)
    if file.path == STANDARD_INPUT:
        return parts, file, data
    from planbound.wiring.bound import at_worktree  # noqa: PLC0415 - not where files are read only

    return at_worktree(parts, file), file, data


def read_own_plan(reference: str | None, parts: Parts) -> tuple[PlanFile, bytes]:
    """Return a plan of the workspace; refuse any other file, and say what to do with it."""
    file, data = read_plan(reference, parts)
    parts.demand_own(file)
    return file, data


def read_plan(reference: str | None, parts: Parts) -> tuple[PlanFile, bytes]:
    """Return a plan's file and content; `-` is standard input."""
    if reference == STANDARD_INPUT:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        return PlanFile(slug="stdin", path=STANDARD_INPUT, shown="<stdin>"), data
    file = locate(reference, parts.tree)
    return file, parts.reader.read(file.path)
