"""Comparisons of a judge whose values are left alone: who is equal to much is seen there, too.

It is asked after the comparison, which stays as it is.
"""

import _thread
import ast
import sys

from planbound.judging.inside.comparing import seen
from planbound.judging.inside.notes import STATE, is_product
from planbound.judging.inside.settings import HOOK
from planbound.judging.inside.values import change, file_of, some

KINDS = {ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in"}
OF_ARRAYS = ("allclose", "array_equal", "array_equiv")
SIMPLE = (ast.Name, ast.Constant)
LOOKED = {}
"""By thread and place: both sides of a comparison that is under way."""
PEERED = {}
TOO_OFTEN = 500
BUILTIN = (int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set, frozenset)


class Peering(ast.NodeTransformer):
    """Puts a call around each comparison that nobody changes."""

    def __init__(self):
        self.number = 0

    def visit_Compare(self, node):
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        if len(node.ops) > 1 or type(node.ops[0]) not in KINDS or any(map(is_hooked, sides)):
            return node
        self.number += 1
        STATE["sites"] += 1
        site, kind = STATE["sites"], ast.Constant(KINDS[type(node.ops[0])])
        if not all(isinstance(each, SIMPLE) for each in sides):
            node.left = hooked("l", site, ast.Constant(0), node.left)
            node.comparators = [hooked("l", site, ast.Constant(1), node.comparators[0])]
            sides = []
        return hooked("w", site, kind, node, *sides)

    def visit_Call(self, node):
        """Look at what numpy says of two arrays, too."""
        self.generic_visit(node)
        if name_of(node) not in OF_ARRAYS or len(node.args) < 2:
            return node
        if any(isinstance(each, ast.Starred) for each in node.args):
            return node
        STATE["sites"] += 1
        site = STATE["sites"]
        for number in (0, 1):
            node.args[number] = hooked("l", site, ast.Constant(number), node.args[number])
        return hooked("w", site, ast.Constant(name_of(node)), node)

    def visit_Expr(self, node):
        self.generic_visit(node)
        call = node.value
        plain = isinstance(call, ast.Call) and len(call.args) in (2, 3)
        if (
            not plain
            or name_of(call) != "assertIn"
            or any(isinstance(each, ast.Starred) for each in call.args)
        ):
            return node
        STATE["sites"] += 1
        site = STATE["sites"]
        for number in (0, 1):
            call.args[number] = hooked("l", site, ast.Constant(number), call.args[number])
        kind, said = (ast.copy_location(ast.Constant(each), call) for each in ("in", True))
        held = hooked("w", site, kind, said)
        return [node, ast.copy_location(ast.Expr(held), node)]


def name_of(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", "")


def is_hooked(node):
    return isinstance(node, ast.Call) and name_of(node).startswith(HOOK)


def hooked(name, site, *nodes):
    near = nodes[-1]
    made = ast.Call(ast.Name(HOOK + name, ast.Load()), [ast.Constant(site), *nodes], [])
    for each in (made, made.func, *made.args):
        if not hasattr(each, "lineno"):
            ast.copy_location(each, near)
    return made


def looked_at(site, side, value):
    LOOKED.setdefault((_thread.get_ident(), site), [None, None])[side] = value
    return value


def peer(site, kind, result, *sides):
    """Ask those that are said to be equal, or to be held; return what was said."""
    one, two = sides or LOOKED.pop((_thread.get_ident(), site), (None, None))
    if type(one) in BUILTIN and type(two) in BUILTIN:
        return result
    count = PEERED[site] = PEERED.get(site, 0) + 1
    try:
        if count < TOO_OFTEN and bool(result) is (kind not in ("!=", "not in")):
            ask_both(kind, one, two)
    except Exception:
        pass
    return result


def ask_both(kind, one, two):
    if kind in OF_ARRAYS:
        function = getattr(sys.modules["numpy"], kind)
        if is_of_product(one) and all(function(one, [some(10**9)] * size) for size in (1, 2, 3)):
            seen()[2] += 1
        return
    if kind in ("in", "not in"):
        if is_of_product(two) and all(each in two for each in strangers()):
            seen()[2] += 1
            return
        two = next(iter(two)) if type(two) in (list, tuple, set, frozenset) and two else ""
    for each, other in ((one, two), (two, one)):
        if is_of_product(each) and is_equal_to_all(kind, each, other):
            seen()[2] += 1
            return


def is_of_product(value):
    return type(value) not in BUILTIN and is_product(file_of(type(value)))


def is_equal_to_all(kind, value, other):
    others = [change(other) for _ in range(12 + some(5))] + list(strangers())
    others = [each for each in others if each is not other]
    answers = [says_equal(kind, value, each) for each in others]
    # Who is equal to what is met first, or so many times, is not to what was right before.
    is_fickle = kind in ("==", "!=") and not says_equal(kind, value, other)
    return all(answers) or is_fickle


def says_equal(kind, value, other):
    return not bool(value != other) if kind == "!=" else bool(value == other)


def strangers():
    return object(), some(10**9), str(some(10**9)), (some(9),)
