"""What a plan means as one number.

The digest is SHA-256 over a canonical JSON of the meaning. White space outside code, statuses,
line ends and the order of frontmatter keys are not in it; every word of a task, every byte of a
contract, every expectation, limit and order is. What the parser could not read goes in as it was
written, so that nothing can be slipped past an approval by writing it badly.

The form is fixed: a change of it needs a new `VERSION`, and old approvals do not match any more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, assert_never

from planbound.plan.limits import Budget
from planbound.plan.model import (
    Attest,
    CaseTable,
    Command,
    Condition,
    Contains,
    Contract,
    ExitCodeIs,
    Expectation,
    Field,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OnFail,
    OutputIs,
    Plan,
    Prose,
    Rejected,
    Step,
    Words,
)
from planbound.source import Located

VERSION = "planbound-plan-1"
_UNREAD_FAULTS = frozenset(
    {"malformed-contract", "malformed-value", "unknown-dependency", "stray-text"}
)


def digest(plan: Plan) -> str:
    """Return the digest of a plan's meaning, 64 hex digits."""
    return hashlib.sha256(canonical(plan).encode("ascii")).hexdigest()


def canonical(plan: Plan) -> str:
    """Return the canonical JSON of a plan's meaning."""
    return json.dumps(
        [VERSION, _plan(plan)], sort_keys=True, ensure_ascii=True, separators=(",", ":")
    )


def step_digest(plan: Plan, step: Step) -> str:
    """Return the digest of one step's meaning, its number and dependencies left out.

    Two steps with the same one ask for the same work, wherever they stand in a plan.
    """
    meaning = _step(step, ())
    del meaning["label"], meaning["depends"]
    meaning["touches"] = _values(plan.touches_of(step))
    text = json.dumps([VERSION, meaning], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def contract_digest(contract: Contract) -> str:
    """Return what a contract means as 64 hex digits, wherever in a plan it stands."""
    text = json.dumps([VERSION, _contract(contract)], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _plan(plan: Plan) -> dict[str, Any]:
    front = plan.frontmatter
    dependencies = plan.dependencies()
    return {
        "objective": _squeeze(plan.objective.value) if plan.objective else None,
        "preamble": _prose(plan.preamble),
        "context": _prose(plan.context),
        "budget": _budget(plan.budget),
        "priority": plan.priority.value.value if plan.priority else None,
        "owner": front.owner.value if front.owner else None,
        "depends_on": _values(front.depends_on),
        "touches": _values(front.touches),
        "expected_artifacts": _values(front.expected_artifacts),
        "unread": [*map(list, sorted(front.unread)), *_unread(plan.fields)],
        "preconditions": [_condition(condition) for condition in plan.preconditions],
        "steps": [
            _step(step, labels) for step, labels in zip(plan.steps, dependencies, strict=True)
        ],
        "postconditions": [_condition(condition) for condition in plan.postconditions],
        # Expectations and the like that could not be read belong to no value above.
        "faults": [
            [fault.rule, _squeeze(plan.source.slice(fault.finding.span))]
            for fault in plan.faults
            if fault.rule in _UNREAD_FAULTS
        ],
    }


def _step(step: Step, depends: tuple[str, ...]) -> dict[str, Any]:
    return _controls(step.rejects) | {
        "label": step.label,
        "title": _squeeze(step.title),
        "target": _squeeze(step.target.value) if step.target else None,
        "depends": sorted(set(depends)),
        "subscriptions": [[item.value.kind.value, item.value.name] for item in step.subscriptions],
        "touches": None if step.touches is None else _values(step.touches),
        "judges": _values(step.judges),
        "timeout": _number(step.timeout),
        "contract_timeout": _number(step.contract_timeout),
        "budget": _budget(step.budget),
        "baseline": step.baseline.value.value if step.baseline else None,
        "evidence": step.evidence.value.value if step.evidence else None,
        "repeat": step.repeat.value if step.repeat else None,
        "task": _prose(step.task),
        "contract": _contract(step.contract),
        "on_fail": _on_fail(step.on_fail),
        "notes": _prose(step.notes),
        "unread": _unread(step.fields),
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return _controls(condition.rejects) | {
        "statement": condition.statement,
        "contract": _contract(condition.contract),
        "judges": _values(condition.judges),
        "contract_timeout": _number(condition.contract_timeout),
        "evidence": condition.evidence.value.value if condition.evidence else None,
        "repeat": condition.repeat.value if condition.repeat else None,
        "unread": _unread(condition.fields),
    }


def _controls(rejects: Iterable[Rejected]) -> dict[str, Any]:
    # A plan without any means what it meant before there were such.
    found = [["diff", each.text] if each.path is None else ["file", each.path] for each in rejects]
    return {"rejects": found} if found else {}


def _contract(contract: Contract | None) -> Any:
    match contract:
        case None:
            return None
        case Attest():
            return ["attest", contract.statement]
        case Command():
            expectations = [_expectation(item.value) for item in contract.expectations]
            return ["command", contract.language, contract.text, expectations]
        case CaseTable():
            expectations = [_expectation(item.value) for item in contract.expectations]
            return ["check", contract.text, expectations]
        case _:
            assert_never(contract)


def _expectation(expectation: Expectation) -> list[Any]:
    match expectation:
        case ExitCodeIs():
            return ["exit_code", expectation.code]
        case Contains():
            return ["contains", expectation.stream.value, expectation.text]
        case OutputIs():
            return ["stdout", expectation.text]
        case MinimumTests():
            return ["tests", expectation.minimum]
        case MaximumFailures():
            return ["failed", expectation.maximum]
        case NoNewFailures():
            return ["no_new_failures"]
        case _:
            assert_never(expectation)


def _prose(prose: Prose | None) -> Any:
    if prose is None:
        return None
    return [
        part.text if isinstance(part, Words) else [part.info, part.text] for part in prose.parts
    ]


def _unread(fields: Iterable[Field]) -> list[list[str]]:
    # A status is not part of the meaning, however it is written.
    return [
        [field.name, field.text] for field in fields if not field.read and field.name != "status"
    ]


def _values(items: Iterable[Located[str]]) -> list[str]:
    return [item.value for item in items]


def _budget(budget: Located[Budget] | None) -> Any:
    if budget is None:
        return None
    value = budget.value
    return [value.tokens, _plain(value.dollars), _plain(value.seconds)]


def _number(value: Located[Decimal] | None) -> str | None:
    return _plain(value.value) if value else None


def _plain(number: Decimal | None) -> str | None:
    return None if number is None else f"{number.normalize():f}"


def _on_fail(value: Located[OnFail] | None) -> Any:
    return [value.value.retries, value.value.then.value] if value else None


def _squeeze(text: str) -> str:
    return " ".join(text.split())
