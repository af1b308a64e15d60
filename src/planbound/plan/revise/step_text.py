"""A step that is written anew, or one more: the rest of the plan says what it said."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.plan.digest import step_digest
from planbound.plan.edit import Edit, edit_plan
from planbound.plan.headings import read_step_heading
from planbound.plan.model import Plan
from planbound.plan.parse import parse_source
from planbound.plan.revise.error import RevisionError, name_of
from planbound.plan.revise.layout import extents
from planbound.plan.revise.links import check_cycles, read_links
from planbound.plan.revise.rewrite import around, check_labels, check_templates, number_of
from planbound.source import Source, Span
from planbound.source.pattern import lazy_pattern
from planbound.source.text import BOM

_HASHES = lazy_pattern(r" {0,3}(#{1,6})(?=[ \t])")


def step_text(plan: Plan, place: int) -> str:
    """Return the text of a step as it stands in the plan, its heading first."""
    span = extents(plan)[place]
    return plan.source.text[span.start : span.end]


def replace(plan: Plan, place: int, text: str) -> str:
    """Return the plan's text with another text for a step."""
    check_labels(plan)
    span = extents(plan)[place]
    step = plan.steps[place]
    written = number_of(plan, step).written if step.label else ""
    after = _put(plan, span, _block(plan, place, text), place)
    after = _numbered(after, place, step.label, written)
    _check(plan, after, changed=place)
    return after.source.text


def append(plan: Plan, text: str) -> str:
    """Return the plan's text with one more step behind the last one."""
    check_labels(plan)
    if not plan.steps:
        raise RevisionError("the plan has no step that another one could stand beside")
    check_templates(plan, range(len(plan.steps)))
    last, newline = len(plan.steps) - 1, plan.source.newline
    end = extents(plan)[last].end
    block = newline * 2 + _block(plan, last, text)
    after = _put(plan, Span(end, end), block, last + 1)
    if plan.steps[last].label:
        fresh = str(max(step.number or 0 for step in plan.steps) + 1)
        after = _numbered(after, last + 1, fresh, fresh)
    _check(plan, after, changed=None)
    return after.source.text


def _block(plan: Plan, place: int, text: str) -> str:
    """Return a step's text with the line ends and the level of headings that the plan has."""
    plain = text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")
    lines = plain.lstrip().rstrip("\n")
    if not lines:
        raise RevisionError("the text of the step is empty")
    own, there = _HASHES.match(lines), _HASHES.match(step_text(plan, place))
    if own and there:
        lines = there[1] + lines[own.end(1) :]
    return lines.replace("\n", plan.source.newline)


def _put(plan: Plan, span: Span, block: str, place: int) -> Plan:
    """Return the plan with a block in a place, with an empty line behind it where it needs one."""
    count = len(plan.steps) + (span.start == span.end)
    found = len(plan.steps)
    for behind in ("", plan.source.newline):
        text = plan.source.text[: span.start] + block + behind + plan.source.text[span.end :]
        after = parse_source(Source(path=plan.source.path, text=text))
        found = len(after.steps)
        if found == count and after.steps[place].span.start >= span.start:
            return after
    raise RevisionError(
        f"the text has to be one step that begins with its heading, and the plan would have"
        f" {found} steps and not {count}"
    )


def _numbered(plan: Plan, place: int, label: str, written: str) -> Plan:
    """Return the plan with a number in the heading of a step."""
    step = plan.steps[place]
    if step.label == label:
        return plan
    heading = read_step_heading(plan.source.text[step.heading.start : step.heading.end])
    if heading is None:
        start = step.heading.start
        return edit_plan(plan, [Edit(Span(start, start), f"{written}. ")])
    first, last = (step.heading.start + place for place in heading.number_range)
    return edit_plan(plan, [Edit(Span(first, last), written)])


def _check(plan: Plan, after: Plan, *, changed: int | None) -> None:
    """Refuse a text that changes more than its own step, or lets steps wait for each other."""
    problem = next(_differences(plan, after, changed), None)
    if problem is not None:
        raise RevisionError(f"the plan would not be read as it is meant: {problem}")
    check_cycles(after, read_links(after), range(len(after.steps)))


def _differences(plan: Plan, after: Plan, changed: int | None) -> Iterator[str]:
    links, new_links = read_links(plan), read_links(after)
    for place, (old, new) in enumerate(zip(plan.steps, after.steps, strict=False)):
        if place == changed:
            continue
        if old.id != new.id:
            yield f"{name_of(old)} would have the title of another step, and is known by it"
        elif old.label != new.label or step_digest(plan, old) != step_digest(after, new):
            yield f"{name_of(old)} would say something else"
        elif (old.status and old.status.value) != (new.status and new.status.value):
            yield f"{name_of(old)} would have another status"
        elif links[place] != new_links[place]:
            yield f"{name_of(old)} would depend on other steps"
    if around(plan) != around(after):
        yield "the text around the steps would mean something else"
