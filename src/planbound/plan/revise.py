"""Changes that a person makes to a plan at the gate: steps go, come, change places or text.

Each change is made in the plan's text. A step moves with its whole block, its status marks and
its own words; numbers of steps are written anew in headings, in `(depends on …)` and in
`**depends:**`; every other byte stays. Numbers in free text ("as in step 2") are the author's
words and stay too. A step keeps its id, and its meaning but for number and dependencies.

A declared dependency follows the step that it means. A step that declares none depends on the
step before it, and so on the one before it in the new order.

Steps are named by number (`3`) or by id. What cannot be done is a `RevisionError`; the text that
is returned was parsed again and found to be what was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from planbound.plan.digest import step_digest
from planbound.plan.edit import Edit, edit_plan
from planbound.plan.model import Plan, normalise_label
from planbound.plan.outline import read_step_heading
from planbound.plan.parse import parse_source
from planbound.plan.rewrite import (
    RevisionError,
    around,
    arrange,
    check_cycles,
    check_labels,
    check_templates,
    extents,
    name_of,
    number_of,
    read_links,
    remove,
)
from planbound.source import BOM, Source, Span, lazy_pattern

# -- A step that is written anew, or one more: the rest of the plan says what it said ------------


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


# -- changes that a person makes to a plan at the gate: steps go, come, change places or text ----


_SHOWN = 20


def remove_step(plan: Plan, label: str) -> str:
    """Return the plan's text without a step, the later ones renumbered.

    Steps that depended on it depend on what it depended on. That holds as well for a step that
    only stood behind it: where "the step before this one" would say something else from now on,
    `(depends on …)` is written into its title.
    """
    return remove(plan, _place(plan, label))


def move_step(
    plan: Plan, label: str, *, before: str | None = None, after: str | None = None
) -> str:
    """Return the plan's text with a step in another place, and all steps renumbered.

    `before="first"` is the beginning; `after="last"`, or no place at all, the end. A declared
    dependency follows the step that it means; a step that declares none depends on the one that
    stands before it in the new order, so a move can change what it and its neighbours wait for.
    """
    if before is not None and after is not None:
        raise RevisionError("a step is moved before a step or after one, not both")
    moved = _place(plan, label)
    others = [place for place in range(len(plan.steps)) if place != moved]
    if before == "first":
        position = 0
    elif before is not None:
        position = _position(plan, before, moved)
    elif after is None or after == "last":
        position = len(others)
    else:
        position = _position(plan, after, moved, behind=1)
    return arrange(plan, [*others[:position], moved, *others[position:]])


def replace_step(plan: Plan, label: str, text: str) -> str:
    """Return the plan's text with another text for a step; its number stays.

    The text is one step with its heading, and names other steps by the numbers that they have.
    """
    return replace(plan, _place(plan, label), text)


def add_step(plan: Plan, text: str, *, before: str | None = None, after: str | None = None) -> str:
    """Return the plan's text with one more step, and all steps renumbered.

    The place is said as for `move_step`. Whatever number the text has, it gets the one of its
    place; it names other steps by the numbers that they have before it comes. The step behind it
    depends on it, unless it says otherwise.
    """
    added = parse_source(Source(path=plan.source.path, text=append(plan, text)))
    own = added.steps[-1]
    return move_step(added, own.label or own.id, before=before, after=after)


def swap_steps(plan: Plan, first: str, second: str) -> str:
    """Return the plan's text with two steps in each other's place."""
    left, right = _place(plan, first), _place(plan, second)
    order = list(range(len(plan.steps)))
    order[left], order[right] = right, left
    return arrange(plan, order)


def reorder_steps(plan: Plan, order: Sequence[str]) -> str:
    """Return the plan's text with its steps in a new order, which names each exactly once."""
    places = _places(plan, order)
    named = Counter(places)
    for place, step in enumerate(plan.steps):
        if named[place] != 1:
            reason = "in the new order more than once" if named[place] else "not in the new order"
            raise RevisionError(f"{name_of(step)} is {reason}: name every step exactly once")
    return arrange(plan, places)


def _position(plan: Plan, label: str, moved: int, *, behind: int = 0) -> int:
    """Return the place among the other steps; next to itself a step stays where it is."""
    place = _place(plan, label)
    if place == moved:
        return moved
    return place + behind - (1 if place > moved else 0)


def _place(plan: Plan, name: str) -> int:
    return _places(plan, [name])[0]


def _places(plan: Plan, names: Sequence[str]) -> list[int]:
    """Return the places of the steps with these numbers or, failing that, these ids."""
    backwards = list(enumerate(plan.steps))[::-1]  # of two with the same name the first is meant
    labels = {step.label: place for place, step in backwards if step.label}
    ids = {step.id: place for place, step in backwards}
    found = []
    for name in names:
        place = labels.get(normalise_label(name), ids.get(name))
        if place is None:
            known = [step.label or step.id for step in plan.steps]
            shown = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
            reason = f"its steps are {shown}" if known else "it has no steps"
            raise RevisionError(f"the plan has no step `{name}`: {reason}")
        found.append(place)
    return found
