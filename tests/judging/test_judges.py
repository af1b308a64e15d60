"""Which files a contract judges by, and which are the work."""

from __future__ import annotations

import json

import pytest

from planbound.judging.canary import runner_named
from planbound.judging.judges import Judges, judge_paths
from planbound.plan.glob import parse_glob
from planbound.script import read_script

Tree = dict[str, str]


def judges(command: str, tree: Tree | str, *declared: str) -> Judges:
    files = dict.fromkeys(tree.split(), "") if isinstance(tree, str) else tree

    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    globs = [parse_glob(each) for each in declared]
    return judge_paths([read_script(command)], globs, list(files), read)


def found(command: str, tree: Tree | str, *declared: str) -> set[str]:
    return set(judges(command, tree, *declared).files)


# -- declared ----------------------------------------------------------------------------------


def test_what_is_declared_judges() -> None:
    result = judges("true", "data/a.csv data/b.csv src/a.py", "data/*.csv", "ref.txt")
    assert result == Judges(
        frozenset({"data/a.csv", "data/b.csv"}), frozenset(), frozenset({"ref.txt"})
    )


@pytest.mark.parametrize("pattern", ["data/**", "data/", "data"])
def test_a_declared_directory_judges_with_all_that_will_be_in_it(pattern: str) -> None:
    result = judges("true", "data/a.csv data/x/b.csv src/a.py", pattern)
    assert result.files == {"data/a.csv", "data/x/b.csv"}
    assert result.directories == {"data"}


# -- tests that the command names --------------------------------------------------------------

PYTHON = (
    "src/app.py src/__init__.py tests/auth/test_a.py tests/auth/data/x.json tests/auth/conftest.py "
    "tests/conftest.py tests/test_b.py tests/fixtures/f.json pyproject.toml README.md"
)


def test_a_tested_directory_judges_with_everything_in_it() -> None:
    result = judges("pytest tests/auth -x", PYTHON)
    assert {"tests/auth/test_a.py", "tests/auth/data/x.json"} <= result.files
    assert "tests/auth" in result.directories
    assert result.files.isdisjoint({"src/app.py", "tests/test_b.py", "README.md"})


def test_what_pytest_reads_from_the_root_to_the_tests_judges() -> None:
    result = judges("pytest tests/auth", PYTHON)
    assert {"tests/conftest.py", "tests/auth/conftest.py", "pyproject.toml"} <= result.files
    assert {"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "tests/pytest.ini"} <= result.names
    assert not result.names & set(PYTHON.split())


def test_fixtures_beside_the_tests_come_along() -> None:
    result = judges("pytest tests/auth/test_a.py", PYTHON)
    assert {"tests/fixtures/f.json", "tests/auth/data/x.json"} <= result.files
    assert "tests/fixtures" in result.directories
    assert "tests/auth" not in result.directories


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest tests/test_b.py::test_x", {"tests/test_b.py"}),
        ("pytest tests/test_*.py", {"tests/test_b.py"}),
        ("pytest tests/{auth/test_a,test_b}.py", {"tests/auth/test_a.py", "tests/test_b.py"}),
        ("bash -c 'pytest tests/test_b.py'", {"tests/test_b.py"}),
        ("cd tests && pytest test_b.py", {"tests/test_b.py"}),
        ("uv run python -m pytest tests/test_b.py", {"tests/test_b.py"}),
        ("python -m unittest tests.test_b", {"tests/test_b.py"}),
        ("pytest $WHERE", {"tests/test_b.py", "tests/auth/test_a.py"}),
    ],
)
def test_tests_are_found_however_they_are_named(command: str, expected: set[str]) -> None:
    assert expected <= found(command, PYTHON)
    assert "src/app.py" not in found(command, PYTHON)


def test_what_the_step_is_to_write_is_no_judge() -> None:
    for command in ("pytest tests/test_new.py", "pytest tests/new", "bash scripts/new.sh"):
        result = judges(command, "src/app.py")
        assert not result.files
        assert not result.directories
        assert result.names.isdisjoint({"tests/test_new.py", "tests/new", "scripts/new.sh"})


def test_a_tested_source_directory_judges_by_its_tests_alone() -> None:
    tree = "src/app/core.py src/app/__init__.py src/app/core_test.py src/app/tests/test_x.py"
    result = judges("pytest src/app", tree)
    assert result.files == {"src/app/core_test.py", "src/app/tests/test_x.py"}
    assert result.directories == {"src/app/tests"}


# -- runners without paths ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "yes", "no"),
    [
        (
            "pytest",
            "a/test_x.py b/x_test.py conftest.py tests/test_z.py tests/h",
            "src/app.py a/x.py",
        ),
        ("pytest .", "tests/test_x.py", "src/app.py"),
        ("npx jest", "src/a.test.ts src/__tests__/b.js src/__mocks__/fs.js", "src/a.ts"),
        ("npx vitest run", "src/a.spec.tsx tsconfig.json vitest.config.ts", "src/a.tsx"),
        ("npx mocha", "test/a.js test/deep/b.js .mocharc.yml", "lib/a.js"),
        ("node --test", "test/a.js a.test.mjs b-test.js c_test.cjs test.js test-d.js", "index.js"),
        ("cargo test", "tests/a.rs Cargo.toml build.rs crates/b/Cargo.toml", "src/lib.rs"),
        ("cargo nextest run", "tests/a.rs", "src/lib.rs"),
        ("go test ./...", "a/a_test.go a/testdata/x.txt go.mod go.sum", "a/a.go main.go"),
        ("go test ./a/...", "a/a_test.go", "a/a.go b/b_test.go"),
        ("bundle exec rspec", "spec/a_spec.rb spec/spec_helper.rb .rspec", "lib/a.rb"),
        ("vendor/bin/phpunit", "tests/ATest.php phpunit.xml", "src/A.php"),
        ("ctest --test-dir build", "CMakeLists.txt src/CMakeLists.txt tests/a.cpp", "src/a.cpp"),
        ("python -m unittest", "tests/test_x.py", "src/app.py"),
        ("tox -e py311", "tox.ini tests/test_x.py", "src/app.py"),
        ("ruff check src", "pyproject.toml ruff.toml", "src/app.py"),
        ("npx tsc --noEmit", "tsconfig.json", "src/a.ts"),
    ],
)
def test_a_runner_without_paths_takes_its_usual_tests(command: str, yes: str, no: str) -> None:
    result = found(command, f"{yes} {no} node_modules/x/a.test.js .venv/lib/test_x.py")
    assert result == set(yes.split())


def test_the_names_that_a_runner_would_read_are_watched() -> None:
    for command, names in {
        "npx jest": "jest.config.js babel.config.js .babelrc package.json",
        "npx vitest run": "vitest.config.ts vitest.workspace.ts",
        "npx mocha": ".mocharc.js .mocharc.cjs",
        "npm test": ".npmrc package.json",
        "make check": "GNUmakefile makefile Makefile",
        "cargo test": ".cargo/config.toml build.rs Cargo.toml",
        "go test ./...": "go.mod go.work",
        "rspec": ".rspec",
        "phpunit": "phpunit.xml",
    }.items():
        assert set(names.split()) <= judges(command, "src/a").names, command


def test_a_runner_in_a_directory_reads_there_and_above() -> None:
    result = judges("cd web && npx jest", "web/src/a.test.js api/b.test.js package.json")
    assert result.files == {"web/src/a.test.js", "package.json"}
    assert {"jest.config.js", "web/jest.config.js"} <= result.names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\ntestpaths = ["checks"]\n'),
        ("pytest.ini", "[pytest]\ntestpaths = checks\n"),
        ("setup.cfg", "[tool:pytest]\ntestpaths =\n    checks\n    more\naddopts = -q\n"),
    ],
)
def test_testpaths_are_respected(name: str, text: str) -> None:
    tree = {name: text, "checks/test_a.py": "", "old/test_b.py": "", "checks/util.py": ""}
    assert found("pytest", tree) == {name, "checks/test_a.py"}


def test_broken_settings_are_no_settings() -> None:
    tree = {"pyproject.toml": "testpaths = [", "a/test_a.py": "", "package.json": "{"}
    assert "a/test_a.py" in found("pytest && npm test", tree)


# -- scripts and comparisons -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("bash scripts/check.sh", "scripts/check.sh"),
        ("./scripts/build.sh out.txt", "scripts/build.sh"),
        ("python tests/run.py", "tests/run.py"),
        ("python tools/x.py | tee log", "tools/x.py"),
        ("python verify.py out.json", "verify.py"),
        ('test "$(python check_it.py)" = ok', "check_it.py"),
        ("./run.sh", "run.sh"),
        ("python -m tools.check", "tools/check.py"),
        ("python - < check.py", "check.py"),
        ("source scripts/env.sh", "scripts/env.sh"),
        ("diff -u expected.txt out.txt", "expected.txt"),
        ("diff tests/golden/a.txt <(python src/app.py)", "tests/golden/a.txt"),
        ("cmp out.bin fixtures/a.bin", "fixtures/a.bin"),
        ("jq -e -f filter.jq out.json", "filter.jq"),
        ("grep -f patterns.txt out.txt", "patterns.txt"),
        ("sha256sum -c sums.txt", "sums.txt"),
        ("pytest -c ci.ini tests", "ci.ini"),
        ("pytest -p tools.plugin tests", "tools/plugin.py"),
    ],
)
def test_what_says_how_it_should_be_judges(command: str, path: str) -> None:
    assert path in found(command, f"{path} src/app.py")
    assert "src/app.py" not in found(command, f"{path} src/app.py")


@pytest.mark.parametrize(
    "command",
    [
        "grep x docs/rounding.md",
        "test -f out.txt",
        "python src/app.py",
        'test "$(python calc.py 2 3)" = 5',
        "python calc.py | grep -q 5",
        "python calc.py 2>&1 | grep -q 5",
        "python calc.py > out.txt && diff out.txt new.txt",
        "diff out.txt new.txt",
        "cat docs/rounding.md | wc -l",
        "jq -e .ok out.json",
        "shellcheck deploy.sh",
        "cp out.txt new.txt",
        "ls src/app.py",
        "python checkout.py | cat",
    ],
)
def test_the_work_itself_is_no_judge(command: str) -> None:
    tree = "docs/rounding.md out.txt src/app.py calc.py new.txt out.json deploy.sh checkout.py"
    assert judges(command, tree).files == frozenset()
    assert judges(command, tree).directories == frozenset()


def test_a_directory_of_expected_outputs_judges_as_a_whole() -> None:
    result = judges("diff -r expected out", "expected/a expected/b out/a")
    assert result.files == {"expected/a", "expected/b"}
    assert result.directories == {"expected"}


# -- what is read on the way -------------------------------------------------------------------


def test_a_makefile_leads_to_what_its_recipe_runs() -> None:
    tree = {
        "Makefile": (
            "PY := python3\nCHECK = scripts/check.sh\ninclude mk/rules.mk\n\n.PHONY: test\n"
            "all: build\n\ntest: lint \\\n  unit\n\t@bash $(CHECK)\n\n"
            "lint:\n\t-$(PY) tools/lint.py\n"
            "build:\n\tbash scripts/build.sh\nsub:\n\t$(MAKE) -C web check\n"
        ),
        "mk/rules.mk": "unit: ; pytest tests/unit\n",
        "web/Makefile": "check:\n\tbash scripts/web.sh\n",
        **dict.fromkeys(
            "scripts/check.sh scripts/build.sh tools/lint.py web/scripts/web.sh".split(), ""
        ),
        "tests/unit/test_a.py": "",
        "src/app.py": "",
    }
    assert found("make test", tree) == {
        "Makefile", "mk/rules.mk", "scripts/check.sh", "tools/lint.py", "tests/unit/test_a.py",
    }  # fmt: skip
    assert found("make", tree) == {"Makefile", "mk/rules.mk", "scripts/build.sh"}
    assert found("make sub", tree) >= {"web/Makefile", "web/scripts/web.sh"}
    assert found("make -C web check", tree) == {"web/Makefile", "web/scripts/web.sh"}
    assert {"GNUmakefile", "makefile"} <= judges("make test", tree).names


@pytest.mark.parametrize(
    "text",
    [
        "X := make\ninclude $(X)/base.mk\n",
        "X = make # here\nY = ${X}/base\ninclude $(Y).mk # it\n",
        "include $(wildcard make/*.mk)\n",
        "D := make\n-include $(wildcard $(D)/*.mk)\n",
    ],
)
def test_what_a_makefile_includes_by_a_variable_judges(text: str) -> None:
    tree = {"Makefile": f"{text}test: ; true\n", "make/base.mk": "", "src/app.py": ""}
    assert found("make test", tree) == {"Makefile", "make/base.mk"}


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("pre-commit run --all-files", ".pre-commit-config.yaml"),
        ("uv run lint-imports", ".importlinter"),
    ],
)
def test_tools_that_run_others_judge_by_their_settings(command: str, file: str) -> None:
    assert found(command, f"{file} src/app.py") == {file}
    assert file in judges(command, "src/app.py").names


def test_make_takes_the_first_of_its_files() -> None:
    tree = {"GNUmakefile": "t:\n\tbash scripts/a.sh\n", "Makefile": "t:\n\tbash scripts/b.sh\n"}
    tree |= {"scripts/a.sh": "", "scripts/b.sh": "", "own.mk": "t:\n\tbash scripts/b.sh\n"}
    assert found("make t", tree) == {"GNUmakefile", "Makefile", "scripts/a.sh"}
    assert found("make -f own.mk t", tree) == {"own.mk", "scripts/b.sh"}


def test_a_makefile_that_calls_itself_comes_to_an_end() -> None:
    assert found("make a", {"Makefile": "a: b\n\tmake a\nb: a\n\tmake b\n"}) == {"Makefile"}


def test_a_justfile_leads_to_what_it_runs() -> None:
    tree = {
        "justfile": "x := 'a'\n\ntest a='1': lint\n  bash scripts/t.sh\n\nlint:\n  ruff check\n"
    }
    assert found("just test", tree | {"scripts/t.sh": ""}) == {"justfile", "scripts/t.sh"}


@pytest.mark.parametrize("command", ["npm test", "npm run test", "yarn test", "pnpm test"])
def test_a_package_script_leads_to_what_it_runs(command: str) -> None:
    scripts = {
        "pretest": "node tools/prepare.js",
        "test": "npm run unit",
        "unit": "mocha test/a.js",
    }
    tree = {
        "package.json": json.dumps({"scripts": scripts | {"build": "bash scripts/build.sh"}}),
        **dict.fromkeys("tools/prepare.js test/a.js scripts/build.sh lib/a.js".split(), ""),
    }
    assert found(command, tree) == {"package.json", "tools/prepare.js", "test/a.js"}


def test_a_package_elsewhere_runs_elsewhere() -> None:
    tree = {
        "web/package.json": '{"scripts": {"test": "jest"}}',
        "web/a.test.js": "",
        "b.test.js": "",
    }
    for command in ("npm --prefix web test", "cd web && npm test", "pnpm -C web test"):
        assert found(command, tree) == {"web/package.json", "web/a.test.js"}, command


def test_a_script_leads_to_what_it_calls_sources_and_speaks_of() -> None:
    tree = {
        "ci.sh": '#!/bin/bash\ncd "$(dirname "$0")"\n. ./lib.sh\nscripts/more.sh\npython src/a.py',
        "lib.sh": "",
        "scripts/more.sh": "set -e\ndiff tests/expected.txt out.txt\npython scripts/deep.py\n",
        "scripts/deep.py": "from helper import x\nopen('tests/data/in.json')\nimport a\n",
        **dict.fromkeys(
            "scripts/helper.py tests/expected.txt tests/data/in.json out.txt src/a.py".split(),
            "",
        ),
    }
    assert found("./ci.sh", tree) == {
        "ci.sh", "lib.sh", "scripts/more.sh", "scripts/deep.py", "scripts/helper.py",
        "tests/expected.txt", "tests/data/in.json",
    }  # fmt: skip


def test_tests_lead_to_the_helpers_that_they_import() -> None:
    tree = {
        "tests/auth/test_a.py": "from tests.tool import x\nfrom ..deep import y\nimport app\n",
        **dict.fromkeys("tests/tool.py tests/deep/__init__.py tests/other.py app.py".split(), ""),
    }
    assert found("pytest tests/auth", tree) == {
        "tests/auth/test_a.py", "tests/tool.py", "tests/deep/__init__.py",
    }  # fmt: skip


def test_settings_lead_to_the_files_that_they_load() -> None:
    tree = {"jest.config.js": "setupFiles: ['<rootDir>/test/setup.js', './src/env.js']"}
    tree |= {"test/setup.js": "", "src/env.js": "", "a.test.js": ""}
    assert found("npx jest", tree) == {"jest.config.js", "test/setup.js", "a.test.js"}


def test_a_script_that_cannot_be_read_as_a_whole_is_read_by_lines() -> None:
    tree = {"ci.sh": "if (( [\npytest tests/unit\n", "tests/unit/test_a.py": "", "tests/b.py": ""}
    assert "tests/unit/test_a.py" in found("bash ci.sh", tree)


def test_a_command_that_cannot_be_read_judges_by_what_is_declared() -> None:
    assert found("if ((", "a b", "a") == {"a"}


@pytest.mark.parametrize(
    "command",
    [
        'for f in tests/*.sh; do bash "$f"; done',
        'for f in ./tests/*.sh\ndo\n  bash "$f" || exit 1\ndone',
        "for f in tests/a.sh tests/b.sh; do ./$f; done",
    ],
)
def test_what_a_loop_goes_through_judges_with_what_lies_beside(command: str) -> None:
    result = judges(command, "tests/a.sh tests/b.sh tests/data.txt src/c.sh")
    assert result.files == {"tests/a.sh", "tests/b.sh", "tests/data.txt"}
    assert result.directories == {"tests"}


@pytest.mark.parametrize(
    "command", ["for f in src/*.sh; do bash -n $f; done", "for f in $X; do :; done"]
)
def test_a_loop_over_other_things_judges_nothing(command: str) -> None:
    assert judges(command, "tests/a.sh src/c.sh") == Judges(frozenset(), frozenset(), frozenset())


def test_a_file_named_like_a_target_that_tests_is_watched() -> None:
    tree = {"Makefile": "test:\n\ttrue\napp:\n\ttrue\n"}
    assert "test" in judges("make test", tree).names
    assert "test" not in judges("make test", {**tree, "test/a.c": ""}).names
    assert "app" not in judges("make app", tree).names


@pytest.mark.parametrize(
    "command",
    ["ctest --test-dir build", "ctest --test-dir=build", "cmake -B build", "cmake -Bbuild -S ."],
)
def test_settings_of_ctest_where_it_is_built_are_watched(command: str) -> None:
    assert "build/CTestCustom.cmake" in judges(command, {"CMakeLists.txt": ""}).names


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest", "pytest"),
        ("npm test", "node --test"),
        ("npm run unit", "jest"),
        ("make -s check", "go test"),
        ("yarn test", "node --test"),
        ("npm run other", None),
        ("make none", None),
    ],
)
def test_a_runner_is_found_behind_what_starts_it(command: str, runner: str | None) -> None:
    scripts = {"test": "tsc; node --test", "unit": "jest --ci", "other": "echo"}
    tree = {
        "package.json": json.dumps({"scripts": scripts}).encode(),
        "Makefile": b"check:\n\t@go test ./...\n",
    }
    assert runner_named(read_script(command), list(tree), tree.get) == runner


# -- programs that look for their tests by themselves ------------------------------------------

PROJECT = {
    "src/calc.py": "",
    "src/inspect.py": "",
    "calc/__init__.py": "",
    "calc/core.py": "",
    "calc/testing.py": "",
    "latest.js": "",
    "README.md": "",
    "docs/api.spec.md": "",
    "specs/api.yaml": "",
}
WITH_TESTS = {**PROJECT, "tests/test_calc.py": "", "tests/data.csv": ""}
_LIST = "const { readdirSync } = require('fs');\nfor (const f of readdirSync('tests'))"


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("python3 run.py", "run.py", "import unittest\nunittest.TestLoader().discover('.')\n"),
        ("python3 run.py", "run.py", "import pytest\npytest.main()\n"),
        ("python3 run.py | grep OK", "run.py", "import pytest\npytest.main()\n"),
        ("python3 -m runall", "runall.py", "import pytest\npytest.main()\n"),
        ("make", "ci/all.py", "import runpy\nrunpy.run_path(find())\n"),
        ("python3 run.py", "run.py", "import sys, subprocess\nsubprocess.run(sys.argv[1:])\n"),
        ("node run.js", "run.js", f"{_LIST} require('./tests/' + f);\n"),
        ("node run.js", "run.js", "require('child_process').execSync('npx jest');\n"),
        ("node run.mjs", "run.mjs", "import { run } from 'node:test';\nrun({ files });\n"),
        ("ruby run.rb", "run.rb", "Dir['tests/*'].each { |each| load each }\n"),
        ("bash run.sh", "run.sh", 'cd "$(dirname "$0")"\nfor f in $ALL; do python "$f"; done\n'),
        ("./gradlew test", "gradlew", '#!/bin/sh\nexec "$JAVACMD" "$@"\n'),
    ],
)
def test_the_tests_of_a_program_that_nobody_can_follow_judge(
    command: str, path: str, text: str
) -> None:
    tree = {**WITH_TESTS, path: text, "Makefile": f"all:\n\tpython {path}\n"}
    result = judges(command, tree)
    assert {"tests/test_calc.py", "tests/data.csv"} <= result.files
    assert {"tests/test_calc.py", "tests/data.csv"} <= result.unfollowed
    assert not PROJECT.keys() & result.files
    assert result.directories <= {"tests"}


def test_a_program_that_imports_one_which_runs_tests_is_not_followed_either() -> None:
    tree = {
        **WITH_TESTS,
        "run.py": "from scripts.suite import go\ngo()\n",
        "scripts/suite.py": "import pytest\n\n\ndef go():\n    pytest.main()\n",
    }
    assert {"scripts/suite.py", "tests/test_calc.py"} <= found("python run.py", tree)


@pytest.mark.parametrize(
    ("command", "tree"),
    [
        ('for f in qa/*.sh; do sh "$f"; done', {}),
        ("find qa -name '*.sh' -exec sh {} \\;", {}),
        ('ls qa/*.sh | while read -r f; do sh "$f" || exit 1; done', {}),
        ("./run", {"run": '#!/bin/sh\ncd qa\nfor f in *.sh; do sh "$f" || exit 1; done\n'}),
        ("./run", {"run": '#!/bin/sh\nD=$(pwd)/qa\nfor f in $D/*.sh; do sh "$f"; done\n'}),
        (
            "python run.py",
            {"run.py": "import glob, os\n[os.system(f) for f in glob.glob('qa/*')]"},
        ),
    ],
)
def test_programs_that_a_loop_or_a_search_runs_judge_however_they_are_called(
    command: str, tree: Tree
) -> None:
    files = {**PROJECT, "qa/a.sh": "", "main.sh": "", "src/a.sh": "", **tree}
    result = found(command, files)
    assert "qa/a.sh" in result
    assert not {"main.sh", "src/a.sh", *PROJECT} & result


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (
            "python check_docs.py",
            "import re, pathlib\nfor p in pathlib.Path('docs').iterdir(): ...\n",
        ),
        ('for f in calc/*.py; do python -m py_compile "$f"; done', ""),
        ("find calc -name '*.sh' -exec bash -n {} +", ""),
        ("for f in calc/*.py; do cat $f; done", ""),
    ],
)
def test_who_runs_nothing_else_has_no_other_judges(command: str, text: str) -> None:
    result = found(command, {**WITH_TESTS, "check_docs.py": text})
    assert result <= {"check_docs.py"}
