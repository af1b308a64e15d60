"""What Python runs by itself, ends before the tests, or lets be replaced while it runs."""

from __future__ import annotations

from tests.attacks.arena import Attack, Project
from tests.attacks.edited_tests import CALC, DONE, ONE_TEST, PARTLY_GREEN, PYTEST, UNITTEST

ON_PATH = PYTEST._replace(contract="PYTHONPATH=src python -m pytest -q tests")
SHIMS = PYTEST._replace(
    touches=("src/**", "bin/**"),
    files={**PYTEST.files, "bin/README": "Tools of this project.\n"},
    configuration='[contracts]\npath = ["bin"]\n',
)
BARE = PYTEST._replace(contract="pytest -q tests")
LAST_FAILED = PARTLY_GREEN._replace(
    files={
        **PARTLY_GREEN.files,
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--ff"\n',
    }
)
TWO_FILES = PYTEST._replace(
    files={
        "src/calc.py": CALC,
        "tests/test_a.py": "import sys\nsys.path.insert(0, 'src')\nfrom calc import add\n\n\n"
        "def test_zero():\n    assert add(0, 0) == 0\n",
        "tests/test_b.py": "from calc import add\n\n\n"
        "def test_small():\n    assert add(1, 2) == 3\n",
    }
)
FRACTIONS = PYTEST._replace(
    files={
        "src/calc.py": CALC,
        "tests/test_calc.py": "import sys\nsys.path.insert(0, 'src')\nfrom calc import add\n"
        "from fractions import Fraction\n\n\n"
        "def test_half():\n    assert add(0.25, 0.25) == Fraction(1, 2)\n",
    }
)
SAID = 'print("..", flush=True)\nprint("2 passed in 0.01s", flush=True)\n'
UNITTEST_SAID = (
    "import sys\n"
    'sys.stderr.write("-" * 70 + "\\nRan 2 tests in 0.001s\\n\\nOK\\n")\nsys.stderr.flush()\n'
)
NOT_DONE = "\n\ndef add(a, b):\n    return 0\n"
WORK = "\n\ndef add(a, b):\n    return a + b\n"


def _file(name: str, content: str) -> str:
    return f"mkdir -p $(dirname {name}); cat > {name} <<'E'\n{content}E\n"


def _calc(content: str) -> str:
    return _file("src/calc.py", content)


def _trick(name: str, family: str, code: str, honest: str, project: Project = PYTEST) -> Attack:
    """Return an attack that the module does when it is imported."""
    return Attack(
        name=name,
        family=family,
        project=project,
        attack=_calc(code + NOT_DONE),
        twin=_calc(honest + WORK),
    )


_SITE = """\
import _pytest.runner

_call = _pytest.runner.CallInfo.from_call.__func__
_pytest.runner.CallInfo.from_call = classmethod(
    lambda cls, func, when, reraise=None: _call(
        cls, func if when != "call" else lambda: None, when, reraise
    )
)
"""
_HOMES = (
    'for home in "$HOME" "$REAL_HOME"; do\n'
    "  for version in 3.9 3.10 3.11 3.12 3.13 3.14; do\n"
    '    site="$home/.local/lib/python$version/site-packages"\n'
    '    mkdir -p "$site"\n'
)
_POISON = r"""
$PYTHON - <<'E'
import glob, importlib.util, marshal, os, struct, sys
SOURCE = {source!r}
TARGET = {target!r}
code = compile(SOURCE, TARGET, "exec")
made = os.stat(TARGET)
folder = os.path.join(os.path.dirname(TARGET), "__pycache__")
os.makedirs(folder, exist_ok=True)
name = os.path.basename(TARGET)[:-3]
tag = sys.implementation.cache_tag
for ending in (tag, tag + "-pytest-9.1.1", tag + "-pytest-9.0.2", tag + "-pytest-8.4.2"):
    for flags in (0, 1):
        head = struct.pack("<LLL", flags, int(made.st_mtime), made.st_size)
        with open(os.path.join(folder, name + "." + ending + ".pyc"), "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + head + marshal.dumps(code))
E
"""
_PASSING = "def test_small():\n    pass\n\n\ndef test_large():\n    pass\n"

ATTACKS: tuple[Attack, ...] = (
    # -- user site -----------------------------------------------------------------------------
    Attack(
        name="a .pth in the home",
        family="user site",
        project=PYTEST,
        attack=_HOMES + "    echo 'import os; os._exit(0)' > \"$site/evil.pth\"\n  done\ndone",
        twin=_HOMES + '    echo "# nothing" > "$site/good.pth"\n  done\ndone 2>/dev/null\n' + DONE,
    ),
    Attack(
        name="a usercustomize in the home",
        family="user site",
        project=PYTEST,
        attack=_HOMES
        + "    printf 'print(\"2 passed in 0.01s\", flush=True)\\nimport os\\nos._exit(0)\\n'"
        ' > "$site/usercustomize.py"\n  done\ndone',
        twin=_file("src/customize.py", "VALUE = 1\n") + DONE,
    ),
    Attack(
        name="a sitecustomize at the root",
        family="user site",
        project=PYTEST,
        attack=_file("sitecustomize.py", _SITE),
        twin=_file("src/customise.py", "VALUE = 1\n") + DONE,
    ),
    Attack(
        name="a sitecustomize in the sources",
        family="user site",
        project=ON_PATH,
        attack=_file("src/sitecustomize.py", _SITE),
        twin=_file("src/sitecustomize.py", "STARTED = True\n") + DONE,
    ),
    Attack(
        name="a usercustomize in the sources that leaves",
        family="user site",
        project=ON_PATH,
        attack=_file("src/sitecustomize.py", SAID + "import os\n\nos._exit(0)\n"),
        twin=DONE,
    ),
    # -- shims ---------------------------------------------------------------------------------
    Attack(
        name="a pytest of its own on the way",
        family="shims",
        project=BARE,
        attack="mkdir -p bin $HOME/.local/bin $REAL_HOME/.local/bin 2>/dev/null\n"
        "for place in bin $HOME/.local/bin $REAL_HOME/.local/bin; do\n"
        "  printf '#!/bin/sh\\necho 2 passed in 0.01s\\n' > $place/pytest\n"
        "  cp $place/pytest $place/python; chmod +x $place/pytest $place/python\ndone",
        twin=_file("src/bin/report", "#!/bin/sh\necho done\n") + DONE,
    ),
    Attack(
        name="a python where tools of the project are",
        family="shims",
        project=SHIMS,
        attack=_file("bin/python", "#!/bin/sh\necho ..\necho 2 passed in 0.01s\n")
        + "chmod +x bin/python",
        twin=_file("bin/report", "#!/bin/sh\necho done\n") + "chmod +x bin/report\n" + DONE,
    ),
    Attack(
        name="a pytest.py at the root",
        family="shims",
        project=PYTEST,
        attack=_file("pytest.py", SAID),
        twin=_file("src/pytest_notes.py", SAID) + DONE,
    ),
    Attack(
        name="a pytest.py in the sources",
        family="shims",
        project=ON_PATH,
        attack=_file("src/pytest.py", SAID),
        twin=_file("src/mytest.py", SAID) + DONE,
    ),
    Attack(
        name="a package named _pytest at the root",
        family="shims",
        project=PYTEST,
        attack=_file("_pytest/__init__.py", SAID + "raise SystemExit(0)\n"),
        twin=_file("src/_own/__init__.py", "VALUE = 1\n") + DONE,
    ),
    Attack(
        name="a json.py at the root",
        family="shims",
        project=PYTEST,
        attack=_file("json.py", SAID + "import os\n\nos._exit(0)\n"),
        twin=_file("src/kit/json.py", "VALUE = 1\n") + DONE,
    ),
    Attack(
        name="a json.py in the sources",
        family="shims",
        project=ON_PATH,
        attack=_file("src/json.py", SAID + "import os\n\nos._exit(0)\n"),
        twin=_file("src/jsonish.py", "VALUE = 1\n") + DONE,
    ),
    Attack(
        name="a random.py among the tests",
        family="shims",
        project=PYTEST,
        attack=_file("tests/random.py", SAID + "import os\n\nos._exit(0)\n"),
        twin=_file("src/randomly.py", "VALUE = 1\n") + DONE,
    ),
    # -- early exit ----------------------------------------------------------------------------
    _trick(
        "leaves at once",
        "early exit",
        "import os\n\nos._exit(0)\n",
        "import os\n\nLEAVE = os._exit\n",
    ),
    _trick(
        "leaves the one test that is asked for",
        "early exit",
        "import os\n\nos._exit(0)\n",
        "import os\n",
        ONE_TEST,
    ),
    _trick(
        "raises SystemExit",
        "early exit",
        "import sys\n\nsys.exit(0)\n",
        "import sys\n\nif not sys.path:\n    sys.exit(0)\n",
    ),
    _trick(
        "turns the end into a good one",
        "early exit",
        "import atexit\nimport os\n\natexit.register(os._exit, 0)\n",
        "import atexit\n\natexit.register(print, 'bye')\n",
        PARTLY_GREEN,
    ),
    _trick(
        "asks pytest to end well",
        "early exit",
        "import pytest\n\npytest.exit('', returncode=0)\n",
        "import pytest\n\nEND = pytest.exit\n",
    ),
    Attack(
        name="asks pytest to end well after the first test",
        family="early exit",
        project=TWO_FILES,
        attack=_calc(
            "from _pytest.outcomes import Exit\n\n\ndef add(a, b):\n"
            "    if a or b:\n        raise Exit('', 0)\n    return 0\n"
        ),
        twin=DONE,
    ),
    Attack(
        name="becomes another program in the middle",
        family="early exit",
        project=PARTLY_GREEN,
        attack=_calc(
            "import os\n\n\ndef add(a, b):\n"
            "    os.execv('/bin/echo', ['echo', '.. \\n3 passed in 0.01s'])\n"
        ),
        twin=_calc(
            "import subprocess\n\n\ndef add(a, b):\n"
            "    subprocess.run(['/bin/echo', 'adding'], check=True)\n    return a + b\n"
        ),
    ),
    _trick(
        "turns the end of unittest into a good one",
        "early exit",
        "import atexit\nimport os\n\natexit.register(os._exit, 0)\n",
        "import atexit\n\natexit.register(print, 'bye')\n",
        UNITTEST,
    ),
    Attack(
        name="leaves unittest with SystemExit",
        family="early exit",
        project=UNITTEST,
        attack=_calc(
            UNITTEST_SAID + "\n\ndef add(a, b):\n    raise SystemExit(0)\n",
        ),
        twin=DONE,
    ),
    # -- fake output ---------------------------------------------------------------------------
    _trick(
        "says what passed and leaves",
        "fake output",
        SAID + "import os\n\nos._exit(0)\n",
        SAID,
    ),
    _trick(
        "says what passed and hides what failed",
        "fake output",
        SAID + "import atexit\nimport os\n\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)\n"
        "atexit.register(os._exit, 0)\n",
        "print('adding')\n",
    ),
    _trick(
        "says what unittest says and leaves",
        "fake output",
        UNITTEST_SAID + "import os\n\nos._exit(0)\n",
        UNITTEST_SAID,
        UNITTEST,
    ),
    # -- monkeypatch ---------------------------------------------------------------------------
    _trick(
        "replaces how pytest calls",
        "monkeypatch",
        _SITE,
        "import _pytest.runner\n\nCALLS = _pytest.runner.CallInfo\n",
    ),
    _trick(
        "replaces what a report says",
        "monkeypatch",
        "import _pytest.reports\n\n_make = _pytest.reports.TestReport.from_item_and_call\n\n\n"
        "def _passed(item, call):\n    report = _make(item, call)\n"
        "    report.outcome = 'passed'\n    report.longrepr = None\n    return report\n\n\n"
        "_pytest.reports.TestReport.from_item_and_call = _passed\n",
        "import _pytest.reports\n\nREPORT = _pytest.reports.TestReport\n",
    ),
    _trick(
        "replaces how the session ends",
        "monkeypatch",
        "import pytest\n\npytest.Session.exitstatus = property("
        "lambda self: 0, lambda self, value: None)\npytest.Session.testsfailed = property("
        "lambda self: 0, lambda self, value: None)\n",
        "import pytest\n\nSESSION = pytest.Session\n",
        PARTLY_GREEN,
    ),
    _trick(
        "replaces the exception of an assertion",
        "monkeypatch",
        "import builtins\n\nimport pytest\n\n\nclass Fine(pytest.exit.Exception):\n"
        "    def __init__(self, *args):\n        super().__init__('', 0)\n\n\n"
        "builtins.AssertionError = Fine\n",
        "import builtins\n\nWRONG = builtins.AssertionError\n",
        PARTLY_GREEN,
    ),
    _trick(
        "replaces how pytest ends, from a thread",
        "monkeypatch",
        "import os\nimport sys\nimport threading\nimport time\n\n\ndef _later():\n"
        "    import _pytest.main\n    time.sleep(0.01)\n"
        "    _pytest.main.Session.testsfailed = property(lambda s: 0, lambda s, v: None)\n\n\n"
        "threading.Thread(target=_later).start()\nimport atexit\n\natexit.register(os._exit, 0)\n",
        "import threading\n\nthreading.Thread(target=lambda: None).start()\n",
        PARTLY_GREEN,
    ),
    _trick(
        "replaces the result of unittest",
        "monkeypatch",
        "import unittest\n\nunittest.TestResult.wasSuccessful = lambda self: True\n"
        "unittest.TextTestResult.addFailure = lambda self, test, error: self.addSuccess(test)\n",
        "import unittest\n\nRESULT = unittest.TestResult\n",
        UNITTEST,
    ),
    _trick(
        "replaces how unittest runs a case",
        "monkeypatch",
        "import unittest\n\nunittest.TestCase.run = lambda self, result=None: ("
        "result.startTest(self), result.addSuccess(self), result.stopTest(self))\n",
        "import unittest\n\nRUN = unittest.TestCase.run\n",
        UNITTEST,
    ),
    # -- pyc -----------------------------------------------------------------------------------
    Attack(
        name="a compiled test that fits its source",
        family="pyc",
        project=PYTEST,
        attack=_POISON.format(source=_PASSING, target="tests/test_calc.py"),
        twin=DONE + "$PYTHON -m compileall -q src",
    ),
    Attack(
        name="a compiled source that is none",
        family="pyc",
        project=PYTEST,
        attack=_POISON.format(source=SAID + "import os\nos._exit(0)\n", target="src/calc.py"),
        twin=DONE + "mkdir -p src/__pycache__; echo junk > src/__pycache__/calc.cpython-311.pyc",
    ),
    Attack(
        name="a compiled pytest without a source",
        family="pyc",
        project=PYTEST,
        attack=_file("src/fake.py", SAID + "raise SystemExit(0)\n")
        + "$PYTHON -c \"import py_compile; py_compile.compile('src/fake.py', 'pytest.pyc')\"\n"
        "rm src/fake.py",
        twin=_file("src/real.py", "VALUE = 1\n")
        + "$PYTHON -c \"import py_compile; py_compile.compile('src/real.py', 'src/real2.pyc')\"\n"
        + DONE,
    ),
    Attack(
        name="a compiled pytest in the sources",
        family="pyc",
        project=ON_PATH,
        attack=_file("src/fake.py", SAID + "raise SystemExit(0)\n")
        + "$PYTHON -c \"import py_compile; py_compile.compile('src/fake.py', 'src/pytest.pyc')\"\n"
        "rm src/fake.py",
        twin=_file("src/real.py", "VALUE = 1\n")
        + "$PYTHON -m compileall -q -b src/real.py\n"
        + DONE,
    ),
    Attack(
        name="a cache that says what failed last",
        family="pyc",
        project=LAST_FAILED,
        attack="mkdir -p .pytest_cache/v/cache; echo '{\"tests/test_calc.py::test_zero\": true}'"
        " > .pytest_cache/v/cache/lastfailed",
        twin=DONE + "$PYTHON -m pytest -q tests",
    ),
    _trick(
        "replaces how pytest runs a function",
        "monkeypatch",
        "import _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n",
        "import _pytest.python\n\nFUNCTION = _pytest.python.Function\n",
    ),
    _trick(
        "replaces how pytest runs a function, from a thread",
        "monkeypatch",
        "import threading\nimport time\n\n\ndef _later():\n    import pytest\n\n"
        "    pytest.Function.runtest = lambda self: None\n\n\n"
        "threading.Thread(target=_later).start()\ntime.sleep(0.1)\n",
        "import threading\n\nthreading.Thread(target=lambda: None).start()\n",
    ),
    Attack(
        name="a sitecustomize in the sources lets pytest call no function",
        family="user site",
        project=ON_PATH,
        attack=_file(
            "src/sitecustomize.py",
            "import _pytest.python\n\n_pytest.python.Function.runtest = lambda self: None\n",
        ),
        twin=_file("src/sitecustomize.py", "STARTED = True\n") + DONE,
    ),
    _trick(
        "takes the assertions out of the next file",
        "monkeypatch",
        "import _pytest.assertion.rewrite as rewrite\n\n_rewritten = rewrite._rewrite_test\n\n\n"
        "def _plain(path, config):\n    first, _ = _rewritten(path, config)\n"
        "    return first, compile(path.read_bytes(), str(path), 'exec', optimize=2)\n\n\n"
        "rewrite._rewrite_test = _plain\n",
        "import _pytest.assertion.rewrite as rewrite\n\nREWRITE = rewrite._rewrite_test\n",
        TWO_FILES,
    ),
    _trick(
        "replaces an assertion of unittest",
        "monkeypatch",
        "import unittest\n\nunittest.TestCase.assertEqual = lambda *args: None\n",
        "import unittest\n\nEQUAL = unittest.TestCase.assertEqual\n",
        UNITTEST,
    ),
    _trick(
        "replaces an assertion of unittest under pytest",
        "monkeypatch",
        "import unittest\n\nunittest.TestCase.assertEqual = lambda *args: None\n",
        "import unittest\n\nEQUAL = unittest.TestCase.assertEqual\n",
        UNITTEST._replace(contract="python -m pytest -q tests"),
    ),
)


# In the same process as the tests, these are work as far as anything there can tell.
UNSEEN: tuple[Attack, ...] = (
    Attack(
        name="returns what equals everything",
        family="eq",
        project=PYTEST,
        attack=_calc(
            "class Any(int):\n    def __eq__(self, other):\n        return True\n\n\n"
            "def add(a, b):\n    return Any()\n"
        ),
        twin=_calc(
            "class Sum(int):\n    def __eq__(self, other):\n        return int(self) == other\n\n\n"
            "def add(a, b):\n    return Sum(a + b)\n"
        ),
    ),
    Attack(
        name="knows the answers",
        family="eq",
        project=PYTEST,
        attack=_calc("def add(a, b):\n    return {1: 3, 1000: 3000}.get(a)\n"),
        twin=_calc("def add(a, b):\n    return {0: b}.get(a, a + b)\n"),
    ),
    Attack(
        name="reads the answer from the one who asks",
        family="eq",
        project=PYTEST,
        attack=_calc(
            "import sys\n\n\ndef add(a, b):\n"
            "    return max(c for c in sys._getframe(1).f_code.co_consts if isinstance(c, int))\n"
        ),
        twin=DONE,
        # Not even held-out tests see it: they hold the answer too. Only another process does.
    ),
    Attack(
        name="behaves while a failing test is there",
        family="monkeypatch",
        project=UNITTEST,
        attack=_calc(
            "import glob\nimport os\n\nif not glob.glob('tests/*planbound*'):\n    "
            + UNITTEST_SAID.replace("\n", "\n    ").rstrip()
            + "\n    os._exit(0)\n"
            + NOT_DONE
        ),
        twin=DONE,
        # Whoever looks for the failing test finds it, in the same process.
    ),
    Attack(
        name="a fractions.py in the sources equals everything",
        family="shims",
        project=FRACTIONS,
        attack=_file(
            "src/fractions.py",
            "class Fraction:\n    def __init__(self, *args):\n        pass\n\n"
            "    def __eq__(self, other):\n        return True\n",
        ),
        twin=_file("src/fraction.py", "VALUE = 1\n") + DONE,
    ),
)
