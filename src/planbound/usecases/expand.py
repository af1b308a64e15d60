"""Write a template out into numbered steps."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.plan.expand import Batch, Expansion, expand
from planbound.plan.parse import parse, write
from planbound.ports.files import Files, PlanFile


def expand_file(
    file: PlanFile, label: str, batches: Sequence[Batch], *, files: Files, dry: bool
) -> Expansion:
    """Expand a template in a plan's file; with `dry` only return what it would become."""
    data = files.read(file.path)
    expansion = expand(parse(data, path=file.shown), label, batches)
    if not dry:
        files.replace(file.path, write(expansion.plan), expected=data)
    return expansion
