"""What `fmt` mends: one function for each kind of slip, in the order of `REPAIRS`.

A repair is a function from a plan to edits. It changes how the plan is written; where it changes
what the plan means (a `$ ` in front of a command), that is what the author meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

from planbound.plan.contract import lacks_table
from planbound.plan.edit import Edit, apply
from planbound.plan.frontmatter import frontmatter_lines
from planbound.plan.markdown import Block, BlockKind, read_blocks
from planbound.plan.model import Command, Condition, Field, Plan, Step, Wrapping
from planbound.plan.outline import (
    SECTION_LEVEL,
    STEP_LEVEL,
    StepHeading,
    heading_text,
    read_step_heading,
)
from planbound.plan.parse import nested_fence, parse_source
from planbound.plan.vocabulary import (
    CONDITION_FIELDS,
    SHELL_SYNONYMS,
    SHELL_TAGS,
    STEP_FIELDS,
    known_section,
    suggest_section,
)
from planbound.script import read_script
from planbound.script.call import Prefix, find_prefixes
from planbound.source import Source, Span, lazy_pattern

# -- commands below a condition, moved in so that they belong to it ------------------------------


_ITEM = lazy_pattern(r"[ \t]*(?:\d{1,9}[.)]|[-*+])[ \t]+")


def repair_conditions(plan: Plan) -> list[Edit]:
    """Return the edits that indent what stands at the margin behind a condition."""
    edits: list[Edit] = []
    for condition in (*plan.preconditions, *plan.postconditions):
        edits += _indent(plan, condition)
    return edits


def _indent(plan: Plan, condition: Condition) -> list[Edit]:
    source, contract = plan.source, condition.contract
    if not isinstance(contract, Command) or contract.wrapping is not Wrapping.FENCE:
        return []
    statement = source.position(condition.heading.start)[0] - 1
    mark = _ITEM.match(source.lines[statement])
    first = source.position(contract.span.start)[0] - 1
    if mark is None or source.lines[first][:1].isspace():
        return []
    ends = [contract.span.end, *(item.span.end for item in contract.expectations)]
    last = source.position(max(ends))[0]
    return [
        Edit(Span(source.line_starts[line], source.line_starts[line]), " " * mark.end())
        for line in range(first, last)
        if source.lines[line].strip()
    ]


# -- contracts in a `shell` fence, without the prompt that was copied along ----------------------


def repair_contracts(plan: Plan) -> list[Edit]:
    """Return the edits that put each command into a `shell` fence without a prompt."""
    owners: tuple[Step | Condition, ...] = (*plan.steps, *plan.preconditions, *plan.postconditions)
    edits: list[Edit] = []
    for owner in owners:
        if isinstance(owner.contract, Command):
            edits += _repair(plan, owner.contract)
    return edits


def _repair(plan: Plan, command: Command) -> list[Edit]:
    if command.wrapping is Wrapping.FENCE:
        return [*_tag(plan, command), *_unprompted(command)]
    if lacks_table(plan, command):
        return []  # a person has to write it
    prefixes = find_prefixes(read_script(command.text))
    if command.wrapping is Wrapping.BARE and not prefixes and not _looks_like_command(command.text):
        return []  # prose: a person has to say what to run
    return _fenced(plan, command, prefixes)


def _tag(plan: Plan, command: Command) -> list[Edit]:
    if command.language not in SHELL_SYNONYMS:
        return []
    line = plan.source.position(command.span.start)[0] - 1
    match = re.match(r"[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(?:`{3,}|~{3,})", plan.source.lines[line])
    if match is None:
        return []
    start = plan.source.line_starts[line] + match.end()
    return [Edit(Span(start, plan.source.line_span(line).end), "shell")]


def _unprompted(command: Command) -> list[Edit]:
    if command.language not in SHELL_TAGS | SHELL_SYNONYMS:
        return []
    prefixes = find_prefixes(read_script(command.text))
    edits = [Edit(command.locate(prefix.start, prefix.end), "") for prefix in prefixes]
    if command.language in _TRANSCRIPTS and any(prefix.text == "$" for prefix in prefixes):
        edits += _without_output(command, {prefix.start for prefix in prefixes})
    return edits


def _without_output(command: Command, prompts: set[int]) -> list[Edit]:
    """Take what the commands printed out of a transcript: lines without a prompt."""
    edits: list[Edit] = []
    position, continued = 0, False
    for number, line in enumerate(command.text.split("\n")):
        start = position + len(line) - len(line.lstrip())
        if start not in prompts and not continued:
            end = command.lines[number + 1].start if number + 1 < len(command.lines) else None
            place = command.lines[number]
            edits.append(Edit(Span(place.start, place.end if end is None else end), ""))
        else:
            continued = line.endswith("\\")
        position += len(line) + 1
    return edits


_TRANSCRIPTS = frozenset({"console", "terminal", "shell-session", "shellsession", "sh-session"})


def _looks_like_command(text: str) -> bool:
    """Say whether text without a fence is surely meant as a command."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return bool(re.fullmatch(r"[a-z0-9_./~-]+", first)) and bool(
        re.search(r"[|&;<>$/=\"'.-]|\b(?:test|make|pytest|npm|go|cargo)\b", text)
    )


def _fenced(plan: Plan, command: Command, prefixes: tuple[Prefix, ...]) -> list[Edit]:
    source = plan.source
    text = command.text
    for prefix in sorted(prefixes, key=lambda prefix: prefix.start, reverse=True):
        text = text[: prefix.start] + text[prefix.end :]
    line_start = source.line_starts[source.position(command.span.start)[0] - 1]
    before = source.text[line_start : command.span.start]
    indent = before[: len(before) - len(before.lstrip())]
    start, end = _around(plan, command)
    marks = "`" * max(3, _longest_run(text) + 1)
    lines = "\n".join(indent + line.strip("\r") for line in text.split("\n"))
    block = f"{indent}{marks}shell\n{lines}\n{indent}{marks}"
    opening = "\n" if source.text[line_start:start].strip() else ""
    rest = source.text[end:].split("\n", 1)[0].strip(" \t,;:→")
    closing = f"\n{indent}" if rest else ""
    if rest:
        after = source.text[end:]
        end += len(after) - len(after.lstrip(" \t,;:→"))
    if not opening:
        start = line_start
    return [Edit(Span(start, end), opening + block + closing)]


def _around(plan: Plan, command: Command) -> tuple[int, int]:
    """Return the range to replace: the command with its backticks and the blanks before it."""
    text = plan.source.text
    start, end = command.span.start, command.span.end
    if command.wrapping is Wrapping.INLINE:
        while text[start - 1 : start] == "`":
            start -= 1
        while text[end : end + 1] == "`":
            end += 1
    while text[start - 1 : start] in {" ", "\t"}:
        start -= 1
    return start, end


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# -- A fence that holds another one gets more marks than the one inside --------------------------


_FENCE = lazy_pattern(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")


def repair_fences(plan: Plan) -> list[Edit]:
    """Return the edits that lengthen the first outer fence that an inner one ends early."""
    if not any(fault.rule == "nested-fence" for fault in plan.faults):
        return []
    for block in read_blocks(plan.source):
        for inner in block.walk():
            if inner.kind is BlockKind.FENCE and nested_fence(inner):
                edits = _lengthen(plan.source, inner)
                if edits:
                    return edits
    return []


def _lengthen(source: Source, fence: Block) -> list[Edit]:
    opening = _FENCE.match(source.lines[fence.line])
    if opening is None:
        return []
    depth, longest = 1, len(opening["mark"])
    for line in range(fence.line + 1, len(source.lines)):
        match = _FENCE.match(source.lines[line])
        if match is None or match["mark"][0] != opening["mark"][0]:
            continue
        longest = max(longest, len(match["mark"]))
        depth += 1 if match["info"].strip() else -1
        if depth == 0:
            mark = opening["mark"][0] * (longest + 1)
            return [_mark(source, fence.line, opening, mark), _mark(source, line, match, mark)]
    return []


def _mark(source: Source, line: int, match: re.Match[str], mark: str) -> Edit:
    start = source.line_starts[line]
    return Edit(Span(start + match.start("mark"), start + match.end("mark")), mark)


# -- fields that were written as items of a list, each on a line of its own ----------------------


_MARK = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def repair_field_lists(plan: Plan) -> list[Edit]:
    """Return the edits that take the marks off the items and move their content left."""
    places = {
        plan.source.position(fault.finding.span.start)[0] - 1
        for fault in plan.faults
        if fault.rule == "field-in-list"
    }
    if not places:
        return []
    skip = frontmatter_lines(plan.source)
    edits: list[Edit] = []
    for block in read_blocks(plan.source, skip=skip):
        if block.kind is BlockKind.LIST and block.line in places:
            for item in block.children:
                edits += _flatten(plan.source, item)
    return edits


def _flatten(source: Source, item: Block) -> list[Edit]:
    match = _MARK.match(source.lines[item.line])
    if match is None:
        return []
    start = source.line_starts[item.line]
    edits = [Edit(Span(start, start + match.end()), "")]
    for line in range(item.line + 1, item.after):
        text = source.lines[line]
        indent = len(text) - len(text.lstrip(" \t"))
        cut = min(indent, match.end())
        if cut:
            start = source.line_starts[line]
            edits.append(Edit(Span(start, start + cut), ""))
    return edits


# -- labels as `**on_fail:** value`: the name as the language spells it, the colon inside --------


def repair_field_names(plan: Plan) -> list[Edit]:
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


# -- frontmatter with the keys that every plan has -----------------------------------------------


DEFAULT_OWNER = "orchestrator"


def repair_frontmatter(plan: Plan) -> list[Edit]:
    """Return the edits that add the frontmatter, or the keys that it lacks."""
    front = plan.frontmatter
    if any(fault.rule == "malformed-frontmatter" for fault in plan.faults):
        return []
    text = plan.source.text[front.span.start : front.span.end] if front.span else ""
    present = {line.partition(":")[0].strip() for line in text.split("\n")}
    wanted = {"type": "plan", "status": "draft", "owner": DEFAULT_OWNER}
    missing = [f"{key}: {value}\n" for key, value in wanted.items() if key not in present]
    if front.span is None:
        separator = "" if plan.source.text.startswith("\n") else "\n"
        return [Edit(Span(0, 0), "---\n" + "".join(missing) + "---\n" + separator)]
    if not missing:
        return []
    return [Edit(Span(front.span.start, front.span.start), "".join(missing))]


# -- step headings as `### 1. title`, templates with an en dash ----------------------------------


def repair_headings(plan: Plan) -> list[Edit]:
    """Return the edits that write each step heading in the one usual way."""
    unnumbered = bool(plan.steps) and all(not step.label for step in plan.steps)
    edits = []
    for place, step in enumerate(plan.steps, 1):
        wanted = f"{'#' * STEP_LEVEL} {_text(plan, step, place if unnumbered else None)}"
        span = plan.source.lines_span(*_lines(plan, step))
        if plan.source.text[span.start : span.end].rstrip() != wanted.rstrip():
            edits.append(Edit(span, wanted))
    return edits


def _lines(plan: Plan, step: Step) -> tuple[int, int]:
    """Return the lines of the heading: two where it is underlined."""
    first = plan.source.position(step.span.start)[0] - 1
    last = plan.source.position(step.heading.end)[0]
    if last < len(plan.source.lines) and re.match(
        r"[ \t]{0,3}(?:-+|=+)[ \t]*$", plan.source.lines[last]
    ):
        underlined = not plan.source.lines[first].lstrip().startswith("#")
        return first, last + (1 if underlined else 0)
    return first, last


def _text(plan: Plan, step: Step, number: int | None) -> str:
    text = plan.source.slice(step.heading).replace("\n", " ").strip()
    heading = read_step_heading(text)
    if heading is None:
        return f"{number}. {text}" if number else text
    if heading.canonical and not _wants_dash(text, heading):
        return text
    mark = f"{heading.status.mark} " if heading.status and heading.status.mark else ""
    label = heading.label.replace("-", "–")
    depends = f" (depends on {heading.depends.strip()})" if heading.depends else ""
    return f"{label}. {mark}{heading.title}{depends}".rstrip()


def _wants_dash(text: str, heading: StepHeading) -> bool:
    start, end = heading.number_range
    return text[start:end] != heading.label.replace("-", "–")


# -- CRLF and CR to LF, no byte order mark, a line end at the end of the file --------------------


_RETURN = lazy_pattern(r"\r\n?")


def repair_lines(plan: Plan) -> list[Edit]:
    """Return the edits that make the file plain UTF-8 text with LF line ends."""
    text = plan.source.text
    edits = [Edit(Span(*match.span()), "\n") for match in _RETURN.finditer(text)]
    if text.startswith("\ufeff"):
        edits.append(Edit(Span(0, 1), ""))
    if text and not text.endswith(("\n", "\r")):
        edits.append(Edit(Span(len(text), len(text)), "\n"))
    return edits


# -- section headings of level 2, and one above the steps ----------------------------------------


def repair_sections(plan: Plan) -> list[Edit]:
    """Return the edits that mend what the parser said about section headings."""
    rules = {fault.rule for fault in plan.faults}
    edits = []
    if "missing-section" in rules and plan.steps:
        edits.append(_steps_heading(plan))
    if "heading-level" in rules:
        places = {f.finding.span.start for f in plan.faults if f.rule == "heading-level"}
        skip = frontmatter_lines(plan.source)
        edits += [
            _rewritten(plan.source, block)
            for block in read_blocks(plan.source, skip=skip)
            if block.kind is BlockKind.HEADING
            and block.text_span is not None
            and block.text_span.start in places
            and known_section(heading_text(plan.source, block))
        ]
    return edits


def _steps_heading(plan: Plan) -> Edit:
    """Write `## Steps` in place of a heading that means it, else before the first step."""
    source = plan.source
    start = plan.steps[0].span.start
    headings = [
        block
        for block in read_blocks(source, skip=frontmatter_lines(source))
        if block.kind is BlockKind.HEADING and source.line_starts[block.line] < start
    ]
    if headings and headings[-1].level > 1:
        last = headings[-1]
        if suggest_section(heading_text(source, last)) == "steps":
            return Edit(source.lines_span(last.line, last.after), "## Steps")
    return Edit(Span(start, start), "## Steps\n\n")


def _rewritten(source: Source, block: Block) -> Edit:
    text = heading_text(source, block).strip()
    return Edit(source.lines_span(block.line, block.after), f"{'#' * SECTION_LEVEL} {text}")


# -- A blank line before and after every heading, and behind the frontmatter ---------------------


def repair_spacing(plan: Plan) -> list[Edit]:
    """Return the edits that set headings apart."""
    source = plan.source
    skip = frontmatter_lines(source)
    wanted: set[int] = set()  # lines before which a blank line belongs
    for block in read_blocks(source, skip=skip):
        if block.kind is BlockKind.HEADING:
            wanted |= {block.line, block.after}
    if skip:
        wanted.add(skip)
    return [
        Edit(Span(source.line_starts[line], source.line_starts[line]), "\n")
        for line in sorted(wanted)
        if 0 < line < len(source.lines)
        and source.lines[line].strip()
        and source.lines[line - 1].strip()
    ]


# -- what `fmt` mends: one kind of slip per module -----------------------------------------------


Repair = Callable[[Plan], Sequence[Edit]]

REPAIRS: tuple[tuple[str, Repair], ...] = (
    ("line ends and byte order mark", repair_lines),
    ("fences inside fences", repair_fences),
    ("frontmatter", repair_frontmatter),
    ("section headings", repair_sections),
    ("step headings", repair_headings),
    ("fields in lists", repair_field_lists),
    ("field names", repair_field_names),
    ("commands of conditions", repair_conditions),
    ("contracts", repair_contracts),
    ("blank lines", repair_spacing),
)


class Repaired(NamedTuple):
    """A plan after its repairs, and what was mended."""

    plan: Plan
    mended: tuple[str, ...]


def repair(plan: Plan) -> Repaired:
    """Return the plan with all that can be mended without asking."""
    mended: dict[str, None] = {}
    # One repair can open the way for another (a fence that was swallowed holds headings): twice
    # through is enough for all that we know, and the bound keeps a surprise finite.
    for _ in range(4):
        before = plan.source.text
        for name, function in REPAIRS:
            edits = function(plan)
            if edits:
                source = apply(plan.source, edits)
                if source.text != plan.source.text:
                    mended[name] = None
                    plan = parse_source(source)
        if plan.source.text == before:
            break
    return Repaired(plan=plan, mended=tuple(mended))
