"""Where something stands in a text."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Span(NamedTuple):
    """A half-open range of characters of a source's text."""

    start: int
    end: int


class Located(NamedTuple, Generic[T_co]):
    """A value, and where it was written."""

    value: T_co
    span: Span
