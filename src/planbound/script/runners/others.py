"""Programs that run tests, and of which little more is known than how they are called."""

from __future__ import annotations

from msgspec.structs import replace

from planbound.script.runners import go, phpunit, pytest
from planbound.script.runners.javascript import SPECS, TEST_OR_SPECS, WORDS
from planbound.script.runners.runner import (
    CallWords,
    Declared,
    Habits,
    Language,
    Runner,
    counted,
    names,
)
from planbound.script.tree import words
from planbound.source import lazy_pattern

_IN_TEST = lazy_pattern(r"test/.*")
_IN_SPEC = lazy_pattern(r"spec/.*")
_JVM = lazy_pattern(r"(?:.*/)?src/(?:test|integrationTest)/.*")
_GRADLE = Habits(names("build.gradle{,.kts} settings.gradle{,.kts} gradle.properties"), _JVM)
_PYTEST = pytest.RUNNER.habits or Habits()


def _javascript(
    program: str, habits: Habits, given: CallWords = WORDS, proposed: str = ""
) -> Runner:
    return Runner(
        (program,),
        language=Language.JAVASCRIPT,
        words=given,
        habits=habits,
        proposed=proposed,
        silent=True,
    )


RUNNERS: tuple[Runner, ...] = (
    _javascript(
        "ava",
        Habits(names("ava.config.{js,cjs,mjs} package.json"), TEST_OR_SPECS),
        replace(WORDS, configurations=frozenset()),
        proposed="ava",
    ),
    _javascript("tap", Habits(names(".taprc package.json"), TEST_OR_SPECS), proposed="tap"),
    _javascript("jasmine", Habits(names("jasmine.json spec/support/jasmine.{json,mjs}"), _IN_SPEC)),
    _javascript(
        "playwright",
        Habits(names("playwright.config.{ts,js,mjs,cjs}"), TEST_OR_SPECS),
        replace(WORDS, subcommand="test", configurations=frozenset({"-c"})),
    ),
    _javascript(
        "cypress",
        Habits(names("cypress.config.{ts,js,mjs,cjs}"), lazy_pattern(r"cypress/.*")),
        CallWords(paths=False, watches=True),
    ),
    _javascript(
        "karma",
        Habits(names("karma.conf.{js,ts,cjs}"), TEST_OR_SPECS),
        CallWords(paths=False, configurations=frozenset(), watches=True),
    ),
    Runner(
        ("pest",),
        words=CallWords(valued=words("-c --configuration --filter --testsuite --group")),
        habits=phpunit.RUNNER.habits,
        silent=True,
    ),
    Runner(
        ("gotestsum",),
        words=CallWords(valued=words("-f --format --junitfile --jsonfile")),
        habits=go.RUNNER.habits,
    ),
    Runner(
        ("deno",),
        words=CallWords(
            subcommand="test",
            valued=words("--filter --config -c --junit-path"),
            configurations=frozenset(),
            watches=True,
        ),
        habits=Habits(names("deno.json deno.jsonc"), lazy_pattern(r"(?:.*/)?[^/]*[._]test\.\w+\Z")),
    ),
    Runner(
        ("bun",),
        words=CallWords(
            subcommand="test",
            patterns=True,
            valued=words("-t --timeout --preload"),
            watches=True,
        ),
        habits=Habits(names("bunfig.toml package.json tsconfig.json"), SPECS),
    ),
    Runner(
        ("bats",),
        words=CallWords(
            bare=True, valued=words("-f --filter -j --jobs -F --formatter -o --output")
        ),
        habits=Habits(tests=lazy_pattern(r"tests?/.*|(?:.*/)?[^/]*\.bats\Z")),
        silent=True,
        declared=Declared(
            (".bats",), counted(lazy_pattern(r"(?m)^\s{0,40}@test\s")), anywhere=True
        ),
    ),
    Runner(
        ("prove",),
        words=CallWords(valued=words("-I -e --exec -j --jobs")),
        habits=Habits((".proverc",), lazy_pattern(r"t/.*")),
        silent=True,
    ),
    Runner(("nosetests",), words=pytest.RUNNER.words, habits=_PYTEST, modules=("nose",)),
    Runner(
        ("nose2",),
        modules=("nose2",),
        words=CallWords(valued=words("-s -t -c --config"), configurations=frozenset({"-c"})),
    ),
    Runner(
        ("tox",),
        modules=("tox",),
        words=CallWords(paths=False, configurations=frozenset({"-c"})),
        habits=_PYTEST._replace(settings=(*_PYTEST.settings, "tox.toml")),
    ),
    Runner(
        ("nox",),
        modules=("nox",),
        words=CallWords(paths=False, configurations=frozenset({"-f"})),
        habits=_PYTEST._replace(settings=(*_PYTEST.settings, "noxfile.py")),
    ),
    Runner(
        ("behave",),
        words=CallWords(valued=words("-t --tags -n --name -f --format -o --outfile -D")),
        habits=Habits(names("behave.ini .behaverc"), lazy_pattern(r"features/.*")),
        silent=True,
    ),
    Runner(
        ("robot",),
        words=CallWords(valued=words("-d --outputdir -v --variable -i --include -e --exclude -t")),
    ),
    Runner(("shellspec", "trial")),
    Runner(
        ("busted",),
        words=CallWords(valued=words("-p --pattern -t --tags -o")),
        habits=Habits((".busted",), _IN_SPEC),
        silent=True,
    ),
    Runner(("zig",), words=CallWords(subcommand="test"), habits=Habits(("build.zig",))),
    Runner(
        ("mix",),
        words=CallWords(subcommand="test", valued=words("--only --exclude --include --seed")),
        habits=Habits(("mix.exs",), _IN_TEST),
    ),
    Runner(
        ("dart",),
        words=CallWords(subcommand="test", valued=words("-n --name -r --reporter -t -p")),
        habits=Habits(names("pubspec.yaml dart_test.yaml"), _IN_TEST),
    ),
    Runner(
        ("flutter",),
        words=CallWords(subcommand="test", valued=words("--name --plain-name -t --tags")),
        habits=Habits(names("pubspec.yaml dart_test.yaml"), _IN_TEST),
    ),
    Runner(
        ("rails",),
        words=CallWords(subcommand="test", valued=words("-n --name -s --seed")),
        habits=Habits(tests=_IN_TEST),
    ),
    Runner(
        ("dotnet",),
        words=CallWords(subcommand="test", valued=words("--filter -l --logger -c -f -o -s -r")),
    ),
    Runner(("gradle", "gradlew"), words=CallWords(subcommand="test", paths=False), habits=_GRADLE),
    Runner(
        ("mvn",),
        words=CallWords(paths=False),
        habits=Habits(names("pom.xml .mvn/maven.config .mvn/jvm.config"), _JVM),
    ),
    Runner(
        ("swift",),
        words=CallWords(subcommand="test", paths=False),
        habits=Habits(("Package.swift",), lazy_pattern(r"Tests/.*")),
    ),
    Runner(
        ("rake",),
        words=CallWords(subcommand="test", paths=False),
        habits=Habits(names("rakefile Rakefile rakefile.rb Rakefile.rb"), _IN_TEST),
    ),
    Runner(
        ("npm", "pnpm", "yarn"),
        words=CallWords(subcommand="test", patterns=True),
        habits=Habits(names("package.json .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnpmfile.cjs")),
    ),
    Runner(
        ("make",),
        words=CallWords(subcommand="test", paths=False, configurations=frozenset({"-f"})),
        habits=Habits(names("GNUmakefile makefile Makefile")),
    ),
    Runner(
        ("just",),
        words=CallWords(subcommand="test", paths=False, configurations=frozenset({"-f"})),
        habits=Habits(names("justfile .justfile Justfile")),
    ),
    Runner(
        names(
            "cabal stack sbt lein bazel buck forge hardhat truffle anchor ng nx turbo xcodebuild "
            "task composer"
        ),
        words=CallWords(subcommand="test", paths=False),
    ),
    Runner(
        names("ginkgo ward green stestr testem tape newman k6 tsd"), words=CallWords(paths=False)
    ),
)
