"""`node --test`: more tests at the end of every test file.

Each file has its own process. Tests in a file of their own would say nothing about the others, and
the product could tell that process from theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from planbound.script.runners.assertions import of_node
from planbound.script.runners.javascript import DECLARED, is_glob, matches
from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Habits,
    JavaScriptTests,
    JudgedTree,
    Language,
    Naming,
    RequiredTest,
    Runner,
    RunnerCall,
    Summary,
    Variable,
    added,
    base,
    joined,
    parent,
    source_text,
)
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

# -- `node --test`: more tests at the end of every test file -------------------------------------


_ALLOWED = words(
    "--test --no-warnings --enable-source-maps --experimental-strip-types --test-force-exit "
    "--experimental-test-coverage --experimental-vm-modules --experimental-test-module-mocks "
    "--trace-warnings --test-reporter --test-concurrency --test-timeout --import"
)
_VALUED = words("--import -r --require --test-reporter --test-reporter-destination --loader")
# What every version finds by itself.
_FOUND = lazy_pattern(r"(?:.{1,200}[._-]test|test-.{1,200}|test)\.[cm]?js")
_SKIPPED = lazy_pattern(r"(?:^|/)(?:node_modules|\.[^/]*)/")
_MODULES = (".js", ".cjs", ".mjs")
_MOST_FILES = 40
_MODULE_KINDS = (*_MODULES, ".ts", ".mts", ".cts")
# Each fails in another way that a product might undo in its own process.
_CHECKS = (
    "throw new Error(name);",
    "assert(false);",
    "assert.ok(false);",
    "assert.equal(1, 2);",
    "assert.strictEqual(1, 2);",
    "assert.notStrictEqual(1, 1);",
    "assert.deepEqual([1], [2]);",
    "assert.deepStrictEqual([1], [2]);",
    "assert.throws(() => {});",
    "assert.strict.equal(1, 2);",
    "assert.strict.deepEqual([1], [2]);",
)
# It has to run in both kinds of modules, and at once where that is possible: the runner may be told
# not to wait. What is thrown has no stack, so that the output stays short.
_TESTS = """
;(() => {{
  const load = typeof require === 'function' ? require : process.getBuiltinModule;
  const add = (runner, assert, entries) => {{
    for (const [name, check] of entries) {{
      runner.test(name, () => {{
        const fail = () => {{
          throw name;
        }};
        try {{
          const found = check(assert, name);
          return found && found.then ? found.then(() => {{}}, fail) : undefined;
        }} catch {{
          return fail();
        }}
      }});
    }}
  }};
  const entries = [
{entries}  ];
  if (load) add(load('node:test'), load('node:assert'), entries);
{later}}})();
"""
_LATER = """\
  const later = [
{entries}  ];
  Promise.all([import('node:test'), import('node:assert')]).then(([runner, assert]) => {{
    add(runner, assert.default, load ? later : [...entries, ...later]);
  }});
"""
FAILING = r"^\s*(?:not ok \d+ - |✖ ){name}\b"
PASSING = r"^\s*(?:ok \d+ - |✔ ){name}\b"


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return the test files that are run, each with failing tests at its end."""
    if not runs_all(found):
        return None
    selected = selected_files(found, project)
    if not 0 < len(selected) <= _MOST_FILES:
        return None
    hurried = found.call.has("--test-force-exit")
    files: list[tuple[str, bytes]] = []
    names: list[str] = []
    for path in selected:
        checks = (*_CHECKS, *of_node([project.text(path) or ""]))
        added = project.several(len(checks), path)
        later = () if hurried else project.several(2, path, "later")
        names += [*added, *later]
        files.append((path, (project.read(path) or b"") + _tests(checks, added, later).encode()))
    plain = found.call.has("--test-reporter")
    named = (report(found, project) if plain and not _is_told(found) else None) or Canary((), ())
    return Canary(
        (*files, *named.files),
        tuple(names),
        named.environment,
        named.reports,
        failing="{name}" if plain else FAILING,
        passing=PASSING,
    )


def runs_all(found: RunnerCall) -> bool:
    """Say whether all tests of the files are run."""
    return found.call.has("--test") and not found.unknown(_ALLOWED, _VALUED)


def _tests(checks: tuple[str, ...], names: tuple[str, ...], later: tuple[str, ...]) -> str:
    more = _LATER.format(entries=_entries(checks, later)) if later else ""
    return _TESTS.format(entries=_entries(checks, names), later=more)


def _entries(checks: tuple[str, ...], names: tuple[str, ...]) -> str:
    pairs = zip(names, checks, strict=False)
    return "".join(f"    ['{name}', (assert, name) => {{ {check} }}],\n" for name, check in pairs)


def selected_files(found: RunnerCall, project: JudgedTree) -> list[str]:
    """Return the test files that surely run, those on top first."""
    kept: dict[str, None] = {}
    for operand in found.operands(_VALUED) or [""]:
        kept.update(dict.fromkeys(_selected(found, operand, project)))
    return sorted(kept, key=lambda path: (path.count("/"), path))


def _selected(found: RunnerCall, operand: str, project: JudgedTree) -> list[str]:
    """Return the test files that an operand stands for."""
    target = below(found.directory, operand)
    if target is None:
        return []
    if is_glob(target):
        # A shell's `**` is `*`: both readings have to match.
        shell = target if found.is_quoted(operand) else target.replace("**/", "*/")
        kept = [path for path in project.paths if matches(path, target) and matches(path, shell)]
    elif operand and project.read(target) is not None:
        kept = [target]
    elif operand and any(
        project.read(joined(target, f"index{kind}")) is not None for kind in _MODULES
    ):
        # New versions take a directory for a module.
        return []
    else:
        kept = [path for path in project.below(target) if _is_test(path, target, project)]
        kept = [path for path in kept if path.endswith(_MODULES)]
    return [path for path in kept if path.endswith(_MODULE_KINDS) and not _SKIPPED.search(path)]


def _is_test(path: str, directory: str, project: JudgedTree) -> bool:
    """Say whether node takes a file for a test; what only helps tests is left alone."""
    inside = path.removeprefix(f"{directory}/") if directory else path
    if _FOUND.fullmatch(base(path)) is not None:
        return True
    return "/test/" in f"/{parent(inside)}/" and "node:test" in (project.text(path) or "")


# -- what `node --test` says at its end, as TAP (`# pass 1`) or as `spec` (`ℹ pass 1`) -----------


_LAST = lazy_pattern(
    rf"^([#ℹ]) tests {COUNT}\n(?:\1 suites {COUNT}\n)?\1 pass ({COUNT})\n\1 fail ({COUNT})\n"
    rf"\1 cancelled ({COUNT})\n\1 skipped ({COUNT})\n\1 todo ({COUNT})\n\1 duration_ms ",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what `node --test` says, all its runs together."""
    runs = (
        Summary("node --test", int(passed), int(failed) + int(cancelled), int(skipped) + int(todo))
        for _mark, passed, failed, cancelled, skipped, todo in _LAST.findall(text)
    )
    return added("node --test", runs)


# -- which tests surely run, as the sources name them --------------------------------------------


_TEST = lazy_pattern(r"[ \t]*(?:test|it)\(\s*(?:'([^'\\#$]+)'|\"([^\"\\#$]+)\"|`([^`\\#$]+)`)\s*,")
_GROUP = lazy_pattern(r"[ \t]*(?:describe|suite)\(")
_UNSURE = lazy_pattern(r"\.(?:skip|todo|only)\b|\b(?:skip|todo|only)\s*[:(]|\bprocess\.exit")


def required(
    found: RunnerCall, project: JudgedTree, judges: Mapping[str, bytes]
) -> Iterator[RequiredTest]:
    """Yield the tests of the files that surely run, as the frozen judges declare them."""
    if not runs_all(found) or found.call.has("--test-reporter"):
        return
    known = set(selected_files(found, project))
    for path, data in sorted(judges.items()):
        text = source_text(data)
        if path in known and not _UNSURE.search(text):
            for name in _names(text):
                yield RequiredTest(
                    path, name, PASSING.removesuffix(r"\b") + r"(?: \([\d.]+ms\))?\s*$"
                )


def _names(text: str) -> Iterator[str]:
    """Yield the tests on top, and in groups that stand on top; those in branches may not run."""
    above: list[tuple[int, bool]] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        sure = above[-1][1] if above else indent == 0
        match = _TEST.match(line)
        if match and sure:
            yield match[1] or match[2] or match[3]
        above.append((indent, sure and _GROUP.match(line) is not None))


# What node prints by itself, into a pipe or a file.
_USUAL = b"""\
'use strict';
const { spec, tap } = require('node:test/reporters');
module.exports = Number(process.versions.node.split('.')[0]) < 23 ? tap : new spec();
"""


def report(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return node's own report, besides what it prints."""
    if not found.call.has("--test") or "NODE_OPTIONS" in found.text:
        return None
    folder, report = f".{project.called('folder')}", f"{project.called('report')}.xml"
    options = f"--test-reporter=junit --test-reporter-destination={{workspace}}/{folder}/{report}"
    files = ((f"{folder}/{project.called('note')}", b""),)
    if not _given(found, "--test-reporter"):
        usual = f"{folder}/{project.called('usual')}.cjs"
        # Who reads what is printed expects the format that there is without a report.
        files = ((usual, _USUAL),) if found.is_cut else files
        shown = f'"--test-reporter={{workspace}}/{usual}"'
        options += f" {shown}" if found.is_cut else " --test-reporter=spec"
    # A single reporter needs to say nothing of where it writes; two do.
    if not _given(found, "--test-reporter-destination"):
        options += " --test-reporter-destination=stdout"
    return Canary(files, (), (Variable("NODE_OPTIONS", options, " "),), f"{folder}/{report}")


def _given(found: RunnerCall, option: str) -> list[str]:
    """Return the values that an option was given, `--option=value` or `--option value`."""
    values = found.call.values()
    apart = [following for value, following in pairwise(values) if value == option]
    return apart + [value.partition("=")[2] for value in values if value.startswith(f"{option}=")]


def _is_told(found: RunnerCall) -> bool:
    """Say whether what the reporters print names the tests."""
    places = _given(found, "--test-reporter-destination")
    kinds = _given(found, "--test-reporter")
    return bool({"spec", "tap"} & {*kinds}) and (not places or "stdout" in places)


RUNNER = Runner(
    programs=("node",),
    name="node --test",
    shown="`node --test`",
    language=Language.JAVASCRIPT,
    words=CallWords(subcommand="--test", watches=True),
    habits=Habits(
        ("package.json",),
        lazy_pattern(
            r"(?:.*/)?test/.*|"
            r"(?:.*/)?(?:[^/]+[._-]test|test(?:-[^/]+)?)\.(?:js|mjs|cjs|ts|mts|cts)\Z"
        ),
    ),
    only_tests=True,
    failed=r"(?:# |ℹ )fail [1-9]",
    read=read,
    canary=make,
    naming=Naming(report, beside=True, apart=True),
    required=required,
    declared=DECLARED,
    # After something was awaited its tests are not always told apart.
    javascript=JavaScriptTests(("node:test",), one_by_one=False),
)
