"""A plan in our language, of what an agent gave; the parser decides whether it says just that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.engine.adopt.prose import softened
from planbound.engine.loop.given import GivenCondition, GivenPlan, GivenStep
from planbound.engine.prompt import fenced
from planbound.errors import UsageError
from planbound.plan.model import Command, Condition, Plan, Step
from planbound.plan.parse import parse
from planbound.source import Located

_HEAD = """\
---
type: plan
status: draft
owner: agent
---

# {objective}

"""


def write_plan(given: GivenPlan) -> str:
    """Return the text of a plan; raise UsageError where it would say something else."""
    for tasks in (softened, lambda text: fenced(text, "markdown")):
        text = _HEAD.format(objective=given.objective)
        if given.preconditions:
            text += _section("Preconditions", given.preconditions) + "\n"
        text += "## Steps\n\n" + "\n".join(
            _step(number, step, tasks(step.task or step.title))
            for number, step in enumerate(given.steps, 1)
        )
        if given.postconditions:
            text += "\n" + _section("Postconditions", given.postconditions)
        plan = parse(text.encode("utf-8", "replace"), path="PLAN.md")
        wrong = next(_differences(plan, given), None)
        if wrong is None:
            return text
    raise UsageError(
        f"the plan cannot be written as it was given: {wrong}", hint="use plainer words in it"
    )


def _step(number: int, step: GivenStep, task: str) -> str:
    lines = [f"### {number}. {step.title}", "", f"**target:** {step.target}"]
    if step.depends is not None:
        lines.append(f"**depends:** {', '.join(step.depends) or 'none'}")
    if step.touches:
        lines += ["**touches:**", *(f"- {each}" for each in step.touches)]
    lines += ["", "**task:**", task, ""]
    if step.contract is not None:
        lines += ["**contract:**", fenced(step.contract, "shell"), *step.expect]
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, conditions: Sequence[GivenCondition]) -> str:
    listed = (_condition(number, each) for number, each in enumerate(conditions, 1))
    return f"## {title}\n\n" + "\n".join(listed)


def _condition(number: int, condition: GivenCondition) -> str:
    indent = " " * (len(str(number)) + 2)
    lines = [f"{number}. {condition.statement}"]
    if condition.contract is not None:
        body = [*fenced(condition.contract, "shell").split("\n"), *condition.expect]
        lines += [f"{indent}{line}".rstrip() for line in body]
    return "\n".join(lines) + "\n"


def _differences(plan: Plan, given: GivenPlan) -> Iterator[str]:
    """Yield what the parser makes of it that was not meant."""
    found = plan.objective.value if plan.objective else ""
    if found != given.objective:
        yield "the objective"
    if len(plan.steps) != len(given.steps):
        yield f"{len(given.steps)} steps would become {len(plan.steps)}"
        return
    for each, step in zip(given.steps, plan.steps, strict=True):
        yield from _step_differences(each, step)
    yield from _condition_differences("precondition", given.preconditions, plan.preconditions)
    yield from _condition_differences("postcondition", given.postconditions, plan.postconditions)
    for fault in plan.faults:
        yield f"{fault.rule} in it"


def _condition_differences(
    kind: str, given: Sequence[GivenCondition], found: Sequence[Condition]
) -> Iterator[str]:
    if len(found) != len(given):
        yield f"{len(given)} {kind}s would become {len(found)}"
        return
    for each, condition in zip(given, found, strict=True):
        held = condition.contract
        command = held.text if isinstance(held, Command) else held
        expected = len(held.expectations) if isinstance(held, Command) else 0
        same = (condition.statement, command, expected)
        if same != (each.statement, each.contract, len(each.expect)):
            yield f"{kind} {condition.number}"


def _step_differences(given: GivenStep, step: Step) -> Iterator[str]:
    command: object = step.contract
    expected = 0
    if isinstance(step.contract, Command):
        command, expected = step.contract.text, len(step.contract.expectations)
    if step.title != given.title or step.status is not None:
        yield f"the title of step {step.label}"
    if (command, expected) != (given.contract, len(given.expect)):
        yield f"the contract of step {step.label}"
    if _values(step.touches) != (given.touches or None):
        yield f"`touches` of step {step.label}"
    if _values(step.depends) != given.depends:
        yield f"`depends` of step {step.label}"
    if step.target is None or step.target.value != given.target:
        yield f"`target` of step {step.label}"


def _values(items: tuple[Located[str], ...] | None) -> tuple[str, ...] | None:
    return None if items is None else tuple(item.value for item in items)
