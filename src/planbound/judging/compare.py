"""Compare what a product answered with what is expected: data with data, in the harness.

Numbers are compared by value, exactly: JSON has one kind of number, and some languages write `3`
for `3.0`. Everything else is strict: `true` is not 1, `"1"` is not 1, a list has an order, and an
object has these members and no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from planbound.plan.data import Data, data_text, is_predicate

Matcher = Callable[[str, str], bool | None]
"""Says whether a pattern is found in a text; None: it took too long."""
_LONGEST = 200
_USUAL_TOLERANCE = 1e-9


def difference(expected: Data, actual: Data, matches: Matcher) -> str | None:
    """Return how an answer differs from what is expected; None where it does not."""
    if is_predicate(expected):
        assert isinstance(expected, dict)
        return _unmet(expected, actual, matches)
    if _kind(expected) != _kind(actual):
        return f"expected {_shown(expected)}, got {_shown(actual)}"
    if isinstance(expected, list) and isinstance(actual, list):
        return _of_lists(expected, actual, matches)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _of_objects(expected, actual, matches)
    if expected == actual:
        return None
    return f"expected {_shown(expected)}, got {_shown(actual)}"


def _kind(value: Data) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | Decimal():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _of_lists(expected: list[Data], actual: list[Data], matches: Matcher) -> str | None:
    if len(expected) != len(actual):
        return (
            f"expected {len(expected)} elements, got {len(actual)}: "
            f"{_shown(expected)}, got {_shown(actual)}"
        )
    for place, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
        if reason := difference(wanted, found, matches):
            return f"[{place}]: {reason}"
    return None


def _of_objects(expected: dict[str, Data], actual: dict[str, Data], matches: Matcher) -> str | None:
    missing = [name for name in expected if name not in actual]
    if missing:
        return f"`{missing[0][:_LONGEST]}` is missing"
    more = [name for name in actual if name not in expected]
    if more:
        return f"`{more[0][:_LONGEST]}` is not expected"
    return _of_members(expected, actual, matches)


def _of_members(expected: dict[str, Data], actual: dict[str, Data], matches: Matcher) -> str | None:
    for name, wanted in expected.items():
        if reason := difference(wanted, actual[name], matches):
            return f"`{name[:_LONGEST]}`: {reason}"
    return None


# -- predicates ----------------------------------------------------------------------------------


def _unmet(predicate: dict[str, Data], actual: Data, matches: Matcher) -> str | None:
    """Return the first part of a predicate that does not hold."""
    for name, argument in predicate.items():
        match name:
            case "$equals":
                reason = None if _same(argument, actual) else f"it is {_shown(actual)}"
            case "$contains":
                reason = _not_contained(argument, actual, matches)
            case "$matches":
                reason = _unmatched(str(argument), actual, matches)
            case "$one_of":
                assert isinstance(argument, list)
                found = any(difference(each, actual, matches) is None for each in argument)
                reason = None if found else f"it is {_shown(actual)}"
            case "$length":
                reason = _other_length(argument, actual, matches)
            case _:
                reason = None if _holds(name, argument, actual, predicate) else _is(actual)
        if reason is not None:
            return f"expected {data_text({name: argument})[:_LONGEST]}: {reason}"
    return None


def _holds(name: str, argument: Data, actual: Data, predicate: dict[str, Data]) -> bool:
    match name:
        case "$type":
            return argument == _kind(actual) or (argument == "integer" and _is_whole(actual))
        case "$between":
            assert isinstance(argument, list)
            low, high = argument
            if _kind(actual) != "number":
                return False
            return low <= actual <= high  # type: ignore[operator]  # the table's are numbers, too
        case "$approx":
            return _is_near(argument, actual, predicate.get("$tolerance"))
        case "$tolerance":
            return True  # looked at with `$approx`
        case _:
            return False  # the table was not read by us


def _same(expected: Data, actual: Data) -> bool:
    """Compare data with data, also where its names begin with `$`."""
    if _kind(expected) != _kind(actual):
        return False
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(_same(*pair) for pair in pairs)
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = expected.keys() == actual.keys()
        return names and all(_same(expected[name], actual[name]) for name in expected)
    return expected == actual


def _not_contained(part: Data, actual: Data, matches: Matcher) -> str | None:
    if isinstance(actual, str):
        return None if isinstance(part, str) and part in actual else _is(actual)
    if isinstance(actual, list):
        found = any(difference(part, item, matches) is None for item in actual)
        return None if found else _is(actual)
    if isinstance(actual, dict) and isinstance(part, dict):
        missing = [name for name in part if name not in actual]
        return f"`{missing[0]}` is missing" if missing else _of_members(part, actual, matches)
    return _is(actual)


def _unmatched(pattern: str, actual: Data, matches: Matcher) -> str | None:
    if not isinstance(actual, str):
        return _is(actual)
    found = matches(pattern, actual)
    if found is None:
        return "to look for it took too long"
    return None if found else _is(actual)


def _other_length(wanted: Data, actual: Data, matches: Matcher) -> str | None:
    if not isinstance(actual, str | list | dict):
        return f"{_shown(actual)} has no length"
    reason = difference(wanted, len(actual), matches)
    return f"it is {len(actual)}" if reason else None


def _is_whole(value: Data) -> bool:
    # By its exponent: to write out 1e999999 would take for ever.
    if isinstance(value, Decimal):
        return value.is_finite() and (value == 0 or _exponent(value) >= 0)
    return isinstance(value, int) and not isinstance(value, bool)


def _exponent(value: Decimal) -> int:
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    trailing = next((n for n, digit in enumerate(reversed(digits)) if digit), len(digits))
    return exponent + trailing


def _is_near(wanted: Data, actual: Data, tolerance: Data) -> bool:
    if _kind(actual) != "number":
        return False
    try:
        target, found = float(wanted), float(actual)  # type: ignore[arg-type]  # numbers, both
        near = _USUAL_TOLERANCE * max(1.0, abs(target))
        limit = near if tolerance is None else float(tolerance)  # type: ignore[arg-type]  # a number
    except OverflowError:
        return False
    return math.isfinite(found) and abs(found - target) <= limit


def _is(value: Data) -> str:
    return f"it is {_shown(value)}"


def _shown(value: Data) -> str:
    try:
        text = data_text(value)
    except RecursionError:
        return "something nested too deeply"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
