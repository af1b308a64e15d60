"""What models hand to the tools, made into what the tools take: nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from planbound.errors import UsageError

_TEXTS = frozenset({"objective", "status", "evidence", "notes", "reason", "summary"})
_LISTS = frozenset({"steps", "preconditions", "postconditions", "add", "remove"})


def read_arguments(given: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of a call; raise UsageError that names the one which is wrong."""
    found: dict[str, object] = {}
    for name, value in given.items():
        if value is None:
            continue  # models write null for what they leave out
        if name in _TEXTS and not isinstance(value, str):
            raise UsageError(f"`{name}` is no text")
        if name in _LISTS:
            found[name] = _items(name, value)
        elif name == "edit":
            table = _unwritten(value)
            if not isinstance(table, Mapping):
                raise UsageError("`edit` is an object: by the id or number of a step what it is")
            found[name] = {str(key): _unwritten(item) for key, item in table.items()}
        else:
            found[name] = value
    return found


def _items(name: str, value: object) -> list[object]:
    items = _unwritten(value)
    if not isinstance(items, list | tuple):
        raise UsageError(f"`{name}` is a list")
    if name == "remove":
        return [str(item) for item in items]
    return [_unwritten(item) for item in items]


def _unwritten(value: object) -> object:
    """Return a value; a list or an object that a model wrote as a text is one again."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, dict | list) else value
