"""Which equalities tests assert, and which side of one is expected.

The harness uses this, too, where it changes the values in the text of a judge.
"""

import ast

EQUALITIES = {
    "assertEqual", "assertEquals", "assertAlmostEqual", "assertAlmostEquals", "assertListEqual",
    "assertDictEqual", "assertSetEqual", "assertTupleEqual", "assertSequenceEqual",
    "assertMultiLineEqual", "assertCountEqual",
}  # fmt: skip
SWALLOWS = {
    "raises", "assertRaises", "assertRaisesRegex", "suppress", "RaisesGroup", "RaisesExc",
    "assertRaisesMessage", "warns", "deprecated_call",
}  # fmt: skip
BROAD = {"AssertionError", "Exception", "BaseException"}
LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.UnaryOp)
WANTED = ("expect", "want", "correct", "golden", "answer")


class Equalities(ast.NodeTransformer):
    """Goes over the equalities of a judge, but for those whose failure the judge itself takes."""

    def catches(self, node):
        """Take a statement in whose body failures are taken."""

    def sides(self, _actual, expected):
        """Return what stands for both sides, and the number of the place; no side: a chain."""
        return _actual, expected, None

    def followed(self, node, _sites):
        """Return what stands for a statement with equalities at these places."""
        return node

    def visit_Try(self, node):
        kinds = [each.type for each in node.handlers]
        names = {last_name(kind) for each in kinds for kind in getattr(each, "elts", [each])}
        if node.handlers and (None in kinds or names & BROAD):
            # The judge itself takes failures.
            self.catches(node)
            for part in (node.orelse, node.finalbody):
                part[:] = self.visited(part)
            return node
        return self.generic_visit(node)

    visit_TryStar = visit_Try

    def visited(self, statements):
        found = []
        for each in statements:
            new = self.visit(each)
            found += new if isinstance(new, list) else [new]
        return found

    def visit_With(self, node):
        if any(last_name(item.context_expr) in SWALLOWS for item in node.items):
            self.catches(node)
            return node
        return self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_Assert(self, node):
        both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
        sites = [self.compare(each) for each in (node.test.values if both else [node.test])]
        return self.followed(node, [each for each in sites if each])

    def visit_Expr(self, node):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        named = isinstance(call, ast.Call) and last_name(call) in EQUALITIES
        if not named or len(call.args) < 2 or is_loose(call):
            return self.generic_visit(node)
        *call.args[:2], site = self.ordered(*call.args[:2])
        return self.followed(node, [site])

    def compare(self, node):
        if not isinstance(node, ast.Compare) or not all(isinstance(op, ast.Eq) for op in node.ops):
            return None
        if len(node.ops) > 1:
            _none, node.comparators[-1], site = self.sides(None, node.comparators[-1])
        else:
            node.left, node.comparators[0], site = self.ordered(node.left, node.comparators[0])
        return site

    def ordered(self, left, right):
        if is_expected(left, right):
            right, left, site = self.sides(right, left)
        else:
            left, right, site = self.sides(left, right)
        return left, right, site


def last_name(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", None) or getattr(node, "id", "")


def is_loose(call):
    """Say whether it is not known what an assertion compares, or how closely."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return True
    places = [each.value for each in call.keywords if each.arg == "places"] + call.args[2:3]
    return last_name(call).startswith("assertAlmost") and (
        len(call.args) > 3
        or any(each.arg not in ("msg", "places") for each in call.keywords)
        or not all(isinstance(each, ast.Constant) for each in places)
    )


def is_expected(left, right):
    """Say whether the left side is what is expected."""
    for rank in (
        lambda node: last_name(node) == "approx" and isinstance(node, ast.Call),
        lambda node: isinstance(node, LITERALS),
        lambda node: any(each in last_name(node).lower() for each in WANTED),
    ):
        one, two = rank(left), rank(right)
        if one or two:
            return one and not two
    return False
