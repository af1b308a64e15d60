"""pytest: failing tests in files among the others, and a plugin that lets none be left out.

The tests are ordinary ones, in the folders of the tests that run: whatever a hook, a `conftest.py`
or the code under test does to those, it does to these. The plugin also writes down how every test
ended, so that no option can keep the report away.
"""

from __future__ import annotations

from planbound.engine.judging.canary.model import Canary, Found, Project, base, joined, parent
from planbound.plan.command.directory import below
from planbound.plan.command.runner import runner_of, tested_words
from planbound.source.pattern import lazy_pattern

# Each fails in another way that a product might undo in its own process.
_TESTS = """\
import unittest

import pytest


def {names[0]}():
    one, two = len("a"), len("ab")
    assert one == two


def {names[1]}():
    pytest.fail("as it should")


class {kind}(unittest.TestCase):
    def {names[2]}(self):
        self.assertEqual(1, 2)

    def {names[3]}(self):
        self.assertTrue(False)
"""
_PLUGIN = """\
import os
from xml.sax.saxutils import quoteattr

import pytest

PLUGIN = "{plugin}"
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(FOLDER, *[os.pardir] * {depth}))
FILES = [os.path.join(ROOT, *name.split("/")) for name in {files}]
NAMES = {names}
REPORT = os.path.join(ROOT, *"{report}".split("/"))
ENDS = {{}}


class Added(pytest.Item):
    def runtest(self):
        raise AssertionError(self.name)

    def repr_failure(self, excinfo, *args, **kwargs):
        return self.name

    def reportinfo(self):
        return PLUGIN + ".py", 0, self.name


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    # All of them have to fail, not only the first.
    config.option.maxfail = 0
    known = {{os.path.abspath(str(name).split("::")[0]) for name in config.args}}
    config.args = [*config.args, *(name for name in FILES if name not in known)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    # A run of pytest inside of a test is not the run that is looked at.
    if os.environ.get("PYTEST_PLUGINS") == PLUGIN:
        del os.environ["PYTEST_PLUGINS"]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session, items):
    mine = {{}}
    for item in items:
        if str(item.path) in FILES:
            mine.setdefault(item.nodeid, item)
    yield
    # What selects tests must not leave them out; where they could not be collected, others do.
    items[:] = [item for item in items if item.nodeid not in mine]
    items.extend(mine.values())
    found = {{item.name for item in mine.values()}}
    for name in NAMES:
        if name not in found:
            items.append(Added.from_parent(session, name=name, nodeid=PLUGIN + ".py::" + name))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    ranks = ["ran", "passed", "skipped", "failed"]
    end = report.outcome if report.when == "call" or report.outcome != "passed" else "ran"
    known = ENDS.get(report.nodeid, "ran")
    ENDS[report.nodeid] = max(known, end, key=ranks.index)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        return
    lines = []
    for node, end in ENDS.items():
        place, bracket, row = node.partition("[")
        names = place.split("::")
        module = names[0].removesuffix(".py").replace("/", ".")
        kind = quoteattr(".".join([module, *names[1:-1]]))
        inner = "" if end == "passed" else "<failure/>" if end == "failed" else "<skipped/>"
        name = quoteattr(names[-1] + bracket + row)
        lines.append(f"<testcase classname={{kind}} name={{name}}>{{inner}}</testcase>")
    with open(REPORT, "w", encoding="utf-8", errors="replace") as file:
        file.write("<testsuites><testsuite>" + "".join(lines) + "</testsuite></testsuites>")
"""
_MOST_FOLDERS = 20
_TEST_FILE = lazy_pattern(r"test_.*\.py|.*_test\.py")
# These choose among the tests after the plugin has had its say.
_CHOOSING = ("--lf", "--last-failed", "--sw", "--stepwise", "--stepwise-skip", "--sw-skip")
# `env -i`, `python -I`, `python -E` and `sudo` keep the environment away.
_CLOSED = lazy_pattern(r"(?:^|\s)(?:-[a-zA-Z]*[iIE][a-zA-Z]*|--ignore-environment|-|sudo|doas)\s")
_SET_ELSEWHERE = lazy_pattern(r"\$\{?PYTHONPATH\}?")


def report(found: Found, project: Project) -> Canary | None:
    """Return the plugin alone: it writes down how every test ended."""
    return make(found, project, adding=False)


def make(found: Found, project: Project, *, adding: bool = True) -> Canary | None:
    """Return the tests, the plugin, and what makes pytest load it."""
    call = found.call
    if call.has(*_CHOOSING) or _CLOSED.search(found.prefix):
        return None
    if any(name in found.around for name in ("PYTHONPATH", "PYTEST_PLUGINS")):
        # Set somewhere else in the script: who knows to what.
        return None
    plugin = project.called("plugin")
    folder = f".{project.called('folder')}"
    places = _places(found)
    if places is None:
        return None
    tests: list[tuple[str, bytes]] = []
    names: list[str] = []
    for place in _folders(found, project) if adding else ():
        own = tuple(f"test_{name}" for name in project.several(4, "pytest", place))
        kind = "Test" + project.called("class", place).replace("_", "").capitalize()
        path = joined(place, f"test_{project.called('file', place)}.py")
        tests.append((path, _TESTS.format(names=own, kind=kind).encode()))
        names += own
    report = f"{folder}/{project.called('report')}.xml"
    plugins = [
        (joined(place, f"{plugin}.py"), _plugin(plugin, place, report, tests, names))
        for place in (folder, *places)
    ]
    environment = (("PYTEST_PLUGINS", plugin), ("PYTHONPATH", f"{{workspace}}/{folder}"))
    return Canary((*tests, *plugins), tuple(names), environment, report)


def _plugin(
    name: str, place: str, report: str, tests: list[tuple[str, bytes]], names: list[str]
) -> bytes:
    depth = place.count("/") + 1 if place else 0
    files = [path for path, _ in tests]
    return _PLUGIN.format(
        plugin=name, depth=depth, files=files, names=names, report=report
    ).encode()


def _folders(found: Found, project: Project) -> list[str]:
    """Return the folders of the tests that the command names, at least one."""
    runner = runner_of(found.call)
    named = [path for _, path in tested_words(found.call, runner)] if runner else []
    roots = [place for path in named if (place := below(found.directory, path)) is not None]
    folders: dict[str, None] = {}
    for root in roots or [found.directory]:
        if root.endswith(".py"):
            folders.setdefault(parent(root))
            continue
        for path in project.below(root):
            if _TEST_FILE.fullmatch(base(path)):
                folders.setdefault(parent(path))
    return list(folders)[:_MOST_FOLDERS] or [found.directory]


def is_closed(found: Found) -> bool:
    """Say whether Python would not look at the environment, or finds another one."""
    return _CLOSED.search(found.prefix) is not None or "PYTHONPATH" in found.text


def _places(found: Found) -> list[str] | None:
    """Return where the plugin must be as well: the command may set PYTHONPATH for itself."""
    places: list[str] = []
    for assignment in found.call.assignments:
        if assignment.name == "PYTEST_PLUGINS":
            return None
        if assignment.name != "PYTHONPATH":
            continue
        word = assignment.value
        if word is not None and _SET_ELSEWHERE.search(word.text):
            continue
        first = (word.value or "").partition(":")[0] if word is not None else ""
        place = below(found.directory, first) if first else None
        if place is None:
            return None
        places.append(place)
    return places
