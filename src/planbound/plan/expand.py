"""Templates into numbered steps.

`### 3–N. Migrate file batch` becomes steps 3, 4, 5 …, one for each batch; `### N+1. …` and what
else follows gets its number, and so do the dependencies. All other bytes stay.

In the template's text `{n}` is the number of the batch, `{count}` how many there are, `{step}` the
number of the step, and `{batch}` what is in it: in a list one item each, in a fence quoted for the
shell, elsewhere with commas. Where `{batch}` is not used, the batch is listed below the task.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import UsageError
from planbound.plan.edit import Edit, edit_plan
from planbound.plan.model import Plan, Step, normalise_label, read_references
from planbound.plan.outline import read_step_heading
from planbound.plan.parse import parse
from planbound.source import Span, lazy_pattern

MAX_STEPS = 10_000
PLACEHOLDERS = ("batch", "n", "count", "step")

Batch = tuple[str, ...]


class Expansion(NamedTuple):
    """The plan with the template written out, and the numbers of the new steps."""

    plan: Plan
    numbers: tuple[int, ...]
    unknown: tuple[str, ...] = ()
    """What looks like a placeholder in the template and is none: it stays as it was written."""


def read_batches(text: str, *, size: int | None = None) -> list[Batch]:
    """Return the batches in a text.

    Lines in groups with blank lines between them are one batch a group; without blank lines each
    line is a batch. With a size the lines are dealt out into batches of that many. Lines that
    begin with `#` are comments.
    """
    lines = [line.strip() for line in text.replace("\r\n", "\n").split("\n")]
    lines = [re.sub(r"^[-*+]\s+(?:\[[ xX]\]\s+)?", "", line) for line in lines]
    lines = [line for line in lines if not line.startswith("#")]
    filled = [line for line in lines if line]
    if size is not None:
        return [tuple(filled[start : start + size]) for start in range(0, len(filled), size)]
    groups: list[list[str]] = [[]]
    for line in lines:
        if line:
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    groups = [group for group in groups if group]
    if len(groups) == 1:
        return [(line,) for line in filled]
    return [tuple(group) for group in groups]


def expand(plan: Plan, label: str, batches: Sequence[Batch]) -> Expansion:
    """Return the plan with the template of that label written out, one step a batch."""
    if not 1 <= len(batches) <= MAX_STEPS:
        raise UsageError(f"a template becomes 1 to {MAX_STEPS:,} steps, not {len(batches):,}")
    place = _find(plan, label)
    if not any(batches) and "{batch}" in plan.source.slice(plan.steps[place].span):
        raise UsageError(
            "the template says `{batch}`, and a count alone does not tell what is in a batch",
            hint="give the batches with `--batches FILE`",
        )
    first = _number_before(plan, place) + 1
    numbers = tuple(range(first, first + len(batches)))
    renumbered = _new_numbers(plan, place, numbers)
    edits = [Edit(_extent(plan, place), _write(plan, place, batches, numbers, renumbered))]
    for index, step in enumerate(plan.steps):
        if index != place:
            edits += _renumber(plan, step, renumbered, heading=index > place)
    unknown = unknown_placeholders(plan.source.slice(plan.steps[place].span))
    return Expansion(plan=edit_plan(plan, edits), numbers=numbers, unknown=unknown)


def unknown_placeholders(template: str) -> tuple[str, ...]:
    """Return the words in braces that nothing is put in for, each once; not what is code."""
    known = {*PLACEHOLDERS, *_AWK}
    found = dict.fromkeys(match[1] for match in _WORD_IN_BRACES.finditer(template))
    return tuple(word for word in found if word not in known)


def _find(plan: Plan, label: str) -> int:
    wanted = normalise_label(label)
    templates = {step.label: place for place, step in enumerate(plan.steps) if step.is_template}
    if wanted in templates:
        return templates[wanted]
    known = ", ".join(f"`{name}`" for name in templates) or "none"
    raise UsageError(f"the plan has no template `{label}`", hint=f"its templates: {known}")


def _number_before(plan: Plan, place: int) -> int:
    if place == 0:
        return 0
    number = plan.steps[place - 1].number
    if number is None:
        raise UsageError(
            f"step `{plan.steps[place - 1].label}` in front of the template has no number yet",
            hint="expand the templates from the top",
        )
    return number


def _new_numbers(plan: Plan, place: int, numbers: tuple[int, ...]) -> dict[str, str]:
    """Return for each old label how to name it after the expansion."""
    template = plan.steps[place]
    whole = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
    result = {template.label: whole}
    start = template.label.partition("-")[0]
    if start.isdecimal() and all(step.label != start for step in plan.steps):
        result[start] = whole
    if "-" in template.label or template.label == "N":
        result["N"] = str(numbers[-1])
    following = numbers[-1]
    for step in plan.steps[place + 1 :]:
        if "-" in step.label:
            break  # another template: what comes after it still depends on its length
        following += 1
        result[step.label] = str(following)
    return {old: new for old, new in result.items() if old and old != new}


def _renumber(plan: Plan, step: Step, names: dict[str, str], *, heading: bool) -> list[Edit]:
    edits = []
    text = plan.source.text[step.heading.start : step.heading.end]
    parsed = read_step_heading(text)
    if heading and parsed and step.label in names:
        start, end = parsed.number_range
        span = Span(step.heading.start + start, step.heading.start + end)
        edits.append(Edit(span, names[step.label]))
    # A label that was read from one word of a range has the range's place: edit it once.
    for span in dict.fromkeys(item.span for item in step.depends or ()):
        new = _rename(plan.source.text[span.start : span.end], names)
        if new is not None:
            edits.append(Edit(span, new))
    return edits


def _rename(reference: str, names: dict[str, str]) -> str | None:
    label = normalise_label(reference)
    if label in names:
        return names[label]
    labels, _ = read_references(reference)
    if len(labels) > 1 and any(item[0] in names for item in labels):
        return ", ".join(names.get(item[0], item[0]) for item in labels)
    return None


def _extent(plan: Plan, place: int) -> Span:
    """Return the template's lines with the blank lines behind it."""
    step = plan.steps[place]
    text = plan.source.text
    end = step.span.end
    blank = re.compile(r"(?:[ \t]*(?:\r\n|\n|\r))*").match(text, end)
    return Span(step.span.start, blank.end() if blank else end)


def _write(
    plan: Plan,
    place: int,
    batches: Sequence[Batch],
    numbers: tuple[int, ...],
    names: dict[str, str],
) -> str:
    step = plan.steps[place]
    extent = _extent(plan, place)
    newline = plan.source.newline
    # The dependencies of the template itself may name steps by the old numbers.
    inner = [
        Edit(Span(edit.span.start - extent.start, edit.span.end - extent.start), edit.text)
        for edit in _renumber(plan, step, names, heading=False)
    ]
    template = _apply(plan.source.text[extent.start : extent.end], inner)
    if not template.endswith(("\n", "\r")):
        template += newline
    if not re.search(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)$", template) and len(batches) > 1:
        template += newline
    copies = [
        _copy(template, batch, number, index, len(batches))
        for index, (batch, number) in enumerate(zip(batches, numbers, strict=True), 1)
    ]
    last = copies[-1]
    written = plan.source.text[extent.start : extent.end]
    tail = written[len(written.rstrip()) :]
    return "".join(copies[:-1]) + last.rstrip() + tail


def _apply(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


_PER_BATCH = lazy_pattern(r"\s*\((?=[^)]*\b(?:one|per|each|batch)\b)[^()]*\)", re.IGNORECASE)
_PLACEHOLDER = lazy_pattern(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")
# `${x}`, `@{u}`, `%{http_code}`, `#{x}`, `\{x}` and `{{x}}` belong to other languages.
_WORD_IN_BRACES = lazy_pattern(r"(?<![$@%#\\{])\{([A-Za-z][\w-]{0,40})\}(?!\})")
_AWK = frozenset({"print", "next", "exit", "getline"})
_FENCE = lazy_pattern(r"[ \t]*(`{3,}|~{3,})")
_ITEM = lazy_pattern(r"([ \t]*[-*+][ \t]+(?:file:)?)`?\{batch\}`?[ \t]*$")


def _copy(template: str, batch: Batch, number: int, index: int, count: int) -> str:
    values = {"n": str(index), "count": str(count), "step": str(number)}
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", template)
    result = [_heading(lines[0], number, index, count, values, batch)]
    fence = ""
    for line in lines[1:]:
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        item = _ITEM.match(line.rstrip("\r\n")) if not fence else None
        if item:
            end = line[len(line.rstrip("\r\n")) :]
            result += [f"{item[1]}{name}{end}" for name in batch]
        else:
            shown = shlex.join(batch) if fence else ", ".join(batch)
            result.append(_fill(line, {**values, "batch": shown}))
    text = "".join(result)
    if "{batch}" not in template and any(batch):
        text = _listed(text, batch)
    return text


def _fill(text: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _heading(
    line: str, number: int, index: int, count: int, values: dict[str, str], batch: Batch
) -> str:
    body = line.rstrip("\r\n")
    marks = re.match(r"[ \t]*#+[ \t]*", body)
    start = marks.end() if marks else 0
    parsed = read_step_heading(body[start:])
    if parsed is None:
        return line
    title = body[start + parsed.title_start :]
    if "{" in title:
        title = _fill(title, {**values, "batch": ", ".join(batch)})
    else:
        title = _PER_BATCH.sub("", title, count=1)
        depends = re.search(r"\s*\(depends\b[^()]*\)\s*$", title, re.IGNORECASE)
        where = depends.start() if depends else len(title.rstrip())
        title = f"{title[:where]} ({index} of {count}){title[where:]}"
    first, last = parsed.number_range
    between = body[start + last : start + parsed.title_start]
    return f"{body[: start + first]}{number}{between}{title}{line[len(body) :]}"


def _listed(text: str, batch: Batch) -> str:
    """Put the batch as a list behind the task, so that the step says which part it is."""
    plan = parse(f"## Steps\n\n{text}")
    shift = len("## Steps\n\n")
    task = plan.steps[0].task if plan.steps else None
    if task is None:
        return text
    end = task.span.end - shift
    newline = "\r\n" if "\r\n" in text else "\n"
    items = "".join(f"{newline}- {name}" for name in batch)
    return f"{text[:end]}{newline}{items}{text[end:]}"
