"""What the text of a judge in JavaScript says, and how it is told with other values."""

from __future__ import annotations

import random
import re

import pytest

from planbound.judging.javascript import RetoldScript, answered, retell_script, sure_tests

ASSERT = "const test = require('node:test');\nconst assert = require('node:assert');\n"


def sure(body: str) -> list[str]:
    return [test.name for test in sure_tests((ASSERT + body).encode(), has_expect=True)]


def at_once(body: str) -> bool:
    (found,) = sure_tests((ASSERT + body).encode(), has_expect=True)
    return found.is_at_once


def retold(text: str) -> RetoldScript | None:
    return retell_script((ASSERT + text).encode(), random.Random(7))


@pytest.mark.parametrize(
    "body",
    [
        "test('a', () => assert.equal(f(1), 2));",
        "test('a', () => { assert.equal(f(1), 2); });",
        "test('a', function () {\n  const x = f(1)\n  assert.ok(x)\n})",
        "test('a', (t) => {\n  for (const x of xs) { g(x); }\n  assert.throws(() => f());\n});",
        "test('a', async () => { await assert.rejects(f(1)); }, 1000);",
        "test(`a`, (t, done) => { const r = /[/']/u; assert.match(f(`${g('`')}`), r); done(); });",
        "test('a', () => { expect(f(1)).not.toBe(2); });",
        "test('a', () => { const g = (x) => { return x; }; assert.equal(g(f(1)), 2); });",
        "test('a', () => { const y = xs.map(function (x) { return x; }); assert.ok(f(y)); });",
        "// it's\ntest('a', () => { /* { */ const x = 6 / 2 / 1; assert.equal(x, 3); });",
    ],
)
def test_a_test_that_comes_to_an_assertion_is_known(body: str) -> None:
    assert sure(body) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        "test('a', () => { if (x) assert.equal(f(1), 2); });",
        "test('a', () => {\n  if (x)\n    assert.equal(f(1), 2)\n});",
        "test('a', () => {\n  if (x) { return; }\n  assert.equal(f(1), 2);\n});",
        "test('a', (t) => { t.skip(); assert.equal(f(1), 2); });",
        "test('a', () => { for (const x of xs) assert.equal(f(x), 2); });",
        "test('a', () => { helper(() => { assert.equal(f(1), 2); }); });",
        "test('a', () => { x && assert.equal(f(1), 2); });",
        "test('a', { todo: true }, () => { assert.equal(f(1), 2); });",
        "test.skip('a', () => { assert.equal(f(1), 2); });",
        "test.each([1])('a', (x) => { assert.equal(f(x), 2); });",
        "test(`a ${x}`, () => { assert.equal(f(1), 2); });",
        "test('it\\'s', () => { assert.equal(f(1), 2); });",
        "describe(`${x}`, () => { test('a', () => { assert.equal(f(1), 2); }); });",
        "describe.each([1])('%s', (x) => { test('a', () => { assert.equal(f(1), 2); }); });",
        "for (const x of xs) test('a', check(x));\ntest('a', () => { assert.equal(f(1), 2); });",
        "const it = wrap();\nit('a', () => { assert.equal(f(1), 2); });",
        "import { it } from './helper.js';\nit('a', () => { assert.equal(f(1), 2); });",
        "assert.equal = near;\ntest('a', () => { assert.equal(f(1), 2); });",
        "test('a', () => { assert.equal(f(1), 2); ",
        "test('a', () => { const x = <p>don't</p>; assert.equal(x, 2); });",
    ],
)
def test_of_others_nothing_is_said(body: str) -> None:
    assert sure(body) == []


def test_a_program_has_no_name() -> None:
    assert sure("const f = (x) => { return x; };\nassert.equal(f(1), 2);") == [""]
    assert sure("if (x) process.exit(0);\nassert.equal(f(1), 2);") == []


def test_names_have_the_groups_around_them() -> None:
    inner = "suite('two', function () { it('three', () => { assert.equal(f(1), 2); }); });"
    assert sure(f"describe('one', () => {{\n  {inner}\n}});") == ["one two three"]


def test_what_is_awaited_before_is_known() -> None:
    assert at_once("test('a', async () => { await assert.rejects(f(1)); await g(); });")
    assert not at_once("test('a', async () => { await g(); assert.equal(f(1), 2); });")
    assert not at_once("test('a', async () => { assert.equal(await f(1), 2); });")


def test_another_assert_or_expect_is_not_looked_at() -> None:
    body = b"it('a', () => { assert.equal(f(1), 2); });\n"
    assert not sure_tests(b"const { assert } = require('chai');\n" + body, has_expect=True)
    assert not sure_tests(
        b"import { expect } from 'chai';\nit('a', () => { expect(f(1)).toBe(2); });\n",
        has_expect=True,
    )


def test_literals_that_are_expected_look_the_same_and_are_others() -> None:
    found = retold(
        "test('a', () => {\n  assert.strictEqual(call('1', 20), 'Line 42\\n');\n"
        "  assert.deepStrictEqual(f(1, [2]), { one: [-3, 'x'], two: null });\n"
        "  expect(f('y')).toEqual(7.5);\n  assert.equal(f(8), other);\n"
        "  assert.throws(() => f(9), 'z');\n});\n"
    )
    assert found is not None
    assert found.names == {"a"}
    text = found.text.decode()
    shape = (
        r"call\('1', 20\), '([A-Z][a-z]{3} \d\d)\\n'\);\n"
        r"  assert\.deepStrictEqual\(f\(1, \[2\]\), \{ one: \[-(\d), '([a-z])'\], two: null \}\);\n"
        r"  expect\(f\('y'\)\)\.toEqual\((\d\.\d)\);\n  assert\.equal\(f\(8\), other\);\n"
        r"  assert\.throws\(\(\) => f\(9\), 'z'\);"
    )
    match = re.search(shape, text)
    assert match
    assert not {"Line 42", "3", "x", "7.5"} & set(match.groups())
    assert f"{match[2]}" in found.values
    assert f"'{match[3]}'" in found.values


def test_a_text_without_expected_literals_stays_as_it_is() -> None:
    assert retold("test('a', () => { assert.equal(f(1), g(1)); assert.ok(f('2')); });") is None
    assert retold("before(() => { assert.equal(f(1), 2); });") is None
    assert retold("test('a', () => { expect(f(1)).not.toBe(3); });") is None


def test_who_passes_with_another_text_was_answered_from_it() -> None:
    scripts = {"a.js": RetoldScript(b"", (), frozenset({"one", "two"}))}
    assert answered(scripts, ["a.js::one", "a.js::three"], ["a.js::one", "a.js::two"]) == {
        "a.js::one"
    }
