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
TRUTHS = {"assertTrue": ast.Eq, "assert_": ast.Eq, "assertFalse": ast.NotEq}
BROAD = {"AssertionError", "Exception", "BaseException"}
LITERALS = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.UnaryOp)
WANTED = ("expect", "want", "correct", "golden", "answer")
FAILURES = {"AssertionError", "SystemExit", "Exception", "RuntimeError"}
ENDS_IT = ("fail", "exit", "_exit")
AROUND = {"sys", "os", "platform", "environ", "argv", "version_info", "__name__", "getenv"}
"""Who asks for these asks where it runs, and compares no answer."""


class Equalities(ast.NodeTransformer):
    """Goes over the equalities of a judge, but for those whose failure the judge itself takes."""

    def catches(self, node):
        """Take a statement in whose body failures are taken."""

    def sides(self, _actual, expected):
        """Return what stands for both sides, and the number of the place; no side: a chain."""
        return _actual, expected, None

    def near(self, actual, expected):
        """Return what stands for two numbers that are to be close, and the number of the place."""
        return actual, expected, None

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

    def visit_If(self, node):
        """Change the comparison whose failure is said by what is done then: counted, or raised."""
        wrong, sites = None, []
        if gives_up(node.body):
            wrong, sites = node.body, self.unequal(node.test)
        elif gives_up(node.orelse):
            wrong, sites = node.orelse, [self.decided(node.test)]
        self.generic_visit(node)
        sites = [each for each in sites if each]
        return self.forked(node, wrong, sites) if sites else node

    def forked(self, node, _wrong, _sites):
        """Return what stands for a condition with equalities at these places."""
        return node

    def unequal(self, node):
        """Change what is a failure where it does not hold: `a != b`, or one of several."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return [site for each in node.values for site in self.unequal(each)]
        return [self.decided(node, ast.NotEq)]

    def decided(self, node, kind=ast.Eq):
        """Change a comparison of answers; of where it runs, or of plain values, none is changed."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.decided(node.operand, ast.NotEq if kind is ast.Eq else ast.Eq)
        if not isinstance(node, ast.Compare) or len(node.ops) > 1 or asks_around(node):
            return None
        return self.compare(node, kind)

    def visit_Assert(self, node):
        both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
        sites = [self.truth(each) for each in (node.test.values if both else [node.test])]
        return self.followed(node, [each for each in sites if each])

    def visit_Expr(self, node):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(call, ast.Call) or any(
            isinstance(each, ast.Starred) for each in call.args
        ):
            return self.generic_visit(node)
        name, site = last_name(call), None
        if name in TRUTHS and call.args:
            site = self.truth(call.args[0], TRUTHS[name])
        elif name in ("assertLess", "assertLessEqual") and call.args:
            site = self.distance(call.args[0])
        elif name in EQUALITIES and len(call.args) > 1:
            way = self.near if is_loose(call) else self.sides
            *call.args[:2], site = self.ordered(*call.args[:2], way)
        return self.generic_visit(node) if site is None else self.followed(node, [site])

    def truth(self, node, kind=ast.Eq):
        """Change the equality that has to hold, whatever it is wrapped in."""
        is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if is_not and isinstance(node.operand, ast.Compare):
            return self.compare(node.operand, ast.NotEq if kind is ast.Eq else ast.Eq)
        if isinstance(node, ast.Compare):
            is_less = all(isinstance(op, (ast.Lt, ast.LtE)) for op in node.ops)
            if is_less and len(node.ops) == 1 and kind is ast.Eq:
                return self.distance(node.left)
            return self.compare(node, kind)
        if not isinstance(node, ast.Call) or kind is not ast.Eq:
            return None
        if last_name(node) == "isclose" and len(node.args) > 1:
            *node.args[:2], site = self.ordered(*node.args[:2], self.near)
            return site
        return self.every(node)

    def every(self, node):
        """Change an equality that has to hold for all: `all(f(a) == b for a, b in cases)`."""
        parts = node.args if last_name(node) == "all" else []
        if len(parts) == 1 and isinstance(parts[0], (ast.GeneratorExp, ast.ListComp)):
            return self.compare(parts[0].elt)
        return None

    def distance(self, node):
        """Change one of two numbers whose distance has to be small: `abs(a - b)`."""
        inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else None
        if last_name(node) not in ("abs", "fabs") or not isinstance(inner, ast.BinOp):
            return None
        if not isinstance(inner.op, ast.Sub):
            return None
        inner.left, inner.right, site = self.ordered(inner.left, inner.right, self.near)
        return site

    def compare(self, node, kind=ast.Eq):
        if not isinstance(node, ast.Compare) or not all(isinstance(op, kind) for op in node.ops):
            return None
        if len(node.ops) > 1 and kind is not ast.Eq:
            return None
        if len(node.ops) > 1:
            _none, node.comparators[-1], site = self.sides(None, node.comparators[-1])
        else:
            node.left, node.comparators[0], site = self.ordered(node.left, node.comparators[0])
        return site

    def ordered(self, left, right, way=None):
        way = way or self.sides
        if is_expected(left, right):
            right, left, site = way(right, left)
        else:
            left, right, site = way(left, right)
        return left, right, site


def last_name(node: ast.AST) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return getattr(node, "attr", None) or getattr(node, "id", "")


def gives_up(body):
    """Say whether a failure is told there: it is raised, counted, or kept."""
    return any(map(tells_failure, body))


def tells_failure(node):
    if isinstance(node, ast.Raise):
        return node.exc is not None and last_name(node.exc) in FAILURES
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, (ast.Add, ast.BitOr))
    if isinstance(node, ast.Assign):
        return isinstance(node.value, ast.Constant) and type(node.value.value) in (bool, int)
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    if last_name(call) in ("exit", "_exit"):
        return bool(call.args) and getattr(call.args[0], "value", 1) not in (0, None)
    return last_name(call) in ("fail", "append")


def asks_around(node):
    return any(getattr(each, "id", getattr(each, "attr", "")) in AROUND for each in ast.walk(node))


def is_loose(call):
    """Say whether it is not known what an assertion compares, or how closely."""
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
