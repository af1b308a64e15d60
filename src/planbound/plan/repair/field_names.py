"""Labels as `**on_fail:** value`: the name as the language spells it, the colon inside."""

from __future__ import annotations

from itertools import chain

from planbound.plan.edit import Edit
from planbound.plan.model import Condition, Field, Plan, Step
from planbound.plan.vocabulary import CONDITION_FIELDS, STEP_FIELDS
from planbound.source import Span


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that spell the labels of known fields as the language does."""
    owners: chain[Step | Condition] = chain(plan.steps, plan.preconditions, plan.postconditions)
    edits = [edit for owner in owners for field in owner.fields for edit in _label(plan, field)]
    return edits + [edit for field in plan.fields for edit in _colon(plan, field)]


def _label(plan: Plan, field: Field) -> list[Edit]:
    if field.name not in {*STEP_FIELDS, *CONDITION_FIELDS}:
        return []
    return _rewrite(plan, field, field.name)


def _colon(plan: Plan, field: Field) -> list[Edit]:
    """Keep the author's spelling of the plan's own fields: `**Context:**` is usual."""
    return _rewrite(plan, field, field.written)


def _rewrite(plan: Plan, field: Field, name: str) -> list[Edit]:
    text = plan.source.text
    written = text[field.label.start : field.label.end]
    if field.name == "status" and not written.rstrip("*_").endswith((":", "：")):
        return []  # `**status: done**` holds its value
    edits = []
    if written != f"**{name}:**":
        edits.append(Edit(field.label, f"**{name}:**"))
    after = text[field.label.end : field.label.end + 1]
    if after and not after.isspace():
        edits.append(Edit(Span(field.label.end, field.label.end), " "))
    return edits
