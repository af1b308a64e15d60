"""A judge whose text expects other values: its file, its lines and its constants say the same.

Only what nothing but an equality can see is changed: a literal that is the expected side itself,
and a variable that is used for nothing but being expected. So honest code gives the answer that was
expected before, and its tests fail.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from planbound.judging.inside.equalities import Equalities, last_name
from planbound.script.runners.python import parsed, steadily

_OPENING = re.compile(rb"[A-Za-z]{0,3}(?:\"\"\"|'''|\"|')")
_SEES_ALL = frozenset({"locals", "vars", "eval", "exec", "globals"})
_NUMBER = re.compile(rb"(?<![\\\w.{])[0-9]{1,9}(?!\w)")
_ASKS = frozenset({"callspec", "getfixturevalue", "funcargs", "fixturenames"})
"""Whoever asks for these may take the values of any test."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = _Function | ast.Module
_Store = _Function | ast.Assign | ast.AnnAssign | ast.For | ast.AsyncFor


class RetoldJudge(NamedTuple):
    """The text of a judge with other expected values, and what is to be known of it."""

    text: bytes
    places: Mapping[str, str]
    """By `line:column` of an expected side what stood there; empty: a variable stands there."""
    values: Mapping[str, tuple[str, ...]]
    """By the value that a variable has now, the values that it had."""
    rebound: Mapping[str, tuple[str, ...]]
    """By the line of a function or loop, variables of it that have to be changed when it runs."""

    @property
    def settings(self) -> dict[str, object]:
        """Return what the cell is told of it."""
        return {
            "places": dict(self.places),
            "values": {name: list(each) for name, each in self.values.items()},
            "rebound": {name: list(each) for name, each in self.rebound.items()},
        }


class _ValueEdit(NamedTuple):
    line: int
    start: int
    end: int
    text: bytes


class _ExpectedSides(Equalities):
    """The sides of a judge's equalities, in the order of the text."""

    def __init__(self) -> None:
        self.expected: list[ast.expr] = []

    def sides(
        self, actual: ast.expr | None, expected: ast.expr
    ) -> tuple[ast.expr | None, ast.expr, None]:
        if actual is not None:
            self.expected.append(expected)
        return actual, expected, None


class Shared(NamedTuple):
    """Variables of judges that others than their tests use."""

    given: frozenset[str] = frozenset()
    """Fixtures get them: the product may be made of them."""
    elsewhere: frozenset[str] = frozenset()
    """Other judges get them from their module."""


_NOT_SHARED = Shared()


def shared(judges: Iterable[bytes]) -> Shared:
    """Return the variables that are not only compared with, by what all judges say."""
    given, every, elsewhere = set[str](), set[str](), set[str]()
    asks = False
    for module in filter(None, map(parsed, judges)):
        for node in ast.walk(module):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    names = _parameters(node)
                    every.update(names)
                    if any("fixture" in last_name(each) for each in node.decorator_list):
                        given.update(names)
                case ast.ImportFrom(names=names):
                    elsewhere.update(each.name for each in names)
                case ast.Attribute(attr=name):
                    elsewhere.add(name)
                    asks = asks or name in _ASKS
                case _:
                    pass
    return Shared(frozenset(every if asks else given), frozenset(elsewhere))


def retell(text: bytes, chance: random.Random, known: Shared = _NOT_SHARED) -> RetoldJudge | None:
    """Return a judge that expects other values; None where nothing of it can be changed."""
    if b"\r" in text.replace(b"\r\n", b"\n") or text.startswith(b"\xef\xbb\xbf"):
        return None
    try:
        tree = steadily(ast.parse, text.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError):
        return None
    retelling = _Retelling(tree, text, chance, known)
    retelling.change_literals()
    retelling.change_variables()
    return retelling.result()


class _Retelling:
    """The changes of one text."""

    def __init__(
        self, tree: ast.Module, text: bytes, chance: random.Random, shared: Shared
    ) -> None:
        self.tree = tree
        self.shared = shared
        self.tables = _tables(tree, shared)
        self.lines = text.split(b"\n")
        self.chance = chance
        self.expected = _sides(tree)
        self.edits: list[_ValueEdit] = []
        self.before: dict[int, str] = {}
        """By the number of a side what stood there."""
        self.values: dict[str, list[str]] = {}
        self.rebound: dict[str, list[str]] = {}
        self.known: set[tuple[int, str]] = set()
        self.taken = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}

    def change_literals(self) -> None:
        """Change what stands in an equality itself."""
        for number, node in enumerate(self.expected):
            literal = _approximated(node)
            changed = self.change(literal)
            if changed is not None:
                self.before[number] = repr(ast.literal_eval(literal))

    def change_variables(self) -> None:
        """Change variables that are only compared with."""
        sides = {id(node): number for number, node in enumerate(self.expected)}
        functions = [node for node in ast.walk(self.tree) if isinstance(node, _Function)]
        for scope in (*functions, self.tree):
            others = self.shared.given
            if scope is self.tree:
                others |= self.shared.elsewhere
            for name in sorted(_only_expected(scope, sides) - others):
                stores = _stores(scope, name) or []
                # What is a function's own was looked at there.
                if self.known & {(id(store), name) for store in stores}:
                    continue
                self.known |= {(id(store), name) for store in stores}
                if not self._change_stores(name, stores):
                    continue
                for node in ast.walk(scope):
                    if id(node) in sides and isinstance(node, ast.Name) and node.id == name:
                        self.before[sides[id(node)]] = ""

    def _change_stores(self, name: str, stores: list[_Store]) -> bool:
        """Change where a variable gets its values; say whether anything was."""
        done = False
        for store in stores:
            rows = list(_rows(store, name, self.tables))
            literals = [row for row in rows if _is_literal(row)]
            if rows and len(literals) == len(rows):
                for row in rows:
                    before = repr(ast.literal_eval(row))
                    if (changed := self.change(row)) is not None:
                        self.values.setdefault(changed, []).append(before)
                        done = True
            elif not isinstance(store, ast.Assign | ast.AnnAssign):
                self.rebound.setdefault(str(store.lineno), []).append(name)
                done = True
        return done

    def change(self, node: ast.expr) -> str | None:
        """Change a literal in the text; return its value then; None where it cannot be."""
        if not _is_literal(node):
            return None
        leaves = [each for each in _leaves(node) if _is_changeable(each)]
        self.chance.shuffle(leaves)
        for leaf in leaves:
            edit, value = self._changed(leaf)
            if edit is None:
                continue
            again = _value(node, leaf, value)
            if again == ast.literal_eval(node):
                continue
            self.edits.append(edit)
            return repr(again)
        return None

    def _changed(self, leaf: ast.expr) -> tuple[_ValueEdit | None, object]:
        line, start = leaf.lineno, leaf.col_offset
        if not isinstance(leaf, ast.Constant):
            return self._filled(leaf)
        value = leaf.value
        if isinstance(value, str | bytes):
            found = self._renumbered(leaf, value)
            if found is not None:
                return found
            opening = _OPENING.match(self.lines[line - 1], start)
            more = "".join(self.chance.choices(_LETTERS, k=self.chance.randint(3, 6)))
            if opening is None:
                return None, None
            edit = _ValueEdit(line, opening.end(), opening.end(), more.encode())
            return edit, more + value if isinstance(value, str) else more.encode() + value
        if leaf.end_lineno != line or leaf.end_col_offset is None:
            return None, None
        new = self._other(value)
        return _ValueEdit(line, start, leaf.end_col_offset, repr(new).encode()), new

    def _renumbered(
        self, leaf: ast.Constant, value: str | bytes
    ) -> tuple[_ValueEdit, object] | None:
        """Put another number into a text that has one: who looks for digits finds some."""
        line = self.lines[leaf.lineno - 1]
        end = leaf.end_col_offset if leaf.end_lineno == leaf.lineno else None
        match = _NUMBER.search(line, leaf.col_offset, end) if end is not None else None
        if match is None or end is None:
            return None
        digits = str(self.chance.randint(10 ** len(match[0]), 10 ** (len(match[0]) + 3))).encode()
        text = line[leaf.col_offset : match.start()] + digits + line[match.end() : end]
        try:
            changed = steadily(ast.literal_eval, text.decode())
        except (ValueError, SyntaxError):
            return None
        if type(changed) is not type(value) or len(changed) - len(value) != len(digits) - len(
            match[0]
        ):
            return None
        return _ValueEdit(leaf.lineno, match.start(), match.end(), digits), changed

    def _filled(self, leaf: ast.expr) -> tuple[_ValueEdit | None, object]:
        """Put something into a list or its like that has nothing in it."""
        number = self._other(0)
        new = {ast.List: [number], ast.Tuple: (number,), ast.Dict: {number: 0}}[type(leaf)]
        if leaf.end_lineno != leaf.lineno or leaf.end_col_offset is None:
            return None, None
        text = repr(new).encode()
        return _ValueEdit(leaf.lineno, leaf.col_offset, leaf.end_col_offset, text), new

    def _other(self, value: object) -> object:
        if isinstance(value, bool):
            return not value
        if isinstance(value, float):
            return round(value + (abs(value) + 1) * (1 + self.chance.random() * 9), 4)
        number = value if isinstance(value, int) else 0
        found = number + self.chance.choice(_primes())
        while found in self.taken:
            found = number + self.chance.randint(1, 9999 + len(self.taken))
        self.taken.add(found)
        return found

    def result(self) -> RetoldJudge | None:
        if not self.before:
            return None
        lines = list(self.lines)
        for edit in sorted(self.edits, reverse=True):
            line = lines[edit.line - 1]
            lines[edit.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
        text = b"\n".join(lines)
        try:
            now = _sides(steadily(ast.parse, text.decode("utf-8")))
        except (SyntaxError, ValueError, RecursionError):
            return None
        if len(now) != len(self.expected):
            return None
        return RetoldJudge(
            text,
            {
                f"{now[number].lineno}:{now[number].col_offset}": before
                for number, before in self.before.items()
            },
            {value: tuple(before) for value, before in self.values.items()},
            {line: tuple(names) for line, names in self.rebound.items()},
        )


@cache
def _primes() -> tuple[int, ...]:
    """Return steps to another number that no clock, week or other cycle of numbers takes for none.

    A multiple of its length would be equal there: a prime is one of no length but its own.
    """
    sieve = bytearray([1]) * 10_000
    for number in range(2, 100):
        sieve[number * number :: number] = bytes(len(sieve[number * number :: number]))
    return tuple(number for number in range(1_000, 10_000) if sieve[number])


def _sides(tree: ast.Module) -> list[ast.expr]:
    found = _ExpectedSides()
    found.visit(tree)
    return found.expected


# -- literals ------------------------------------------------------------------------------------


def _approximated(node: ast.expr) -> ast.expr:
    is_approximate = isinstance(node, ast.Call) and last_name(node) == "approx"
    if is_approximate and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        return node.args[0]
    return node


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what can be changed in a literal: not the keys, and nothing of a set."""
    match node:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            yield node
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _leaves(part)
        case ast.Set(elts=[first, *_]):
            yield from _leaves(first)
        case ast.UnaryOp(operand=inner):
            yield from _leaves(inner)
        case ast.Constant():
            yield node
        case _:
            return


def _is_changeable(node: ast.expr) -> bool:
    return not isinstance(node, ast.Constant) or isinstance(
        node.value, bool | int | float | str | bytes | None
    )


def _value(node: ast.expr, leaf: ast.expr, new: object) -> object:
    """Return a literal's value with another one in the place of a leaf."""
    if node is leaf:
        return new
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
            return kind(_value(part, leaf, new) for part in parts)
        case ast.Dict(keys=keys, values=parts):
            named = zip(keys, parts, strict=True)
            return {ast.literal_eval(key): _value(part, leaf, new) for key, part in named if key}
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = _value(inner, leaf, new)
            return -found if isinstance(found, int | float) else found
        case _:
            return ast.literal_eval(node)


# -- variables -----------------------------------------------------------------------------------


def _only_expected(scope: _Scope, sides: Mapping[int, int]) -> set[str]:
    """Return the variables that are used for nothing but being expected."""
    found, others = set[str](), set[str]()
    for node in ast.walk(scope):
        match node:
            case ast.Name(ctx=ast.Load()) if id(node) in sides:
                found.add(node.id)
            case ast.Name(ctx=ast.Load()):
                others.add(node.id)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                others.update(names)
            case _:
                pass
    return set() if others & _SEES_ALL else found - others


def _stores(scope: _Scope, name: str) -> list[_Store] | None:
    """Return where a variable gets its values; None where that cannot be told."""
    found: list[_Store] = []
    count = 0
    for node in ast.walk(scope):
        if _binds_otherwise(node, name) and node is not scope:
            return None
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()) if node.id == name:
                count += 1
            case (
                ast.Assign(targets=[ast.Name()])
                | ast.AnnAssign(target=ast.Name(), value=ast.expr())
            ):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and target.id == name:
                    found.append(node)
            case ast.For() | ast.AsyncFor() if name in _names(node.target):
                found.append(node)
            case _:
                pass
    if count != len(found):
        return None
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        given = scope.args
        if any(each is not None and each.arg == name for each in (given.vararg, given.kwarg)):
            return None
        if name in _parameters(scope):
            found.append(scope)
    return found


def _binds_otherwise(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name == name or name in _parameters(node)
        case ast.Lambda(args=given):
            return any(each.arg == name for each in ast.walk(given) if isinstance(each, ast.arg))
        case ast.ClassDef() | ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return node.name == name
        case ast.MatchMapping():
            return node.rest == name
        case ast.alias():
            return name in {node.name.partition(".")[0], node.asname, "*"} or node.name == "*"
        case _:
            return False


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = node.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _names(target: ast.expr) -> list[str | None]:
    """Return the variables of a loop, in their order."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [each.id if isinstance(each, ast.Name) else None for each in parts]


def _tables(tree: ast.Module, known: Shared) -> Mapping[str, ast.expr]:
    """Return the tables at the top of a module that one loop or one test goes over."""
    count = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    found = {}
    for item in tree.body:
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=table):
                found[name] = table
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as table):
                found[name] = table
            case _:
                pass
    return {
        name: table
        for name, table in found.items()
        if count[name] == 2 and name not in known.elsewhere
    }


def _rows(store: _Store, name: str, tables: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """Yield the values that a variable gets, where they are written down one by one."""
    match store:
        case ast.Assign() | ast.AnnAssign():
            if store.value is not None:
                yield store.value
        case ast.For() | ast.AsyncFor():
            names = _names(store.target)
            single = isinstance(store.target, ast.Name)
            table = _table(store.iter, tables)
            yield from _column(table, None if single else names.index(name))
        case _:
            for call in store.decorator_list:
                if isinstance(call, ast.Call) and last_name(call) == "parametrize":
                    yield from _parametrized(call, name, tables)


def _table(node: ast.expr, tables: Mapping[str, ast.expr]) -> ast.expr:
    return tables.get(node.id, node) if isinstance(node, ast.Name) else node


def _parametrized(call: ast.Call, name: str, tables: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    if len(call.args) != 2 or any(each.arg not in {"ids", None} for each in call.keywords):
        return
    names = _named(call.args[0])
    if name in names:
        table = _table(call.args[1], tables)
        yield from _column(table, None if len(names) == 1 else names.index(name))


def _named(node: ast.expr) -> list[str]:
    """Return the names of parameters, as pytest reads them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [each.strip() for each in node.value.split(",") if each.strip()]
    parts: Iterable[ast.expr] = node.elts if isinstance(node, ast.Tuple | ast.List) else ()
    return [str(each.value) for each in parts if isinstance(each, ast.Constant)]


def _column(table: ast.expr, number: int | None) -> Iterator[ast.expr]:
    """Yield what stands in a column of a table; the row itself where it cannot be told."""
    if not isinstance(table, ast.List | ast.Tuple):
        return
    for row in table.elts:
        parts = row.elts if isinstance(row, ast.Tuple | ast.List) else []
        if isinstance(row, ast.Call) and last_name(row) == "param":
            parts = row.args
        elif number is None:
            parts = [row]
        yield parts[number or 0] if len(parts) > (number or 0) else row
