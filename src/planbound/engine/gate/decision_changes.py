"""The changes to a plan that people name: skip, remove, move, swap, reorder, edit, add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, assert_never

from planbound.engine.gate.decision_words import Kind, Token


class Skip(NamedTuple):
    """Leave the step in the plan, and do not do it."""

    step: str


class Remove(NamedTuple):
    """Take the step out of the plan."""

    step: str


class Move(NamedTuple):
    """Put the step beside another one; `anchor` is a step, `first` or `last`."""

    step: str
    anchor: str
    after: bool


class Swap(NamedTuple):
    """Let two steps change places."""

    first: str
    second: str


class Reorder(NamedTuple):
    """Do the steps in this order; it names each step once."""

    order: tuple[str, ...]


class Edit(NamedTuple):
    """Give the step another text."""

    step: str


class Add(NamedTuple):
    """Put a new step beside another one; `anchor` is a step, `first` or `last`."""

    anchor: str
    after: bool = True


Modification = Skip | Remove | Move | Swap | Reorder | Edit | Add


class NotUnderstoodError(ValueError):
    """A sentence that is not surely a decision: `question` is what to ask back."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


class _Unread(Exception):  # noqa: N818 - no error: the caller says what was left over
    """The change ends in something that is none."""


_ORDINALS = {
    word: place
    for place, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
}
_STEP_WORDS = frozenset({"task", "tasks", "step", "steps", "number", "numbers"})
_PAIRED = ("and", "with", "&")
_STARTS = frozenset({"start", "beginning", "top", "front"})
_ENDS = frozenset({"end", "bottom"})
_SWAPS = ("swap", "exchange", "interchange", "switch", "flip", "reverse")
_NO_STEP_DIGITS = 6
_SHOWN = 20


class ChangeReader:
    """Reads one change at a position of the tokens."""

    def __init__(self, tokens: Sequence[Token], labels: Sequence[str]) -> None:
        self.position = 0
        self._tokens = tokens
        self._labels = labels
        self._by_number: dict[str, list[str]] = {}
        for label in labels:
            if label.isascii() and label.isdigit():
                self._by_number.setdefault(_normal(label), []).append(label)

    def read(self, position: int) -> tuple[Modification, ...]:
        """Return the change that starts here and move behind it; nothing where none is."""
        self.position = position
        reader = self._reader()
        if reader is None:
            self.position = position
            return ()
        try:
            return reader()
        except _Unread:
            self.position = position
            return ()

    def _reader(self) -> Callable[[], tuple[Modification, ...]] | None:
        verb = self._take()
        if verb == "leave" and self._accept("out"):
            return self._skips
        return {
            **dict.fromkeys(("skip", "omit"), self._skips),
            **dict.fromkeys(("remove", "drop", "delete"), self._removes),
            **dict.fromkeys(_SWAPS, self._swap),
            **dict.fromkeys(("reorder", "order"), self._reorder),
            **dict.fromkeys(("add", "insert"), self._add),
            **dict.fromkeys(("do", "put", "run"), self._do),
            "change": self._change_order,
            "move": self._move,
            "edit": self._edit,
        }.get(verb)

    def _skips(self) -> tuple[Modification, ...]:
        return tuple(Skip(step) for step in self._steps())

    def _removes(self) -> tuple[Modification, ...]:
        return tuple(Remove(step) for step in self._steps())

    def _edit(self) -> tuple[Modification, ...]:
        return (Edit(self._step()),)

    def _add(self) -> tuple[Modification, ...]:
        self._accept("a", "one")
        self._accept("new")
        self._accept("step", "task")
        place = self._end_of_plan() if self._accept("at") else self._place()
        return (Add(*place),)

    def _move(self) -> tuple[Modification, ...]:
        step = self._step()
        place = self._end_of_plan() if self._accept("to") else self._place()
        return (Move(step, *place),)

    def _end_of_plan(self) -> tuple[str, bool]:
        """Return the place that `the start` or `the end` is."""
        self._accept("the")
        match self._take():
            case word if word in _STARTS:
                return "first", False
            case word if word in _ENDS:
                return "last", True
        raise _Unread

    def _do(self) -> tuple[Modification, ...]:
        return (Move(self._step(), *self._place()),)

    def _place(self) -> tuple[str, bool]:
        match self._take():
            case "first":
                return "first", False
            case "last":
                return "last", True
            case "before":
                return self._step(), False
            case "after":
                return self._step(), True
        raise _Unread

    def _swap(self) -> tuple[Modification, ...]:
        self._order_of()
        first = self._step()
        if not self._accept(*_PAIRED):
            raise _Unread
        second = self._step()
        self._accept("around", "round")
        return (Swap(first, second),)

    def _change_order(self) -> tuple[Modification, ...]:
        """Read `change the order of 2 and 3`; nothing else can be changed like that."""
        if not self._order_of():
            raise _Unread
        return self._swap()

    def _order_of(self) -> bool:
        """Move behind `the order of`, where that stands here."""
        before = self.position
        self._accept("the")
        if self._accept("order", "places", "positions") and self._accept("of"):
            return True
        self.position = before
        return False

    def _reorder(self) -> tuple[Modification, ...]:
        listed = self._accept(":", "to", "as")
        order, joined = [self._step()], True
        while True:
            before = self.position
            paused = self._accept(",", ";")
            paired = self._accept(*_PAIRED)
            follows = not paired and self._accept("then")
            if not self._step_starts():
                self.position = before
                break
            # `2 then 3`, and `2 3`, say an order; `2 and 3` says which two.
            joined = joined and not follows and (paired or (paused and len(self._labels) > 2))
            order.append(self._step())
        if len(order) == 2 and joined and not listed:
            return (Swap(*order),)
        return (Reorder(tuple(order)),)

    def _steps(self) -> list[str]:
        steps = self._range()
        while True:
            before = self.position
            self._accept(",")
            self._accept("and", "&")
            if self.position == before or not self._step_starts():
                self.position = before
                return steps
            steps += self._range()

    def _range(self) -> list[str]:
        """Return one step, or those of `2-4` and `2 to 4`."""
        first, behind = self._step(), self.position
        if not (self._accept("-", "–", "to", "through") and self._step_starts()):
            self.position = behind
            return [first]
        last = self._step()
        if not (first.isdigit() and last.isdigit() and int(first) < int(last)):
            raise NotUnderstoodError(f"Which steps are {first} to {last}? {self._there_are()}")
        if int(last) - int(first) >= len(self._labels):
            raise NotUnderstoodError(f"Not all of {first} to {last} are steps. {self._there_are()}")
        between = range(int(first) + 1, int(last))
        return [first, *(self._known(str(number)) for number in between), last]

    def _step_starts(self) -> bool:
        text = self._text()
        return (
            self._kind() in {Kind.NUMBER, Kind.HASH}
            or text in _STEP_WORDS
            or text in _ORDINALS
            or text in {"the", "last"}
        )

    def _step(self) -> str:
        self._accept("the")
        while self._accept(*_STEP_WORDS, "#"):
            pass
        kind, text = self._kind(), self._take()
        if kind is Kind.NUMBER:
            return self._known(text)
        if text != "last" and text not in _ORDINALS:
            raise _Unread
        # `the last one`, `the second task`: but not `the last 2`, which are two steps.
        self._accept("task", "step", "one")
        if text == "last" and self._labels:
            return self._labels[-1]
        place = _ORDINALS.get(text, 0)
        label = self._labels[place - 1] if 0 < place <= len(self._labels) else ""
        if label.lstrip("0") != str(place):
            raise NotUnderstoodError(f"Which one is the {text} step? {self._there_are()}")
        return label

    def _known(self, number: str) -> str:
        found = self._by_number.get(_normal(number), []) if len(number) <= _NO_STEP_DIGITS else []
        if len(found) != 1:
            raise NotUnderstoodError(
                f"There is no step {number}. {self._there_are()}"
                if not found
                else f"There are {len(found)} steps {number}; which one?"
            )
        return found[0]

    def _there_are(self) -> str:
        if not self._labels:
            return "The plan has no steps."
        shown = ", ".join(self._labels[:_SHOWN])
        more = len(self._labels) - _SHOWN
        return f"The steps are {shown}{f' and {more} more' if more > 0 else ''}."

    def _text(self) -> str:
        return self._tokens[self.position].text if self.position < len(self._tokens) else ""

    def _kind(self) -> Kind | None:
        return self._tokens[self.position].kind if self.position < len(self._tokens) else None

    def _take(self) -> str:
        text = self._text()
        self.position += 1
        return text

    def _accept(self, *texts: str) -> bool:
        found = self.position < len(self._tokens) and self._text() in texts
        self.position += found
        return found


def demand_harmony(changes: Sequence[Modification], labels: Sequence[str]) -> None:
    """Raise NotUnderstoodError where the changes get in each other's way."""
    for change in changes:
        if isinstance(change, Reorder):
            _demand_full_order(change, changes, labels)
    subjects = Counter(step for change in changes for step in _subjects(change))
    for step, count in subjects.items():
        if count > 1:
            raise NotUnderstoodError(f"Step {step} is changed twice; which change holds?")
    anchors = Counter(
        (change.anchor, change.after) for change in changes if isinstance(change, Move | Add)
    )
    for (anchor, after), count in anchors.items():
        if Move(anchor, anchor, after) in changes:
            raise NotUnderstoodError(f"Step {anchor} cannot go beside itself; where does it go?")
        if anchor in subjects:
            raise NotUnderstoodError(
                f"Step {anchor} is changed, and another step goes beside it; what is the order?"
            )
        if count > 1:
            raise NotUnderstoodError("Several steps go to the same place; in which order?")
    gone = sum(isinstance(change, Skip | Remove) for change in changes)
    if gone and gone == len(labels):
        raise NotUnderstoodError("That leaves no step to do; is the plan rejected?")


def _demand_full_order(
    change: Reorder, changes: Sequence[Modification], labels: Sequence[str]
) -> None:
    if sorted(change.order) != sorted(labels):
        raise NotUnderstoodError(
            f"The new order has to name each step once; the steps are {', '.join(labels[:_SHOWN])}"
            f"{' and more' if len(labels) > _SHOWN else ''}. What is the order?"
        )
    if len(changes) > 1:
        raise NotUnderstoodError(
            "A new order and other changes do not go together; which one is meant?"
        )


def _subjects(change: Modification) -> Iterator[str]:
    match change:
        case Skip(step) | Remove(step) | Move(step) | Edit(step):
            yield step
        case Add():
            pass
        case Swap(first, second):
            yield first
            yield second
        case Reorder(order):
            yield from order
        case _:
            assert_never(change)


def _normal(number: str) -> str:
    return number.lstrip("0") or "0"
