"""How a repository is tested, told by its files."""

from __future__ import annotations

import json

import pytest

from planbound.workspace.project import ProjectFiles, Suite, look_at_project
from tests.tables import one_fact

TEST = "def test_it():\n    assert True\n"
UNITTEST = "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_it(self): ...\n"


def seen(
    files: dict[str, str], *, made: tuple[str, ...] = (), programs: str = "python3"
) -> ProjectFiles:
    return ProjectFiles(
        sorted(files),
        lambda path: files[path].encode() if path in files else None,
        made=made,
        has_environment=bool({".venv", "venv"}.intersection(made)),
        programs=programs.split(),
    )


def only(files: dict[str, str], **more: object) -> Suite:
    (suite,) = look_at_project(seen(files, **more))  # type: ignore[arg-type] # handed through
    return suite


PYPROJECT = '[project]\nname = "x"\n'
PACKAGE = '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'


@pytest.mark.requirement("init.looks")
@one_fact(
    ("files", "command"),
    [
        ({"pyproject.toml": PYPROJECT, "tests/test_a.py": TEST}, "python3 -m pytest"),
        ({"test_a.py": UNITTEST}, "python3 -m unittest"),
        ({"setup.py": "", "tests/test_a.py": UNITTEST}, "python3 -m unittest discover -s tests"),
        (
            {"setup.py": "", "tests/__init__.py": "", "tests/test_a.py": UNITTEST},
            "python3 -m unittest",
        ),
        ({"requirements-dev.txt": "pytest\n", "t/test_a.py": UNITTEST}, "python3 -m pytest"),
        ({"setup.py": "", "tests/conftest.py": "", "tests/test_a.py": ""}, "python3 -m pytest"),
        ({"manage.py": "", "app/tests.py": UNITTEST}, "python3 manage.py test"),
        ({"tox.ini": "commands = pytest\n", "tests/test_a.py": UNITTEST}, "python3 -m pytest"),
        ({"noxfile.py": "run('pytest')", "tests/test_a.py": UNITTEST}, "python3 -m pytest"),
        ({"package.json": PACKAGE}, "npm test"),
        ({"package.json": PACKAGE, "package-lock.json": ""}, "npm test"),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, "pnpm test"),
        ({"package.json": PACKAGE, "yarn.lock": ""}, "yarn test"),
        ({"package.json": PACKAGE, "bun.lockb": ""}, "bun run test"),
        ({"package.json": "{}", "test/a.test.js": ""}, "node --test"),
        (
            {"package.json": '{"devDependencies": {"vitest": "1"}}', "src/a.test.ts": ""},
            "node_modules/.bin/vitest run",
        ),
        ({"Cargo.toml": "", "src/lib.rs": ""}, "cargo test"),
        ({"go.mod": "", "a.go": "", "a_test.go": ""}, "go test ./..."),
        ({"Makefile": "all:\n\ttrue\n\ntest: all\n\t./run-tests\n"}, "make test"),
        ({"Makefile": "check:\n\t./run-tests\n"}, "make check"),
    ],
)
def test_the_test_command_is_told_by_the_files(files: dict[str, str], command: str) -> None:
    assert only(files).commands[0] == command


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": PYPROJECT, "src/x.py": ""},
        {"package.json": "{}"},
        {"package.json": "not json"},
        {"package.json": "[]"},
        {"package.json": '{"scripts": 3}'},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"go.mod": "", "a.go": ""},
        {"Makefile": "all:\n\ttrue\n"},
    ],
)
def test_where_there_are_no_tests_there_is_no_command(files: dict[str, str]) -> None:
    assert only(files).commands == ()


def test_a_repository_of_nothing_that_is_known_has_no_suite() -> None:
    assert look_at_project(seen({})) == []
    assert look_at_project(seen({"README.md": "", "notes/test.txt": ""})) == []


@pytest.mark.requirement("init.looks")
@pytest.mark.parametrize(
    ("made", "command", "path"),
    [
        ([".venv"], "python -m pytest", ()),
        (["venv"], "python -m pytest", ()),
        (["env"], "python -m pytest", ("env/bin",)),
        (["~/.cache/x-py3.12"], "python -m pytest", ("~/.cache/x-py3.12/bin",)),
        ([], "python3 -m pytest", ()),
    ],
)
def test_the_environment_is_the_projects_own(
    made: list[str], command: str, path: tuple[str, ...]
) -> None:
    files = {"pyproject.toml": PYPROJECT, "tests/test_a.py": TEST}
    suite = only(files, made=tuple(made))
    assert (suite.commands[0], suite.path) == (command, path)
    assert suite.is_set_up == bool(made)


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        ({"pyproject.toml": PYPROJECT, "uv.lock": ""}, "uv sync"),
        ({"tox.ini": "", "setup.py": ""}, "tox devenv .venv"),
        ({"pyproject.toml": "[tool.poetry]\n"}, "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"),
        ({"poetry.lock": ""}, "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"),
        (
            {"requirements.txt": "x", "requirements-dev.txt": "pytest"},
            "python3 -m venv .venv && .venv/bin/pip install -r requirements-dev.txt pytest",
        ),
        (
            {"pyproject.toml": PYPROJECT + "[project.optional-dependencies]\ntest = ['pytest']\n"},
            "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' pytest",
        ),
        (
            {"pyproject.toml": PYPROJECT + "[dependency-groups]\ndev = ['pytest']\n"},
            "python3 -m venv .venv && .venv/bin/pip install -e . --group dev pytest",
        ),
        (
            {"pyproject.toml": "[project\n"},
            "python3 -m venv .venv && .venv/bin/pip install pytest",
        ),
        ({"package.json": PACKAGE, "package-lock.json": ""}, "npm ci"),
        ({"package.json": PACKAGE}, "npm install"),
        ({"package.json": PACKAGE, "pnpm-lock.yaml": ""}, "pnpm install --frozen-lockfile"),
    ],
)
def test_a_missing_environment_comes_with_what_makes_it(files: dict[str, str], setup: str) -> None:
    suite = only(files)
    assert (suite.setup, suite.is_set_up) == (setup, False)


def test_node_needs_no_environment_where_nothing_is_needed() -> None:
    assert only({"package.json": '{"scripts": {"test": "node --test"}}'}).is_set_up
    assert only({"package.json": PACKAGE}, made=("node_modules",)).is_set_up


@pytest.mark.requirement("init.looks")
def test_a_monorepo_has_the_suites_of_its_projects() -> None:
    found = look_at_project(
        seen(
            {
                "README.md": "",
                "services/billing/pyproject.toml": PYPROJECT,
                "services/billing/tests/test_a.py": TEST,
                "my web/package.json": json.dumps({"scripts": {"test": "vitest"}}),
                "my web/packages/ui/package.json": PACKAGE,
                "examples/demo/package.json": PACKAGE,
                "services/billing/tests/fixtures/package.json": PACKAGE,
            },
            made=("services/billing/.venv",),
        )
    )
    assert [(suite.title, suite.commands[0]) for suite in found] == [
        ("Node in my web/", "cd 'my web' && npm test"),
        (
            "Python in services/billing/",
            "cd services/billing && .venv/bin/python -m pytest",
        ),
    ]


def test_an_environment_at_the_top_is_there_for_all_projects_below() -> None:
    files = {"api/setup.py": "", "api/tests/test_a.py": TEST}
    files |= {"jobs/setup.py": "", "jobs/tests/test_a.py": TEST}
    found = look_at_project(seen(files, made=(".venv", "jobs/venv")))
    assert [suite.commands[0] for suite in found] == [
        "cd api && python -m pytest",
        "cd jobs && venv/bin/python -m pytest",
    ]
    assert all(suite.is_set_up for suite in found)


def test_a_program_that_only_the_caller_finds_is_named() -> None:
    files = {"package.json": PACKAGE, "pnpm-lock.yaml": ""}
    found = look_at_project(
        ProjectFiles(
            sorted(files),
            lambda path: files[path].encode(),
            programs=["python3"],
            elsewhere={"npm": "~/node/bin", "node": "~/node/bin"},
        )
    )
    assert [(suite.commands, suite.path) for suite in found] == [
        (("npm test", "pnpm test"), ("~/node/bin",))
    ]


def test_a_project_at_the_top_speaks_for_those_below_of_its_language() -> None:
    files = {"package.json": PACKAGE, "packages/a/package.json": PACKAGE}
    files |= {"api/pyproject.toml": PYPROJECT, "api/tests/test_a.py": TEST}
    titles = [suite.title for suite in look_at_project(seen(files))]
    assert titles == ["Node", "Python in api/"]


def test_a_makefile_is_asked_where_nothing_else_says_how() -> None:
    files = {"Makefile": "test:\n\tpytest\n", "pyproject.toml": PYPROJECT}
    assert [suite.language for suite in look_at_project(seen(files))] == ["make", "Python"]
    files["tests/test_a.py"] = TEST
    assert [suite.language for suite in look_at_project(seen(files))] == ["Python"]


@pytest.mark.parametrize(
    ("files", "work"),
    [
        (
            {"pyproject.toml": "", "src/x/__init__.py": "", "tests/test_a.py": ""},
            ("src/**", "tests/**"),
        ),
        ({"setup.py": "", "x/__init__.py": "", "x/test_a.py": ""}, ("x/**",)),
        ({"requirements.txt": "", "a.py": "", "test_a.py": ""}, ("*.py",)),
        ({"package.json": PACKAGE, "lib/a.js": "", "test/a.js": ""}, ("lib/**", "test/**")),
        ({"package.json": PACKAGE, "index.js": "", "test/a.js": ""}, ("*.js", "test/**")),
        ({"go.mod": "", "a.go": "", "b/b_test.go": ""}, ("b/**", "*.go")),
    ],
)
def test_what_work_on_it_touches_is_told_by_the_files(
    files: dict[str, str], work: tuple[str, ...]
) -> None:
    assert only(files).work == work
