"""Writes the page on what programs read: the shape of each command's `--json`, and of errors."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct, UnsetType

from planbound.cli.commands import COMMANDS, module_of
from planbound.cli.shape import ErrorPrinted, Shapes
from planbound.errors import PlanboundError

_WORDS = {
    str: "text",
    int: "number",
    float: "number",
    bool: "true or false",
    NoneType: "null",
    object: "anything",
}
_EXAMPLE = (
    '{"error":{"code":"no-such-plan","message":"there is no plan `roundng`",'
    '"hint":"did you mean `rounding`?"}}'
)
WITHOUT = {
    "gate": "it is a dialogue",
    "mcp": "it speaks the Model Context Protocol",
    "hook": "it answers hosts, always with one JSON object in the shape that the host takes",
    "watch": "it draws a screen; `list`, `status`, `inbox` and `standup` have what it shows",
    "report": "it writes a page, which people read",
    "help": "people read it",
    "completion": "shells read it",
}
"""The commands that have no `--json`, and why."""
_ENDS = {
    "interrupted": ("130", "Ctrl-C, or another signal."),
    "bug": ("70", "A bug in Planbound, with a report file."),
}


def shapes_of(command: str) -> Shapes:
    """Return what a command prints with `--json`, by how it is asked."""
    found: dict[str, Shapes] = getattr(module_of(command), "SHAPES", {})
    return found.get(command, {})


def json_page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from (
        "# JSON",
        "",
        "Look up here what a program reads. With `--json` a command prints exactly one document to",
        "standard output, or one a line where that is said. Every command has this option, but",
        "these:",
        "",
        *(f"- `{name}`: {why}." for name, why in WITHOUT.items()),
        "",
        "Fields may be added in later versions; none is renamed or removed.",
        "A field that is not always there is marked *optional*; any other one always is.",
        "[Exit codes](exit-codes.md) are the same with and without `--json`.",
        "",
    )
    yield from _errors()
    nested: dict[str, type[Struct]] = {}
    for command in COMMANDS:
        for number, (how, shape) in enumerate(shapes_of(command).items()):
            if number == 0:
                yield from (f"## {command}", "")
            yield from _form(command, how, shape, nested)
    yield from ("## Shapes", "", "What the objects above are made of.", "")
    done: set[str] = set()
    while left := sorted(set(nested) - done):
        done.add(left[0])
        shape = nested[left[0]]
        yield from (f"### {shape.__name__}", "", *_about(shape), *_fields(shape, nested))


def _errors() -> Iterator[str]:
    yield from (
        "## Errors",
        "",
        "A command that ends with an error prints one line, also for a wrong option:",
        "",
        "```json",
        _EXAMPLE,
        "```",
        "",
    )
    nested: dict[str, type[Struct]] = {}
    list(_fields(ErrorPrinted, nested))
    yield from _fields(nested.pop("ErrorAbout"), nested)
    yield from (
        "A command that has printed its result and fails then prints no second document.",
        "Standard error has the same in words for people. These are the codes:",
        "",
        "| code | exit code | when |",
        "| --- | --- | --- |",
    )
    rows = {kind.code: (str(int(kind.exit_code)), _sentence(kind)) for kind in _kinds()} | _ENDS
    for code, (end, when) in rows.items():
        yield f"| `{code}` | {end} | {when} |"
    yield ""


def _sentence(kind: type[object]) -> str:
    return (inspect.getdoc(kind) or "").split("\n")[0]


def _kinds() -> list[type[PlanboundError]]:
    """Return every kind of error that a command can end with."""
    return [kind for kind in _below(PlanboundError) if kind.__module__ == PlanboundError.__module__]


def _below(kind: type[PlanboundError]) -> Iterator[type[PlanboundError]]:
    for each in sorted(kind.__subclasses__(), key=lambda each: each.__name__):
        yield each
        yield from _below(each)


def _form(
    command: str, how: str, shape: Any, nested: dict[str, type[Struct]]
) -> Iterator[str]:  # what `Any` is, the type checker cannot know of a shape
    words = f"planbound {command} {how}".strip().replace(" a line each", "")
    each = ", a document a line" if how.endswith("a line each") else ""
    if get_origin(shape) is list:
        (inner,) = get_args(shape)
        yield from (f"`{words} --json`{each}: a list of objects.", "")
        shape = inner
    else:
        yield from (f"`{words} --json`{each}:", "")
    if isinstance(shape, type) and issubclass(shape, Struct):
        yield from (*_about(shape), *_fields(shape, nested))
    else:
        yield from (f"{_type(shape, nested)}.", "")


def _about(shape: type[Struct]) -> Iterator[str]:
    if text := inspect.cleandoc(shape.__doc__ or ""):
        yield from (text, "")


def _fields(shape: type[Struct], nested: dict[str, type[Struct]]) -> Iterator[str]:
    yield from ("| field | type | meaning |", "| --- | --- | --- |")
    hints, meanings = get_type_hints(shape), _meanings(shape)
    names = zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True)
    for name, written in names:
        hint = hints[name]
        optional = " (*optional*)" if UnsetType in get_args(hint) else ""
        meaning = meanings.get(name, "").replace("|", "\\|")
        yield f"| `{written}`{optional} | {_type(hint, nested)} | {meaning} |"
    yield ""


def _type(hint: Any, nested: dict[str, type[Struct]]) -> str:
    inner = [each for each in get_args(hint) if each is not UnsetType]
    match get_origin(hint):
        case None:
            return _plain(hint, nested)
        case kind if kind is list:
            return f"list of {_type(inner[0], nested)}"
        case kind if kind is dict:
            return f"object of {_type(inner[1], nested)} by name"
        case kind if kind is Literal:
            return ", ".join(f"`{value}`" for value in inner)
    return " or ".join(_type(each, nested) for each in inner)


def _plain(hint: type[object], nested: dict[str, type[Struct]]) -> str:
    if issubclass(hint, Struct):
        nested[hint.__name__] = hint
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if issubclass(hint, enum.Enum):
        return ", ".join(f"`{each.value}`" for each in hint)
    return _WORDS[hint]


@cache
def _meanings(shape: type[Struct]) -> dict[str, str]:
    """Return what stands below each field in the source; those of a base come first."""
    found: dict[str, str] = {}
    for kind in reversed(shape.__mro__):
        if kind is Struct or not issubclass(kind, Struct):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef))
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = _text(below)
                if text:
                    found[field.target.id] = text
    return found


def _text(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return re.sub(r"\s+", " ", str(node.value.value))
    return ""
