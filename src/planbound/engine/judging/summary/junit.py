"""Reports in the format of JUnit, which most runners can write."""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers import expat

from planbound.engine.judging.summary.model import Summary, added
from planbound.source.pattern import lazy_pattern

_MOST = 16 * 1024 * 1024
_OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "skipped"}
_START = lazy_pattern(r"(?m)^[ \t]{0,40}(?:<\?xml [^<>\n]{0,200}\?>\s{0,40})?<testsuites?[\s/>]")
_EMPTY = lazy_pattern(r"<testsuites?(?:\s[^<>]{0,2000})?/>")


class Case(NamedTuple):
    """One test of a report."""

    id: str
    """`classname::name`."""
    outcome: str
    """`passed`, `failed` or `skipped`."""


class _RefusedError(Exception):
    """The document is no report, or declares what a report has no need of."""


class _Reader:
    """Collects the cases of a document while it is parsed."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.depth = 0
        self.inside = 0
        """How deep the present case stands; 0 outside of cases."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1 and tag not in {"testsuites", "testsuite"}:
            raise _RefusedError
        if tag == "testcase" and not self.inside:
            self.inside = self.depth
            name = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            self.cases.append(Case(name, "passed"))
        elif self.inside and self.depth == self.inside + 1 and tag in _OUTCOMES:
            last = self.cases[-1]
            if last.outcome != "failed":
                self.cases[-1] = last._replace(outcome=_OUTCOMES[tag])

    def end(self, _tag: str) -> None:
        if self.depth == self.inside:
            self.inside = 0
        self.depth -= 1


def read_junit(data: bytes) -> tuple[Summary, tuple[Case, ...]] | None:
    """Return what a report says; None where it is none, or is not safe to read."""
    if len(data) > _MOST:
        return None
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    # Entities can grow without end, and name files: whatever could declare them is refused.
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)  # noqa: FBT003 - takes no keywords
    except (expat.ExpatError, _RefusedError, ValueError, LookupError):
        return None
    return _summary(reader.cases), tuple(reader.cases)


def _refuse(*_declaration: object) -> None:
    raise _RefusedError


def _summary(cases: list[Case]) -> Summary:
    outcomes = [case.outcome for case in cases]
    return Summary(
        "junit", outcomes.count("passed"), outcomes.count("failed"), outcomes.count("skipped")
    )


def read(text: str) -> Summary | None:
    """Return what the reports in an output say."""
    if "<testsuite" not in text:
        return None
    starts = [match.start() for match in _START.finditer(text)]
    runs: list[Summary] = []
    covered = 0
    for index, start in enumerate(starts):
        if start < covered:
            continue
        end = _end(text, starts, index)
        covered = end
        report = read_junit(text[start:end].strip().encode("utf-8", "replace"))
        if report is not None:
            runs.append(report[0])
    return added("junit", runs)


def _end(text: str, starts: list[int], index: int) -> int:
    """Return where the report ends that starts there."""
    start = text.index("<testsuite", starts[index])
    if empty := _EMPTY.match(text, start):
        return empty.end()
    if text.startswith("<testsuites", start):
        closing = text.find("</testsuites>", start)
        return closing + len("</testsuites>") if closing >= 0 else len(text)
    following = starts[index + 1] if index + 1 < len(starts) else len(text)
    closing = text.rfind("</testsuite>", start, following)
    return closing + len("</testsuite>") if closing >= 0 else following
