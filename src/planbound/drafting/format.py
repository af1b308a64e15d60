"""Writing a plan out and mending how it is written, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.disk.files import Files, PlanFile
from planbound.plan.expand import Batch, Expansion, expand
from planbound.plan.model import Plan
from planbound.plan.parse import parse, write
from planbound.plan.repair import repair


def expand_file(
    file: PlanFile, label: str, batches: Sequence[Batch], *, files: Files, dry: bool
) -> Expansion:
    """Expand a template in a plan's file; with `dry` only return what it would become."""
    data = files.read(file.path)
    expansion = expand(parse(data, path=file.shown), label, batches)
    if not dry:
        files.replace(file.path, write(expansion.plan), expected=data)
    return expansion


class Formatted(NamedTuple):
    """A plan before and after its repairs."""

    before: Plan
    after: Plan
    mended: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Return whether anything had to be mended."""
        return self.before.source.text != self.after.source.text


def format_text(data: bytes, *, path: str) -> Formatted:
    """Return the repaired plan of a file's content."""
    before = parse(data, path=path)
    repaired = repair(before)
    return Formatted(before=before, after=repaired.plan, mended=repaired.mended)


def format_file(file: PlanFile, *, files: Files, check: bool) -> Formatted:
    """Repair a plan's file; with `check` only say what would change."""
    data = files.read(file.path)
    formatted = format_text(data, path=file.shown)
    # A file that cannot be read as text is for a person to look at.
    unreadable = any(fault.rule == "unreadable-file" for fault in formatted.before.faults)
    if unreadable:
        return Formatted(before=formatted.before, after=formatted.before, mended=())
    if formatted.changed and not check:
        files.replace(file.path, write(formatted.after), expected=data)
    return formatted
