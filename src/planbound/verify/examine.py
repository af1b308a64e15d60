"""All rules over one plan, in one pass."""

from __future__ import annotations

from msgspec import Struct

from planbound.errors import UsageError
from planbound.plan.check import read_table
from planbound.plan.model import Plan, SubscriptionKind
from planbound.plan.vocabulary import nearest
from planbound.source import Diagnostic, Severity, diagnose
from planbound.verify.facts import Facts, WorldQuestions
from planbound.verify.rules import RULES
from planbound.verify.rules.contracts import missing_tool
from planbound.verify.rules.evidence import told_to_edit_judge
from planbound.verify.rules.steps import step_count, vague_task
from planbound.verify.subject import (
    Rule,
    Subject,
    checks_of,
    contract_cases,
    controls_of,
    needed_plans,
    started_cases,
)

# -- all rules over one plan, in one pass --------------------------------------------------------


class Examination:
    """One plan: what has to be known about the world, then what is wrong with the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.contracts = tuple(contract_cases(plan))

    def questions(self) -> WorldQuestions:
        """Return what has to be known about the world."""
        subscriptions = [item.value for step in self.plan.steps for item in step.subscriptions]
        paths = {item.name for item in subscriptions if item.kind is SubscriptionKind.FILE}
        for case in self.contracts:
            paths.update(reference.path for reference in case.script.files)
        topics = {item.name for item in subscriptions if item.kind is SubscriptionKind.TOPIC}
        started = tuple(started_cases(self.plan))
        tools = {tool.name for case in (*self.contracts, *started) for tool in case.script.tools}
        tables = (read_table(check.text) for check in checks_of(self.plan))
        return WorldQuestions(
            path=self.plan.source.path,
            plans=frozenset(slug for slug, _ in needed_plans(self.plan)),
            paths=frozenset(paths),
            topics=frozenset(topics),
            tools=frozenset(tools),
            commands=tuple(
                dict.fromkeys(case.command.text for case in (*self.contracts, *started))
            ),
            held_out=frozenset(table.held_out for table in tables if table.held_out is not None),
            patches=tuple((each.path, each.text) for _, each in controls_of(self.plan)),
        )

    def diagnostics(self, facts: Facts) -> list[Diagnostic]:
        """Return everything that is wrong, in the order of the file."""
        subject = Subject(self.plan, facts, self.contracts)
        found = [
            diagnose(
                finding,
                source=self.plan.source,
                code=rule.code,
                rule=rule.name,
                severity=rule.severity_for(facts.profile),
            )
            for rule in RULES
            for finding in rule.check(subject)
        ]
        return sorted(found, key=lambda diagnostic: (diagnostic.span.start, diagnostic.code))


# -- say everything that is wrong with a plan, without running anything --------------------------


_DOUBTS = frozenset({step_count.code, vague_task.code, told_to_edit_judge.code})


class Verified(Struct, frozen=True):
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
        return tuple(item for item in self.diagnostics if item.code == missing_tool.code)


# -- tell what a rule is about -------------------------------------------------------------------


def find_rule(code: str) -> Rule:
    """Return the rule of a code or name."""
    wanted = code.strip().upper()
    for rule in RULES:
        if wanted in {rule.code, rule.name.upper()}:
            return rule
    near = nearest(code, [*(rule.code for rule in RULES), *(rule.name for rule in RULES)])
    hint = f"did you mean `{near}`?" if near else "`planbound explain` lists all rules"
    raise UsageError(f"there is no rule `{code}`", hint=hint)


def documentation(rule: Rule) -> str:
    """Return the page of a rule."""
    return rule.page
