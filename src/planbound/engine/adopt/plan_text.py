"""Tasks into the text of a draft.

Whatever the source says stands in the draft as words: no heading, label or fence of it becomes a
step or a field of ours. The parser decides whether that holds. Text is written as it is where it
does, and as code where it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.engine.adopt.order import Placed, place_tasks, plain
from planbound.engine.adopt.prose import one_line, softened
from planbound.engine.adopt.task import TaskList
from planbound.engine.prompt import fenced
from planbound.plan.model import Command, Plan, Step
from planbound.plan.parse import parse_source
from planbound.plan.skeleton import objective_line
from planbound.source import Source
from planbound.source.visible import INVISIBLE

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


class Draft(NamedTuple):
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


def write_draft(tasks: TaskList, *, origin: str, slug: str) -> Draft:
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
    return Draft(text=text, steps=len(steps), unproved=unproved, remarks=remarks)


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
