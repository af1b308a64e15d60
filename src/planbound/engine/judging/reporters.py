"""How a runner is made to name every test, with how it ended.

pytest, unittest, node, jest, vitest and mocha write a report; cargo and go name their tests in what
they print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.judging.canary import cargo, go, pytest, replaces
from planbound.engine.judging.canary.find import find_call
from planbound.engine.judging.canary.model import Canary, Found, Project
from planbound.engine.judging.outcome import Outcome
from planbound.engine.judging.summary import Case, read_junit
from planbound.plan.command import Script
from planbound.plan.command.runner import is_followed
from planbound.source.pattern import lazy_pattern

_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]{0,20}m")
_CARGO = lazy_pattern(r"(?m)^test (\S.{0,500}?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_GO = lazy_pattern(r"(?m)^\s{0,40}--- (PASS|FAIL|SKIP): (\S{1,500}) \([0-9.]{1,20}s\)$")
_WORDS = {
    "ok": "passed", "FAILED": "failed", "ignored": "skipped",
    "PASS": "passed", "FAIL": "failed", "SKIP": "skipped",
}  # fmt: skip
_UNITTEST = """\
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
REPORT = os.path.join(FOLDER, "{report}")
ENDS = {{}}
RANKS = ["passed", "skipped", "failed"]
sys.path[:] = [each for each in sys.path if os.path.abspath(each) != FOLDER]
paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
# What a test starts is not the run that is looked at.
os.environ["PYTHONPATH"] = os.pathsep.join(each for each in paths if each != FOLDER)
if not os.environ["PYTHONPATH"]:
    del os.environ["PYTHONPATH"]
sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError:
    pass


def note(test, end):
    name = test.id()
    ENDS[name] = max(ENDS.get(name, end), end, key=RANKS.index)


def wrap(kind, method, end):
    real = getattr(kind, method)

    def noted(self, test, *rest):
        if method != "addSubTest" or rest[-1] is not None:
            note(test, end)
        return real(self, test, *rest)

    setattr(kind, method, noted)


def write(self, real):
    from xml.sax.saxutils import quoteattr

    lines = []
    for name, end in ENDS.items():
        place, _, last = name.rpartition(".")
        inner = {{"passed": "", "failed": "<failure/>", "skipped": "<skipped/>"}}[end]
        head = "<testcase classname=" + quoteattr(place) + " name=" + quoteattr(last)
        lines.append(head + ">" + inner + "</testcase>")
    with open(REPORT, "w", encoding="utf-8", errors="replace") as file:
        file.write("<testsuites><testsuite>" + "".join(lines) + "</testsuite></testsuites>")
    return real(self)


if ("-m", "unittest") in zip(sys.orig_argv, sys.orig_argv[1:]):
    import unittest

    for method, end in [
        ("addSuccess", "passed"),
        ("addExpectedFailure", "skipped"),
        ("addSkip", "skipped"),
        ("addFailure", "failed"),
        ("addError", "failed"),
        ("addUnexpectedSuccess", "failed"),
        ("addSubTest", "failed"),
    ]:
        wrap(unittest.TestResult, method, end)
    stop = unittest.TestResult.stopTestRun
    unittest.TestResult.stopTestRun = lambda self: write(self, stop)
"""


# Loaded into every process of node; only the first one that is the runner is changed.
_JAVASCRIPT = """\
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
_OPTIONS = {
    "jest": ["--json", "--outputFile=FOUND"],
    "vitest": ["--reporter=default", "--reporter=json", "--outputFile.json=FOUND"],
    "mocha": ["--reporter", "json", "--reporter-option", "output=FOUND"],
}


class Reporter(NamedTuple):
    """How the tests of one run are named."""

    runner: str
    added: Canary
    """What is laid into the tree and set in the environment; no test is added."""
    failing: frozenset[int]
    """How the command ends when tests failed, and nothing else went wrong."""

    def cases(self, outcome: Outcome) -> tuple[Case, ...] | None:
        """Return the tests of a run; None where nothing names them."""
        if self.added.reports is not None:
            report = outcome.collected.get(self.added.reports)
            found = read_junit(report) if report is not None else None
            return None if found is None else found[1]
        if outcome.stdout.dropped or outcome.stderr.dropped:
            return None
        text = _ESCAPE.sub("", f"{outcome.stdout.text()}\n{outcome.stderr.text()}")
        named = _CARGO.findall(text) if self.runner == "cargo test" else _GO.findall(text)
        pairs = named if self.runner == "cargo test" else [(name, word) for word, name in named]
        return tuple(Case(name, _WORDS[word]) for name, word in pairs) or None


def reporter_for(
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    nonce: str,
    taken: Callable[[str], bool] = lambda _path: False,
) -> Reporter | None:
    """Return how the tests of a contract are named; None where they cannot be."""
    if runner not in _MAKERS:
        return None
    program, make, codes = _MAKERS[runner]
    project = Project(paths, read, nonce)
    found = find_call(script, program, project)
    added = make(found, project) if found is not None else None
    if found is None or added is None or replaces(added, project, taken):
        return None
    if is_followed(found.text, found.call):
        return None
    # `make` ends with a code of its own.
    through = {2} if any(call.program == "make" for call in script.calls) else set()
    return Reporter(runner, added, frozenset({*codes, *through}))


def _unittest(found: Found, project: Project) -> Canary | None:
    if pytest.is_closed(found):
        return None
    folder, report = f".{project.called('folder')}", f"{project.called('report')}.xml"
    files = ((f"{folder}/sitecustomize.py", _UNITTEST.format(report=report).encode()),)
    environment = (("PYTHONPATH", f"{{workspace}}/{folder}"),)
    return Canary(files, (), environment, f"{folder}/{report}")


def _node(found: Found, project: Project) -> Canary | None:
    given = ("--test-reporter", "--test-reporter-destination")
    if not found.call.has("--test") or found.call.has(*given) or "NODE_OPTIONS" in found.text:
        return None
    folder, report = f".{project.called('folder')}", f"{project.called('report')}.xml"
    options = (
        f"--test-reporter=junit --test-reporter-destination={{workspace}}/{folder}/{report} "
        "--test-reporter=spec --test-reporter-destination=stdout"
    )
    files = ((f"{folder}/{project.called('note')}", b""),)
    return Canary(files, (), (("NODE_OPTIONS", options),), f"{folder}/{report}")


def _javascript(found: Found, project: Project) -> Canary | None:
    runner = found.call.program
    ours = ("--reporter", "--reporters", "-R", "--json", "--outputFile", "--")
    if found.call.has(*ours) or "NODE_OPTIONS" in found.text:
        return None
    folder, report = f".{project.called('folder')}", f"{project.called('report')}.xml"
    hook = f"{folder}/{project.called('hook')}.cjs"
    mark = project.called("mark").upper()
    text = _JAVASCRIPT.format(
        mark=mark, runner=runner, options=_OPTIONS[runner], report=report
    ).encode()
    options = f"--require {{workspace}}/{hook}"
    return Canary(((hook, text),), (), (("NODE_OPTIONS", options),), f"{folder}/{report}")


def _cargo(found: Found, project: Project) -> Canary | None:
    quiet = ("-q", "--quiet", "--nocapture", "--show-output", "--test-threads")
    if any(value.startswith(quiet) for value in found.call.values()):
        return None
    return cargo.to_its_end(Canary((), ()), found, project)


def _go(found: Found, _project: Project) -> Canary | None:
    if found.operands(go.VALUED)[:1] != ["test"] or found.call.has("-failfast", "-json"):
        return None
    return None if "GOFLAGS" in found.text else Canary((), (), (("GOFLAGS", "-v"),))


_Make = Callable[[Found, Project], Canary | None]
_MAKERS: Mapping[str, tuple[str, _Make, Sequence[int]]] = {
    "pytest": ("pytest", pytest.report, [1]),
    "unittest": ("unittest", _unittest, [1]),
    "node --test": ("node", _node, [1]),
    "jest": ("jest", _javascript, [1]),
    "vitest": ("vitest", _javascript, [1]),
    # It ends with the number of the tests that failed.
    "mocha": ("mocha", _javascript, range(1, 100)),
    "cargo test": ("cargo", _cargo, [101]),
    "go test": ("go", _go, [1]),
}
NAMED = frozenset(_MAKERS)
"""The runners whose tests can be named."""
