"""Faults of the file's structure: PB101 to PB199."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice

from planbound.plan.model import Command, Step
from planbound.plan.outline import read_step_heading
from planbound.source import (
    BOM,
    INVISIBLE,
    Finding,
    Severity,
    Source,
    Span,
    hides_nothing,
    lazy_pattern,
)
from planbound.verify.subject import Subject, rule


@rule("PB101", Severity.ERROR)
def no_steps(subject: Subject) -> Iterable[Finding]:
    """The plan has no steps.

    ## What it does
    Reports a plan without a single step.

    ## Why it matters
    An empty plan would be done without any work, so it is never valid.

    ## Example
    ```markdown
    # Round invoices

    ## Steps
    ```

    ## Instead
    ```markdown
    ## Steps

    ### 1. Find where rounding happens
    ```
    """
    if not subject.plan.steps and not subject.is_no_text:
        end = len(subject.plan.source.text)
        hint = "write each step as `### 1. What to do` below a `## Steps` heading"
        yield Finding(Span(end, end), "the plan has no steps", hint)


@rule("PB102", Severity.ERROR)
def no_objective(subject: Subject) -> Iterable[Finding]:
    """The plan has no objective.

    ## What it does
    Reports a plan without a heading of level 1, or with one that has no text.

    ## Why it matters
    The objective is what the approver approves and what the steps are measured by. It is also how a
    plan is called in every list.

    ## Example
    ```markdown
    ## Steps

    ### 1. Find where rounding happens
    ```

    ## Instead
    ```markdown
    # Round invoices to whole cents

    ## Steps

    ### 1. Find where rounding happens
    ```
    """
    if subject.plan.objective is None and not subject.is_no_text:
        message = "the plan has no objective; expected a heading of level 1 with text"
        hint = "write what the plan is for as `# Round invoices to whole cents`"
        yield Finding(subject.plan.source.line_span(0), message, hint)


_RANGE = lazy_pattern(r"(\d+)-N", re.ASCII)
_BEHIND = lazy_pattern(r"N\+(\d+)", re.ASCII)
_UNREAD = lazy_pattern(r"(?P<number>\d+(?:\.\d+)*)(?:\s+(?P<title>.*))?", re.DOTALL)
"""A title that begins with what may be meant as a number: `2.1 Round once`, `2 Round once`."""


@rule("PB103", Severity.ERROR)
def missing_step_number(subject: Subject) -> Iterable[Finding]:
    """A step has no number, or not the one that comes next.

    ## What it does
    Reports a step without a number, with one that is not a whole number (`1.1`, `2a`), and every
    place where the numbers do not go on by one: the first is not 1, one is left out, two are
    exchanged. After a template such as `3-N` come `N+1`, `N+2` and so on.

    ## Why it matters
    Dependencies, the journal and the person who answers a question name a step by its number. If a
    number is missing, a step was lost or the order was changed.

    ## Example
    ```markdown
    ### 1. Find where rounding happens
    ### 2. Round once
    ### 4. Document it
    ```

    ## Instead
    ```markdown
    ### 1. Find where rounding happens
    ### 2. Round once
    ### 3. Document it
    ```
    """
    sequence = _Numbering()
    seen: set[str] = set()
    for step in subject.plan.steps:
        if step.label and step.label in seen:
            continue  # duplicate-step-number reports it
        seen.add(step.label)
        expected = sequence.expected(step)
        message = sequence.take(step)
        if message is not None:
            hint = f"write it as `### {expected}. {_title(step)}`"
            if step.number is not None:
                hint = "number the steps one by one in the order of the file"
            wanted = expected if step.label else f"{expected}."
            yield Finding(step.heading, f"{message}; expected `{wanted}`", hint)


class _Numbering:
    """The numbers so far."""

    def __init__(self) -> None:
        self.before: Step | None = None
        self.last = 0
        self.highest = 0
        self.behind: int | None = None
        """Behind a template: 0 for `3-N` itself, 1 for `N+1`; None behind a number."""
        self.templated = False
        self.unnumbered = 0
        """Steps without a usable number since the last one."""

    def expected(self, step: Step) -> str:
        """Return the label that the next step should have."""
        if self.behind is not None:
            return f"N+{self.behind + 1 + self.unnumbered}"
        number = self.last + 1 + self.unnumbered
        return f"{number}-N" if step.label == "N" or _RANGE.fullmatch(step.label) else str(number)

    def take(self, step: Step) -> str | None:
        """Go on to the next step; return what is wrong with its label."""
        before, self.before = self.before, step
        if step.number is not None:
            return self._number(step.number, before)
        if match := _BEHIND.fullmatch(step.label):
            return self._behind(int(match[1]), before)
        if match := _RANGE.fullmatch(step.label):
            return self._range(int(match[1]), before)
        if step.label == "N":
            self._open()
            return "`N` does not say which steps it stands for"
        self.unnumbered += 1
        return _unusable(step)

    def _number(self, number: int, before: Step | None) -> str | None:
        follows = self.behind is None and number in self._next()
        self.last, self.highest = number, max(number, self.highest)
        self.behind, self.unnumbered = None, 0
        return None if follows else _wrong(str(number), before)

    def _next(self) -> set[int]:
        # A step that was moved up breaks the sequence once, not again where it was taken from.
        ends = (self.last + 1, self.highest + 1)
        return {*ends, *(end + self.unnumbered for end in ends)}

    def _behind(self, number: int, before: Step | None) -> str | None:
        follows = self.behind is not None and number in {
            self.behind + 1,
            self.behind + 1 + self.unnumbered,
        }
        templated = self.templated
        self._open(number)
        if follows or templated:
            return None if follows else _wrong(f"N+{number}", before)
        return f"`N+{number}` follows no template such as `3-N`"

    def _range(self, number: int, before: Step | None) -> str | None:
        follows = self.behind is None and number in self._next()
        self._open()
        return None if follows else _wrong(f"{number}-N", before)

    def _open(self, behind: int = 0) -> None:
        self.behind, self.templated, self.unnumbered = behind, True, 0


def _unusable(step: Step) -> str:
    if step.label:
        return f"`{step.label}` is not the number of a step"
    unread = _UNREAD.fullmatch(step.title)
    return f"the heading begins with `{unread['number']}`" if unread else "the step has no number"


def _title(step: Step) -> str:
    unread = _UNREAD.fullmatch(step.title) if not step.label else None
    return (unread["title"] if unread else step.title) or "What to do"


def _wrong(label: str, before: Step | None) -> str:
    if before is None:
        return f"the first step has the number `{label}`"
    if not before.label:
        return f"the number `{label}` does not go on from the steps before"
    return f"the step after `{before.label}` has the number `{label}`"


@rule("PB104", Severity.ERROR)
def duplicate_step_number(subject: Subject) -> Iterable[Finding]:
    """Two steps have the same number.

    ## What it does
    Reports a step that has the same number as an earlier step.

    ## Why it matters
    `(depends on 2)` and `waive 2` must mean one step.

    ## Example
    ```markdown
    ### 2. Round once
    ### 2. Document it
    ```

    ## Instead
    ```markdown
    ### 2. Round once
    ### 3. Document it
    ```
    """
    first: dict[str, Step] = {}
    for step in subject.plan.steps:
        if not step.label:
            continue
        other = first.setdefault(step.label, step)
        if other is not step:
            line, _ = subject.plan.source.position(other.heading.start)
            message = f"the number `{step.label}` is taken by the step on line {line}"
            yield Finding(step.heading, message, "give each step a number of its own")


@rule("PB105", Severity.ERROR)
def unknown_field(subject: Subject) -> Iterable[Finding]:
    """A field or key is not part of the language.

    ## What it does
    Reports a `**label:**` of a step, a condition or the plan, and a key of the frontmatter, that
    is not a known one, and suggests the nearest.

    ## Why it matters
    A field that is not understood has no effect: the author of `**time limit:**` believes in a limit
    that the step does not have.

    ## Example
    ```markdown
    ### 1. Find where rounding happens

    **time limit:** 5m
    ```

    ## Instead
    ```markdown
    ### 1. Find where rounding happens

    **timeout:** 5m
    ```
    """
    return subject.faults.get("unknown-field", ())


@rule("PB106", Severity.WARNING)
def unread_label(subject: Subject) -> Iterable[Finding]:
    """Bold words in a task look like a field, and are read as text.

    ## What it does
    Reports a `**label:**` inside a task that is neither a known field nor a usual opening of a sentence,
    such as `**Note:**`.

    ## Why it matters
    If a field was meant, it is only a sentence of the task now, and the harness does nothing with
    it.

    ## Example
    ```markdown
    **task:**
    Round once, at the end.
    **Reviewer:** anna
    ```

    ## Instead
    ```markdown
    **task:**
    Round once, at the end. The reviewer is Anna.
    ```
    """
    return subject.faults.get("unread-label", ())


@rule("PB107", Severity.ERROR)
def duplicate_field(subject: Subject) -> Iterable[Finding]:
    """A field is given twice.

    ## What it does
    Reports the second of two fields, or keys of the frontmatter, with the same name.

    ## Why it matters
    Only one of the two can hold, and whoever reads the file cannot know which.

    ## Example
    ```markdown
    **timeout:** 5m
    **timeout:** 20m
    ```

    ## Instead
    ```markdown
    **timeout:** 20m
    ```
    """
    return subject.faults.get("duplicate-field", ())


@rule("PB108", Severity.ERROR)
def unknown_status(subject: Subject) -> Iterable[Finding]:
    """A status is not one of the known words.

    ## What it does
    Reports a `status` of the frontmatter or a `**status:**` of a step that is not a known status.

    ## Why it matters
    The harness writes the status and people search for it. Nobody finds a word that is not known, and
    it says nothing about what was proved.

    ## Example
    ```markdown
    **status:** nearly done
    ```

    ## Instead
    ```markdown
    **status:** in-progress
    ```
    """
    return subject.faults.get("unknown-status", ())


@rule("PB109", Severity.WARNING, strict=Severity.ERROR)
def unexpanded_template(subject: Subject) -> Iterable[Finding]:
    """A step is a template that is not written out.

    ## What it does
    Reports steps such as `3-N` and `N+1`, which stand for steps whose number is not known yet.

    ## Why it matters
    Nobody can approve work of unknown size, so a plan that still holds a template cannot be approved.

    ## Example
    ```markdown
    ### 3-N. Migrate file batch
    ### N+1. Clean up
    ```

    ## Instead
    ```markdown
    ### 3. Migrate file batch 1
    ### 4. Migrate file batch 2
    ### 5. Clean up
    ```
    """
    templates = [step for step in subject.plan.steps if step.is_template]
    # `N+1` gets its number when the template before it is written out.
    first = next((step.label for step in templates if not step.label.startswith("N+")), "K-N")
    for step in templates:
        label = first if step.label.startswith("N+") else step.label
        message = f"`{step.label}` is a template: a plan that still holds one cannot be approved"
        how = "--batches FILE" if "{batch}" in subject.plan.source.text else "--count K"
        hint = f"write it out with `planbound expand PLAN --step {label} {how}`"
        yield Finding(step.heading, message, hint)


@rule("PB110", Severity.ERROR)
def malformed_frontmatter(subject: Subject) -> Iterable[Finding]:
    """The frontmatter cannot be read.

    ## What it does
    Reports frontmatter that has no end, is not valid YAML, or has a value of the wrong kind.

    ## Why it matters
    If it cannot be read, nothing in it holds: neither the files that the plan may touch nor the plans
    that it waits for.

    ## Example
    ```markdown
    ---
    type: plan
    touches: [src/**
    ---
    ```

    ## Instead
    ```markdown
    ---
    type: plan
    touches: ["src/**"]
    ---
    ```
    """
    return subject.faults.get("malformed-frontmatter", ())


_HINT = "run `planbound fmt` to write what is missing"


@rule("PB111", Severity.WARNING)
def incomplete_frontmatter(subject: Subject) -> Iterable[Finding]:
    """The frontmatter lacks what machines look for.

    ## What it does
    Reports a plan without frontmatter, or whose frontmatter lacks `type`, `status` or `owner`.

    ## Why it matters
    By these three lines, queues and other tools tell a plan from a note, a draft from an approved plan,
    and whose plan it is, without reading the rest.

    ## Example
    ```markdown
    ---
    type: plan
    ---
    ```

    ## Instead
    ```markdown
    ---
    type: plan
    status: draft
    owner: orchestrator
    ---
    ```
    """
    missing = _missing(subject)
    is_unread = subject.is_no_text or "malformed-frontmatter" in subject.faults
    if not missing or (len(missing) == 3 and is_unread):
        return  # what cannot be read at all is reported as that
    names = ", ".join(f"`{name}`" for name in missing)
    if subject.plan.frontmatter.span is None:
        message = f"the plan has no frontmatter; expected {names}"
    else:
        message = f"the frontmatter lacks {names}"
    yield Finding(subject.plan.source.line_span(0), message, _HINT)


def _missing(subject: Subject) -> list[str]:
    frontmatter = subject.plan.frontmatter
    given = {name for name, _ in frontmatter.unread}
    if frontmatter.span is not None and any(
        frontmatter.span.start <= finding.span.start <= frontmatter.span.end
        for finding in subject.faults.get("unknown-status", ())
    ):
        given.add("status")
    values = {
        "type": frontmatter.type,
        "status": frontmatter.status,
        "owner": frontmatter.owner,
    }
    return [name for name, value in values.items() if value is None and name not in given]


@rule("PB112", Severity.ERROR)
def not_a_plan(subject: Subject) -> Iterable[Finding]:
    """The file says that it is something other than a plan.

    ## What it does
    Reports frontmatter whose `type` is there and is not `plan`.

    ## Why it matters
    A note, a decision or a report that happens to look like a plan must not be run.

    ## Example
    ```markdown
    ---
    type: note
    ---
    ```

    ## Instead
    ```markdown
    ---
    type: plan
    ---
    ```
    """
    kind = subject.plan.frontmatter.type
    if kind is not None and kind.value != "plan":
        written = " ".join(kind.value.split())
        message = f"the `type` of this file is `{written}`; expected `plan`"
        yield Finding(kind.span, message, "write `type: plan` if it is one")


@rule("PB113", Severity.ERROR)
def unreadable_file(subject: Subject) -> Iterable[Finding]:
    """The file is not text that can be read.

    ## What it does
    Reports a file that is not UTF-8, is binary, or is far too large to be a plan.

    ## Why it matters
    What cannot be read cannot be approved: the person at the gate and the agent would see two
    different texts.

    ## Example
    A plan saved as UTF-16 or Latin-1.

    ## Instead
    The same plan saved as UTF-8.
    """
    return subject.unreadable


@rule("PB114", Severity.WARNING)
def heading_level(subject: Subject) -> Iterable[Finding]:
    """A heading does not have the level that belongs to its place.

    ## What it does
    Reports a section that is not written with `##` and a step that is not written with `###`.

    ## Why it matters
    The plan is read as it was most likely meant, but other tools and the next author see another
    outline.

    ## Example
    ```markdown
    # Steps

    ## 1. Find where rounding happens
    ```

    ## Instead
    ```markdown
    ## Steps

    ### 1. Find where rounding happens
    ```
    """
    return subject.faults.get("heading-level", ())


@rule("PB115", Severity.WARNING)
def missing_section(subject: Subject) -> Iterable[Finding]:
    """The steps do not stand under a `## Steps` heading.

    ## What it does
    Reports the first step of a plan whose steps are not in a section of their own.

    ## Why it matters
    Without the section only a numbered heading with fields is taken for a step, so one with a slip
    in its heading would be read as a note.

    ## Example
    ```markdown
    # Round invoices

    ### 1. Find where rounding happens

    **target:** coder
    ```

    ## Instead
    ```markdown
    # Round invoices

    ## Steps

    ### 1. Find where rounding happens

    **target:** coder
    ```
    """
    return subject.faults.get("missing-section", ())


@rule("PB116", Severity.WARNING)
def unknown_section(subject: Subject) -> Iterable[Finding]:
    """A heading looks like a section of the language, and is not one.

    ## What it does
    Reports a heading that is close to `Steps`, `Preconditions` or `Postconditions`, where the plan
    has no such section.

    ## Why it matters
    It is read as a note for people: what stands below it is never run and never checked.

    ## Example
    ```markdown
    ## Post-conditons

    1. The totals agree
    ```

    ## Instead
    ```markdown
    ## Postconditions

    1. The totals agree
    ```
    """
    return subject.faults.get("unknown-section", ())


@rule("PB117", Severity.ERROR)
def duplicate_section(subject: Subject) -> Iterable[Finding]:
    """There are two sections of the same name.

    ## What it does
    Reports the second `## Steps`, `## Preconditions` or `## Postconditions`.

    ## Why it matters
    With two lists of steps it is not clear which step comes first.

    ## Example
    ```markdown
    ## Steps

    ### 1. Find where rounding happens

    ## Steps

    ### 2. Round once
    ```

    ## Instead
    ```markdown
    ## Steps

    ### 1. Find where rounding happens

    ### 2. Round once
    ```
    """
    return subject.faults.get("duplicate-section", ())


@rule("PB118", Severity.WARNING)
def empty_section(subject: Subject) -> Iterable[Finding]:
    """A section of conditions holds no condition.

    ## What it does
    Reports `## Preconditions` and `## Postconditions` in which no condition can be found.

    ## Why it matters
    The heading promises a check that does not happen.

    ## Example
    ```markdown
    ## Postconditions

    All totals agree.
    ```

    ## Instead
    ````markdown
    ## Postconditions

    1. All totals agree
       ```shell
       pytest tests/billing
       ```
    ````
    """
    return subject.faults.get("empty-section", ())


@rule("PB119", Severity.ERROR)
def unclosed_fence(subject: Subject) -> Iterable[Finding]:
    """A fence of code is never closed.

    ## What it does
    Reports a fence that has no closing mark.

    ## Why it matters
    Everything that follows is inside it: the later steps are part of a command, or of a text, and are not
    read as steps.

    ## Example
    ````markdown
    **contract:**
    ```shell
    pytest tests/billing

    ### 2. Round once
    ````

    ## Instead
    ````markdown
    **contract:**
    ```shell
    pytest tests/billing
    ```

    ### 2. Round once
    ````
    """
    return subject.faults.get("unclosed-fence", ())


@rule("PB120", Severity.ERROR)
def nested_fence(subject: Subject) -> Iterable[Finding]:
    """A fence inside a fence ends the outer one early.

    ## What it does
    Reports a fence of text that holds the opening of another fence with the same number of marks.

    ## Why it matters
    Markdown ends the outer fence at the inner one's end. The rest of the outer one is read as if it
    stood in the plan itself.

    ## Example
    ````markdown
    ```markdown
    Run this:
    ```shell
    pytest
    ```
    ```
    ````

    ## Instead
    `````markdown
    ````markdown
    Run this:
    ```shell
    pytest
    ```
    ````
    `````
    """
    return subject.faults.get("nested-fence", ())


@rule("PB121", Severity.WARNING)
def field_in_list(subject: Subject) -> Iterable[Finding]:
    """Fields are written as the items of a list.

    ## What it does
    Reports fields such as `- **target:** coder`.

    ## Why it matters
    They are read, but they are harder to tell from the lists inside a field, and the harness writes
    them differently.

    ## Example
    ```markdown
    - **target:** coder
    - **timeout:** 5m
    ```

    ## Instead
    ```markdown
    **target:** coder
    **timeout:** 5m
    ```
    """
    return subject.faults.get("field-in-list", ())


_SILENT = lazy_pattern(
    r"(?:\s+|<!--.*?(?:-->|\Z)|(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})(?=[\r\n]|\Z))+",
    re.DOTALL,
)
"""What is no text for anybody: blanks, comments, rules."""


@rule("PB122", Severity.WARNING)
def stray_text(subject: Subject) -> Iterable[Finding]:
    """Text in a step does not belong to a field.

    ## What it does
    Reports text of a step that stands before its first field, or after a field that takes only one
    line or a list. Comments and rules (`---`) are not reported.

    ## Why it matters
    The agent gets the task and the subscriptions. It will not see this text.

    ## Example
    ```markdown
    ### 1. Find where rounding happens

    Look at the tax lines too.

    **task:** List every place that rounds an amount.
    ```

    ## Instead
    ```markdown
    ### 1. Find where rounding happens

    **task:** List every place that rounds an amount. Look at the tax lines too.
    ```
    """
    yield from subject.faults.get("stray-text", ())
    for step in subject.plan.steps:
        place = _place(subject.plan.source, step)
        if place is None:
            continue
        message = "this text belongs to no field: the agent will not see it"
        hint = "put it below `**task:**`"
        if step.task is None:
            hint = "if it is the task, put `**task:**` in front of it"
        yield Finding(place, message, hint)


def _place(source: Source, step: Step) -> Span | None:
    """Return the first line of the text, or its last where fields stand in between."""
    if step.notes is None:
        return None
    start, end = step.notes.span.start, step.notes.span.end
    silent = _SILENT.match(source.text, start, end)
    start = silent.end() if silent else start
    if any(field.label.start == start for field in step.fields):
        line = source.position(end)[0] - 1
        start = max(start, source.line_starts[line])
        silent = _SILENT.match(source.text, start, end)
        start = silent.end() if silent else start
        if source.text[start:end].endswith("-->"):
            return None  # the last line of a comment
    if start >= end:
        return None
    return Span(start, min(end, source.line_span(source.position(start)[0] - 1).end))


@rule("PB123", Severity.WARNING)
def status_conflict(subject: Subject) -> Iterable[Finding]:
    """The heading of a step shows another status than its field.

    ## What it does
    Reports a step with a status mark in its heading and a `**status: ...**` field that differ.

    ## Why it matters
    People look at the mark, and `grep` finds the field. Only the journal knows which of the two is
    right.

    ## Example
    ```markdown
    ### 1. ✅ Find where rounding happens

    **status: failed**
    ```

    ## Instead
    ```markdown
    ### 1. ✅ Find where rounding happens

    **status: done**
    ```
    """
    source = subject.plan.source
    for step in subject.plan.steps:
        if step.status is None or not any(field.name == "status" for field in step.fields):
            continue
        heading = read_step_heading(source.slice(step.heading))
        marked = heading.status if heading else None
        if marked is not None and marked is not step.status.value:
            message = (
                f"the field says `{step.status.value.value}`, the mark in the heading says "
                f"`{marked.value}`"
            )
            yield Finding(step.status.span, message, "remove one: the harness writes the status")


@rule("PB124", Severity.WARNING)
def heading_style(subject: Subject) -> Iterable[Finding]:
    """The heading of a step is written in another way than the harness writes it.

    ## What it does
    Reports headings such as `Step 1: Title`, `1) Title` and `**1. Title**`, and status marks before
    the number or as check boxes. They are understood.

    ## Why it matters
    People and tools find steps by `### N. `. The harness writes the status mark after the number.

    ## Example
    ```markdown
    ### Step 1: Find where rounding happens
    ```

    ## Instead
    ```markdown
    ### 1. Find where rounding happens
    ```
    """
    for step in subject.plan.steps:
        text = subject.plan.source.slice(step.heading)
        heading = read_step_heading(text)
        if heading is None or heading.canonical:
            continue
        written = " ".join(text[: heading.title_start].split())
        mark = heading.status.mark if heading.status else ""
        expected = f"{heading.label}. {mark}".rstrip()
        message = f"the heading begins with `{written}`; expected `{expected}`"
        yield Finding(step.heading, message, "run `planbound fmt` to write it so")


MAX_FINDINGS = 10
_JOINERS = "\u200c\u200d"


@rule("PB125", Severity.WARNING)
def hidden_text(subject: Subject) -> Iterable[Finding]:
    """The file holds characters that nobody can see.

    ## What it does
    Reports control characters, zero-width and bidirectional characters and tag characters outside
    commands, up to ten places. Joiners between letters or emoji are part of their script.

    ## Why it matters
    The approver approves what is on the screen, and the agent gets what is in the file. Invisible text
    can smuggle instructions past a person.

    ## Example
    `**task:** Round once<U+202E>` where the last character turns the direction of the text.

    ## Instead
    `**task:** Round once`
    """
    text = subject.plan.source.text
    if hides_nothing(text) or ("\0" in text and subject.unreadable):
        return  # or it is no text at all
    for span in islice(_runs(text, _commands(subject)), MAX_FINDINGS):
        first = text[span.start]
        count = span.end - span.start
        unnamed = "CONTROL CHARACTER" if unicodedata.category(first) == "Cc" else "UNASSIGNED"
        what = f"U+{ord(first):04X} {unicodedata.name(first, unnamed)}"
        message = f"found the hidden character {what}"
        if count > 1:
            message = f"found {count} hidden characters, the first is {what}"
        yield Finding(span, message, "delete what cannot be seen")


def _commands(subject: Subject) -> list[Span]:
    """Return where the commands stand, in order."""
    plan = subject.plan
    contracts = [owner.contract for owner in (*plan.preconditions, *plan.postconditions)]
    contracts += [step.contract for step in plan.steps]
    spans = [contract.span for contract in contracts if isinstance(contract, Command)]
    return sorted(spans, key=lambda span: span.start)


def _runs(text: str, commands: list[Span]) -> Iterator[Span]:
    """Yield hidden characters, those that stand next to each other as one."""
    starts = [span.start for span in commands]
    run: Span | None = None
    for match in INVISIBLE.finditer(text):
        offset = match.start()
        if _may_stay(text, offset):
            continue
        place = bisect_right(starts, offset) - 1
        if place >= 0 and offset < commands[place].end:
            continue
        if run is not None and run.end == offset:
            run = Span(run.start, offset + 1)
            continue
        if run is not None:
            yield run
        run = Span(offset, offset + 1)
    if run is not None:
        yield run


def _may_stay(text: str, offset: int) -> bool:
    character = text[offset]
    if character == "\r" or "\ud800" <= character <= "\udfff":
        return True
    if character == BOM:
        return offset == 0
    if character in _JOINERS and 0 < offset < len(text) - 1:
        return _is_joined(text[offset - 1]) and _is_joined(text[offset + 1])
    return False


def _is_joined(character: str) -> bool:
    """Letters with their marks, emoji with their shades: what joiners join."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"


@rule("PB126", Severity.ERROR)
def empty_title(subject: Subject) -> Iterable[Finding]:
    """A step has no title.

    ## What it does
    Reports a step whose heading holds a number and nothing else.

    ## Why it matters
    The title is how people, the journal and the progress lines name the step, and its id is made from
    it.

    ## Example
    ```markdown
    ### 2.
    ```

    ## Instead
    ```markdown
    ### 2. Round once, at the end
    ```
    """
    for step in subject.plan.steps:
        if not step.title:
            hint = "say in a few words what the step does"
            yield Finding(step.heading, "the step has no title", hint)


RULES = (
    no_steps,
    no_objective,
    missing_step_number,
    duplicate_step_number,
    unknown_field,
    unread_label,
    duplicate_field,
    unknown_status,
    unexpanded_template,
    malformed_frontmatter,
    incomplete_frontmatter,
    not_a_plan,
    unreadable_file,
    heading_level,
    missing_section,
    unknown_section,
    duplicate_section,
    empty_section,
    unclosed_fence,
    nested_fence,
    field_in_list,
    stray_text,
    status_conflict,
    heading_style,
    hidden_text,
    empty_title,
)
