"""What judges call instead of comparing plainly."""

import _thread
import os
import sys

from planbound.judging.inside.notes import (
    FILES,
    MISSING,
    PENDING,
    SEEN,
    STATE,
    is_judge,
    is_product,
)
from planbound.judging.inside.values import change, file_of, is_everything, some


def seen():
    return SEEN.setdefault(STATE["test"] or "", [0, 0, 0])


def same(site, one, two):
    """Compare as the judge does: who looks at the caller sees the judge."""
    path, names = SITES[site]
    try:
        return bool(eval(compile("lambda one, two: one == two", path, "eval"), names)(one, two))
    except Exception:
        return False


SITES = {}
CATCHING = {}
"""By judge: the lines in which it takes failures itself."""


class Pending:
    """An equality that was reached, and of which nobody knows yet how it ended."""

    def __init__(self, actual=MISSING):
        self.actual, self.expected, self.changed, self.direct = actual, MISSING, MISSING, False


def actual(site, value):
    key = (_thread.get_ident(), site)
    known = PENDING.get(key)
    if known is not None and known.actual is MISSING:
        known.actual = value
    else:
        PENDING[key] = Pending(value)
    return value


def expected(site, value):
    frame = sys._getframe(1)
    SITES.setdefault(site, (frame.f_code.co_filename, frame.f_globals))
    key = (_thread.get_ident(), site)
    known = PENDING.pop(key, None)
    try:
        changed = change(value)
        if changed is value and is_everything(value):
            seen()[2] += 1
        if changed is not value and (changed == value or value == changed):
            changed = value
    except Exception:
        changed = value
    if changed is value:
        seen()[0] += 1
        return value
    seen()[1] += 1
    fresh = known is not None and known.changed is MISSING
    known = PENDING[key] = known if fresh else Pending()
    known.expected, known.changed, known.direct = value, changed, is_direct(frame)
    return changed


def is_direct(frame):
    """Say whether a failure there is the test's: nobody is seen between who could take it."""
    if STATE["thread"] not in (None, _thread.get_ident()):
        return False
    between = False
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if path in FILES:
            lines = CATCHING.get(path, ())
            if between or any(first <= frame.f_lineno <= last for first, last in lines):
                return False
        elif is_product(frame.f_code.co_filename):
            return False
        else:
            between = True
        frame = frame.f_back
    return True


def passed(site):
    """Note that an assertion passed with a changed value."""
    known = PENDING.pop((_thread.get_ident(), site), None)
    if known is None or known.actual is MISSING or known.changed is MISSING:
        return
    one, two = known.actual, known.expected
    if not same(site, one, known.changed):
        # Nobody says that they are equal: it is the assertion that does not assert.
        seen()[2] += 1
        return
    others = [each for each in (change(two) for _ in range(5 + some(5))) if each is not two]
    answers = [same(site, one, each) for each in others]
    # Who is equal to what is met first, or so many times, is not to what was right before. A plain
    # value that is not either is a wrong answer, which by chance is what is expected now.
    wrong = not same(site, one, two) and not is_plain(one)
    fickle = wrong or not same(site, one, known.changed)
    if (all(answers) or fickle) and not is_mentioned(one, SITES[site][1]):
        seen()[2] += 1
    else:
        seen()[1] -= 1


def is_plain(value, room=1000):
    """Say whether a value is of Python's own types through and through."""
    kind = type(value)
    if kind in (int, float, complex, bool, str, bytes, type(None)):
        return True
    if kind is dict:
        value = [*value.keys(), *value.values()]
    elif kind not in (list, tuple, set, frozenset):
        return False
    return len(value) <= room and all(is_plain(each, room // 10) for each in value)


def is_mentioned(value, names):
    """Say whether the judge itself brings an object that is equal to much."""
    kind = type(value)
    if kind.__module__ == "builtins" or is_product(file_of(kind)):
        return False
    return is_judge(file_of(kind)) or any(
        each is value or each is kind or getattr(each, "__name__", None) == kind.__module__
        for each in list(names.values())
    )
