"""Headings into sections: the objective, the steps, the conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from planbound.plan.markdown import Block, BlockKind
from planbound.plan.model import Fault, StepStatus, is_template, normalise_label
from planbound.plan.vocabulary import STEP_FIELDS, known_field, known_section, suggest_section
from planbound.source import Finding, Source, Span, lazy_pattern

# -- what the heading of a step says: number, status mark, title, dependencies -------------------


# How people write `N` templates: `3–N`, `3-N`, `3..N`, `N`, `N+1`; and plain numbers.
_NUMBER = (
    r"(?P<number>\d{1,6}\s*(?:[-–—−]|\.\.+|…|to)\s*N|N\s*\+\s*\d{1,4}|N"
    r"|\d{1,6}(?:\.\d{1,6})*[a-z]?)"
)
_ASCII_WORDS = ("step", "task", "phase", "schritt", "etape", "paso", "passo")
_WORD = (
    rf"(?:(?:{'|'.join(_ASCII_WORDS)}|étape|шаг|步骤|步驟|第|ステップ|手順|단계)"
    r"\s*(?:#|no\.?|nr\.?)?\s*)?"
)
_SIGNS = "✅|✔️|✔|☑️|☑|🆗|❌|✖️|⏳|🔄|🚧|⏭️|⏭|⛔|🖋️|🖋|🟡|⬜|◻️"
_ONE_MARK = rf"\[[ xX~=!-]\]|{_SIGNS}"
_MARKS = rf"(?:(?:{_ONE_MARK})\s*)*"
_STEP = lazy_pattern(
    rf"(?P<before>{_MARKS})(?P<word>{_WORD})(?P<open>[#(]?){_NUMBER}\s*(?:步|단계)?"
    rf"(?P<separator>[.)．。、](?!\d)|\s*[:：]|\s+[-–—]+(?=\s)|(?=\s|$))\s*"
    rf"(?P<behind>{_MARKS})(?P<title>.*)",
    re.IGNORECASE | re.DOTALL,
)
# As most are written. What it matches `_STEP` reads alike, and takes far longer to compile.
_PLAIN_STEP = lazy_pattern(
    r"(?P<before>)(?P<word>)(?P<open>)(?P<number>\d{1,6})(?P<separator>\.)\s+"
    rf"(?P<behind>(?:(?:{_SIGNS})\s*)*)(?P<title>[^\W_].*)",
    re.DOTALL,
)
_FIRST_MARK = lazy_pattern(_ONE_MARK)
_DEPENDS = lazy_pattern(
    r"\s*[(\[（]\s*depends?(?:\s+on)?\s*:?\s*(?P<what>[^()（）\[\]]*)[)\]）]", re.IGNORECASE
)
_SIGN_BEHIND = lazy_pattern(rf"\s*(?P<sign>{_SIGNS})\s*$")
_BOLD = lazy_pattern(r"(\*\*|__)(?P<text>.+)\1\s*$", re.DOTALL)

_STATUS_OF = {
    **dict.fromkeys(("✅", "✔️", "✔", "[x]", "[X]"), StepStatus.DONE),
    **dict.fromkeys(("☑️", "☑", "[~]"), StepStatus.CLAIMED),
    **dict.fromkeys(("🆗", "[=]"), StepStatus.HOLDS),
    **dict.fromkeys(("❌", "✖️"), StepStatus.FAILED),
    **dict.fromkeys(("⏳", "🔄", "🚧", "[-]"), StepStatus.IN_PROGRESS),
    **dict.fromkeys(("⏭️", "⏭"), StepStatus.SKIPPED),
    **dict.fromkeys(("⛔", "[!]"), StepStatus.BLOCKED),
    **dict.fromkeys(("🖋️", "🖋"), StepStatus.ATTESTED),
    "🟡": StepStatus.WAIVED,
    **dict.fromkeys(("[ ]", "⬜", "◻️"), StepStatus.PENDING),
}


class StepHeading(Struct, frozen=True):
    """A heading read as a step's. Offsets are into the heading's text."""

    label: str
    number: int | None
    number_range: tuple[int, int]
    """Where the number stands."""
    title: str
    title_start: int
    canonical: bool
    """Whether it is written as `N. title`, with the status mark behind the number."""
    status: StepStatus | None
    mark: tuple[int, int] | None
    """Where the status mark stands."""
    depends: str | None
    depends_start: int


def read_step_heading(text: str) -> StepHeading | None:
    """Return what a heading says if it can be a step's."""
    bold = _BOLD.match(text) if text.startswith(("**", "__")) else None
    shift = bold.start("text") if bold else 0
    written = bold["text"] if bold else text
    match = _PLAIN_STEP.match(written)
    if match is None and _may_be_step(written):
        match = _STEP.match(written)
    if match is None:
        return None
    label = normalise_label(match["number"])
    # `Step 3` and `3–N` need no sign behind the number; `3 blind mice` is not a step.
    if not match["separator"].strip() and not match["word"] and not is_template(label):
        return None
    title, title_start = match["title"], shift + match.start("title")
    depends = _DEPENDS.search(title) if "depend" in title.lower() else None
    mark = _mark(match, shift)
    behind = _SIGN_BEHIND.search(title) if mark is None and not title.isascii() else None
    if behind:
        place = (title_start + behind.start("sign"), title_start + behind.end("sign"))
        mark = _Mark(_STATUS_OF[behind["sign"]], place)
    rest = title[: behind.start()] if behind else title
    if depends:
        rest = rest[: depends.start()] + rest[depends.end() :]
    return StepHeading(
        label=label,
        number=int(label) if label.isdecimal() else None,
        number_range=(shift + match.start("number"), shift + match.end("number")),
        title=rest.strip(),
        title_start=title_start,
        canonical=_is_canonical(match, text, title_start, rest, depends),
        status=mark.status if mark else None,
        mark=mark.range if mark else None,
        depends=depends["what"] if depends else None,
        depends_start=title_start + (depends.start("what") if depends else 0),
    )


def _may_be_step(text: str) -> bool:
    """Say whether it has to be looked at how a heading begins: not so with `Steps` or `Context`."""
    if not text.isascii() or not text[:1].isalpha():
        return True
    words = text.lower()
    # A number has a digit, or is the `N` of a template.
    return words[0] == "n" or (
        words.startswith(_ASCII_WORDS) and ("n" in words or any(map(str.isdecimal, words)))
    )


class _Mark(Struct, frozen=True):
    """Status marks that were found: what the first says, where all of them stand."""

    status: StepStatus
    range: tuple[int, int]


def _mark(match: re.Match[str], shift: int) -> _Mark | None:
    """Return the marks behind the number or, failing that, those before it."""
    for name in ("behind", "before"):
        first = _FIRST_MARK.match(match[name]) if match[name] else None
        if first:
            end = match.start(name) + len(match[name].rstrip())
            return _Mark(_STATUS_OF[first.group()], (match.start(name) + shift, end + shift))
    return None


def _is_canonical(
    match: re.Match[str],
    text: str,
    title_start: int,
    title: str,
    depends: re.Match[str] | None,
) -> bool:
    """Say whether a heading is written as `N. title (depends on M)`."""
    sign = match["behind"]
    if sign.strip().startswith("[") or match["before"]:
        return False
    front = f"{match['number']}. {sign}" if title.strip() or depends else f"{match['number']}."
    ends_well = depends is None or not match["title"][depends.end() :].strip()
    return (
        text[:title_start].rstrip() == front.rstrip()
        and ends_well
        and (not title.strip() or text[:title_start] == front)
    )


# -- headings into sections: the objective, the steps, the conditions ----------------------------


STEP_LEVEL = 3
SECTION_LEVEL = 2


class StepOutline(Struct, frozen=True):
    """A step's heading with the blocks below it."""

    block: Block
    heading: StepHeading | None
    blocks: list[Block]


class SectionOutline(Struct, frozen=True):
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
