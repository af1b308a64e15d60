"""Say everything that is wrong with a plan, without running anything."""

from __future__ import annotations

from typing import NamedTuple

from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.ports.surroundings import Surroundings
from planbound.source import Diagnostic, Severity
from planbound.verify.examine import Examination


class Verified(NamedTuple):
    """A plan and what is wrong with it."""

    plan: Plan
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> int:
        """Return how many of the diagnostics are errors."""
        return sum(item.severity is Severity.ERROR for item in self.diagnostics)

    @property
    def warnings(self) -> int:
        """Return how many of the diagnostics are warnings."""
        return len(self.diagnostics) - self.errors


def verify(data: bytes, *, path: str, surroundings: Surroundings) -> Verified:
    """Return what is wrong with the plan in a file's content."""
    plan = parse(data, path=path)
    examination = Examination(plan)
    facts = surroundings.answer(examination.questions())
    return Verified(plan=plan, diagnostics=tuple(examination.diagnostics(facts)))
