"""The references of one step to others, rewritten where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.plan.edit import Edit
from planbound.plan.headings import read_step_heading
from planbound.plan.labels import read_references
from planbound.plan.model import Plan, Step
from planbound.plan.revise.error import RevisionError, name_of
from planbound.plan.values import unquoted
from planbound.source import Source, Span
from planbound.source.pattern import lazy_pattern

_RANGE = lazy_pattern(r"\d+(?P<between>\D+)\d+")
_BULLET = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


class Renaming(NamedTuple):
    """How labels are written from now on."""

    names: Mapping[str, str]
    """The new label for each old one; labels of steps that are not there are not in it."""
    removed: str = ""
    inherited: tuple[str, ...] = ()
    """New labels of what the removed step waited for."""


class _Token(NamedTuple):
    """One number or range in a list of references."""

    span: Span
    labels: tuple[str, ...]


def reference_edits(plan: Plan, step: Step, renaming: Renaming) -> list[Edit]:
    """Return the edits that let a step name the same steps as before."""
    tokens = list(_tokens(plan.source, step))
    wanted = _new_labels(step, tokens, renaming)
    edits: list[Edit] = []
    for inside in (True, False):
        listed = [
            (token, labels)
            for token, labels in zip(tokens, wanted, strict=True)
            if (token.span.end <= step.heading.end) is inside
        ]
        edits += _list_edits(plan.source, listed)
    return edits


def _tokens(source: Source, step: Step) -> Iterator[_Token]:
    # A reference in backticks, or broken over two lines, has the place of the whole item.
    for span in dict.fromkeys(item.span for item in step.depends or ()):
        text = source.text[span.start : span.end]
        value = unquoted(" ".join(text.split()))
        shift = text.find(value)
        labels, _ = read_references(value if shift >= 0 else text)
        start = span.start + max(shift, 0)
        places: dict[Span, list[str]] = {}
        for label, first, last in labels:
            places.setdefault(Span(start + first, start + last), []).append(label)
        for place, found in places.items():
            yield _Token(place, tuple(found))


def _new_labels(step: Step, tokens: list[_Token], renaming: Renaming) -> list[tuple[str, ...]]:
    """Return for each token the labels to write; what is named already is not named again."""
    named = {
        renaming.names.get(label, label)
        for token in tokens
        for label in token.labels
        if label != renaming.removed
    }
    named.add(renaming.names.get(step.label, step.label))
    result = []
    for token in tokens:
        labels: list[str] = []
        for label in token.labels:
            if not renaming.removed or label != renaming.removed:
                labels.append(renaming.names.get(label, label))
                continue
            fresh = [name for name in renaming.inherited if name not in named]
            named.update(fresh)
            labels += fresh
        result.append(tuple(labels))
    return result


def _list_edits(source: Source, listed: list[tuple[_Token, tuple[str, ...]]]) -> list[Edit]:
    """Return the edits of one list of references."""
    edits = []
    gone: list[Span] = []
    nothing = all(not labels for _, labels in listed)
    last: _Token | None = None
    for index, (token, labels) in enumerate(listed):
        if labels or (nothing and not index):
            last = token
            new = _write(source, token, labels) if labels else "none"
            if new is not None:
                edits.append(Edit(token.span, new))
            continue
        following = listed[index + 1][0] if index + 1 < len(listed) else None
        line = _own_line(source, token, [other for other, _ in listed])
        if line:
            gone.append(line)
        elif last:
            gone.append(Span(last.span.end, token.span.end))
        elif following:
            gone.append(Span(token.span.start, following.span.start))
    return edits + [Edit(span, "") for span in _merged(gone)]


def _write(source: Source, token: _Token, labels: tuple[str, ...]) -> str | None:
    """Return what to write for a token, None where it says the right thing already."""
    if set(labels) == set(token.labels):
        return None
    ordered = sorted(dict.fromkeys(labels), key=lambda label: (not label.isdecimal(), _size(label)))
    written = _RANGE.fullmatch(source.text, token.span.start, token.span.end)
    sizes = [_size(label) for label in ordered]
    if written and len(sizes) > 1 and sizes == list(range(sizes[0], sizes[0] + len(sizes))):
        return f"{ordered[0]}{written['between']}{ordered[-1]}"
    return ", ".join(ordered)


def _size(label: str) -> int:
    return int(label) if label.isdecimal() else 0


def _own_line(source: Source, token: _Token, tokens: Sequence[_Token]) -> Span | None:
    """Return the line of a token that is the only one in its list item, with the end before it."""
    line = source.position(token.span.start)[0] - 1
    alone = all(
        other == token or source.position(other.span.start)[0] - 1 != line for other in tokens
    )
    if not line or not alone or not _BULLET.match(source.lines[line]):
        return None
    return Span(source.line_span(line - 1).end, source.line_span(line).end)


def _merged(spans: list[Span]) -> list[Span]:
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start <= result[-1].end:
            result[-1] = Span(result[-1].start, max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def declaration(plan: Plan, step: Step, labels: Sequence[str]) -> Edit:
    """Return the edit that writes `(depends on …)` behind the title of a step that has none."""
    text = plan.source.text[step.heading.start : step.heading.end]
    heading = read_step_heading(text)
    if heading is None or not all(re.fullmatch(r"\d+", label) for label in labels):
        raise RevisionError(
            f"the dependencies of {name_of(step)} would have to be written down, "
            "and not every step has a number: run `planbound fmt` first"
        )
    title = text.find(heading.title, heading.title_start) if heading.title else -1
    end = step.heading.start + (title + len(heading.title) if title >= 0 else heading.title_start)
    return Edit(Span(end, end), f" (depends on {', '.join(labels) or 'none'})")
