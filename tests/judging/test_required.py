"""Tests that must have run, as the judges themselves say."""

from __future__ import annotations

import pytest

from planbound.engine.judging.required import missing_tests, required_tests
from planbound.plan.command import read_script

PLAIN = b"""
import pytest

def helper(): ...
def test_a(): ...
async def test_b(): ...

@pytest.mark.parametrize("x", [1, 2])
def test_c(x): ...

class TestX:
    def test_y(self): ...
    def other(self): ...
    class TestInner:
        def test_z(self): ...

class TestMade:
    def __init__(self): ...
    def test_no(self): ...

class Case(unittest.TestCase):
    def testOld(self): ...
"""
ALL = ("test_a", "test_b", "test_c", "TestX::test_y", "TestX::TestInner::test_z", "Case::testOld")


def names(command: str, judges: dict[str, bytes]) -> tuple[str, ...]:
    return required_tests(read_script(command), judges)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -x",
        "pytest tests",
        "pytest tests/test_a.py",
        "python -m pytest -q tests/ --tb short",
        "cd tests && pytest test_a.py",
        "uv run pytest tests",
    ],
)
def test_every_test_of_the_given_files_is_required(command: str) -> None:
    judges = {"tests/test_a.py": PLAIN, "tests/util.py": b"def test_no(): ..."}
    assert names(command, judges) == tuple(f"tests/test_a.py::{each}" for each in ALL)


def test_only_the_given_paths_count() -> None:
    judges = {"tests/a/test_a.py": b"def test_1(): ...", "tests/b/test_b.py": b"def test_2(): ..."}
    assert names("pytest tests/b", judges) == ("tests/b/test_b.py::test_2",)
    assert names("pytest tests/c", judges) == ()


def test_a_named_test_is_required_even_where_the_file_is_not_known() -> None:
    assert names("pytest tests/a.py::TestX::test_y", {}) == ("tests/a.py::TestX::test_y",)
    assert names("pytest 'tests/a.py::test_c[1]'", {}) == ("tests/a.py::test_c[1]",)


def test_a_named_class_stands_for_its_tests() -> None:
    given = names("pytest tests/test_a.py::TestX", {"tests/test_a.py": PLAIN})
    assert given == ("tests/test_a.py::TestX::test_y", "tests/test_a.py::TestX::TestInner::test_z")
    assert names("pytest tests/a.py::TestX", {}) == ("tests/a.py::TestX",)


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests -k fast",
        "pytest tests -kfast",
        "pytest -xk fast tests",
        "pytest tests -m 'not slow'",
        "pytest --deselect tests/test_a.py::test_a tests",
        "pytest --ignore=tests/x tests",
        "pytest --lf",
        "pytest --collect-only tests",
        "! pytest tests",
        "pytest $TESTS",
        "cd $HERE && pytest tests",
        "python tests/test_a.py",
        "grep x tests/test_a.py",
    ],
)
def test_where_tests_are_selected_none_is_required(command: str) -> None:
    assert names(command, {"tests/test_a.py": PLAIN}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip\ndef test_x(): ...",
        "@pytest.mark.skipif(True, reason='')\ndef test_x(): ...",
        "@pytest.mark.xfail\ndef test_x(): ...",
        "@pytest.mark.parametrize('x', [param(1, marks=pytest.mark.skip)])\ndef test_x(): ...",
        "@unittest.skip('')\ndef test_x(): ...",
        "pytestmark = pytest.mark.skip\ndef test_x(): ...",
        "pytestmark = [pytest.mark.a, pytest.mark.xfail]\ndef test_x(): ...",
        "pytestmark = needs_docker\ndef test_x(): ...",
        "pytest.skip('', allow_module_level=True)\ndef test_x(): ...",
        "np = pytest.importorskip('numpy')\nif np is None: pytest.skip('')\ndef test_x(): ...",
        "pytest.importorskip('numpy')\ndef test_x(): ...",
        "np = pytest.importorskip('numpy')\ndef test_x(): ...",
        "if True:\n    pytest.skip('', allow_module_level=True)\ndef test_x(): ...",
        "slow = pytest.mark.skipif(True)\n@slow\ndef test_x(): ...",
        "from needs import docker\n@docker\ndef test_x(): ...",
        "def test_x():\n    pytest.skip('later')",
        "@pytest.fixture\ndef db(): pytest.skip('')\ndef test_x(db): ...",
        "@pytest.fixture\ndef test_x(): ...",
        "class TestX:\n    __test__ = False\n    def test_x(self): ...",
        "class TestX(TestCase):\n    def setUp(self): self.skipTest('')\n    def test_x(self): ...",
        "@pytest.mark.skip\nclass TestX:\n    def test_x(self): ...",
        "if True:\n    def test_x(): ...",
        "def test_x(: ...",
        "\0",
    ],
)
def test_what_may_not_run_is_not_required(text: str) -> None:
    assert names("pytest", {"test_a.py": text.encode()}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "def test_skipped_rows():\n    assert skip_blank(1)",
        "@pytest.mark.slow\ndef test_skipped_rows(): ...",
        "@pytest.mark.parametrize('x', ['skip', E.DONE_WITH_SKIPS])\ndef test_skipped_rows(x): ...",
        "@patch('a.b')\ndef test_skipped_rows(): ...",
    ],
)
def test_a_test_about_skipping_is_required(text: str) -> None:
    assert names("pytest", {"test_a.py": text.encode()}) == ("test_a.py::test_skipped_rows",)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pytest.ini", "[pytest]\npython_files = check_*.py"),
        ("pytest.ini", "[pytest]\naddopts = -q -m 'not slow'"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = ['-q',\n  '-m', 'not slow']"),
        ("setup.cfg", "[tool:pytest]\naddopts = --ignore=tests/x"),
        ("conftest.py", "def pytest_collection_modifyitems(items): items.clear()"),
        ("tests/conftest.py", "collect_ignore = ['test_a.py']"),
        (
            "tests/conftest.py",
            "@pytest.fixture(autouse=True)\ndef db(): pytest.skip('no database')",
        ),
    ],
)
def test_where_settings_or_hooks_select_none_is_required(path: str, text: str) -> None:
    assert names("pytest tests", {"tests/test_a.py": PLAIN, path: text.encode()}) == ()


def test_settings_that_select_nothing_change_nothing() -> None:
    settings = (
        b"[tool.pytest.ini_options]\naddopts = ['-ra', '--strict-markers']\nmarkers = ['m']\n"
    )
    judges = {"tests/test_a.py": PLAIN, "pyproject.toml": settings, "conftest.py": b"import a\n"}
    assert len(names("pytest tests", judges)) == len(ALL)


@pytest.mark.parametrize(
    ("required", "passed"),
    [
        ("tests/auth/test_a.py::TestX::test_y", "tests.auth.test_a.TestX::test_y"),
        ("tests/auth/test_a.py::test_y", "tests.auth.test_a::test_y[1-a::b]"),
        ("tests/auth/test_a.py::test_y[1]", "tests.auth.test_a::test_y[1]"),
        ("tests/auth/test_a.py::test_y", "auth.test_a::test_y"),
        ("tests/test_a.py::test_y", "backend.tests.test_a::test_y"),
        ("tests/test_a.py::TestX", "tests.test_a.TestX::test_y"),
        ("tests/test_a.py::TestX", "tests.test_a.TestX.TestInner::test_y"),
    ],
)
def test_a_required_test_that_passed_is_not_missing(required: str, passed: str) -> None:
    assert missing_tests([required], [passed]) == ()


@pytest.mark.parametrize(
    ("required", "passed"),
    [
        ("tests/test_a.py::test_y", "tests.test_a::test_yy"),
        ("tests/test_a.py::test_y", "tests.test_b::test_y"),
        ("tests/test_a.py::test_y", "tests.test_a.TestX::test_y"),
        ("tests/test_a.py::test_y", "my_test_a::test_y"),
        ("tests/test_a.py::test_y[1]", "tests.test_a::test_y[2]"),
        ("tests/test_a.py::TestX", "tests.test_a.TestY::test_y"),
    ],
)
def test_another_test_does_not_stand_for_a_required_one(required: str, passed: str) -> None:
    assert missing_tests([required], [passed]) == (required,)
    assert missing_tests([required], []) == (required,)


def test_a_test_seen_from_elsewhere_stands_for_one_only() -> None:
    required = ["a/test_x.py::test_1", "b/test_x.py::test_1"]
    assert missing_tests(required, ["test_x::test_1"]) == ("b/test_x.py::test_1",)
    assert missing_tests(required, ["a.test_x::test_1"]) == ("b/test_x.py::test_1",)
    assert missing_tests(required, ["a.test_x::test_1", "b.test_x::test_1"]) == ()
