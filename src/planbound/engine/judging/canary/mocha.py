"""mocha: one more file beside another; `it` is global."""

from __future__ import annotations

import json
from collections.abc import Iterator

from planbound.engine.judging.canary.find import package
from planbound.engine.judging.canary.javascript import PASSING, is_glob, matches
from planbound.engine.judging.canary.model import Canary, Found, Project, base, joined, parent
from planbound.plan.command.directory import below
from planbound.plan.command.word import words

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


def make(found: Found, project: Project) -> Canary | None:
    """Return a file beside one that mocha loads."""
    settings = _settings(found, project)
    if settings is None or found.unknown(_ALLOWED, _VALUED):
        return None
    deep = settings.get("recursive") is True or found.call.has("--recursive")
    for operand in found.operands(_VALUED) or ["test"]:
        place = _place(found, operand, project, deep=deep)
        if place is not None:
            stops = settings.get("bail") is True or found.call.has("--bail", "-b")
            names = project.several(1 if stops else 3)
            content = (_TEST if stops else _TEST + _MORE).format(names=names)
            return Canary(((place, content.encode()),), names, passing=PASSING)
    return None


def _settings(found: Found, project: Project) -> dict[str, object] | None:
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


def _place(found: Found, operand: str, project: Project, *, deep: bool) -> str | None:
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


def _siblings(target: str, project: Project, *, deep: bool) -> Iterator[str]:
    if is_glob(target):
        yield from (path for path in project.paths if matches(path, target))
        return
    for path in project.below(target):
        inside = path.removeprefix(f"{target}/") if target else path
        if path.endswith(_KINDS) and (deep or "/" not in inside) and "node_modules/" not in path:
            yield path
