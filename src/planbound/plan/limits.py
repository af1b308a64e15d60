"""Durations and budgets as people write them."""

import re
from decimal import Decimal
from typing import NamedTuple

from planbound.source import lazy_pattern


class LimitError(ValueError):
    """A limit that cannot be read: `start` and `end` say which part of the text."""

    def __init__(self, reason: str, *, start: int, end: int, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.end = end
        self.hint = hint


class Budget(NamedTuple):
    """What a plan or a step may spend; what is not set is None."""

    tokens: int | None = None
    dollars: Decimal | None = None
    seconds: Decimal | None = None


ESTIMATE = Budget(tokens=5_000, dollars=Decimal("0.02"), seconds=Decimal(30))
"""What an attempt of a coding agent is taken to use at the least that one can count on."""


_SECONDS = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), Decimal("0.001")),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
    **dict.fromkeys(("d", "day", "days"), Decimal(86400)),
}
_THOUSANDS = {"": 1, "k": 1_000, "m": 1_000_000, "mio": 1_000_000, "million": 1_000_000}
_DURATION_HINT = "write a duration as `90s`, `10m` or `1h30m`"
_BUDGET_HINT = "write a budget as `max 200k tokens, $1.50, 20 minutes wall clock`, or a part of it"
MAX_SECONDS = Decimal(366 * 86400)
"""A limit beyond a year is a slip of the pen."""

# Fifteen digits are enough for any limit, and keep a hostile one cheap.
_NUMBER = r"\d{1,3}(?:[,_]\d{3}){1,4}(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,9})?|\.\d{1,9}"
_AMOUNT = lazy_pattern(rf"(?P<number>{_NUMBER})\s*(?P<unit>[^\W\d_]*)", re.ASCII)
_TOKENS = lazy_pattern(
    rf"(?P<number>{_NUMBER})\s*(?P<scale>k|mio|million|m)?\s*(?:tokens?|toks?)\b",
    re.IGNORECASE | re.ASCII,
)
_DOLLARS = lazy_pattern(
    rf"(?:(?:\$|usd\s*|us\$)\s*(?P<before>{_NUMBER})|(?P<after>{_NUMBER})\s*(?:usd|dollars?)\b)",
    re.IGNORECASE | re.ASCII,
)
_TIME = lazy_pattern(
    rf"(?:(?:{_NUMBER})\s*(?:{'|'.join(sorted(_SECONDS, key=len, reverse=True))})(?![^\W\d_])\s*)+",
    re.IGNORECASE | re.ASCII,
)
# Words that only make the sentence: they carry no limit.
_FILLER = lazy_pattern(
    r"(?:max(?:imum)?|at most|up to|under|wall[- ]?clock(?: time)?|time|cost|total|of|and|or less"
    r"|budget|limit|in)\b\.?|[\s,;+&/·|.~≤<=:]",
    re.IGNORECASE,
)


def parse_duration(text: str) -> Decimal:
    """Return the seconds of `90s`, `10m`, `1h30m`, `10 minutes`; raise LimitError."""
    seconds, position, seen = Decimal(0), 0, False
    while position < len(text):
        if text[position] in " \t,\n":
            position += 1
            continue
        match = _AMOUNT.match(text, position)
        if match is None:
            raise LimitError(
                f"`{text[position:].strip()}` is not a duration",
                start=position,
                end=len(text),
                hint=_DURATION_HINT,
            )
        seconds += _number(match["number"]) * _unit(match)
        seen, position = True, match.end()
    if not seen:
        raise LimitError("the duration is empty", start=0, end=len(text), hint=_DURATION_HINT)
    if not 0 < seconds <= MAX_SECONDS:
        raise LimitError(
            "the duration must be more than nothing and at most a year",
            start=0,
            end=len(text),
            hint=_DURATION_HINT,
        )
    return seconds


def parse_budget(text: str) -> Budget:
    """Return the limits of `max 200k tokens, $1.50, 20 minutes wall clock`; raise LimitError."""
    tokens: int | None = None
    dollars: Decimal | None = None
    seconds: Decimal | None = None
    position = 0
    while position < len(text):
        if match := _TOKENS.match(text, position):
            _demand_unset(tokens, "tokens", match)
            scale = _THOUSANDS[(match["scale"] or "").lower()]
            tokens = int(_number(match["number"]) * scale)
        elif match := _DOLLARS.match(text, position):
            _demand_unset(dollars, "dollars", match)
            dollars = _number(match["before"] or match["after"])
        elif match := _TIME.match(text, position):
            _demand_unset(seconds, "time", match)
            seconds = parse_duration(match.group())
        elif match := _FILLER.match(text, position):
            pass
        else:
            raise _unread(text, position)
        position = match.end()
    if tokens is None and dollars is None and seconds is None:
        raise LimitError("the budget names no limit", start=0, end=len(text), hint=_BUDGET_HINT)
    return Budget(tokens=tokens, dollars=dollars, seconds=seconds)


def format_duration(seconds: Decimal) -> str:
    """Return the shortest way to write a duration: `1h30m`, `90s`, `0.5s`."""
    if seconds != seconds.to_integral_value():
        return f"{seconds.normalize():f}s"
    rest, parts = int(seconds), []
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def format_budget(budget: Budget) -> str:
    """Return a budget as one line."""
    parts = []
    if budget.tokens is not None:
        parts.append(f"{budget.tokens:,} tokens")
    if budget.dollars is not None:
        parts.append(f"${budget.dollars:.2f}")
    if budget.seconds is not None:
        parts.append(f"{format_duration(budget.seconds)} wall clock")
    return ", ".join(parts)


def _number(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("_", ""))


def _unit(match: re.Match[str]) -> Decimal:
    unit = match["unit"].lower()
    if unit in _SECONDS:
        return _SECONDS[unit]
    found = f"unknown unit `{match['unit']}`" if unit else f"`{match.group().strip()}` has no unit"
    raise LimitError(found, start=match.start(), end=match.end(), hint=_DURATION_HINT)


def _demand_unset(value: object, name: str, match: re.Match[str]) -> None:
    if value is not None:
        raise LimitError(f"the budget limits {name} twice", start=match.start(), end=match.end())


def _unread(text: str, position: int) -> LimitError:
    match = _AMOUNT.match(text, position)
    if match is None:
        end = re.compile(r"[,;\s]|$").search(text, position)
        stop = max(position + 1, end.start() if end else len(text))
        reason = f"`{text[position:stop]}` is not a limit"
        return LimitError(reason, start=position, end=stop, hint=_BUDGET_HINT)
    unit = match["unit"]
    reason = f"unknown unit `{unit}`" if unit else f"`{match.group().strip()}` has no unit"
    return LimitError(reason, start=position, end=match.end(), hint=_BUDGET_HINT)
