"""vitest: one more test file beside another."""

from __future__ import annotations

from planbound.engine.judging.canary.javascript import PASSING, beside, in_operands, says
from planbound.engine.judging.canary.model import Canary, Found, Project, joined
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_ALLOWED = words(
    "--run --coverage --silent --globals --passWithNoTests --no-color --color --bail --reporter "
    "--no-threads --no-file-parallelism --no-watch --isolate --no-isolate --update -u"
)
_VALUED = words("--reporter --environment --pool --outputFile --testTimeout --bail --maxWorkers")
_ENDS = words("js ts mjs cjs mts cts")
_CONFIGURATIONS = tuple(f"{name}.config.{end}" for name in ("vite", "vitest") for end in _ENDS)
_WORKSPACES = tuple(f"vitest.workspace.{end}" for end in (*_ENDS, "json"))
_CHOOSES = lazy_pattern(
    r"\b(?:include|exclude|dir|root|projects|workspace|testNamePattern|shard|mergeConfig)\b"
)
_COVERAGE = lazy_pattern(r"\bcoverage\s{0,20}:\s{0,20}\{[^{}]{0,2000}\}")
_TEST = """\
import {{ expect, test }} from 'vitest';

test('{names[0]}', () => {{
  throw new Error('{names[0]}');
}});
"""
_MORE = """
test('{names[1]}', () => {{
  expect(1).toBe(2);
}});

test('{names[2]}', () => {{
  expect([1]).toEqual([2]);
}});
"""


def make(found: Found, project: Project) -> Canary | None:
    """Return a file beside a test that vitest runs without being told."""
    operands = found.operands(_VALUED)
    if operands[:1] == ["run"]:
        operands = operands[1:]
    if found.unknown(_ALLOWED, _VALUED):
        return None
    if any(project.read(joined(found.directory, name)) is not None for name in _WORKSPACES):
        return None
    texts = [project.text(joined(found.directory, name)) for name in _CONFIGURATIONS]
    if says((_COVERAGE.sub("", text or "") for text in texts), _CHOOSES):
        return None
    sibling = in_operands(found, operands, project, _is_module)
    place = beside(sibling, project) if sibling is not None else None
    if place is None:
        return None
    # After so many failures it stops, and the configuration may say so too.
    stops = found.call.has("--bail") or any("bail" in (text or "") for text in texts)
    names = project.several(1 if stops else 3)
    content = (_TEST if stops else _TEST + _MORE).format(names=names)
    return Canary(((place, content.encode()),), names, passing=PASSING)


def _is_module(path: str) -> bool:
    return not path.endswith((".cjs", ".cts"))
