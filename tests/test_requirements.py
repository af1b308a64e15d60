"""Every promise has a test, and every test of a promise names one that is made."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.requirements import REQUIREMENTS

HERE = Path(__file__).parent


def carried() -> set[str]:
    """Return the ids that tests carry, read from their source."""
    found = set()
    for path in HERE.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "requirement"
            ):
                found |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
    return found


def test_every_promise_has_a_test() -> None:
    assert set(REQUIREMENTS) - carried() == set()


def test_every_test_of_a_promise_names_one_that_is_made() -> None:
    assert carried() - set(REQUIREMENTS) == set()
