"""mocha: one more file beside another; `it` is global."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from planbound.script.runners.javascript import (
    DECLARED,
    PASSING,
    adding_word,
    is_glob,
    matches,
    named_by,
    package,
)
from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Habits,
    JavaScriptTests,
    JudgedTree,
    Language,
    Runner,
    RunnerCall,
    Summary,
    added,
    base,
    joined,
    names,
    number,
    parent,
)
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

# -- mocha: one more file beside another; `it` is global -----------------------------------------


_ALLOWED = words(
    "--recursive --exit --bail -b --color --colors --no-color -c --parallel -p --check-leaks "
    "--full-trace --forbid-only --forbid-pending --timeout --reporter --require --no-timeouts"
)
_VALUED = words("-r --require -t --timeout -R --reporter --slow -s --import --loader --retries")
# As in a configuration file.
_HARMLESS = words(
    "require timeout reporter slow exit bail color colors recursive parallel jobs retries import "
    "loader check-leaks full-trace forbid-only forbid-pending $schema node-option"
)
_UNREAD = tuple(f".mocharc.{end}" for end in words("js cjs mjs yml yaml jsonc"))
_KINDS = (".js", ".cjs", ".mjs")
_MODULES = ("mocha",)
# Whether the file is a module is not sure: both kinds can import like this.
_TEST = """\
it('{names[0]}', () => {{
  throw new Error('{names[0]}');
}});
"""
_MORE = """
it('{names[1]}', async () => {{
  (await import('assert')).default.strictEqual(1, 2);
}});

it('{names[2]}', async () => {{
  (await import('assert')).default.ok(false);
}});
"""


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return a file beside one that mocha loads, or the one that it is told to load, with more."""
    settings = _settings(found, project)
    if settings is None or found.unknown(_ALLOWED, _VALUED):
        return None
    deep = settings.get("recursive") is True or found.call.has("--recursive")
    for operand in found.operands(_VALUED) or ["test"]:
        target = below(found.directory, operand)
        before = project.read(target) if target else None
        if before is not None:
            # Other files are not loaded where this one is named.
            place = target if target and _can_grow(target, before) else None
        else:
            place = _place(found, operand, project, deep=deep)
        if place is not None:
            stops = settings.get("bail") is True or found.call.has("--bail", "-b")
            names = project.several(1 if stops else 3)
            content = (_TEST if stops else _TEST + _MORE).format(names=names)
            whole = (before + b"\n;" if before is not None else b"") + content.encode()
            return Canary(((place, whole),), names, passing=PASSING)
    return None


def _can_grow(path: str, before: bytes) -> bool:
    source = before.decode("utf-8", "replace")
    return path.endswith(_KINDS) and adding_word(source, _MODULES) == "it"


def _settings(found: RunnerCall, project: JudgedTree) -> dict[str, object] | None:
    """Return what is configured; None where it may choose among the files or tests."""
    if any(project.read(joined(found.directory, name)) is not None for name in _UNREAD):
        return None
    settings = package(project, found.directory).get("mocha", {})
    data = project.read(joined(found.directory, ".mocharc.json"))
    if data is not None:
        try:
            settings = json.loads(data)
        except (ValueError, RecursionError):
            return None
    if not isinstance(settings, dict) or not settings.keys() <= _HARMLESS:
        return None
    return settings


def _place(found: RunnerCall, operand: str, project: JudgedTree, *, deep: bool) -> str | None:
    """Return a place that an operand reaches: a directory, or a glob that matches it."""
    target = below(found.directory, operand)
    if target is None:
        return None
    # A shell's `**` is `*`: where the shell reads it, it stands for one level.
    plain = target if found.is_quoted(operand) else target.replace("**/", "*/")
    for sibling in _siblings(plain, project, deep=deep):
        kind = "." + base(sibling).partition(".")[2]
        place = joined(parent(sibling), f"{project.name}{kind}")
        if not is_glob(plain) or matches(place, plain):
            return place
    return None


def _siblings(target: str, project: JudgedTree, *, deep: bool) -> Iterator[str]:
    if is_glob(target):
        yield from (path for path in project.paths if matches(path, target))
        return
    for path in project.below(target):
        inside = path.removeprefix(f"{target}/") if target else path
        if path.endswith(_KINDS) and (deep or "/" not in inside) and "node_modules/" not in path:
            yield path


# -- what mocha says: `2 passing (3ms)`, then what is pending and what fails ---------------------


_LAST = lazy_pattern(
    rf"^  ({COUNT}) passing \([0-9]{{1,9}}(?:ms|s|m|h)\)$"
    rf"(?:\n  ({COUNT}) pending$)?(?:\n  ({COUNT}) failing$)?",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what mocha says, all its runs together."""
    runs = (
        Summary("mocha", int(passed), number(failed), number(pending))
        for passed, pending, failed in _LAST.findall(text)
    )
    return added("mocha", runs)


RUNNER = Runner(
    programs=("mocha",),
    name="mocha",
    language=Language.JAVASCRIPT,
    words=CallWords(
        bare=True,
        valued=words(
            "-r --require -t --timeout -R --reporter -g --grep -f --fgrep --config --ui -u --file "
            "--extension --ignore --spec -s --slow --loader --import"
        ),
        configurations=frozenset(),
        watches=True,
    ),
    proposed="mocha",
    habits=Habits(
        names(".mocharc.{js,cjs,mjs,json,jsonc,yaml,yml} package.json test/mocha.opts"),
        lazy_pattern(r"test/.*"),
    ),
    loaded=((lazy_pattern(r"\.mocharc.*"), "mocha takes its settings from it"),),
    failed=r"\d{1,9} failing$",
    read=read,
    canary=make,
    # It ends with the number of the tests that failed.
    naming=named_by(
        "--reporter", "json", "--reporter-option", "output=FOUND", failing=range(1, 100)
    ),
    declared=DECLARED,
    javascript=JavaScriptTests(_MODULES),
)
