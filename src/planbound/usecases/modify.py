"""Change a plan as somebody at the gate says; what comes of it has to be looked at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import assert_never

from planbound.engine.gate.decision import Add, Edit, Move, Remove, Reorder, Skip, Swap
from planbound.engine.run.layout import needed_by
from planbound.errors import Refused, UsageError
from planbound.plan.edit import set_plan_status
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.plan.revise import (
    RevisionError,
    add_step,
    move_step,
    remove_step,
    reorder_steps,
    replace_step,
    swap_steps,
)
from planbound.source import Diagnostic, Severity
from planbound.usecases.verify import Verified

TextChange = Remove | Move | Swap | Reorder | Edit | Add
"""A change of the plan's text; skipping a step leaves it as it is."""


def modify(plan: Plan, changes: Sequence[TextChange], text: str | None = None) -> Plan:
    """Return the plan with the changes made; raise Refused, with the reason, where one cannot be.

    `text` is that of the one step that is edited or added.
    """
    written = sum(isinstance(change, Edit | Add) for change in changes)
    if written > 1:
        raise UsageError("one step is edited or added at a time")
    if written and text is None:
        raise UsageError(
            "what should the step say?", hint="give its text with `--with FILE`; `-` is the input"
        )
    ids = {step.label: step.id for step in plan.steps}
    path = plan.source.path
    try:
        for change in changes:
            plan = parse(_revised(plan, change, ids, text or ""), path=path)
    except RevisionError as error:
        raise Refused(f"the plan cannot be changed like that: {error}") from error
    return set_plan_status(plan, PlanStatus.DRAFT) if plan.status is not PlanStatus.DRAFT else plan


def _revised(plan: Plan, change: TextChange, ids: dict[str, str], text: str) -> str:
    match change:
        case Remove():
            return remove_step(plan, ids[change.step])
        case Swap():
            return swap_steps(plan, ids[change.first], ids[change.second])
        case Reorder():
            return reorder_steps(plan, [ids[label] for label in change.order])
        case Edit():
            return replace_step(plan, ids[change.step], text)
        case Move() | Add():
            anchor = ids.get(change.anchor, change.anchor)
            before, after = (None, anchor) if change.after else (anchor, None)
            if isinstance(change, Add):
                return add_step(plan, text, before=before, after=after)
            return move_step(plan, ids[change.step], before=before, after=after)
        case _:
            assert_never(change)


def say_change(change: TextChange | Skip) -> str:  # noqa: PLR0911 - one for each change
    """Return a change in the words in which it is recorded."""
    match change:
        case Skip():
            return f"skip {change.step}"
        case Remove():
            return f"remove {change.step}"
        case Edit():
            return f"edit {change.step}"
        case Swap():
            return f"swap {change.first} and {change.second}"
        case Reorder():
            return f"reorder {', '.join(change.order)}"
        case Move() | Add():
            what = f"move {change.step}" if isinstance(change, Move) else "add"
            if change.anchor in {"first", "last"}:
                return f"{what} {change.anchor}"
            return f"{what} {'after' if change.after else 'before'} {change.anchor}"
        case _:
            assert_never(change)


def new_errors(before: Verified, after: Verified) -> list[Diagnostic]:
    """Return the errors that a change brought: of each kind, where there are more than before."""
    errors = [item for item in after.diagnostics if item.severity is Severity.ERROR]
    more = Counter(item.code for item in errors)
    more.subtract(item.code for item in before.diagnostics if item.severity is Severity.ERROR)
    return [item for item in errors if more[item.code] > 0]


def refuse_needed(plan: Plan, labels: Sequence[str]) -> None:
    """Refuse to skip steps that another one, which is not skipped, declares to need."""
    held = needed_by(plan, labels)
    for step in held:
        needed = [item.value for item in step.depends or () if item.value in labels]
        if needed:
            both = "both" if len(held) == 1 else f"{', '.join(each.label for each in held)}, too"
            raise Refused(
                f"step {needed[0]} cannot be skipped: step {step.label} depends on it",
                hint=f"remove it from the plan, or skip {both}",
            )
