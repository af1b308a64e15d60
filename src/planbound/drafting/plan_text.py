"""Tasks into the text of a draft.

Whatever the source says stands in the draft as words: no heading, label or fence of it becomes a
step or a field of ours. The parser decides whether that holds. Text is written as it is where it
does, and as code where it does not.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.drafting.importers.task import ForeignTask, TaskList, one_line
from planbound.plan.model import Command, Plan, Step
from planbound.plan.parse import parse_source
from planbound.plan.skeleton import objective_line, softened
from planbound.source import INVISIBLE, Source, fenced

# -- foreign dependencies into numbers of steps, and what is wrong with them ---------------------


class Placed(NamedTuple):
    """A task with its place in the plan."""

    task: ForeignTask
    number: int
    depends: tuple[int, ...] | None
    """Numbers of steps; None where the source says nothing."""
    missing: tuple[str, ...]
    """Ids of the source that no task has."""
    remarks: tuple[str, ...]
    """What is wrong with the task in its source."""


def place_tasks(tasks: Sequence[ForeignTask]) -> tuple[Placed, ...]:
    """Return the tasks so that each stands behind those it waits for.

    The order of the source stays wherever it can. A task of which the source says nothing waits
    for the step before it. Tasks that wait for each other in a circle stay
    in the order of the source, and keep their dependencies: `verify` reports them.
    """
    by_id: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        by_id.setdefault(task.id.casefold(), []).append(index)
    needs, missing = _resolved(tasks, by_id)
    circle = _circle(needs)
    order = _sorted(needs, circle)
    number_of = {index: place for place, index in enumerate(order, 1)}
    placed = []
    for place, index in enumerate(order, 1):
        task = tasks[index]
        numbers = tuple(sorted(number_of[need] for need in needs[index]))
        placed.append(
            Placed(
                task=task,
                number=place,
                depends=None if task.depends is None else numbers,
                missing=missing[index],
                remarks=tuple(_remarks(task, by_id, missing[index], in_circle=index in circle)),
            )
        )
    return tuple(placed)


def _resolved(
    tasks: Sequence[ForeignTask], by_id: dict[str, list[int]]
) -> tuple[list[set[int]], list[tuple[str, ...]]]:
    needs: list[set[int]] = []
    missing: list[tuple[str, ...]] = []
    for task in tasks:
        if task.depends is None:
            needs.append(set())
            missing.append(())
            continue
        needs.append({i for name in task.depends for i in by_id.get(name.casefold(), ())})
        missing.append(tuple(name for name in task.depends if name.casefold() not in by_id))
    return needs, missing


def _sorted(needs: Sequence[set[int]], circle: set[int]) -> list[int]:
    """Return an order in which needs come first; the smallest index where several could be next."""
    # In a circle the order of the source decides: only what points back there counts.
    waiting = [
        {need for need in needed if need < index or not {need, index} <= circle}
        for index, needed in enumerate(needs)
    ]
    followers: list[list[int]] = [[] for _ in needs]
    for index, needed in enumerate(waiting):
        for need in needed:
            followers[need].append(index)
    ready = [index for index, needed in enumerate(waiting) if not needed]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for follower in followers[index]:
            waiting[follower].discard(index)
            if not waiting[follower]:
                heapq.heappush(ready, follower)
    return order


def _circle(needs: Sequence[set[int]]) -> set[int]:
    """Return the tasks that wait for each other: what is left when both ends are taken off."""
    left = {index: set(needed) for index, needed in enumerate(needs)}
    for _ in range(2):
        followers: dict[int, list[int]] = {}
        for index, needed in left.items():
            for need in needed:
                followers.setdefault(need, []).append(index)
        free = [index for index, needed in left.items() if not needed]
        while free:
            index = free.pop()
            del left[index]
            for follower in followers.get(index, ()):
                left[follower].discard(index)
                if not left[follower]:
                    free.append(follower)
        # Once more from the other end: what merely waits for a circle is not in it.
        turned: dict[int, set[int]] = {index: set() for index in left}
        for index, needed in left.items():
            for need in needed:
                turned[need].add(index)
        left = turned
    return set(left)


def _remarks(
    task: ForeignTask, by_id: dict[str, list[int]], missing: Sequence[str], *, in_circle: bool
) -> list[str]:
    found = [f"it waits for `{plain(name)}`, and the source has no such task" for name in missing]
    if in_circle:
        found.append("it waits for itself, in a circle with what it depends on")
    if task.named and len(by_id[task.id.casefold()]) > 1:
        found.append(f"the source has several tasks with the id `{plain(task.id)}`")
    return found


def plain(text: str) -> str:
    """Return a text of the source as it can stand in backticks, on one line."""
    return " ".join(INVISIBLE.sub(" ", text).replace("`", "'").split())[:80]


# -- tasks into the text of a draft --------------------------------------------------------------


_MAX_TITLE = 90
_MAX_ID = 40
_UNSAFE = re.compile(r"[^\w \-.,:/'+&%@]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_NOTHING = "TODO: say what to do; the source has no word about it."
_HEAD = """\
---
type: plan
status: draft
owner: orchestrator
---

# {objective}

**Context:** {context}

## Steps

"""
_SENTINEL = """\
### {number}. Sentinel

**target:** coder

**task:**
Sentinel.
"""


class ImportedPlan(NamedTuple):
    """The text of a plan made from a task list."""

    text: str
    steps: int
    unproved: int
    """How many steps have no contract yet."""
    remarks: tuple[str, ...]
    """What is wrong with the source, or was left out of it."""


class _Version(NamedTuple):
    """One way to write a step, with what the parser must make of it."""

    text: str
    title: str
    fields: tuple[str, ...]
    command: str | None


def write_draft(tasks: TaskList, *, origin: str, slug: str) -> ImportedPlan:
    """Return the draft of a plan; `origin` says where the tasks come from."""
    placed = place_tasks(tasks.tasks)
    remarks = (*tasks.remarks, *dict.fromkeys(_all_remarks(placed)))
    head = _choose_head(_heads(tasks, remarks, origin=origin, slug=slug))
    steps = [next(_versions(step)) for step in placed]
    text = _assembled(head, steps)
    if not _holds(text, steps):
        steps = [_choose(_versions(step), step.number) for step in placed]
        text = _assembled(head, steps)
    unproved = sum(step.task.command is None for step in placed)
    return ImportedPlan(text=text, steps=len(steps), unproved=unproved, remarks=remarks)


def _all_remarks(placed: Iterable[Placed]) -> Iterator[str]:
    for step in placed:
        name = f"`{plain(step.task.id)}`" if step.task.named else f"step {step.number}"
        yield from (f"{name}: {remark}" for remark in step.remarks)


def _assembled(head: str, steps: Sequence[_Version]) -> str:
    return head + "\n".join(step.text for step in steps)


# -- choosing --------------------------------------------------------------------------------


def _choose(versions: Iterator[_Version], number: int) -> _Version:
    """Return the first way to write a step that says what it should and no more."""
    head = _HEAD.format(objective="Try", context="Try.")
    last = None
    for last in versions:
        text = f"{head}{last.text}\n{_SENTINEL.format(number=number + 1)}"
        plan = parse_source(Source(path="", text=text))
        whole = len(plan.steps) == 2 and _is_sentinel(plan.steps[1])
        if whole and _fits(plan.steps[0], last) and not _unexpected(plan):
            return last
    assert last is not None
    return last


def _choose_head(heads: Iterator[str]) -> str:
    last = ""
    for last in heads:
        plan = parse_source(Source(path="", text=last + _SENTINEL.format(number=1)))
        labels = [field.name for field in plan.fields]
        if (
            len(plan.steps) == 1
            and _is_sentinel(plan.steps[0])
            and plan.objective is not None
            and labels == ["context"]
            and not plan.notes
            and not plan.faults
        ):
            return last
    return last


def _is_sentinel(step: Step) -> bool:
    return step.title == "Sentinel" and [field.name for field in step.fields] == ["target", "task"]


def _holds(text: str, steps: Sequence[_Version]) -> bool:
    plan = parse_source(Source(path="", text=text))
    return (
        len(plan.steps) == len(steps)
        and all(_fits(step, version) for step, version in zip(plan.steps, steps, strict=True))
        and not _unexpected(plan)
    )


def _fits(step: Step, version: _Version) -> bool:
    command = step.contract.text if isinstance(step.contract, Command) else step.contract
    return (
        step.title == version.title
        and step.status is None
        and step.notes is None
        and tuple(field.name for field in step.fields) == version.fields
        and command == version.command
    )


def _unexpected(plan: Plan) -> bool:
    """Say whether the parser stumbled over anything but a dependency that the source lacks."""
    sections = plan.notes or plan.preconditions or plan.postconditions
    return bool(sections) or any(fault.rule != "unknown-dependency" for fault in plan.faults)


# -- the head --------------------------------------------------------------------------------


def _heads(tasks: TaskList, remarks: Sequence[str], *, origin: str, slug: str) -> Iterator[str]:
    todo = objective_line(None, slug)
    objective = _clean_line(tasks.objective)
    context = [f"Imported from {origin}. What was ticked there is not proved here."]
    context += [f"- {_clean_line(remark)}" for remark in remarks]
    first = "\n".join(context[:1]) + ("\n\n" + "\n".join(context[1:]) if remarks else "")
    about = _clean(tasks.context)
    for title in (objective, _safe(objective), todo):
        for text in (softened(about), fenced(softened(about), "markdown")) if about else ("",):
            if title:
                yield _HEAD.format(objective=title, context=f"{first}\n\n{text}".strip())


# -- a step ----------------------------------------------------------------------------------


def _versions(step: Placed) -> Iterator[_Version]:
    """Yield the ways to write a step, the plainest one first and one that always holds last."""
    suffix = f" ({identifier})" if step.task.named and (identifier := _identifier(step)) else ""
    number = f"Task {step.number}"
    title = _shortened(_clean_line(step.task.title).rstrip(" .")) or number
    body = _clean(step.task.text) or _clean(step.task.title) or _NOTHING
    soft = softened(body)
    code = fenced(soft, "markdown")
    for words in (title, _safe(title) or number, number):
        for text in (soft, code):
            yield _version(step, words + suffix, text)
    yield _version(step, number, code)


def _version(step: Placed, title: str, body: str) -> _Version:
    lines = [f"### {step.number}. {title}{_depends_mark(step)}", "", "**target:** coder"]
    fields = ["target"]
    depends = _depends_field(step)
    if depends:
        lines.append(f"**depends:** {depends}")
        fields.append("depends")
    if step.task.touches:
        lines += ["**touches:**", *(f"- {pattern}" for pattern in step.task.touches)]
        fields.append("touches")
    told = "\n\n".join(part for part in (body, _remark(step)) if part.strip())
    lines += ["", "**task:**", told, ""]
    command = _clean(step.task.command) if step.task.command else None
    lines += ["**contract:**", fenced(command, "shell")] if command else ["**contract:** TODO"]
    text = "\n".join(lines) + "\n"
    return _Version(text, title, (*fields, "task", "contract"), command or None)


def _depends_mark(step: Placed) -> str:
    if not step.depends:
        return ""
    return f" (depends on {_ranges(step.depends)})"


def _depends_field(step: Placed) -> str:
    if step.missing:
        # No number: `verify` says that it is none, and a person decides.
        return ", ".join(f"missing-{_word(name)}" for name in step.missing)
    return "none" if step.depends == () and step.number > 1 else ""


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers with runs of three and more written as `3-7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(str(number) for number in run)
        for run in runs
    ]
    return ", ".join(parts)


def _remark(step: Placed) -> str:
    """Return what we say about a task: where it comes from, and what is wrong with it."""
    task = step.task
    place, whole, status = (plain(text) for text in (task.place, task.whole, task.status))
    facts = [f"stands under `{place}`"] if place else []
    if whole:
        facts.append(f"is a part of `{whole}`")
    if status:
        facts.append("was ticked" if status == "ticked" else f"has the status `{status}`")
    name = f"`{plain(task.id)}`" if task.named and plain(task.id) else "this task"
    said = [f"In the source {name} {' and '.join(facts)}."] if facts else []
    said += [f"A fault of the source: {_clean_line(remark)}." for remark in step.remarks]
    return " ".join(said)


def _identifier(step: Placed) -> str:
    return one_line(re.sub(r"[^\w.# -]+", "-", _clean_line(step.task.id))).strip(" -")[:_MAX_ID]


def _word(text: str) -> str:
    return re.sub(r"[^\w.#-]+", "-", _clean_line(text)).strip("-")[:_MAX_ID]


# -- text ------------------------------------------------------------------------------------


def _clean(text: str) -> str:
    """Return a text with LF as its line end and no control character."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", unified).strip("\n").rstrip()


def _clean_line(text: str) -> str:
    return one_line(INVISIBLE.sub(" ", text))


def _safe(text: str) -> str:
    return one_line(_UNSAFE.sub(" ", text)).strip(" -.,:")


def _shortened(text: str) -> str:
    if len(text) <= _MAX_TITLE:
        return text
    return text[:_MAX_TITLE].rsplit(" ", 1)[0].rstrip(" ,.;:-(") + " …"
