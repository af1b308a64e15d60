"""jest: one more test file beside another; `test` is global."""

from __future__ import annotations

import json
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
    package,
    printed_files,
    says,
)
from planbound.script.runners.runner import (
    Canary,
    Habits,
    JavaScriptTests,
    JudgedTree,
    Language,
    Runner,
    RunnerCall,
    Summary,
    added,
    counts,
    joined,
    names,
)
from planbound.script.tree import words
from planbound.source import lazy_pattern

# -- jest: one more test file beside another; `test` is global -----------------------------------


_ALLOWED = words(
    "--ci --silent --verbose --coverage --runInBand -i --bail -b --no-cache --noCache --forceExit "
    "--detectOpenHandles --passWithNoTests --colors --no-coverage --maxWorkers "
    "-w --testTimeout --reporters --expand -e --logHeapUsage --color --no-color --json"
)
_VALUED = words("-w --maxWorkers --testTimeout --reporters --coverageReporters")
_CONFIGURATIONS = tuple(f"jest.config.{end}" for end in words("js ts mjs cjs json mts cts"))
# They choose among files: then what jest printed says which it ran.
_CHOOSING = words(
    "-c --config --rootDir --testPathPattern --testPathPatterns --testPathIgnorePatterns "
    "--testMatch --testRegex --env --testEnvironment"
)
_ELSEWHERE = words("-c --config --rootDir")
_BY_PATH = words("--runTestsByPath")
_PRINTED = lazy_pattern(r"(?m)^PASS {1,20}(\S(?:.{0,500}?\S)?)(?: \(\d{1,9}(?:\.\d{1,9})? m?s\))?$")
_CHOOSES = lazy_pattern(
    r"\b(?:testMatch|testRegex|roots|rootDir|projects|testPathIgnorePatterns|injectGlobals|filter"
    r"|shard)\b"
)
_SELECTS = lazy_pattern(r"\btestNamePattern\b")
_MODULES = ("@jest/globals",)
# What every version of jest takes for a test.
_KINDS = (".js", ".jsx", ".ts", ".tsx")
_TEST = """\
test('{names[0]}', () => {{
  throw new Error('{names[0]}');
}});

test('{names[1]}', () => {{
  expect(1).toBe(2);
}});

test('{names[2]}', () => {{
  expect([1]).toEqual([2]);
}});
"""


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return the test files that jest runs, with more tests at their ends; or one beside them.

    Every file has its own world. Tests in a file of their own do not meet what the product did.
    """
    valued = _VALUED | _CHOOSING
    if found.unknown(_ALLOWED | _BY_PATH, valued):
        return None
    texts = [project.text(joined(found.directory, name)) for name in _CONFIGURATIONS]
    texts.append(json.dumps(package(project, found.directory).get("jest", {})))
    if says(texts, _SELECTS):
        return None
    chosen = found.call.has(*_CHOOSING, *_BY_PATH) or says(texts, _CHOOSES)
    reached = list(printed_files(found, project, _PRINTED))
    if not reached and (project.said is None or not chosen):
        named = named_files(found, found.operands(valued), project)
        reached = [path for path in named if path.endswith(_KINDS)]
    # After the first file that fails it may stop.
    stops = found.call.has("--bail", "-b", *_ELSEWHERE) or says(texts, STOPS)
    added = at_ends(reached, project, _MODULES, most=1 if stops else MOST_FILES)
    if added is not None or chosen:
        return added
    sibling = in_operands(
        found, found.operands(_VALUED), project, lambda path: path.endswith(_KINDS)
    )
    place = beside(sibling, project) if sibling is not None else None
    if place is None:
        return None
    names = project.several(3)
    return Canary(((place, _TEST.format(names=names).encode()),), names, passing=PASSING)


# -- what jest says: `Tests:       1 failed, 2 passed, 3 total` under the test suites ------------


_LAST = lazy_pattern(
    r"^Test Suites: ([0-9a-z, ]{1,200})\nTests: {1,10}([0-9a-z, ]{1,200} total)$"
    r"|^No tests found(?:, exiting with code [01]$| related to files changed since .{0,200}$)",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what jest says, all its runs together."""
    return added("jest", (_run(*found) for found in _LAST.findall(text)))


def _run(suites: str, tests: str) -> Summary:
    found = counts(tests)
    # A suite that cannot be loaded fails without a test.
    failed = found.get("failed", 0) or counts(suites).get("failed", 0)
    skipped = found.get("skipped", 0) + found.get("todo", 0) + found.get("pending", 0)
    return Summary("jest", found.get("passed", 0), failed, skipped)


RUNNER = Runner(
    programs=("jest",),
    name="jest",
    language=Language.JAVASCRIPT,
    words=replace(WORDS, configurations=frozenset({"-c"})),
    proposed="jest",
    habits=Habits(
        settings=names(
            "jest.config.{js,ts,mjs,cjs,json} jest.setup.{js,ts} "
            "babel.config.{js,cjs,mjs,json,ts} .babelrc .babelrc.{js,json,cjs,mjs} tsconfig.json "
            "package.json"
        ),
        tests=SPECS,
        folders=("__mocks__",),
    ),
    loaded=((lazy_pattern(r"jest\.config\..+"), "jest runs it before the tests"),),
    caches=(".jest-cache",),
    failed=FAILED,
    read=read,
    canary=make,
    naming=replace(named_by("--json", "--outputFile=FOUND"), beside=True),
    declared=DECLARED,
    javascript=JavaScriptTests(_MODULES, has_expect=True),
)
