"""A plan as data for programs: the shape of `show --json`."""

from __future__ import annotations

from typing import Any, assert_never

from planbound.plan.digest import digest
from planbound.plan.limits import Budget, format_duration
from planbound.plan.model import (
    Attest,
    Command,
    Condition,
    Contains,
    Contract,
    ExitCodeIs,
    Expectation,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OnFail,
    OutputIs,
    Plan,
    Step,
)
from planbound.source import Located

DEFAULT_TARGET = "coder"
DEFAULT_TIMEOUT = "10m"
DEFAULT_CONTRACT_TIMEOUT = "5m"


def as_data(plan: Plan, *, slug: str, path: str, revision: int) -> dict[str, Any]:
    """Return a plan as plain data."""
    front = plan.frontmatter
    dependencies = plan.dependencies()
    return {
        "slug": slug,
        "path": path,
        "status": plan.status.value,
        "revision": revision,
        "digest": digest(plan),
        "objective": plan.objective.value if plan.objective else None,
        "context": plan.context.text if plan.context else None,
        "owner": front.owner.value if front.owner else None,
        "priority": plan.priority.value.value if plan.priority else None,
        "budget": _budget(plan.budget.value) if plan.budget else None,
        "depends_on": [item.value for item in front.depends_on],
        "touches": [item.value for item in front.touches],
        "expected_artifacts": [item.value for item in front.expected_artifacts],
        "preconditions": [_condition(condition) for condition in plan.preconditions],
        "steps": [
            _step(step, labels, plan.touches_of(step))
            for step, labels in zip(plan.steps, dependencies, strict=True)
        ],
        "postconditions": [_condition(condition) for condition in plan.postconditions],
    }


def expectation_text(expectation: Expectation) -> str:
    """Return an expectation as it is written in a plan."""
    match expectation:
        case ExitCodeIs():
            return f"exit_code == {expectation.code}"
        case Contains():
            return f"{expectation.stream.value} contains {_quoted(expectation.text)}"
        case OutputIs():
            return f"stdout == {_quoted(expectation.text)}"
        case MinimumTests():
            return f"tests >= {expectation.minimum}"
        case MaximumFailures():
            return f"failed <= {expectation.maximum}"
        case NoNewFailures():
            return "no new failures"
        case _:
            assert_never(expectation)


def on_fail_text(on_fail: OnFail) -> str:
    """Return the answer to a failure as it is written in a plan."""
    if on_fail.retries == 0:
        return on_fail.then.value
    return f"retry({on_fail.retries}), then {on_fail.then.value}"


def _step(
    step: Step, depends: tuple[str, ...], touches: tuple[Located[str], ...]
) -> dict[str, Any]:
    timeout = step.contract_timeout
    return {
        "number": step.number if step.number is not None else step.label or None,
        "id": step.id,
        "title": step.title,
        "template": step.is_template,
        "target": step.target.value if step.target else DEFAULT_TARGET,
        "status": step.status.value.value if step.status else "pending",
        "depends": [int(label) if label.isdecimal() else label for label in depends],
        "subscriptions": [
            f"{item.value.kind.value}:{item.value.name}" for item in step.subscriptions
        ],
        "touches": [item.value for item in touches],
        "judges": [item.value for item in step.judges],
        "timeout": format_duration(step.timeout.value) if step.timeout else DEFAULT_TIMEOUT,
        "contract_timeout": format_duration(timeout.value) if timeout else DEFAULT_CONTRACT_TIMEOUT,
        "budget": _budget(step.budget.value) if step.budget else None,
        "baseline": step.baseline.value.value if step.baseline else "any",
        "evidence": step.evidence.value.value if step.evidence else None,
        "repeat": step.repeat.value if step.repeat else 1,
        "task": step.task.text if step.task else None,
        "contract": _contract(step.contract),
        "on_fail": on_fail_text(step.on_fail.value if step.on_fail else OnFail()),
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "number": condition.number,
        "statement": condition.statement,
        "contract": _contract(condition.contract),
    }


def _contract(contract: Contract | None) -> dict[str, Any] | None:
    match contract:
        case None:
            return None
        case Attest():
            return {"kind": "attest", "statement": contract.statement}
        case Command():
            return {
                "kind": "command",
                "command": contract.text,
                "language": contract.language,
                "expectations": [expectation_text(item.value) for item in contract.expectations]
                or ["exit_code == 0"],
            }
        case _:
            assert_never(contract)


def _budget(budget: Budget) -> dict[str, Any]:
    return {
        "tokens": budget.tokens,
        "dollars": float(budget.dollars) if budget.dollars is not None else None,
        "seconds": float(budget.seconds) if budget.seconds is not None else None,
    }


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'
