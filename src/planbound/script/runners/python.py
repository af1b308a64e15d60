"""The tests of a Python file that surely run, read without running anything."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from planbound.source import lazy_pattern

_Given = TypeVar("_Given")
_Read = TypeVar("_Read")
_TRIES = 100
_SKIPS = lazy_pattern(r"(?i)skip|xfail|expectedfailure")
_SKIPPING = frozenset("skip skipif skipIf skipUnless skipTest SkipTest importorskip xfail".split())
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Decorators that do not decide whether a test runs. Of any other nobody knows.
_HARMLESS = frozenset(
    "pytest mock patch given settings example freeze_time freezegun staticmethod classmethod "
    "override typing hypothesis responses respx unittest functools asyncio".split()
)


def tests_in(data: bytes) -> Iterator[str]:
    """Yield `name` and `Class::name` of each test; none of a file that cannot be read."""
    module = parsed(data)
    if module is not None:
        yield from dict.fromkeys(name for name, _ in tests_of(module))


def cases_in(data: bytes) -> Iterator[str]:
    """Yield those of them that unittest runs: methods of its classes."""
    module = parsed(data)
    if module is None:
        return
    classes = (item for item in module.body if isinstance(item, ast.ClassDef))
    cases = {item.name for item in classes if _is_test_case(item)}
    found = dict.fromkeys(name for name, _ in tests_of(module))
    yield from (name for name in found if name.partition("::")[0] in cases)


def steadily(parse: Callable[[_Given], _Read], text: _Given) -> _Read:
    """Return what a function of `ast` makes of a text, whatever other threads parse meanwhile.

    Python 3.11 counts for all threads together how deep it is, and trips where one goes on while
    another one is at work. What it read is right, and it is asked again.
    """
    for _ in range(_TRIES):
        with suppress(SystemError):
            return parse(text)
    return parse(text)


def parsed(data: bytes) -> ast.Module | None:
    """Return a file of Python; None where it cannot be read."""
    try:
        return steadily(ast.parse, data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def tests_of(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield each test that surely runs, with its name."""
    yield from _of_body(module.body, "", _doubtful_names(module), prefix="test_")


def _of_body(
    body: Sequence[ast.stmt], within: str, doubtful: frozenset[str], *, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    if any(_stops_all(item, prefix) for item in body):
        return
    for item in body:
        if isinstance(item, ast.ClassDef):
            if _is_test_class(item) and not _in_doubt(item.decorator_list, doubtful):
                start = "test" if _is_test_case(item) else "test_"
                yield from _of_body(item.body, f"{within}{item.name}::", doubtful, prefix=start)
        elif (
            isinstance(item, _FUNCTIONS)
            and item.name.startswith(prefix)
            and not _in_doubt(item.decorator_list, doubtful)
            and not _mentions_skip(item)
        ):
            yield within + item.name, item


def _stops_all(item: ast.stmt, prefix: str) -> bool:
    """Say whether a statement may keep every test beside it from running."""
    if isinstance(item, ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    if isinstance(item, _FUNCTIONS):
        # A fixture or `setUp` that may skip.
        return not item.name.startswith(prefix) and _mentions_skip(item)
    if isinstance(item, ast.Assign):
        names = {target.id for target in item.targets if isinstance(target, ast.Name)}
        if "__test__" in names:
            return True
        if "pytestmark" in names:
            marks = item.value.elts if isinstance(item.value, ast.List) else [item.value]
            return _in_doubt(marks, frozenset())
        # A mark for single tests is looked at where it is used.
        return "importorskip" in ast.unparse(item.value)
    return _mentions_skip(item)


def _doubtful_names(module: ast.Module) -> frozenset[str]:
    """Return the names of marks that may skip: `slow = pytest.mark.skipif(...)`."""
    return frozenset(
        target.id
        for item in module.body
        if isinstance(item, ast.Assign) and _mentions_skip(item)
        for target in item.targets
        if isinstance(target, ast.Name)
    )


def _in_doubt(decorators: Sequence[ast.expr], doubtful: frozenset[str]) -> bool:
    for decorator in decorators:
        called = ast.unparse(decorator).partition("(")[0]
        root = called.split(".")[0]
        if root in doubtful or root not in _HARMLESS or called == "pytest.fixture":
            return True
        # The values of a table may speak of skipping without any test being skipped.
        if _SKIPS.search(called) or _mentions_skip(decorator):
            return True
    return False


def _is_test_class(item: ast.ClassDef) -> bool:
    if _is_test_case(item):
        return True
    made = any(isinstance(each, _FUNCTIONS) and each.name == "__init__" for each in item.body)
    return item.name.startswith("Test") and not made


def _is_test_case(item: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith("TestCase") for base in item.bases)


def _mentions_skip(item: ast.AST) -> bool:
    for part in ast.walk(item):
        name = part.id if isinstance(part, ast.Name) else None
        name = part.attr if isinstance(part, ast.Attribute) else name
        if name in _SKIPPING:
            return True
    return False
