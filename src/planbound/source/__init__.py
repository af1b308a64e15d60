"""Where things stand in a text, and what is wrong there: spans and diagnostics (pure)."""

from planbound.source.diagnostic import Diagnostic, Finding, Severity, diagnose
from planbound.source.span import Located, Span
from planbound.source.text import Source

__all__ = ["Diagnostic", "Finding", "Located", "Severity", "Source", "Span", "diagnose"]
