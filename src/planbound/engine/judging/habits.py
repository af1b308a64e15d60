"""What test runners and tools read without being told: tests by their names, and settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from planbound.plan.command import Call
from planbound.plan.command.runner import runner_of
from planbound.source.pattern import lazy_pattern


class Habits(NamedTuple):
    """What a program reads by itself."""

    settings: tuple[str, ...] = ()
    """Names that it looks for where it runs, and above."""
    tests: re.Pattern[str] | None = None
    """Which paths below the place where it runs are tests."""
    chained: tuple[str, ...] = ()
    """Names that it looks for in every directory from the root to the tests."""
    folders: tuple[str, ...] = ()
    """Directories where it runs whose files it takes up."""


def _names(text: str) -> tuple[str, ...]:
    """Return a list of names; `a.{b,c}` is `a.b` and `a.c`."""
    found: list[str] = []
    for word in text.split():
        start, brace, rest = word.partition("{")
        ends = rest.removesuffix("}").split(",") if brace else [""]
        found += [start + end for end in ends]
    return tuple(found)


_PYTEST_SETTINGS = _names(
    "pytest.ini .pytest.ini pytest.toml .pytest.toml pyproject.toml tox.ini setup.cfg"
)
_PYTEST_TESTS = lazy_pattern(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py\Z|(?:.*/)?conftest\.py\Z")
_PYTEST = Habits(
    tests=_PYTEST_TESTS, chained=(*_PYTEST_SETTINGS, "conftest.py"), settings=_PYTEST_SETTINGS
)
_BABEL = _names(
    "babel.config.{js,cjs,mjs,json,ts} .babelrc .babelrc.{js,json,cjs,mjs} tsconfig.json "
    "package.json"
)
_SPECS = lazy_pattern(
    r"(?:.*/)?(?:__tests__|__snapshots__|__mocks__)/.*|(?:.*/)?[^/]*\.(?:test|spec)\.[^/]*\Z"
)
_TEST_OR_SPECS = lazy_pattern(
    r"tests?/.*|(?:.*/)?(?:__tests__|__snapshots__)/.*|(?:.*/)?[^/]*\.(?:test|spec)\.[^/]*\Z"
)
_JEST = Habits(
    settings=_names("jest.config.{js,ts,mjs,cjs,json} jest.setup.{js,ts}") + _BABEL,
    tests=_SPECS,
    folders=("__mocks__",),
)
_VITEST = Habits(
    settings=_names(
        "vitest.config.{ts,mts,cts,js,mjs,cjs} vitest.workspace.{ts,js,json} "
        "vite.config.{ts,mts,cts,js,mjs,cjs} tsconfig.json package.json"
    ),
    tests=_SPECS,
    folders=("__mocks__",),
)
_NPM = Habits(_names("package.json .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnpmfile.cjs"))
_MAKE = Habits(_names("GNUmakefile makefile Makefile"))
_JUST = Habits(_names("justfile .justfile Justfile"))
_IN_TEST = lazy_pattern(r"test/.*")
_IN_TESTS = lazy_pattern(r"tests/.*")
_IN_SPEC = lazy_pattern(r"spec/.*")
_PHPUNIT = Habits(_names("phpunit.xml phpunit.xml.dist phpunit.dist.xml"), _IN_TESTS)
_GO = Habits(
    _names("go.mod go.sum go.work"), lazy_pattern(r"(?:.*/)?(?:[^/]*_test\.go\Z|testdata/.*)")
)
_JVM = lazy_pattern(r"(?:.*/)?src/(?:test|integrationTest)/.*")
_GRADLE = Habits(
    _names("build.gradle{,.kts} settings.gradle{,.kts} gradle.properties"),
    _JVM,
)
_CMAKE = _names("CMakeLists.txt CMakePresets.json CMakeUserPresets.json CTestCustom.cmake")
# What cmake itself writes into such a folder it writes anew: these it does not.
BUILT_SETTINGS = ("CTestCustom.cmake", "CTestCustom.ctest")
_CTEST = Habits(_CMAKE, lazy_pattern(r"tests?/.*|(?:.*/)?CMakeLists\.txt\Z"))

_HABITS: dict[str, Habits] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "nosetests": _PYTEST,
    "tox": _PYTEST._replace(settings=(*_PYTEST_SETTINGS, "tox.toml")),
    "nox": _PYTEST._replace(settings=(*_PYTEST_SETTINGS, "noxfile.py")),
    "unittest": Habits(tests=lazy_pattern(r"(?:.*/)?test[^/]*\.py\Z")),
    "coverage": Habits(_names(".coveragerc pyproject.toml setup.cfg tox.ini")),
    "jest": _JEST,
    "vitest": _VITEST,
    "mocha": Habits(
        _names(".mocharc.{js,cjs,mjs,json,jsonc,yaml,yml} package.json test/mocha.opts"), _IN_TEST
    ),
    "ava": Habits(_names("ava.config.{js,cjs,mjs} package.json"), _TEST_OR_SPECS),
    "tap": Habits(_names(".taprc package.json"), _TEST_OR_SPECS),
    "jasmine": Habits(_names("jasmine.json spec/support/jasmine.{json,mjs}"), _IN_SPEC),
    "playwright": Habits(_names("playwright.config.{ts,js,mjs,cjs}"), _TEST_OR_SPECS),
    "cypress": Habits(_names("cypress.config.{ts,js,mjs,cjs}"), lazy_pattern(r"cypress/.*")),
    "karma": Habits(_names("karma.conf.{js,ts,cjs}"), _TEST_OR_SPECS),
    "node": Habits(
        ("package.json",),
        lazy_pattern(
            r"(?:.*/)?test/.*|"
            r"(?:.*/)?(?:[^/]+[._-]test|test(?:-[^/]+)?)\.(?:js|mjs|cjs|ts|mts|cts)\Z"
        ),
    ),
    "bun": Habits(_names("bunfig.toml package.json tsconfig.json"), _SPECS),
    "deno": Habits(_names("deno.json deno.jsonc"), lazy_pattern(r"(?:.*/)?[^/]*[._]test\.\w+\Z")),
    **dict.fromkeys(["npm", "pnpm", "yarn"], _NPM),
    **dict.fromkeys(["make", "gmake"], _MAKE),
    "just": _JUST,
    "rake": Habits(_names("rakefile Rakefile rakefile.rb Rakefile.rb"), _IN_TEST),
    "cargo": Habits(
        _names("Cargo.toml build.rs .cargo/config.toml .cargo/config rust-toolchain{,.toml}"),
        lazy_pattern(r"(?:.*/)?tests/.*|(?:.*/)?(?:Cargo\.toml|build\.rs)\Z"),
    ),
    "go": _GO,
    "gotestsum": _GO,
    "rspec": Habits(_names(".rspec .rspec-local"), _IN_SPEC),
    "phpunit": _PHPUNIT,
    "pest": _PHPUNIT,
    "ctest": _CTEST,
    "cmake": Habits(_CMAKE),
    "bats": Habits(tests=lazy_pattern(r"tests?/.*|(?:.*/)?[^/]*\.bats\Z")),
    "prove": Habits((".proverc",), lazy_pattern(r"t/.*")),
    "behave": Habits(_names("behave.ini .behaverc"), lazy_pattern(r"features/.*")),
    "busted": Habits((".busted",), _IN_SPEC),
    "mix": Habits(("mix.exs",), _IN_TEST),
    "dart": Habits(_names("pubspec.yaml dart_test.yaml"), _IN_TEST),
    "flutter": Habits(_names("pubspec.yaml dart_test.yaml"), _IN_TEST),
    "rails": Habits(tests=_IN_TEST),
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
    "mvn": Habits(_names("pom.xml .mvn/maven.config .mvn/jvm.config"), _JVM),
    "swift": Habits(("Package.swift",), lazy_pattern(r"Tests/.*")),
    "zig": Habits(("build.zig",), None),
    # Linters judge by their settings alone: what they are given is the work.
    "ruff": Habits(_names("ruff.toml .ruff.toml pyproject.toml")),
    "mypy": Habits(_names("mypy.ini .mypy.ini pyproject.toml setup.cfg")),
    "pyright": Habits(_names("pyrightconfig.json pyproject.toml")),
    "flake8": Habits(_names(".flake8 setup.cfg tox.ini")),
    "pylint": Habits(_names(".pylintrc pylintrc pyproject.toml setup.cfg")),
    "black": Habits(("pyproject.toml",)),
    "eslint": Habits(
        _names(
            "eslint.config.{js,mjs,cjs,ts} .eslintrc .eslintrc.{js,cjs,json,yml,yaml} .eslintignore"
        )
    ),
    "prettier": Habits(_names(".prettierrc .prettierrc.{js,json,yml,yaml} .prettierignore")),
    "tsc": Habits(("tsconfig.json",)),
    "shellcheck": Habits((".shellcheckrc",)),
    "golangci-lint": Habits(_names(".golangci.{yml,yaml,toml,json}")),
}


def habits_of(call: Call) -> Habits | None:
    """Return what the program of a call reads by itself; its tests only where it runs them."""
    habits = _HABITS.get(call.program)
    if habits is None:
        return None
    runs_tests = runner_of(call) is not None or "nextest" in call.values()
    if not runs_tests and call.program == "node":
        return None
    if call.has("--cov"):
        habits = habits._replace(settings=(*habits.settings, ".coveragerc"))
    return habits if runs_tests else habits._replace(tests=None)


def built_folders(call: Call) -> Iterator[str]:
    """Yield the folders that cmake builds in, and that ctest reads settings from."""
    if call.program not in {"cmake", "ctest"}:
        return
    for option, following in pairwise([*call.values(), ""]):
        name, given, value = option.partition("=")
        if name in {"--test-dir", "-B", "--build"} and (value if given else following):
            yield value if given else following
        elif name.startswith("-B") and len(name) > 2:
            yield name[2:]


def is_pytest(call: Call) -> bool:
    """Say whether a call runs pytest."""
    return call.program in {"pytest", "py.test"}
