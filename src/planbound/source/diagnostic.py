"""What is wrong with a text: code, place, message, hint."""

from __future__ import annotations

import enum
from typing import NamedTuple

from planbound.source.span import Span
from planbound.source.text import Source


class Severity(enum.Enum):
    """How bad it is: an error keeps a plan from being verified, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Finding(NamedTuple):
    """One fault at one place, before the rule's code and severity are put on it."""

    span: Span
    message: str
    hint: str | None = None


class Diagnostic(NamedTuple):
    """One fault, ready to be shown. Lines and columns count from 1, ends are exclusive."""

    code: str
    rule: str
    severity: Severity
    path: str
    span: Span
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    hint: str | None


def diagnose(
    finding: Finding, *, source: Source, code: str, rule: str, severity: Severity
) -> Diagnostic:
    """Give a finding its place in the source and the identity of its rule."""
    line, column = source.position(finding.span.start)
    end_line, end_column = source.position(finding.span.end)
    return Diagnostic(
        code=code,
        rule=rule,
        severity=severity,
        path=source.path,
        span=finding.span,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        message=finding.message,
        hint=finding.hint,
    )
