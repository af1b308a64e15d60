"""Which tests have to fail when values are changed, by their text."""

from __future__ import annotations

import pytest

from planbound.judging.reached import compares, not_reached, not_reached_in_javascript

NAME = "tests/test_a.py::test_it"


@pytest.mark.parametrize(
    "body",
    [
        "    assert add(1, 2) == 3\n",
        "    found = add(1, 2)\n    assert found == 3 and found\n",
        "    with session():\n        pass\n    assert add(1, 2) == 3\n    return\n",
        "    if late():\n        return\n    assert add(1, 2) == 3\n",
        "    assert is_prime(7)\n",
        "    with pytest.raises(ValueError):\n        add(1, 'a')\n",
    ],
)
def test_a_test_that_surely_runs_has_to_fail_once(body: str) -> None:
    judges = {"tests/test_a.py": f"def test_it():\n{body}".encode()}
    assert not_reached(judges, [NAME]) == (NAME,)


@pytest.mark.parametrize(
    "text",
    [
        "def test_it():\n    yield\n    assert add(1, 2) == 3\n",
        "def test_it():\n    pytest.importorskip('x')\n    assert add(1, 2) == 3\n",
        "@replaced\ndef test_it():\n    assert add(1, 2) == 3\n",
        "@pytest.mark.xfail\ndef test_it():\n    assert add(1, 2) == 3\n",
        "@pytest.mark.raises(exception=ValueError)\ndef test_it():\n    add(1, 'a')\n",
        "@settings(phases=())\ndef test_it():\n    add(1, 'a')\n",
        "def test_it():\n    assert add(1, 2) == 3\n\n\ntest_it = known_fault(test_it)\n",
        "def test_it():\n    assert 1\n\n\ndef pytest_hook(r):\n    r.outcome = 'passed'\n",
    ],
)
def test_nothing_is_said_of_a_test_that_may_take_its_own_failure(text: str) -> None:
    assert not_reached({"tests/test_a.py": text.encode()}, [NAME]) == ()


def test_names_of_unittest_and_of_rows_are_known_from_any_folder() -> None:
    text = b"class Add(TestCase):\n    def test_it(self):\n        self.assertEqual(1, add())\n"
    names = ["tests.test_a.Add.test_it", "test_a.Add.test_it", "test_a.py::Add::test_it[1-2]"]
    assert not_reached({"tests/test_a.py": text}, names) == tuple(names)
    assert not_reached({"tests/test_a.py": text}, ["test_b.Add.test_it"]) == ()


def test_a_program_compares_at_its_top_or_in_a_function_that_it_calls() -> None:
    assert compares(b"assert add(1, 2) == 3\n")
    assert compares(
        b"def main():\n    assert add() == 3\n\n\nif __name__ == '__main__':\n    main()\n"
    )
    assert not compares(b"import sys\nsys.exit(0)\nassert add(1, 2) == 3\n")
    assert not compares(b"def unused():\n    assert add() == 3\n")


ASSERT = b"const assert = require('node:assert');\n"
NODE = {"a.test.js": "node"}
ADDS = ("a.test.js::adds",)


def test_javascript_is_known_where_a_test_has_an_assertion_in_its_way() -> None:
    judges = {"a.test.js": ASSERT + b"test('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n"}
    assert not_reached_in_javascript(judges, ADDS, (), NODE) == ADDS
    assert not_reached_in_javascript(judges, ADDS, {"a.test.js::other"}, NODE) == ADDS
    assert not_reached_in_javascript(judges, ADDS, (), {}) == ()


def test_after_something_was_awaited_tests_of_node_are_not_told_apart() -> None:
    body = b"test('adds', async () => {\n  await ready();\n  assert.equal(add(1), 3);\n});\n"
    judges = {"a.test.js": ASSERT + body}
    assert not_reached_in_javascript(judges, ADDS, (), NODE) == ADDS
    assert not_reached_in_javascript(judges, ADDS, {"a.test.js::other"}, NODE) == ()
    jest = {"a.test.js": "jest"}
    assert not_reached_in_javascript(judges, ADDS, {"a.test.js::other"}, jest) == ADDS


def test_expect_is_known_where_jest_calls_it() -> None:
    judges = {"a.test.js": b"it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n"}
    assert not_reached_in_javascript(judges, ADDS, (), {"a.test.js": "jest"}) == ADDS
    assert not_reached_in_javascript(judges, ADDS, (), {"a.test.js": "mocha"}) == ()
