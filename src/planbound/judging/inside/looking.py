"""Whether the product looks at its judges: at their files, their frames or their functions.

It is only written down. Who looks is run once more, with judges whose text is as it was: who knows
it may behave where it is another.
"""

import os
import sys

from planbound.judging.inside.notes import FILES, STATE, is_judge, is_product, note

# They hand out frames, or everything that there is.
LOOKS = {
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace",
    "sys.setprofile", "sys.monitoring.register_callback", "gc.get_objects", "gc.get_referrers",
    "gc.get_referents",
}  # fmt: skip
# What happens in another process, or outside of Python, is not seen.
STARTS = {
    "subprocess.Popen", "os.system", "os.posix_spawn", "os.spawn", "os.exec", "os.fork",
    "os.forkpty", "pty.spawn",
}  # fmt: skip
FRAMES = {"tb_frame", "gi_frame", "cr_frame", "ag_frame"}
OF_FUNCTIONS = {"__code__", "__globals__", "__defaults__", "__kwdefaults__", "__closure__"}
# They ask for frames every day, and give none away.
EVERYDAY = ("collections/__init__.py", "typing.py", "enum.py", "dataclasses.py",
            "logging/__init__.py", "warnings.py")  # fmt: skip
GENUINE = {}
BASES = {os.path.basename(path) for path in FILES}


def hear(event, arguments):
    """Write down the first look."""
    if STATE["looked"]:
        return
    is_look = event in LOOKS or event in STARTS or event.startswith("ctypes.")
    if not is_look and event not in ("open", "object.__getattr__"):
        return
    STATE["looked"] = True
    try:
        STATE["looked"] = looks(event, arguments, sys._getframe(1))
        if STATE["looked"]:
            note("looked", event)
    except Exception:
        # Rather a run too many.
        note("looked", event)


def looks(event, arguments, frame):
    if event == "open":
        return is_of_judge(arguments[0]) and is_under_product(frame)
    if event == "object.__getattr__":
        what, name = arguments
        if name in OF_FUNCTIONS:
            code = getattr(what, "__code__", None)
            return is_judge(getattr(code, "co_filename", "")) and is_under_product(frame)
        if name not in FRAMES:
            return False
    if frame.f_globals is globals() or is_everyday(frame):
        return False
    return is_under_product(frame)


def is_of_judge(path):
    if not isinstance(path, (str, bytes)):
        return False
    path = os.fsdecode(path)
    # A folder may be open: then the path says little.
    return os.path.basename(path) in BASES or os.path.realpath(path) in FILES


def is_under_product(frame):
    """Say whether code of the product is running."""
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith("<") and not path.startswith("<frozen "):
            # Nobody knows whose it is.
            path = frame.f_globals.get("__file__") or path
        if is_product(path) or is_product(str(frame.f_globals.get("__file__") or "")):
            return True
        frame = frame.f_back
    return False


def is_everyday(frame):
    """Say whether a frame is wanted by the standard library, for itself."""
    path = frame.f_code.co_filename
    library = os.path.dirname(os.path.abspath(os.__file__))
    if path not in [os.path.join(library, *name.split("/")) for name in EVERYDAY]:
        return False
    if path not in GENUINE:
        with open(path, "rb") as file:
            GENUINE[path] = set(marks_of(compile(file.read(), path, "exec", dont_inherit=True)))
    # Anybody can say that a code stands in that file.
    known = mark(frame.f_code) in GENUINE[path]
    gives = path.endswith("logging/__init__.py") and frame.f_code.co_name in (
        "currentframe",
        "<lambda>",
    )
    return known and not (gives and mark(frame.f_back.f_code) not in GENUINE[path])


def marks_of(code):
    yield mark(code)
    for each in code.co_consts:
        if isinstance(each, type(code)):
            yield from marks_of(each)


def mark(code):
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames


def note_look(what, frame):
    """Write down that something was looked at, where code of the product does."""
    if not STATE["looked"]:
        STATE["looked"] = True
        STATE["looked"] = is_under_product(frame)
        if STATE["looked"]:
            note("looked", what)


class WatchedModule(type(sys)):
    """A judge as a module: its values can be looked at without a frame."""

    def __getattribute__(self, name):
        note_look("module", sys._getframe(1))
        return super().__getattribute__(name)


class WatchedEnvironment(type(os.environ)):
    """The environment, in which pytest names the running test: what is expected may be in there."""

    def __getitem__(self, key):
        if key == "PYTEST_CURRENT_TEST":
            note_look("environment", sys._getframe(1))
        return super().__getitem__(key)


def watch_modules():
    """Watch who looks at judges that are loaded by now."""
    if STATE["modules"] == len(sys.modules):
        return
    STATE["modules"] = len(sys.modules)
    for module in list(sys.modules.values()):
        if type(module) is type(sys) and is_judge(vars(module).get("__file__") or ""):
            module.__class__ = WatchedModule


def watch_looks():
    os.environ.__class__ = WatchedEnvironment
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(hear)
