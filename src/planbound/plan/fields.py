"""The fields of one step, condition or plan, each read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planbound.plan.entries import Entry
from planbound.plan.model import Fault, Field
from planbound.plan.values import FieldReader
from planbound.source import Finding, Source, Span


class FieldValues:
    """The values by name, and the fields as they were written."""

    def __init__(self, reader: FieldReader, faults: list[Fault]) -> None:
        self.reader = reader
        self.faults = faults
        self.fields: list[Field] = []
        self.values: dict[str, Any] = {}

    def read(self, entries: list[Entry], readers: dict[str, Callable[[Entry], Any]]) -> None:
        """Read the entries with the reader of their name; report what is given twice."""
        for entry in entries:
            if entry.name is None or entry.label is None:
                continue
            read = False
            if entry.name in self.values:
                message = f"`{entry.name}` is given twice"
                finding = Finding(entry.label.span, message, "keep one of them")
                self.faults.append(Fault("duplicate-field", finding))
            elif entry.known:
                self.values[entry.name] = readers[entry.name](entry)
                read = self.values[entry.name] is not None
            self.fields.append(field_of(self.reader.source, entry, read=read))

    def get(self, name: str) -> Any:
        """Return a value, None where it is not given or was not understood."""
        return self.values.get(name)


def field_of(source: Source, entry: Entry, *, read: bool) -> Field:
    """Return what is known of a field whatever its value."""
    assert entry.name is not None
    assert entry.label is not None
    span = Span(entry.label.span.start, max(entry.end, entry.label.span.end))
    return Field(
        name=entry.name,
        written=entry.label.name,
        label=entry.label.span,
        span=span,
        text=" ".join(source.slice(Span(entry.label.span.end, span.end)).split()),
        read=read,
    )
