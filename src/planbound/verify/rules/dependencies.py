"""Faults of what waits for what: PB301 to PB399."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from planbound.plan.vocabulary import nearest
from planbound.source import Finding, Severity, Span
from planbound.verify.subject import Subject, needed_plans, rule


@rule("PB301", Severity.ERROR)
def self_dependency(subject: Subject) -> Iterable[Finding]:
    """A step depends on itself.

    ## What it does
    Reports a step that names its own number among its dependencies.

    ## Why it matters
    It would wait for itself for ever.

    ## Example
    ```markdown
    ### 2. Round once (depends on 2)
    ```

    ## Instead
    ```markdown
    ### 2. Round once (depends on 1)
    ```
    """
    seen: set[str] = set()
    for step in subject.plan.steps:
        if step.label in seen:
            continue  # a second step of the same number means the first one
        seen.add(step.label)
        for item in step.depends or ():
            if item.value == step.label:
                message = f"the step `{step.label}` depends on itself"
                yield Finding(item.span, message, "name the steps that must be done before it")


_SHOWN = 5


@rule("PB302", Severity.ERROR)
def unknown_dependency(subject: Subject) -> Iterable[Finding]:
    """A step depends on a step that does not exist.

    ## What it does
    Reports a dependency that is not a number, or not the number of a step of the plan.

    ## Why it matters
    The step would never become ready, or would run too early: nobody can tell which step was meant.

    ## Example
    ```markdown
    ### 2. Round once (depends on 7)
    ```

    ## Instead
    ```markdown
    ### 2. Round once (depends on 1)
    ```
    """
    yield from subject.faults.get("unknown-dependency", ())
    labels = {step.label for step in subject.plan.steps}
    hint = _hint([step.label for step in subject.plan.steps if step.label])
    for step in subject.plan.steps:
        unknown: dict[Span, list[str]] = {}  # a range such as `1-9` names several at one place
        for item in step.depends or ():
            if item.value not in labels:
                unknown.setdefault(item.span, []).append(item.value)
        for span, missing in unknown.items():
            yield Finding(span, _message(missing), hint)


def _message(missing: Sequence[str]) -> str:
    names = ", ".join(f"`{label}`" for label in missing[:_SHOWN])
    if len(missing) == 1:
        return f"there is no step {names}"
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return f"there are no steps {names}{more}"


def _hint(labels: Sequence[str]) -> str | None:
    if not labels:
        return None
    if len(labels) == 1:
        return f"the only step is `{labels[0]}`"
    return f"the steps are `{labels[0]}` to `{labels[-1]}`"


@rule("PB303", Severity.ERROR)
def forward_dependency(subject: Subject) -> Iterable[Finding]:
    """A step depends on a step that comes later.

    ## What it does
    Reports a dependency on a step further down in the file. Where it is part of a circle,
    `dependency-cycle` reports the circle.

    ## Why it matters
    A plan is read, approved and run from top to bottom. A step that waits for a later one would run
    after steps that are written below it.

    ## Example
    ```markdown
    ### 1. Document the rounding (depends on 2)
    ### 2. Round once (depends on none)
    ```

    ## Instead
    ```markdown
    ### 1. Round once
    ### 2. Document the rounding
    ```
    """
    steps = subject.plan.steps
    index = {step.label: place for place, step in reversed(list(enumerate(steps)))}
    circular = {edge for cycle in subject.graph.cycles for edge in pairwise(cycle)}
    for place, step in enumerate(steps):
        for item in step.depends or ():
            other = index.get(item.value, place)
            if other > place and (place, other) not in circular:
                message = f"the step depends on step `{item.value}`, which comes later"
                yield Finding(item.span, message, "put the steps in the order of the work")


_SHOWN_STEPS = 10


@rule("PB304", Severity.ERROR)
def dependency_cycle(subject: Subject) -> Iterable[Finding]:
    """Steps wait for each other in a circle.

    ## What it does
    Reports steps that depend on each other, with the whole circle, at the dependency on a later step
    that closes it.

    ## Why it matters
    None of them can ever start.

    ## Example
    ```markdown
    ### 1. Find where rounding happens (depends on 3)
    ### 2. Round once (depends on 1)
    ### 3. Document it (depends on 2)
    ```

    ## Instead
    ```markdown
    ### 1. Find where rounding happens
    ### 2. Round once (depends on 1)
    ### 3. Document it (depends on 2)
    ```
    """
    for cycle in subject.graph.cycles:
        place, other = _closing(cycle)
        span = _written(subject, place, subject.plan.steps[other].label)
        message = f"the steps wait for each other: {_path(subject, cycle)}"
        yield Finding(span, message, "remove one of these dependencies")


def _closing(cycle: Sequence[int]) -> tuple[int, int]:
    """Return the dependency that a plan without circles could not have: on a later step."""
    return next(edge for edge in reversed(list(pairwise(cycle))) if edge[0] < edge[1])


def _written(subject: Subject, place: int, label: str) -> Span:
    step = subject.plan.steps[place]
    spans = [item.span for item in step.depends or () if item.value == label]
    return spans[0] if spans else step.heading


def _path(subject: Subject, cycle: Sequence[int]) -> str:
    labels = [subject.plan.steps[place].label or "?" for place in cycle]
    if len(labels) > _SHOWN_STEPS:
        half = _SHOWN_STEPS // 2
        labels = [*labels[:half], "…", *labels[-half:]]
    return f"`{' → '.join(labels)}`"


@rule("PB305", Severity.ERROR)
def unknown_plan(subject: Subject) -> Iterable[Finding]:
    """A plan depends on a plan that does not exist.

    ## What it does
    Reports a name in `depends_on` that is not a plan of the workspace: neither an active one, nor a queued
    or archived one. A plan on standard input is looked at too; a file that lies elsewhere is not, since
    nobody can tell which plans it will stand beside.

    ## Why it matters
    The plan would never become ready: nobody can finish a plan that is not there.

    ## Example
    ```markdown
    ---
    type: plan
    depends_on: [mony-type]
    ---
    ```

    ## Instead
    ```markdown
    ---
    type: plan
    depends_on: [money-type]
    ---
    ```
    """
    known = subject.facts.plans
    if known is None:
        return
    for slug, span in needed_plans(subject.plan):
        if slug not in known.waits and slug != known.slug:
            near = nearest(slug, sorted(known.waits))
            hint = f"did you mean `{near}`?" if near else "write that plan first, or take it out"
            yield Finding(span, f"there is no plan `{slug}`", hint)


_SHOWN_PLANS = 10
_HINT = "take one of them out of a `depends_on`"


@rule("PB306", Severity.ERROR)
def plan_cycle(subject: Subject) -> Iterable[Finding]:
    """Plans wait for each other in a circle.

    ## What it does
    Reports a plan in `depends_on` that waits for this one, or is in a circle of others, with the whole
    way. A plan that is done waits for nothing any more, so it cannot be part of a circle.

    ## Why it matters
    None of them can ever start.

    ## Example
    ```markdown
    ---
    type: plan
    depends_on: [rounding]
    ---
    ```
    in the plan `money-type`, where `rounding` depends on `money-type`.

    ## Instead
    Take one of the plans out of a `depends_on`, or put what both need into a third plan.
    """
    known = subject.facts.plans
    if known is None:
        return
    own = known.slug
    for slug, span in needed_plans(subject.plan):
        back = None if own is None else _way(slug, known.waits, own.__eq__)
        if own is not None and back is not None:
            message = f"these plans wait for each other: {_arrows([own, *back])}"
            yield Finding(span, message, _HINT)
            continue
        lost = _way(slug, known.waits, lambda at: _circle(at, known.waits) is not None)
        if lost is not None:
            circle = _circle(lost[-1], known.waits) or []
            start = [] if own is None else [own]
            message = f"`{lost[-1]}` waits for itself: {_arrows([*start, *lost, *circle[1:]])}"
            yield Finding(span, message, _HINT)


def _circle(slug: str, waits: Mapping[str, tuple[str, ...]]) -> list[str] | None:
    """Return the shortest way from a plan back to itself; None where there is none."""
    ways = (_way(other, waits, slug.__eq__) for other in waits.get(slug, ()))
    found = [[slug, *way] for way in ways if way is not None]
    return min(found, key=len) if found else None


def _way(
    start: str, waits: Mapping[str, tuple[str, ...]], is_end: Callable[[str], bool]
) -> list[str] | None:
    """Return the shortest way, both ends included; the start alone may be all of it."""
    before: dict[str, str | None] = {start: None}
    pending = deque([start])
    while pending:
        at = pending.popleft()
        if is_end(at):
            way, step = [], before[at]
            way.append(at)
            while step is not None:
                way.append(step)
                step = before[step]
            return way[::-1]
        for following in waits.get(at, ()):
            if following not in before:
                before[following] = at
                pending.append(following)
    return None


def _arrows(way: list[str]) -> str:
    if len(way) > _SHOWN_PLANS:
        half = _SHOWN_PLANS // 2
        way = [*way[:half], "…", *way[-half:]]
    return f"`{' → '.join(way)}`"


RULES = (
    self_dependency,
    unknown_dependency,
    forward_dependency,
    dependency_cycle,
    unknown_plan,
    plan_cycle,
)
