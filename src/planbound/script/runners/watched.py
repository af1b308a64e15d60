"""A run in which every Python process is watched, however the contract comes to start it.

A canary of one runner needs to know how that runner is called. What stands here needs not: it is
loaded by each Python that the contract starts, behind scripts, pipes, conditions and variables.
There it adds failing tests to whatever pytest, unittest or doctest is about to run, and writes down
that the process started, who ended it, and how its tests ended. A process without tests is made to
fail at its own end. Whether a failure arrives at the contract is then seen, and not reckoned.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from planbound.script.runners.assertions import of_cases
from planbound.script.runners.pytest import failing_tests, folders_of_tests, plugin_source
from planbound.script.runners.python import steadily
from planbound.script.runners.runner import (
    Canary,
    JudgedTree,
    ReportedTest,
    Variable,
    joined,
    read_junit,
)

MOST_PROCESSES = 64
"""So many processes of Python are written down."""
_MOST_OF_PRODUCT = 24
"""So many of them may be programs of the product: there is room left for those that judge."""
_NO_JUDGES: Mapping[str, bytes] = MappingProxyType({})
_EXITS = frozenset({"sys.exit", "os._exit", "exit", "quit"})

_HOOK = '''\
import atexit
import os
import sys



def called():
    """Return how the process was started; nobody can have changed it yet."""
    found = getattr(sys, "orig_argv", None)
    if not found:
        try:
            with open("/proc/self/cmdline", "rb") as file:
                found = [os.fsdecode(word) for word in file.read().split(b"\\0")[:-1]]
        except OSError:
            found = []
    return [str(word) for word in found] or [sys.executable or "python"]


FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(FOLDER, *[os.pardir] * {depth}))
NOTES = os.path.join(ROOT, "{folder}")
SKIP = {skip}
TAIL = {tail}
PID = os.getpid()
NAMES = {names}
VALUES = {values}
MORE = {more}
MAINS = {mains}
JUDGES = {judges}
VARIABLE = "{hook}".upper()
PARENT = os.environ.get(VARIABLE)
OF_PRODUCT = VARIABLE + "_PRODUCT"
FAILED = 97
WORDS = called()
HERE = os.getcwd()
# What is installed is older than what was laid for this run.
LAID = os.stat(os.path.abspath(__file__)).st_ctime_ns
STDIN = {stdin}
MARKS = {{}}
NUMBER = None
STATE = {{
    "reached": False,
    "left": None,
    "hard": False,
    "raised": False,
    "over": False,
    "passed": False,
    "told": False,
    "chain": [],
    "status": None,
    "program": None,
    "reported": False,
    "others": False,
    "watched": False,
    "ends": {{}},
    "cases": {{}},
}}
# Workers of a process that is watched itself.
WORKERS = ("import sys;exec(eval(", "from multiprocessing.", "from loky", "from joblib")


def take():
    for number in range({most_of_product} if is_of_product() else {most}):
        path = os.path.join(NOTES, str(number))
        try:
            opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            continue
        except OSError:
            return None
        os.close(opened)
        return number
    return None


def note(word, value=""):
    if NUMBER is None or os.getpid() != PID:
        return
    import json

    line = json.dumps([word, value]) + "\\n"
    opened = os.open(os.path.join(NOTES, str(NUMBER)), os.O_WRONLY | os.O_APPEND)
    os.write(opened, line.encode())
    os.close(opened)


def adds():
    return NUMBER is not None and NUMBER >= SKIP and os.getpid() == PID


def alone():
    """What tests start is not the run that is looked at."""
    os.environ.pop(VARIABLE, None)
    os.environ.pop(VARIABLE + "_AT", None)
    for name in ("PYTHONPATH", "PYTEST_PLUGINS"):
        parts = os.environ.get(name, "").split("," if name == "PYTEST_PLUGINS" else os.pathsep)
        kept = [each for each in parts if each not in (FOLDER, NOTES, "{plugin}")]
        if kept and any(kept):
            os.environ[name] = ("," if name == "PYTEST_PLUGINS" else os.pathsep).join(kept)
        else:
            os.environ.pop(name, None)


def report(cases):
    from xml.sax.saxutils import quoteattr

    rows = []
    for place, name, end in cases:
        inner = {{"passed": "", "failed": "<failure/>"}}.get(end, "<skipped/>")
        head = "<testcase classname=" + quoteattr(place) + " name=" + quoteattr(name)
        rows.append(head + ">" + inner + "</testcase>")
    STATE["reported"] = True
    note("report", "<testsuites><testsuite>" + "".join(rows) + "</testsuite></testsuites>")


def reached():
    """The last line of a program: only its own text can say so."""
    frame = sys._getframe(1)
    if frame.f_globals.get("__name__") == "__main__" and not owner(frame.f_code):
        arrived()


def arrived():
    STATE["reached"] = True
    if not STATE["passed"] and fails_here():
        # As the program itself would: whoever keeps its failure keeps this one, too.
        STATE["told"] = True
        note("failed")
        raise SystemExit(FAILED)


def passed():
    """An exit of the program was called, and the program went on."""
    if os.getpid() == PID:
        STATE["passed"] = True


def fails_here():
    return TAIL and adds() and not STATE["reported"] and not STATE["told"] and is_judging(program())


def owner(code):
    """Return whose code it is; empty: its program's, a judge's, or installed.

    The name of a file is told by whoever compiles a text: it has to be in there.
    """
    name = code.co_filename
    if name.startswith("<frozen "):
        return "" if mark(code) in frozen_marks(name[8:-1]) else "code of no file"
    if name == "<stdin>" and STATE["program"] is None and inline(WORDS) is None:
        return ""
    if name == "<string>" and inline(WORDS) is not None:
        return "" if mark(code) in inline_marks() else "code of no file"
    if name.startswith("<"):
        return "code of no file"
    path = os.path.normpath(os.path.join(HERE, name))
    place = os.path.relpath(path, ROOT)
    installed = sys.prefix != ROOT and path.startswith(sys.prefix + os.sep)
    if path.startswith(ROOT + os.sep) and not installed and not is_added(path):
        if place not in JUDGES:
            return "" if place == program() else place
        known = mark(code) in file_marks(path, JUDGES[place])
    else:
        known = mark(code) in file_marks(path, None)
    return "" if known else "code of no file"


def mark(code):
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames


def marks_of(code):
    yield mark(code)
    for each in code.co_consts:
        if isinstance(each, type(code)):
            for found in marks_of(each):
                yield found


def compiled(text, path):
    try:
        return frozenset(marks_of(compile(text, path, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return frozenset()


def file_marks(path, digest):
    if path in MARKS:
        return MARKS[path]
    MARKS[path] = frozenset()
    try:
        with open(path, "rb") as file:
            text, changed = file.read(), os.fstat(file.fileno()).st_ctime_ns
    except OSError:
        MARKS[path] = frozenset() if digest is not None else bare_marks(path)
        return MARKS[path]
    if digest is not None:
        import hashlib

        known = hashlib.sha256(text).hexdigest() == digest
    else:
        known = changed <= LAID or is_added(path)
    if known:
        MARKS[path] = compiled(text, path)
    return MARKS[path]


def bare_marks(path):
    """What is installed without its source: the name in it is that of the source."""
    import marshal

    found, name = set(), os.path.basename(path) + "c"
    for module in list(sys.modules.values()):
        place = getattr(module, "__file__", None)
        if not isinstance(place, str) or os.path.basename(place) != name:
            continue
        try:
            with open(place, "rb") as file:
                data, changed = file.read(), os.fstat(file.fileno()).st_ctime_ns
            if changed <= LAID:
                found.update(marks_of(marshal.loads(data[16:])))
        except (OSError, ValueError, EOFError, TypeError):
            pass
    return frozenset(found)


def frozen_marks(name):
    if name not in MARKS:
        MARKS[name] = frozenset()
        inner = {{
            "importlib._bootstrap": "_frozen_importlib",
            "importlib._bootstrap_external": "_frozen_importlib_external",
        }}.get(name, name)
        try:
            import _imp

            MARKS[name] = frozenset(marks_of(_imp.get_frozen_object(inner)))
        except (ImportError, AttributeError):
            pass
    return MARKS[name]


def inline(words):
    """Return the program behind -c; None where there is none."""
    words = list(words)[1:]
    while words and words[0][:1] == "-" and words[0][:2] not in ("-", "--", "-m"):
        word = words.pop(0)
        if word in ("-W", "-X"):
            words = words[1:]
        elif "c" in word:
            return word.partition("c")[2] or (words[0] if words else "")
    return None


def inline_marks():
    if "-c" not in MARKS:
        import textwrap

        text = inline(WORDS)
        MARKS["-c"] = compiled(text, "<string>") | compiled(textwrap.dedent(text), "<string>")
    return MARKS["-c"]


def places_of(frame):
    """Yield the files of the project whose code runs; what is installed is nobody's."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<"):
            # Nobody knows whose it is, but for what is frozen in Python.
            name = "" if name.startswith("<frozen ") else frame.f_globals.get("__file__") or ""
        path = os.path.abspath(name) if name else ""
        installed = sys.prefix != ROOT and path.startswith(sys.prefix + os.sep)
        inside = path.startswith(ROOT + os.sep) and not path.startswith((NOTES, FOLDER + os.sep))
        if inside and not installed and not is_added(path):
            yield os.path.relpath(path, ROOT)
        frame = frame.f_back


def place_of(frame):
    return next(places_of(frame), "")


def foreign(frame):
    """Return whose code ends the process, where that is neither its program nor a judge."""
    while frame is not None:
        found = owner(frame.f_code)
        if found:
            return found
        frame = frame.f_back
    return ""


def is_added(path):
    return os.path.basename(path) in ("{hook}.py", "{plugin}.py", "sitecustomize.py")


def left(frame, status):
    """Who wants to end the process, and whether nothing would have come after it anyway."""
    last, main, place, chain = False, sys.modules.get("__main__"), place_of(frame), []
    while frame is not None:
        chain.append(frame.f_code)
        is_main = main is not None and frame.f_globals is vars(main)
        if is_main and frame.f_code.co_name == "<module>":
            last = at_its_end(frame)
        frame = frame.f_back
    STATE["left"], STATE["chain"], STATE["status"] = [place, last], chain, status
    if status in (None, 0) and TAIL and adds() and not strangers():
        if place in MAINS and fails_here():
            # As the program itself would.
            STATE["told"] = True
            note("failed")
            return FAILED
    return status


def strangers():
    """Return whose code ended the program last, where that is nobody who may."""
    return next(filter(None, map(owner, STATE["chain"])), "")


def at_its_end(frame):
    import dis

    done = {{"POP_TOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST", "CACHE", "NOP", "RESUME"}}
    found = dis.get_instructions(frame.f_code)
    return {{each.opname for each in found if each.offset > frame.f_lasti}} <= done


def named_program(words):
    """Return the file that the process was told to run; None where that is not said."""
    if inline(words) is not None:
        return None
    words = list(words)[1:]
    while words and words[0][:1] == "-" and words[0] != "-" and not is_module(words[0]):
        words = words[2:] if words[0] in ("-W", "-X") else words[1:]
    if not words or words[0][:1] == "-" or words[0] == "/dev/stdin":
        return None
    return os.path.relpath(os.path.abspath(words[0]), ROOT)


def is_module(word):
    return word[:1] == "-" and word[1:2] != "-" and "m" in word


def runs_module(words):
    """Say whether it is run by its name, or is a folder: then its runner returns."""
    named = named_program(words)
    if named is not None:
        return os.path.isdir(os.path.join(ROOT, named))
    return inline(words) is None and any(map(is_module, words[1:6]))


def is_of_product():
    """Say whether a program is, or was started by, one of the project that is no judge."""
    named = named_program(WORDS)
    is_there = named is not None and os.path.isfile(os.path.join(ROOT, named))
    if is_there and not named.startswith(os.pardir) and named not in JUDGES:
        os.environ[OF_PRODUCT] = "yes"
    return OF_PRODUCT in os.environ


def program():
    # As it was when nothing had run yet: a name is easily changed.
    if STATE["program"] is not None:
        return STATE["program"]
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.relpath(os.path.abspath(main), ROOT) if main else ""


def is_marked(main):
    """Say whether it is known when the program has come to its last line."""
    text = inline(WORDS)
    if text is not None:
        return "{hook}" in text
    if STATE["program"] is None and not runs_module(WORDS):
        return STDIN
    return main in MAINS or runs_module(WORDS)


def is_caught():
    """Say whether a program of which nobody knows its end may have gone on after an exit."""
    text = inline(WORDS)
    return text is None or any(word in text for word in ("except", "suppress", "raises", "Raises"))


def how_it_ended(main):
    """Return how the program came to its end; what nobody saw leave was cut short."""
    if STATE["passed"]:
        return "cut"
    if STATE["reached"]:
        return "reached"
    if STATE["hard"]:
        return "left"
    marked = is_marked(main)
    if STATE["left"]:
        found = strangers()
        if found:
            last = STATE["left"][1] and found == STATE["left"][0]
            STATE["left"] = [found, last]
            return "left" if marked or not is_caught() else "over"
        STATE["left"][0] = ""
        if STATE["told"] or STATE["reported"] or not marked:
            return "over"
        return "left" if STATE["status"] in (None, 0) else "raised"
    if STATE["reported"] or not marked:
        return "over"
    return "raised" if STATE["raised"] or hasattr(sys, "last_value") else "cut"


def end():
    if os.getpid() != PID or STATE["over"]:
        return
    STATE["over"] = True
    main = program()
    how = how_it_ended(main)
    note("ended", [how, main, *(STATE["left"] or ["", False])])
    if STATE["cases"] and not STATE["reported"]:
        report(STATE["cases"].values())
    if how in ("raised", "cut"):
        return
    if fails_here():
        note("failed")
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        HARD_EXIT(FAILED)


def is_judging(main):
    """Say whether it is this process that has to fail, and none that it started."""
    if PARENT is not None and main not in MAINS:
        return False
    return not STATE["others"] and not has_judging_child()


def has_judging_child():
    import json

    family = {{str(NUMBER)}}
    for number in range(NUMBER + 1, {most}):
        try:
            with open(os.path.join(NOTES, str(number)), encoding="utf-8") as file:
                found = dict(json.loads(line) for line in file)
        except (OSError, ValueError, TypeError):
            continue
        if found.get("parent") in family:
            family.add(str(number))
            if "report" in found or found.get("ended", ["", ""])[1] in MAINS:
                return True
    return False


def leave_hard(real):
    def _exit(status):
        if os.getpid() == PID:
            place = foreign(sys._getframe(1))
            STATE["reached"], STATE["left"] = not place, [place, False]
            STATE["hard"] = bool(place)
            end()
        real(status)

    return _exit


HARD_EXIT = os._exit


def hear(event, arguments):
    if event in ("subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.startfile"):
        # What the product starts is its own affair, and another Python is watched, too.
        place = place_of(sys._getframe(1))
        if (not place or place in JUDGES) and not is_watched(event, arguments):
            STATE["others"] = True
    elif event == "os.exec":
        note("exec", [program(), foreign(sys._getframe(1))])
    elif event in ("os.kill", "os.killpg") and not foreign(sys._getframe(1)):
        note("stops %d" % arguments[0])


def is_watched(event, arguments):
    """Say whether a Python is started that sees what is laid for it."""
    if event != "subprocess.Popen" or not isinstance(arguments[1], (list, tuple)):
        return False
    words = [os.fsdecode(word) for word in arguments[1]]
    environment = arguments[3]
    kept = environment is None or VARIABLE in environment
    named = os.path.basename(words[0] if words else "").startswith(("python", "pypy"))
    options = [word for word in words[1:4] if word[:1] == "-" and word[1:2] != "-"]
    return named and kept and not any(set(word) & set("IE") for word in options)


def hear_failure(real):
    def hook(*arguments):
        try:
            sys._getframe(1)
        except ValueError:
            # Nobody called it: Python itself does, when a program has failed.
            STATE["raised"] = True
        return real(*arguments)

    return hook


def change_modules(module):
    """A module that is run by its name has come to its end when its runner returns."""
    real = module._run_module_as_main

    def run(*arguments, **named):
        found = real(*arguments, **named)
        arrived()
        return found

    module._run_module_as_main = run


{noted}


def change_runner(module):
    real = module.TextTestRunner.run

    def run(self, test):
        if "{plugin}" in sys.modules or os.getpid() != PID:
            return real(self, test)
        import unittest

        alone()
        ends = STATE["ends"]
        if not STATE["watched"]:
            STATE["watched"] = True
            watch(unittest.TestResult, ends)
        self.failfast = False
        if adds():
            test = unittest.TestSuite([test, *failing(unittest)])
        result = real(self, test)
        report([(*name.rpartition(".")[::2], how) for name, how in ends.items()])
        return result

    module.TextTestRunner.run = run


def watch(kind, ends):
    ranks = ["passed", "skipped", "failed"]

    def wrap(method, how):
        real = getattr(kind, method, None)
        if real is None:
            return

        def noted(self, test, *rest):
            if method != "addSubTest" or rest[-1] is not None:
                name = test.id()
                ends[name] = max(ends.get(name, how), how, key=ranks.index)
            return real(self, test, *rest)

        setattr(kind, method, noted)

    wrap("addSuccess", "passed")
    for method in ("addExpectedFailure", "addSkip"):
        wrap(method, "skipped")
    for method in ("addFailure", "addError", "addUnexpectedSuccess", "addSubTest"):
        wrap(method, "failed")


def failing(unittest):
    one, two = VALUES

    def raises(self):
        raise AssertionError(one)

    def fails(self):
        self.fail(str(two))

    def differs(self):
        self.assertEqual(one, two)

    def untrue(self):
        self.assertTrue(one == two)

    kind = type("Test" + NAMES[0].title().replace("_", ""), (unittest.TestCase,), {{}})
    bodies = [raises, fails, differs, untrue]
    for statement in MORE:
        made = {{}}
        exec("def body(self):\\n    " + statement, made)
        bodies.append(made["body"])
    for name, body in zip(NAMES, bodies):
        setattr(kind, name, body)
    return [kind(name) for name in NAMES]


def change_doctest(module):
    real = module.DocTestRunner.run

    def run(self, test, *rest, **named):
        if "{plugin}" in sys.modules or "unittest.runner" in sys.modules or os.getpid() != PID:
            return real(self, test, *rest, **named)
        alone()
        if adds():
            one, two = VALUES
            test.examples.append(module.Example("%d\\n" % one, "%d\\n" % two, lineno=0))
        result = real(self, test, *rest, **named)
        name = NAMES[0]
        if adds():
            how = "failed" if result[0] else "passed"
            STATE["cases"][name] = ("doctest", name, how)
        return result

    module.DocTestRunner.run = run


def start():
    global NUMBER
    words = WORDS
    if any(word.startswith(WORKERS) for word in words[1:]):
        return
    NUMBER = take()
    if NUMBER is None:
        return
    note("started", [str(word)[:300] for word in words[:12]])
    note("pid", PID)
    STATE["program"] = named_program(words)
    note("program", STATE["program"] or "")
    if PARENT is not None:
        note("parent", PARENT)
    os.environ[VARIABLE] = str(NUMBER)
    atexit.register(end)
    sys.addaudithook(hear)
    Noted.changes = {{"unittest.runner": change_runner, "doctest": change_doctest}}
    sys.meta_path.insert(0, Noted)
    real_exit = SystemExit

    class Leaving(real_exit):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            if os.getpid() == PID:
                self.code = left(sys._getframe(1), self.code)

    Leaving.__name__ = Leaving.__qualname__ = "SystemExit"
    Leaving.__module__ = "builtins"

    def leave(status=None):
        raise Leaving(status)


    sys.exit = leave
    import builtins

    builtins.SystemExit = Leaving
    if runs_module(words):
        import runpy

        change_modules(runpy)
    sys.excepthook = hear_failure(sys.excepthook)
    os._exit = leave_hard(HARD_EXIT)
    sys.modules[os.name]._exit = os._exit


start()
'''
_CHOSEN = """

def load_tests(loader, tests, pattern):
    import sys

    watch = sys.modules.get("{hook}")
    return tests if watch is None or watch.adds() else loader.suiteClass()
"""
"""What unittest finds by itself has to fail in the same processes as what is added to its runs."""
FIRST = """\
import os
import sys

sys.modules.pop("sitecustomize", None)
_here = os.path.dirname(os.path.abspath(__file__))
_paths = sys.path[:]
sys.path[:] = [each for each in sys.path if os.path.abspath(each or os.curdir) != _here]
try:
    import sitecustomize
except ImportError:
    pass
sys.path[:] = _paths
# Not for all programs of the contract: where this one is not found, neither is the plugin.
_plugins = [each for each in os.environ.get("PYTEST_PLUGINS", "").split(",") if each]
if "{plugin}" not in _plugins:
    os.environ["PYTEST_PLUGINS"] = ",".join(["{plugin}"] + _plugins)
import {hook}
"""
_FOUND = """\
import os, sys; at = os.environ.get("{variable}"); \
at and not sys.flags.ignore_environment and at not in sys.path and sys.path.insert(0, at)
"""
"""A line that Python runs before `sitecustomize`, from a folder of installed packages."""
_FOUND_AT_HOME = """\
import os, site, sys; own = os.path.expanduser("~/.local/lib/python%d.%d/site-packages" \
% sys.version_info[:2]); os.path.isdir(own) and site.addsitedir(own)
"""
"""The folder of the user that ours stands for."""
_VERSIONS = range(6, 20)


class Reach(NamedTuple):
    """By which ways Python finds what is laid, also where a contract sets `PYTHONPATH` itself."""

    places: tuple[str, ...] = ()
    """Folders that Python is told to look for modules in, seen from the workspace root."""
    sites: tuple[str, ...] = ()
    """Folders of installed packages, seen from the workspace root."""
    has_base: bool = False
    """Whether the contract is given a folder of the user's packages of its own."""

    def added(self, hook: str, folder: str) -> Canary:
        """Return what leads to a folder of ours."""
        variable = f"{hook.upper()}_AT"
        line, base = _FOUND.format(variable=variable), f"{folder}/base"
        files = [(f"{site}/{hook}.pth", line.encode()) for site in self.sites]
        environment = [
            Variable("PYTHONPATH", f"{{workspace}}/{folder}"),
            Variable(variable, f"{{workspace}}/{folder}"),
        ]
        if not self.has_base:
            environment.append(Variable("PYTHONUSERBASE", f"{{workspace}}/{base}"))
            for version in _VERSIONS:
                path = f"{base}/lib/python3.{version}/site-packages/{hook}.pth"
                files.append((path, (line + _FOUND_AT_HOME).encode()))
        return Canary(tuple(files), (), tuple(environment))


BY_PATH = Reach(has_base=True)


class WatchedProcess(NamedTuple):
    """What is known of one process of Python."""

    words: tuple[str, ...]
    """How it was called."""
    pid: int
    is_nested: bool
    """Whether another process that is watched started it."""
    stopped: frozenset[int]
    """The processes that its program, or a judge in it, ended."""
    has_ended: bool
    """Whether it came to the end of an ordinary process, or became another program."""
    is_cut: bool
    """Whether it ended, and its program did not come to its own end, nor left by itself."""
    has_raised: bool
    """Whether it says that its program failed."""
    was_failed: bool
    """Whether it was made to fail at its end."""
    main: str
    """The program, seen from the workspace root; empty: it is no file."""
    left_by: str
    """The file of the tree whose code ended it before its program was over; empty: none did."""
    cases: tuple[ReportedTest, ...] | None
    """The tests that it ran; None: it ran none to the end."""

    @property
    def shown(self) -> str:
        """Return how it was called, on one line."""
        return " ".join(self.words).partition("\n")[0][:200]


class Watch(NamedTuple):
    """What is laid for a run in which every Python process is watched."""

    canary: Canary
    groups: tuple[tuple[str, ...], ...]
    """The names of failing tests that belong together: in one file, or in one process."""
    notes: tuple[str, ...]
    """Where the processes are written down, seen from the workspace root."""


def watch_for(  # noqa: PLR0913 - one thing each, all by name
    project: JudgedTree,
    *,
    noted: str,
    skip: int = 0,
    tail: bool = True,
    mains: Sequence[str] = (),
    judges: Mapping[str, bytes] = _NO_JUDGES,
    stdin: bool = False,
    reach: Reach = BY_PATH,
) -> Watch:
    """Return what watches the processes from the number `skip` on.

    `noted` is the text of `judging/inside/noted.py`, `mains` are programs whose last line is
    `mark_of` the project, `judges` is what judges, as it is laid. `stdin` says whether programs
    that come from an input have the mark.
    """
    hook, plugin = project.called("hook"), project.called("plugin")
    folder = f".{project.called('folder')}"
    sources = [path for path in judges if path.endswith(".py")]
    more = of_cases(project.text(path) or "" for path in sources)
    names = tuple(f"test_{name}" for name in project.several(4 + len(more), "watched"))
    tests = failing_tests(folders_of_tests(project), project)
    chosen = _CHOSEN.format(hook=hook).encode()
    start = FIRST.format(hook=hook, plugin=plugin).encode()
    files: list[tuple[str, bytes]] = [(each.path, each.content + chosen) for each in tests]
    for place in dict.fromkeys((folder, *reach.places)):
        source = _HOOK.format(
            depth=place.count("/") + 1 if place else 0,
            folder=folder,
            skip=skip,
            tail=tail,
            names=names,
            more=more,
            values=project.unequal("watched"),
            most=MOST_PROCESSES,
            plugin=plugin,
            hook=hook,
            mains=tuple(mains),
            judges={
                path: hashlib.sha256(content).hexdigest()
                for path, content in sorted(judges.items())
                if path.endswith(".py") or path in mains
            },
            stdin=stdin,
            most_of_product=_MOST_OF_PRODUCT,
            noted=noted.strip(),
        )
        files.append((joined(place, f"{hook}.py"), source.encode()))
        files.append(
            (joined(place, f"{plugin}.py"), plugin_source(plugin, place, tests, hook=hook))
        )
        files.append((joined(place, "sitecustomize.py"), start))
    found = reach.added(hook, folder)
    groups = (*(each.names for each in tests), names, names[:1])
    notes = tuple(f"{folder}/{number}" for number in range(MOST_PROCESSES))
    return Watch(Canary((*files, *found.files), (), found.environment), groups, notes)


def mark_of(project: JudgedTree) -> str:
    """Return the line of Python that says that a program came to its end."""
    return f'__import__("{project.called("hook")}").reached()'


def marked_program(content: bytes, project: JudgedTree) -> bytes:
    """Return a program that says when it came to its end, and when it went on after an exit."""
    hook = project.called("hook")
    calls = sorted(_exits(content), reverse=True)
    lines = content.splitlines(keepends=True)
    for line, column, is_end in calls:
        text = lines[line]
        added = f', __import__("{hook}").passed())[0]' if is_end else "("
        lines[line] = text[:column] + added.encode() + text[column:]
    return b"".join(lines) + f"\n{mark_of(project)}\n".encode()


def _exits(content: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield where the calls begin and end by which a program leaves: line, byte, whether an end."""
    try:
        tree = steadily(ast.parse, content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _EXITS:
            yield node.lineno - 1, node.col_offset, False
            yield (node.end_lineno or node.lineno) - 1, node.end_col_offset or 0, True


def read_notes(collected: Mapping[str, bytes], notes: Sequence[str]) -> list[WatchedProcess]:
    """Return the processes that were written down, in the order in which they started."""
    found = []
    for path in notes:
        if path not in collected:
            break
        found.append(_process(collected[path]))
    return found


def _process(data: bytes) -> WatchedProcess:
    known: dict[str, object] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            word, value = json.loads(line)
        except (ValueError, TypeError):
            continue
        if isinstance(word, str) and (word == "report" or word not in known):
            known[word] = value
    words = known.get("started")
    report = known.get("report")
    read = read_junit(report.encode()) if isinstance(report, str) else None
    how, main, left_by = _end_of(known.get("ended"), known.get("exec"))
    pid, program = known.get("pid"), known.get("program")
    return WatchedProcess(
        words=tuple(map(str, words)) if isinstance(words, list) else (),
        pid=pid if isinstance(pid, int) else 0,
        is_nested="parent" in known,
        stopped=frozenset(
            int(number)
            for word in known
            if (number := word.removeprefix("stops ")) != word and number.isdigit()
        ),
        has_ended=bool({"ended", "exec"} & known.keys()),
        is_cut=how == "cut",
        has_raised=how == "raised",
        was_failed="failed" in known,
        main=(program if isinstance(program, str) else "") or main,
        left_by=left_by,
        cases=None if read is None else read[1],
    )


def _end_of(ended: object, became: object) -> tuple[str, str, str]:
    """Return how a process ended, its program, and whose code ended it before that was over."""
    match ended, became:
        case _, [str() as main, str() as place] if place:
            return "left", main, place
        case ["left", str() as main, str() as place, False], _ if place != main:
            return "left", main, place
        case [str() as how, str() as main, *_], _:
            return how, main, ""
        case _, [str() as main, *_]:
            return "became", main, ""
        case _:
            return "", "", ""
