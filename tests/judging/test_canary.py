"""With a canary in it an honest run goes red; a run that stays green was subverted."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from planbound.cells.cell import Captured, CommandEnding, Outcome, Request
from planbound.judging.canary import canary_for
from planbound.judging.corroborate import CanaryTrial, with_added
from planbound.judging.verdict import CanaryRun
from planbound.script import read_script
from planbound.script.runners.runner import Canary, JudgedTree, ReportedOutcome, read_junit
from tests.needs import need, need_working
from tests.project_environment import active_environment
from tests.tables import first_always, one_fact

NONCE = "ab12cd"
BINARIES = f"{active_environment()}/bin"
PROJECT = JudgedTree((), lambda _path: None, NONCE)
NAME = PROJECT.name
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


def canary(
    runner: str, command: str, tree: Tree, taken: str = "", said: str | None = None
) -> Canary | None:
    def read(path: str) -> bytes | None:
        return tree[path].encode() if path in tree else None

    script = read_script(command)
    return canary_for(
        runner, script, list(tree), read, NONCE, lambda path: path == taken, said=said
    )


def outcome(root: Path, command: str, added: Mapping[str, str]) -> tuple[int, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    clean.pop("PYTHONPATH", None)
    path = f"{BINARIES}:{clean['PATH']}"
    try:
        done = _ended(root, command, {**clean, "PATH": path, **added})
    except subprocess.TimeoutExpired:
        if "-n 2" not in command:
            raise
        # On a busy machine the workers of xdist were once seen not to come up.
        done = _ended(root, command, {**clean, "PATH": path, **added})
    return done.returncode, done.stdout


def _ended(
    root: Path, command: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def run(root: Path, runner: str, command: str, tree: Tree) -> tuple[int, int, Canary]:
    """Return the exit code without and with the canary."""
    before, (after, _text), made = told(root, runner, command, tree)
    return before, after, made


def told(root: Path, runner: str, command: str, tree: Tree) -> tuple[int, tuple[int, str], Canary]:
    """Return the exit code without, and the exit code and the output with the canary."""
    made = canary(runner, command, tree)
    assert made is not None
    for path, text in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    before, _ = outcome(root, command, {})
    for path, content in (*made.files, *made.programs):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    for path, _content in made.programs:
        (root / path).chmod(0o755)
    added = {key: value.replace("{workspace}", str(root)) for key, value, _ in made.environment}
    if "PATH" in added:
        added["PATH"] += f":{BINARIES}:{os.environ['PATH']}"
    return before, outcome(root, command, added), made


def all_failed(made: Canary, text: str) -> bool:
    """Say whether an output shows that every added test failed, and its process too."""
    failed = all(made.says_failed(name, text) for name in made.names)
    passed = any(made.says_passed(name, text) for name in made.names)
    besides = (re.search(each, text, re.MULTILINE) for each in made.besides)
    return failed and not passed and all(besides)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    first_always(
        [
            "pytest",
            "pytest -q -k one",
            "pytest tests/test_a.py::test_one",
            "pytest -x --deselect tests/test_a.py::test_one",
            "pytest -n 2",
            "python -m pytest -m 'not slow' -W error -p no:cacheprovider",
            "PYTHONPATH=tests pytest --strict-config --import-mode=importlib",
            "cd tests && pytest",
        ]
    ),
)
def test_an_honest_pytest_run_goes_red_and_reports_every_test(tmp_path: Path, command: str) -> None:
    before, after, made = run(tmp_path, "pytest", command, PYTEST)
    assert (before, after) == (0, 1)
    assert made.reports is not None
    report = read_junit((tmp_path / made.reports).read_bytes())
    assert report is not None
    ids = {case.id.rpartition("::")[2]: case.outcome for case in report[1]}
    assert {ids.pop(name) for name in made.names} == {ReportedOutcome.FAILED}
    assert ids
    assert set(ids.values()) == {ReportedOutcome.PASSED}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    first_always(
        ["python -I -m pytest", "cd tests && python3 -E -m pytest -q test_a.py::test_one"]
    ),
)
def test_a_python_that_is_kept_apart_goes_red_too(tmp_path: Path, command: str) -> None:
    test_an_honest_pytest_run_goes_red_and_reports_every_test(tmp_path / "a b", command)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "options"),
    first_always(
        [("cd tests && pytest --junitxml=r.xml", ""), ("pytest", "-p no:junitxml")], fields=2
    ),
)
def test_there_is_a_report_whatever_the_command_says(
    tmp_path: Path, command: str, options: str
) -> None:
    tree = {**PYTEST, "pytest.ini": f"[pytest]\naddopts = {options}\n"}
    before, after, made = run(tmp_path, "pytest", command, tree)
    assert (before, after) == (0, 1)
    report = read_junit((tmp_path / str(made.reports)).read_bytes())
    assert report is not None
    assert {case.id.rpartition("::")[2] for case in report[1]} >= {"test_one", *made.names}


HOOK = "import os, pytest\n@pytest.hookimpl(hookwrapper=True)\n"
SUBVERTED = {
    "exit": "import pytest\ndef pytest_runtest_setup(): pytest.exit('x', returncode=0)\n",
    "hard exit": "import os\ndef pytest_runtestloop(): os._exit(0)\n",
    "outcome": HOOK + "def pytest_runtest_makereport():\n"
    "    result = yield\n    result.get_result().outcome = 'passed'\n",
    "status": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
    "items": "def pytest_collection_finish(session): del session.items[1:]\n",
}


@pytest.mark.thorough
@pytest.mark.parametrize("conftest", first_always(list(SUBVERTED.values())), ids=SUBVERTED)
def test_a_subverted_pytest_run_stays_green(tmp_path: Path, conftest: str) -> None:
    tree = {**PYTEST, "conftest.py": conftest}
    assert run(tmp_path, "pytest", "pytest", tree)[:2] == (0, 0)


@pytest.mark.thorough
def test_a_run_that_only_lists_the_tests_stays_green(tmp_path: Path) -> None:
    assert run(tmp_path, "pytest", "pytest --collect-only", PYTEST)[:2] == (0, 0)


@pytest.mark.thorough
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
    outcomes = {case.id.rpartition("::")[2]: case.outcome for case in report[1]}
    assert outcomes["test_inner"] is ReportedOutcome.PASSED


@pytest.mark.thorough
def test_pytest_behind_a_target_of_make_is_found(tmp_path: Path) -> None:
    need("make", "it runs the tests here")
    tree = {**PYTEST, "Makefile": "PY ?= python\ntest:\n\t@$(PY) -m pytest -q\n"}
    assert run(tmp_path, "pytest", "make test", tree)[:2] == (0, 2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest",
        "python -m unittest -v",
        "python -m unittest discover -p '*_a.py'",
        "python -m unittest discover -p test_a.py",
    ],
)
def test_an_honest_unittest_run_goes_red(tmp_path: Path, command: str) -> None:
    assert run(tmp_path, "unittest", command, UNITTEST)[:2] == (0, 1)


def test_a_unittest_run_that_ends_itself_stays_green(tmp_path: Path) -> None:
    tree = {"test_a.py": "import os\nos._exit(0)\n"}
    assert run(tmp_path, "unittest", "python -m unittest", tree)[:2] == (0, 0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    first_always(
        [
            "node --test",
            "node --test test/*.mjs",
            "node --test test/*.test.mjs test/*.mjs",
            "node --test test/a.test.mjs",
            "node --test --test-force-exit",
            "node --test --test-reporter=spec",
        ]
    ),
)
def test_an_honest_node_run_goes_red(tmp_path: Path, command: str) -> None:
    need("node", "its test runner is looked at")
    before, (after, text), made = told(tmp_path, "node --test", command, NODE)
    assert (before, after) == (0, 1)
    assert all_failed(made, text)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", first_always(["", '"type": "module", ']))
def test_test_files_of_both_kinds_are_added_to(tmp_path: Path, kind: str) -> None:
    need("node", "its test runner is looked at")
    imports = "import test from 'node:test'" if kind else "const test = require('node:test')"
    tree = {
        "package.json": f'{{{kind}"name": "a"}}',
        "a.test.js": f"{imports}\ntest('a', () => {{}}) // a comment",
        "b.test.js": f"{imports}\ntest('b', () => {{}})",
    }
    before, (after, text), made = told(tmp_path, "node --test", "node --test", tree)
    assert (before, after) == (0, 1)
    assert all_failed(made, text)


PATCHED = {
    "assert": "import a from 'node:assert'; a.strictEqual = () => {};",
    "equal": "import a from 'node:assert'; a.ok = () => {};",
    "test": "import m from 'node:module'; const r = m.createRequire(import.meta.url)('node:test'); "
    "const real = r.test; r.test = (name) => real(name, () => {}); m.syncBuiltinESMExports();",
    "the file": "if (process.argv[1].endsWith('a.test.mjs')) process.exit(0);",
}


@pytest.mark.thorough
@pytest.mark.parametrize("text", first_always(list(PATCHED.values())), ids=PATCHED)
def test_what_a_product_undoes_in_one_process_of_node_is_seen(tmp_path: Path, text: str) -> None:
    need("node", "its test runner is looked at")
    tree = {**NODE, "test/b.test.mjs": "import test from 'node:test'; test('b', () => {});"}
    tree["x.mjs"] = text
    before, (_after, said), made = told(tmp_path, "node --test", "node --test", tree)
    assert before == 0
    assert not all_failed(made, said)


@pytest.mark.thorough
def test_a_node_run_that_ends_itself_while_it_loads_stays_green(tmp_path: Path) -> None:
    need("node", "its test runner is looked at")
    tree = {**NODE, "x.mjs": "process.exit(0);\n"}
    assert run(tmp_path, "node --test", "node --test", tree)[:2] == (0, 0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command", first_always(["cargo test --offline", "cargo test --no-fail-fast"])
)
def test_an_honest_cargo_run_goes_red(tmp_path: Path, command: str) -> None:
    need_working("cargo", "--version")
    tree = {**CARGO, "tests/b.rs": "#[test]\nfn b() {}", "tests/c.rs": "#[test]\nfn c() {}\n"}
    before, (after, text), made = told(tmp_path, "cargo test", command, tree)
    assert (before, after) == (0, 101)
    assert made.marker in text
    assert all_failed(made, text)


@pytest.mark.thorough
def test_every_package_of_a_workspace_goes_red(tmp_path: Path) -> None:
    need_working("cargo", "--version")
    tree = {
        "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\nresolver = "2"\n',
        "crates/a/Cargo.toml": CARGO["Cargo.toml"].replace("demo", "first"),
        "crates/a/src/lib.rs": "",
        "crates/a/tests/it.rs": "#[test]\nfn it() {}\n",
        "crates/b/Cargo.toml": CARGO["Cargo.toml"].replace("demo", "second"),
        "crates/b/src/main.rs": "fn main() {}\n",
        "crates/b/tests/it.rs": "#[test]\nfn it() {}\n",
    }
    before, (after, text), made = told(tmp_path, "cargo test", "cargo test --offline", tree)
    assert (before, after, len(made.names)) == (0, 101, 4)
    assert all_failed(made, text), text


@pytest.mark.thorough
def test_a_program_of_cargo_that_ends_itself_is_seen_beside_others(tmp_path: Path) -> None:
    need_working("cargo", "--version")
    tree = {**CARGO, "tests/b.rs": "#[test]\nfn b() { std::process::exit(0) }\n"}
    before, (after, text), made = told(tmp_path, "cargo test", "cargo test --offline", tree)
    assert (before, after) == (0, 101)
    assert not all_failed(made, text)


@pytest.mark.thorough
def test_a_cargo_run_whose_tests_are_not_started_stays_green(tmp_path: Path) -> None:
    need_working("cargo", "--version")
    configuration = "[target.'cfg(all())']\nrunner = \"true\"\n"
    tree = {**CARGO, ".cargo/config.toml": configuration}
    assert run(tmp_path, "cargo test", "cargo test --offline", tree)[:2] == (0, 0)


GO = {
    "go.mod": "module example.org/x\n\ngo 1.19\n",
    "a/a_test.go": GO_TEST,
    "b/b_test.go": GO_TEST.replace("package a", "package b"),
    "b/b_windows_test.go": "package b\n",
    "a_test.go": GO_TEST.replace("package a", "package x"),
}


@pytest.mark.thorough
def test_an_honest_go_run_goes_red_in_every_package(tmp_path: Path) -> None:
    need_working("go", "version")
    before, (after, text), made = told(tmp_path, "go test", "go test ./...", GO)
    assert (before, after, len(made.names), len(made.besides)) == (0, 1, 3, 3)
    assert all_failed(made, text)


@pytest.mark.thorough
def test_a_package_of_go_that_ends_itself_is_seen_beside_others(tmp_path: Path) -> None:
    need_working("go", "version")
    leaves = 'package b\n\nimport "syscall"\n\nfunc init() { syscall.Exit(0) }\n'
    tree = {**GO, "b/b.go": leaves}
    before, (after, text), made = told(tmp_path, "go test", "go test ./...", tree)
    assert (before, after) == (0, 1)
    assert not all_failed(made, text)


def every_runner() -> list[tuple[str, str, Tree]]:
    return [
        ("pytest", "pytest", PYTEST),
        ("unittest", "python -m unittest", UNITTEST),
        ("unittest", "python -m unittest discover -p test_a.py", UNITTEST),
        ("node --test", "node --test", NODE),
        ("cargo test", "cargo test", CARGO),
        ("go test", "go test ./...", GO),
        *((runner, command, tree) for runner, command, tree, _place in PLACES),
    ]


@pytest.mark.requirement("judging.canary-replaces-nothing")
def test_a_canary_never_takes_the_place_of_what_is_there() -> None:
    for runner, command, tree in every_runner():
        made = canary(runner, command, tree)
        assert made is not None, (runner, command)
        laid = dict((*made.files, *made.programs))
        for path, text in tree.items():
            assert laid.get(path, text.encode()).startswith(text.encode()), (runner, path)
        for path in laid.keys() - tree.keys():
            # By chance, or because somebody guessed: as a file, and as a link or a folder.
            again = canary(runner, command, {**tree, path: "another"})
            assert again is None or dict(again.files).get(path, b"another")[:7] == b"another"
            assert canary(runner, command, tree, taken=path) is None, (runner, path)


def test_nothing_says_that_a_test_was_added() -> None:
    for runner, command, tree in every_runner():
        made = canary(runner, command, tree)
        assert made is not None
        assert not re.search(r"(?i)canary|planbound|ab12cd", repr(tuple(made)))
        assert len(set(made.names)) == len(made.names)


PLACES: list[tuple[str, str, Tree, str]] = [
    ("jest", "npx jest", {"a.test.js": ""}, f"{NAME}.test.js"),
    ("jest", "jest src", {"src/b.spec.tsx": ""}, f"src/{NAME}.spec.tsx"),
    ("vitest", "vitest run", {"a.test.ts": ""}, f"{NAME}.test.ts"),
    ("mocha", "mocha", {"test/a.js": ""}, f"test/{NAME}.js"),
    (
        "mocha",
        "mocha 'test/**/*.spec.js'",
        {"test/a.spec.js": ""},
        f"test/{NAME}.spec.js",
    ),
    (
        "jest",
        "cd web && npm test",
        {"web/package.json": '{"scripts": {"test": "jest --ci"}}', "web/a.test.js": ""},
        f"web/{NAME}.test.js",
    ),
    (
        "go test",
        "go test ./...",
        {"go.mod": "module a\n", "a/a_linux_test.go": GO_TEST, "b/a_test.go": GO_TEST},
        f"b/{PROJECT.called('b', 'file')}_test.go",
    ),
    (
        "cargo test",
        "cargo test",
        {"Cargo.toml": '[workspace]\nmembers = ["a"]\n', "a/Cargo.toml": CARGO["Cargo.toml"]},
        f"a/tests/{NAME}.rs",
    ),
    (
        "cargo test",
        "cargo test",
        {"Cargo.toml": CARGO["Cargo.toml"], "tests/a.rs": "", "tests/b.rs": "#![cfg(windows)]"},
        "tests/a.rs",
    ),
    ("node --test", "node --test test/a.mjs", {"test/a.mjs": "", "b.test.mjs": ""}, "test/a.mjs"),
    ("rspec", "bundle exec rspec", {"spec/a_spec.rb": ""}, f"spec/{NAME}_spec.rb"),
    (
        "phpunit",
        "vendor/bin/phpunit",
        {"phpunit.xml": PHPUNIT, "tests/ATest.php": ""},
        f"tests/{NAME.replace('_', '').capitalize()}Test.php",
    ),
    ("pytest + jest", "npx jest", {"a.test.js": ""}, f"{NAME}.test.js"),
]


@pytest.mark.parametrize(("runner", "command", "tree", "place"), PLACES)
def test_a_canary_is_laid_where_the_runner_looks(
    runner: str, command: str, tree: Tree, place: str
) -> None:
    made = canary(runner, command, tree)
    assert made is not None
    assert [path for path, _content in made.files] == [place]
    assert made.names


@one_fact(
    ("runner", "command", "tree"),
    [
        ("unittest", "python -m unittest discover -p 'a_?'", {"a_1": ""}),
        ("pytest", "pytest || true", PYTEST),
        ("pytest", "pytest | tail -1", PYTEST),
        ("pytest", "! pytest", PYTEST),
        ("pytest", "tox", PYTEST),
        ("pytest", "env -i pytest", PYTEST),
        ("pytest", "python -I -m pytest -x", PYTEST),
        ("pytest", "python -I -m pytest", {**PYTEST, "pytest.ini": "[pytest]\naddopts = -x\n"}),
        ("pytest", "env -i python -I -m pytest", PYTEST),
        ("pytest", "sudo python3 -E -m pytest", PYTEST),
        ("pytest", "export PYTHONPATH=x; pytest", PYTEST),
        ("pytest", "pytest --lf", PYTEST),
        ("pytest", "cd $X && pytest", PYTEST),
        ("pytest", "pytest a && pytest b", PYTEST),
        ("unittest", "python -m unittest test_a", UNITTEST),
        ("unittest", "python -m unittest -k a", UNITTEST),
        ("node --test", "node --test", {f"{number}.test.js": "" for number in range(41)}),
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


JEST = (
    "const { add } = require('./add');\ntest('adds', () => {\n  expect(add(1, 1)).toBe(2);\n});\n"
)
IMPORTED = f"import {{ expect, test }} from '@jest/globals';\n{JEST}"
CHOOSES = {"jest.config.js": "module.exports = { testMatch: ['**/*.check.js'] };"}


@pytest.mark.parametrize(
    ("runner", "command", "tree", "said", "grown"),
    [
        ("jest", "npx jest", {"a.test.js": JEST, "b.test.js": JEST}, None, "a.test.js b.test.js"),
        ("jest", "jest a.test.js", {"a.test.js": JEST, "b.test.js": JEST}, None, "a.test.js"),
        (
            "jest",
            "jest",
            {**CHOOSES, "x/a.check.js": JEST, "a.test.js": JEST},
            "\x1b[32mPASS\x1b[0m x/a.check.js (1.2 s)\nTests: 1 passed",
            "x/a.check.js",
        ),
        (
            "jest",
            "jest -c other.js add",
            {"a.test.js": JEST, "b.test.js": IMPORTED},
            "PASS my project b.test.js\n",
            "b.test.js",
        ),
        (
            "jest",
            "jest --bail",
            {"a.test.js": JEST, "b.test.js": JEST},
            "PASS b.test.js\nPASS a.test.js\n",
            "b.test.js",
        ),
        (
            "vitest",
            "vitest run",
            {"a.it.ts": IMPORTED.replace("@jest/globals", "vitest"), "vite.config.ts": "include"},
            " ✓ |unit| a.it.ts (1 test) 2ms\n",
            "a.it.ts",
        ),
        ("mocha", "mocha it.js b.js", {"b.js": "it('adds', () => {});"}, "", "b.js"),
    ],
)
def test_more_tests_stand_at_the_end_of_the_files_that_run(
    runner: str, command: str, tree: Tree, said: str | None, grown: str
) -> None:
    made = canary(runner, command, tree, said=said)
    assert made is not None
    assert sorted(path for path, _content in made.files) == sorted(grown.split())
    for path, content in made.files:
        assert content.startswith(tree[path].encode())
    assert all(any(name.encode() in content for _, content in made.files) for name in made.names)


@pytest.mark.parametrize(
    "source",
    [
        JEST.replace("test(", "test.only("),
        JEST.replace("test(", "fit("),
        "import { test } from './fixtures';\n" + JEST,
        "const test = require('./fixtures').extended;\n" + JEST,
        "require('./shared').runs('adds');\n",
    ],
)
def test_a_file_grows_only_where_what_is_added_surely_runs(source: str) -> None:
    assert canary("jest", "jest", {**CHOOSES, "a.check.js": source}, said="PASS a.check.js") is None
    beside = canary("jest", "jest", {"a.test.js": source}, said="PASS a.test.js")
    assert beside is not None
    assert [path for path, _content in beside.files] == [f"{NAME}.test.js"]


@pytest.mark.parametrize("said", ["", "PASS gone.check.js", "Tests: 1 passed"])
def test_what_a_configuration_chose_is_not_guessed(said: str) -> None:
    tree = {**CHOOSES, "a.check.js": JEST, "a.test.js": JEST}
    assert canary("jest", "jest", tree, said=said) is None
    assert canary("jest", "jest -t adds", tree, said="PASS a.check.js") is None


def test_an_added_test_looks_for_what_the_others_of_its_file_look_for() -> None:
    made = canary("jest", "jest", {"a.test.js": JEST.replace("toBe(2)", "not.toBeNull()")})
    assert made is not None
    ((_path, content),) = made.files
    assert re.findall(rb"\.(to\w+)", content) == [
        b"toBeNull",
        b"toBe",
        b"toEqual",
        b"toBeNull",
    ]


def judged(names: Mapping[str, str], stdout: str = "", code: int = 1) -> CanaryRun:
    """Return what comes of a run whose report says how the added tests ended."""

    def ran(request: Request) -> Outcome:
        added = sorted(
            re.findall(r"def (test_\w+)", "".join(str(item.content) for item in request.lay))
        )
        cases = [
            f'<testcase name="{name}">{names.get(str(index), names["else"])}</testcase>'
            for index, name in enumerate(added)
        ]
        report = f"<testsuite>{''.join(cases)}</testsuite>".encode()
        return Outcome(
            CommandEnding.EXITED,
            exit_code=code,
            stdout=Captured(head=stdout.encode(), length=len(stdout)),
            collected=dict.fromkeys(request.collect, report),
        )

    added = canary("pytest", "pytest", PYTEST)
    assert added is not None
    request = Request(command=("bash",), workspace="/w", environment={})
    found = CanaryTrial("pytest", added, ran(with_added(request, added))).reported()
    assert found is not None
    return found.canary


def test_only_where_every_added_test_failed_the_run_is_red() -> None:
    assert judged({"else": "<failure/>"}) is CanaryRun.RED
    assert judged({"else": "<failure/>", "0": ""}) is CanaryRun.GREEN
    assert judged({"else": "<failure/>", "0": "<skipped/>"}) is CanaryRun.GREEN
    assert judged({"else": ""}) is CanaryRun.GREEN
    assert judged({"else": "<skipped/>"}) is CanaryRun.UNCLEAR
    assert judged({"else": "<failure/>"}, code=0) is CanaryRun.GREEN
