"""PHPUnit: one more test class."""

from __future__ import annotations

import re

from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Declared,
    Habits,
    JudgedTree,
    Language,
    Runner,
    RunnerCall,
    Summary,
    added,
    counted,
    joined,
    names,
    number,
)
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

# -- PHPUnit: one more test class ----------------------------------------------------------------


_ALLOWED = words(
    "--testdox --colors --no-coverage --stop-on-failure --stop-on-error --verbose -v --debug "
    "--fail-on-warning --fail-on-risky --no-progress --display-warnings --display-deprecations "
    "--no-interaction --do-not-cache-result"
)
_VALUED = words("--log-junit --bootstrap --coverage-text --coverage-clover --order-by")
_CONFIGURATIONS = ("phpunit.xml", "phpunit.dist.xml", "phpunit.xml.dist")
_SUITES = lazy_pattern(r"(?s)<testsuites>(.*?)</testsuites>")
_DIRECTORY = lazy_pattern(r"<directory>\s{0,100}([^<>*\s]{1,500})\s{0,100}</directory>")
_CHOOSES = lazy_pattern(r"<groups|defaultTestSuite|<exclude>")
_CLASS = """\
<?php

final class {name} extends \\PHPUnit\\Framework\\TestCase
{{
    public function {names[0]}(): void
    {{
        $this->fail('{names[0]}');
    }}
{more}}}
"""
_MORE = """
    public function {names[1]}(): void
    {{
        $this->assertSame(1, 2);
    }}

    public function {names[2]}(): void
    {{
        $this->assertTrue(false);
    }}
"""
_STOPS = lazy_pattern(r"stopOn\w+=\"true\"")


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return a class in a directory that is run."""
    if found.unknown(_ALLOWED, _VALUED):
        return None
    directory = _directory(found, project)
    if directory is None:
        return None
    stops = found.call.has("--stop-on-failure", "--stop-on-error") or _STOPS.search(
        _configuration(found, project)
    )
    name = f"{project.name.replace('_', '').capitalize()}Test"
    names = tuple(f"test_{each}" for each in project.several(1 if stops else 3, "phpunit"))
    more = "" if stops else _MORE.format(names=names)
    content = _CLASS.format(name=name, names=names, more=more).encode()
    return Canary(((joined(directory, f"{name}.php"), content),), names)


def _configuration(found: RunnerCall, project: JudgedTree) -> str:
    texts = (project.text(joined(found.directory, name)) for name in _CONFIGURATIONS)
    return next((text for text in texts if text is not None), "")


def _directory(found: RunnerCall, project: JudgedTree) -> str | None:
    configuration = _configuration(found, project)
    if _CHOOSES.search(configuration):
        return None
    operands = found.operands(_VALUED)
    suites = _SUITES.search(configuration)
    written = operands or (_DIRECTORY.findall(suites[1]) if suites else [])
    for each in written:
        directory = below(found.directory, each)
        if directory is not None and any(
            path.endswith("Test.php") for path in project.below(directory)
        ):
            return directory
    return None


# -- what PHPUnit says: `OK (2 tests, 2 assertions)`, or `Tests: 6, Assertions: 3, Errors: 1.` ---


_LAST = lazy_pattern(
    rf"^OK \(({COUNT}) tests?, {COUNT} assertions?\)$"
    rf"|^Tests: ({COUNT}), Assertions: ({COUNT})((?:, [A-Za-z ]{{1,40}}: {COUNT}){{0,12}})\.$"
    r"|^No tests executed!$",
    re.MULTILINE,
)
_PART = lazy_pattern(rf", ([A-Za-z ]{{1,40}}): ({COUNT})")


def read(text: str) -> Summary | None:
    """Return what PHPUnit says, all its runs together."""
    return added("phpunit", (_run(*found) for found in _LAST.findall(text)))


def _run(fine: str, tests: str, assertions: str, details: str) -> Summary:
    found = {name: int(count) for name, count in _PART.findall(details)}
    failed = found.get("Errors", 0) + found.get("Failures", 0)
    skipped = found.get("Skipped", 0) + found.get("Incomplete", 0)
    # Up to version 9 a class without tests is a test with a warning.
    empty = found.get("Warnings", 0) if not number(assertions) else 0
    passed = number(fine) or max(0, number(tests) - failed - skipped - empty)
    return Summary("phpunit", passed, failed, skipped)


RUNNER = Runner(
    programs=("phpunit",),
    name="phpunit",
    language=Language.PHP,
    words=CallWords(
        valued=words("-c --configuration --filter --testsuite --group --exclude-group --printer"),
        configurations=frozenset({"-c"}),
        watches=True,
    ),
    habits=Habits(
        names("phpunit.xml phpunit.xml.dist phpunit.dist.xml"), lazy_pattern(r"tests/.*")
    ),
    # Many projects have a `bin/phpunit` that came with their framework.
    in_folder=False,
    read=read,
    canary=make,
    silent=True,
    declared=Declared(
        (".php",),
        counted(lazy_pattern(r"\bfunction\s{1,9}test\w{0,200}\s{0,9}\(|#\[Test\]|@test\b")),
    ),
)
