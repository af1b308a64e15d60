"""Files that run by themselves: it is enough that they are there."""

from __future__ import annotations

import sys
from posixpath import basename, dirname

from planbound.engine.judging.places import SUPPORT
from planbound.source.pattern import lazy_pattern

_BEFORE_TESTS = "pytest loads it before the tests"
_AT_START = "Python runs it at every start"
_PYTEST_SETTINGS = frozenset(
    "pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml".split()
)
_RUNNERS = frozenset(
    "pytest _pytest pluggy iniconfig unittest coverage nose nose2 hypothesis pytest_cov xdist "
    "py tox nox mypy ruff".split()
)
_TESTS = frozenset("tests test".split())
_TOOLS = frozenset(
    "pytest py.test python python3 node make gmake git go cargo npm npx pnpm yarn bun deno ruby "
    "rspec php bash sh env uv poetry tox jest vitest mocha tsc java mvn gradle cmake ctest "
    "diff cmp grep test true false cat jq".split()
)

_BY_NAME = {
    "conftest.py": _BEFORE_TESTS,
    "sitecustomize.py": _AT_START,
    "usercustomize.py": _AT_START,
    ".envrc": "direnv runs it",
    ".env": "runners and plugins take their environment from it",
    ".npmrc": "npm takes its settings from it",
    ".pnp.cjs": "yarn loads it into every process",
    ".pnpmfile.cjs": "pnpm runs it",
    "build.rs": "cargo runs it before the build",
    "GNUmakefile": "make takes it instead of the Makefile",
    "makefile": "make takes it instead of the Makefile",
    ".gitattributes": "git runs the filters that it names",
    ".python-version": "it chooses another Python",
    ".tool-versions": "it chooses other tools",
    "go.work": "go takes modules from where it says",
    ".rspec": "rspec takes its options from it",
}
_AT_ROOT = {
    ".bashrc": "a shell runs it",
    ".bash_env": "a shell runs it",
    ".bash_profile": "a shell runs it",
    ".profile": "a shell runs it",
    ".zshenv": "a shell runs it",
}
_BY_PATTERN = (
    (lazy_pattern(r".*\.pth"), _AT_START),
    (lazy_pattern(r"entry_points\.txt"), "Python finds plugins by it"),
    (lazy_pattern(r"\.yarnrc.*"), "yarn takes its settings from it"),
    (lazy_pattern(r"\.mocharc.*"), "mocha takes its settings from it"),
    (lazy_pattern(r"jest\.config\..+"), "jest runs it before the tests"),
    (lazy_pattern(r"vitest\.(?:config|workspace)\..+"), "vitest runs it before the tests"),
    (lazy_pattern(r"babel\.config\..+|\.babelrc.*"), "babel rewrites the code as it says"),
    (lazy_pattern(r"rust-toolchain.*"), "it chooses another Rust"),
)
_EXTENSION_MODULE = lazy_pattern(r"(\w+)(?:\.[\w-]+)*\.(?:so|pyd)")


def runs_by_itself(path: str, *, stdlib: frozenset[str] = sys.stdlib_module_names) -> str | None:
    """Return why a file takes effect as soon as it is there, None where it does not."""
    name, folder = basename(path), dirname(path)
    if (reason := _BY_NAME.get(name)) is not None:
        return reason
    if not folder and name in _AT_ROOT:
        return _AT_ROOT[name]
    for pattern, why in _BY_PATTERN:
        if pattern.fullmatch(name):
            return why
    if name in _PYTEST_SETTINGS and (not folder or _among_tests(folder)):
        return "it changes what pytest runs"
    if name.endswith(".pyc") and basename(folder) != "__pycache__":
        return "Python imports it as a module without a source"
    return _by_place(path, name, folder) or _shadows(name, folder, stdlib)


def _by_place(path: str, name: str, folder: str) -> str | None:
    git = f"/{path}".partition("/.git/")[2]
    if git.startswith("hooks/") and not name.endswith(".sample"):
        return "git runs it"
    if git in {"config", "config.worktree"}:
        return "git runs what it names"
    if basename(folder) == ".cargo" and name.startswith("config"):
        return "cargo takes its settings from it"
    if folder.endswith("node_modules/.bin"):
        return "package scripts run it as a command"
    if basename(folder) in {"bin", ".bin"} and name in _TOOLS:
        return f"it runs in place of `{name}`"
    return None


def _shadows(name: str, folder: str, stdlib: frozenset[str]) -> str | None:
    """Say which module is imported from here instead, where imports start."""
    module = _module(name)
    if module == "__init__":
        # `json/__init__.py`: the package is named by its directory.
        module, folder = basename(folder), dirname(folder)
    # `test` is what half of all projects call their tests.
    if not module or module == "test" or not _imports_start(folder):
        return None
    if module in _RUNNERS:
        return f"it is imported in place of `{module}`, which runs the tests"
    if module in stdlib:
        return f"it is imported in place of Python's own `{module}`"
    return None


def _module(name: str) -> str | None:
    if name.endswith(".py"):
        return name.removesuffix(".py")
    compiled = _EXTENSION_MODULE.fullmatch(name)
    return compiled[1] if compiled else None


def _imports_start(folder: str) -> bool:
    return folder in {"", "src"} or (_among_tests(folder) and basename(folder) not in SUPPORT)


def _among_tests(folder: str) -> bool:
    return not _TESTS.isdisjoint(folder.split("/"))
