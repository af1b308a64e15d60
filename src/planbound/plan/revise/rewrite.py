"""Steps in another order, or with one less: the text that says so, checked by reading it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from planbound.plan.digest import step_digest
from planbound.plan.edit import Edit

# Private there, shared with us: a template that is written out renumbers in the same way.
from planbound.plan.expand import _apply, _renumber
from planbound.plan.headings import read_step_heading
from planbound.plan.model import Plan, Step
from planbound.plan.parse import parse_source, slugify, with_ids
from planbound.plan.revise.error import RevisionError, name_of
from planbound.plan.revise.layout import Layout, extents, read_layout
from planbound.plan.revise.links import Link, check_cycles, check_forward, read_links, without
from planbound.plan.revise.references import Renaming, declaration, reference_edits
from planbound.source import Source, Span


class _Target(NamedTuple):
    """What the plan is to become. Places are those of the steps in the plan as it is."""

    order: tuple[int, ...]
    links: tuple[Link, ...]
    """For each place, also for that of a removed step."""
    layout: Layout
    removed: int | None = None


def arrange(plan: Plan, order: Sequence[int]) -> str:
    """Return the plan's text with its steps in another order."""
    if list(order) == list(range(len(plan.steps))):
        return plan.source.text
    check_labels(plan)
    moved = [new for new, old in enumerate(order) if new != old]
    check_templates(plan, range(moved[0], moved[-1] + 1))
    links = read_links(plan)
    check_forward(plan, links, order)
    return _rewrite(plan, _Target(tuple(order), links, read_layout(plan)))


def remove(plan: Plan, place: int) -> str:
    """Return the plan's text without a step."""
    if len(plan.steps) == 1:
        raise RevisionError(f"{name_of(plan.steps[0])} is the only step: reject the plan instead")
    check_labels(plan)
    check_templates(plan, range(place, len(plan.steps)))
    order = tuple(other for other in range(len(plan.steps)) if other != place)
    links = without(read_links(plan), place)
    return _rewrite(plan, _Target(order, links, read_layout(plan).without(place), place))


def check_labels(plan: Plan) -> None:
    """Refuse a plan in which a number means two steps."""
    for label, count in Counter(step.label for step in plan.steps).items():
        if label and count > 1:
            raise RevisionError(
                f"{count} steps have the number {label}: give each its own first, "
                "so that it is clear which one is meant"
            )


def check_templates(plan: Plan, places: range) -> None:
    """Refuse a change of steps that are still to be written out."""
    for place in places:
        if plan.steps[place].is_template:
            raise RevisionError(
                f"{name_of(plan.steps[place])} is a template and in the way: "
                "write it out with `planbound expand` first"
            )


def _check_ids(plan: Plan, order: Sequence[int]) -> None:
    steps = [plan.steps[place] for place in order]
    for old, new in zip(steps, with_ids(tuple(steps)), strict=True):
        if old.id != new.id:
            slug = slugify(old.title)
            same = [step for step in plan.steps if slugify(step.title) == slug]
            names = " and ".join(name_of(step) for step in same)
            raise RevisionError(
                f"{names} have the same title, and a step is known by its title: "
                "give one of them another first"
            )


def _rewrite(plan: Plan, target: _Target) -> str:
    check_cycles(plan, target.links, target.order)
    _check_ids(plan, target.order)
    numbers = _new_numbers(plan, target.order)
    blocks = _blocks(plan, target, numbers)
    problem = None
    wider = target.layout.widened(target.order, len(plan.steps), plan.source.newline)
    for layout in (target.layout, wider):
        text = layout.fill(blocks)
        after = parse_source(Source(path=plan.source.path, text=text))
        found = _difference(plan, after, target)
        if found is None:
            return text
        problem = problem or found
    raise RevisionError(
        f"the plan would not be read as it is meant ({problem}): run `planbound fmt` first"
    )


class StepNumber(NamedTuple):
    """The number of a step: as written in its heading, and as it is referred to."""

    written: str
    label: str


def _new_numbers(plan: Plan, order: Sequence[int]) -> dict[int, StepNumber]:
    """Return the new number of each step that has one.

    The numbers that are there stay in their order, so that plans that begin at 0 or leave one out
    go on to do so; without as many steps the last ones are left out.
    """
    numbers = [number_of(plan, step) for step in plan.steps if step.label]
    return dict(zip((place for place in order if plan.steps[place].label), numbers, strict=False))


def number_of(plan: Plan, step: Step) -> StepNumber:
    """Return the number of a step, as written too."""
    text = plan.source.text[step.heading.start : step.heading.end]
    heading = read_step_heading(text)
    return StepNumber(text[slice(*heading.number_range)] if heading else step.label, step.label)


def _blocks(plan: Plan, target: _Target, numbers: dict[int, StepNumber]) -> list[str]:
    """Return the text of each step that stays, in the new order, with the new numbers in it."""
    renaming = _renaming(plan, target, numbers)
    links = read_links(plan)
    spans = extents(plan)
    blocks = []
    for place in target.order:
        step, span = plan.steps[place], spans[place]
        edits = reference_edits(plan, step, renaming)
        if place in numbers and numbers[place].label != step.label:
            bare = step._replace(depends=None)
            edits += _renumber(plan, bare, {step.label: numbers[place].written}, heading=True)
        wanted = target.links[place].places
        if links[place].places is None and wanted is not None:
            labels = [numbers[other].label if other in numbers else "" for other in wanted]
            edits.append(declaration(plan, step, labels))
        inner = [
            Edit(Span(edit.span.start - span.start, edit.span.end - span.start), edit.text)
            for edit in edits
        ]
        blocks.append(_apply(plan.source.text[span.start : span.end], inner))
    return blocks


def _renaming(plan: Plan, target: _Target, numbers: dict[int, StepNumber]) -> Renaming:
    names = {plan.steps[place].label: number.label for place, number in numbers.items()}
    place = target.removed
    if place is None:
        return Renaming(names)
    waited = read_links(plan)[place].before(place - 1 if place else None, place)
    inherited = tuple(numbers[other].label for other in waited if other in numbers)
    return Renaming(names, plan.steps[place].label, inherited)


def _difference(plan: Plan, after: Plan, target: _Target) -> str | None:
    """Return how the new plan differs from what it should be, None where it does not."""
    order = target.order
    if len(after.steps) != len(order):
        return f"{len(order)} steps would become {len(after.steps)}"
    for place, step in zip(order, after.steps, strict=True):
        old = plan.steps[place]
        if old.id != step.id or step_digest(plan, old) != step_digest(after, step):
            return f"{name_of(old)} would say something else"
        if (old.status and old.status.value) != (step.status and step.status.value):
            return f"{name_of(old)} would have another status"
    for place, link in zip(order, read_links(after), strict=True):
        found = None if link.places is None else {order[other] for other in link.places}
        wanted = target.links[place].places
        if found != (None if wanted is None else set(wanted)):
            return f"{name_of(plan.steps[place])} would depend on other steps"
    if around(plan) != around(after):
        return "the text around the steps would mean something else"
    more = Counter(fault.rule for fault in after.faults)
    more.subtract(Counter(fault.rule for fault in plan.faults))
    new = sorted(rule for rule, count in more.items() if count > 0)
    return f"new faults: {', '.join(new)}" if new else None


def around(plan: Plan) -> tuple[object, ...]:
    """Return what a plan says outside its steps, without the places."""
    conditions = (*plan.preconditions, *plan.postconditions)
    return (
        len(plan.preconditions),
        tuple(condition.statement for condition in conditions),
        tuple(condition.contract is None for condition in conditions),
        plan.objective.value if plan.objective else None,
        plan.notes,
    )
