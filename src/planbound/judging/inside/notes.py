"""Where the run is written down, and whose files are whose."""

import sys

from planbound.judging.inside.settings import DEPTH, HOOK, JUDGES, MOST, PLACE, PLUGIN

_known = set(sys.modules)
import _thread
import ast  # noqa: F401 - these are for all pieces, whose own imports are left out
import atexit  # noqa: F401
import builtins  # noqa: F401
import json
import os

# A module of the project may be called as one of these: it is to be found as without us.
for _name in set(sys.modules) - _known - {"atexit", "_thread", "_ast", "_json"}:
    del sys.modules[_name]

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(FOLDER, *[os.pardir] * DEPTH))
NOTES = os.path.join(ROOT, PLACE)
FILES = {os.path.join(ROOT, *name.split("/")) for name in JUDGES}
PID = os.getpid()
STATE = {
    "test": None,
    "thread": None,
    "number": None,
    "pid": PID,
    "sites": 0,
    "pytest": False,
    "looked": False,
    "modules": 0,
    "ask": None,
    "asked": 0,
    "check": None,
}
SEEN = {}
"""By test: equalities that could not be changed, that were, and that held all the same."""
FORKED = {}
"""By test: how many of the changed ones stand in a condition, after which it may go on."""
ENDS = {}
PENDING = {}
MISSING = object()


def is_judge(path):
    return os.path.abspath(path) in FILES


def place(path):
    """Return a path as it is seen from the workspace root."""
    return os.path.relpath(os.path.abspath(path), ROOT).replace(os.sep, "/")


def is_product(path):
    """Say whether a file is the project's, and none that it is judged by."""
    path = os.path.abspath(path) if path and not path.startswith("<") else ""
    inside = path.startswith(ROOT + os.sep) and not path.startswith(NOTES)
    return inside and path not in FILES and "site-packages" not in path and not is_added(path)


def is_added(path):
    return os.path.basename(path) in (HOOK + ".py", PLUGIN + ".py", "sitecustomize.py")


def take():
    for number in range(MOST):
        try:
            opened = os.open(
                os.path.join(NOTES, str(number)), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666
            )
        except FileExistsError:
            continue
        except OSError:
            return None
        os.close(opened)
        return number
    return None


def note(word, value):
    if os.getpid() != STATE["pid"]:
        if word not in ("seen", "stopped"):
            return
        # Tests may be run by a copy of the process.
        STATE["pid"], STATE["number"] = os.getpid(), None
    if STATE["number"] is None:
        STATE["number"] = take()
    if STATE["number"] is None:
        return
    line = json.dumps([word, value]) + "\n"
    opened = os.open(os.path.join(NOTES, str(STATE["number"])), os.O_WRONLY | os.O_APPEND)
    os.write(opened, line.encode())
    os.close(opened)


def alone():
    """What tests start is not the run that is looked at."""
    os.environ.pop(HOOK.upper() + "_AT", None)
    for name, sign in (("PYTHONPATH", os.pathsep), ("PYTEST_PLUGINS", ",")):
        parts = os.environ.get(name, "").split(sign)
        kept = [each for each in parts if each not in (FOLDER, NOTES, PLUGIN)]
        if any(kept):
            os.environ[name] = sign.join(kept)
        else:
            os.environ.pop(name, None)


def begin(name):
    finish()
    STATE["test"], STATE["thread"] = name, _thread.get_ident()
    note("began", name)


def finish():
    """Write down what became of the equalities of a test."""
    name = STATE["test"] or ""
    if STATE["test"] is not None and STATE["check"] is not None:
        STATE["check"]()
    seen = SEEN.pop(name, None)
    if name in FORKED:
        note("forked", [name, FORKED.pop(name)])
    if seen is not None:
        swallowed = sum(each.direct and each.changed is not MISSING for each in PENDING.values())
        note("seen", [name, seen[0], seen[1], seen[2], swallowed])
    for (_thread_number, site), known in list(PENDING.items()):
        STATE["ask"](site, known)
    PENDING.clear()
    STATE["test"] = None


def ended(name, how):
    ranks = ["passed", "skipped", "failed"]
    if how not in ranks:
        return
    ENDS[name] = max(ENDS.get(name, how), how, key=ranks.index)
    # At once: who knows whether the process comes to its end.
    note("ends", {name: ENDS[name]})


def end():
    finish()
