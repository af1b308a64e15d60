"""The schema's history: one `.sql` file for each step, applied in the order of their numbers."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import NamedTuple

from planbound.errors import JournalProblem


class Migration(NamedTuple):
    """One step from a schema to the next."""

    number: int
    name: str
    script: str


def migrations(database: str) -> tuple[Migration, ...]:
    """Return the steps for `sqlite` or `postgres`, in order."""
    folder = os.path.join(os.path.dirname(__file__), database)
    found = []
    for file in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(file)
        if extension == ".sql":
            with open(os.path.join(folder, file), encoding="utf-8") as script:
                found.append(Migration(int(name[:4]), name, script.read()))
    return tuple(found)


def pending(
    applied: Collection[object], known: Sequence[Migration], *, where: str
) -> Sequence[Migration]:
    """Return the steps that are still to be applied; refuse a schema from the future."""
    unknown = set(applied) - {migration.number for migration in known}
    if unknown:
        raise JournalProblem(
            f"{where} was made by a newer version: this one knows schema {known[-1].number}, "
            f"not {', '.join(map(str, unknown))}",
            hint="use the newest version of planbound that works on this journal",
        )
    return [migration for migration in known if migration.number not in applied]
