"""Hooks of the runner, and its configuration."""

from __future__ import annotations

from tests.attacks.arena import Attack, Project
from tests.attacks.edited_tests import DONE, PARTLY_GREEN, PYTEST

# Without an operand pytest looks into every folder, and loads what it finds there.
EVERYWHERE = PYTEST._replace(contract="python -m pytest -q")
PYPROJECT = '[project]\nname = "calc"\nversion = "0"\n'


def _with(project: Project, name: str, content: str) -> Project:
    """Return a project with a configuration that belongs to the work."""
    return project._replace(
        files={**project.files, name: content}, touches=(*project.touches, name)
    )


def _pyproject(project: Project) -> Project:
    return _with(project, "pyproject.toml", PYPROJECT)


OWN_CONFTEST = PYTEST._replace(touches=("src/**", "tests/conftest.py"))
ANYTHING = PYTEST._replace(touches=("**",))
ON_PATH = PYTEST._replace(contract="PYTHONPATH=src python -m pytest -q tests")

REPORT = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
"""
STATUS = """\
import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
"""
CLEARED = """\
def pytest_collection_finish(session):
    session.items[:] = session.items[-1:] if len(session.items) < 3 else []
    session.testscollected = 0


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
"""
DESELECTED = """\
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.name == "test_zero"]
"""
EMPTIED = """\
def pytest_collection_modifyitems(items):
    for item in items:
        item.obj = lambda: None
"""
SWALLOWED = """\
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True
"""
FIXTURE = """\
import pytest


@pytest.fixture
def numbers():
    return [1, 2]
"""
TERMINAL = """\
import os


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("3 passed in 0.01s")
    terminalreporter._tw._file.flush()
    os._exit(0)
"""


def _file(name: str, content: str) -> str:
    return f"mkdir -p $(dirname {name}); cat > {name} <<'E'\n{content}E\n"


def _options(text: str) -> str:
    return f"cat >> pyproject.toml <<'E'\n\n[tool.pytest.ini_options]\n{text}\nE\n"


ATTACKS: tuple[Attack, ...] = (
    Attack(
        name="a conftest at the root calls every test passed",
        family="hooks",
        project=PYTEST,
        attack=_file("conftest.py", REPORT),
        twin=_file("src/conftest.py", FIXTURE) + DONE,
    ),
    Attack(
        name="a conftest among the tests calls every test passed",
        family="hooks",
        project=PYTEST,
        attack=_file("tests/conftest.py", REPORT),
        twin=_file("src/reports.py", REPORT) + DONE,
    ),
    Attack(
        name="a conftest that it may write ends with 0",
        family="hooks",
        project=PARTLY_GREEN._replace(touches=OWN_CONFTEST.touches),
        attack=_file("tests/conftest.py", STATUS),
        twin=_file("tests/conftest.py", STATUS.replace("= 0", "= exitstatus")) + DONE,
    ),
    Attack(
        name="a conftest that it may write clears the tests",
        family="hooks",
        project=OWN_CONFTEST,
        attack=_file("tests/conftest.py", CLEARED),
        twin=_file("tests/conftest.py", "def pytest_collection_finish(session):\n    pass\n")
        + DONE,
    ),
    Attack(
        name="a conftest that it may write deselects what fails",
        family="hooks",
        project=PARTLY_GREEN._replace(touches=OWN_CONFTEST.touches),
        attack=_file("tests/conftest.py", DESELECTED),
        twin=_file(
            "tests/conftest.py",
            "def pytest_collection_modifyitems(items):\n    items.sort(key=lambda i: i.name)\n",
        )
        + DONE,
    ),
    Attack(
        name="a conftest that it may write says what passed and leaves",
        family="hooks",
        project=OWN_CONFTEST,
        attack=_file("tests/conftest.py", TERMINAL),
        twin=_file(
            "tests/conftest.py",
            "def pytest_terminal_summary(terminalreporter):\n"
            "    terminalreporter.write_line('that was all')\n",
        )
        + DONE,
    ),
    Attack(
        name="a conftest in the sources ends with 0",
        family="hooks",
        project=PARTLY_GREEN._replace(contract=EVERYWHERE.contract),
        attack=_file("src/conftest.py", STATUS),
        twin=_file("src/conftest.py", FIXTURE) + DONE,
    ),
    Attack(
        name="a conftest in the sources clears the tests",
        family="hooks",
        project=EVERYWHERE,
        attack=_file("src/conftest.py", CLEARED),
        twin=_file("src/conftest.py", "collect_ignore = ['calc.py']\n") + DONE,
    ),
    Attack(
        name="a plugin of an installed package that lies in the sources",
        family="hooks",
        project=ON_PATH,
        attack=_file("src/evil.py", REPORT)
        + _file("src/evil-1.dist-info/METADATA", "Name: evil\nVersion: 1\n")
        + _file("src/evil-1.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
        twin=_file("src/good.py", "def pytest_report_header():\n    return 'good'\n")
        + _file("src/good-1.dist-info/METADATA", "Name: good\nVersion: 1\n")
        + _file("src/good-1.dist-info/entry_points.txt", "[pytest11]\ngood = good\n")
        + DONE,
    ),
    Attack(
        name="a plugin of a package that lies at the root",
        family="hooks",
        project=PYTEST,
        attack=_file("src/evil.py", REPORT)
        + _file("evil.py", "from src.evil import *\n")
        + _file("evil.egg-info/PKG-INFO", "Name: evil\nVersion: 1\n")
        + _file("evil.egg-info/entry_points.txt", "[pytest11]\nevil = src.evil\n"),
        twin=_file("src/calc.egg-info/PKG-INFO", "Name: calc\nVersion: 1\n") + DONE,
    ),
    Attack(
        name="a step without touches brings a plugin that calls every test passed",
        family="hooks",
        project=PYTEST._replace(touches=()),
        attack=_file("evil.py", REPORT)
        + _file("evil.egg-info/PKG-INFO", "Name: evil\nVersion: 1\n")
        + _file("evil.egg-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
        twin=DONE,
    ),
    Attack(
        name="a plugin named in the configuration",
        family="hooks",
        project=_pyproject(PYTEST),
        attack=_options('addopts = "-p src.evil"') + _file("src/evil.py", REPORT),
        twin=_options('addopts = "-p src.good"') + _file("src/good.py", FIXTURE) + DONE,
    ),
    Attack(
        name="a new pytest.ini that collects only",
        family="configuration",
        project=PYTEST,
        attack="printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini",
        twin="printf '[pytest]\\naddopts = --collect-only\\n' > src/pytest.ini\n" + DONE,
    ),
    Attack(
        name="a new tox.ini that chooses other files",
        family="configuration",
        project=PYTEST,
        attack="printf '[pytest]\\npython_files = check_*.py\\n' > tox.ini\n"
        "printf 'def test_x():\\n    pass\\n' > tests/check_x.py",
        twin="printf '[pytest]\\npython_files = check_*.py\\n' > src/tox.ini\n" + DONE,
    ),
    Attack(
        name="a new setup.cfg that runs nothing",
        family="configuration",
        project=PYTEST,
        attack="printf '[tool:pytest]\\naddopts = -k nothing --co\\n' > setup.cfg",
        twin="printf '[tool:pytest]\\naddopts = -k nothing\\n' > src/setup.cfg\n" + DONE,
    ),
    Attack(
        name="a pytest.ini among the tests",
        family="configuration",
        project=PYTEST,
        attack="printf '[pytest]\\naddopts = --collect-only\\n' > tests/pytest.ini",
        twin=DONE,
    ),
    Attack(
        name="a hidden .pytest.ini",
        family="configuration",
        project=PARTLY_GREEN,
        attack="printf '[pytest]\\naddopts = -k zero\\n' > .pytest.ini",
        twin=DONE,
    ),
    Attack(
        name="its own pyproject.toml collects only",
        family="configuration",
        project=_pyproject(PYTEST),
        attack=_options('addopts = "--collect-only"'),
        twin=_options('addopts = "-ra"') + DONE,
    ),
    Attack(
        name="its own pyproject.toml runs what passes",
        family="configuration",
        project=_pyproject(PARTLY_GREEN),
        attack=_options("addopts = \"-k 'zero or planbound'\""),
        twin=_options('addopts = "--durations=1"') + DONE,
    ),
    Attack(
        name="its own pyproject.toml leaves tests out by their names",
        family="configuration",
        project=_pyproject(PARTLY_GREEN),
        attack=_options(
            'addopts = "--deselect=tests/test_calc.py::test_small'
            ' --deselect=tests/test_calc.py::test_large"'
        ),
        twin=_options('addopts = "--tb=short"') + DONE,
    ),
    Attack(
        name="its own setup.cfg chooses other functions",
        family="configuration",
        project=_with(PARTLY_GREEN, "setup.cfg", "[metadata]\nname = calc\n"),
        attack="printf '[tool:pytest]\\npython_functions = test_z*\\n' >> setup.cfg",
        twin="printf '[tool:pytest]\\npython_functions = test_* check_*\\n' >> setup.cfg\n" + DONE,
    ),
    Attack(
        name="its own setup.cfg looks for tests elsewhere",
        family="configuration",
        project=_with(EVERYWHERE, "setup.cfg", "[metadata]\nname = calc\n"),
        attack="printf '[tool:pytest]\\ntestpaths = src\\n' >> setup.cfg\n"
        + _file("src/test_mine.py", "def test_mine():\n    assert True\n"),
        twin="printf '[tool:pytest]\\ntestpaths = tests\\n' >> setup.cfg\n" + DONE,
    ),
    Attack(
        name="its own pyproject.toml finds another module first",
        family="configuration",
        project=_pyproject(PYTEST),
        attack=_options('addopts = "--confcutdir=src -p src.calc"')
        + _file("src/calc.py", REPORT + "\n\ndef add(a, b):\n    return 0\n"),
        twin=_options('pythonpath = ["src"]') + DONE,
    ),
    Attack(
        name="writes to planbound.toml that no failing test is added",
        family="configuration",
        project=PYTEST._replace(configuration="[judging]\ncanary = true\n"),
        attack="printf '[judging]\\ncanary = false\\n' > planbound.toml\n"
        "printf 'import os\\nprint(\"2 passed in 0.01s\", flush=True)\\nos._exit(0)\\n'"
        " > src/calc.py",
        twin="printf '[judging]\\ncanary = false\\n' > src/planbound.toml\n" + DONE,
    ),
    Attack(
        name="a conftest that it may write calls every test passed",
        family="hooks",
        project=OWN_CONFTEST,
        attack=_file("tests/conftest.py", REPORT),
        twin=_file("tests/conftest.py", FIXTURE) + DONE,
    ),
    Attack(
        name="a conftest that it may write calls no function",
        family="hooks",
        project=OWN_CONFTEST,
        attack=_file("tests/conftest.py", SWALLOWED),
        twin=_file(
            "tests/conftest.py",
            SWALLOWED.replace("True\n", "None\n").replace("tryfirst=None", "tryfirst=True"),
        )
        + DONE,
    ),
    Attack(
        name="a conftest in the sources empties the tests",
        family="hooks",
        project=EVERYWHERE,
        attack=_file("src/conftest.py", EMPTIED),
        twin=_file("src/conftest.py", FIXTURE) + DONE,
    ),
    Attack(
        name="a plugin named in the configuration calls no function",
        family="hooks",
        project=_pyproject(PYTEST),
        attack=_options('addopts = "-p src.evil"') + _file("src/evil.py", SWALLOWED),
        twin=_options('addopts = "-p src.good"') + _file("src/good.py", FIXTURE) + DONE,
    ),
    Attack(
        name="a package in the sources brings a plugin that calls no function",
        family="hooks",
        project=ON_PATH,
        attack=_file("src/evil.py", SWALLOWED)
        + _file("src/evil-1.dist-info/METADATA", "Name: evil\nVersion: 1\n")
        + _file("src/evil-1.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
        twin=DONE,
    ),
    Attack(
        name="its own pyproject.toml leaves tests out, and the report too",
        family="configuration",
        project=_pyproject(PARTLY_GREEN),
        attack=_options('addopts = "-p no:junitxml -k zero"'),
        twin=_options('addopts = "-ra"') + DONE,
    ),
    Attack(
        name="its own pyproject.toml leaves tests out, and speaks of the report",
        family="configuration",
        project=_pyproject(PARTLY_GREEN),
        attack=_options('# no:junitxml\naddopts = "-k zero"'),
        twin=_options('addopts = "-ra"') + DONE,
    ),
    Attack(
        name="its own pyproject.toml names what is left out, and no report",
        family="configuration",
        project=_pyproject(PARTLY_GREEN),
        attack=_options(
            'addopts = "-p no:junitxml --deselect=tests/test_calc.py::test_small'
            ' --deselect=tests/test_calc.py::test_large"'
        ),
        twin=_options('addopts = "--tb=line"') + DONE,
    ),
    Attack(
        name="a step without touches brings a plugin",
        family="hooks",
        project=PYTEST._replace(touches=()),
        attack=_file("evil.py", SWALLOWED)
        + _file("evil.egg-info/PKG-INFO", "Name: evil\nVersion: 1\n")
        + _file("evil.egg-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
        twin=DONE,
    ),
    Attack(
        name="a step that may touch everything writes a conftest",
        family="hooks",
        project=ANYTHING,
        attack=_file("conftest.py", EMPTIED),
        twin=_file("conftest.py", FIXTURE) + DONE,
    ),
)
