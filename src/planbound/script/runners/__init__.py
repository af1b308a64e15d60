"""The test runners: one file holds all that is known of one.

How to add one, say `nextest`:

1. Write `nextest.py` here, with a `RUNNER = Runner(...)` at its end. `runner.py` says what each
   part of the row is for. `programs` alone is enough for its calls to be recognised; the rest is
   used where it is given:
   `words` (which words of a call are paths), `habits` (what it reads by itself: those are judges),
   `read` (its summary in an output), `canary` (failing tests that are added to its run), `naming`
   (a report with every test's name), `required` and `declared` (the tests that sources name).
2. Add it to `RUNNERS` below. That is all: the verifier, the judges, the canary, the count of tests
   and the messages go by that list.
3. Give `tests/judging/test_summary.py` an output that it really printed, and
   `tests/judging/test_canary.py` a project that it really runs.

A program of which no more is known than how it is called is a row of `others.py`. All of this is
text: nothing here reads files or starts anything. What JavaScript or Python runners have in common
stands in `javascript.py` and `python.py`; two formats that many can write are in `tap.py` and, for
JUnit's, in `runner.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planbound.script.runners import (
    cargo,
    ctest,
    go,
    jest,
    mocha,
    node,
    others,
    phpunit,
    pytest,
    rspec,
    tap,
    unittest,
    vitest,
)
from planbound.script.runners.runner import Language, Runner, Summary, added, printed_junit
from planbound.script.tree import Call, words
from planbound.source import lazy_pattern

RUNNERS: tuple[Runner, ...] = (
    pytest.RUNNER,
    unittest.RUNNER,
    go.RUNNER,
    cargo.RUNNER,
    vitest.RUNNER,
    jest.RUNNER,
    mocha.RUNNER,
    node.RUNNER,
    rspec.RUNNER,
    phpunit.RUNNER,
    ctest.RUNNER,
    *others.RUNNERS,
)
BY_PROGRAM = {program: runner for runner in RUNNERS for program in runner.programs}
BY_NAME = {runner.name: runner for runner in RUNNERS if runner.name}
"""By what their summaries are called: those of which most is known."""
MODULES = frozenset(module for runner in RUNNERS for module in runner.modules)
"""What runners are imported as."""
JAVASCRIPT = {each.programs[0]: each.javascript for each in RUNNERS if each.javascript is not None}
"""What is known of tests in JavaScript, by the runner's program."""
_READERS = (*(each.read for each in RUNNERS if each.read is not None), tap.read, printed_junit)

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
    """Return the runner that a call runs tests with, where it is known to."""
    runner = BY_PROGRAM.get(call.program)
    return runner if runner is not None and runner.runs_tests(call) else None


def is_named(call: Call) -> bool:
    """Say whether a call's program is a runner whose summary is read."""
    runner = BY_PROGRAM.get(call.program)
    return runner is not None and bool(runner.name)


def programs(*languages: Language) -> frozenset[str]:
    """Return the programs of the runners whose summaries are read, of these languages or of all."""
    return frozenset(
        program
        for runner in BY_NAME.values()
        if not languages or runner.language in languages
        for program in runner.programs
    )


def naming_runners() -> str:
    """Return the runners whose tests can be named, as a list in a sentence."""
    shown = [each.shown or each.programs[0] for each in RUNNERS if each.naming is not None]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


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


def required_tests(calls: Sequence[Call], judges: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the tests that a report of the calls has to name, as the judges declare them."""
    found = (each.reported.required(calls, judges) for each in RUNNERS if each.reported)
    return tuple(name for names in found for name in names)


def missing_tests(required: Sequence[str], passed: Sequence[str]) -> tuple[str, ...]:
    """Return the required tests that are not among those that passed, by any runner's names."""
    for runner in RUNNERS:
        if runner.reported is not None:
            required = runner.reported.missing(required, passed)
    return tuple(required)


_REDIRECTS = lazy_pattern(r"\A(?:[ \t]{0,20}(?:\d|&)?(?:>>?|<)&?[ \t]{0,20}[^\s;&|]{1,500})+")


def is_followed(text: str, call: Call) -> bool:
    """Say whether a script goes on after a call: what is there is not run when the call fails."""
    after = _REDIRECTS.sub("", text[call.end :], count=1)
    rest = (line.strip() for line in after.lstrip("; \t").split("\n"))
    return any(line and not line.startswith("#") for line in rest)


_ESCAPE = lazy_pattern(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)|[()][0-9A-B])"
)


def read_summary(text: str) -> Summary | None:
    """Return what the runners in an output say; None where no known runner speaks in it."""
    if not text.strip():
        return None  # as most commands that pass do: none of their patterns is compiled
    plain = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    found = {each.runner: each for reader in _READERS if (each := reader(plain)) is not None}
    if "node --test" in found:
        # Its output is in the format of TAP too.
        found.pop("tap", None)
    if len(found) > 1:
        # A report that a runner writes besides what it says.
        found.pop("junit", None)
    return added(" + ".join(found), found.values())
