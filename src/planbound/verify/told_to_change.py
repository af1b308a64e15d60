"""Which files the words of a step tell it to change, where it has no `touches`.

What a step is judged by may be changed only by one that is told to: by its `touches`, or, where it
has none, by its task. Careful: "make `tests/test_x.py` pass" tells nobody to change the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Step
from planbound.source.pattern import lazy_pattern
from planbound.verify.named_files import Mention, mentions, nearest_word

_CHANGES = lazy_pattern(
    r"(?:re-?)?(?:writ|wrote|creat|add|append|extend|updat|edit|chang|replac|modif|adapt|port"
    r"|introduc|implement|scaffold|generat|sav|put|plac|stor|record|reproduc|mov|renam|extract"
    r"|split|convert|migrat|cop[yi]|translat|delet|remov|new\s|into$|onto$|to$|→|->|=>)"
)
_TAKES_OUT = lazy_pattern(r"\b(?:delet|remov|strip|drop)\w*\b[^.\0]*\bfrom\b", re.IGNORECASE)
_GREEN = lazy_pattern(
    r"\b(?:pass(?:es|ing)?|green|succeeds?|works?|again|until|goes\sthrough|stops?\sfailing)\b",
    re.IGNORECASE,
)
_BATCH = lazy_pattern(
    r"\b(?:migrat|updat|convert|port|rewrit|chang|edit|renam|refactor|modif|adapt|translat|creat"
    r"|writ|add)\w*\b[^.\0]*\b(?:files?|modules?|tests?|them|batch|these|following)\b",
    re.IGNORECASE,
)
# What stands between a verb and the tests: "update the imports, docs and tests".
_GAP = (
    r"(?:(?:the|all|any|every|each|its|their|our|both|existing|affected|old|new|unit|integration|"
    r"relevant|remaining|regression|failing|missing|more|some|a|an|one|two|three|few|end-to-end|"
    r"focused|matching|corresponding|pytest|thorough|comprehensive)\s|[\w`/.-]+(?:,|\sand)\s){0,8}"
)
_TESTS = r"(?:tests?|test\s(?:files?|suite|cases?|modules?|coverage))\b(?!\s(?:pass|are\sgreen))"
_ADDS_TESTS = lazy_pattern(
    r"(?<!not\s)(?<!n't\s)\b(?:writ(?:e|ing)|add(?:ing)?|creat(?:e|ing)|implement(?:ing)?"
    rf"|provid(?:e|ing)|extend(?:ing)?|reproduc(?:e|ing)\s[^.\n]{{0,80}}?\b(?:with|by|in))\s{_GAP}"
    rf"{_TESTS}",
    re.IGNORECASE,
)
_CHANGES_TESTS = lazy_pattern(
    r"(?<!not\s)(?<!n't\s)(?<!without\s)\b(?:updat(?:e|ing)|adapt(?:ing)?|adjust(?:ing)?"
    r"|migrat(?:e|ing)|convert(?:ing)?|port(?:ing)?|rewrit(?:e|ing)|renam(?:e|ing)"
    rf"|refactor(?:ing)?)\s{_GAP}{_TESTS}",
    re.IGNORECASE,
)
_TEST_PLACES = (
    *("tests/**", "test/**", "**/tests/**", "**/test/**", "spec/**", "**/spec/**"),
    *("**/__tests__/**", "**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "**/*_spec.*"),
)


class Told(NamedTuple):
    """What a step may change of its judges, by its words."""

    named: tuple[Glob, ...] = ()
    """What it is told to change."""
    added: tuple[Glob, ...] = ()
    """Where it is told to add something, and may change nothing that is there."""


def told_by(step: Step) -> Told:
    """Return what the title and the task of a step tell it to change."""
    prose = tuple(each.text for each in (step.task, step.notes) if each is not None)
    return _told((step.title, *prose))


@lru_cache(maxsize=512)
def _told(texts: tuple[str, ...]) -> Told:
    named = [glob for text in texts for path in _paths(text) for glob in _globs(path)]
    places = tuple(parse_glob(each) for each in _TEST_PLACES)
    if any(_CHANGES_TESTS.search(text) for text in texts):
        named.extend(places)
    added = places if any(_ADDS_TESTS.search(text) for text in texts) else ()
    return Told(tuple(named), added)


def _paths(text: str) -> Iterator[str]:
    for mention in mentions(text):
        if " " not in mention.text and _is_told(mention, text):
            yield mention.text.removeprefix("./")


def _is_told(mention: Mention, text: str) -> bool:
    """Say whether somebody is told to change a file: where in doubt, nobody is."""
    if _GREEN.search(mention.before) or _GREEN.search(mention.behind):
        return False
    if mention.is_item and not mention.lead:
        # A bare list, such as `expand` writes below a task: what was said before is about it.
        said = text.partition(mention.text)[0]
        return bool(_BATCH.search(said)) and not _GREEN.search(said)
    if _TAKES_OUT.search(mention.before):
        return True
    word = nearest_word(mention)
    return word is not None and _CHANGES.match(word) is not None


def _globs(path: str) -> Iterable[Glob]:
    name = path.rstrip("/")
    is_folder = path.endswith("/") or "." not in name.rpartition("/")[2]
    for text in (name, f"{name}/**") if is_folder else (name,):
        try:
            yield parse_glob(text)
        except GlobError:
            continue
