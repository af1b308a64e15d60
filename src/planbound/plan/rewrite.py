"""Steps in another order, or with one less: the text that says so, checked by reading it again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from planbound.plan.digest import step_digest
from planbound.plan.edit import Edit
from planbound.plan.expand import _apply, _renumber
from planbound.plan.model import Plan, Step, read_references
from planbound.plan.outline import read_step_heading
from planbound.plan.parse import parse_source, slugify, with_ids
from planbound.plan.values import unquoted
from planbound.source import BOM, Source, Span, lazy_pattern

# -- why a change of a plan is refused -----------------------------------------------------------


class RevisionError(ValueError):
    """A change that cannot be made; `reason` says why, for the person who asked for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def name_of(step: Step) -> str:
    """Return how a person knows a step: `step 3`, or by its title where it has no number."""
    return f"step {step.label}" if step.label else f"step `{step.title or step.id}`"


# -- the steps of a plan as blocks of text, and the text between them ----------------------------


_BLANK_LINES = lazy_pattern(r"(?:[ \t]*(?:\r\n|\n|\r))*")
_BLANK_LINE_AT_END = lazy_pattern(r"(?:\n|\r(?!\n))[ \t]*(?:\r\n|\n|\r)$")
_BLANK_LINE_AT_FRONT = lazy_pattern(r"(?:\r\n|\n|\r(?!\n))[ \t]*(?:\n|\r)")


class TextAround(NamedTuple):
    """The text around the steps: before the first, between them, behind the last."""

    gaps: tuple[str, ...]

    def without(self, place: int) -> TextAround:
        """Return the text around the steps when one of them is not there any more."""
        before, behind = self.gaps[place], self.gaps[place + 1]
        is_last = place == len(self.gaps) - 2
        if is_last and place and not before.strip():
            joined = behind
        elif not is_last and not behind.strip():
            joined = before
        else:
            blank = _BLANK_LINES.match(behind)
            joined = before + behind[blank.end() if blank else 0 :]
        return TextAround((*self.gaps[:place], joined, *self.gaps[place + 2 :]))

    def widened(self, order: Sequence[int], count: int, newline: str) -> TextAround:
        """Return the layout with an empty line wherever a step has got another neighbour.

        `order` holds the old places of the steps, `count` says how many there were.
        A title that is underlined, or a step that ends with HTML, needs one to stay what it is.
        """
        gaps = list(self.gaps)
        for position, place in enumerate(order):
            if place != (order[position - 1] + 1 if position else 0):
                gaps[position] = _widened(gaps[position], newline, front=bool(position), end=True)
        if order[-1] != count - 1:
            gaps[-1] = _widened(gaps[-1], newline, front=True, end=False)
        return TextAround(tuple(gaps))

    def fill(self, blocks: Sequence[str]) -> str:
        """Return the text with these blocks in the places of the steps."""
        parts = [self.gaps[0]]
        for block, gap in zip(blocks, self.gaps[1:], strict=True):
            parts += [block, gap]
        return "".join(parts)


def _widened(gap: str, newline: str, *, front: bool, end: bool) -> str:
    """Return a gap with an empty line at its ends, one for both where it holds nothing else."""
    if not gap:
        return gap
    if end and not _BLANK_LINE_AT_END.search(gap):
        gap += newline
    if front and gap.strip() and not _BLANK_LINE_AT_FRONT.match(gap):
        gap = newline + gap
    return gap


def extents(plan: Plan) -> tuple[Span, ...]:
    """Return where each step stands, a byte order mark left out."""
    first = len(BOM) if plan.source.text.startswith(BOM) else 0
    return tuple(Span(max(first, step.span.start), step.span.end) for step in plan.steps)


def read_layout(plan: Plan) -> TextAround:
    """Return the text around the steps of a plan."""
    text = plan.source.text
    spans = extents(plan)
    ends = [0, *(span.end for span in spans)]
    starts = [*(span.start for span in spans), len(text)]
    return TextAround(tuple(text[end:start] for end, start in zip(ends, starts, strict=True)))


# -- which step depends on which: by place in the plan and not by number, so that numbers may chan


class Link(NamedTuple):
    """What one step says of its dependencies."""

    places: tuple[int, ...] | None
    """Places of steps; None: the step before this one."""
    unknown: bool = False
    """Whether it also names steps that are not there."""

    def before(self, previous: int | None, own: int) -> tuple[int, ...]:
        """Return the steps that this one waits for."""
        found = tuple(place for place in self.places or () if place != own)
        # A step whose dependencies are all unknown is not free of them: it waits.
        if self.places is None or (self.unknown and not found):
            return () if previous is None else (previous,)
        return found


def read_links(plan: Plan) -> tuple[Link, ...]:
    """Return the link of each step."""
    place_of = {step.label: place for place, step in enumerate(plan.steps) if step.label}
    links = []
    for step in plan.steps:
        if step.depends is None:
            links.append(Link(None))
            continue
        labels = dict.fromkeys(item.value for item in step.depends)
        known = tuple(place_of[label] for label in labels if label in place_of)
        links.append(Link(known, unknown=len(known) < len(labels)))
    return tuple(links)


def without(links: Sequence[Link], removed: int) -> tuple[Link, ...]:
    """Return the links when a step goes: who waited for it waits for what it waited for.

    A step without declared dependencies keeps to its "the step before this one" where that says
    the same; else its dependencies must be declared from now on.
    """
    before = removed - 1 if removed else None
    inherited = links[removed].before(before, removed)
    result = []
    for place, link in enumerate(links):
        if link.places is not None and removed in link.places:
            merged = dict.fromkeys(
                new
                for old in link.places
                for new in (inherited if old == removed else (old,))
                if new != place or old != removed
            )
            result.append(link._replace(places=tuple(merged)))
        elif link.places is None and place == removed + 1:
            wanted = tuple(item for item in inherited if item != place)
            same = wanted == (() if before is None else (before,))
            result.append(link if same else Link(tuple(sorted(wanted))))
        else:
            result.append(link)
    return tuple(result)


def check_forward(plan: Plan, links: Sequence[Link], order: Sequence[int]) -> None:
    """Refuse an order that puts a step before one that it depends on.

    Where the plan had it so already, it is not this change that makes it wrong.
    """
    new_place = {old: new for new, old in enumerate(order)}
    for old in order:
        for other in links[old].places or ():
            if other < old and new_place[other] > new_place[old]:
                first, second = name_of(plan.steps[old]), name_of(plan.steps[other])
                raise RevisionError(f"{first} depends on {second}, which would come after it")


def check_cycles(plan: Plan, links: Sequence[Link], order: Sequence[int]) -> None:
    """Refuse an order in which steps wait for each other."""
    graph = {}
    previous = None
    for old in order:
        graph[old] = links[old].before(previous, old)
        previous = old
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # Each step of the path comes before the next: turned round, each waits for the next.
        path = [name_of(plan.steps[place]) for place in reversed(error.args[1])]
        waits = ", ".join(f"{first} would wait for {second}" for first, second in pairwise(path))
        raise RevisionError(f"steps would wait for each other: {waits}") from None


# -- the references of one step to others, rewritten where they stand ----------------------------


_RANGE = lazy_pattern(r"\d+(?P<between>\D+)\d+")
_BULLET = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


class Renaming(NamedTuple):
    """How labels are written from now on."""

    names: Mapping[str, str]
    """The new label for each old one; labels of steps that are not there are not in it."""
    removed: str = ""
    inherited: tuple[str, ...] = ()
    """New labels of what the removed step waited for."""


class _Token(NamedTuple):
    """One number or range in a list of references."""

    span: Span
    labels: tuple[str, ...]


def reference_edits(plan: Plan, step: Step, renaming: Renaming) -> list[Edit]:
    """Return the edits that let a step name the same steps as before."""
    tokens = list(_tokens(plan.source, step))
    wanted = _new_labels(step, tokens, renaming)
    edits: list[Edit] = []
    for inside in (True, False):
        listed = [
            (token, labels)
            for token, labels in zip(tokens, wanted, strict=True)
            if (token.span.end <= step.heading.end) is inside
        ]
        edits += _list_edits(plan.source, listed)
    return edits


def _tokens(source: Source, step: Step) -> Iterator[_Token]:
    # A reference in backticks, or broken over two lines, has the place of the whole item.
    for span in dict.fromkeys(item.span for item in step.depends or ()):
        text = source.text[span.start : span.end]
        value = unquoted(" ".join(text.split()))
        shift = text.find(value)
        labels, _ = read_references(value if shift >= 0 else text)
        start = span.start + max(shift, 0)
        places: dict[Span, list[str]] = {}
        for label, first, last in labels:
            places.setdefault(Span(start + first, start + last), []).append(label)
        for place, found in places.items():
            yield _Token(place, tuple(found))


def _new_labels(step: Step, tokens: list[_Token], renaming: Renaming) -> list[tuple[str, ...]]:
    """Return for each token the labels to write; what is named already is not named again."""
    named = {
        renaming.names.get(label, label)
        for token in tokens
        for label in token.labels
        if label != renaming.removed
    }
    named.add(renaming.names.get(step.label, step.label))
    result = []
    for token in tokens:
        labels: list[str] = []
        for label in token.labels:
            if not renaming.removed or label != renaming.removed:
                labels.append(renaming.names.get(label, label))
                continue
            fresh = [name for name in renaming.inherited if name not in named]
            named.update(fresh)
            labels += fresh
        result.append(tuple(labels))
    return result


def _list_edits(source: Source, listed: list[tuple[_Token, tuple[str, ...]]]) -> list[Edit]:
    """Return the edits of one list of references."""
    edits = []
    gone: list[Span] = []
    nothing = all(not labels for _, labels in listed)
    last: _Token | None = None
    for index, (token, labels) in enumerate(listed):
        if labels or (nothing and not index):
            last = token
            new = _write(source, token, labels) if labels else "none"
            if new is not None:
                edits.append(Edit(token.span, new))
            continue
        following = listed[index + 1][0] if index + 1 < len(listed) else None
        line = _own_line(source, token, [other for other, _ in listed])
        if line:
            gone.append(line)
        elif last:
            gone.append(Span(last.span.end, token.span.end))
        elif following:
            gone.append(Span(token.span.start, following.span.start))
    return edits + [Edit(span, "") for span in _merged(gone)]


def _write(source: Source, token: _Token, labels: tuple[str, ...]) -> str | None:
    """Return what to write for a token, None where it says the right thing already."""
    if set(labels) == set(token.labels):
        return None
    ordered = sorted(dict.fromkeys(labels), key=lambda label: (not label.isdecimal(), _size(label)))
    written = _RANGE.fullmatch(source.text, token.span.start, token.span.end)
    sizes = [_size(label) for label in ordered]
    if written and len(sizes) > 1 and sizes == list(range(sizes[0], sizes[0] + len(sizes))):
        return f"{ordered[0]}{written['between']}{ordered[-1]}"
    return ", ".join(ordered)


def _size(label: str) -> int:
    return int(label) if label.isdecimal() else 0


def _own_line(source: Source, token: _Token, tokens: Sequence[_Token]) -> Span | None:
    """Return the line of a token that is the only one in its list item, with the end before it."""
    line = source.position(token.span.start)[0] - 1
    alone = all(
        other == token or source.position(other.span.start)[0] - 1 != line for other in tokens
    )
    if not line or not alone or not _BULLET.match(source.lines[line]):
        return None
    return Span(source.line_span(line - 1).end, source.line_span(line).end)


def _merged(spans: list[Span]) -> list[Span]:
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start <= result[-1].end:
            result[-1] = Span(result[-1].start, max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


def declaration(plan: Plan, step: Step, labels: Sequence[str]) -> Edit:
    """Return the edit that writes `(depends on …)` behind the title of a step that has none."""
    text = plan.source.text[step.heading.start : step.heading.end]
    heading = read_step_heading(text)
    if heading is None or not all(re.fullmatch(r"\d+", label) for label in labels):
        raise RevisionError(
            f"the dependencies of {name_of(step)} would have to be written down, "
            "and not every step has a number: run `planbound fmt` first"
        )
    title = text.find(heading.title, heading.title_start) if heading.title else -1
    end = step.heading.start + (title + len(heading.title) if title >= 0 else heading.title_start)
    return Edit(Span(end, end), f" (depends on {', '.join(labels) or 'none'})")


# -- steps in another order, or with one less: the text that says so, checked by reading it again


# Private there, shared with us: a template that is written out renumbers in the same way.


class _Arrangement(NamedTuple):
    """What the plan is to become. Places are those of the steps in the plan as it is."""

    order: tuple[int, ...]
    links: tuple[Link, ...]
    """For each place, also for that of a removed step."""
    layout: TextAround
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
    return _rewrite(plan, _Arrangement(tuple(order), links, read_layout(plan)))


def remove(plan: Plan, place: int) -> str:
    """Return the plan's text without a step."""
    if len(plan.steps) == 1:
        raise RevisionError(f"{name_of(plan.steps[0])} is the only step: reject the plan instead")
    check_labels(plan)
    check_templates(plan, range(place, len(plan.steps)))
    order = tuple(other for other in range(len(plan.steps)) if other != place)
    links = without(read_links(plan), place)
    return _rewrite(plan, _Arrangement(order, links, read_layout(plan).without(place), place))


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


def _rewrite(plan: Plan, target: _Arrangement) -> str:
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


def _blocks(plan: Plan, target: _Arrangement, numbers: dict[int, StepNumber]) -> list[str]:
    """Return the text of each step that stays, in the new order, with the new numbers in it."""
    renaming = _renaming(plan, target, numbers)
    links = read_links(plan)
    spans = extents(plan)
    blocks = []
    for place in target.order:
        step, span = plan.steps[place], spans[place]
        edits = reference_edits(plan, step, renaming)
        if place in numbers and numbers[place].label != step.label:
            bare = replace(step, depends=None)
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


def _renaming(plan: Plan, target: _Arrangement, numbers: dict[int, StepNumber]) -> Renaming:
    names = {plan.steps[place].label: number.label for place, number in numbers.items()}
    place = target.removed
    if place is None:
        return Renaming(names)
    waited = read_links(plan)[place].before(place - 1 if place else None, place)
    inherited = tuple(numbers[other].label for other in waited if other in numbers)
    return Renaming(names, plan.steps[place].label, inherited)


def _difference(plan: Plan, after: Plan, target: _Arrangement) -> str | None:
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
