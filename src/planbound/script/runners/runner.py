"""All that is known of one test runner, as a row; and how the words of a call are read with it."""

import enum
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from planbound.script.tree import Call, Word, words
from planbound.source import lazy_pattern

# -- what a failing test needs to be part of a contract's run ------------------------------------


# A product must not be able to tell an added test from others by how it is called.
_WORDS = sorted(
    words(
        "reads writes keeps takes finds sorts joins splits counts loads saves merges parses prints "
        "rounds shifts trims wraps folds lists"
    )
)


class Variable(NamedTuple):
    """A variable that is added to the environment of a run."""

    name: str
    value: str
    """`{workspace}` stands for the workspace's path."""
    between: str = ":"
    """It is a list: what the contract is given already stays, behind this sign."""


class Canary(NamedTuple):
    """Failing tests, as files and environment."""

    files: tuple[tuple[str, bytes], ...]
    """Path seen from the workspace root, and content."""
    names: tuple[str, ...]
    """The names of the failing tests: each has to be seen as failed."""
    environment: tuple[Variable, ...] = ()
    reports: str | None = None
    """Where the run writes a JUnit report, seen from the workspace root."""
    failing: str = "{name}"
    """An expression for how the output says that a test failed."""
    passing: str | None = None
    """An expression for how it says that one passed, where it names those too."""
    programs: tuple[tuple[str, bytes], ...] = ()
    """Files that can be executed."""
    marker: str = ""
    """Where the output is without this, the runner may have stopped at the first failure."""
    besides: tuple[str, ...] = ()
    """More expressions: how the runner says that the processes of the tests failed."""
    cut: str = ""
    """The program of which not all that it prints can be seen; empty: all can."""
    optional: bool = False
    """Whether it is perhaps not called at all, where what it prints is not seen."""

    def says_failed(self, name: str, text: str) -> bool:
        """Say whether an output shows that one of the tests failed."""
        return _says(self.failing, name, text)

    def says_passed(self, name: str, text: str) -> bool:
        """Say whether an output shows that one of the tests passed."""
        return self.passing is not None and _says(self.passing, name, text)


def _says(template: str, name: str, text: str) -> bool:
    return re.search(template.replace("{name}", re.escape(name)), text, re.MULTILINE) is not None


class JudgedTree(Struct, frozen=True):
    """The tree that a contract judges."""

    paths: Sequence[str]
    read: Callable[[str], bytes | None]
    nonce: str
    said: str | None = None
    """What the contract printed when it passed, without colours; None where nobody ran it."""

    @property
    def name(self) -> str:
        """Return the first of the names."""
        return self.called(0)

    def called(self, *what: object) -> str:
        """Return a name that nobody can guess, fit for an identifier; another one for each use."""
        made = hashlib.sha256(repr((self.nonce, *what)).encode()).hexdigest()
        return f"{_WORDS[int(made[:4], 16) % len(_WORDS)]}_{made[4:14]}"

    def several(self, count: int, *what: object) -> tuple[str, ...]:
        """Return so many names."""
        return tuple(self.called(*what, number) for number in range(count))

    def unequal(self, *what: object) -> tuple[int, int]:
        """Return two numbers that nobody can guess, and that are not the same."""
        made = hashlib.sha256(repr((self.nonce, "unequal", *what)).encode()).hexdigest()
        one = int(made[:4], 16) + 2
        return one, one + 1 + int(made[4:6], 16)

    def text(self, path: str) -> str | None:
        """Return a file's text."""
        data = self.read(path)
        return None if data is None else data.decode("utf-8", "replace")

    def below(self, directory: str) -> Iterable[str]:
        """Yield the paths in a directory, at any depth."""
        if not directory:
            return iter(self.paths)
        start = f"{directory}/"
        return (path for path in self.paths if path.startswith(start))

    def holds(self, directory: str) -> bool:
        """Say whether there is such a directory."""
        return any(True for _path in self.below(directory))


class RunnerCall(Struct, frozen=True):
    """The call that runs the tests, and where it runs."""

    call: Call
    directory: str
    text: str
    """The script that the call stands in."""
    is_cut: bool = False
    """Whether what it prints may not come out whole."""

    @property
    def prefix(self) -> str:
        """Return what stands in front of the program: assignments and wrappers."""
        end = self.call.word.start if self.call.word is not None else self.call.start
        return self.text[self.call.start : end]

    @property
    def around(self) -> str:
        """Return the script without the call."""
        return self.text[: self.call.start] + self.text[self.call.end :]

    def unknown(self, allowed: frozenset[str], valued: frozenset[str] = frozenset()) -> bool:
        """Say whether there are options that may change which tests run."""
        skip = False
        for word in self.call.arguments:
            value = word.value
            if skip:
                skip = False
            elif value is None:
                return True
            elif value[:1] == "-" and value != "-":
                option = value.partition("=")[0]
                if value in valued:
                    skip = True
                elif value not in allowed and option not in allowed | valued:
                    return True
        return False

    def is_quoted(self, operand: str) -> bool:
        """Say whether the shell leaves an operand as it is."""
        return any(
            word.value == operand and word.text[:1] in {"'", '"'} for word in self.call.arguments
        )

    def operands(self, valued: frozenset[str] = frozenset()) -> list[str]:
        """Return the words that are no options."""
        return [word.value or "" for word in self.call.operands(valued)]


def joined(directory: str, name: str) -> str:
    """Return the path of a file in a directory; the root is the empty one."""
    return f"{directory}/{name}" if directory else name


def parent(path: str) -> str:
    """Return the directory of a path."""
    return path.rpartition("/")[0]


def base(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


# -- what a test runner says of its own run ------------------------------------------------------


# More digits than this are no count of tests.
COUNT = "[0-9]{1,9}"
_PART = lazy_pattern(rf"({COUNT}) ([a-z]{{1,20}})")


class Summary(NamedTuple):
    """How many tests ran, and how they ended."""

    runner: str
    passed: int = 0
    failed: int = 0
    """Failures and errors together."""
    skipped: int = 0
    """Also what is pending, to do, or expected to fail."""
    deselected: int = 0

    @property
    def total(self) -> int:
        """Return how many tests there were, without those that were deselected."""
        return self.passed + self.failed + self.skipped


def added(runner: str, summaries: Iterable[Summary]) -> Summary | None:
    """Return several runs as one; None where there is none."""
    several = tuple(summaries)
    if not several:
        return None
    return Summary(
        runner,
        passed=sum(each.passed for each in several),
        failed=sum(each.failed for each in several),
        skipped=sum(each.skipped for each in several),
        deselected=sum(each.deselected for each in several),
    )


def counts(text: str) -> Mapping[str, int]:
    """Return the numbers of `1 failed, 2 passed`, by the word behind each."""
    return {word: int(count) for count, word in _PART.findall(text)}


def number(digits: str | None) -> int:
    """Return a count that may be missing."""
    return int(digits) if digits else 0


# -- reports in the format of JUnit, which most runners can write --------------------------------


_MOST = 16 * 1024 * 1024
_START = lazy_pattern(r"(?m)^[ \t]{0,40}(?:<\?xml [^<>\n]{0,200}\?>\s{0,40})?<testsuites?[\s/>]")
_EMPTY = lazy_pattern(r"<testsuites?(?:\s[^<>]{0,2000})?/>")


class ReportedOutcome(enum.Enum):
    """How one test of a report ended."""

    __hash__ = object.__hash__  # an enum's own is slow, and a suite may have many tests

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


_OUTCOMES = {
    "failure": ReportedOutcome.FAILED,
    "error": ReportedOutcome.FAILED,
    "skipped": ReportedOutcome.SKIPPED,
}


class ReportedTest(NamedTuple):
    """One test of a report."""

    id: str
    """`classname::name`."""
    outcome: ReportedOutcome


class _NoReportError(Exception):
    """The document is no report, or declares what a report has no need of."""


class _JUnitReader:
    """Collects the cases of a document while it is parsed."""

    def __init__(self) -> None:
        self.cases: list[ReportedTest] = []
        self.depth = 0
        self.inside = 0
        """How deep the present case stands; 0 outside of cases."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1 and tag not in {"testsuites", "testsuite"}:
            raise _NoReportError
        if tag == "testcase" and not self.inside:
            self.inside = self.depth
            name = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            self.cases.append(ReportedTest(name, ReportedOutcome.PASSED))
        elif self.inside and self.depth == self.inside + 1 and tag in _OUTCOMES:
            last = self.cases[-1]
            if last.outcome is not ReportedOutcome.FAILED:
                self.cases[-1] = last._replace(outcome=_OUTCOMES[tag])

    def end(self, _tag: str) -> None:
        if self.depth == self.inside:
            self.inside = 0
        self.depth -= 1


def read_junit(data: bytes) -> tuple[Summary, tuple[ReportedTest, ...]] | None:
    """Return what a report says; None where it is none, or is not safe to read."""
    from xml.parsers import expat  # noqa: PLC0415 - `verify` reads no report

    if len(data) > _MOST:
        return None
    reader = _JUnitReader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    # Entities can grow without end, and name files: whatever could declare them is refused.
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)  # noqa: FBT003 - takes no keywords
    except (expat.ExpatError, _NoReportError, ValueError, LookupError):
        return None
    return summary_of("junit", reader.cases), tuple(reader.cases)


def _refuse(*_declaration: object) -> None:
    raise _NoReportError


def summary_of(runner: str, cases: Sequence[ReportedTest]) -> Summary:
    """Return a report's numbers."""
    ends = Counter(case.outcome for case in cases)
    return Summary(
        runner,
        ends[ReportedOutcome.PASSED],
        ends[ReportedOutcome.FAILED],
        ends[ReportedOutcome.SKIPPED],
    )


def printed_junit(text: str) -> Summary | None:
    """Return what the reports in an output say."""
    if "<testsuite" not in text:
        return None
    starts = [match.start() for match in _START.finditer(text)]
    runs: list[Summary] = []
    covered = 0
    for index, start in enumerate(starts):
        if start < covered:
            continue
        end = _end(text, starts, index)
        covered = end
        report = read_junit(text[start:end].strip().encode("utf-8", "replace"))
        if report is not None:
            runs.append(report[0])
    return added("junit", runs)


def _end(text: str, starts: list[int], index: int) -> int:
    """Return where the report ends that starts there."""
    start = text.index("<testsuite", starts[index])
    if empty := _EMPTY.match(text, start):
        return empty.end()
    if text.startswith("<testsuites", start):
        closing = text.find("</testsuites>", start)
        return closing + len("</testsuites>") if closing >= 0 else len(text)
    following = starts[index + 1] if index + 1 < len(starts) else len(text)
    closing = text.rfind("</testsuite>", start, following)
    return closing + len("</testsuite>") if closing >= 0 else following


# -- all that is known of one test runner, as a row; and how the words of a call are read with it


_ASIDE = lazy_pattern(r"(?s)/\*.*?\*/|`[^`]*`")


class Language(enum.Enum):
    """What the tests of a runner are written in."""

    ANY = enum.auto()
    PYTHON = enum.auto()
    JAVASCRIPT = enum.auto()
    RUST = enum.auto()
    GO = enum.auto()
    RUBY = enum.auto()
    PHP = enum.auto()


class CallWords(Struct, frozen=True):
    """How a runner is called."""

    subcommand: str = ""
    """The word or option that makes it run tests."""
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
    configurations: frozenset[str] | None = None
    """Options before its settings, besides `--config` and its like; None: it takes none."""
    watches: bool = False
    """Whether it goes on for ever when it is told to watch."""
    asks: tuple[str, ...] = ()
    """Options with which it waits for a person."""
    once: frozenset[str] = frozenset()
    """It watches for changes unless one of these words is given; empty: it does not."""


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


class Naming(Struct, frozen=True):
    """How a runner is made to name every test, with how it ended."""

    make: Callable[[RunnerCall, JudgedTree], Canary | None]
    """What is laid into the tree and set in the environment; no test is added."""
    failing: frozenset[int] = frozenset({1})
    """How the command ends when tests failed, and nothing else went wrong."""
    read: Callable[[str], tuple[ReportedTest, ...]] | None = None
    """The tests that an output names; None: they stand in a report."""
    beside: bool = False
    """Whether the runner prints what it prints without a report."""
    apart: bool = False
    """Whether the report is written by a process without code under test."""


class RequiredTest(Struct, frozen=True):
    """A test that must have passed, as a frozen judge says."""

    path: str
    """The file that it stands in."""
    name: str
    """As the runner prints it."""
    passing: str
    """An expression for how the output says that it passed."""


class ReportedNames(Struct, frozen=True):
    """Which tests a report has to name, for runners that write one."""

    required: Callable[[Iterable[Call], Mapping[str, bytes]], tuple[str, ...]]
    """The tests that calls surely run, as the frozen judges declare them."""
    missing: Callable[[Sequence[str], Sequence[str]], tuple[str, ...]]
    """Those of them that are not among the tests that passed."""


class Declared(Struct, frozen=True):
    """How many tests a source declares."""

    endings: tuple[str, ...]
    """Of the files that may declare tests."""
    count: Callable[[bytes], int]
    anywhere: bool = False
    """Whether also a file whose name says nothing of tests may declare some."""


class JavaScriptTests(Struct, frozen=True):
    """What is known of tests in JavaScript under a runner that tells which of them runs."""

    modules: tuple[str, ...]
    """From where a file may import what adds tests: what comes from elsewhere is another's."""
    has_expect: bool = False
    """Whether it has an `expect` of its own, from the same modules or without an import."""
    one_by_one: bool = True
    """Whether no two tests of a file run at the same time."""


class Runner(Struct, frozen=True):
    """A test runner. Only the programs are needed; what is left out is not known."""

    programs: tuple[str, ...]
    """The programs that are it, the usual name first."""
    name: str = ""
    """What its summary is called; empty: it has none that is read."""
    shown: str = ""
    """How it is called in a hint; empty: as its first program."""
    language: Language = Language.ANY
    words: CallWords = CallWords()
    tested: Callable[[Call, CallWords], Iterator[tuple[Word, str]]] | None = None
    """The words that name what is tested, where they are not simply its operands."""
    versioned: bool = True
    """Whether it has a version of its own, which a verdict depends on."""
    proposed: str = ""
    """How it is called for a project that has it among its dependencies."""
    habits: Habits | None = None
    only_tests: bool = False
    """Whether its habits are those of its tests: without tests it is another program."""
    also_tests: frozenset[str] = frozenset()
    """Words that make it run tests with another summary, which is not read."""
    configured: Callable[[str, bytes], list[str]] | None = None
    """The directories of tests that its settings name, from a file's name and content."""
    plugin_options: frozenset[str] = frozenset()
    """Options behind which stands a module that it loads."""
    modules: tuple[str, ...] = ()
    """What it is imported as: one of that name in the workspace would stand in for it."""
    planted: tuple[str, ...] = ()
    """Settings that change what it runs as soon as they are there, at the root or among tests."""
    maskable: tuple[str, ...] = ()
    """Files that it passes by where something empty stands in for them."""
    loaded: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Names of files that take effect as soon as they are there, and why."""
    in_folder: bool = True
    """Whether a program of its name in a folder `bin` stands in for it."""
    caches: tuple[str, ...] = ()
    """Directories that it leaves behind to be faster next time."""
    failed: str = ""
    """An expression for the line by which it says at its end that tests failed."""
    read: Callable[[str], Summary | None] | None = None
    """Its summary, in an output."""
    canary: Callable[[RunnerCall, JudgedTree], Canary | None] | None = None
    """Failing tests that are added to its run."""
    naming: Naming | None = None
    silent: bool = False
    """Whether it surely does not name its tests."""
    reported: ReportedNames | None = None
    required: (
        Callable[[RunnerCall, JudgedTree, Mapping[str, bytes]], Iterator[RequiredTest]] | None
    ) = None
    """The tests that surely run, as the frozen judges declare them."""
    declared: Declared | None = None
    javascript: JavaScriptTests | None = None

    def runs_tests(self, call: Call) -> bool:
        """Say whether a call of one of its programs runs tests."""
        wanted = self.words.subcommand
        if wanted.startswith("-"):
            return call.has(wanted)
        return not wanted or wanted in call.values()


def tested_words(call: Call, runner: Runner) -> Iterator[tuple[Word, str]]:
    """Yield the words of a call that name what is tested, with the path in each."""
    given = runner.words
    if not given.paths:
        return
    if runner.tested is not None:
        yield from runner.tested(call, given)
        return
    for word, unsure in _operands(call, given):
        value = word.value
        if not value or value == given.subcommand:
            continue
        path = _without_node(value).removesuffix("/...")
        named = "." in path.rsplit("/", 1)[-1].lstrip(".")
        if named or ("/" in path and not given.patterns) or (given.bare and not unsure):
            yield word, path


def _operands(call: Call, given: CallWords) -> Iterator[tuple[Word, bool]]:
    """Yield the operands; with each, whether it may be the value of an unknown option."""
    skip = unsure = False
    for word in call.arguments:
        value = word.value or ""
        if skip:
            skip = unsure = False
        elif value.startswith("-") and value != "-":
            skip = value in given.valued
            unsure = "=" not in value and not _is_flag(value, given)
        else:
            yield word, unsure
            unsure = False


def _is_flag(value: str, given: CallWords) -> bool:
    if value.startswith("--"):
        return value in given.flags
    return all(f"-{letter}" in given.flags for letter in value[1:])


def _without_node(value: str) -> str:
    """Return the file of `tests/a.py::test_x` and `spec/a_spec.rb:12`."""
    return re.sub(r"::.*|:\d+(?::\d+)*$", "", value, flags=re.DOTALL)


def counted(pattern: re.Pattern[str]) -> Callable[[bytes], int]:
    """Return what counts how often an expression stands in a source."""
    return lambda data: len(pattern.findall(data.decode("utf-8", "replace")))


def names(text: str) -> tuple[str, ...]:
    """Return a list of names; `a.{b,c}` is `a.b` and `a.c`."""
    found: list[str] = []
    for word in text.split():
        start, brace, rest = word.partition("{")
        ends = rest.removesuffix("}").split(",") if brace else [""]
        found += [start + end for end in ends]
    return tuple(found)


def source_text(data: bytes) -> str:
    """Return a source without comments and longer texts: no test stands in there."""
    return _ASIDE.sub(_without, data.decode("utf-8", "replace"))


def _without(aside: re.Match[str]) -> str:
    # A name may stand in such quotes, on one line.
    return aside[0] if aside[0][0] == "`" and "\n" not in aside[0] else ""
