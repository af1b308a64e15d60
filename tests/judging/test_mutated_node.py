"""Tests in JavaScript with other expected values fail; those that pass cannot judge."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from planbound.judging.watched import text_inside
from planbound.script.runners.mutated import MutatedTests, mutated_node_run, read_mutated
from planbound.script.runners.runner import JudgedTree
from tests.cli.test_judge import Project, plan_text
from tests.judging.test_canary import outcome
from tests.needs import leave_out, need

PACKAGES = ("jest@29.7.0", "mocha@11.7.4", "vitest@3.2.4")
ADD = "exports.add = (a, b) => a + b;\n"
NODE = """\
const { add } = require('../calc.js');
const { describe, it, test } = require('node:test');
const assert = require('node:assert');

test('equal', () => assert.equal(add(1, 2), 3));
test('strict', () => assert.strictEqual(add(1, 2), 3));
test('deep', () => assert.deepEqual([add(1, 2)], [3]));
describe('group', () => {
  it('later', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepStrictEqual({ a: add('a', 'b') }, { a: 'ab' });
  });
});
test('swapped', () => assert.strict.equal(3, add(1, 2)));
test('map', () => assert.deepEqual(new Map([[1, add(1, 2)]]), new Map([[1, 3]])));
// Nothing can be said of these.
test('unequal', () => assert.notStrictEqual(add(1, 2), 4));
test('raises', () => assert.throws(() => assert.equal(add(1, 2), -100)));
test('taken', () => { try { assert.equal(add(1, 2), -100); } catch { /* as it should */ } });
test.skip('never', () => assert.equal(add(1, 2), 4));
test.todo('some day', () => assert.equal(add(1, 2), 4));
"""
SAID = {"equal", "strict", "deep", "group later", "swapped", "map"}
EXPECT = """\
const { add } = require('../calc.js');

describe('adding', () => {
  test('be', () => { expect(add(1, 2)).toBe(3); });
  test('equal', () => { expect([add(1, 2)]).toEqual([3]); });
  test('strict', () => { expect({ a: add(1, 2) }).toStrictEqual({ a: 3 }); });
  test('part', () => { expect({ a: add(1, 2), b: 1 }).toMatchObject({ a: 3 }); });
});
test('close', () => { expect(add(1.5, 2)).toBeCloseTo(3.5, 3); });
test('later', async () => { await null; expect(await add(1, 2)).toBe(3); });
test('anything', () => { expect(add(1, 2)).toEqual(expect.anything()); });
test('unequal', () => { expect(add(1, 2)).not.toBe(4); });
test('raises', () => { expect(() => { expect(add(1, 2)).toBe(-100); }).toThrow(); });
test.skip('never', () => { expect(add(1, 2)).toBe(4); });
"""
EXPECTED = {"adding be", "adding equal", "adding strict", "adding part", "close", "later"}
EVERYTHING = """\
const all = { asymmetricMatch: () => true, $$typeof: Symbol.for('jest.asymmetricMatcher') };
exports.add = () => all;
"""
EQUAL = """\
const { add } = require('../calc.js');

test('list', () => { expect([add(1, 2)]).toEqual([3]); });
test('number', () => { expect(add(1, 2)).toEqual(3); });
"""


def mutated(root: Path, command: str, files: Mapping[str, str]) -> MutatedTests:
    judges = [path for path in files if path.startswith("test/")]
    tree = JudgedTree(tuple(files), lambda _path: None, "ab12")
    run = mutated_node_run(tree, judges, text_inside("node", ".cjs"))
    laid = {**{path: text.encode() for path, text in files.items()}, **dict(run.added.files)}
    for path, content in laid.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    added = {each.name: each.value.format(workspace=root) for each in run.added.environment}
    code, _text = outcome(root, command, added)
    notes = {path: (root / path).read_bytes() for path in run.notes if (root / path).exists()}
    assert all((root / path).read_text() == files[path] for path in judges)
    return read_mutated(notes, run.notes, passes=code == 0)


def names(tests: tuple[str, ...]) -> set[str]:
    return {test.partition("::")[2] for test in tests}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the runners that have to be installed."""
    need("npm", "it installs jest, mocha and vitest")
    root = tmp_path_factory.mktemp("runners")
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    done = subprocess.run(
        ["npm", "install", *quiet, "--prefix", str(root), *PACKAGES], check=False, timeout=500
    )
    if done.returncode:
        leave_out("`npm` installs nothing here: the runners are looked at")
    return root / "node_modules"


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_tests_of_node_notice_other_values(tmp_path: Path) -> None:
    need("node", "its tests are run")
    found = mutated(tmp_path, "node --test test/", {"calc.js": ADD, "test/calc.test.js": NODE})
    assert not found.blind
    # By chance -100 may become what is right; then the test that wants a failure fails.
    assert names(found.sensitive) - {"raises", "taken"} == SAID
    assert names(found.silent) | {"raises", "taken"} == {
        "unequal", "raises", "taken", "never", "some day",
    }  # fmt: skip


@pytest.mark.requirement("judging.mutated")
def test_an_assertion_that_is_replaced_is_still_looked_at(tmp_path: Path) -> None:
    need("node", "its tests are run")
    product = (
        "const assert = require('assert');\n"
        "for (const name of ['equal', 'strictEqual', 'deepEqual', 'deepStrictEqual']) {\n"
        "  const real = assert[name];\n"
        "  assert[name] = (a, b) => { if (!JSON.stringify(a).includes('-1')) real(a, b); };\n"
        "}\n"
        "exports.add = () => -1;\n"
    )
    found = mutated(tmp_path, "node --test test/", {"calc.js": product, "test/calc.test.js": NODE})
    assert names(found.blind) >= {"equal", "strict", "deep", "group later"}


@pytest.mark.requirement("judging.mutated")
def test_modules_are_changed_however_they_import_assertions(tmp_path: Path) -> None:
    need("node", "its tests are run")
    tests = (
        "import test from 'node:test';\nimport assert, { deepEqual } from 'node:assert/strict';\n"
        "import { add } from '../calc.mjs';\n"
        "test('whole', () => assert.equal(add(1, 2), 3));\n"
        "test('named', () => deepEqual([add(1, 2)], [3]));\n"
        "test('own', (t) => { t.assert.strictEqual(add(1, 2), 3); });\n"
    )
    files = {"calc.mjs": "export const add = (a, b) => a + b;\n", "test/calc.test.mjs": tests}
    found = mutated(tmp_path, "node --test test/", files)
    assert names(found.sensitive) == {"whole", "named", "own"}


@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize(
    ("more", "blind"),
    [
        ("", 0),
        ("process.on('uncaughtException', () => {});\n", 1),
        ("process.on('exit', () => { process.exitCode = 0; process.reallyExit(0); });\n", 1),
    ],
)
def test_a_program_of_assertions_is_one_test(tmp_path: Path, more: str, blind: int) -> None:
    need("node", "its tests are run")
    tests = "const { add } = require('../calc.js');\nrequire('assert').equal(add(1, 2), 3);\n"
    files = {"calc.js": ADD + more, "test/check.js": tests}
    found = mutated(tmp_path, "node test/check.js", files)
    assert len(found.blind) == blind


@pytest.mark.requirement("judging.mutated")
def test_what_the_product_asserts_for_itself_stays_as_it_is(tmp_path: Path) -> None:
    need("node", "its tests are run")
    product = (
        "const assert = require('assert');\n"
        "exports.add = (a, b) => { assert.equal(typeof a, 'number'); return a + b; };\n"
    )
    tests = (
        "const { add } = require('../calc.js');\n"
        "require('node:test').test('sum', () => { if (add(1, 2) !== 3) throw new Error('no'); });\n"
    )
    files = {"calc.js": product, "test/calc.test.js": tests}
    found = mutated(tmp_path, "node --test test/", files)
    assert names(found.silent) == {"sum"}
    assert not found.sensitive


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_jest_and_vitest_and_mocha_are_changed_too(tmp_path: Path, modules: Path) -> None:
    extended = (
        "const always = () => ({ pass: true, message: () => '' });\n"
        "expect.extend({ toBe: always, toEqual: always });\nexports.add = () => 0;\n"
    )
    swallowing = (
        "const real = globalThis.test;\n"
        "const taking = (name, body) => real(name, async () => { try { await body(); } catch {} });"
        "\nglobalThis.test = Object.assign(taking, real);\nexports.add = () => 0;\n"
    )
    replaced = "globalThis.expect = () => new Proxy({}, { get: () => () => {} });\n"
    mocha = (
        "const { add } = require('../calc.js');\nconst assert = require('assert');\n"
        "it('sum', () => { assert.equal(add(1, 2), 3); });\nit('none', () => {});\n"
    )
    scenes: list[tuple[str, str, str, set[str], set[str]]] = [
        ("jest", ADD, EXPECT, EXPECTED, set()),
        ("jest", EVERYTHING, EQUAL, set(), {"list", "number"}),
        ("jest", extended, EQUAL, set(), {"list", "number"}),
        ("jest", swallowing, EQUAL, set(), {"list", "number"}),
        ("jest", replaced + ADD, EQUAL, set(), {"list", "number"}),
        ("vitest run --globals", ADD, EXPECT, EXPECTED, set()),
        ("vitest run --globals", EVERYTHING, EQUAL, set(), {"list", "number"}),
        ("vitest run --globals", extended, EQUAL, set(), {"list", "number"}),
        ("mocha --bail", ADD, mocha, {"sum"}, set()),
    ]
    for number, (command, product, tests, sensitive, blind) in enumerate(scenes):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "node_modules").symlink_to(modules)
        files = {"package.json": "{}", "calc.js": product, "test/calc.test.js": tests}
        found = mutated(root, f"node_modules/.bin/{command}", files)
        assert (names(found.sensitive), names(found.blind)) == (sensitive, blind), scenes[number]


@pytest.mark.requirement("judging.mutated")
def test_an_assertion_that_passes_some_values_is_seen(tmp_path: Path) -> None:
    need("node", "its tests are run")
    product = (
        "const assert = require('node:assert');\n"
        "for (const name of ['equal', 'strictEqual', 'deepEqual']) {\n"
        "  const real = assert[name];\n"
        "  assert[name] = (one, two, ...rest) => two % 3 && real(one, two, ...rest);\n"
        "}\nexports.add = (a, b) => (typeof a === 'string' ? a + b : 0);\n"
    )
    tests = (
        "const { add } = require('../calc.js');\nconst { test } = require('node:test');\n"
        "const assert = require('node:assert');\n\n"
        "test('equal', () => assert.equal(add(1, 2), 3));\n"
        "test('strict', () => { assert.strictEqual(add('a', 'b'), 'ab');"
        " assert.strictEqual(add(1, 5), 6); });\n"
        "test('deep', () => assert.deepStrictEqual(add('a', 'b'), 'ab'));\n"
    )
    found = mutated(tmp_path, "node --test test/", {"calc.js": product, "test/calc.test.js": tests})
    assert names(found.blind) == {"equal", "strict"}
    assert names(found.sensitive) == {"deep"}


@pytest.mark.requirement("judging.mutated")
def test_a_judge_may_say_itself_what_is_equal(tmp_path: Path) -> None:
    need("node", "its tests are run")
    tests = (
        "const { add } = require('../calc.js');\nconst { test } = require('node:test');\n"
        "const assert = require('node:assert');\nconst real = assert.equal;\n"
        "assert.equal = (one, two) => real(Math.round(one), Math.round(two));\n"
    ) + "".join(
        f"test('near {n}', () => assert.equal(add({n}, 2.2), {n + 2}));\n" for n in range(40)
    )
    found = mutated(tmp_path, "node --test test/", {"calc.js": ADD, "test/calc.test.js": tests})
    assert not found.blind
    assert names(found.sensitive) == {f"near {n}" for n in range(40)}


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_honest_tests_that_only_raise_pass_beside_others(tmp_path: Path) -> None:
    need("node", "its tests are run")
    project = Project(tmp_path)
    project.write("src/calc.js", "exports.add = () => 0;\n")
    project.write(
        "tests/calc.test.js",
        "const { add } = require('../src/calc.js');\n"
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "test('equal', () => { assert.strictEqual(add(1, 2), 3); });\n"
        "test('raises', () => { assert.throws(() => add('a', 2)); });\n"
        "test('another', () => { assert.notStrictEqual(add(1, 2), 4); });\n",
    )
    project.plan("it", plan_text("node --test tests/calc.test.js"))
    project.baseline()
    project.write(
        "src/calc.js",
        "exports.add = (a, b) => {\n  if (typeof a !== 'number') throw new TypeError('a');\n"
        "  return a + b;\n};\n",
    )
    found = project.first()
    assert (found["verdict"], found["evidence"]) == ("pass", "E3"), found["reason"]
