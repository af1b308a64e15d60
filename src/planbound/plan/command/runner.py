"""Test runners: which commands run tests, and which of their words are paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from planbound.plan.command.tree import Call, Word
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern


class Runner(NamedTuple):
    """How a test runner is called."""

    subcommand: str = ""
    """The word that makes it run tests."""
    valued: frozenset[str] = frozenset()
    """Options that take the next word."""
    bare: bool = False
    """Whether a word without `/` and extension is a path too."""
    paths: bool = True
    """Whether it is given paths at all."""
    patterns: bool = False
    """Whether its words are patterns: only what has an extension is surely a file."""
    flags: frozenset[str] = frozenset()
    """Options that surely take no word; a short one also in a cluster."""


_PYTEST = Runner(
    bare=True,
    valued=words(
        "-k -m -n -p -c -o -W -r --ignore --ignore-glob --deselect --rootdir --maxfail --tb "
        "--durations --junitxml --junit-xml --timeout --confcutdir --import-mode --log-level "
        "--color --dist --numprocesses --reruns --basetemp --cov --cov-report --cov-config "
        "--cov-fail-under --override-ini --html --config-file --capture --verbosity --seed"
    ),
    flags=words(
        "-q -v -x -s -l --quiet --verbose --exitfirst --lf --last-failed --ff --failed-first --nf "
        "--sw --stepwise --strict --strict-markers --strict-config --disable-warnings --no-header "
        "--no-summary --cache-clear --showlocals --no-cov --runxfail --collect-only --co"
    ),
)
_JAVASCRIPT = Runner(
    patterns=True,
    valued=words(
        "-t --testNamePattern --testPathPattern --testPathPatterns -c --config --reporter "
        "--reporters --project --outputFile --testTimeout -w --maxWorkers --coverage.reporter "
        "--environment --pool --root --dir --shard --env -r --grep -g --retries --workers"
    ),
)
_MOCHA = Runner(
    bare=True,
    valued=words(
        "-r --require -t --timeout -R --reporter -g --grep -f --fgrep --config --ui -u --file "
        "--extension --ignore --spec -s --slow --loader --import"
    ),
)
_NODE = Runner()
_RSPEC = Runner(
    valued=words("-e --example -t --tag -f --format -o --out -r --require -I -P --pattern -O")
)
_RUNNERS: dict[str, Runner] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": Runner(valued=words("-k -p -t --pattern --top-level-directory")),
    "jest": _JAVASCRIPT,
    "vitest": _JAVASCRIPT,
    "ava": _JAVASCRIPT,
    "tap": _JAVASCRIPT,
    "jasmine": _JAVASCRIPT,
    "playwright": Runner(subcommand="test", patterns=True, valued=_JAVASCRIPT.valued),
    "mocha": _MOCHA,
    "rspec": _RSPEC,
    "phpunit": Runner(
        valued=words("-c --configuration --filter --testsuite --group --exclude-group --printer")
    ),
    "pest": Runner(valued=words("-c --configuration --filter --testsuite --group")),
    "go": Runner(
        subcommand="test",
        valued=words("-run -bench -count -timeout -tags -coverprofile -cpu -parallel -skip -p"),
    ),
    "gotestsum": Runner(valued=words("-f --format --junitfile --jsonfile")),
    "deno": Runner(subcommand="test", valued=words("--filter --config -c --junit-path")),
    "bun": Runner(subcommand="test", patterns=True, valued=words("-t --timeout --preload")),
    "bats": Runner(bare=True, valued=words("-f --filter -j --jobs -F --formatter -o --output")),
    "prove": Runner(valued=words("-I -e --exec -j --jobs")),
    "nosetests": _PYTEST,
    "nose2": Runner(valued=words("-s -t -c --config")),
    "behave": Runner(valued=words("-t --tags -n --name -f --format -o --outfile -D")),
    "robot": Runner(valued=words("-d --outputdir -v --variable -i --include -e --exclude -t")),
    "shellspec": Runner(),
    "busted": Runner(valued=words("-p --pattern -t --tags -o")),
    "zig": Runner(subcommand="test"),
    "mix": Runner(subcommand="test", valued=words("--only --exclude --include --seed")),
    "dart": Runner(subcommand="test", valued=words("-n --name -r --reporter -t -p")),
    "flutter": Runner(subcommand="test", valued=words("--name --plain-name -t --tags")),
    "rails": Runner(subcommand="test", valued=words("-n --name -s --seed")),
    "dotnet": Runner(subcommand="test", valued=words("--filter -l --logger -c -f -o -s -r")),
    "trial": Runner(),
    **dict.fromkeys(
        words(
            "cargo swift cabal stack sbt lein bazel buck forge hardhat truffle anchor gradle "
            "gradlew ng nx turbo xcodebuild make just task rake composer"
        ),
        Runner(subcommand="test", paths=False),
    ),
    **dict.fromkeys(words("npm pnpm yarn"), Runner(subcommand="test", patterns=True)),
    **dict.fromkeys(
        words("tox nox karma cypress ginkgo ward green stestr testem tape newman k6 tsd mvn ctest"),
        Runner(paths=False),
    ),
}

# A target, a script or a file that says it: `make check`, `npm run test:unit`, `./ci.sh`.
_SAYS_SO = lazy_pattern(r"(?i)test|spec(?!ific)|check|verify|coverage|e2e|\bci\b|\bunit\b")
_NO_RUNNERS = words("""
    test [ [[ (( echo printf grep egrep fgrep rg ag cat ls find wc head tail sort uniq cut tr sed
    awk diff cmp stat file curl wget git cd mkdir rm cp mv touch export set jq yq true false : exit
    sleep kill read which type command pip pip3 apt apt-get ruff mypy flake8 pylint black
    isort eslint prettier tsc shellcheck pyright
    """)

# What these run is not said in the command.
_OPAQUE = words("""
    bash sh zsh dash ksh python pypy node ruby perl php lua docker podman kubectl ssh vagrant nix
    act source tsx ts-node
    """)
_PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn"})


def runner_of(call: Call) -> Runner | None:
    """Return how a call runs tests, where it is known to."""
    if call.program == "node":
        return _NODE if call.has("--test") else None
    runner = _RUNNERS.get(call.program)
    if runner is None or not runner.subcommand:
        return runner
    return runner if runner.subcommand in call.values() else None


def may_run_tests(call: Call) -> bool:
    """Say whether a call runs tests, or says that it does."""
    if call.name is None:
        # Either the shell puts the program in, or there is none.
        return call.word is not None
    if runner_of(call) is not None:
        return True
    if call.program in _NO_RUNNERS or call.body is not None:
        return False
    if "/" in call.name or call.program in _OPAQUE:
        return True
    if call.program in _PACKAGE_MANAGERS and not {"run", "run-script"} & {*call.values()}:
        return False
    return any(_SAYS_SO.search(value) for value in (call.name, *call.values()))


def tested_words(call: Call, runner: Runner) -> Iterator[tuple[Word, str]]:
    """Yield the words of a call that name what is tested, with the path in each."""
    if not runner.paths:
        return
    if call.program == "unittest":
        yield from _unittest(call, runner)
        return
    for word, unsure in _operands(call, runner):
        value = word.value
        if not value or value == runner.subcommand:
            continue
        path = _without_node(value).removesuffix("/...")
        named = "." in path.rsplit("/", 1)[-1].lstrip(".")
        if named or ("/" in path and not runner.patterns) or (runner.bare and not unsure):
            yield word, path


def _operands(call: Call, runner: Runner) -> Iterator[tuple[Word, bool]]:
    """Yield the operands; with each, whether it may be the value of an unknown option."""
    skip = unsure = False
    for word in call.arguments:
        value = word.value or ""
        if skip:
            skip = unsure = False
        elif value.startswith("-") and value != "-":
            skip = value in runner.valued
            unsure = "=" not in value and not _is_flag(value, runner)
        else:
            yield word, unsure
            unsure = False


def _is_flag(value: str, runner: Runner) -> bool:
    if value.startswith("--"):
        return value in runner.flags
    return all(f"-{letter}" in runner.flags for letter in value[1:])


def _without_node(value: str) -> str:
    """Return the file of `tests/a.py::test_x` and `spec/a_spec.rb:12`."""
    return re.sub(r"::.*|:\d+(?::\d+)*$", "", value, flags=re.DOTALL)


def _unittest(call: Call, runner: Runner) -> Iterator[tuple[Word, str]]:
    values = call.values()
    if "discover" in values:
        for option, following in pairwise(call.arguments):
            directory = following.value or "-"
            if option.value in {"-s", "--start-directory", "discover"} and directory[0] != "-":
                yield following, directory
        return
    for word in call.operands(runner.valued):
        value = word.value or ""
        if "/" in value or value.endswith(".py"):
            yield word, value
        elif path := _module_path(value):
            yield word, path


def _module_path(name: str) -> str | None:
    """Return the file of `tests.test_login.LoginTest`, where it can be told."""
    parts = name.split(".")
    for index, part in enumerate(parts):
        if not part.isidentifier():
            return None
        if part.startswith("test_") or part.endswith(("_test", "_tests")):
            return "/".join(parts[: index + 1]) + ".py"
    return None


_REDIRECTS = lazy_pattern(r"\A(?:[ \t]{0,20}(?:\d|&)?(?:>>?|<)&?[ \t]{0,20}[^\s;&|]{1,500})+")


def is_followed(text: str, call: Call) -> bool:
    """Say whether a script goes on after a call: what is there is not run when the call fails."""
    after = _REDIRECTS.sub("", text[call.end :], count=1)
    rest = (line.strip() for line in after.lstrip("; \t").split("\n"))
    return any(line and not line.startswith("#") for line in rest)
