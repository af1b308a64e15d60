"""What the details of an event are made of."""

from __future__ import annotations

import enum
import math
from typing import NamedTuple, assert_never


class DetailType(enum.Enum):
    """What a detail's value is; the text is how pages and messages call it.

    The type also says where a value comes from. Text may come from outside, and goes into the
    journal without its secrets. What is exact was made by the harness or is compared by it: a
    digest, an id, a path, a word of its own. It is kept as it was written.
    """

    TEXT = "text"
    TEXT_OR_NULL = "text or null"
    TEXTS = "list of texts"
    TEXTS_BY_ID = "object of texts by id"
    EXACT = "exact text"
    EXACT_OR_NULL = "exact text or null"
    EXACTS = "list of exact texts"
    EXACT_OBJECT = "exact object"
    SOURCES = "list of names with digests"
    """`NAME DIGEST` each: the digest is exact, the name is text."""
    INTEGER = "integer"
    INTEGER_OR_NULL = "integer or null"
    NUMBER = "number"
    FLAG = "true or false"
    OBJECT = "object"


class DetailSpec(NamedTuple):
    """One thing that an event tells."""

    name: str
    type: DetailType
    required: bool
    meaning: str


class EventSpec(NamedTuple):
    """What a kind of event means and tells."""

    version: int
    meaning: str
    details: tuple[DetailSpec, ...]


def has_type(value: object, wanted: DetailType) -> bool:  # noqa: PLR0911 - one for each type
    """Say whether a value is of a type."""
    match wanted:
        case DetailType.TEXT | DetailType.EXACT:
            return isinstance(value, str)
        case DetailType.TEXT_OR_NULL | DetailType.EXACT_OR_NULL:
            return value is None or isinstance(value, str)
        case DetailType.TEXTS | DetailType.EXACTS | DetailType.SOURCES:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case DetailType.INTEGER:
            return _is_integer(value)
        case DetailType.INTEGER_OR_NULL:
            return value is None or _is_integer(value)
        case DetailType.NUMBER:
            return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))
        case DetailType.FLAG:
            return isinstance(value, bool)
        case DetailType.OBJECT | DetailType.EXACT_OBJECT:
            return isinstance(value, dict)
        case DetailType.TEXTS_BY_ID:
            return isinstance(value, dict) and all(isinstance(x, str) for x in value.values())
        case _:
            assert_never(wanted)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def describe(value: object) -> str:
    """Return what a value is, in words."""
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), f"a `{type(value).__name__}`")


def must(name: str, kind: DetailType, meaning: str) -> DetailSpec:
    """Return a detail that every event of its kind has."""
    return DetailSpec(name, kind, True, meaning)  # noqa: FBT003 - the functions are its names


def may(name: str, kind: DetailType, meaning: str) -> DetailSpec:
    """Return a detail that an event may have."""
    return DetailSpec(name, kind, False, meaning)  # noqa: FBT003 - the functions are its names


def spec(meaning: str, *details: DetailSpec) -> EventSpec:
    """Return what the first version of a kind tells."""
    return EventSpec(1, meaning, details)


# What several kinds tell.
DIGEST = may("digest", DetailType.EXACT, "the digest of the plan's meaning")
REVISION = may("revision", DetailType.INTEGER, "the plan's revision")
BY = may("by", DetailType.TEXT, "who did it")
REASON = may("reason", DetailType.TEXT, "why")
TREE = may("tree", DetailType.EXACT, "the digest of the files as they were then")
DURATION = may("duration", DetailType.NUMBER, "how many seconds it took")
