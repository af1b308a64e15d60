"""Fields of what a program tells, which may be anything: nothing here raises."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from planbound.source.pattern import lazy_pattern

_SESSION = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_MOST = 10**12


def count(value: object) -> int | None:
    """Return a count of an event; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Also what is not a number compares as neither.
    return int(min(value, _MOST)) if value >= 0 else None


def number(value: object) -> int:
    """Return a count of an event; 0 where it is none."""
    return count(value) or 0


def dollars(value: object) -> Decimal | None:
    """Return an amount of an event; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < 10**6:
        return None
    return Decimal(str(value))


def text(value: object) -> str:
    """Return a text of an event; an empty one where it is none."""
    if not isinstance(value, str):
        return ""
    # Half a character, which JSON can spell, cannot be written anywhere.
    return value.encode("utf-8", "replace").decode("utf-8")


def session_name(value: object) -> str | None:
    """Return the name of a session; None where it is none that can be given back to a program."""
    return value if isinstance(value, str) and _SESSION.fullmatch(value) else None


def inner(value: object) -> dict[str, Any]:
    """Return an object of an event; an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list of an event; none where it is none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
