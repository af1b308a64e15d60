"""How a plan in the loop was before its file was found changed: an undo brings that back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from planbound.engine.aside import Aside
from planbound.engine.judging.proof import Before
from planbound.engine.loop.item import Dropped, Item
from planbound.journal.record import Json


class Said(NamedTuple):
    """What was asked and answered about a plan, and how it ended."""

    asked: bool
    rejected: str | None
    outcome: str | None


class Moment(NamedTuple):
    """What was known of one text of a plan."""

    steps: Mapping[str, Item]
    conditions: Mapping[str, Item]
    preconditions: Mapping[str, Item]
    looks: Mapping[str, Before]
    dropped: tuple[Dropped, ...]
    probes: Mapping[str, Mapping[str, Json]]
    said: Said | None
    """None where something else was said or done since."""


class Kept(NamedTuple):
    """The names of what means the same in two texts."""

    steps: Collection[str]
    conditions: Collection[str]
    preconditions: Collection[str]
    looks: Collection[str]


class Past:
    """The texts that a plan had since somebody decided about it, by their digests."""

    def __init__(self) -> None:
        self._items = (Aside[Item](), Aside[Item](), Aside[Item]())
        self._looks = Aside[Before]()
        self._moments: dict[str | None, Moment] = {}

    def swap(
        self, texts: tuple[str | None, str | None], before: Moment, kept: Kept
    ) -> Moment | None:
        """Keep how it was; return what comes back with the other text, None where it is new."""
        steps, conditions, preconditions = (
            aside.swap(texts, items, names)
            for aside, items, names in zip(self._items, before[:3], kept[:3], strict=True)
        )
        looks = self._looks.swap(texts, before.looks, kept.looks)
        self._moments[texts[0]] = before
        then = self._moments.pop(texts[1], None)
        if then is None:
            return None
        return Moment(steps, conditions, preconditions, looks, then.dropped, then.probes, then.said)

    def go_on(self) -> None:
        """Note that something was said or done, which an undo does not take back."""
        self._moments = {text: moment._replace(said=None) for text, moment in self._moments.items()}
