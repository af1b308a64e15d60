"""Which tests have to fail when values are changed, by the text of the frozen judges.

Those are made to fail at their own end where no equality did it. One that passes all the same was
not run, or its failure did not arrive: somebody stands in its place, or in its way.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence

from planbound.judging.inside.equalities import Equalities
from planbound.judging.javascript import sure_tests
from planbound.script.runners import JAVASCRIPT
from planbound.script.runners.python import parsed, tests_of
from planbound.source import lazy_pattern

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ELSEWHERE = (*_FUNCTIONS, ast.ClassDef, ast.Lambda)
_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom)
_LEAVES = lazy_pattern(r"\b(?:_?exit|quit|SystemExit|abort|exec[lv]\w*|kill|pytest|unittest)\b")
"""A program with such a word may be over before its last line, or is a runner of tests."""
_TAKES = lazy_pattern(r"\.outcome\s*=(?!=)|\bforce_(?:result|exception)\b|\bwasxfail\b")
"""A judge that decides itself how a test ended."""
_EQUALITY = lazy_pattern(
    r"\bassert\w*\.(?:equal|strictEqual|deepEqual|deepStrictEqual)\("
    r"|\.(?:toBe|toEqual|toStrictEqual|toMatchObject|toBeCloseTo)\("
)
_OWN_ENDS = lazy_pattern(r"(?i)raises|fail|phases|retry|flaky")
"""A decorator that may take a failure, or keep a body from being run."""


class _SureEqualities(Equalities):
    """Looks whether there is an equality whose value is changed."""

    def __init__(self) -> None:
        self.is_there = False

    def sides(
        self, _actual: ast.expr | None, expected: ast.expr
    ) -> tuple[ast.expr | None, ast.expr, None]:
        """Take notice of an equality."""
        self.is_there = True
        return _actual, expected, None

    def every(self, node: ast.Call) -> None:
        """Leave out what may have nothing in it."""


def made_to_fail(data: bytes) -> dict[str, tuple[int, ...]]:
    """Return the tests of a judge that have to fail once, with the lines where they begin."""
    module = parsed(data)
    if module is None:
        return {}
    found: dict[str, tuple[int, ...]] = {}
    for name, node in tests_of(module):
        if not any(_OWN_ENDS.search(ast.unparse(each)) for each in node.decorator_list):
            found[name] = (*found.get(name, ()), node.lineno)
    nodes = {node.lineno: node for _, node in tests_of(module)}
    bound = {
        target.id
        for item in module.body
        if isinstance(item, ast.Assign)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    return {
        name: lines
        for name, lines in found.items()
        if name.partition("::")[0] not in bound
        and not any(_is_generator(nodes[line]) for line in lines)
    }


def not_reached(judges: Mapping[str, bytes], passed: Iterable[str]) -> tuple[str, ...]:
    """Return the tests that have to fail, of those that passed without a changed equality.

    They are called as pytest does (`tests/test_a.py::TestX::test_y[1]`), or as unittest does
    (`tests.test_a.TestX.test_y`).
    """
    if any(_TAKES.search(data.decode("utf-8", "replace")) for data in judges.values()):
        return ()
    names = tuple(passed)
    if not names:
        return ()
    sure, other = set[str](), set[str]()
    for path, data in judges.items():
        module = parsed(data) if path.endswith(".py") else None
        if module is None:
            continue
        place = path.removesuffix(".py").replace("/", ".")
        known = made_to_fail(data)
        for name in _every_name(module.body, ""):
            (sure if name in known else other).add(f"{place}.{name.replace('::', '.')}")
    return tuple(name for name in names if _is_sure(_dotted(name), sure, other))


def surely_comparing(judges: Mapping[str, bytes], names: Sequence[str]) -> tuple[str, ...]:
    """Return the tests that nothing leads around an equality but a failure."""
    sure = set[str]()
    for path, data in judges.items() if names else ():
        module = parsed(data)
        place = path.removesuffix(".py").replace("/", ".")
        for test, node in tests_of(module) if module is not None else ():
            if _surely_compares(node):
                sure.add(f"{place}.{test.replace('::', '.')}")
    return tuple(name for name in names if _is_sure(_dotted(name), sure, ()))


def not_reached_in_javascript(
    judges: Mapping[str, bytes],
    passed: Iterable[str],
    reached: Collection[str],
    runners: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the same for tests in JavaScript, called `path::name`, by how they are written.

    `runners` says by file who runs its tests. Some runners may run two tests of a file at the same
    time: under these nothing is said of a file in which any test came to an assertion, but of tests
    that do so at once.
    """
    known = {name.partition("::")[0] for name in reached}
    sure = {
        f"{path}::{test.name}"
        for path, data in judges.items()
        if (runner := JAVASCRIPT.get(runners.get(path, ""))) is not None
        for test in sure_tests(data, has_expect=runner.has_expect)
        if test.name and (test.is_at_once or runner.one_by_one or path not in known)
    }
    return tuple(name for name in passed if name in sure)


def compares(data: bytes) -> bool:
    """Say whether a program surely comes to an equality when it ends well."""
    module = parsed(data)
    if module is None or _LEAVES.search(data.decode("utf-8", "replace")):
        return False
    functions = {
        item.name: item
        for item in module.body
        if isinstance(item, ast.FunctionDef) and not item.decorator_list
    }
    return any(_leads_to(item, functions) for item in _run_at_once(module.body))


def has_equalities(judges: Mapping[str, bytes]) -> bool:
    """Say whether a judge, in Python or in JavaScript, has an equality that can be changed."""
    for path, data in judges.items():
        if not path.endswith(".py"):
            if _EQUALITY.search(data.decode("utf-8", "replace")):
                return True
        elif (module := parsed(data)) is not None:
            found = _SureEqualities()
            found.visit(module)
            if found.is_there:
                return True
    return False


def _run_at_once(body: Sequence[ast.stmt]) -> Iterable[ast.stmt]:
    for item in body:
        if isinstance(item, ast.If) and "__name__" in ast.unparse(item.test):
            yield from item.body
        else:
            yield item


def _leads_to(item: ast.stmt, functions: Mapping[str, ast.FunctionDef]) -> bool:
    if _is_equality(item):
        return True
    call = item.value if isinstance(item, ast.Expr) else None
    name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    return name in functions and _surely_compares(functions[name])


def _surely_compares(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether nothing leads around an equality but a failure."""
    for item in node.body:
        if _is_equality(item):
            return not _is_generator(node)
        if any(isinstance(each, _LEAVING) for each in _own(item)):
            return False
    return False


def _is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in _own(node))


def _is_equality(item: ast.stmt) -> bool:
    if not isinstance(item, ast.Assert | ast.Expr):
        return False
    found = _SureEqualities()
    found.visit(item)
    return found.is_there


def _own(node: ast.AST) -> Iterable[ast.AST]:
    """Yield what is part of a statement, but for functions in it."""
    for each in ast.iter_child_nodes(node):
        yield each
        if not isinstance(each, _ELSEWHERE):
            yield from _own(each)


def _every_name(body: Sequence[ast.stmt], within: str) -> Iterable[str]:
    for item in body:
        if isinstance(item, ast.ClassDef):
            yield from _every_name(item.body, f"{within}{item.name}::")
        elif isinstance(item, _FUNCTIONS):
            yield within + item.name


def _dotted(name: str) -> str:
    path, _, node = name.partition("[")[0].partition("::")
    if not node:
        return path
    return ".".join([path.removesuffix(".py").replace("/", "."), *node.split("::")])


def _is_sure(name: str, sure: Collection[str], other: Collection[str]) -> bool:
    """Say whether a test is one of the sure ones, wherever its path is seen from."""

    def meets(known: str) -> bool:
        return f".{known}".endswith(f".{name}") or f".{name}".endswith(f".{known}")

    return any(map(meets, sure)) and not any(map(meets, other))
