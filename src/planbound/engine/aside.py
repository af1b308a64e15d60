"""What was known of a plan's items, kept for when a hand edit of its file is undone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Aside(Generic[T]):
    """The items of the texts that a plan had before its file was found changed, by their names."""

    def __init__(self) -> None:
        self._texts: dict[str | None, tuple[Mapping[str, T], set[str]]] = {}
        """By digest the items as they were, and the names of those that mean the same since."""

    def swap(
        self, texts: tuple[str | None, str | None], items: Mapping[str, T], kept: Collection[str]
    ) -> dict[str, T]:
        """Put the items of the text before aside; return those that come back with the one after.

        What meant the same all the while is not among them: it is where it has got to.
        """
        before, after = texts
        self._texts[before] = (dict(items), set(kept))
        for _, same in self._texts.values():
            same.intersection_update(kept)
        then, same = self._texts.pop(after, ({}, set()))
        return {name: item for name, item in then.items() if name not in same}

    def clear(self) -> None:
        """Forget everything: somebody decided about the plan."""
        self._texts.clear()
