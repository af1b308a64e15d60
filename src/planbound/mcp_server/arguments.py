"""The arguments of the tools: their types, their limits, and what a model reads about them.

The schemas of steps and postconditions are written out, without references: not every client hands
a reference on to its model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

LONGEST = 20_000
"""How many characters a text may have."""
MOST = 200
"""How many steps or postconditions one call may give."""
LARGEST = 400_000
"""How many characters all arguments of one call may have, written as JSON."""

_CHECK = {
    "type": "object",
    "description": "a verifier that needs no shell, such as "
    '{"file_exists": {"path": "a.txt", "contains": "x"}}; others: command(cmd), http_ok(url), '
    "json_path(file, path, equals), git_committed(paths), tests_pass(selector)",
}
_CONTRACT = {
    "type": "string",
    "description": "a shell command that exits with 0 exactly when this is really done",
}
_EXPECT = {
    "type": "array",
    "items": {"type": "string"},
    "description": 'more that must hold, such as `stdout contains "ok"` or `tests >= 3`',
}
_STEP: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "description": "the title alone; such a step is claimed, never proved"},
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "task": {"type": "string", "description": "what is to be done, in full"},
                "contract": _CONTRACT,
                "expect": _EXPECT,
                "touches": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "patterns of the files that it may change",
                },
                "depends": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "description": "numbers of the steps that come before it",
                },
                "check": _CHECK,
            },
            "required": ["title"],
        },
    ]
}
_CONDITION: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "description": "the statement alone; it is claimed, never proved"},
        {
            "type": "object",
            "properties": {
                "statement": {"type": "string"},
                "contract": _CONTRACT,
                "check": _CHECK,
                "expect": _EXPECT,
            },
            "required": ["statement"],
        },
    ]
}

Text = Annotated[str, Field(max_length=LONGEST)]
Name = Annotated[str, Field(max_length=200)]
Which = Annotated[str, Field(max_length=200)] | int
"""A step or postcondition: its id or its number."""
Item = Annotated[str, Field(max_length=LONGEST)] | dict[str, Any]
Step = Annotated[Item, WithJsonSchema(_STEP)]
Condition = Annotated[Item, WithJsonSchema(_CONDITION)]
Steps = Annotated[list[Step], Field(max_length=MOST)]
Conditions = Annotated[list[Condition], Field(max_length=MOST)]
Edits = Annotated[
    dict[str, Item],
    WithJsonSchema({"type": "object", "additionalProperties": _STEP}),
    Field(max_length=MOST),
]


def items(given: Sequence[str | dict[str, Any]]) -> list[str | Mapping[str, object]]:
    """Return what was given; an object that a client wrote as text is an object again."""
    return [item(each) for each in given]


def item(given: str | dict[str, Any]) -> str | Mapping[str, object]:
    """Return one of them."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            read = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return read if isinstance(read, dict) else given
    return given


def trouble(*given: object) -> str | None:
    """Return why arguments cannot be taken; None where they can."""
    try:
        written = json.dumps(given, ensure_ascii=False)
        written.encode()
    except UnicodeEncodeError:
        return "an argument holds half of a character (a lone surrogate); write plain Unicode"
    except RecursionError:
        return "an argument is nested too deeply"
    if len(written) > LARGEST:
        return f"the arguments have {len(written):,} characters, at most {LARGEST:,} are taken"
    return None
