"""How the assertions that tests use fail: a product may have replaced any of them.

Failing tests are added for those that the judges really use, besides some that all have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planbound.source import lazy_pattern

_MOST = 24
_OF_CASES = {
    "assertNotEqual": "self.assertNotEqual(1, 1)",
    "assertTrue": "self.assertTrue(False)",
    "assertFalse": "self.assertFalse(True)",
    "assertIs": "self.assertIs(1, None)",
    "assertIsNot": "self.assertIsNot(None, None)",
    "assertIsNone": "self.assertIsNone(1)",
    "assertIsNotNone": "self.assertIsNotNone(None)",
    "assertIn": "self.assertIn(1, [])",
    "assertNotIn": "self.assertNotIn(1, [1])",
    "assertIsInstance": "self.assertIsInstance(1, str)",
    "assertNotIsInstance": "self.assertNotIsInstance(1, int)",
    "assertRaises": "with self.assertRaises(ValueError): pass",
    "assertRaisesRegex": "with self.assertRaisesRegex(ValueError, 'a'): pass",
    "assertWarns": "with self.assertWarns(UserWarning): pass",
    "assertWarnsRegex": "with self.assertWarnsRegex(UserWarning, 'a'): pass",
    "assertLogs": "with self.assertLogs('no.logger'): pass",
    "assertAlmostEqual": "self.assertAlmostEqual(1, 2)",
    "assertNotAlmostEqual": "self.assertNotAlmostEqual(1, 1)",
    "assertGreater": "self.assertGreater(1, 2)",
    "assertGreaterEqual": "self.assertGreaterEqual(1, 2)",
    "assertLess": "self.assertLess(2, 1)",
    "assertLessEqual": "self.assertLessEqual(2, 1)",
    "assertRegex": "self.assertRegex('a', 'b')",
    "assertNotRegex": "self.assertNotRegex('a', 'a')",
    "assertCountEqual": "self.assertCountEqual([1], [2])",
    "assertMultiLineEqual": "self.assertMultiLineEqual('a', 'b')",
    "assertSequenceEqual": "self.assertSequenceEqual([1], [2])",
    "assertListEqual": "self.assertListEqual([1], [2])",
    "assertTupleEqual": "self.assertTupleEqual((1,), (2,))",
    "assertSetEqual": "self.assertSetEqual({1}, {2})",
    "assertDictEqual": "self.assertDictEqual({1: 1}, {1: 2})",
}
_OF_PYTEST = {
    "raises": "with pytest.raises(ValueError): pass",
    "warns": "with pytest.warns(UserWarning): pass",
    "approx": "assert 1 == pytest.approx(2)",
}
_OF_NODE = {
    "fail": "assert.fail(name);",
    "notEqual": "assert.notEqual(1, 1);",
    "notDeepEqual": "assert.notDeepEqual([1], [1]);",
    "notDeepStrictEqual": "assert.notDeepStrictEqual([1], [1]);",
    "rejects": "return assert.rejects(async () => {});",
    "doesNotReject": "return assert.doesNotReject(async () => { throw name; });",
    "doesNotThrow": "assert.doesNotThrow(() => { throw new Error(name); });",
    "match": "assert.match('a', /b/);",
    "doesNotMatch": "assert.doesNotMatch('a', /a/);",
    "ifError": "assert.ifError(new Error(name));",
    "partialDeepStrictEqual": "assert.partialDeepStrictEqual({ a: 1 }, { a: 2 });",
}
_CASES = lazy_pattern(r"\.(assert[A-Z]\w{1,40})\b")
_PYTEST = lazy_pattern(r"\b(raises|warns|approx)\(")
_WORD_AND_BRACKET = lazy_pattern(r"\b([a-z]\w{1,40})\(")


def of_cases(texts: Iterable[str]) -> tuple[str, ...]:
    """Return statements that fail, one for each assertion of `unittest.TestCase` in use."""
    return _used(_OF_CASES, _CASES, texts)


def of_pytest(texts: Iterable[str]) -> tuple[str, ...]:
    """Return statements that fail, one for each of pytest's own ways to assert in use."""
    return _used(_OF_PYTEST, _PYTEST, texts)


def of_node(texts: Iterable[str]) -> tuple[str, ...]:
    """Return statements that fail, one for each function of `node:assert` in use."""
    kept = list(texts)
    found = _used(_OF_NODE, _WORD_AND_BRACKET, kept)
    if not any("strict" in text for text in kept):
        return found
    return (*found, *(each.replace("assert.", "assert.strict.", 1) for each in found))


def _used(known: dict[str, str], pattern: re.Pattern[str], texts: Iterable[str]) -> tuple[str, ...]:
    found = {name for text in texts for name in pattern.findall(text)}
    return tuple(known[name] for name in known if name in found)[:_MOST]
