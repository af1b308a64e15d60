"""The nodes of the shell grammar, as far as they are used."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
EXPRESSIONS = frozenset(
    {
        "binary_expression",
        "unary_expression",
        "parenthesized_expression",
        "postfix_expression",
        "ternary_expression",
    }
)

_OPERATORS = frozenset({"&&", "||"})
_GIVES_UP = re.compile(rb"(?:^|[\s;{(])(?:(?:exit|return)(?:\s+[^0\s]|\s*(?:[;})]|$))|false\b)")


class Node(Protocol):
    """A node of the syntax tree; offsets count bytes."""

    @property
    def type(self) -> str:
        """Its name in the grammar; of a token, the token."""

    @property
    def is_named(self) -> bool:
        """Whether it is more than a token."""

    @property
    def has_error(self) -> bool:
        """Whether something in it could not be read."""

    @property
    def start_byte(self) -> int:
        """Where it starts."""

    @property
    def end_byte(self) -> int:
        """Where it ends."""

    @property
    def children(self) -> Sequence[Node]:
        """All of it, tokens too."""

    def child_by_field_name(self, name: str, /) -> Node | None:
        """Return the child with a name."""


class Part(NamedTuple):
    """One link of a chain."""

    operator: str
    """What joins it to the one before."""
    node: Node
    redirects: tuple[Node, ...]


def named(node: Node) -> list[Node]:
    """Return the children that are more than tokens and comments."""
    return [child for child in node.children if child.is_named and child.type != "comment"]


def body_of(node: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """Return the statement of a redirected statement, and its redirects."""
    children = named(node)
    redirects = tuple(child for child in children if child.type in REDIRECTS)
    return next((child for child in children if child.type not in REDIRECTS), None), redirects


def links_of(node: Node, redirects: tuple[Node, ...]) -> list[Part]:
    """Return the links of a chain, which the grammar nests to the left."""
    parts: list[Part] = []
    while True:
        if node.type == "redirected_statement":
            body, own = body_of(node)
            if body is None or body.type != "list":
                break
            # `a && b > log`: the grammar redirects the chain, the shell its last link.
            node, redirects = body, (*own, *redirects)
        if node.type != "list":
            break
        children: list[Node] = []
        operator = ""
        for child in node.children:
            kind = child.type
            if kind in _OPERATORS:
                operator = kind
            elif child.is_named and kind != "comment":
                children.append(child)
        if len(children) < 2 or not operator:
            break
        parts.append(Part(operator, children[-1], redirects))
        node, redirects = children[0], ()
    parts.append(Part("", node, redirects))
    return parts[::-1]


def optional_links(parts: Sequence[Part], data: bytes) -> list[bool]:
    """Say for each link of a chain whether the script may go on well without its success."""
    if all(part.operator != "||" for part in parts) and b"exit" not in data:
        return [False] * len(parts)
    ends = [
        bool(_GIVES_UP.search(data[part.node.start_byte : part.node.end_byte])) for part in parts
    ]
    return [_is_optional(index, parts, ends) for index in range(len(parts))]


def _is_optional(index: int, parts: Sequence[Part], ends: Sequence[bool]) -> bool:
    if parts[index].operator == "||":
        return True
    for following in range(index + 1, len(parts)):
        if parts[following].operator == "||":
            return not ends[following]
        # `test -f old.py && exit 1`: the file had better not be there.
        if ends[following]:
            return True
    return False
