"""Tests with other expected values fail; those that pass cannot tell right from wrong."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path

import pytest

from planbound.judging.reached import made_to_fail, not_reached
from planbound.judging.retold import RetoldJudge, retell
from planbound.judging.watched import text_inside
from planbound.script.runners.mutated import (
    MutatedRun,
    MutatedTests,
    looked,
    mutated_run,
    read_answered,
    read_mutated,
)
from planbound.script.runners.runner import JudgedTree
from tests.cli.test_judge import Project, plan_text
from tests.judging.test_canary import outcome

JUDGE = "tests/test_calc.py"
HONEST = """\
class Pair:
    def __init__(self, one, two):
        self.one, self.two = one, two

    def __eq__(self, other):
        return self.one == other.one


def add(a, b):
    return a + b


def items():
    return [1, 2]
"""
EVERYTHING = """\
class Everything:
    def __eq__(self, other):
        return True

    __hash__ = None


def Pair(one, two):
    return Everything()


def add(a, b):
    return Everything()


def items():
    return [Everything(), Everything()]
"""
TESTS = """\
import unittest
from unittest.mock import ANY

import pytest

from calc import Pair, add, items


def check(value):
    assert add(1, 2) == value


def test_number():
    assert add(1, 2) == 3


def test_left():
    assert 3 == add(1, 2)


@pytest.mark.parametrize("a, b, total", [(1, 2, 3), ("a", "b", "ab")])
def test_table(a, b, total):
    assert add(a, b) == total


def test_approx():
    assert add(0.1, 0.2) == pytest.approx(0.3)


def test_object():
    assert Pair(1, 2) == Pair(1, 3)


def test_inside():
    assert items() == [ANY, 2]


def test_both():
    assert add(1, 1) == 2 and add(2, 2) == 4


class TestCases(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(add(1, 1), 2)

    def test_almost(self):
        self.assertAlmostEqual(add(0.1, 0.2), 0.3)

    def test_parts(self):
        for number in range(3):
            with self.subTest(number):
                self.assertEqual(add(number, 1), number + 1)


# -- nothing can be said of these ------------------------------------------------------------------


def test_raises_here():
    with pytest.raises(AssertionError):
        assert add(1, 2) == 4


def test_raises_there():
    with pytest.raises(AssertionError):
        check(-100)


def test_taken():
    try:
        assert add(1, 2) == 4
    except AssertionError:
        pass


def test_unequal():
    assert not add(1, 2) == 4


def test_anything():
    assert add(1, 2) == ANY


def test_is():
    assert (add(1, 2) == 4) is False


@pytest.mark.xfail
def test_later():
    assert add(1, 2) == 4


@pytest.mark.skip
def test_never():
    assert add(1, 2) == 4
"""
NAMED = {
    "test_number", "test_left", "test_table[1-2-3]", "test_table[a-b-ab]", "test_approx",
    "test_object", "test_inside", "test_both", "test_equal", "test_almost", "test_parts",
}  # fmt: skip
SILENT = {
    "test_raises_here", "test_raises_there", "test_taken", "test_unequal", "test_anything",
    "test_is", "test_later", "test_never",
}  # fmt: skip


def mutated(root: Path, command: str, product: str, tests: str = TESTS) -> MutatedTests:
    notes, run, code = ran(root, command, product, tests)
    assert (root / JUDGE).read_text() == tests
    return read_mutated(notes, run.notes, passes=code == 0)


def ran(
    root: Path, command: str, product: str, tests: str, told: RetoldJudge | None = None
) -> tuple[dict[str, bytes], MutatedRun, int]:
    """Run tests with other values: in the loaded judge, or in its text where that is told."""
    tree = {"calc.py": product, JUDGE: told.text.decode() if told else tests}
    run = mutated_run(
        JudgedTree(tuple(tree), lambda _path: None, "ab12"),
        [JUDGE],
        text_inside,
        retold={JUDGE: told.settings} if told else {},
        tests={JUDGE: sorted(chain.from_iterable(made_to_fail(tests.encode()).values()))},
    )
    files = {**{path: text.encode() for path, text in tree.items()}, **dict(run.added.files)}
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    added = {each.name: each.value.format(workspace=root) for each in run.added.environment}
    code, _text = outcome(root, command, added)
    notes = {path: (root / path).read_bytes() for path in run.notes if (root / path).exists()}
    return notes, run, code


def names(tests: tuple[str, ...]) -> set[str]:
    return {test.rpartition("::")[2].rpartition(".")[2] for test in tests}


@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize(
    "command", ["python -m pytest -q tests", "python -m pytest -q -x --assert=plain tests"]
)
def test_honest_tests_notice_other_values(tmp_path: Path, command: str) -> None:
    found = mutated(tmp_path, command, HONEST)
    assert not found.blind
    # By chance -100 may become what is right; then the test that wants a failure fails.
    assert names(found.sensitive) | {"test_raises_there"} == NAMED | {"test_raises_there"}
    assert names(found.silent) | {"test_raises_there"} == SILENT


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_an_object_that_is_equal_to_everything_makes_tests_blind(tmp_path: Path) -> None:
    found = mutated(tmp_path, "python -m pytest -q tests", EVERYTHING)
    assert names(found.blind) >= NAMED - {"test_object"}
    # It is equal to whatever any test expects.
    assert names(found.blind) <= NAMED | {"test_raises_there", "test_taken"}


OBJECTS = """\
import io
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class Point:
    x: int = 0


class Warmth:
    def __init__(self, degrees):
        self.degrees = degrees

    def __eq__(self, other):
        return abs(self.degrees - other.degrees) <= 10


class Text:
    def __init__(self, text):
        self.file, self.name = io.StringIO(text), "text"

    def __eq__(self, other):
        self.file.seek(0)
        other.file.seek(0)
        return self.file.read().split() == other.file.read().split()


class Unit:
    pass
"""
TESTS_OF_OBJECTS = """\
import sys

sys.path.insert(0, ".")
import calc


def test_slots():
    assert calc.Point() == calc.Point(0)


def test_tolerance():
    assert calc.Warmth(20) == calc.Warmth(22)


def test_file():
    assert calc.Text("a  b") == calc.Text("a b")


def test_nothing():
    unit = calc.Unit()
    assert unit == unit
"""


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_objects_that_are_equal_by_what_they_hold_are_not_blind(tmp_path: Path) -> None:
    found = mutated(tmp_path, "python -m pytest -q tests", OBJECTS, TESTS_OF_OBJECTS)
    assert not found.blind
    assert "test_slots" in names(found.sensitive)
    # A copy shares the file, and so says nothing.
    assert "test_file" in names(found.silent)


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize("command", ["python -m unittest tests/test_calc.py", "python {main}"])
def test_unittest_and_programs_are_changed_too(tmp_path: Path, command: str) -> None:
    tests = "import sys\nsys.path.insert(0, '.')\n" + TESTS
    tests += "\n\nif __name__ == '__main__':\n    unittest.main()\n"
    command = command.format(main="tests/test_calc.py")
    wanted = {"test_equal", "test_almost", "test_parts"}
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert names(mutated(tmp_path / "one", command, HONEST, tests).sensitive) == wanted
    assert names(mutated(tmp_path / "two", command, EVERYTHING, tests).blind) == wanted


@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize(("product", "blind"), [(HONEST, 0), (EVERYTHING, 1)])
def test_a_program_of_plain_assertions_is_one_test(
    tmp_path: Path, product: str, blind: int
) -> None:
    tests = "import sys\nsys.path.insert(0, '.')\nfrom calc import add\n\nassert add(1, 2) == 3\n"
    found = mutated(tmp_path, "python tests/test_calc.py", product, tests)
    assert len(found.blind) == blind


@pytest.mark.requirement("judging.mutated")
def test_modulo_numbers_are_told_from_objects_that_are_equal_to_everything(tmp_path: Path) -> None:
    product = (
        "class Size:\n    def __init__(self, value):\n        self.value = value // 10**6\n\n"
        "    def __eq__(self, other):\n        return self.value == int(other) // 10**6\n\n\n"
        "def add(a, b):\n    return Size(a + b)\n"
    )
    tests = "from calc import add\n\n\ndef test_size():\n    assert add(1, 2) == 3\n"
    found = mutated(tmp_path, "python -m pytest -q tests", product, tests)
    assert not found.blind


# -- code that looks at its tests ------------------------------------------------------------------

ASKED = """\
import pytest

from calc import add

TOTAL = 40
TABLE = [(1, 2, 3)]


@pytest.mark.parametrize("a, b, total", [(1, 2, 3), ("a", "b", "ab"), pytest.param(1, 1, 2)])
def test_rows(a, b, total):
    assert add(a, b) == total


@pytest.mark.parametrize("a, b, total", TABLE)
def test_table(a, b, total):
    \"\"\"Its values stand elsewhere.\"\"\"
    assert add(a, b) == total


def test_literal():
    assert add(1, 2) == 3


def test_left():
    assert -7 == add(-3, -4)


def test_text():
    expected = \"\"\"a
b\"\"\"
    assert add("a", "\\nb") == expected


def test_loop():
    for a, expected in [(1, 2), (2, 3)]:
        assert add(a, 1) == expected


def test_module():
    assert add(20, 20) == TOTAL


def test_approx():
    assert add(0.1, 0.2) == pytest.approx(0.3)


def test_list():
    assert [add(1, 1)] == [2]


def test_truth():
    assert (add(1, 1) == 2) == True


# -- nothing can be said of these ------------------------------------------------------------------


def test_there_and_back():
    text = "abc"
    assert add(text, "") == text


def test_raises():
    with pytest.raises(AssertionError):
        assert add(1, 2) == 4


@pytest.mark.xfail
def test_later():
    assert add(1, 2) == 4
"""
PEEKS = """\
import ast
import linecache
import sys


class Answer:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other


def add(a, b):
    frame = sys._getframe(1)
    while "test_calc" not in frame.f_code.co_filename or frame.f_code.co_name.startswith("<"):
        frame = frame.f_back
    line = linecache.getlines(frame.f_code.co_filename)[frame.f_lineno - 1].strip()
    tests = ast.parse(line).body[0].test
    for each in tests.values if isinstance(tests, ast.BoolOp) else [tests]:
        if isinstance(each.left, ast.Compare):
            return a + b
        sides = [each.left, each.comparators[0]]
        given = [side for side in sides if "add(%r, %r)" % (a, b) in ast.unparse(side)]
        sides = [side for side in sides if "add(" not in ast.unparse(side)]
        if given or len(sides) == 1:
            names = {**frame.f_globals, **frame.f_locals}
            value = eval(compile(ast.Expression(sides[0]), "x", "eval"), names)
            value = getattr(value, "expected", value)
            return Answer(value[0] if isinstance(value, list) else value)
"""
ANSWERED = {
    "test_rows", "test_table", "test_literal", "test_left", "test_text", "test_loop", "test_module",
    "test_approx", "test_list",
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize(("product", "answered"), [(HONEST, set()), (PEEKS, ANSWERED)])
def test_answers_that_follow_the_text_of_a_test_are_seen(
    tmp_path: Path, product: str, answered: set[str]
) -> None:
    told = retell(ASKED.encode(), random.Random(1))
    assert told is not None
    notes, run, _code = ran(tmp_path, "python -m pytest -q tests", product, ASKED, told)
    assert names(tuple(read_answered(notes, run.notes))) == answered


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_what_is_equal_to_both_values_is_not_read_from_the_test(tmp_path: Path) -> None:
    product = (
        "class Size:\n    def __init__(self, value):\n        self.value = value // 10**6\n\n"
        "    def __eq__(self, other):\n        return self.value == int(other) // 10**6\n\n\n"
        "def add(a, b):\n    return Size(a + b)\n"
    )
    tests = "from calc import add\n\n\ndef test_size():\n    assert add(1, 2) == 3\n"
    for seed in range(2):
        told = retell(tests.encode(), random.Random(seed))
        assert told is not None
        notes, run, _code = ran(tmp_path, "python -m pytest -q tests", product, tests, told)
        assert not read_answered(notes, run.notes)


@pytest.mark.requirement("judging.mutated")
def test_no_cycle_of_numbers_takes_another_value_for_the_same() -> None:
    for seed in range(300):
        told = retell(b"def test_add():\n    assert add(1, 2) == 3\n", random.Random(seed))
        assert told is not None
        changed = int(told.text.rpartition(b"== ")[2])
        assert all((changed - 3) % length for length in (2, 7, 12, 24, 60, 360, 365, 1000))


LOOKING = {
    "sys._getframe": "import sys\n\n\ndef add(a, b):\n    sys._getframe(1)\n    return a + b\n",
    "inspect": "import inspect\n\n\ndef add(a, b):\n    inspect.stack()\n    return a + b\n",
    "logging": "import logging\n\n\ndef add(a, b):\n    logging.currentframe()\n    return a + b\n",
    "traceback": "def add(a, b):\n    try:\n        raise ValueError\n"
    "    except ValueError as error:\n        error.__traceback__.tb_frame\n    return a + b\n",
    "open": "import os\n\nos.close(os.open('tests/test_calc.py', os.O_RDONLY))\n\n\n"
    "def add(a, b):\n    return a + b\n",
    "elsewhere": "import os\n\nopen('/proc/self/cwd/tests/test_calc.py').close()\n\n\n"
    "def add(a, b):\n    return a + b\n",
    "another program": "import os\n\nos.system('true')\n\n\ndef add(a, b):\n    return a + b\n",
    "gc": "import gc\n\n\ndef add(a, b):\n    gc.get_objects()\n    return a + b\n",
    "a function": "import sys\n\n\ndef add(a, b):\n    module = sys.modules['test_calc']\n"
    "    vars(module)['test_add'].__code__\n    return a + b\n",
    "a module": "import sys\n\n\ndef add(a, b):\n    sys.modules['test_calc'].CASES\n"
    "    return a + b\n",
    "members": "import inspect\nimport sys\n\n\ndef add(a, b):\n"
    "    inspect.getmembers(sys.modules['test_calc'])\n    return a + b\n",
    "the environment": "import os\n\n\ndef add(a, b):\n"
    "    os.getenv('PYTEST_CURRENT_TEST')\n    return a + b\n",
    "a disguise": "import typing\n\nexec(compile('import sys\\n\\n\\ndef add(a, b):\\n"
    "    sys._getframe(1)\\n    return a + b\\n', typing.__file__, 'exec'))\n",
}
EVERYDAY = """\
import dataclasses
import enum
import logging
import typing
import warnings
from collections import namedtuple

Pair = namedtuple("Pair", "one two")
Colour = enum.Enum("Colour", "RED BLUE")
Kind = typing.NewType("Kind", int)
Log = dataclasses.make_dataclass("Log", ["name"])


class Point(typing.NamedTuple):
    one: int


def add(a, b):
    logging.getLogger(Log("calc").name).warning("adding")
    warnings.warn("slow", stacklevel=2)
    with open(__file__) as file:
        file.read()
    return Pair(a, b).one + b
"""


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize("product", [*LOOKING.values(), EVERYDAY], ids=[*LOOKING, "everyday"])
def test_code_that_looks_at_its_tests_is_noted(tmp_path: Path, product: str) -> None:
    tests = "from calc import add\n\nCASES = [3]\n\n\ndef test_add():\n"
    tests += "    assert add(1, 2) == CASES[0]\n"
    notes, run, _code = ran(tmp_path, "python -m pytest -q tests", product, tests)
    assert looked(notes, run.notes) == (product is not EVERYDAY)


# -- every test fails once -------------------------------------------------------------------------

SILENT_TESTS = """\
import unittest

import pytest

from calc import add


def test_predicate():
    assert add(1, 2)


def test_raises():
    with pytest.raises(TypeError):
        add(1, "a")


def test_early():
    if add(1, 2):
        return
    assert add(1, 2) == 4


@pytest.mark.parametrize("number", [1, 2])
def test_rows(number):
    assert add(number, 1) > number


class TestCases(unittest.TestCase):
    def test_parts(self):
        for number in range(3):
            with self.subTest(number):
                self.assertTrue(add(number, 1))

    def test_raising_parts(self):
        for number in range(3):
            with self.subTest(number), self.assertRaises(TypeError):
                add(number, "a")

    def test_raises_too(self):
        with self.assertRaises(TypeError):
            add(1, "a")


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def test_waits(self):
        self.assertTrue(add(1, 2))
"""
LOST = {
    "another body": "import _pytest.python as runner\n\nreal = runner.Function.runtest\n"
    "runner.Function.runtest = lambda self: None\n\n\ndef add(a, b):\n    return 0\n",
    "another report": "from _pytest.reports import TestReport\n\n"
    "real = TestReport.from_item_and_call.__func__\n\n\ndef make(kind, item, call):\n"
    "    call.excinfo = None\n    return real(kind, item, call)\n\n\n"
    "TestReport.from_item_and_call = classmethod(make)\n\n\ndef add(a, b):\n    return 0\n",
}
STOPS = "from unittest.case import _ShouldStop\n\n\ndef add(a, b):\n    raise _ShouldStop\n"


def passed_by_force(root: Path, command: str, product: str) -> tuple[set[str], MutatedTests]:
    tests = "import sys\nsys.path.insert(0, '.')\n" + SILENT_TESTS
    notes, run, code = ran(root, command, product, tests)

    def unreached(passed: Sequence[str], _reached: Collection[str]) -> Sequence[str]:
        return not_reached({JUDGE: tests.encode()}, passed)

    found = read_mutated(notes, run.notes, passes=code == 0, not_reached=unreached)
    return {name.partition("[")[0] for name in names(found.unreached)}, found


@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize("command", ["python -m pytest -q tests", "python -m unittest {judge}"])
def test_honest_tests_without_an_equality_fail_at_their_own_end(
    tmp_path: Path, command: str
) -> None:
    lost, found = passed_by_force(tmp_path, command.format(judge=JUDGE), HONEST)
    assert not lost
    assert not found.blind
    assert not found.sensitive
    assert found.silent


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
@pytest.mark.parametrize("product", LOST.values(), ids=LOST)
def test_a_test_that_passes_although_it_has_to_fail_is_named(tmp_path: Path, product: str) -> None:
    lost, _found = passed_by_force(tmp_path, "python -m pytest -q tests", product)
    assert lost >= {"test_predicate", "test_raises", "test_rows"}


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_what_ends_a_test_without_a_word_is_named(tmp_path: Path) -> None:
    lost, _found = passed_by_force(tmp_path, f"python -m unittest {JUDGE}", STOPS)
    assert lost == {"test_parts", "test_raises_too", "test_waits"}


@pytest.mark.thorough
@pytest.mark.requirement("judging.mutated")
def test_a_judge_that_looks_at_the_text_of_the_tests_first_hides_none_of_them(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.pytest_project()
    known = hashlib.sha256((project.workspace / JUDGE).read_bytes()).hexdigest()
    project.write(
        "tests/look.py",
        "import hashlib, sys\n"
        f"found = hashlib.sha256(open({JUDGE!r}, 'rb').read()).hexdigest()\n"
        f"sys.exit(found != {known!r})\n",
    )
    project.plan("it", plan_text("python tests/look.py && python -m pytest -q tests"))
    project.baseline()
    project.do_the_work()
    found = project.first()
    assert (found["verdict"], found["mutated"]["sensitive"]) == ("pass", 2), found
