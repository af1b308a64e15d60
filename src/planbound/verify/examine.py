"""All rules over one plan, in one pass."""

from __future__ import annotations

from planbound.plan.model import Plan, SubscriptionKind
from planbound.source import Diagnostic, diagnose
from planbound.verify.facts import Facts, Questions
from planbound.verify.rules import RULES
from planbound.verify.subject import Subject, contract_cases, needed_plans


class Examination:
    """One plan: what has to be known about the world, then what is wrong with the plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.contracts = tuple(contract_cases(plan))

    def questions(self) -> Questions:
        """Return what has to be known about the world."""
        subscriptions = [item.value for step in self.plan.steps for item in step.subscriptions]
        paths = {item.name for item in subscriptions if item.kind is SubscriptionKind.FILE}
        for case in self.contracts:
            paths.update(reference.path for reference in case.script.files)
        topics = {item.name for item in subscriptions if item.kind is SubscriptionKind.TOPIC}
        tools = {tool.name for case in self.contracts for tool in case.script.tools}
        return Questions(
            path=self.plan.source.path,
            plans=frozenset(slug for slug, _ in needed_plans(self.plan)),
            paths=frozenset(paths),
            topics=frozenset(topics),
            tools=frozenset(tools),
            commands=tuple(dict.fromkeys(case.command.text for case in self.contracts)),
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
