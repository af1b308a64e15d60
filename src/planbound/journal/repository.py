"""The names of repositories that share a database, and what each of them has there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from planbound.errors import JournalProblem

CATALOGUE = "planbound"
"""The schema that knows all repositories; before there were several, it held the only journal."""

QUEUE = "planbound_dbos"
"""The schema of the queue, which all repositories share; each has its names in it."""

_PLAIN = re.compile(r"[^a-z0-9]+")
_MOST = 24


class RepositoryName(NamedTuple):
    """Whose events these are."""

    name: str
    """By what all its machines know it: `[fleet] repository`, else the same as `project`."""
    project: str
    """By what this machine knows it: its folder's name and a digest of the path."""


class NamedJournal(NamedTuple):
    """A name in the catalogue, and where its journal is."""

    name: str
    schema: str


def schema_name(name: str) -> str:
    """Return the schema of a new repository's journal: readable, and unlike that of another."""
    plain = _PLAIN.sub("_", name.lower()).strip("_")[:_MOST].rstrip("_")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return "_".join(part for part in (CATALOGUE, plain, digest) if part)


def find_known(
    repository: RepositoryName, known: Iterable[NamedJournal]
) -> tuple[str | None, str | None]:
    """Return the schema of the repository's name, and another one that its project has."""
    schemas = {each.name: each.schema for each in known}
    named, own = schemas.get(repository.name), schemas.get(repository.project)
    return named, None if own == named else own


def refuse_two_journals(repository: RepositoryName, shown: str) -> None:
    """Raise where a name would hide the events that this repository has already."""
    raise JournalProblem(
        f"`{repository.name}` is a journal of its own in the database at `{shown}`, and the events"
        f" of this repository are in another one there, `{repository.project}`",
        hint="choose another `[fleet] repository`; whoever wants to leave those events behind"
        f" removes the row `{repository.project}` of the table `{CATALOGUE}.repository`",
    )


def approved_in(approvals: Iterable[str]) -> list[str]:
    """Return the projects in which plans were approved, by the details of these events.

    They say whose journal it is that was made before a database knew more than one.
    """
    found: dict[str, None] = {}
    for details in approvals:
        try:
            project = json.loads(details).get("project")
        except (ValueError, AttributeError):
            continue  # `log --verify` says what is wrong with it
        if isinstance(project, str) and project:
            found.pop(project, None)
            found[project] = None
    return list(found)
