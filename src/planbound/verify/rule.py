"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from planbound.source import Finding, Severity
from planbound.verify.subject import Subject


class Rule(NamedTuple):
    """One kind of fault. Its module's docstring is its page in the reference."""

    code: str
    """Stable for ever: a code is never given to another rule."""
    name: str
    """Named for the fault, not for the cure."""
    severity: Severity
    check: Callable[[Subject], Iterable[Finding]]
    strict: Severity | None = None
    """The severity under the profile `strict`, where it differs."""

    def severity_for(self, profile: str) -> Severity:
        """Return how bad the fault is under a profile."""
        return self.strict if profile == "strict" and self.strict else self.severity


def faults_of(name: str) -> Callable[[Subject], Iterable[Finding]]:
    """Return the check of a rule whose faults the parser notices while it reads."""

    def check(subject: Subject) -> Iterable[Finding]:
        return subject.faults.get(name, ())

    return check
