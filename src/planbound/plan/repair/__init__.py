"""What `fmt` mends: one kind of slip per module.

A repair is a function from a plan to edits. It changes how the plan is written; where it changes
what the plan means (a `$ ` in front of a command), that is what the author meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.plan.edit import Edit, apply
from planbound.plan.model import Plan
from planbound.plan.parse import parse_source
from planbound.plan.repair import (
    conditions,
    contracts,
    fences,
    field_lists,
    field_names,
    frontmatter,
    headings,
    lines,
    sections,
    spacing,
)

Repair = Callable[[Plan], Sequence[Edit]]

REPAIRS: tuple[tuple[str, Repair], ...] = (
    ("line ends and byte order mark", lines.repair),
    ("fences inside fences", fences.repair),
    ("frontmatter", frontmatter.repair),
    ("section headings", sections.repair),
    ("step headings", headings.repair),
    ("fields in lists", field_lists.repair),
    ("field names", field_names.repair),
    ("commands of conditions", conditions.repair),
    ("contracts", contracts.repair),
    ("blank lines", spacing.repair),
)


class Repaired(NamedTuple):
    """A plan after its repairs, and what was mended."""

    plan: Plan
    mended: tuple[str, ...]


def repair(plan: Plan) -> Repaired:
    """Return the plan with all that can be mended without asking."""
    mended: dict[str, None] = {}
    # One repair can open the way for another (a fence that was swallowed holds headings): twice
    # through is enough for all that we know, and the bound keeps a surprise finite.
    for _ in range(4):
        before = plan.source.text
        for name, function in REPAIRS:
            edits = function(plan)
            if edits:
                source = apply(plan.source, edits)
                if source.text != plan.source.text:
                    mended[name] = None
                    plan = parse_source(source)
        if plan.source.text == before:
            break
    return Repaired(plan=plan, mended=tuple(mended))
