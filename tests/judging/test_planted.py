"""Files that run by themselves are seen when they appear."""

from __future__ import annotations

from planbound.judging.protection import runs_by_itself
from tests.tables import one_fact


@one_fact(
    ("path", "word"),
    [
        ("conftest.py", "before the tests"),
        ("tests/auth/conftest.py", "before the tests"),
        ("src/sitecustomize.py", "every start"),
        ("evil.pth", "every start"),
        ("pytest.ini", "pytest"),
        ("tests/pyproject.toml", "pytest"),
        ("pytest.py", "in place of `pytest`"),
        ("pytest/__init__.py", "in place of `pytest`"),
        ("_pytest/__init__.py", "in place of `_pytest`"),
        ("src/coverage.py", "in place of `coverage`"),
        ("json.py", "own `json`"),
        ("src/random.py", "own `random`"),
        ("tests/auth/random.py", "own `random`"),
        ("json/__init__.py", "own `json`"),
        ("json.cpython-311-x86_64-linux-gnu.so", "own `json`"),
        ("app.pyc", "without a source"),
        (".git/hooks/pre-commit", "git runs it"),
        ("sub/.git/config", "git runs"),
        (".envrc", "direnv"),
        (".env", "environment"),
        (".npmrc", "npm"),
        (".yarnrc.yml", "yarn"),
        ("web/.mocharc.cjs", "mocha"),
        ("jest.config.ts", "jest"),
        ("vitest.workspace.ts", "vitest"),
        (".babelrc", "babel"),
        (".cargo/config.toml", "cargo"),
        ("build.rs", "cargo"),
        ("GNUmakefile", "instead of the Makefile"),
        (".bashrc", "shell"),
        (".gitattributes", "filters"),
        (".tool-versions", "tools"),
        ("rust-toolchain.toml", "Rust"),
        ("go.work", "modules"),
        ("node_modules/.bin/jest", "command"),
        ("bin/pytest", "in place of `pytest`"),
    ],
)
def test_a_file_that_runs_by_itself_is_told_with_a_reason(path: str, word: str) -> None:
    assert word in (runs_by_itself(path) or "")


@one_fact(
    "path",
    [
        "src/app/types.py",
        "src/app/json/__init__.py",
        "app/queue.py",
        "test/__init__.py",
        "tests/__init__.py",
        "tests/test_json.py",
        "tests/helpers/types.py",
        "src/app.py",
        "main.py",
        "Makefile",
        "package.json",
        "backend/pyproject.toml",
        ".git/hooks/pre-commit.sample",
        ".git/index",
        ".vscode/settings.json",
        "src/__pycache__/a.cpython-311.pyc",
        "bin/deploy",
        "home/.bashrc",
        ".gitignore",
        ".env.example",
        "docs/conftest.py.md",
        "src/native.so",
        "Cargo.toml",
    ],
)
def test_honest_files_are_left_alone(path: str) -> None:
    assert runs_by_itself(path) is None


def test_another_python_has_other_modules() -> None:
    assert runs_by_itself("tomllib.py", stdlib=frozenset()) is None
    assert runs_by_itself("zz.py", stdlib=frozenset({"zz"})) is not None
