"""pytest: a plugin adds the failing test, after everything that selects tests."""

from __future__ import annotations

from planbound.engine.judging.canary.model import Canary, Found, Project, joined
from planbound.plan.command.directory import below
from planbound.source.pattern import lazy_pattern

_PLUGIN = """\
import os

import pytest

NAME = "{name}"


class Canary(pytest.Item):
    def runtest(self):
        raise AssertionError(NAME)

    def repr_failure(self, excinfo, *args, **kwargs):
        return NAME + " fails, as it should"

    def reportinfo(self):
        return NAME + ".py", 0, NAME


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    # A run of pytest inside of a test is not the run that is looked at.
    if os.environ.get("PYTEST_PLUGINS") == NAME:
        del os.environ["PYTEST_PLUGINS"]
    if NAME.rpartition("_")[2] in os.environ.get("PYTEST_ADDOPTS", ""):
        del os.environ["PYTEST_ADDOPTS"]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session, items):
    yield
    items.append(Canary.from_parent(session, name=NAME, nodeid=NAME + ".py::" + NAME))
"""
# These choose among the tests after the plugin has had its say.
_CHOOSING = ("--lf", "--last-failed", "--sw", "--stepwise", "--stepwise-skip", "--sw-skip")
_REPORT = ("--junitxml", "--junit-xml")
_CONFIGURATIONS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
# `env -i`, `python -I`, `python -E` and `sudo` keep the environment away.
_CLOSED = lazy_pattern(r"(?:^|\s)(?:-[a-zA-Z]*[iIE][a-zA-Z]*|--ignore-environment|-|sudo|doas)\s")
_SET_ELSEWHERE = lazy_pattern(r"\$\{?PYTHONPATH\}?")


def make(found: Found, project: Project) -> Canary | None:
    """Return the plugin, and what makes pytest load it."""
    call = found.call
    if call.has(*_CHOOSING) or _CLOSED.search(found.prefix):
        return None
    if any(name in found.around for name in ("PYTHONPATH", "PYTEST_")):
        # Set somewhere else in the script: who knows to what.
        return None
    name = project.name
    folder = f".planbound-canary-{project.nonce}"
    content = _PLUGIN.format(name=name).encode()
    places = _places(found)
    if places is None:
        return None
    environment = [("PYTEST_PLUGINS", name), ("PYTHONPATH", f"{{workspace}}/{folder}")]
    reports = _report(found)
    if reports is None and _may_report(found, project):
        reports = f"{folder}/report.xml"
        environment.append(("PYTEST_ADDOPTS", f"'--junitxml={{workspace}}/{reports}'"))
    files = tuple((joined(place, f"{name}.py"), content) for place in (folder, *places))
    return Canary(files, name, tuple(environment), reports)


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


def _report(found: Found) -> str | None:
    """Return the report that the command asks for itself."""
    values = found.call.values()
    for index, value in enumerate(values):
        option, equals, path = value.partition("=")
        if option in _REPORT:
            path = path if equals else "".join(values[index + 1 : index + 2])
            return below(found.directory, path) if path else None
    return None


def _may_report(found: Found, project: Project) -> bool:
    """Say whether a report can be asked for without breaking the run."""
    if found.call.has(*_REPORT):
        return False
    if any(assignment.name == "PYTEST_ADDOPTS" for assignment in found.call.assignments):
        return False
    directories = {"", found.directory}
    texts = (project.text(joined(place, name)) for place in directories for name in _CONFIGURATIONS)
    return not any("no:junitxml" in (text or "") for text in (*texts, *found.call.values()))
