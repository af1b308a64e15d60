"""vitest: one more test file beside another."""

from __future__ import annotations

import re

from msgspec.structs import replace

from planbound.script.runners.javascript import (
    DECLARED,
    FAILED,
    MOST_FILES,
    PASSING,
    SPECS,
    STOPS,
    WORDS,
    at_ends,
    beside,
    in_operands,
    named_by,
    named_files,
    printed_files,
    says,
)
from planbound.script.runners.runner import (
    COUNT,
    Canary,
    Habits,
    JudgedTree,
    Language,
    Runner,
    RunnerCall,
    Summary,
    added,
    counts,
    joined,
    names,
    number,
)
from planbound.script.tree import words
from planbound.source import lazy_pattern

# -- vitest: one more test file beside another ---------------------------------------------------


_ALLOWED = words(
    "--run --coverage --silent --globals --passWithNoTests --no-color --color --bail --reporter "
    "--no-threads --no-file-parallelism --no-watch --isolate --no-isolate --update -u"
)
_VALUED = words("--reporter --environment --pool --outputFile --testTimeout --bail --maxWorkers")
_ENDS = words("js ts mjs cjs mts cts")
_CONFIGURATIONS = tuple(f"{name}.config.{end}" for name in ("vite", "vitest") for end in _ENDS)
_WORKSPACES = tuple(f"vitest.workspace.{end}" for end in (*_ENDS, "json"))
_CHOOSES = lazy_pattern(r"\b(?:include|exclude|dir|root|projects|workspace|shard|mergeConfig)\b")
_SELECTS = lazy_pattern(r"\btestNamePattern\b")
_PRINTED = lazy_pattern(r"(?m)^ {0,4}✓ (\S(?:.{0,500}?\S)?) {1,4}\(\d{1,9} tests?\b")
_MODULES = ("vitest",)
_COVERAGE = lazy_pattern(r"\bcoverage\s{0,20}:\s{0,20}\{[^{}]{0,2000}\}")
_TEST = """\
import {{ expect, test }} from 'vitest';

test('{names[0]}', () => {{
  throw new Error('{names[0]}');
}});
"""
_MORE = """
test('{names[1]}', () => {{
  expect(1).toBe(2);
}});

test('{names[2]}', () => {{
  expect([1]).toEqual([2]);
}});
"""


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return the test files that vitest runs, with more tests at their ends; or one beside them.

    Every file has its own world. Tests in a file of their own do not meet what the product did.
    """
    operands = found.operands(_VALUED)
    if operands[:1] == ["run"]:
        operands = operands[1:]
    if found.unknown(_ALLOWED, _VALUED):
        return None
    texts = [
        _COVERAGE.sub("", project.text(joined(found.directory, name)) or "")
        for name in (*_CONFIGURATIONS, *_WORKSPACES)
    ]
    if says(texts, _SELECTS):
        return None
    spaces = any(project.read(joined(found.directory, name)) is not None for name in _WORKSPACES)
    chosen = spaces or says(texts, _CHOOSES)
    reached = list(printed_files(found, project, _PRINTED))
    if not reached and (project.said is None or not chosen):
        reached = named_files(found, operands, project)
    # After so many failures it stops, and the configuration may say so too.
    stops = found.call.has("--bail") or any("bail" in text for text in texts)
    most = 1 if says(texts, STOPS) else MOST_FILES
    added = None if stops else at_ends(reached, project, _MODULES, most=most)
    if added is not None or chosen:
        return added
    sibling = in_operands(found, operands, project, _is_module)
    place = beside(sibling, project) if sibling is not None else None
    if place is None:
        return None
    names = project.several(1 if stops else 3)
    content = (_TEST if stops else _TEST + _MORE).format(names=names)
    return Canary(((place, content.encode()),), names, passing=PASSING)


def _is_module(path: str) -> bool:
    return not path.endswith((".cjs", ".cts"))


# -- what vitest says: `Tests  1 failed | 2 passed (3)` under the test files ---------------------


_LAST = lazy_pattern(
    r"^ {0,20}Test Files  ([0-9a-z| ()]{1,200})\n {1,20}Tests  ([0-9a-z| ()]{1,200})$"
    rf"(?:\n {{1,20}}Errors  ({COUNT}) errors?$)?"
    r"|^No test files found, exiting with code [01]$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what vitest says, all its runs together."""
    return added("vitest", (_run(*found) for found in _LAST.findall(text)))


def _run(files: str, tests: str, errors: str) -> Summary:
    found = counts(tests)
    # A file that cannot be loaded fails without a test; an error may be outside of all tests.
    failed = (found.get("failed", 0) or counts(files).get("failed", 0)) + number(errors)
    skipped = found.get("skipped", 0) + found.get("todo", 0)
    return Summary("vitest", found.get("passed", 0), failed, skipped)


RUNNER = Runner(
    programs=("vitest",),
    name="vitest",
    language=Language.JAVASCRIPT,
    words=replace(
        WORDS,
        configurations=frozenset({"-c"}),
        once=words("run list init --run --watch=false --no-watch -v bench"),
    ),
    proposed="vitest run",
    habits=Habits(
        settings=names(
            "vitest.config.{ts,mts,cts,js,mjs,cjs} vitest.workspace.{ts,js,json} "
            "vite.config.{ts,mts,cts,js,mjs,cjs} tsconfig.json package.json"
        ),
        tests=SPECS,
        folders=("__mocks__",),
    ),
    loaded=(
        (lazy_pattern(r"vitest\.(?:config|workspace)\..+"), "vitest runs it before the tests"),
    ),
    failed=FAILED,
    read=read,
    canary=make,
    naming=named_by("--reporter=default", "--reporter=json", "--outputFile.json=FOUND"),
    declared=DECLARED,
)
