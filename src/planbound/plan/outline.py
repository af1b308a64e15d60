"""Headings into sections: the objective, the steps, the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.plan.headings import StepHeading, read_step_heading
from planbound.plan.markdown import Block, BlockKind
from planbound.plan.model import Fault
from planbound.plan.vocabulary import STEP_FIELDS, known_field, known_section, suggest_section
from planbound.source import Finding, Source, Span

STEP_LEVEL = 3
SECTION_LEVEL = 2


class StepOutline(NamedTuple):
    """A step's heading with the blocks below it."""

    block: Block
    heading: StepHeading | None
    blocks: list[Block]


class SectionOutline(NamedTuple):
    """A section: the blocks before its first own sub-heading, and the parts below those."""

    heading: Block
    blocks: list[Block]
    parts: list[tuple[Block, list[Block]]]


class Outline:
    """The whole file, cut at its headings."""

    def __init__(self) -> None:
        self.title: Block | None = None
        self.preamble: list[Block] = []
        self.before_steps: list[Block] = []
        """What stands between `## Steps` and the first step."""
        self.steps: list[StepOutline] = []
        self.sections: dict[str, SectionOutline] = {}
        self.notes: list[Block] = []
        """Headings of sections that are not ours."""


def heading_text(source: Source, block: Block) -> str:
    """Return a heading's text on one line."""
    return source.slice(heading_span(source, block)).replace("\n", " ")


def heading_span(source: Source, block: Block) -> Span:
    """Return where a heading's text stands."""
    end = source.line_span(block.line).end
    return block.text_span or Span(end, end)


def read_outline(source: Source, blocks: Sequence[Block], faults: list[Fault]) -> Outline:
    """Cut the blocks at the headings that mean something."""
    return _Cutter(source, blocks, faults).cut()


class _Cutter:
    def __init__(self, source: Source, blocks: Sequence[Block], faults: list[Fault]) -> None:
        self.source = source
        self.blocks = blocks
        self.faults = faults
        self.outline = Outline()
        self.target: list[Block] = self.outline.preamble
        self.section: str | None = None
        self.section_level = 0
        self.step_level: int | None = None
        self.seen: set[str] = set()

    def cut(self) -> Outline:
        for index, block in enumerate(self.blocks):
            if block.kind is BlockKind.HEADING:
                self._heading(index, block)
            else:
                self.target.append(block)
        return self.outline

    def _heading(self, index: int, block: Block) -> None:
        text = heading_text(self.source, block)
        name = known_section(text)
        step = read_step_heading(text)
        if name and not self._is_inside_step(block):
            self._open_section(block, name)
        elif self.outline.title is None and block.level == 1 and not self.outline.steps:
            self.outline.title = block
            self.target = self.outline.preamble
        elif self.section in {"preconditions", "postconditions"} and self._is_below_section(block):
            part: list[Block] = []
            self.outline.sections[self.section].parts.append((block, part))
            self.target = part
        elif self._opens_step(index, block, step):
            self._open_step(block, step)
        elif self._is_inside_step(block):
            self.target.append(block)
        else:
            self._open_notes(block, text)

    def _is_inside_step(self, block: Block) -> bool:
        return (
            self.section == "steps"
            and self.step_level is not None
            and block.level > self.step_level
        )

    def _is_below_section(self, block: Block) -> bool:
        return block.level > self.section_level

    def _opens_step(self, index: int, block: Block, step: StepHeading | None) -> bool:
        if self.section != "steps":
            # Without a `## Steps` only a heading that is numbered and has fields is a step.
            return step is not None and not self.outline.steps and self._has_fields(index)
        if self.step_level is None:
            return block.level > self.section_level or step is not None
        if block.level == self.step_level:
            return True
        if step is None or step.number is None:
            return False
        # On another level than its siblings: a step if it carries on their numbers and has
        # fields of its own; a numbered heading inside a task has none.
        return step.number == self._last_number() + 1 and self._has_fields(index)

    def _last_number(self) -> int:
        numbers = [
            step.heading.number
            for step in self.outline.steps
            if step.heading and step.heading.number is not None
        ]
        return numbers[-1] if numbers else 0

    def _has_fields(self, index: int) -> bool:
        for block in self.blocks[index + 1 :]:
            if block.kind is BlockKind.HEADING:
                return False
            labels = (label for inner in block.walk() for label in inner.labels)
            if any(known_field(label.name, STEP_FIELDS) for label in labels):
                return True
        return False

    def _open_section(self, block: Block, name: str) -> None:
        if block.level != SECTION_LEVEL:
            self._fault(
                "heading-level",
                block,
                f"`{heading_text(self.source, block)}` is a heading of level {block.level}, "
                f"a section has level {SECTION_LEVEL}",
                "run `planbound fmt` to write it with `##`",
            )
        if name in self.seen:
            self._fault(
                "duplicate-section",
                block,
                f"there is a second section `{name.capitalize()}`",
                "put everything into one",
            )
        self.seen.add(name)
        self.section, self.section_level = name, block.level
        if name == "steps":
            self.step_level = None
            self.target = self.outline.before_steps
        else:
            section = self.outline.sections.setdefault(name, SectionOutline(block, [], []))
            self.target = section.parts[-1][1] if section.parts else section.blocks

    def _open_step(self, block: Block, step: StepHeading | None) -> None:
        if self.section != "steps":
            self._fault(
                "missing-section",
                block,
                "the steps stand under no `## Steps` heading",
                "run `planbound fmt` to put one before the first step",
            )
            self.section, self.section_level = "steps", min(block.level - 1, SECTION_LEVEL)
        if self.step_level is None:
            self.step_level = block.level
        if block.level != STEP_LEVEL:
            self._fault(
                "heading-level",
                block,
                f"a step has a heading of level {STEP_LEVEL}, this one has {block.level}",
                "run `planbound fmt` to write it with `###`",
            )
        opened = StepOutline(block, step, [])
        self.outline.steps.append(opened)
        self.target = opened.blocks

    def _open_notes(self, block: Block, text: str) -> None:
        near = suggest_section(text)
        if near and near not in self.seen and block.level <= STEP_LEVEL:
            self._fault(
                "unknown-section",
                block,
                f"`{text}` is not a section of the language, and is read as a note",
                f"did you mean `## {near.capitalize()}`?",
            )
        self.outline.notes.append(block)
        self.section, self.section_level = None, block.level
        self.target = []

    def _fault(self, rule: str, block: Block, message: str, hint: str | None = None) -> None:
        span = heading_span(self.source, block)
        self.faults.append(Fault(rule, Finding(span, message, hint)))
