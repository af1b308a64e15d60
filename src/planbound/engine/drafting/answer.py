"""Finds in an answer what was asked for: a plan, files to see, batches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from planbound.engine.drafting.prompt import MOST_FILES, READ
from planbound.plan.expand import Batch
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.source.pattern import lazy_pattern

_FENCE = lazy_pattern(r"[ \t]{0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*?)[ \t]*\Z")
_MARKDOWN = frozenset({"markdown", "md"})
_READ_LINE = lazy_pattern(rf"(?m)^[ \t>*-]*`?{READ}`?[ \t]*`?(?P<path>[^`\n]+?)`?[ \t]*$")
_START = lazy_pattern(r"(?m)^(?:---[ \t]*\n(?=(?:[^\n]*\n){0,40}?type:[ \t]*plan)|#[ \t]+\S)")


_MARK = lazy_pattern(r"^[-*+]\s+(?:\[[ xX]\]\s+)?")
_LONGEST = 400_000
_MOST_READ = 2_000_000
"""Characters of all that is tried together: a flood of fences is no plan."""
_MOST_STARTS = 10
_MOST_OPENINGS = 40
_MOST_CLOSINGS = 80


def find_plan(answer: str) -> str | None:
    """Return the text of the plan in an answer; None where there is none.

    A plan is full of fences, so it is looked for in every way in which it could be wrapped: the
    one that holds most of a plan is taken.
    """
    text = _normal(answer)
    best, most = None, (0, 0, 0)
    left = _MOST_READ
    for candidate in _candidates(text):
        left -= len(candidate)
        if left < 0:
            break
        worth = _worth(candidate)
        if worth > most:
            best, most = candidate, worth
    return best.strip("\n") + "\n" if best is not None else None


def wanted_files(answer: str) -> list[str]:
    """Return the files that an answer asks for, each once and no more than are given."""
    found = (match["path"].strip() for match in _READ_LINE.finditer(_normal(answer)))
    return list(dict.fromkeys(path for path in found if path))[:MOST_FILES]


def find_batches(answer: str) -> list[Batch]:
    """Return the batches in an answer: groups of lines in its longest block, one item a line."""
    text = _normal(answer)
    blocks = list(_simple_blocks(text))
    found: list[list[str]] = [[]]
    for line in (max(blocks, key=len) if blocks else text).split("\n"):
        item = _MARK.sub("", line.strip())
        if not item:
            found.append([])
        elif not item.startswith("#"):
            found[-1].append(item)
    return [tuple(group) for group in found if group]


def _normal(answer: str) -> str:
    return answer[:_LONGEST].replace("\r\n", "\n").replace("\r", "\n")


def _candidates(text: str) -> Iterator[str]:
    yield from _blocks(text)
    # Without a fence, or with one that ends too early: from where it begins to the end.
    for start in islice(_START.finditer(text), _MOST_STARTS):
        rest = text[start.start() :]
        yield rest
        lines = rest.rstrip().split("\n")
        if _FENCE.fullmatch(lines[-1]):
            yield "\n".join(lines[:-1])


def _blocks(text: str) -> Iterator[str]:
    """Yield what the fences may hold: from each that could open a plan to those that close it."""
    lines = text.split("\n")
    fences = [(place, match) for place, line in enumerate(lines) if (match := _FENCE.match(line))]
    openings = [
        (index, place, match)
        for index, (place, match) in enumerate(fences)
        # Three marks and another tag: a command, not a document.
        if _tag(match) in _MARKDOWN or (len(match["marks"]) > 3 or not match["info"])
    ]
    # Those that say what they hold first, then the longest: the number of tries is bounded.
    openings.sort(key=lambda each: (_tag(each[2]) not in _MARKDOWN, -len(each[2]["marks"])))
    for index, place, opening in openings[:_MOST_OPENINGS]:
        closings = [end for end, match in fences[index + 1 :] if _closes(match, opening)]
        if _tag(opening) not in _MARKDOWN:
            closings = [*closings[:1], *closings[1:][-1:]]
        for end in closings[:_MOST_CLOSINGS] or [len(lines)]:
            yield "\n".join(lines[place + 1 : end])


def _simple_blocks(text: str) -> Iterator[str]:
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        opening = _FENCE.match(lines[place])
        place += 1
        if opening is None:
            continue
        start = place
        while place < len(lines):
            match = _FENCE.match(lines[place])
            if match is not None and _closes(match, opening):
                break
            place += 1
        yield "\n".join(lines[start:place])
        place += 1


def _tag(fence: re.Match[str]) -> str:
    return fence["info"].split(" ")[0].lower()


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    marks = opening["marks"]
    return not fence["info"] and fence["marks"].startswith(marks)


def _worth(text: str) -> tuple[int, int, int]:
    """Return how much of a plan a text is: its steps with a contract first, then what is else."""
    plan = parse(text)
    whole = sum(step.contract is not None and step.task is not None for step in plan.steps)
    if not plan.steps and not _is_headed(plan):
        return (0, 0, 0)
    parts = [
        plan.frontmatter.type is not None,
        plan.objective is not None,
        bool(plan.postconditions),
        *(True for _ in plan.steps),
    ]
    # Of two that hold the same, the one with less around it.
    return (whole, sum(parts), -len(plan.faults) * _LONGEST - len(text))


def _is_headed(plan: Plan) -> bool:
    return plan.frontmatter.type is not None and plan.objective is not None
