"""Frontmatter through the YAML library; the only module that knows it.

The library takes 12 ms to load, so this is imported only for a plan that is written otherwise than
nearly all are. Nodes are read and no objects are built: `no` stays a word, and nothing in a file
can make the library construct anything.
"""

from __future__ import annotations

from typing import Any

import yaml

from planbound.plan.frontmatter import Other, Pairs, Value, WordList
from planbound.source import Located, Source, Span

_MAX_DEPTH = 50


class FrontmatterError(ValueError):
    """What the library says about a text that it cannot read, and where."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


def read_yaml(source: Source, span: Span) -> Pairs:
    """Return the keys and values of a span; raise FrontmatterError."""
    node = _compose(source, span)
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        raise FrontmatterError("the frontmatter is not a list of `key: value` lines", span)
    reader = _YamlReader(source, span)
    return [(reader.key(key), reader.value(value)) for key, value in node.value]


class _YamlReader:
    def __init__(self, source: Source, span: Span) -> None:
        self.source = source
        self.span = span

    def key(self, node: Any) -> Located[str]:
        name = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        return Located(name, self._place(node))

    def value(self, node: Any) -> Value:
        place = self._place(node)
        if isinstance(node, yaml.ScalarNode):
            return Located(str(node.value).strip(), place)
        if isinstance(node, yaml.SequenceNode):
            items = [item for item in node.value if isinstance(item, yaml.ScalarNode)]
            if len(items) == len(node.value):
                found = (Located(str(i.value).strip(), self._place(i)) for i in items)
                return WordList(tuple(found), place)
        return Other(place)

    def _place(self, node: Any) -> Span:
        start = _offset(self.source, self.span, node.start_mark)
        end = max(start, _offset(self.source, self.span, node.end_mark))
        written = self.source.text[start:end]
        return Span(start, end - (len(written) - len(written.rstrip())))


def _compose(source: Source, span: Span) -> Any:
    # The library stumbles over a tab at the end of a line, which YAML allows.
    text = "\n".join(line.rstrip(" \t") for line in source.slice(span).split("\n"))
    # It recurses once for each level, so depth is bounded before it is asked.
    if _nesting(text) > _MAX_DEPTH:
        raise FrontmatterError("the frontmatter is nested too deeply", span)
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        offset = _offset(source, span, mark) if mark else span.start
        place = Span(offset, min(offset + 1, max(span.end, offset)))
        reason = (error.problem or error.context or "it cannot be read").replace("\n", " ")
        raise FrontmatterError(f"the frontmatter is not valid YAML: {reason}", place) from error
    except yaml.YAMLError as error:
        # Only the reader raises these: a character that YAML does not allow.
        offset = min(span.start + int(getattr(error, "position", 0) or 0), span.end)
        message = "the frontmatter holds a character that YAML forbids"
        raise FrontmatterError(message, Span(offset, offset)) from error


def _nesting(text: str) -> int:
    """Return a bound on how deep the YAML can be: brackets, indentation, dashes on one line."""
    deepest = depth = 0
    for character in text:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    lines = text.split("\n")
    indents = {len(line) - len(line.lstrip(" ")) for line in lines}
    dashes = max(line.count("- ") + line.count("? ") + line.count(": ") for line in lines)
    return max(deepest, len(indents), dashes)


def _offset(source: Source, span: Span, mark: Any) -> int:
    first = source.position(span.start)[0] - 1
    line: int = min(first + mark.line, len(source.line_starts) - 1)
    offset: int = source.line_starts[line] + mark.column
    return min(offset, max(span.end, span.start))
