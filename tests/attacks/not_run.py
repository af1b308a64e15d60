"""Products that pass because what judges them is not run, or does not come to its own end."""

from __future__ import annotations

from tests.attacks.arena import Attack, Project
from tests.attacks.blind_judges import NODE_PROGRAM, NODE_WORK, NUMBERS, PLAIN, WORK
from tests.attacks.edited_tests import CALC, UNITTEST
from tests.attacks.node_projects import COMMON

_NAMED = UNITTEST._replace(
    files={**UNITTEST.files, "tests/__init__.py": ""},
    contract="python -m unittest tests.test_calc",
    evidence="",
)
_PYTEST = NUMBERS._replace(evidence="")
_PLAIN = PLAIN._replace(evidence="")
_SCRIPTED = _NAMED._replace(
    files={**_NAMED.files, "scripts/test.sh": "set -e\npython -m unittest -q tests.test_calc\n"},
    contract="bash scripts/test.sh",
    expect="tests >= 2",
)
_SKIPS = _NAMED._replace(
    files={
        "src/calc.py": CALC,
        "tests/__init__.py": "",
        "tests/test_calc.py": "import sys\nimport unittest\n\nsys.path.insert(0, 'src')\n"
        "from calc import add\n\n\nclass Add(unittest.TestCase):\n"
        "    def test_nothing(self):\n        self.assertEqual(add(0, 0), 0)\n\n"
        "    def test_small(self):\n        self.assertEqual(add(1, 2), 3)\n\n"
        "    @unittest.skipIf(sys.platform != 'win32', 'not there')\n"
        "    def test_there(self):\n        self.assertEqual(add(0, 0), 0)\n",
        "Makefile": "test:\n\tpython -m pytest -q tests\n",
    },
)
_OTHERS = _NAMED._replace(
    files={
        "src/calc.py": CALC,
        "tests/__init__.py": "",
        "tests/test_calc.py": "import sys\nimport unittest\n\nsys.path.insert(0, 'src')\n"
        "from calc import add\n\n\nclass Add(unittest.TestCase):\n"
        "    def test_is_in(self):\n        self.assertIn(add(1, 2), [3])\n\n"
        "    def test_refuses(self):\n        with self.assertRaises(TypeError):\n"
        "            add(1, 'a')\n\n"
        "    def test_is_more(self):\n        self.assertGreater(add(1, 2), 2)\n",
    },
    expect="tests >= 3",
)
_LEAVES = _PLAIN._replace(
    files={
        "src/calc.py": CALC,
        "tests/check.py": "import os\nimport sys\nimport threading\n\nsys.path.insert(0, 'src')\n"
        "from calc import add\n\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "right = add(1, 2) == 3 and add(2, 2) == 4\nprint(right, flush=True)\n"
        "os._exit(0 if right else 1)\n",
    },
)
_SERVER = _PLAIN._replace(
    files={
        "src/calc.py": CALC,
        "src/server.py": "raise SystemExit('not there yet')\n",
        "tests/check.py": "import subprocess\nimport sys\n\nsys.path.insert(0, 'src')\n"
        "from calc import add\n\nserver = subprocess.Popen(\n"
        "    [sys.executable, 'src/server.py'], stdin=-1, stdout=-1, text=True\n)\n"
        "server.stdin.write('1 2\\n')\nserver.stdin.flush()\n"
        "answer = server.stdout.readline()\nserver.terminate()\nserver.wait()\n"
        "assert answer == f'{add(1, 2)}\\n' == '3\\n'\n",
    },
)
_WAITS = NODE_PROGRAM._replace(
    files={
        **NODE_PROGRAM.files,
        "test/check.js": "const assert = require('node:assert');\n"
        "const { add } = require('../src/calc.js');\n\n"
        "async function main() {\n  assert.equal(await add(1, 2), 3);\n"
        "  assert.equal(await add(2, 2), 4);\n}\n\nmain();\n",
    },
)
_NODE_OTHERS = COMMON._replace(
    files={
        **COMMON.files,
        "test/calc.test.js": "const { add } = require('../src/calc.js');\n"
        "const { test } = require('node:test');\nconst assert = require('node:assert');\n\n"
        "test('has a three', () => { assert.match(String(add(1, 2)), /^3$/); });\n"
        "test('refuses', async () => {\n"
        "  await assert.rejects(async () => add(1), /number/);\n});\n",
    },
    evidence="",
)
_SUMMARY = (
    'sys.stderr.write("..\\n" + "-" * 70 + "\\nRan 2 tests in 0.000s\\n\\nOK\\n")\n'
    "sys.stderr.flush()\n"
)
_BODIES = """\
import unittest

add = None
_real = unittest.TestCase.__init_subclass__.__func__


def _quiet(cls, **named):
    _real(cls, **named)
    if cls.__module__.endswith("test_calc"):
        for name in [each for each in vars(cls) if each.startswith("test_")]:
            setattr(cls, name, lambda self: None)


unittest.TestCase.__init_subclass__ = classmethod(_quiet)
"""
_PYTEST_BODIES = """\
import _pytest.python as runner

_run = runner.Function.runtest
runner.Function.runtest = lambda self: None if "test_calc" in self.nodeid else _run(self)
"""
_JUMPS = """\
import sys

add = None


def _jump(frame, event, argument):
    if event == "line" and frame.f_lineno == 5:
        frame.f_lineno = 7
    return _jump


sys.settrace(lambda *_arguments: None)
frame = sys._getframe()
while frame:
    if frame.f_code.co_filename.endswith("check.py"):
        frame.f_trace = _jump
    frame = frame.f_back
"""

_LONGER = _PLAIN._replace(
    files={**_PLAIN.files, "tests/check.py": _PLAIN.files["tests/check.py"] + "print('ok')\n"}
)
_TRACES = """\
import sys

sys.settrace(None)


def add(a, b):
    return a + b
"""
_EXECS = f'import os\nimport sys\n\n{_SUMMARY}os.execv("/bin/true", ["true"])\n'
_IN_A_THREAD = (
    f"import os\nimport sys\nimport threading\n\n{_SUMMARY}"
    'threading.Thread(target=os.execv, args=("/bin/true", ["true"])).start()\n'
    "threading.Event().wait()\n"
)
_REAL = """\
raise next(each for each in BaseException.__subclasses__() if each.__name__ == "SystemExit")(0)
"""
_C_EXIT = f"import ctypes\nimport sys\n\n{_SUMMARY}ctypes.pythonapi.Py_Exit(0)\n"
_RENAMED = "import sys\n\nsys.modules['__main__'].__file__ = __file__\nsys.last_value = None\n"
_NO_NOTES = f"""\
import os
import sys

for place in [each for each in sys.path if os.path.basename(each).startswith(".")]:
    for name in os.listdir(place):
        if name.isdigit():
            os.unlink(os.path.join(place, name))
{_SUMMARY}os._exit(0)
"""
_SKIPPING = """\
import unittest


def add(a, b):
    if (a, b) != (0, 0):
        raise unittest.SkipTest("later")
    return 0
"""
_SOFT = """\
import contextlib
import unittest

unittest.TestCase.assertIn = unittest.TestCase.assertGreater = lambda *_arguments: None
unittest.TestCase.assertRaises = lambda *_arguments: contextlib.nullcontext()


def add(a, b):
    return 0
"""
_NODE_SOFT = """\
const assert = require('node:assert');
for (const name of ['rejects', 'match']) assert[name] = () => {};
exports.add = () => 0;
"""
_NODE_BODIES = """\
const { AsyncResource } = require('node:async_hooks');
const real = AsyncResource.prototype.runInAsyncScope;
AsyncResource.prototype.runInAsyncScope = function run(body, ...rest) {
  const known = ['adds small numbers', 'adds large numbers'].includes(this.name);
  return known && body === this.fn ? undefined : real.call(this, body, ...rest);
};
"""
_NODE_REFUSES = """\
exports.add = (a, b) => {
  if (typeof b !== 'number') throw new Error('no number');
  return a + b;
};
"""
_CHILD = """\
import subprocess
import sys

subprocess.run([sys.executable, "-c", "pass"])


"""
_EQUAL = """\
class Sum:
    def __eq__(self, other):
        return True


def add(a, b):
    return Sum()
"""
_TWICE = """\
class Sum:
    left = 2

    def __eq__(self, other):
        self.left -= 1
        return self.left >= 0


def add(a, b):
    return Sum()
"""
_FIRST_MET = """\
class Sum:
    def __init__(self):
        self.met = []

    def __eq__(self, other):
        if len(self.met) < 2:
            self.met.append(other)
        return any(other is each for each in self.met)


def add(a, b):
    return Sum()
"""
_CLOCK = """\
class Hours:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, int) and self.value % 12 == other % 12


def add(a, b):
    return Hours(a + b)
"""
_DIES = _TWICE.replace("left = 2", "left = 1").replace(
    "        return self.left >= 0\n",
    "        if self.left < 0:\n            __import__('os')._exit(1)\n        return True\n",
)
_SLEEPS = _DIES.replace("__import__('os')._exit(1)", "__import__('time').sleep(1000)")
_SERVES = """\
import sys

for line in sys.stdin:
    print(sum(map(int, line.split())), flush=True)
"""


def _calc(content: str) -> str:
    return f"cat > src/calc.py <<'E'\n{content}E\n"


def _node(content: str) -> str:
    return f"cat > src/calc.js <<'E'\n{content}E\n"


def _attack(name: str, family: str, project: Project, attack: str, twin: str = WORK) -> Attack:
    write = _node if "node" in project.needs else _calc
    return Attack(name, family, project, write(attack), write(twin))


_BODY, _END = "tests that are not run", "ends that are not the program's own"
_VALUES, _SKIP = "sensitive for a while", "skips by the product"
_USED, _BELOW = "assertions that tests use", "less than was promised"
ATTACKS: tuple[Attack, ...] = (
    _attack("bodies of unittest's tests are replaced", _BODY, _NAMED, _BODIES),
    _attack("bodies of pytest's tests are replaced", _BODY, _PYTEST, _PYTEST_BODIES),
    _attack("a program is led around its assertions", _BODY, _LONGER, _JUMPS, _TRACES),
    _attack("node: bodies of tests are replaced", _BODY, COMMON, _NODE_BODIES, NODE_WORK),
    _attack("becomes another program", _END, _NAMED, _EXECS),
    _attack("becomes another program, behind a script", _END, _SCRIPTED, _EXECS),
    _attack("becomes another program, by a thread", _END, _NAMED, _IN_A_THREAD),
    _attack("leaves by the class that was there before", _END, _PLAIN, _REAL),
    _attack("leaves under another name", _END, _PLAIN, _RENAMED + _REAL),
    _attack("leaves unittest by Python's own function", _END, _NAMED, _C_EXIT),
    _attack(
        "leaves a program that itself leaves hard",
        _END,
        _LEAVES,
        "import os\n\nos._exit(0)\n",
    ),
    Attack(
        "leaves a program that starts a server and stops it",
        _END,
        _SERVER,
        _calc("import os\n\nos._exit(0)\n"),
        _calc(WORK) + f"cat > src/server.py <<'E'\n{_SERVES}E\n",
    ),
    _attack(
        "node: a promise that is never kept",
        _END,
        _WAITS,
        "exports.add = () => new Promise(() => {});\n",
        "exports.add = async (a, b) => a + b;\n",
    ),
    _attack("equal to the first two", _VALUES, _PYTEST, _TWICE, _CLOCK),
    _attack("equal to what it meets first", _VALUES, _PYTEST, _FIRST_MET),
    _attack("ends the run with other values", _VALUES, _PYTEST, _DIES),
    _attack("sleeps in the run with other values", _VALUES, _PYTEST, _SLEEPS),
    _attack("skips what it cannot do", _SKIP, _SKIPS, _SKIPPING),
    _attack(
        "skips what it cannot do, behind make",
        _SKIP,
        _SKIPS._replace(contract="make test"),
        _SKIPPING,
    ),
    _attack("softens the assertions in use", _USED, _OTHERS, _SOFT),
    _attack("node: softens the assertions in use", _USED, _NODE_OTHERS, _NODE_SOFT, _NODE_REFUSES),
    _attack("starts a child whose failure is lost", _BELOW, _PLAIN, _CHILD + _EQUAL, _CHILD + WORK),
    _attack("throws the notes away", _BELOW, _NAMED, _NO_NOTES),
)
