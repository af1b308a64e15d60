"""Which tests must have passed, as far as the frozen judges say it themselves.

Only what surely runs is required: a test that somebody skips, marks or selects by a rule of their
own is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import basename, dirname

from planbound.engine.judging.collected import tests_in
from planbound.engine.judging.habits import is_pytest
from planbound.plan.command import Call, Script
from planbound.plan.command.directory import below
from planbound.plan.command.runner import runner_of, tested_words
from planbound.source.pattern import lazy_pattern

_FILTERS = lazy_pattern(
    r"-[vqxsl]*[km].*|--(?:deselect|ignore|ignore-glob|lf|last-failed|ff|failed-first|sw|stepwise|"
    r"sw-skip|stepwise-skip|co|collect-only|pyargs|testmon|shard-id|splits?)(?:=.*)?"
)
_TEST_FILE = lazy_pattern(r"test_.*\.py|.*_test\.py")
_SETTINGS = frozenset("pytest.ini .pytest.ini pytest.toml pyproject.toml tox.ini setup.cfg".split())
# Settings and hooks with which pytest collects something else than it does by itself.
_SELECTS = lazy_pattern(
    r"(?m)^\s*(?:python_files|python_classes|python_functions|norecursedirs|collect_ignore)\b|"
    r"--(?:ignore|deselect|lf|last-failed|ff|sw|stepwise)\b|addopts.*[\s\"'=]-[vqxsl]*[km]\b|"
    r"^\s*[\"']?-[vqxsl]*[km]\b|"
    r"pytest_(?:collection_modifyitems|ignore_collect|collect_\w+|itemcollected|pycollect_\w+|"
    r"generate_tests|runtest_\w+)"
)
_SKIPS = lazy_pattern(r"(?i)skip|xfail")
_TEST_NAME = lazy_pattern(r"(?i)test|spec")
_SKIPS = lazy_pattern(r"(?i)skip|xfail|todo|pending|ignore|importorskip|xit\(|xdescribe")


def is_test_file(path: str) -> bool:
    """Say whether a file holds tests, and not what says which of them run."""
    name = path.rpartition("/")[2]
    return name != "conftest.py" and _TEST_NAME.search(name) is not None


def is_skipping(content: bytes) -> bool:
    """Say whether a judge speaks of tests that are not run."""
    return _SKIPS.search(content.decode("utf-8", "replace")) is not None


def required_tests(script: Script, judges: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the tests that a contract with pytest must run, as `path::Class::name`."""
    found: dict[str, None] = {}
    for call in script.calls:
        if is_pytest(call) and not call.negated and not _filters(call):
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
    runner = runner_of(call)
    assert runner is not None
    base = call.directory
    if base is None or any(word.value is None for word in call.arguments):
        return []
    found: list[str] = []
    operands = list(tested_words(call, runner))
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
