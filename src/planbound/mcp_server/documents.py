"""What can be read without a tool: the text of a plan, and the end of its journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from planbound.errors import UsageError
from planbound.journal.codec import encode
from planbound.plan.slug import SlugError, parse_slug
from planbound.ports.journal import Query
from planbound.usecases.locate import locate
from planbound.wiring.parts import Parts

LARGEST = 200_000
"""How many bytes of a document are shown."""
EVENTS = 200
"""How many events of a journal are shown."""


class Documents(Protocol):
    """The documents of a workspace."""

    def names(self) -> list[str]:
        """Return the names of the plans that are there."""

    def plan(self, name: str) -> str:
        """Return the text of a plan; raise where there is none of that name."""

    def journal(self, name: str) -> str:
        """Return the last events of a plan, one a line."""


class WorkspaceDocuments:
    """The plans and the journal of a real workspace."""

    def __init__(self, parts: Callable[[], Parts]) -> None:
        self._parts = parts

    def names(self) -> list[str]:
        """Return the names of the plans that are there."""
        return [plan.slug for plan in self._parts().tree.plans()]

    def plan(self, name: str) -> str:
        """Return the text of a plan, its end left out where it is very long."""
        parts = self._parts()
        data = parts.reader.read(locate(_slug(name), parts.tree).path)
        text = data[:LARGEST].decode("utf-8", "replace")
        return text if len(data) <= LARGEST else f"{text}\n[cut: {len(data):,} bytes in all]\n"

    def journal(self, name: str) -> str:
        """Return the last events of a plan as the journal holds them, in JSON, one a line."""
        parts = self._parts()
        slug = locate(_slug(name), parts.tree).slug
        journal = parts.existing_journal()
        if journal is None:
            return ""
        try:
            lines = [encode(record) for record in journal.read(Query(plan=slug, last=EVENTS))]
        finally:
            parts.close()
        while len(lines) > 1 and sum(map(len, lines)) > LARGEST:
            del lines[0]
        return "".join(f"{line}\n" for line in lines)


def _slug(name: str) -> str:
    """Return a plan's name; a path is none."""
    try:
        return parse_slug(name)
    except SlugError as error:
        raise UsageError(f"not a plan's name: {error}") from error
