"""unittest: a module that discovery finds, and a report that `sitecustomize` writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise

from planbound.script.runners.assertions import of_cases
from planbound.script.runners.pytest import is_closed
from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Habits,
    JudgedTree,
    Language,
    Naming,
    ReportedNames,
    Runner,
    RunnerCall,
    Summary,
    Variable,
    added,
    joined,
    parent,
)
from planbound.script.tree import Call, Word, below, words
from planbound.source import lazy_pattern

# -- unittest: a module that discovery finds -----------------------------------------------------


_ALLOWED = words(
    "-v --verbose -q --quiet -f --failfast -b --buffer -c --catch --locals --durations"
)
_VALUED = words("-s --start-directory -p --pattern -t --top-level-directory")
_MODULE = """\
import unittest


class {kind}(unittest.TestCase):
    def {names[0]}(self):
        raise AssertionError("{names[0]}")
"""
_MORE = """
    def {names[1]}(self):
        self.fail("{names[1]}")

    def {names[2]}(self):
        self.assertEqual(1, 2)

    def {names[3]}(self):
        self.assertTrue(False)
"""
_PASSING = r"^{name} \(.{1,500}\) ?(?:\n.{0,500})?\.\.\. ok$"


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return a module in the directory where discovery starts."""
    options = _options(found)
    if options is None:
        return None
    start, pattern, top = options
    directory = below(found.directory, start)
    if directory is None or not project.holds(directory):
        return None
    if "load_tests" in (project.text(joined(directory, "__init__.py")) or ""):
        return None
    if top and project.read(joined(directory, "__init__.py")) is None:
        return None
    file = _file_name(pattern, project)
    if file is None:
        return None
    stops = found.call.has("-f", "--failfast")
    near = (path for path in project.below(directory) if path.endswith(".py"))
    more = of_cases(project.text(path) or "" for path in near)
    count = 1 if stops else 4 + len(more)
    names = tuple(f"test_{name}" for name in project.several(count, "unittest"))
    kind = project.called("class").replace("_", "").capitalize()
    content = (_MODULE if stops else _MODULE + _MORE).format(kind=kind, names=names)
    for name, statement in zip(names[4:], more, strict=False):
        content += f"\n    def {name}(self):\n        {statement}\n"
    files = [(joined(directory, file), content.encode())]
    if "/" in file:
        files.append((joined(directory, f"{parent(file)}/__init__.py"), b""))
    # A run that stops at the first failure does not come to all tests.
    named = (None if stops else report(found, project)) or Canary((), ())
    return Canary((*files, *named.files), names, named.environment, named.reports, passing=_PASSING)


def _options(found: RunnerCall) -> tuple[str, str, str] | None:
    """Return the start directory, the pattern and the top-level directory."""
    operands = found.operands(_VALUED)
    if found.unknown(_ALLOWED, _VALUED) or operands[:1] not in ([], ["discover"]):
        return None
    given: dict[str, str] = {}
    values = found.call.values()
    for index, value in enumerate(values):
        option, equals, attached = value.partition("=")
        if option in _VALUED:
            name = option.lstrip("-")[0]
            given[name] = attached if equals else "".join(values[index + 1 : index + 2])
    for name, operand in zip("spt", operands[1:], strict=False):
        given.setdefault(name, operand)
    if given and not operands:
        # Only `discover` takes these.
        return None
    return given.get("s") or ".", given.get("p") or "test*.py", given.get("t", "")


def _file_name(pattern: str, project: JudgedTree) -> str | None:
    """Return a module's file name that a pattern matches.

    A pattern without `*` is one name, which a test has already: then it is in a package of its own.
    """
    name = project.name
    for file in (f"test_{name}.py", f"{name}_test.py", pattern.replace("*", name, 1)):
        if fnmatchcase(file, pattern) and file.endswith(".py") and file[:-3].isidentifier():
            return file if name in file else f"{project.called('package')}/{file}"
    return None


# -- what Python's unittest says: `Ran 3 tests in 0.001s`, and `OK` or `FAILED (failures=1)` -----


_LAST = lazy_pattern(
    rf"^-{{70}}\nRan ({COUNT}) tests? in [0-9.]{{1,20}}s\n\n"
    r"(OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]{1,200})\))?$",
    re.MULTILINE,
)
_REMOVES = lazy_pattern(r"(?m)^del\b")
_PART = lazy_pattern(rf"([a-z ]{{1,40}})=({COUNT})")


def read(text: str) -> Summary | None:
    """Return what unittest says, all its runs together."""
    return added("unittest", (_run(*found) for found in _LAST.findall(text)))


def _run(ran: str, word: str, details: str) -> Summary:
    found = {name.strip(): int(count) for name, count in _PART.findall(details)}
    skipped = found.get("skipped", 0) + found.get("expected failures", 0)
    failed = sum(found.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    if word == "FAILED":
        failed = max(failed, 1)
    # What fails before its class is set up did not run, and a subtest is no test.
    return Summary("unittest", max(0, int(ran) - failed - skipped), failed, skipped)


# -- a report of every test ----------------------------------------------------------------------


_REPORTER = """\
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


def report(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return what Python loads at its start, and what writes down how every test ended."""
    if is_closed(found):
        return None
    folder, report = f".{project.called('folder')}", f"{project.called('report')}.xml"
    files = ((f"{folder}/sitecustomize.py", _REPORTER.format(report=report).encode()),)
    variable = Variable("PYTHONPATH", f"{{workspace}}/{folder}")
    return Canary(files, (), (variable,), f"{folder}/{report}")


# -- which tests must have passed, as the frozen judges say themselves ---------------------------


def required_tests(calls: Iterable[Call], judges: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the tests that a contract with unittest must run, as `path::Class::name`."""
    found: dict[str, None] = {}
    for call in calls:
        unclear = call.directory is None or any(word.value is None for word in call.arguments)
        if call.program in RUNNER.programs and not (call.negated or unclear or call.has("-k")):
            found.update(dict.fromkeys(_required(call, judges)))
    return tuple(found)


def _required(call: Call, judges: Mapping[str, bytes]) -> Iterator[str]:
    names = [word.value or "" for word in call.operands(_VALUED)]
    if not names or names[0] == "discover":
        options = _options(RunnerCall(call, call.directory or "", ""))
        if options is None:
            return
        start, pattern, _top = options
        folder = below(call.directory or "", start)
        for path in sorted(judges) if folder is not None else ():
            if _is_discovered(path, folder or "", pattern, judges):
                yield from _tests_of(path, judges)
        return
    for name in names:
        written = name if "/" in name else _module_path(name) or ""
        wanted = [] if "/" in name else name.split(".")[written.count("/") + 1 :]
        for test in _tests_of(below(call.directory or "", written) or "", judges):
            if test.partition("::")[2].split("::")[: len(wanted)] == wanted:
                yield test


def _is_discovered(path: str, folder: str, pattern: str, judges: Mapping[str, bytes]) -> bool:
    inside = path.removeprefix(f"{folder}/") if folder else path
    if (folder and inside == path) or not fnmatchcase(path.rpartition("/")[2], pattern):
        return False
    *folders, _file = inside.split("/")
    packages = (joined(folder, "/".join(folders[:end])) for end in range(1, len(folders) + 1))
    plain = "load_tests" not in judges.get(joined(folder, "__init__.py"), b"").decode("latin-1")
    return plain and all(f"{package}/__init__.py" in judges for package in packages)


def _tests_of(path: str, judges: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the tests of a file; only those in classes are unittest's."""
    from planbound.script.runners.python import cases_in  # noqa: PLC0415 - start-up

    data = judges.get(path, b"")
    if b"load_tests" in data or _REMOVES.search(data.decode("utf-8", "replace")):
        return
    for name in cases_in(data):
        yield f"{path}::{name}"


# -- the words of its calls ----------------------------------------------------------------------


def tested(call: Call, given: CallWords) -> Iterator[tuple[Word, str]]:
    """Yield the words that name what is tested: folders, files, modules."""
    values = call.values()
    if "discover" in values:
        for option, following in pairwise(call.arguments):
            directory = following.value or "-"
            if option.value in {"-s", "--start-directory", "discover"} and directory[0] != "-":
                yield following, directory
        return
    for word in call.operands(given.valued):
        value = word.value or ""
        if "/" in value or value.endswith(".py"):
            yield word, value
        elif path := _module_path(value):
            yield word, path


def _module_path(name: str) -> str | None:
    """Return the file of `tests.test_login.LoginTest`, where it can be told."""
    parts = name.split(".")
    for index, part in enumerate(parts):
        if not part.isidentifier():
            return None
        if part.startswith("test_") or part.endswith(("_test", "_tests")):
            return "/".join(parts[: index + 1]) + ".py"
    return None


RUNNER = Runner(
    programs=("unittest",),
    name="unittest",
    shown="`python -m unittest`",
    language=Language.PYTHON,
    words=CallWords(valued=words("-k -p -t --pattern --top-level-directory")),
    tested=tested,
    versioned=False,
    habits=Habits(tests=lazy_pattern(r"(?:.*/)?test[^/]*\.py\Z")),
    in_folder=False,
    modules=("unittest",),
    failed=r"FAILED \((?:failures|errors)=",
    read=read,
    canary=make,
    naming=Naming(report),
    # In a report they are called as pytest calls them: who looks for those finds these.
    reported=ReportedNames(required_tests, lambda required, _passed: tuple(required)),
)
