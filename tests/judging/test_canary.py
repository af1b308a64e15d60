"""With a canary in it an honest run goes red; a run that stays green was subverted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from planbound.engine.judging.canary import Canary, canary_for
from planbound.engine.judging.summary import Case, read_junit
from planbound.plan.command import read_script
from tests.needs import need

NONCE = "ab12cd"
NAME = f"planbound_canary_{NONCE}"
Tree = Mapping[str, str]

PYTEST = {"tests/test_a.py": "def test_one(): pass\ndef test_two(): pass\n"}
UNITTEST = {
    "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
}
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "test/a.test.mjs": "import test from 'node:test'; import '../x.mjs'; test('a', () => {});\n",
    "x.mjs": "export const x = 1;\n",
}
CARGO = {
    "Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "#[test]\nfn a() {}\n",
}
GO_TEST = 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n'
PHPUNIT = """<phpunit><testsuites><testsuite name="a">
<directory>./tests</directory></testsuite></testsuites></phpunit>"""


def canary(runner: str, command: str, tree: Tree) -> Canary | None:
    def read(path: str) -> bytes | None:
        return tree[path].encode() if path in tree else None

    return canary_for(runner, read_script(command), list(tree), read, NONCE)


def exit_code(root: Path, command: str, added: Mapping[str, str]) -> int:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    clean.pop("PYTHONPATH", None)
    path = f"{Path(sys.executable).parent}:{clean['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=root,
        env={**clean, "PATH": path, **added},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode


def run(root: Path, runner: str, command: str, tree: Tree) -> tuple[int, int, Canary]:
    """Return the exit code without and with the canary."""
    made = canary(runner, command, tree)
    assert made is not None
    for path, text in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    before = exit_code(root, command, {})
    for path, content in made.files:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    added = {key: value.replace("{workspace}", str(root)) for key, value in made.environment}
    return before, exit_code(root, command, added), made


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q -k one",
        "pytest tests/test_a.py::test_one",
        "pytest -x --deselect tests/test_a.py::test_one",
        "pytest -n 2",
        "python -m pytest -m 'not slow' -W error -p no:cacheprovider",
        "PYTHONPATH=tests pytest --strict-config --import-mode=importlib",
        "cd tests && pytest",
    ],
)
def test_an_honest_pytest_run_goes_red_and_reports_every_test(tmp_path: Path, command: str) -> None:
    before, after, made = run(tmp_path, "pytest", command, PYTEST)
    assert (before, after) == (0, 1)
    assert made.reports is not None
    report = read_junit((tmp_path / made.reports).read_bytes())
    assert report is not None
    ids = {case.id.rpartition("::")[2]: case.outcome for case in report[1]}
    assert ids.pop(NAME) == "failed"
    assert ids
    assert set(ids.values()) == {"passed"}


def test_a_report_of_the_command_itself_is_the_one_that_is_named(tmp_path: Path) -> None:
    before, after, made = run(tmp_path, "pytest", "cd tests && pytest --junitxml=r.xml", PYTEST)
    assert (before, after, made.reports) == (0, 1, "tests/r.xml")
    report = read_junit((tmp_path / "tests/r.xml").read_bytes())
    assert report is not None
    assert Case("test_a::test_one", "passed") in report[1]


def test_where_reports_are_switched_off_none_is_asked_for(tmp_path: Path) -> None:
    tree = {**PYTEST, "pytest.ini": "[pytest]\naddopts = -p no:junitxml\n"}
    before, after, made = run(tmp_path, "pytest", "pytest", tree)
    assert (before, after, made.reports) == (0, 1, None)


HOOK = "import os, pytest\n@pytest.hookimpl(hookwrapper=True)\n"
SUBVERTED = {
    "exit": "import pytest\ndef pytest_runtest_setup(): pytest.exit('x', returncode=0)\n",
    "hard exit": "import os\ndef pytest_runtestloop(): os._exit(0)\n",
    "outcome": HOOK + "def pytest_runtest_makereport():\n"
    "    result = yield\n    result.get_result().outcome = 'passed'\n",
    "status": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
    "items": "def pytest_collection_finish(session): del session.items[1:]\n",
}


@pytest.mark.parametrize("conftest", SUBVERTED.values(), ids=SUBVERTED)
def test_a_subverted_pytest_run_stays_green(tmp_path: Path, conftest: str) -> None:
    tree = {**PYTEST, "conftest.py": conftest}
    assert run(tmp_path, "pytest", "pytest", tree)[:2] == (0, 0)


def test_a_run_that_only_lists_the_tests_stays_green(tmp_path: Path) -> None:
    assert run(tmp_path, "pytest", "pytest --collect-only", PYTEST)[:2] == (0, 0)


def test_a_run_of_pytest_inside_of_a_test_is_left_alone(tmp_path: Path) -> None:
    inner = "import subprocess, sys\ndef test_inner():\n    subprocess.run([sys.executable, '-m', "
    tree = {
        "test_a.py": f"{inner}'pytest', 'sub'], check=True)\n",
        "sub/test_b.py": "def test_b(): 0\n",
    }
    before, after, made = run(tmp_path, "pytest", "pytest test_a.py", tree)
    assert (before, after) == (0, 1)
    report = read_junit((tmp_path / str(made.reports)).read_bytes())
    assert report is not None
    assert Case("test_a::test_inner", "passed") in report[1]


def test_pytest_behind_a_target_of_make_is_found(tmp_path: Path) -> None:
    need("make", "it runs the tests here")
    tree = {**PYTEST, "Makefile": "PY ?= python\ntest:\n\t@$(PY) -m pytest -q\n"}
    assert run(tmp_path, "pytest", "make test", tree)[:2] == (0, 2)


@pytest.mark.parametrize(
    "command",
    ["python -m unittest", "python -m unittest -v", "python -m unittest discover -p '*_a.py'"],
)
def test_an_honest_unittest_run_goes_red(tmp_path: Path, command: str) -> None:
    assert run(tmp_path, "unittest", command, UNITTEST)[:2] == (0, 1)


def test_a_unittest_run_that_ends_itself_stays_green(tmp_path: Path) -> None:
    tree = {"test_a.py": "import os\nos._exit(0)\n"}
    assert run(tmp_path, "unittest", "python -m unittest", tree)[:2] == (0, 0)


@pytest.mark.parametrize(
    "command", ["node --test", "node --test test/*.mjs", "node --test 'test/*.test.mjs' test/*.mjs"]
)
def test_an_honest_node_run_goes_red(tmp_path: Path, command: str) -> None:
    need("node", "its test runner is looked at")
    assert run(tmp_path, "node --test", command, NODE)[1] == 1


def test_a_node_run_that_ends_itself_while_it_loads_stays_green(tmp_path: Path) -> None:
    need("node", "its test runner is looked at")
    tree = {**NODE, "x.mjs": "process.exit(0);\n"}
    assert run(tmp_path, "node --test", "node --test", tree)[:2] == (0, 0)


def test_an_honest_cargo_run_goes_red(tmp_path: Path) -> None:
    need("cargo", "its test runner is looked at")
    assert run(tmp_path, "cargo test", "cargo test --offline", CARGO)[:2] == (0, 101)


def test_a_cargo_run_whose_tests_are_not_started_stays_green(tmp_path: Path) -> None:
    need("cargo", "its test runner is looked at")
    configuration = "[target.'cfg(all())']\nrunner = \"true\"\n"
    tree = {**CARGO, ".cargo/config.toml": configuration}
    assert run(tmp_path, "cargo test", "cargo test --offline", tree)[:2] == (0, 0)


PLACES: list[tuple[str, str, Tree, str]] = [
    ("jest", "npx jest", {"a.test.js": ""}, f"planbound-canary-{NONCE}.test.js"),
    ("jest", "jest src", {"src/b.spec.tsx": ""}, f"src/planbound-canary-{NONCE}.spec.tsx"),
    ("vitest", "vitest run", {"a.test.ts": ""}, f"planbound-canary-{NONCE}.test.ts"),
    ("mocha", "mocha", {"test/a.js": ""}, f"test/planbound-canary-{NONCE}.js"),
    (
        "mocha",
        "mocha 'test/**/*.spec.js'",
        {"test/a.spec.js": ""},
        f"test/planbound-canary-{NONCE}.spec.js",
    ),
    (
        "jest",
        "cd web && npm test",
        {"web/package.json": '{"scripts": {"test": "jest --ci"}}', "web/a.test.js": ""},
        f"web/planbound-canary-{NONCE}.test.js",
    ),
    (
        "go test",
        "go test ./...",
        {"go.mod": "module a\n", "a/a_linux_test.go": GO_TEST, "b/a_test.go": GO_TEST},
        f"b/{NAME}_test.go",
    ),
    (
        "go test",
        "go test ./...",
        {"go.mod": "", "a/a_test.go": GO_TEST, "b/m_test.go": "package b\nfunc TestMain("},
        f"b/{NAME}_test.go",
    ),
    (
        "cargo test",
        "cargo test",
        {"Cargo.toml": '[workspace]\nmembers = ["a"]\n', "a/Cargo.toml": CARGO["Cargo.toml"]},
        f"a/tests/{NAME}.rs",
    ),
    ("rspec", "bundle exec rspec", {"spec/a_spec.rb": ""}, f"spec/{NAME}_spec.rb"),
    (
        "phpunit",
        "vendor/bin/phpunit",
        {"phpunit.xml": PHPUNIT, "tests/ATest.php": ""},
        "tests/PlanboundCanaryAb12cdTest.php",
    ),
    ("pytest + jest", "npx jest", {"a.test.js": ""}, f"planbound-canary-{NONCE}.test.js"),
]


@pytest.mark.parametrize(("runner", "command", "tree", "place"), PLACES)
def test_a_canary_is_laid_where_the_runner_looks(
    runner: str, command: str, tree: Tree, place: str
) -> None:
    made = canary(runner, command, tree)
    assert made is not None
    assert [path for path, _content in made.files] == [place]
    assert NONCE in made.name


@pytest.mark.parametrize(
    ("runner", "command", "tree"),
    [
        ("pytest", "pytest || true", PYTEST),
        ("pytest", "pytest | tail -1", PYTEST),
        ("pytest", "! pytest", PYTEST),
        ("pytest", "tox", PYTEST),
        ("pytest", "env -i pytest", PYTEST),
        ("pytest", "python -I -m pytest", PYTEST),
        ("pytest", "export PYTHONPATH=x; pytest", PYTEST),
        ("pytest", "pytest --lf", PYTEST),
        ("pytest", "cd $X && pytest", PYTEST),
        ("pytest", "pytest a && pytest b", PYTEST),
        ("unittest", "python -m unittest test_a", UNITTEST),
        ("unittest", "python -m unittest -k a", UNITTEST),
        ("node --test", "node --test test/a.test.mjs", NODE),
        ("node --test", "node --test --test-name-pattern=a", NODE),
        ("cargo test", "cargo test --lib", CARGO),
        ("cargo test", "cargo test a", CARGO),
        ("cargo test", "cargo test -- a", CARGO),
        ("cargo test", "cargo test", {"Cargo.toml": "[package]\nautotests = false\n"}),
        ("go test", "go test -run A ./...", {"go.mod": "", "a_test.go": GO_TEST}),
        ("jest", "jest a.test.js", {"a.test.js": ""}),
        ("jest", "jest", {"a.test.js": "", "jest.config.js": "({ roots: ['x'] })"}),
        ("jest", "npm test -- a", {"package.json": NODE["package.json"], "a.test.js": ""}),
        ("vitest", "vitest run -t x", {"a.test.js": ""}),
        ("mocha", "mocha -g x", {"test/a.js": ""}),
        ("mocha", "mocha", {"test/a.js": "", ".mocharc.yml": ""}),
        ("rspec", "rspec spec/a_spec.rb", {"spec/a_spec.rb": ""}),
        ("phpunit", "phpunit --filter a tests", {"tests/ATest.php": ""}),
        ("ctest", "ctest", {"CMakeLists.txt": ""}),
        ("tap", "bats test", {"test/a.bats": ""}),
    ],
)
def test_where_an_honest_run_might_stay_green_there_is_no_canary(
    runner: str, command: str, tree: Tree
) -> None:
    assert canary(runner, command, tree) is None
