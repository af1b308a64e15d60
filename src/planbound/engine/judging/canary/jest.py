"""jest: one more test file beside another; `test` is global."""

from __future__ import annotations

import json

from planbound.engine.judging.canary.find import package
from planbound.engine.judging.canary.javascript import PASSING, beside, in_operands, says
from planbound.engine.judging.canary.model import Canary, Found, Project, joined
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_ALLOWED = words(
    "--ci --silent --verbose --coverage --runInBand -i --bail -b --no-cache --noCache --forceExit "
    "--detectOpenHandles --passWithNoTests --colors --no-coverage --maxWorkers "
    "-w --testTimeout --reporters --expand -e --logHeapUsage --color --no-color --json"
)
_VALUED = words("-w --maxWorkers --testTimeout --reporters --coverageReporters")
_CONFIGURATIONS = tuple(f"jest.config.{end}" for end in words("js ts mjs cjs json mts cts"))
_CHOOSES = lazy_pattern(
    r"\b(?:testMatch|testRegex|roots|rootDir|projects|testPathIgnorePatterns|injectGlobals|filter"
    r"|testNamePattern|shard)\b"
)
# What every version of jest takes for a test.
_KINDS = (".js", ".jsx", ".ts", ".tsx")
_TEST = """\
test('{names[0]}', () => {{
  throw new Error('{names[0]}');
}});

test('{names[1]}', () => {{
  expect(1).toBe(2);
}});

test('{names[2]}', () => {{
  expect([1]).toEqual([2]);
}});
"""


def make(found: Found, project: Project) -> Canary | None:
    """Return a file beside a test that jest runs without being told."""
    if found.unknown(_ALLOWED, _VALUED):
        return None
    texts = (project.text(joined(found.directory, name)) for name in _CONFIGURATIONS)
    own = json.dumps(package(project, found.directory).get("jest", {}))
    if says((*texts, own), _CHOOSES):
        return None
    sibling = in_operands(
        found, found.operands(_VALUED), project, lambda path: path.endswith(_KINDS)
    )
    place = beside(sibling, project) if sibling is not None else None
    if place is None:
        return None
    names = project.several(3)
    return Canary(((place, _TEST.format(names=names).encode()),), names, passing=PASSING)
