"""The words of a decision: a sentence cut into tokens, and the vocabulary that is understood."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What a token is; words and signs such as 👍 are both words."""

    WORD = auto()
    NUMBER = auto()
    COMMA = auto()
    STOP = auto()
    COLON = auto()
    DASH = auto()
    HASH = auto()
    QUESTION = auto()
    TRAIL = auto()
    """Dots that trail off: `...`."""
    OTHER = auto()
    """Quotes, brackets, struck-out text: nothing that a plain decision holds."""


class Token(NamedTuple):
    """One piece of the sentence; `start` and `end` say where it stands."""

    kind: Kind
    text: str
    start: int
    end: int


def _phrases(*texts: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(text.split()) for text in texts)


def _with_plan(*texts: str) -> list[str]:
    return [f"{text} {what}" for text in texts for what in ("it", "this", "the plan", "this plan")]


_CHANGES = ("changes", "modifications", "a change", "a modification", "this change")
ANSWERS = _phrases("yes", "y", "ok", "okay")
"""Approvals that may also ask (`skip 2, ok`): they count only in front of the changes."""
REQUESTS = _phrases("approve", *_with_plan("approve"))
"""With a `please` behind it, this asks somebody else to approve."""
ORDERS = _phrases("proceed", "go", "go ahead", "ship it", *_with_plan("proceed with"))
"""Approvals that may have a `please` in front; the others ask for one then."""
APPROVAL_SIGNS = _phrases("✓", "✔", "✅", "👍")
"""Behind a change they may tick it off (`skip 2 ✅`): there they approve nothing by themselves."""
MODIFIED = _phrases("approved_modified", "approved modified") | _phrases(
    *(f"approved with {what}" for what in _CHANGES), *(f"approve with {what}" for what in _CHANGES)
)
"""Approvals that announce changes: without one they approve nothing."""
APPROVALS = (
    _phrases("approved", "i approve", *_with_plan("i approve"), "lgtm")
    | _phrases("looks good", "looks good to me")
    | APPROVAL_SIGNS
    | ORDERS
    | REQUESTS
    | MODIFIED
)
REFUSAL_SIGNS = _phrases("👎", "✗", "✘", "❌")
REFUSALS = (
    _phrases("no", "n", "nope", "stop", "reject", "rejected", "i reject")
    | _phrases(*_with_plan("stop", "reject", "i reject"))
    | REFUSAL_SIGNS
)
HOLDS = _phrases("wait", "hold", "hold on", "hang on")
PLEASE = _phrases("please", "pls")
POLITE = PLEASE | _phrases(
    "thanks", "thx", "thank you", "many thanks", ":)", *"🎉 🙏 🚀 🙂 😀 😊 👏 🥳 ❤".split()
)
JOINERS = frozenset({"but", "and", "then", "also", "&"})

QUESTION_WORDS = frozenset(
    "why what how who whom whose where when which does did is are was can could should would will"
    " has have".split()
)
# These three are for the question that is asked back; the grammar knows none of them.
NEGATIONS = frozenset(
    "not never cannot dont cant wont neither nor without disapprove disapproved unapproved".split()
)
CONDITIONS = frozenset(
    "if once when unless provided providing until till assuming while only otherwise except"
    " depending subject as".split()
)
HEDGES = frozenset(
    "probably guess maybe perhaps think seems possibly might suppose mostly almost kinda sorta"
    " believe hopefully fine sure".split()
)
FUTURE = frozenset("will shall would tomorrow later soon gonna going tonight next".split())

_APPROVED_MODIFIED = "approved_modified"
"""The one word with a line in it: how programs write an approval with changes."""
_LONGEST = max(map(len, APPROVALS | REFUSALS | HOLDS | POLITE))
_SIGNS = frozenset("✓✔✅👍👎✗✘❌🎉🙏🚀🙂😀😊👏🥳❤")
_SIGN_DRESS = frozenset("\ufe0e\ufe0f🏻🏼🏽🏾🏿")
_DASHES = "-–—"
# These are letters, marks and symbols by their category, and yet nobody sees them.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def holds_unseen(text: str) -> bool:
    """Tell whether the text holds what a reader cannot see: control, joiner and filler signs."""
    before = ""
    for character in text:
        if character in "\ufe0e\ufe0f" and before in _SIGNS:
            continue
        if not character.isascii() and (
            character in _UNSEEN or "VARIATION SELECTOR" in unicodedata.name(character, "")
        ):
            return True
        if character not in "\t\n\r" and unicodedata.category(character) in _UNSEEN_CATEGORIES:
            return True
        before = character
    return False


def tokenize(text: str) -> list[Token]:
    """Cut a sentence into tokens; spaces and emphasis (`**approved**`) leave none."""
    tokens, start = [], 0
    while start < len(text):
        kind, end = _cut(text, start)
        if kind is not None:
            # What is not understood has no text, so that nothing in the grammar fits it.
            plain = "" if kind is Kind.OTHER else _plain(text[start:end])
            tokens.append(Token(kind, plain, start, end))
        start = end
    return tokens


def phrase_length(
    tokens: Sequence[Token], position: int, phrases: frozenset[tuple[str, ...]]
) -> int:
    """Return how many tokens the longest of the phrases takes here; 0 where none stands."""
    words = tuple(token.text for token in tokens[position : position + _LONGEST])
    return next((n for n in range(len(words), 0, -1) if words[:n] in phrases), 0)


def says(tokens: Iterable[Token], words: frozenset[str]) -> bool:
    """Tell whether one of the words is among the tokens."""
    return any(token.text in words for token in tokens)


def negates(token: Token) -> bool:
    """Tell whether a token turns round what follows."""
    return token.text in NEGATIONS or token.text.endswith("n't")


def _plain(text: str) -> str:
    # Beyond ASCII, lower case can turn a look-alike (the Kelvin sign) into the letter itself.
    text = text.replace("’", "'")
    if text.isascii():
        return text.lower()
    return text[0] if text[0] in _SIGNS else text


def _cut(text: str, start: int) -> tuple[Kind | None, int]:
    character = text[start]
    if character in " \t\r":
        return None, start + 1
    if _in_word(character):
        return _cut_word(text, start)
    if character in _SIGNS:
        return Kind.WORD, _run(text, start + 1, _SIGN_DRESS)
    if character in "*_":
        return _cut_emphasis(text, start)
    if character in _DASHES:
        return _cut_dash(text, start)
    return _cut_mark(text, start)


def _cut_word(text: str, start: int) -> tuple[Kind, int]:
    behind = start + len(_APPROVED_MODIFIED)
    if text[start:behind].lower() == _APPROVED_MODIFIED and not _in_word(text[behind : behind + 1]):
        return Kind.WORD, behind
    end = start
    while end < len(text) and (
        _in_word(text[end]) or (text[end] in "'’" and _in_word(text[end + 1 : end + 2]))
    ):
        end += 1
    word = text[start:end]
    return (Kind.NUMBER if word.isascii() and word.isdigit() else Kind.WORD), end


def _cut_emphasis(text: str, start: int) -> tuple[Kind | None, int]:
    end = _run(text, start, frozenset("*_"))
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    glued = _in_word(before) and _in_word(after)
    loose = not before.strip() and not after.strip()
    return (Kind.OTHER if glued or loose else None), end


def _cut_dash(text: str, start: int) -> tuple[Kind, int]:
    end = _run(text, start, frozenset(text[start]))
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    loose = not before.strip() and not after.strip()
    between_digits = _digits(before) and _digits(after)
    # `un-approved` and `-approved` are no pauses.
    return (Kind.DASH if loose or between_digits or text[start] == "—" else Kind.OTHER), end


def _cut_mark(text: str, start: int) -> tuple[Kind, int]:
    character = text[start]
    match character:
        case "." | "!":
            end = _run(text, start, frozenset(character))
            if character == "." and end - start > 1:
                return Kind.TRAIL, end
            # `!approved` and `2.5`: glued to what follows, it ends no sentence.
            return (Kind.OTHER if _in_word(text[end : end + 1]) else Kind.STOP), end
        case ":" if text.startswith(":)", start):
            return Kind.WORD, start + 2
        case "," if _digits(text[start - 1 : start]) and _digits(text[start + 1 : start + 4], 3):
            # `1,002` is one number that people write, not two steps.
            return Kind.OTHER, start + 1
        case "&":
            return Kind.WORD, start + 1
    return _MARKS.get(character, Kind.OTHER), start + 1


_MARKS = {
    "\n": Kind.STOP,
    ",": Kind.COMMA,
    ";": Kind.COMMA,
    ":": Kind.COLON,
    "#": Kind.HASH,
    "?": Kind.QUESTION,
    "…": Kind.TRAIL,
}


def _in_word(character: str) -> bool:
    # A combining mark belongs to its word: a struck-through `approved` is another word.
    return character.isalnum() or (
        bool(character) and not character.isascii() and unicodedata.category(character)[0] == "M"
    )


def _digits(text: str, count: int = 1) -> bool:
    return len(text) == count and text.isascii() and text.isdigit()


def _run(text: str, start: int, characters: frozenset[str]) -> int:
    while start < len(text) and text[start] in characters:
        start += 1
    return start
