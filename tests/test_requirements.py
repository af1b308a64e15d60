"""Every promise has a test, and every test of a promise names one that is made."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from planbound.cli.commands import COMMANDS
from tests.requirements import REQUIREMENTS

HERE = Path(__file__).parent


DATABASES = {"postgres", "on_postgres", "postgres_place", "shared_team", "database", "fleets"}
"""Fixtures without which `make test` has to do."""


class Carried(NamedTuple):
    """A promise at a test."""

    promise: str
    thorough: bool
    """Whether the test is left to `make test-all`."""


@cache
def carried() -> frozenset[Carried]:
    """Return the promises that tests carry, read from their source."""
    found = set()
    for path in HERE.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if "mark.requirement" not in text:
            continue
        tree = ast.parse(text)
        left = {id(mark) for node in ast.walk(tree) if _is_left(node) for mark in _marks(node)}
        found |= {
            Carried(str(each.value), id(mark) in left)
            for mark in ast.walk(tree)
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.requirement"
            for each in mark.args
            if isinstance(each, ast.Constant)
        }
    return frozenset(found)


def _marks(node: ast.AST) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []


def _is_left(node: ast.AST) -> bool:
    """Say whether a node is a test that is left to `make test-all`."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    needed = {each.arg for each in node.args.args}
    marks = {ast.unparse(each) for each in node.decorator_list}
    return "pytest.mark.thorough" in marks or bool(needed & DATABASES)


def test_every_promise_has_a_test() -> None:
    assert set(REQUIREMENTS) - {each.promise for each in carried()} == set()


def test_every_promise_has_a_test_of_make_test() -> None:
    quick = {each.promise for each in carried() if not each.thorough}
    assert set(REQUIREMENTS) - quick == set()


def test_every_test_of_a_promise_names_one_that_is_made() -> None:
    assert {each.promise for each in carried()} - set(REQUIREMENTS) == set()


def test_every_command_has_a_promise() -> None:
    assert [name for name in COMMANDS if f"command.{name}" not in REQUIREMENTS] == []
