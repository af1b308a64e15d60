"""Plans of Superpowers: `### Task 3: Name` with **Files:**, steps, Run and Expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from planbound.drafting.importers.task import (
    Document,
    ForeignTask,
    SourceFile,
    TaskList,
    as_patterns,
)
from planbound.plan.markdown import Block, BlockKind
from planbound.plan.skeleton import opaque_lines
from planbound.plan.vocabulary import SHELL_SYNONYMS, SHELL_TAGS
from planbound.source import lazy_pattern

TASK_HEADING = lazy_pattern(
    r"Task\s+(?P<id>\d{1,5}(?:\.\d{1,4})*[a-z]?)\s*(?:[:：.]|\s[—–-])?\s*(?P<title>.*)",
    re.IGNORECASE,
)
_FILE = lazy_pattern(
    r"\s*[-*+]\s+(?:\*\*)?(?:Create|Modify|Test|Delete|Update|Add|Move|Rename|Remove|Edit|Change)"
    r"s?(?:\s[^:`]{0,30})?:(?:\*\*)?\s*(?P<what>.+)",
    re.IGNORECASE,
)
_CODE = lazy_pattern(r"`([^`\n]+)`")
_RUN = lazy_pattern(
    r"\s*(?:[-*+]\s+)?(?:\*\*)?Run(?::(?:\*\*)?|\*\*:)\s*(?:`(?P<command>[^`\n]+)`)?(?P<rest>.*)"
)
_EXPECTED = lazy_pattern(
    r"(?:\*\*)?Expect(?:ed)?(?::(?:\*\*)?|\*\*:)\s*(?P<what>.*)", re.IGNORECASE
)
_NO_FAILURE = lazy_pattern(
    r"\b(?:0|no|zero|without)\s+(?:fail\w*|errors?|warnings?|issues?)\b", re.IGNORECASE
)
_FAILURE = lazy_pattern(r"\b(?:fail(?:s|ed|ure|ing)?|errors?)\b", re.IGNORECASE)
_SUCCESS = lazy_pattern(
    r"\b(?:pass(?:es|ed|ing)?|ok|succe\w+|green|clean|exit(?:s)?(?: with)?(?: code)? 0)\b",
    re.IGNORECASE,
)
_DEPENDS = lazy_pattern(
    r"\s*(?:[-*+]\s+)?(?:\*\*)?(?:depends on|dependencies|blocked by)"
    r"(?::(?:\*\*)?|\*\*:)\s*(?P<what>.*)",
    re.IGNORECASE,
)
_REFERENCE = lazy_pattern(r"(?<![\w.])\d{1,5}(?:\.\d{1,4})*[a-z]?(?![\w])")
_BOX = lazy_pattern(r"\s*[-*+]\s+\[(?P<box>[ xX])\]\s")
_PART = lazy_pattern(r"(?:Phase|Chunk|Part|Stage|Milestone)\b", re.IGNORECASE)
_NO_JUDGE = lazy_pattern(r"git (?!diff|grep)")
"""What tells about the repository, and nothing about the work."""
_SHELL = SHELL_TAGS | SHELL_SYNONYMS


class _Section(NamedTuple):
    """A task: its heading, and the lines and code below."""

    id: str
    title: str
    place: str
    lines: list[str]
    code: dict[int, Block]
    """Fences by the line that they begin at, counted within the section."""
    opaque: set[int]


def read_superpowers(file: SourceFile) -> TaskList:
    """Return the tasks of a plan of Superpowers."""
    document = Document(file.text)
    tasks = tuple(_task(section) for section in _sections(document))
    title = re.sub(r"\s+(?:Implementation )?Plan$", "", document.title, flags=re.IGNORECASE)
    return TaskList(tasks, objective=title, context=_introduction(document))


def _sections(document: Document) -> Iterator[_Section]:
    opaque = opaque_lines(document.blocks)
    fences = {
        block.line: block
        for top in document.blocks
        for block in top.walk()
        if block.kind is BlockKind.FENCE
    }
    headings = [block for block in document.blocks if block.kind is BlockKind.HEADING]
    place = ""
    for index, block in enumerate(headings):
        match = TASK_HEADING.fullmatch(document.heading(block))
        if match is None:
            heading = document.heading(block)
            if block.level == 1 or _PART.match(heading):
                place = heading if block.level > 1 else ""
            continue
        after = (b for b in islice(headings, index + 1, None) if _ends(b, block, document))
        end = next((b.line for b in after), len(document.source.lines))
        first = block.after
        within = range(first, end)
        yield _Section(
            id=match["id"],
            title=match["title"],
            place=place,
            lines=document.source.lines[first:end],
            code={line - first: fences[line] for line in within if line in fences},
            opaque={line - first for line in within if line in opaque},
        )


def _ends(heading: Block, task: Block, document: Document) -> bool:
    return heading.level <= task.level or bool(TASK_HEADING.fullmatch(document.heading(heading)))


def _task(section: _Section) -> ForeignTask:
    plain = [(n, line) for n, line in enumerate(section.lines) if n not in section.opaque]
    files: list[str] = []
    depends: list[str] = []
    boxes: list[bool] = []
    for _, line in plain:
        if match := _FILE.match(line):
            files += _CODE.findall(match["what"]) or match["what"].split()[:1]
        if match := _DEPENDS.match(line):
            depends += _REFERENCE.findall(match["what"])
        if match := _BOX.match(line):
            boxes.append(match["box"] != " ")
    return ForeignTask(
        id=f"Task {section.id}",
        title=section.title,
        text="\n".join(section.lines).strip("\n"),
        place=section.place,
        depends=tuple(f"Task {number}" for number in dict.fromkeys(depends)) or None,
        touches=as_patterns(files),
        command=_contract(section, plain),
        status="ticked" if boxes and all(boxes) else "",
    )


def _contract(section: _Section, plain: list[tuple[int, str]]) -> str | None:
    """Return the commands whose runs are expected to pass, as one."""
    found: dict[str, None] = {}
    for place, (number, line) in enumerate(plain):
        match = _RUN.fullmatch(line)
        if match is None:
            continue
        command = match["command"] or _fenced(section, number)
        expected = _expected(match["rest"], [text for _, text in plain[place + 1 :]])
        if command and command.strip() and _is_success(expected):
            found[command.strip()] = None
    return _one_command([command for command in found if not _NO_JUDGE.match(command)])


def _one_command(commands: list[str]) -> str | None:
    """Return commands as one that fails with the first of them."""
    if len(commands) > 1:
        # Each in a shell of its own: `cd` of one must not lead the next one astray.
        apart = [f"(\n{c}\n)" if "\n" in c or "#" in c else f"({c})" for c in commands]
        return "\n".join(("set -e", *apart))
    command = next(iter(commands), None)
    return f"set -e\n{command}" if command and "\n" in command else command


def _fenced(section: _Section, number: int) -> str | None:
    """Return the command in the fence below a line."""
    below = next((n for n in range(number + 1, len(section.lines)) if section.lines[n].strip()), -1)
    fence = section.code.get(below)
    if fence is None or fence.info.split(" ")[0].lower() not in _SHELL:
        return None
    lines = (line.removeprefix("$ ") for line in fence.content.rstrip("\n").split("\n"))
    return "\n".join(lines)


def _expected(rest: str, below: list[str]) -> str:
    """Return what is expected: on the same line, or on the next one that is not empty."""
    following = next((line for line in below if line.strip()), "")
    for text in (rest, following):
        if match := _EXPECTED.search(text):
            return match["what"]
    return ""


def _is_success(expected: str) -> bool:
    rest, count = _NO_FAILURE.subn("", expected)
    return not _FAILURE.search(rest) and (count > 0 or bool(_SUCCESS.search(rest)))


def _introduction(document: Document) -> str:
    """Return what stands between the title and the first heading below it."""
    headings = [block for block in document.blocks if block.kind is BlockKind.HEADING]
    if not headings or headings[0].level != 1:
        return ""
    end = headings[1].line if len(headings) > 1 else len(document.source.lines)
    kept = (
        document.lines(block.line, block.after)
        for block in document.blocks
        if headings[0].after <= block.line < end
        and block.kind not in {BlockKind.QUOTE, BlockKind.RULE, BlockKind.HTML}
    )
    return "\n\n".join(kept)
