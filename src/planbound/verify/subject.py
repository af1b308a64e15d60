"""What the rules look at: a plan, the facts, and what is worked out once for all rules."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from planbound.plan.command import Script, read_script
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Command, Condition, Plan, Step
from planbound.plan.slug import SlugError, parse_slug
from planbound.plan.vocabulary import STEP_FIELDS, suggest_field
from planbound.source import Finding, Located, Span
from planbound.verify.facts import Facts
from planbound.verify.graph import Graph


class ContractCase(NamedTuple):
    """A command to be looked at, with the step or condition that it belongs to."""

    owner: Step | Condition
    place: int
    """Of a step: its place in the plan; of a condition: the number of steps."""
    command: Command
    script: Script


class Subject:
    """One plan under examination."""

    def __init__(self, plan: Plan, facts: Facts, contracts: tuple[ContractCase, ...]) -> None:
        self.plan = plan
        self.facts = facts
        self.contracts = contracts
        """Every command of the plan, in order."""

    @cached_property
    def faults(self) -> dict[str, list[Finding]]:
        """What the parser noticed, by the rule that reports it."""
        found: dict[str, list[Finding]] = {}
        for fault in self.plan.faults:
            found.setdefault(fault.rule, []).append(fault.finding)
        return found

    @cached_property
    def graph(self) -> Graph:
        """Which step depends on which."""
        return Graph.of(self.plan)

    @cached_property
    def globs(self) -> dict[str, Glob]:
        """The valid ones among all `touches` of the plan, by text."""
        patterns = [*self.plan.frontmatter.touches]
        patterns += [pattern for step in self.plan.steps for pattern in step.touches or ()]
        return {glob.text: glob for glob in _valid(patterns)}

    def is_misspelt(self, step: Step, name: str) -> bool:
        """Say whether a step has an unknown field that likely is this one."""
        return any(
            field.name not in STEP_FIELDS and suggest_field(field.written, STEP_FIELDS) == name
            for field in step.fields
            if not field.read
        )

    def touches(self, step: Step) -> list[Glob]:
        """Return the valid patterns of what a step may change."""
        return [
            self.globs[pattern.value]
            for pattern in self.plan.touches_of(step)
            if pattern.value in self.globs
        ]


def contract_cases(plan: Plan) -> Iterator[ContractCase]:
    """Yield every command of a plan: preconditions, steps, postconditions."""
    owners: list[tuple[int, Step | Condition]] = [
        *((0, condition) for condition in plan.preconditions),
        *enumerate(plan.steps),
        *((len(plan.steps), condition) for condition in plan.postconditions),
    ]
    for place, owner in owners:
        if isinstance(owner.contract, Command):
            script = read_script(owner.contract.text)
            yield ContractCase(owner=owner, place=place, command=owner.contract, script=script)


def needed_plans(plan: Plan) -> Iterator[tuple[str, Span]]:
    """Yield every plan that a plan still waits for, once, and where it is named."""
    if plan.status.is_finished:
        return
    found: dict[str, Span] = {}
    for item in plan.frontmatter.depends_on:
        try:
            slug = parse_slug(item.value)
        except SlugError:
            slug = item.value
        found.setdefault(slug, item.span)
    yield from found.items()


def _valid(patterns: list[Located[str]]) -> Iterator[Glob]:
    for pattern in patterns:
        try:
            yield parse_glob(pattern.value)
        except GlobError:
            continue
