"""PHPUnit: one more test class."""

from __future__ import annotations

from planbound.engine.judging.canary.model import Canary, Found, Project, joined
from planbound.plan.command.directory import below
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

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


def make(found: Found, project: Project) -> Canary | None:
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


def _configuration(found: Found, project: Project) -> str:
    texts = (project.text(joined(found.directory, name)) for name in _CONFIGURATIONS)
    return next((text for text in texts if text is not None), "")


def _directory(found: Found, project: Project) -> str | None:
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
