"""What stands behind a key of the frontmatter."""

from __future__ import annotations

from typing import NamedTuple

from planbound.source import Located, Span


class Sequence(NamedTuple):
    """A list of words."""

    items: tuple[Located[str], ...]
    span: Span


class Other(NamedTuple):
    """Anything else: a mapping, a list of lists."""

    span: Span


Value = Located[str] | Sequence | Other

Pairs = list[tuple[Located[str], Value]]
"""The keys with their values, in the order of the file."""
