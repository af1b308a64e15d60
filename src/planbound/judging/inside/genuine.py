"""Whether libraries that judges assert with still assert: what they are, and what they say.

Code that does not stand in the file that it claims is not the library's. And what must fail has to.
"""

import os
import sys

from planbound.judging.inside.looking import mark, marks_of
from planbound.judging.inside.notes import STATE, is_judge, is_product, note

LIBRARIES = ("doctest", "unittest.mock", "numpy.testing", "numpy.testing._private.utils")
FUNCTION = type(lambda: None)
DEFINED = {}
"""By module what its file defines: names, with the names in a class."""
GENUINE_OF = {}
KNOWN = {}
"""By identity the code that was found genuine."""
CHECKS = {"left": 50}


def check_libraries(*, whole=False):
    """Write down which assertions of libraries are not theirs, or do not fail any more."""
    if os.getpid() != STATE["pid"]:
        return
    CHECKS["left"] -= 1
    for name in LIBRARIES:
        module = sys.modules.get(name)
        if module is None and name == "doctest":
            main = sys.modules.get("__main__")
            is_it = os.path.basename(str(getattr(main, "__file__", ""))) == "doctest.py"
            module = main if is_it and hasattr(main, "OutputChecker") else None
        if module is None:
            continue
        try:
            found = foreign_in(module)
            if found is None and (whole or CHECKS["left"] > 0):
                found = PROBES[name](module) if name in PROBES else None
        except Exception:
            found = None
        if found is not None:
            note("patched", f"{name}.{found}")


def foreign_in(module):
    """Return what of a module's own is not what its file says."""
    for name, value in list(vars(module).items()):
        if name not in defined_by(module):
            continue
        if isinstance(value, type):
            inner = defined_by(module)[name]
            for each, method in list(vars(value).items()):
                if each in inner and is_foreign(method):
                    return f"{name}.{each}"
        elif is_foreign(value):
            return name
    return None


def defined_by(module):
    """Return the names that a module may have of its file; those of a package it takes in."""
    key = module.__name__
    if key not in DEFINED:
        path = module.__file__
        if os.path.basename(path) == "__init__.py":
            DEFINED[key] = {name: () for name in vars(module) if name.startswith("assert_")}
        else:
            with open(path, "rb") as file:
                top = compile(file.read(), path, "exec", dont_inherit=True)
            DEFINED[key] = {
                each.co_name: {inner.co_name for inner in codes_in(each)} for each in codes_in(top)
            }
    return DEFINED[key]


def codes_in(code):
    return [each for each in code.co_consts if isinstance(each, type(code))]


def is_foreign(value):
    """Say whether something is code that stands in no file of a library."""
    value = getattr(value, "__func__", value)
    if not isinstance(value, FUNCTION):
        return is_product(getattr(sys.modules.get(type(value).__module__), "__file__", "") or "")
    code = value.__code__
    if KNOWN.get(id(code)) is code:
        return False
    path = code.co_filename
    if path.startswith("<") or is_judge(path):
        # It was made at run time: nobody knows whose it is but by its module.
        return is_product(str(value.__globals__.get("__file__") or ""))
    if is_product(path) or mark(code) not in marks_in(path):
        return True
    KNOWN[id(code)] = code
    return False


def marks_in(path):
    if path not in GENUINE_OF:
        try:
            with open(path, "rb") as file:
                top = compile(file.read(), path, "exec", dont_inherit=True)
            GENUINE_OF[path] = set(marks_of(top))
        except (OSError, SyntaxError, ValueError):
            GENUINE_OF[path] = ()
    return GENUINE_OF[path]


def is_silent(function, *arguments, **named):
    """Say whether a call that has to fail does not."""
    try:
        function(*arguments, **named)
    except AssertionError:
        return False
    return True


def probe_doctest(module):
    checker = module.OutputChecker()
    wrong = checker.check_output("1\n", "2\n", 0) or not checker.check_output("1\n", "1\n", 0)
    return "OutputChecker.check_output" if wrong else None


def probe_mock(module):
    called = module.Mock()
    called(1)
    for name in ("assert_called_once_with", "assert_called_with", "assert_any_call"):
        if is_silent(getattr(called, name), 2):
            return f"Mock.{name}"
    if is_silent(called.assert_has_calls, [module.call(2)]):
        return "Mock.assert_has_calls"
    if is_silent(called.assert_not_called):
        return "Mock.assert_not_called"
    fresh = module.Mock()
    if is_silent(fresh.assert_called_once) or is_silent(fresh.assert_called):
        return "Mock.assert_called"
    return "call" if module.call(1) == module.call(2) else None


def probe_numpy(module):
    for name in ("assert_array_equal", "assert_allclose", "assert_equal"):
        if is_silent(getattr(module, name), 1, 2):
            return name
    return None


PROBES = {"doctest": probe_doctest, "unittest.mock": probe_mock, "numpy.testing": probe_numpy}
