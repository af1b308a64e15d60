"""Judges are changed while they are loaded, and what becomes of their tests is written down."""

import ast
import atexit
import builtins
import os
import sys

from planbound.judging.inside.comparing import (
    BUILT,
    CATCHING,
    FORKS,
    actual,
    expected,
    near,
    passed,
    weigh,
)
from planbound.judging.inside.equalities import ENDS_IT, LITERALS, Equalities, last_name
from planbound.judging.inside.failing import Failing
from planbound.judging.inside.genuine import check_libraries
from planbound.judging.inside.peering import Peering, looked_at, peer
from planbound.judging.inside.notes import (
    PID,
    ROOT,
    STATE,
    alone,
    begin,
    end,
    ended,
    finish,
    is_judge,
    is_product,
    note,
    place,
)
from planbound.judging.inside.noted import Noted
from planbound.judging.inside.looking import watch_looks, watch_modules
from planbound.judging.inside.retelling import place_of, rebound, retold
from planbound.judging.inside.settings import HOOK, TESTS


class Mutating(Equalities):
    """Puts calls into a judge: before each side of an equality, and behind the assertion."""

    def __init__(self, path):
        self.path = path
        self.tests = TESTS.get(place(path), ())
        self.lines = CATCHING.setdefault(os.path.abspath(path), [])

    def catches(self, node):
        self.lines.append((node.body[0].lineno, node.body[-1].end_lineno))

    def sides(self, actual, expected):
        STATE["sites"] += 1
        site = STATE["sites"]
        place_of(site, self.path, expected)
        if is_built(actual) or is_built(expected):
            BUILT.add(site)
        one = actual and called("a", site, actual, actual)
        return one, called("e", site, expected, expected), site

    def near(self, actual, expected):
        STATE["sites"] += 1
        site = STATE["sites"]
        one = called("a", site, actual, actual)
        return one, called("n", site, expected, expected), site

    def followed(self, node, sites):
        more = [ast.copy_location(ast.Expr(called("p", each, node)), node) for each in sites]
        return [node, *more]

    def forked(self, node, wrong, sites):
        """See where a condition leads: to the other branch, or past a failure that is none."""
        held = [ast.copy_location(ast.Expr(called("p", each, node)), node) for each in sites]
        for each in sites:
            FORKS.add(each)
        if wrong is node.body:
            node.orelse = [*held, *node.orelse]
        else:
            node.body = [*held, *node.body]
        last = wrong[-1].value if isinstance(wrong[-1], ast.Expr) else None
        if isinstance(last, ast.Call) and last_name(last) in ENDS_IT:
            wrong += held
        return node

    def rebinds(self, node):
        """Put other values into variables, before anything else is done with them."""
        found = retold(self.path) or {"rebound": {}}
        self.generic_visit(node)
        first = node.body[0]
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        for name in found["rebound"].get(str(node.lineno), ()):
            value = called("r", 0, first, ast.copy_location(ast.Name(name, ast.Load()), first))
            made = ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), first)], value)
            node.body.insert(int(is_text), ast.copy_location(made, first))
        return node

    visit_For = visit_AsyncFor = rebinds

    def visit_FunctionDef(self, node):
        line = node.lineno
        self.rebinds(node)
        if line in self.tests:
            first = node.body[0]
            is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            node.body[int(is_text) :] = fails(node.body[int(is_text) :] or [first], whole=True)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_With(self, node):
        node = super().visit_With(node)
        # What else stands in the line may take a failure.
        if len(node.items) == 1 and last_name(node.items[0].context_expr) == "subTest":
            node.body = fails(node.body, whole=False)
        return node


def is_built(node):
    """Say whether an expression makes an object of plain values: `Point(1, 2)`."""
    if not isinstance(node, ast.Call):
        return False
    given = [*node.args, *(each.value for each in node.keywords)]
    return bool(given) and all(isinstance(each, LITERALS) for each in given)


def fails(body, whole):
    """Return a body that fails at its own end."""
    near = body[0]
    call = called("f", near.lineno, near, ast.copy_location(ast.Constant(whole), near))
    return [ast.copy_location(ast.With([ast.withitem(call, None)], body), near)]


def called(name, site, near, *nodes):
    made = ast.Call(ast.Name(HOOK + name, ast.Load()), [ast.Constant(site), *nodes], [])
    for each in (made, made.func, made.args[0]):
        ast.copy_location(each, near)
    return made


def transform(tree, path):
    Mutating(path).visit(tree)
    Peering().visit(tree)


def code_of(data, path):
    tree = ast.parse(data, path)
    transform(tree, path)
    return compile(tree, path, "exec", dont_inherit=True)


def change_imports():
    import importlib.machinery

    loader = importlib.machinery.SourceFileLoader
    real = loader.get_code

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return code_of(self.get_data(path), path) if is_judge(path) else real(self, fullname)

    loader.get_code = get_code


def change_rewriting():
    """Pytest compiles tests itself."""
    from _pytest.assertion import rewrite, util

    real, read = rewrite.rewrite_asserts, rewrite._read_pyc

    def rewriting(tree, source, module_path=None, config=None):
        if module_path and is_judge(str(module_path)):
            transform(tree, str(module_path))
        return real(tree, source, module_path, config)

    rewrite.rewrite_asserts = rewriting
    rewrite._read_pyc = lambda source, *rest: None if is_judge(str(source)) else read(source, *rest)
    rewrite._write_pyc = lambda *_arguments: True
    # Nobody reads why a test fails, and long values take long to be compared.
    util.assertrepr_compare = lambda *_arguments, **_named: None
    STATE["pytest"] = True


def change_results(module):
    kind = module.TestResult

    def wrap(method, how):
        real = getattr(kind, method, None)

        def noted(self, test, *rest):
            if not STATE["pytest"]:
                if method == "startTest":
                    alone()
                    self.failfast = False
                    watch_modules()
                    begin(test.id())
                elif method == "stopTest":
                    finish()
                elif method != "addSubTest" or rest[-1] is not None:
                    # A part of a test may be skipped alone.
                    ended(getattr(test, "test_case", test).id(), how)
            return real(self, test, *rest)

        if real is not None:
            setattr(kind, method, noted)

    stop = kind.stopTestRun

    def stopped(self):
        weigh()
        return stop(self)

    kind.stopTestRun = stopped
    wrap("startTest", "")
    wrap("stopTest", "")
    wrap("addSuccess", "passed")
    for method in ("addExpectedFailure", "addSkip"):
        wrap(method, "skipped")
    for method in ("addFailure", "addError", "addUnexpectedSuccess", "addSubTest"):
        wrap(method, "failed")


def change_cases(module):
    class Nothing:
        ndiff = unified_diff = staticmethod(lambda *_arguments, **_named: [])

    if hasattr(module, "difflib"):
        module.difflib = Nothing


def main_judge():
    """Return the judge that is run as a program."""
    words = list(getattr(sys, "orig_argv", []))[1:]
    while words and words[0].startswith("-") and words[0] not in ("-", "-c", "-m"):
        words = words[2:] if words[0] in ("-W", "-X") else words[1:]
    if not words or words[0].startswith("-"):
        return None
    return os.path.abspath(words[0]) if is_judge(words[0]) else None


def run_main(path):
    """Run a judge as Python itself would, but changed."""
    module = sys.modules["__main__"]
    vars(module).update(__file__=path, __builtins__=builtins)
    sys.path.insert(0, os.path.dirname(path))
    status = 0
    leave_main(path)
    try:
        with open(path, "rb") as file:
            code = code_of(file.read(), path)
        watch_modules()
        note("began", "")
        exec(code, vars(module))
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        if status == 1 and left.code != 1:
            print(left.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    close()
    note("main", [os.path.relpath(path, ROOT), status])
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(status & 255)


def close():
    """Write down what is known at the end of a process."""
    end()
    weigh()
    check_libraries(whole=True)


def leave_main(path):
    """A judge may end its own program, wherever it is."""
    real = os._exit

    def leave(status):
        frame = sys._getframe(1)
        while frame is not None and not is_product(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None and os.getpid() == PID:
            close()
            note("main", [os.path.relpath(path, ROOT), status])
        real(status)

    os._exit = leave


def start():
    calls = {"a": actual, "e": expected, "n": near, "p": passed, "r": rebound, "f": Failing}
    calls |= {"l": looked_at, "w": peer}
    STATE["check"] = check_libraries
    watch_looks()
    for name, function in calls.items():
        setattr(builtins, HOOK + name, function)
    atexit.register(close)
    change_imports()
    Noted.changes = {"unittest.result": change_results, "unittest.case": change_cases}
    sys.meta_path.insert(0, Noted)


start()
