"""What people say at the gate of a plan: a table of phrases.

An approval is read only where the whole text is made of them; whatever is not surely a decision
is asked back. docs/reference/decisions.md shows the table to people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple


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


class EditStep(NamedTuple):
    """Give the step another text."""

    step: str


class Add(NamedTuple):
    """Put a new step beside another one; `anchor` is a step, `first` or `last`."""

    anchor: str
    after: bool = True


Modification = Skip | Remove | Move | Swap | Reorder | EditStep | Add


class Approve(NamedTuple):
    """The plan may run, with these changes."""

    modifications: tuple[Modification, ...] = ()


class Rejection(NamedTuple):
    """The plan may not run; the reason may be empty, and then one is asked for."""

    reason: str


class Ask(NamedTuple):
    """Somebody wants to know something first."""

    question: str


class Unclear(NamedTuple):
    """Not surely a decision: what was said, and what to ask back."""

    said: str
    question: str


class _AskBackError(ValueError):
    """Something that is not surely a decision; says what to ask back."""


Decision = Approve | Rejection | Ask | Unclear
MAX_LENGTH = 2_000
"""Characters; nobody decides in more, and a pasted page is no decision."""
_HINT = "Write `approved`, `approved, but skip 2`, `reject: REASON` or `question: QUESTION`."

# -- the phrases -----------------------------------------------------------------------------------
_IT = "(?: (?:it|this plan|the plan|this))?"
_WITH = "approved[_ ]modified|approved? with (?:a |this )?(?:change|modification)s?"
_YES = (
    rf"(?:{_WITH}|approved|(?:i )?approve{_IT}|lgtm|looks good(?: to me)?|y"
    # `please approve` is what the one says who waits for an approval.
    r"|(?:yes|okay|ok)(?:,? please(?=[.!]*$))?"
    rf"|(?:^please )?(?:go ahead|go|ship it|proceed(?: with{_IT})?))(?![\w'’-])"
    r"|(?:[✓✔✅👍][\ufe0f🏻-🏿]?)+"
)
_NO = rf"(?:no|nope|n|rejected|(?:i )?reject{_IT}|stop{_IT})(?![\w'’-])|(?:[✗✘❌👎][\ufe0f🏻-🏿]?)+"
_WHY = "why|what|how|who|where|when|which|does|did|is|are|was|can|could|should|would|will|has|have"
_THANKS = r"(?:many thanks|thanks|thank you|thx|:\)|(?:[🎉🙏🚀🙂😊❤]\ufe0f?)+)"
_JOIN = r"(?:\s*[,;]\s*|[.!:]\s+|\s+[-–—]\s+|\s+)(?:(?:but|and|then|also) )*"
_STEP = r"(?:(?:the )?(?:task|step)s? )?(?:number |#)?\d{1,4}(?![\w'’]|\.\d)"
_RANGE = rf"{_STEP}(?:(?:-|–| - | – | to | through ){_STEP})?"
_STEPS = rf"{_RANGE}(?:(?:, ?and |, ?| and | & ){_RANGE})*"
_ORDER_OF = "(?:the )?(?:order|places|positions) of"
_SWAP = rf"(?:(?:swap|exchange|switch|flip|reverse|reorder)(?: {_ORDER_OF})?|change {_ORDER_OF})"
_PAIR = rf"{_STEP} (?:and|with|&) {_STEP}(?: around)?(?!(?:,| and| then)* ?{_STEP})"
_ORDER = rf"(?:re)?order:? (?:to |as )?{_STEP}(?:(?:,? (?:and |then )?|,){_STEP})+"
_ENDS = "start|beginning|top|front|end|bottom"
_PLACE = rf"(?P<place>first|last|(?:before|after) {_STEP}|(?:to|at) (?:the )?(?:{_ENDS}))"
_ADD = rf"(?:add|insert)(?: a| one)?(?: new)?(?: step| task)? {_PLACE}"
_CHANGES: dict[str, Callable[[list[str], tuple[str, bool]], list[Modification]]] = {
    rf"(?:skip|omit|leave out) {_STEPS}": lambda steps, _: [Skip(step) for step in steps],
    rf"(?:remove|drop|delete) {_STEPS}": lambda steps, _: [Remove(step) for step in steps],
    rf"(?:move|put|do) {_STEP} {_PLACE}": lambda steps, place: [Move(steps[0], *place)],
    rf"{_SWAP} {_PAIR}": lambda steps, _: [Swap(steps[0], steps[1])],
    _ORDER: lambda steps, _: [Reorder(tuple(steps))],
    rf"edit {_STEP}": lambda steps, _: [EditStep(steps[0])],
    _ADD: lambda _, place: [Add(*place)],
}
# -- how they are read -----------------------------------------------------------------------------
_APPROVAL = rf"(?:{_THANKS}{_JOIN})?(?:{_YES})(?:{_JOIN}(?:{_YES}|{_THANKS}))*"
_END = rf"(?:{_JOIN}{_THANKS})*\s*(?:\.|!+)?$"
_REFUSAL = (
    rf"(?:please |sorry,? )?(?:{_NO})(?:,? {_THANKS})?(?:[.!]*$|(?P<marked>\s*:|,? because\b)"
    r"|[,;.!]+\s|\s[-–—]\s|(?<=[✗✘❌👎])\s)\s*(?P<reason>.*)"
)
_QUESTION = (
    r"(?:q|question)\s*:\s*(?P<marked>.*\w.*)|\?+\s*(?P<after>.*\w.*)"
    rf"|(?:wait|hold on|hang on|hold)[\s,;.:–—-]+(?P<held>(?:{_WHY})\b.*|.*\?)"
    rf"|(?P<bare>(?:{_WHY})\b.*\?)"
)


def read_decision(text: str, labels: Sequence[str]) -> Decision:
    """Return what a person said about a plan with these steps."""
    try:
        said = _tidy(text)
        if asked := _compile(_QUESTION).fullmatch(said):
            return Ask(next(filter(None, asked.groups())))
        if refused := _compile(_REFUSAL).fullmatch(said):
            return Rejection(_reason(refused))
        return Approve(_read_approval(said, labels))
    except _AskBackError as error:
        return Unclear(text[:MAX_LENGTH], f"{error} {_HINT}")


def read_changes(text: str, labels: Sequence[str]) -> tuple[Modification, ...]:
    """Return the changes that a text names and nothing else; none where it says anything more.

    That is no decision: who asks for it knows that the plan will be shown again.
    """
    try:
        return _read_changes(_tidy(text), 0, labels)
    except _AskBackError:
        return ()


def _compile(pattern: str) -> re.Pattern[str]:
    # Beyond ASCII, letters only look alike.
    return re.compile(pattern, re.ASCII | re.IGNORECASE | re.DOTALL)


def _tidy(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise _AskBackError(f"That is longer than {MAX_LENGTH:,} characters.")
    if not all(character.isprintable() or character in "\t\r\n" for character in text):
        raise _AskBackError("That holds characters that cannot be seen.")
    if not text.strip():
        raise _AskBackError("What is the decision?")
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def _reason(refused: re.Match[str]) -> str:
    """Return the reason, unless there is a yes or a question in it as well."""
    reason = refused["reason"]
    mixed = _compile(rf"(?<![\w'’-])(?:{_YES})").search(reason) or reason.endswith("?")
    if _compile(_APPROVAL + _END).fullmatch(reason) or (mixed and not refused["marked"]):
        raise _AskBackError("I read a refusal and something else in that; which one?")
    return reason


def _read_approval(said: str, labels: Sequence[str]) -> tuple[Modification, ...]:
    approved = _compile(_APPROVAL).match(said)
    changes = _read_changes(said, approved.end() if approved else 0, labels)
    if approved is None:
        raise _AskBackError("Is the plan approved with that change?")
    if not changes and _compile(rf"\b(?:{_WITH})\b").search(said):
        raise _AskBackError("Which changes are meant?")
    return changes


def _read_changes(said: str, position: int, labels: Sequence[str]) -> tuple[Modification, ...]:
    """Return the changes from here to the end; ask back where anything else is there."""
    found: list[Modification] = []
    read = "I read an approval, but do not understand" if position else "I do not understand"
    while not position or not _compile(_END).match(said, position):
        join = _compile(_JOIN if position else "").match(said, position)
        start = join.end() if join else position
        for pattern, change in _CHANGES.items():
            phrase = _compile(f"(?:please )?{pattern}(?: please)?").match(said, start)
            if join and phrase:
                steps = _steps(phrase[0], labels)
                found += change(steps, _place(phrase.groupdict().get("place", ""), steps))
                position = phrase.end()
                break
        else:
            raise _AskBackError(f"{read} `{said[start:][:60]}`; what is the decision?")
    _demand_harmony(found, labels)
    return tuple(found)


def _steps(phrase: str, labels: Sequence[str]) -> list[str]:
    """Return the steps that are named, with all of those in `2-4`."""
    steps: list[str] = []
    for first, last in re.findall(r"(\d+)(?:(?: ?[-–] ?| to | through )\D*(\d+))?", phrase):
        numbers = range(int(first), int(last or first) + 1)
        named = [first, *map(str, numbers[1:-1]), *([last] if last else [])]
        missing = next((step for step in named if labels.count(step) != 1), None)
        if missing is not None:
            raise _AskBackError(f"There is no step {missing}. {_there_are(labels)}")
        if last and int(first) >= int(last):
            raise _AskBackError(f"Which steps are {first} to {last}? {_there_are(labels)}")
        steps += named
    return steps


def _there_are(labels: Sequence[str]) -> str:
    shown = f"{', '.join(labels[:20])}{' and more' if len(labels) > 20 else ''}"
    return f"The steps are {shown}." if labels else "The plan has no steps."


def _place(words: str, steps: list[str]) -> tuple[str, bool]:
    words = words.lower()
    if words.startswith(("before", "after")):
        return steps[-1], words.startswith("after")
    return ("last", True) if words.endswith(("last", "end", "bottom")) else ("first", False)


def _demand_harmony(changes: list[Modification], labels: Sequence[str]) -> None:
    orders = [change.order for change in changes if isinstance(change, Reorder)]
    if orders and (len(changes) > 1 or sorted(orders[0]) != sorted(labels)):
        raise _AskBackError(f"A new order names each step once, alone. {_there_are(labels)}")
    named = Counter(part for change in changes for part in change if isinstance(part, str))
    for name, count in named.items():
        if count > 1:
            raise _AskBackError(f"`{name}` is in two changes; which one holds?")
    gone = sum(isinstance(change, Skip | Remove) for change in changes)
    if gone and gone == len(labels):
        raise _AskBackError("That leaves no step to do; is the plan rejected?")
