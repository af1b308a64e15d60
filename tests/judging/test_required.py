"""Tests that must have run, as the judges themselves say."""

from __future__ import annotations

import pytest

from planbound.judging.meaning import missing_names, required_names
from planbound.script import read_script
from planbound.script.runners.pytest import missing_tests, required_tests
from tests.tables import one_fact

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
    return required_tests(read_script(command).calls, judges)


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


@one_fact(
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


GO = b"""package a

import "testing"

func TestOne(t *testing.T) {}
func TestTwo(t *testing.T) { t.Run("x", func(t *testing.T) {}) }
func Testable(t *testing.T) {}
func helper(t *testing.T) {}
"""
RUST = b"""
#[test]
fn one() {}

mod inner {
    #[test]
    fn two() {}

    #[test]
    #[should_panic]
    fn other() {}
}
"""
JS = b"""
import test, { describe, it } from 'node:test';
/* test('gone', () => {}); */
// test('also gone', () => {});
test('one', () => {});
describe('group', () => {
  const x = 1;
  it("two", async () => {
    test('not direct', () => {});
  });
  if (x) {
    it('perhaps', () => {});
  }
});
for (const y of [1]) {
  test(`of ${y}`, () => {});
  test('each', () => {});
}
const fixture = `
test('no test', () => {});
`;
"""
TREE = {"go.mod": b"module a\n", "Cargo.toml": b"[package]\nname = 'a'\n"}


def by_name(runner: str, command: str, judges: dict[str, bytes]) -> list[str]:
    tree = {**TREE, **judges}
    found = required_names(runner, read_script(command), list(tree), tree.get, judges)
    return [each.name for each in found]


@pytest.mark.parametrize(
    ("runner", "command", "path", "text", "names"),
    [
        ("go test", "go test ./...", "a/a_test.go", GO, ["TestOne", "TestTwo"]),
        ("go test", "go test -v -race ./a", "a/a_test.go", GO, ["TestOne", "TestTwo"]),
        ("cargo test", "cargo test --offline", "tests/a.rs", RUST, ["one", "two"]),
        ("node --test", "node --test", "test/a.test.mjs", JS, ["one", "two"]),
        ("node --test", "node --test test/a.test.mjs", "test/a.test.mjs", JS, ["one", "two"]),
    ],
)
def test_tests_are_required_by_name(
    runner: str, command: str, path: str, text: bytes, names: list[str]
) -> None:
    assert by_name(runner, command, {path: text}) == names


@pytest.mark.parametrize(
    ("runner", "command", "path", "text"),
    [
        ("go test", "go test -run One ./...", "a/a_test.go", GO),
        ("go test", "go test -failfast ./...", "a/a_test.go", GO),
        ("go test", "GOFLAGS=-short go test ./...", "a/a_test.go", GO),
        ("go test", "go test ./b", "a/a_test.go", GO),
        ("go test", "go test ./...", "a/a_windows_test.go", GO),
        ("go test", "go test ./...", "a/a_test.go", b"//go:build slow\n\n" + GO),
        ("go test", "go test ./...", "a/a_test.go", GO + b'func x(t *T) { t.Skip("") }\n'),
        ("go test", "go test ./...", "a/a_test.go", GO + b"func TestMain(m *testing.M) {}\n"),
        ("cargo test", "cargo test one", "tests/a.rs", RUST),
        ("cargo test", "cargo test -q", "tests/a.rs", RUST),
        ("cargo test", "cargo test -- --nocapture", "tests/a.rs", RUST),
        ("cargo test", "cargo test", "tests/common/mod.rs", RUST),
        ("cargo test", "cargo test", "tests/a.rs", b"#![cfg(windows)]\n" + RUST),
        ("cargo test", "cargo test", "tests/a.rs", RUST + b"#[test]\n#[ignore]\nfn three() {}"),
        ("node --test", "node --test --test-name-pattern=x", "test/a.test.mjs", JS),
        ("node --test", "node --test --test-reporter=dot", "test/a.test.mjs", JS),
        ("node --test", "node --test", "test/a.test.mjs", JS + b"test.skip('x', () => {});"),
        ("node --test", "node --test || true", "test/a.test.mjs", JS),
        ("jest", "jest", "a.test.js", JS),
    ],
)
def test_what_may_not_run_is_not_required_by_name(
    runner: str, command: str, path: str, text: bytes
) -> None:
    assert by_name(runner, command, {path: text}) == []


@pytest.mark.parametrize(
    ("runner", "command", "path", "text", "passed", "other"),
    [
        (
            "go test",
            "go test ./...",
            "a_test.go",
            GO,
            "--- PASS: TestOne (0.00s)\n--- PASS: TestTwo (0.01s)\n",
            "--- PASS: TestOne (0.00s)\n--- SKIP: TestTwo (0.01s)\n    --- PASS: TestTwo/x (0s)\n",
        ),
        (
            "cargo test",
            "cargo test",
            "tests/a.rs",
            RUST,
            "test one ... ok\ntest inner::two ... ok\n",
            "test one ... ok\ntest two ... ignored\ntest twotwo ... ok\n",
        ),
        (
            "node --test",
            "node --test",
            "a.test.mjs",
            JS,
            "ok 1 - one\n    ok 1 - two\n",
            "ok 1 - one\nok 2 - two # SKIP\nnot ok 3 - two\nok 4 - two more\n",
        ),
        (
            "node --test",
            "node --test",
            "a.test.mjs",
            JS,
            "✔ one (1.5ms)\n  ✔ two (0.1ms)\n",
            "✔ one (1.5ms)\n  ✖ two (0.1ms)\n",
        ),
    ],
)
def test_a_test_required_by_name_must_be_shown_as_passed(
    runner: str, command: str, path: str, text: bytes, passed: str, other: str
) -> None:
    tree = {**TREE, path: text}
    found = required_names(runner, read_script(command), list(tree), tree.get, {path: text})
    assert missing_names(found, passed) == ()
    assert missing_names(found, other) == (f"{path}::{found[1].name}",)


def test_two_tests_of_one_name_must_both_have_passed() -> None:
    judges = {"a/a_test.go": GO, "b/b_test.go": GO}
    tree = {**TREE, **judges}
    script = read_script("go test ./...")
    found = required_names("go test", script, list(tree), tree.get, judges)
    once = "--- PASS: TestOne (0.00s)\n--- PASS: TestTwo (0.01s)\n"
    assert len(missing_names(found, once)) == 4
    assert missing_names(found, once + once) == ()
