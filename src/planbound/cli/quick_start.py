"""Defines values faster: this program has hundreds of them, and defines them at every start.

`typing.NamedTuple` compiles the annotation of every field to see that it is a type. mypy has seen
to that. Only a process of ours does without: whoever imports the package is left alone.
"""

from __future__ import annotations

import collections
import typing
from collections.abc import Iterable

_KNOWN = ("name", "types", "module", "defaults")


def hurry() -> None:
    """Leave that check out, where this Python makes named tuples as the ones that we know."""
    make = getattr(typing, "_make_nmtuple", None)
    if make is not None and make.__code__.co_varnames[: len(_KNOWN)] == _KNOWN:
        typing._make_nmtuple = _make  # type: ignore[attr-defined]  # noqa: SLF001 - private, so looked at


def _make(
    name: str, types: Iterable[tuple[str, object]], module: str, defaults: Iterable[object] = ()
) -> type:
    annotations = dict(types)
    made = collections.namedtuple(name, annotations, defaults=list(defaults), module=module)  # type: ignore[misc]  # noqa: PYI024 - this is what typing does
    made.__annotations__ = made.__new__.__annotations__ = annotations
    return made
