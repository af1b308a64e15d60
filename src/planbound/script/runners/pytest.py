"""pytest: failing tests in files among the others, and a plugin that lets none be left out.

The tests are ordinary ones, in the folders of the tests that run: whatever a hook, a `conftest.py`
or the code under test does to those, it does to these. The plugin also writes down how every test
ended, so that no option can keep the report away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from posixpath import basename, dirname

from msgspec import Struct

from planbound.script.runners.assertions import of_cases, of_pytest
from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Declared,
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
    base,
    counts,
    joined,
    names,
    parent,
    tested_words,
)
from planbound.script.tree import Call, below, words
from planbound.source import lazy_pattern

# -- pytest: failing tests in files among the others, and a plugin that lets none be left out ----


# Each fails in another way that a product might undo in its own process.
_TESTS = """\
import unittest

import pytest


def {names[0]}():
    one, two = {values[0]}, {values[1]}
    assert one == two


def {names[1]}():
    pytest.fail("{values[0]}")


class {kind}(unittest.TestCase):
    def {names[2]}(self):
        self.assertEqual({values[0]}, {values[1]})

    def {names[3]}(self):
        self.assertTrue({values[0]} == {values[1]})
"""
_PLUGIN = """\
import os
from xml.sax.saxutils import quoteattr

import pytest

PLUGIN = "{plugin}"
FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(FOLDER, *[os.pardir] * {depth}))
GROUPS = {{os.path.join(ROOT, *name.split("/")): names for name, names in {groups}}}
FILES = list(GROUPS)
NAMES = [name for names in GROUPS.values() for name in names]
REPORT = os.path.join(ROOT, *"{report}".split("/"))
ENDS = {{}}
WATCH = None
{watch}


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
    config.option.stepwise = config.option.stepwise_skip = False
    if WATCH is not None:
        choose(config)
    known = {{os.path.abspath(str(name).split("::")[0]) for name in config.args}}
    config.args = [*config.args, *(name for name in FILES if name not in known)]


def choose(config):
    # Which folders are tested is known now; a worker is told by the process that started it.
    worker = hasattr(config, "workerinput")
    if not worker:
        os.environ[PLUGIN] = "1" if WATCH.adds() else ""
    places = [os.path.abspath(str(name).split("::")[0]) for name in config.args]
    places = [each if os.path.isdir(each) else os.path.dirname(each) for each in places]
    near = [
        name
        for name in FILES
        if any(os.path.dirname(name) == each or name.startswith(each + os.sep) for each in places)
    ]
    FILES[:] = (near or FILES[:1]) if os.environ.get(PLUGIN) else []
    NAMES[:] = [name for file in FILES for name in GROUPS[file]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    # A run of pytest inside of a test is not the run that is looked at.
    if os.environ.get("PYTEST_PLUGINS") == PLUGIN:
        del os.environ["PYTEST_PLUGINS"]
    if WATCH is not None:
        os.environ.pop(PLUGIN, None)
        WATCH.alone()
    # Who comes last has the first and the last word.
    session.config.pluginmanager.register(Last())


class Last:
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, session, items):
        mine = {{}}
        items[:] = [
            item for item in items if str(item.path) in FILES or str(item.path) not in GROUPS
        ]
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
    cases = []
    for node, end in ENDS.items():
        place, bracket, row = node.partition("[")
        names = place.split("::")
        module = names[0][:-3] if names[0].endswith(".py") else names[0]
        kind = ".".join([module.replace("/", "."), *names[1:-1]])
        cases.append((kind, names[-1] + bracket + row, end))
    if WATCH is not None:
        WATCH.report(cases)
        return
    for kind, name, end in cases:
        inner = "" if end == "passed" else "<failure/>" if end == "failed" else "<skipped/>"
        head = "<testcase classname=" + quoteattr(kind) + " name=" + quoteattr(name)
        lines.append(head + ">" + inner + "</testcase>")
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


def report(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return the plugin alone: it writes down how every test ended."""
    return make(found, project, adding=False)


def make(found: RunnerCall, project: JudgedTree, *, adding: bool = True) -> Canary | None:
    """Return the tests, the plugin, and what makes pytest load it."""
    call = found.call
    if adding and is_isolated(found.prefix):
        return _without_plugin(found, project)
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
    tests = failing_tests(_folders(found, project) if adding else (), project)
    report = f"{folder}/{project.called('report')}.xml"
    plugins = [
        (joined(place, f"{plugin}.py"), plugin_source(plugin, place, tests, report=report))
        for place in (folder, *places)
    ]
    environment = (
        Variable("PYTEST_PLUGINS", plugin, ","),
        Variable("PYTHONPATH", f"{{workspace}}/{folder}"),
    )
    files = [(each.path, each.content) for each in tests]
    names = tuple(name for each in tests for name in each.names)
    return Canary((*files, *plugins), names, environment, report)


# -- a Python that looks at no variable of its own (`python -I`): the tests alone ---------------


_ISOLATED = lazy_pattern(r"\s*[\w./-]{0,200}python[\d.]{0,9}(?:\s+-[a-zA-Z]{1,9})*\s+-m\s*")
_PLAIN = words("-q -qq -v -vv -s -l -ra -rA --tb --color --no-header --disable-warnings --strict")


def is_isolated(prefix: str) -> bool:
    """Say whether what stands before `pytest` is `python -I -m` or `python -E -m`, and no more."""
    return _ISOLATED.fullmatch(prefix) is not None and _CLOSED.search(prefix) is not None


def _without_plugin(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return failing tests for a pytest that can load no plugin; None where it may leave some out.

    Nobody keeps it from stopping early, or from choosing among the tests.
    """
    if found.unknown(_PLAIN) or "PYTEST_ADDOPTS" in found.text:
        return None
    settings = (
        path for path in project.paths if base(path) in _SETTINGS or base(path) == "conftest.py"
    )
    texts = [project.text(path) or "" for path in settings]
    if any("addopts" in text or _SELECTS.search(text) for text in texts):
        return None
    named = found.operands()
    if not named and any("testpaths" in text for text in texts):
        return None
    tests = failing_tests(_folders(found, project), project)
    report = f"{project.called('report')}.xml"
    # Where the command names what is tested, the added files have to be named, too.
    more = [f"'{{workspace}}/{each.path}'" for each in tests if named]
    options = " ".join([f"--junitxml='{{workspace}}/{report}'", *more])
    files = tuple((each.path, each.content) for each in tests)
    names = tuple(name for each in tests for name in each.names)
    return Canary(files, names, (Variable("PYTEST_ADDOPTS", options, " "),), report)


class FailingTests(Struct, frozen=True):
    """A file of tests that fail, each in another way."""

    path: str
    content: bytes
    names: tuple[str, ...]


def failing_tests(folders: Iterable[str], project: JudgedTree) -> list[FailingTests]:
    """Return a file of failing tests for each folder."""
    found: list[FailingTests] = []
    for place in folders:
        near = [path for path in project.below(place) if _TEST_FILE.fullmatch(base(path))]
        texts = [project.text(path) or "" for path in near if parent(path) == place]
        more = [*of_cases(texts), *of_pytest(texts)]
        every = project.several(4 + len(more), "pytest", place)
        names = tuple(f"test_{name}" for name in every)
        kind = "Test" + project.called("class", place).replace("_", "").capitalize()
        path = joined(place, f"test_{project.called('file', place)}.py")
        values = project.unequal("pytest", place)
        content = _TESTS.format(names=names, kind=kind, values=values)
        for name, statement in zip(names[4:], more, strict=True):
            content += f"\n    def {name}(self):\n        {statement}\n"
        found.append(FailingTests(path, content.encode(), names))
    return found


def plugin_source(
    name: str, place: str, tests: Sequence[FailingTests], *, report: str = "", hook: str = ""
) -> bytes:
    """Return the plugin, as it stands in a folder.

    With a hook, tests are chosen when pytest runs, and the hook writes the report.
    """
    depth = place.count("/") + 1 if place else 0
    groups = [(each.path, list(each.names)) for each in tests]
    watch = f"import {hook} as WATCH" if hook else ""
    return _PLUGIN.format(
        plugin=name, depth=depth, groups=groups, report=report, watch=watch
    ).encode()


def folders_of_tests(project: JudgedTree) -> list[str]:
    """Return the folders in which a project has tests, those nearest to the root first."""
    found = {parent(path) for path in project.paths if _TEST_FILE.fullmatch(base(path))}
    return sorted(found, key=lambda folder: (folder.count("/"), folder))[:_MOST_FOLDERS]


def _folders(found: RunnerCall, project: JudgedTree) -> list[str]:
    """Return the folders of the tests that the command names, at least one."""
    named = [path for _, path in tested_words(found.call, RUNNER)]
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


def is_closed(found: RunnerCall) -> bool:
    """Say whether Python would not look at the environment, or finds another one."""
    return _CLOSED.search(found.prefix) is not None or "PYTHONPATH" in found.text


def _places(found: RunnerCall) -> list[str] | None:
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


# -- what pytest says: `=== 1 failed, 2 passed in 0.12s ===`, without the frame under `-q` -------


# `2 subtests passed` stands beside the tests that they belong to.
_COUNTED = rf"{COUNT} (?:subtests )?[a-z]{{1,20}}"
_LAST = lazy_pattern(
    rf"(={{1,500}} )?(no tests ran|{_COUNTED}(?:, {_COUNTED}){{0,12}}"
    rf"|(?:no tests|{COUNT}(?:/{COUNT})? tests?) collected(?: \({COUNT} deselected\))?"
    rf"(?:, {COUNT} [a-z]{{1,20}}){{0,2}})"
    r" in [0-9]{1,9}\.[0-9]{2}s(?: \([0-9:, a-z]{1,40}\))?(?: =+)?"
)
_STARTS = lazy_pattern(r"={1,500} test session starts .*")
_PROGRESS = lazy_pattern(r"(?:\S{1,500} )?[.,FEsuxXR]{1,500}(?: +\[[ 0-9]{3}%\])?")
# The words that a summary may hold; another line that looks alike is no summary.
_WORDS = frozenset({
    "failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warning", "warnings",
    "error", "errors", "rerun", "subtests", "tests", "test",
})  # fmt: skip


def read(text: str) -> Summary | None:
    """Return what pytest says, all its runs together."""
    if "s" not in text or " in " not in text:
        return None
    runs: list[Summary] = []
    framed = fresh = False
    for line in text.split("\n"):
        if line[:1] == "=" and _STARTS.fullmatch(line):
            framed = fresh = True
        elif match := _LAST.fullmatch(line):
            # What a test printed may look like the summary: the frame says which it is.
            # Without frames the last one says it, until the next run shows its progress.
            if framed and not match[1]:
                continue
            run = _run(match[2])
            if run is None:
                continue
            if not (framed or fresh) and runs:
                runs.pop()
            runs.append(run)
            framed = fresh = False
        elif not framed and _PROGRESS.fullmatch(line):
            fresh = True
    return added("pytest", runs)


def _run(text: str) -> Summary | None:
    found = counts(text)
    if "collected" in text:
        # Only listed: nothing ran.
        return Summary(
            "pytest",
            failed=found.get("error", 0) + found.get("errors", 0),
            deselected=found.get("deselected", 0),
        )
    if not found.keys() <= _WORDS:
        return None
    return Summary(
        "pytest",
        passed=found.get("passed", 0) + found.get("xpassed", 0),
        failed=found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0),
        skipped=found.get("skipped", 0) + found.get("xfailed", 0),
        deselected=found.get("deselected", 0),
    )


# -- which tests must have passed, as the frozen judges say themselves ---------------------------


_SKIPS = lazy_pattern(r"(?i)skip|xfail")
_FILTERS = lazy_pattern(
    r"-[vqxsl]*[km].*|--(?:deselect|ignore|ignore-glob|lf|last-failed|ff|failed-first|sw|stepwise|"
    r"sw-skip|stepwise-skip|co|collect-only|pyargs|testmon|shard-id|splits?)(?:=.*)?"
)
_SETTINGS = frozenset("pytest.ini .pytest.ini pytest.toml pyproject.toml tox.ini setup.cfg".split())
# Settings and hooks with which pytest collects something else than it does by itself.
_SELECTS = lazy_pattern(
    r"(?m)^\s*(?:python_files|python_classes|python_functions|norecursedirs|collect_ignore)\b|"
    r"--(?:ignore|deselect|lf|last-failed|ff|sw|stepwise)\b|addopts.*[\s\"'=]-[vqxsl]*[km]\b|"
    r"^\s*[\"']?-[vqxsl]*[km]\b|"
    r"pytest_(?:collection_modifyitems|ignore_collect|collect_\w+|itemcollected|pycollect_\w+|"
    r"generate_tests|runtest_\w+)"
)


def required_tests(calls: Iterable[Call], judges: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the tests that a contract with pytest must run, as `path::Class::name`."""
    found: dict[str, None] = {}
    for call in calls:
        if call.program in RUNNER.programs and not call.negated and not _filters(call):
            found.update(dict.fromkeys(_required(call, judges)))
    return tuple(found)


def missing_tests(required: Sequence[str], passed: Sequence[str]) -> tuple[str, ...]:
    """Return the required tests that are not among the passed ones.

    The passed ones are called as pytest's report calls them: `tests.test_a.TestX::test_y[1]`. A
    report may see the path from another directory, so the end of it is enough; but then each
    passed test stands for one required test only.
    """
    reported = {_reported(each) for each in passed}
    known = reported | {(place, name.partition("[")[0]) for place, name in reported}
    spare = sorted(known - {_wanted(test) for test in required})
    missing: list[str] = []
    for test in required:
        if _wanted(test) in known or (_is_class(test) and _class_ran(test, reported)):
            continue
        match = next((key for key in spare if _alike(test, key)), None)
        if match is None:
            missing.append(test)
        else:
            spare.remove(match)
    return tuple(missing)


def _required(call: Call, judges: Mapping[str, bytes]) -> list[str]:
    base = call.directory
    if base is None or any(word.value is None for word in call.arguments):
        return []
    found: list[str] = []
    operands = list(tested_words(call, RUNNER))
    for word, written in operands:
        path = below(base, written)
        if path is None:
            continue
        node = (word.value or "").partition("::")[2]
        found += _of_node(path, node, judges) if node else _of_path(path, judges)
    if not operands:
        found += _of_path(base, judges)
    return found


def _filters(call: Call) -> bool:
    return any(_FILTERS.fullmatch(value) for value in call.values())


def _of_node(path: str, node: str, judges: Mapping[str, bytes]) -> list[str]:
    """Return the test that is named; the tests of the class, where a class is."""
    wanted = f"{path}::{node}"
    if _is_class(wanted):
        inside = [each for each in _of_file(path, judges) if each.startswith(f"{wanted}::")]
        return inside or [wanted]
    return [wanted]


def _of_path(path: str, judges: Mapping[str, bytes]) -> list[str]:
    if path in judges and path.endswith(".py"):
        return _of_file(path, judges)
    found: list[str] = []
    for file in sorted(judges):
        if (not path or file.startswith(f"{path}/")) and _TEST_FILE.fullmatch(basename(file)):
            found += _of_file(file, judges)
    return found


def _of_file(path: str, judges: Mapping[str, bytes]) -> list[str]:
    if path not in judges or _selected_elsewhere(path, judges):
        return []
    from planbound.script.runners.python import tests_in  # noqa: PLC0415 - start-up

    return [f"{path}::{name}" for name in tests_in(judges[path])]


def _selected_elsewhere(path: str, judges: Mapping[str, bytes]) -> bool:
    """Say whether settings or hooks on the way to a file may leave tests out."""
    folder = dirname(path)
    while True:
        prefix = f"{folder}/" if folder else ""
        for name in _SETTINGS:
            if _SELECTS.search(_text(judges, prefix + name)):
                return True
        hooks = _text(judges, f"{prefix}conftest.py")
        if _SKIPS.search(hooks) or _SELECTS.search(hooks):
            return True
        if not folder:
            return False
        folder = dirname(folder)


def _text(judges: Mapping[str, bytes], path: str) -> str:
    return judges.get(path, b"").decode("utf-8", "replace")


def _reported(test: str) -> tuple[str, str]:
    place, _, name = test.partition("::")
    return place, name


def _wanted(test: str) -> tuple[str, str]:
    """Return how a report calls a required test."""
    path, _, node = test.partition("::")
    start, bracket, parameters = node.partition("[")
    *classes, name = start.split("::")
    place = ".".join([path.removesuffix(".py").replace("/", "."), *classes])
    return place, name + bracket + parameters


def _alike(test: str, key: tuple[str, str]) -> bool:
    """Say whether a reported test may be this one, seen from another directory."""
    place, name = _wanted(test)
    return name == key[1] and (_ends(place, key[0]) or _ends(key[0], place))


def _ends(whole: str, end: str) -> bool:
    return bool(end) and f".{whole}".endswith(f".{end}")


def _is_class(test: str) -> bool:
    last = test.rpartition("::")[2]
    return "[" not in last and not last.startswith("test") and last[:1].isupper()


def _class_ran(test: str, reported: set[tuple[str, str]]) -> bool:
    place, name = _wanted(test)
    whole = f"{place}.{name}"
    return any(
        _ends(whole, key[0]) or _ends(key[0], whole) or f".{whole}." in f".{key[0]}."
        for key in reported
    )


def _declared(data: bytes) -> int:
    from planbound.script.runners.python import tests_in  # noqa: PLC0415 - start-up

    return sum(1 for _ in tests_in(data))


# -- which folders its settings name -------------------------------------------------------------


_TESTPATHS = lazy_pattern(r"(?m)^testpaths[ \t]*=(.*(?:\n[ \t]+.*)*)")


def configured_paths(name: str, data: bytes) -> list[str]:
    """Return the `testpaths` of a pytest configuration."""
    text = data.decode("utf-8", "replace")
    if "testpaths" not in text:
        return []
    if not name.endswith(".toml"):
        given = _TESTPATHS.search(text)
        return given[1].split() if given else []
    # Not at the top: only trees with this setting need it.
    import tomllib  # noqa: PLC0415 - see above

    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return []
    return _toml_test_paths(document)


def _toml_test_paths(document: object) -> list[str]:
    for keys in (("tool", "pytest", "ini_options"), ("tool", "pytest"), ("pytest",)):
        value = document
        for key in (*keys, "testpaths"):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value.split()
        if isinstance(value, list):
            return [item for item in value if isinstance(item, str)]
    return []


# -- all that is known of it, as a row -----------------------------------------------------------


# As it looks for them: the settings that it finds first, where it runs and above.
_OWN_SETTINGS = names("pytest.ini .pytest.ini pytest.toml .pytest.toml")
SETTINGS = (*_OWN_SETTINGS, "pyproject.toml", "tox.ini", "setup.cfg")
_PLAIN_TEST = lazy_pattern(r"(?m)^(?:async )?def test_|^(?:from|import) pytest\b")


def is_configured(paths: Iterable[str], settings: Iterable[str]) -> bool:
    """Say whether files of a project, or the texts of its settings, speak of pytest."""
    if any("pytest" in text for text in settings):
        return True
    return any(path in _OWN_SETTINGS or basename(path) == "conftest.py" for path in paths)


def is_plain_test(text: str) -> bool:
    """Say whether a source has tests that only pytest runs."""
    return _PLAIN_TEST.search(text) is not None


RUNNER = Runner(
    programs=("pytest", "py.test"),
    name="pytest",
    language=Language.PYTHON,
    words=CallWords(
        bare=True,
        valued=words(
            "-k -m -n -p -c -o -W -r --ignore --ignore-glob --deselect --rootdir --maxfail --tb "
            "--durations --junitxml --junit-xml --timeout --confcutdir --import-mode --log-level "
            "--color --dist --numprocesses --reruns --basetemp --cov --cov-report --cov-config "
            "--cov-fail-under --override-ini --html --config-file --capture --verbosity --seed"
        ),
        flags=words(
            "-q -v -x -s -l --quiet --verbose --exitfirst --lf --last-failed --ff --failed-first "
            "--nf --sw --stepwise --strict --strict-markers --strict-config --disable-warnings "
            "--no-header --no-summary --cache-clear --showlocals --no-cov --runxfail "
            "--collect-only --co"
        ),
        configurations=frozenset({"-c"}),
        asks=("--pdb", "--trace"),
    ),
    habits=Habits(
        settings=SETTINGS,
        tests=lazy_pattern(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py\Z|(?:.*/)?conftest\.py\Z"),
        chained=(*SETTINGS, "conftest.py"),
    ),
    configured=configured_paths,
    plugin_options=frozenset({"-p"}),
    modules=names("pytest _pytest pluggy iniconfig py xdist pytest_cov"),
    loaded=((lazy_pattern(r"conftest\.py"), "pytest loads it before the tests"),),
    planted=SETTINGS,
    maskable=names("conftest.py pytest.py pytest.ini .pytest.ini tox.ini"),
    caches=(".pytest_cache",),
    failed=(
        r"FAILED \S{1,300}::|\S{1,300}::\S{1,300} FAILED\b"
        r"|=*\s?(?:\d{1,9} \w{1,12}, ){0,4}\d{1,9} (?:failed|errors?)\b.{0,120}\bin \d"
    ),
    read=read,
    canary=make,
    naming=Naming(report),
    reported=ReportedNames(required_tests, missing_tests),
    declared=Declared((".py",), _declared),
)
