"""What people say at the gate of a plan, as data.

An approval is read only where the whole sentence surely is one; everything else that is neither a
refusal nor a question is asked back. The grammar is in docs/reference/decisions.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.gate.decision_changes import (
    Add,
    ChangeReader,
    Edit,
    Modification,
    Move,
    NotUnderstoodError,
    Remove,
    Reorder,
    Skip,
    Swap,
    demand_harmony,
)
from planbound.engine.gate.decision_words import (
    ANSWERS,
    APPROVAL_SIGNS,
    APPROVALS,
    CONDITIONS,
    FUTURE,
    HEDGES,
    HOLDS,
    JOINERS,
    MODIFIED,
    ORDERS,
    PLEASE,
    POLITE,
    QUESTION_WORDS,
    REFUSAL_SIGNS,
    REFUSALS,
    REQUESTS,
    Kind,
    Token,
    holds_unseen,
    negates,
    phrase_length,
    says,
    tokenize,
)

__all__ = [
    "MAX_LENGTH",
    "Add",
    "Approve",
    "Ask",
    "Decision",
    "Edit",
    "Modification",
    "Move",
    "Reject",
    "Remove",
    "Reorder",
    "Skip",
    "Swap",
    "Unclear",
    "read_changes",
    "read_decision",
]

MAX_LENGTH = 2_000
"""Characters; nobody decides in more, and a pasted page is no decision."""


class Approve(NamedTuple):
    """The plan may run, with these changes."""

    modifications: tuple[Modification, ...] = ()


class Reject(NamedTuple):
    """The plan may not run; the reason may be empty, and then one is asked for."""

    reason: str


class Ask(NamedTuple):
    """Somebody wants to know something first."""

    question: str


class Unclear(NamedTuple):
    """Not surely a decision: what was said, and what to ask back."""

    said: str
    question: str


Decision = Approve | Reject | Ask | Unclear

_HINT = "Write `approved`, `reject: REASON` or `question: QUESTION`."
_MIXED = "I read an approval and a refusal in that; which one?"
_ASKED = "Is that a decision or a question?"
_CONDITION = "I read a condition, and an approval has none; is the plan approved as it is?"
_SHOWN = 60
_PAUSES = frozenset({Kind.COMMA, Kind.STOP, Kind.DASH, Kind.TRAIL})
_JOINING = frozenset({Kind.COMMA, Kind.DASH, Kind.COLON})


def read_decision(text: str, labels: Sequence[str]) -> Decision:
    """Return what a person said about a plan with these steps."""
    said = text[:MAX_LENGTH]
    if len(text) > MAX_LENGTH:
        return Unclear(said, f"That is longer than {MAX_LENGTH:,} characters. {_HINT}")
    if holds_unseen(text):
        return Unclear(said, f"That holds characters that cannot be seen. {_HINT}")
    text = text.strip(" \t\r\n")
    tokens = tokenize(text)
    if not tokens:
        return Unclear(said, f"What is the decision? {_HINT}")
    try:
        return (
            _read_question(text, tokens)
            or _read_refusal(text, tokens, labels)
            or _ApprovalReader(text, tokens, labels).read()
        )
    except NotUnderstoodError as error:
        return Unclear(said, error.question)


def read_changes(text: str, labels: Sequence[str]) -> tuple[Modification, ...]:
    """Return the changes that a text names and nothing else; none where it says anything more.

    That is no decision: who asks for it knows that the plan will be shown again.
    """
    tokens = tokenize(text.strip(" \t\r\n"))
    if len(text) > MAX_LENGTH or holds_unseen(text) or not tokens:
        return ()
    reader = ChangeReader(tokens, labels)
    found: list[Modification] = []
    position, whole = 0, True
    try:
        while position < len(tokens):
            joins = tokens[position].kind in _JOINING or tokens[position].text in JOINERS
            if found and joins:
                position, whole = position + 1, False
                continue
            changes = reader.read(position)
            if not changes:
                return ()
            found += changes
            position, whole = reader.position, True
        demand_harmony(found, labels)
    except NotUnderstoodError:
        return ()
    return tuple(found) if whole else ()


def _read_question(text: str, tokens: Sequence[Token]) -> Ask | None:
    """Return the question behind `?`, `question:` or `wait`, or the sentence that is one."""
    position = 0
    while position < len(tokens) and tokens[position].kind is Kind.QUESTION:
        position += 1
    if tokens[0].text in {"question", "q"} and _kind(tokens, 1) is Kind.COLON:
        position = 2
    if position:
        if not any(token.kind is Kind.WORD for token in tokens[position:]):
            raise NotUnderstoodError(f"What is the question? {_HINT}")
        return Ask(_rest(text, tokens, position))
    if position := phrase_length(tokens, 0, HOLDS):
        position = _behind_pauses(tokens, position)
        rest = tokens[position:]
        if rest and (rest[0].text in QUESTION_WORDS or rest[-1].kind is Kind.QUESTION):
            return Ask(_rest(text, tokens, position))
        raise NotUnderstoodError(f"What should it wait for, or what do you want to know? {_HINT}")
    if tokens[0].text in QUESTION_WORDS and tokens[-1].kind is Kind.QUESTION:
        return Ask(text)
    return None


class _Refusal(NamedTuple):
    """Where the reason starts, and whether it is marked as one (`reject: ...`)."""

    reason: int
    explicit: bool


def _read_refusal(text: str, tokens: Sequence[Token], labels: Sequence[str]) -> Reject | None:
    start = 1 if tokens[0].text == "sorry" else _behind_polite(tokens, 0)
    if _kind(tokens, start) is Kind.COMMA:
        start += 1
    found = _refusal_at(tokens, start)
    if found is None:
        return None
    while not found.explicit and (again := _refusal_at(tokens, found.reason)):
        found = again
    rest = tokens[found.reason :]
    if found.explicit:
        _demand_no_approval(text[rest[0].start :] if rest else "", labels)
    elif _holds_approval(rest):
        raise NotUnderstoodError(f"{_MIXED} {_HINT}")
    elif rest and rest[-1].kind is Kind.QUESTION:
        raise NotUnderstoodError(f"I read a refusal and a question in that; which one? {_HINT}")
    return Reject(_rest(text, tokens, found.reason))


def _refusal_at(tokens: Sequence[Token], position: int) -> _Refusal | None:
    """Return the refusal that stands here, with a pause, a reason or nothing behind it."""
    length = phrase_length(tokens, position, REFUSALS)
    if not length:
        return None
    sign = bool(phrase_length(tokens, position, REFUSAL_SIGNS))
    behind = _behind_polite(tokens, position + length)
    kind = _kind(tokens, behind)
    pause = _behind_pauses(tokens, behind)
    if kind is Kind.COLON or _text(tokens, pause) == "because":
        return _Refusal((behind if kind is Kind.COLON else pause) + 1, explicit=True)
    # `no problem` and `stop after 2` refuse nothing: without a pause, no reason.
    again = phrase_length(tokens, behind, REFUSALS)
    if kind is None or kind in _PAUSES or again or (sign and kind is Kind.WORD):
        return _Refusal(pause, explicit=False)
    return None


def _demand_no_approval(reason: str, labels: Sequence[str]) -> None:
    try:
        _ApprovalReader(reason, tokenize(reason), labels).read()
    except NotUnderstoodError:
        return
    raise NotUnderstoodError(f"{_MIXED} {_HINT}")


def _holds_approval(tokens: Sequence[Token]) -> bool:
    """Tell whether a reason approves as well; `we go live` and `not ok` do not."""
    for position, token in enumerate(tokens):
        if not phrase_length(tokens, position, APPROVALS | ANSWERS):
            continue
        before = tokens[position - 1] if position else None
        opens = before is None or before.kind is not Kind.WORD or before.text in JOINERS
        lone = token.text in {"go", "y"} and phrase_length(tokens, position, APPROVALS) < 2
        if opens or not (lone or (before is not None and negates(before))):
            return True
    return False


class _ApprovalReader:
    """Reads approvals, changes and courtesies up to the end; raises at anything else."""

    def __init__(self, text: str, tokens: Sequence[Token], labels: Sequence[str]) -> None:
        self._text = text
        self._tokens = tokens
        self._labels = labels
        self._changes = ChangeReader(tokens, labels)
        self._found: list[Modification] = []
        self._approved = False
        self._announced = False
        """Whether changes are to follow."""

    def read(self) -> Approve:
        position, joined = 0, None
        while position < len(self._tokens):
            token = self._tokens[position]
            if length := self._item(position):
                # `ok, please` is whole, `ok but please` is not.
                keeps = joined is Kind.WORD and phrase_length(self._tokens, position, PLEASE)
                position, joined = position + length, joined if keeps else None
                continue
            joins = token.kind in _JOINING or token.text in JOINERS
            if not position or not (joins or token.kind is Kind.STOP):
                raise self._unread(position)
            if joins and joined is not Kind.WORD:
                joined = token.kind
            position += 1
        if joined:
            raise NotUnderstoodError(f"That breaks off; what comes next? {_HINT}")
        return self._result()

    def _item(self, position: int) -> int:
        """Return how many tokens the item here takes; 0 where none is."""
        if length := phrase_length(self._tokens, position, POLITE):
            return length
        if self._found and (length := phrase_length(self._tokens, position, APPROVAL_SIGNS)):
            return length
        phrases = APPROVALS if self._found else APPROVALS | ANSWERS
        if length := phrase_length(self._tokens, position, phrases):
            self._demand_no_request(position, length)
            self._approved = True
            self._announced |= phrase_length(self._tokens, position, MODIFIED) == length
            return length
        if changes := self._changes.read(position):
            self._found += changes
            return self._changes.position - position
        return 0

    def _demand_no_request(self, position: int, length: int) -> None:
        """`please approve` is what the one who waits for an approval says."""
        before = position - 1
        while before >= 0 and self._tokens[before].kind in _PAUSES:
            before -= 1
        beside = _behind_pauses(self._tokens, position + length)
        behind = phrase_length(self._tokens, beside, PLEASE)
        # `approve, please skip 2` asks for the change.
        asks = (
            phrase_length(self._tokens, position, REQUESTS)
            and behind
            and not self._changes.read(beside + behind)
        )
        asked = before >= 0 and phrase_length(self._tokens, before, PLEASE)
        if asks or (asked and not phrase_length(self._tokens, position, ORDERS)):
            raise NotUnderstoodError(f"Is that an approval, or a request for one? {_HINT}")

    def _result(self) -> Approve:
        if not self._approved and self._found:
            raise NotUnderstoodError(
                "Is the plan approved with that change? Write `approved` in front of it, or"
                " `reject: REASON`."
            )
        if not self._approved:
            raise NotUnderstoodError(f"I read no decision in that. {_HINT}")
        if self._announced and not self._found:
            raise NotUnderstoodError(f"Which changes are meant? {_HINT}")
        demand_harmony(self._found, self._labels)
        return Approve(tuple(self._found))

    def _unread(self, position: int) -> NotUnderstoodError:
        """Return the question that fits best what was left over."""
        tokens, places = self._tokens, range(len(self._tokens))
        refuses = any(phrase_length(tokens, place, REFUSALS) for place in places)
        approves = any(phrase_length(tokens, place, APPROVALS | ANSWERS) for place in places)
        later = says(tokens, FUTURE) or any(token.text.endswith("'ll") for token in tokens)
        unsure = says(tokens, HEDGES) or tokens[position].kind is Kind.TRAIL
        for heard, question in (
            (refuses and approves, _MIXED),
            (any(token.kind is Kind.QUESTION for token in tokens), _ASKED),
            (any(map(negates, tokens)), "Is that a refusal?"),
            (says(tokens, CONDITIONS), _CONDITION),
            (unsure, "That does not sound sure; is it a yes or a no?"),
            (later, "Is the plan approved now, or later?"),
        ):
            if heard:
                return NotUnderstoodError(f"{question} {_HINT}")
        rest = _rest(self._text, tokens, position)
        shown = rest if len(rest) <= _SHOWN else f"{rest[:_SHOWN]}…"
        read = "an approval" if self._approved else "a change" if self._found else ""
        begin = f"I read {read}, but do not understand" if read else "I do not understand"
        return NotUnderstoodError(f"{begin} `{shown}`; what is the decision? {_HINT}")


def _behind_polite(tokens: Sequence[Token], position: int) -> int:
    while length := phrase_length(tokens, position, POLITE):
        position += length
    return position


def _behind_pauses(tokens: Sequence[Token], position: int) -> int:
    while _kind(tokens, position) in _PAUSES:
        position += 1
    return position


def _kind(tokens: Sequence[Token], position: int) -> Kind | None:
    return tokens[position].kind if position < len(tokens) else None


def _text(tokens: Sequence[Token], position: int) -> str:
    return tokens[position].text if position < len(tokens) else ""


def _rest(text: str, tokens: Sequence[Token], position: int) -> str:
    """Return the text from a token on, as it was written."""
    if position >= len(tokens):
        return ""
    start = tokens[position].start
    while start and text[start - 1] in "*_":
        start -= 1
    return text[start:].strip()
