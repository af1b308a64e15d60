"""Say everything that is wrong with a plan, without running anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.ports.surroundings import Surroundings
from planbound.source import Diagnostic, Severity
from planbound.verify.examine import Examination
from planbound.verify.facts import Facts
from planbound.verify.rules import missing_tool, step_count, told_to_edit_judge, vague_task

if TYPE_CHECKING:
    from planbound.engine.judging.verdict import Verdict

_DOUBTS = frozenset({step_count.RULE.code, vague_task.RULE.code, told_to_edit_judge.RULE.code})


class Verified(NamedTuple):
    """A plan and what is wrong with it."""

    plan: Plan
    diagnostics: tuple[Diagnostic, ...]
    facts: Facts = Facts()

    @property
    def errors(self) -> int:
        """Return how many of the diagnostics are errors."""
        return sum(item.severity is Severity.ERROR for item in self.diagnostics)

    @property
    def warnings(self) -> int:
        """Return how many of the diagnostics are warnings."""
        return len(self.diagnostics) - self.errors

    @property
    def doubts(self) -> tuple[Diagnostic, ...]:
        """Return the warnings about the plan as such: whoever approves it must have seen them."""
        return tuple(
            item
            for item in self.diagnostics
            if item.code in _DOUBTS and item.severity is Severity.WARNING
        )

    @property
    def missing_tools(self) -> tuple[Diagnostic, ...]:
        """Return where a contract calls a program that is not there, and that no step brings."""
        return tuple(item for item in self.diagnostics if item.code == missing_tool.RULE.code)

    def missing(self, baseline: Sequence[Verdict] = ()) -> tuple[str, ...]:
        """Return the programs without which a contract cannot run, by its text or a look at it."""
        written = (self.plan.source.slice(item.span) for item in self.missing_tools)
        names = [name.strip("'\"") for name in written]
        names += (item.lacks for item in baseline if item.lacks and not self._brings(item))
        return tuple(dict.fromkeys(names))

    def _brings(self, verdict: Verdict) -> bool:
        """Say whether a step writes or installs what a contract lacks now."""
        from planbound.engine.judging.verdict import Subject as About  # noqa: PLC0415 - seldom
        from planbound.verify.provided import Providers  # noqa: PLC0415
        from planbound.verify.subject import Subject, contract_cases  # noqa: PLC0415

        steps = [step.label for step in self.plan.steps]
        before, after = {About.PRECONDITION: -1}, len(steps)
        place = before.get(verdict.subject, after)
        if verdict.subject is About.STEP:
            place = steps.index(verdict.number)
        subject = Subject(self.plan, self.facts, tuple(contract_cases(self.plan)))
        return Providers(subject).provides(verdict.lacks, place)


def verify(data: bytes, *, path: str, surroundings: Surroundings) -> Verified:
    """Return what is wrong with the plan in a file's content."""
    plan = parse(data, path=path)
    examination = Examination(plan)
    facts = surroundings.answer(examination.questions())
    return Verified(plan, tuple(examination.diagnostics(facts)), facts)
