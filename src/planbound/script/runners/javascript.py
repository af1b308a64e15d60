"""What the JavaScript runners share: their words, their files, and how they name their tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from planbound.script.runners.runner import (
    CallWords,
    Canary,
    Declared,
    JudgedTree,
    Naming,
    RunnerCall,
    Variable,
    base,
    counted,
    joined,
    parent,
)
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

WORDS = CallWords(
    patterns=True,
    valued=words(
        "-t --testNamePattern --testPathPattern --testPathPatterns -c --config --reporter "
        "--reporters --project --outputFile --testTimeout -w --maxWorkers --coverage.reporter "
        "--environment --pool --root --dir --shard --env -r --grep -g --retries --workers"
    ),
    watches=True,
)
SPECS = lazy_pattern(
    r"(?:.*/)?(?:__tests__|__snapshots__|__mocks__)/.*|(?:.*/)?[^/]*\.(?:test|spec)\.[^/]*\Z"
)
TEST_OR_SPECS = lazy_pattern(
    r"tests?/.*|(?:.*/)?(?:__tests__|__snapshots__)/.*|(?:.*/)?[^/]*\.(?:test|spec)\.[^/]*\Z"
)
FAILED = r"Tests?:?\s{1,12}(?:\d{1,9} \w{1,12}[,|]\s){0,4}\d{1,9} failed\b"
"""How several of them say at their end that tests failed."""
DECLARED = Declared(
    (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"),
    counted(
        lazy_pattern(r"(?m)^[^'\"`\n]{0,80}?\b(?:it|test|specify)(?:\.\w{1,20}){0,3}\s{0,4}\(")
    ),
)
# `a.test.ts` is `a`, and `.test.ts`.
_TEST_FILE = lazy_pattern(r".{0,200}?(\.(?:test|spec)\.[cm]?[jt]sx?)")
_SKIPPED = lazy_pattern(r"(?:^|/)(?:node_modules|dist|build|out|coverage|cypress|e2e|\.[^/]*)/")
_GLOB = frozenset("*?[]{}!()")
PASSING = r"(?:[✓✔√]|\bok \d+) (?:- )?(?:.{1,200} )?{name}\b"
"""How runners say that a test passed."""


def is_glob(text: str) -> bool:
    """Say whether a word is a pattern."""
    return not _GLOB.isdisjoint(text)


@cache
def _expression(pattern: str) -> re.Pattern[str] | None:
    """Return a glob of `*`, `**/` and `{a,b}` as an expression; None for any other glob."""
    if not _GLOB.isdisjoint(set(pattern) - set("*{}")) or pattern.count("*") > 8:
        return None
    made = ""
    depth = 0
    for part in re.split(r"(\*\*/|\*|[{},])", pattern):
        depth += (part == "{") - (part == "}")
        signs = {"**/": "(?:[^/]+/)*", "*": "[^/]*", "{": "(?:", "}": ")"}
        comma = part == "," and depth > 0
        made += "|" if comma else signs.get(part, re.escape(part))
    try:
        return re.compile(made)
    except re.error:
        return None


def matches(path: str, pattern: str) -> bool:
    """Say whether a path is surely what a glob means, with and without `**` of the shell."""
    expression = _expression(pattern)
    return expression is not None and expression.fullmatch(path) is not None


def test_files(project: JudgedTree, directory: str) -> list[str]:
    """Return the files named `*.test.*` and `*.spec.*` in a directory, those on top first."""
    found = [
        path
        for path in project.below(directory)
        if _TEST_FILE.fullmatch(base(path))
        and not _SKIPPED.search(path.removeprefix(f"{directory}/") if directory else path)
    ]
    return sorted(found, key=lambda path: (path.count("/"), path))


def beside(path: str, project: JudgedTree) -> str | None:
    """Return the canary's place beside a test file, with that file's kind of name."""
    match = _TEST_FILE.fullmatch(base(path))
    if match is None:
        return None
    return joined(parent(path), f"{project.name}{match[1]}")


def in_operands(
    found: RunnerCall, operands: Sequence[str], project: JudgedTree, fits: Callable[[str], bool]
) -> str | None:
    """Return the first fitting test file that the command reaches; None where it names files."""
    places = [below(found.directory, operand) for operand in operands] or [found.directory]
    for place in places:
        if place is None or (place and not project.holds(place)):
            return None
    for place in places:
        for path in test_files(project, place or ""):
            if fits(path):
                return path
    return None


# By itself, or in another file of the project that is taken in.
STOPS = lazy_pattern(r"\bbail\b|(?:\brequire\(|\bimport\(|\bfrom\b)\s{0,9}['\"]\.\.?/")
"""How a configuration may say that a run stops after some failures."""


def says(texts: Iterable[str | None], expression: re.Pattern[str]) -> bool:
    """Say whether a configuration speaks of something."""
    return any(text is not None and expression.search(text) for text in texts)


# -- more tests at the end of a file of tests: where they run, the product runs, too --------------


MOST_FILES = 40
_ADDS = lazy_pattern(r"(?m)(?:^|[{;])[ \t]{0,80}(test|it)(?:\.(?:each|concurrent))?[ \t]{0,4}[(`]")
_ONLY = lazy_pattern(r"\.only\b|\b(?:fit|fdescribe)\b")
_BINDS = lazy_pattern(
    r"\b(?:import|const|let|var|function|class)\s{1,20}([\w$\s{},*:]{1,500}?)\s{0,20}"
    r"(?:\bfrom\b|[=(])([^\n;]{0,200})"
)
_WORD = lazy_pattern(r"[\w$]{1,100}")
# What each matcher does not find; those that a file of tests uses may be changed by its product.
_MATCHERS = {
    "toBe": "expect(1).toBe(2);",
    "toEqual": "expect([1]).toEqual([2]);",
    "toStrictEqual": "expect([1]).toStrictEqual([2]);",
    "toBeTruthy": "expect(0).toBeTruthy();",
    "toBeFalsy": "expect(1).toBeFalsy();",
    "toBeNull": "expect(1).toBeNull();",
    "toBeDefined": "expect(undefined).toBeDefined();",
    "toBeUndefined": "expect(1).toBeUndefined();",
    "toBeCloseTo": "expect(1).toBeCloseTo(2);",
    "toBeGreaterThan": "expect(1).toBeGreaterThan(2);",
    "toBeLessThan": "expect(2).toBeLessThan(1);",
    "toContain": "expect([1]).toContain(2);",
    "toContainEqual": "expect([1]).toContainEqual(2);",
    "toHaveLength": "expect([1]).toHaveLength(2);",
    "toMatch": "expect('a').toMatch('b');",
    "toMatchObject": "expect({ a: 1 }).toMatchObject({ a: 2 });",
    "toThrow": "expect(() => 1).toThrow();",
}
# What is printed around a failure must not name another test.
_APART = "\n" * 6


def adding_word(source: str, modules: Sequence[str]) -> str | None:
    """Return the word with which a file adds tests; None where it is not surely the runner's.

    Where one test is chosen among others, what is added would not run.
    """
    found = None if _ONLY.search(source) else _ADDS.search(source)
    if found is None:
        return None
    for bound, value in _BINDS.findall(source):
        known = any(module in value for module in modules)
        if not known and found[1] in _WORD.findall(bound):
            return None
    return found[1]


def failing_checks(source: str) -> list[str]:
    """Return what fails in as many ways as the tests of a file look for."""
    usual = ("toBe", "toEqual")
    return [
        check
        for matcher, check in _MATCHERS.items()
        if matcher in usual or re.search(rf"\.{matcher}\b", source)
    ]


def with_tests(source: bytes, word: str, names: Sequence[str], checks: Sequence[str]) -> bytes:
    """Return a file of tests with failing ones at its end; the first one throws."""
    bodies = [f"throw new Error('{names[0]}');", *checks]
    tests = (
        f"{_APART};{word}('{name}', () => {{\n  {body}\n}});\n"
        for name, body in zip(names, bodies, strict=True)
    )
    return source + "".join(tests).encode()


def at_ends(
    paths: Sequence[str], project: JudgedTree, modules: Sequence[str], *, most: int
) -> Canary | None:
    """Return files of tests with failing tests at their ends; None where no file can have some."""
    files: list[tuple[str, bytes]] = []
    names: list[str] = []
    for path in paths:
        source = project.text(path) or ""
        word = adding_word(source, modules)
        if word is None or len(files) >= most:
            continue
        checks = failing_checks(source)
        own = project.several(len(checks) + 1, path)
        files.append((path, with_tests(project.read(path) or b"", word, own, checks)))
        names += own
    return Canary(tuple(files), tuple(names), passing=PASSING) if files else None


def named_files(found: RunnerCall, operands: Sequence[str], project: JudgedTree) -> list[str]:
    """Return the files of tests that a command names, or that lie in the folders that it names."""
    places = [below(found.directory, operand) for operand in operands] or [found.directory]
    files: dict[str, None] = {}
    for place in places:
        if place and project.read(place) is not None:
            if _TEST_FILE.fullmatch(base(place)):
                files.setdefault(place)
        elif place is not None:
            files.update(dict.fromkeys(test_files(project, place)))
    return list(files)


def printed_files(
    found: RunnerCall, project: JudgedTree, expression: re.Pattern[str]
) -> Iterator[str]:
    """Yield the files of which a runner said that their tests passed."""
    for match in expression.finditer(project.said or ""):
        # The name of a project may stand before it.
        for path in (match[1], match[1].rpartition(" ")[2]):
            place = below(found.directory, path)
            if place is not None and project.read(place) is not None:
                yield place
                break


# -- a report, asked for by a file that node loads -----------------------------------------------


# Loaded into every process of node; only the first one that is the runner is changed.
_HOOK = """\
'use strict';
(() => {{
  const fs = require('fs');
  const path = require('path');
  if (process.env.{mark} || !process.argv[1]) return;
  let program = '';
  try {{
    program = fs.realpathSync(process.argv[1]);
  }} catch {{
    return;
  }}
  if (!program.split(path.sep).join('/').includes('/node_modules/{runner}/')) return;
  process.env.{mark} = '1';
  const found = path.join(__dirname, 'found.json');
  process.argv.push(...{options}.map((word) => word.replace('FOUND', found)));
  const root = path.resolve(__dirname, '..');
  const said = (text) => String(text).replace(/[^\\x20-\\x7e]|[&<>"]/g, (sign) => {{
    return `&#${{sign.codePointAt(0) < 32 ? 32 : sign.codePointAt(0)}};`;
  }});
  process.on('exit', () => {{
    const lines = [];
    const add = (file, name, end) => {{
      const inner = {{ passed: '', failed: '<failure/>' }}[end] ?? '<skipped/>';
      const place = said(path.relative(root, file || root));
      lines.push(`<testcase classname="${{place}}" name="${{said(name)}}">${{inner}}</testcase>`);
    }};
    let report;
    try {{
      report = JSON.parse(fs.readFileSync(found, 'utf8'));
    }} catch {{
      return;
    }}
    for (const file of report.testResults ?? []) {{
      for (const each of file.assertionResults) add(file.name, each.fullName, each.status);
      if (!file.assertionResults.length) add(file.name, '', file.status);
    }}
    const ends = [['passes', 'passed'], ['failures', 'failed'], ['pending', 'skipped']];
    for (const [list, end] of report.testResults ? [] : ends) {{
      for (const each of report[list] ?? []) add(each.file, each.fullTitle, end);
    }}
    const text = `<testsuites><testsuite>${{lines.join('')}}</testsuite></testsuites>`;
    fs.writeFileSync(path.join(__dirname, '{report}'), text);
  }});
}})();
"""
_ASKED = ("--reporter", "--reporters", "-R", "--json", "--outputFile", "--")


def named_by(*options: str, failing: Iterable[int] = (1,)) -> Naming:
    """Return how a runner writes its report, with these options; FOUND is where it goes."""
    return Naming(lambda found, project: _report(options, found, project), frozenset(failing))


def _report(options: Sequence[str], found: RunnerCall, project: JudgedTree) -> Canary | None:
    if found.call.has(*_ASKED) or "NODE_OPTIONS" in found.text:
        return None
    folder, report = f".{project.called('folder')}", f"{project.called('report')}.xml"
    hook = f"{folder}/{project.called('hook')}.cjs"
    text = _HOOK.format(
        mark=project.called("mark").upper(),
        runner=found.call.program,
        options=[*options],
        report=report,
    )
    variable = Variable("NODE_OPTIONS", f"--require {{workspace}}/{hook}", " ")
    return Canary(((hook, text.encode()),), (), (variable,), f"{folder}/{report}")


def package(project: JudgedTree, directory: str) -> dict[str, object]:
    """Return what a directory's `package.json` says."""
    data = project.read(joined(directory, "package.json"))
    try:
        value = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
