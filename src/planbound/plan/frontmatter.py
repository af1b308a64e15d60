"""The frontmatter; the only module that knows the YAML library.

Nodes are read and no objects are built: `no` stays a word, and nothing in a file can make the
library construct anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

from planbound.plan.model import Fault, Frontmatter, PlanStatus
from planbound.plan.suggest import nearest
from planbound.source import Finding, Located, Source, Span
from planbound.source.text import BOM

KEYS = ("type", "status", "owner", "depends_on", "touches", "expected_artifacts")
_LISTS = frozenset({"depends_on", "touches", "expected_artifacts"})
_MARK = re.compile(r"---[ \t]*$")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*$")
MAX_LINES = 500
"""Frontmatter is small: a longer one is a file that begins with a rule."""
_MAX_DEPTH = 50


def frontmatter_lines(source: Source) -> int:
    """Return how many lines the frontmatter takes with its marks; 0 where there is none."""
    lines = source.lines
    if not _MARK.match(lines[0].removeprefix(BOM)):
        return 0
    for number in range(1, min(len(lines), MAX_LINES)):
        if _END.match(lines[number]):
            return number + 1
    return 0


def read_frontmatter(source: Source, faults: list[Fault]) -> tuple[Frontmatter, int]:
    """Return the frontmatter and the number of lines that it takes."""
    count = frontmatter_lines(source)
    if count == 0:
        return _absent(source, faults), 0
    span = source.lines_span(1, count - 1)
    node = _compose(source, span, faults)
    if node is None:
        return Frontmatter(span=span), count
    if not isinstance(node, yaml.MappingNode):
        faults.append(_malformed(span, "the frontmatter is not a list of `key: value` lines"))
        return Frontmatter(span=span, unread=(("", source.slice(span)),)), count
    return _Keys(source, span, faults).read(node), count


def _absent(source: Source, faults: list[Fault]) -> Frontmatter:
    if _MARK.match(source.lines[0].removeprefix(BOM)):
        message = "the frontmatter has no end"
        hint = "close it with a line that holds only `---`"
        faults.append(Fault("malformed-frontmatter", Finding(source.line_span(0), message, hint)))
    return Frontmatter()


def _compose(source: Source, span: Span, faults: list[Fault]) -> Any:
    text = source.slice(span)
    # The library recurses once for each level, so depth is bounded before it is asked.
    if _nesting(text) > _MAX_DEPTH:
        faults.append(_malformed(span, "the frontmatter is nested too deeply"))
        return None
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        offset = _offset(source, span, mark) if mark else span.start
        place = Span(offset, min(offset + 1, max(span.end, offset)))
        faults.append(_malformed(place, f"the frontmatter is not valid YAML: {_reason(error)}"))
    except yaml.YAMLError as error:
        # Only the reader raises these: a character that YAML does not allow.
        position = getattr(error, "position", 0)
        offset = min(span.start + int(position or 0), span.end)
        faults.append(
            _malformed(Span(offset, offset), "the frontmatter holds a character YAML forbids")
        )
    return None


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


def _reason(error: yaml.MarkedYAMLError) -> str:
    return (error.problem or error.context or "it cannot be read").replace("\n", " ")


def _offset(source: Source, span: Span, mark: Any) -> int:
    first = source.position(span.start)[0] - 1
    line = min(first + mark.line, len(source.line_starts) - 1)
    return min(source.line_starts[line] + mark.column, max(span.end, span.start))


def _malformed(span: Span, message: str) -> Fault:
    hint = "write `key: value` lines between two lines of `---`"
    return Fault("malformed-frontmatter", Finding(span, message, hint))


class _Keys:
    """Reads the mapping key by key."""

    def __init__(self, source: Source, span: Span, faults: list[Fault]) -> None:
        self.source = source
        self.span = span
        self.faults = faults
        self.unread: list[tuple[str, str]] = []

    def read(self, node: yaml.MappingNode) -> Frontmatter:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else ""
            place = self._place(key_node)
            if key in values:
                self._fault("duplicate-field", place, f"`{key}` is set twice in the frontmatter")
                self._keep(key, value_node)
            elif key not in KEYS:
                self._unknown(key, place)
                self._keep(key, value_node)
            else:
                reader: Callable[[str, Any], Any] = self._list if key in _LISTS else self._scalar
                values[key] = reader(key, value_node)
        status = self._status(values.pop("status", None))
        given = {key: value for key, value in values.items() if value is not None}
        return Frontmatter(status=status, unread=tuple(self.unread), span=self.span, **given)

    def _status(self, value: Located[str] | None) -> Located[PlanStatus] | None:
        if value is None:
            return None
        try:
            return Located(PlanStatus(value.value.lower().replace("_", "-")), value.span)
        except ValueError:
            known = ", ".join(status.value for status in PlanStatus)
            message = f"unknown status `{value.value}`"
            hint = f"the harness writes one of {known}; a plan that nobody verified is `draft`"
            self._fault("unknown-status", value.span, message, hint)
            return None

    def _unknown(self, key: str, place: Span) -> None:
        near = nearest(key, KEYS)
        hint = f"did you mean `{near}`?" if near else f"known keys are {', '.join(KEYS)}"
        self._fault("unknown-field", place, f"unknown key `{key}` in the frontmatter", hint)

    def _scalar(self, key: str, node: Any) -> Located[str] | None:
        if isinstance(node, yaml.ScalarNode):
            if node.value.strip():
                return Located(node.value.strip(), self._place(node))
            return None  # `owner:` with nothing behind it is an owner that is not set
        self._wrong(key, node, "one word")
        return None

    def _list(self, key: str, node: Any) -> tuple[Located[str], ...] | None:
        if isinstance(node, yaml.ScalarNode):
            if not node.value.strip():
                return ()
            return (Located(node.value.strip(), self._place(node)),)
        items = node.value if isinstance(node, yaml.SequenceNode) else []
        if not isinstance(node, yaml.SequenceNode) or not all(
            isinstance(item, yaml.ScalarNode) for item in items
        ):
            self._wrong(key, node, "a list such as `[a, b]`")
            return None
        return tuple(Located(str(item.value).strip(), self._place(item)) for item in items)

    def _wrong(self, key: str, node: Any, expected: str) -> None:
        self._fault(
            "malformed-frontmatter", self._place(node), f"`{key}` must be {expected}"
        )
        self._keep(key, node)

    def _keep(self, key: str, node: Any) -> None:
        place = self._place(node)
        self.unread.append((key, " ".join(self.source.slice(place).split())))

    def _place(self, node: Any) -> Span:
        start = _offset(self.source, self.span, node.start_mark)
        end = max(start, _offset(self.source, self.span, node.end_mark))
        written = self.source.text[start:end]
        return Span(start, end - (len(written) - len(written.rstrip())))

    def _fault(self, rule: str, span: Span, message: str, hint: str | None = None) -> None:
        self.faults.append(Fault(rule, Finding(span, message, hint)))
