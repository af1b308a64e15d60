"""A step or condition of an agent in the loop, as the journal knows it, and as it was before."""

from collections.abc import Collection, Mapping
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from planbound.journal.event import (
    ContractEvaluated,
    PreconditionClaimed,
    SessionOutcome,
    VerdictKind,
)
from planbound.journal.fields import ProbeCall
from planbound.journal.words import ToolStatus
from planbound.plan.model import StepStatus
from planbound.state.step import Before

# -- one step, precondition or postcondition of an agent in the loop, as the journal knows it ----


_TOOL_WORDS = {
    StepStatus.IN_PROGRESS: ToolStatus.IN_PROGRESS,
    StepStatus.DONE: ToolStatus.PROVED,
}


def tool_word(status: StepStatus) -> ToolStatus:
    """Return what the plan tools, and the events that they write, call a status."""
    return _TOOL_WORDS.get(status) or ToolStatus(status.value)


class Item(Struct, frozen=True):
    """What the journal knows of a step or a postcondition."""

    status: StepStatus = StepStatus.PENDING
    evidence: str = ""
    """What was said to show it; kept when it is opened again."""
    notes: str = ""
    reason: str = ""
    """Why it is blocked or holds, or what its contract found last."""
    output: str = ""
    """The end of what its contract printed last."""
    tree: str | None = None
    """The files that it was judged on last."""
    beyond: str | None = None
    """What its contract depended on besides files: a digest, or `any`."""
    attempts: int = 0
    passed: bool | None = None
    """Whether its contract passed then; None: it was not judged since it means what it means."""
    saw: str = ""
    """What its contract said when it passed last: `exit 0`, or how many tests."""
    at: str = ""
    """When that was."""
    regressed: bool = False
    """Whether it was green, and a later edit broke it."""


class Dropped(Struct, frozen=True):
    """A step that a rewrite left out, for ever on record."""

    id: str
    title: str
    status: StepStatus
    revision: int


RED_FIRST = "red when it was first looked at, and made true since"
LATE = "nobody saw it hold before the work began"


def start_judged(item: Item, event: ContractEvaluated, before: Before) -> Item:
    """Return a precondition after its contract was run; `before` is what was seen earlier."""
    if item.status.is_settled:
        return item
    if event.verdict is not VerdictKind.PASS:
        reason = event.reason or event.verdict.value
        return replace(item, passed=False, reason=reason, output=event.output_tail or "")
    looks = [look for look in before if look is not None and look.is_seen]
    red = item.passed is False or any(look.is_red for look in looks)
    why = [RED_FIRST] if red else []
    # What was green when somebody approved the plan, and never red since, was seen before the work.
    if event.late and (red or not looks):
        why.append(LATE)
    return replace(item, status=StepStatus.HOLDS, passed=True, reason="; ".join(why), output="")


def start_claimed(item: Item, event: PreconditionClaimed) -> Item:
    """Return a precondition that has no contract, after somebody said what shows it."""
    late = LATE if event.late else ""
    return replace(item, status=StepStatus.CLAIMED, evidence=event.evidence, reason=late)


# -- what was known of a plan before its file was found changed: undoing the change brings it back


T = TypeVar("T")


class EarlierItems(Generic[T]):
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EarlierItems) and self._texts == other._texts

    __hash__ = None  # type: ignore[assignment]  # it changes

    def clear(self) -> None:
        """Forget everything: somebody decided about the plan."""
        self._texts.clear()


# -- how a plan in the loop was -------------------------------------------------------------------


class Said(NamedTuple):
    """What was asked and answered about a plan, and how it ended."""

    asked: bool
    rejected: str | None
    outcome: SessionOutcome | None


class KnownText(NamedTuple):
    """What was known of one text of a plan."""

    steps: Mapping[str, Item]
    conditions: Mapping[str, Item]
    preconditions: Mapping[str, Item]
    looks: Mapping[str, Before]
    dropped: tuple[Dropped, ...]
    probes: Mapping[str, ProbeCall]
    said: Said | None
    """None where something else was said or done since."""


class Kept(NamedTuple):
    """The names of what means the same in two texts."""

    steps: Collection[str]
    conditions: Collection[str]
    preconditions: Collection[str]
    looks: Collection[str]


class EarlierTexts:
    """The texts that a plan had since somebody decided about it, by their digests."""

    def __init__(self) -> None:
        self._items: tuple[EarlierItems[Item], EarlierItems[Item], EarlierItems[Item]] = (
            EarlierItems(),
            EarlierItems(),
            EarlierItems(),
        )
        self._looks: EarlierItems[Before] = EarlierItems()
        self._texts: dict[str | None, KnownText] = {}

    def swap(
        self, texts: tuple[str | None, str | None], before: KnownText, kept: Kept
    ) -> KnownText | None:
        """Keep how it was; return what comes back with the other text, None where it is new."""
        steps, conditions, preconditions = (
            earlier.swap(texts, items, names)
            for earlier, items, names in zip(self._items, before[:3], kept[:3], strict=True)
        )
        looks = self._looks.swap(texts, before.looks, kept.looks)
        self._texts[texts[0]] = before
        then = self._texts.pop(texts[1], None)
        if then is None:
            return None
        return KnownText(
            steps, conditions, preconditions, looks, then.dropped, then.probes, then.said
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EarlierTexts) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def go_on(self) -> None:
        """Note that something was said or done, which an undo does not take back."""
        for text, moment in self._texts.items():
            self._texts[text] = moment._replace(said=None)


class Deferrals(NamedTuple):
    """How often an agent was let go unasked, because something of its own still ran."""

    stops: int = 0
    """In a row, without progress."""
    since: str | None = None
    """When the first of them was."""
    in_all: int = 0

    def once_more(self, now: str) -> "Deferrals":
        """Return it with one more."""
        return Deferrals(self.stops + 1, self.since or now, self.in_all + 1)
