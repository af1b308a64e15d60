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
from planbound.verify.named_files import Mention, mentions

_CLOSES = lazy_pattern(
    r"\b(?:not|never|nobody|no|nor|none|forbidden|avoid|instead|rather|refrain|without|only"
    r"|untouched|unchanged|stays?|remains?|keep\w*|leave|must|should|shall|pass(?:es|ing)?|green"
    r"|succeeds?|until|goes\sthrough|stops?\sfailing|describ\w+|expect\w*|according|judged|tested|checked|covered|cheat\w*|off.limits)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of a sentence that is no plain order: where one of them stands, nothing is opened."""
_ORDERS = lazy_pattern(
    r"(?:^\s*|[\n:;.]\s*|,\s*|\b(?:and|then|also)\s+|[-*]\s+|\d[.)]\s+)"
    r"(?P<verb>remove|rename|replace|refactor|reproduce|(?:re-?)?(?:write|create|add|append|extend"
    r"|update|edit|change|modify|adapt|port|introduce|scaffold|generate|move|split|convert|migrate"
    r"|translate|delete|correct|simplify|clean\s+up|drop))\s+(?P<object>[^\0]*?)$",
    re.IGNORECASE,
)
"""An order at the beginning of a clause, with what stands between its verb and the path."""
_ITSELF = lazy_pattern(
    r"(?:(?:the|a|an|new|all|these|following|file|files|module|tests?|folder|existing|both)[:\s]*)*",
    re.IGNORECASE,
)
_TEST_IN_IT = lazy_pattern(
    r"[^\0]*?\b(?:tests?|cases?|imports?)\b[^\0]*?\b(?:to|in|into|from|of)\s+(?:the\s+)?(?:file\s+)?",
    re.IGNORECASE,
)
_MORE_PATHS = lazy_pattern(r"(?:\0\s*(?:,|and)\s*)+$")
_ITS_NAME = lazy_pattern(r"(?<=test),?\s*\0,?\s*(?=(?:in|to|into)\s)")
_PUTS = frozenset({"add", "append", "remove", "delete", "drop"})
_ELSEWHERE = lazy_pattern(r"\s*(?:to|from|into)\b", re.IGNORECASE)
"""Behind a name that is put on a list, or taken from it: the file itself stays as it is."""
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
    r"(?:^\s*|[\n:;.,]\s*|\b(?:and|then|also)\s+|[-*]\s+|\d[.)]\s+)(?:update|adapt|adjust|migrate"
    rf"|convert|port|rewrite|rename|refactor|change|modify|correct)\s{_GAP}{_TESTS}",
    re.IGNORECASE,
)
_SPECIAL = lazy_pattern(r"[*?\[{]")
_SENTENCES = lazy_pattern(r"(?<=[.!?;])\s|\n\n")
_GOES_ON = lazy_pattern(
    r"\s*(?:$|[.,;:)\0]|(?:accordingly|for|of|in|into|to|and|as|by|from|so|that|using|which|with)\b)",
    re.IGNORECASE,
)
"""What may stand behind what is changed: anything else may be said of it."""
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
    if any(map(_changes_tests, texts)):
        named.extend(places)
    added = places if any(_ADDS_TESTS.search(text) for text in texts) else ()
    return Told(tuple(named), added)


def _paths(text: str) -> Iterator[str]:
    for mention in mentions(text):
        if " " not in mention.text and _is_told(mention, text):
            yield mention.text.removeprefix("./")


def _is_told(mention: Mention, text: str) -> bool:
    """Say whether somebody is plainly ordered to change a file: where in doubt, nobody is."""
    if _CLOSES.search(mention.before) or _CLOSES.search(mention.behind):
        return False
    if mention.is_item and not mention.lead:
        # A bare list, such as `expand` writes below a task: what was said before is about it.
        said = text.partition(mention.text)[0]
        return bool(_BATCH.search(said)) and not _GREEN.search(said)
    before = _ITS_NAME.sub(" ", _MORE_PATHS.sub("", mention.before))
    order = _ORDERS.search(before)
    if order is None or not _GOES_ON.match(mention.behind):
        return False
    between = order["object"]
    if _TEST_IN_IT.fullmatch(between):
        return True
    is_put = order["verb"].lower() in _PUTS and _ELSEWHERE.match(mention.behind)
    return not is_put and _ITSELF.fullmatch(between) is not None


def _changes_tests(text: str) -> bool:
    """Say whether a sentence is a plain order to change tests, whichever they are."""
    for sentence in _SENTENCES.split(text):
        found = _CHANGES_TESTS.search(sentence)
        if found and not _CLOSES.search(sentence) and _GOES_ON.match(sentence[found.end() :]):
            return True
    return False


def _globs(path: str) -> Iterable[Glob]:
    name = path.rstrip("/")
    if _SPECIAL.search(name) and "/" not in name:
        return  # an operator, or a pattern of anything
    is_folder = path.endswith("/") or "." not in name.rpartition("/")[2]
    for text in (name, f"{name}/**") if is_folder else (name,):
        try:
            yield parse_glob(text)
        except GlobError:
            continue
