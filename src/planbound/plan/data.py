"""Data that crosses between a product and the harness, and predicates on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from planbound.plan.vocabulary import nearest

Data: TypeAlias = "bool | int | Decimal | str | list[Data] | dict[str, Data] | None"
"""What crosses between a product and the harness: JSON, and nothing that can act by itself."""

# -- data ----------------------------------------------------------------------------------------


class DataError(ValueError):
    """A text that is no data; `position` is where."""

    def __init__(self, reason: str, position: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


def read_data(text: str) -> Data:
    """Return the one JSON value in a text; raise DataError."""
    start = len(text) - len(text.lstrip(BLANKS))
    value, end = decode_at(text, start)
    if text[end:].strip(BLANKS):
        raise DataError("more than one JSON value", end)
    return value


BLANKS = " \t\r\n"


def decode_at(text: str, start: int) -> tuple[Data, int]:
    """Return the JSON value that begins at a place, and where it ends; raise DataError."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise DataError(f"no JSON: {error.msg}", error.pos) from None
    except RecursionError:
        raise DataError("nested too deeply", start) from None
    except ValueError as error:
        # Of ours, and of a number with more digits than Python reads.
        raise DataError(str(error).split(";")[0], start) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`{twice}` is there twice")
    return members


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except ArithmeticError:
        raise ValueError(f"`{text[:40]}` is too large") from None
    return number


def _no_number(text: str) -> Any:
    raise ValueError(f"`{text}` is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_number, parse_constant=_no_number
)


def data_text(value: Data, *, ascii_only: bool = False) -> str:
    """Return data as JSON in one line, every number as exactly as it was written."""
    match value:
        case Decimal():
            return str(value)
        case list():
            items = (data_text(item, ascii_only=ascii_only) for item in value)
            return f"[{', '.join(items)}]"
        case dict():
            members = (
                f"{json.dumps(name, ensure_ascii=ascii_only)}: "
                + data_text(item, ascii_only=ascii_only)
                for name, item in value.items()
            )
            return "{" + ", ".join(members) + "}"
        case _:
            return json.dumps(value, ensure_ascii=ascii_only)


# -- predicates on data --------------------------------------------------------------------------


TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def is_predicate(value: Data) -> bool:
    """Say whether something that is expected is a predicate and no data."""
    return isinstance(value, dict) and bool(value) and all(name.startswith("$") for name in value)


def predicate_faults(value: Data) -> Iterator[tuple[str, str | None]]:
    """Yield what is wrong with what is expected, with a hint."""
    if isinstance(value, list):
        for item in value:
            yield from predicate_faults(item)
    if not isinstance(value, dict):
        return
    if not is_predicate(value):
        signs = [name for name in value if name.startswith("$")]
        if signs:
            hint = 'data with such a name is written as `{"$equals": ...}`'
            yield f"`{signs[0]}` stands beside names that are no predicates", hint
        for item in value.values():
            yield from predicate_faults(item)
        return
    for name, argument in value.items():
        yield from _fault_of(name, argument, value)


def _fault_of(
    name: str, argument: Data, beside: Mapping[str, Data]
) -> Iterator[tuple[str, str | None]]:
    if name not in PREDICATES:
        near = nearest(name, PREDICATES)
        known = ", ".join(f"`{each}`" for each in PREDICATES)
        yield (
            f"there is no predicate `{name}`",
            f"did you mean `{near}`?" if near else f"there are {known}",
        )
        return
    takes, is_right = PREDICATES[name]
    if not is_right(argument):
        yield f"`{name}` takes {takes}", None
    elif name == "$tolerance" and "$approx" not in beside:
        yield "`$tolerance` belongs to `$approx`", None
    elif name in {"$contains", "$length"}:
        yield from predicate_faults(argument)
    elif name == "$one_of" and isinstance(argument, list):
        for item in argument:
            yield from predicate_faults(item)


def _is_number(value: Data) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_pattern(value: Data) -> bool:
    if not isinstance(value, str):
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _are_bounds(value: Data) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    low, high = value
    return (
        isinstance(low, int | Decimal)
        and isinstance(high, int | Decimal)
        and _is_number(low)
        and _is_number(high)
        and low <= high
    )


def _is_length(value: Data) -> bool:
    return is_predicate(value) or (
        isinstance(value, int) and not isinstance(value, bool) and value >= 0
    )


PREDICATES: Mapping[str, tuple[str, Callable[[Data], bool]]] = MappingProxyType(
    {
        "$equals": ("data", lambda _: True),
        "$contains": ("a part: a text, an element, or some members", lambda _: True),
        "$matches": ("a regular expression", _is_pattern),
        "$between": ("two numbers, the smaller one first", _are_bounds),
        "$one_of": ("a list with at least one value", lambda v: isinstance(v, list) and bool(v)),
        "$type": (f"one of {', '.join(TYPES)}", lambda v: v in TYPES),
        "$length": ("a number of characters, elements or members", _is_length),
        "$approx": ("a number", _is_number),
        "$tolerance": ("a number that is not negative", lambda v: _is_number(v) and v >= 0),  # type: ignore[operator]  # it is a number by then
    }
)
"""What there is, what each takes, and whether something is that."""
