"""What judges call instead of comparing plainly."""

import _thread
import os
import sys

from planbound.judging.inside.notes import (
    FILES,
    FORKED,
    MISSING,
    PENDING,
    SEEN,
    STATE,
    is_judge,
    is_product,
    note,
)
from planbound.judging.inside.retelling import originals
from planbound.judging.inside.values import (
    change,
    far,
    file_of,
    is_any_of_its_kind,
    is_everything,
    is_plain,
    some,
)


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
BUILT = set()
"""The places where an object is compared that the judge makes of plain values: `Point(1, 2)`."""
FORKS = set()
"""The places that are conditions: who comes to one has not failed by that."""
ASKED = (int, float, str, bytes)
WANTED = {}
"""By type what was expected anywhere."""
PARTLY = []
"""Objects that are equal to more than one value, with their tests and places."""
CATCHING = {}
"""By judge: the lines in which it takes failures itself."""


class Pending:
    """An equality that was reached, and of which nobody knows yet how it ended."""

    def __init__(self, actual=MISSING):
        self.actual, self.expected, self.changed, self.direct = actual, MISSING, MISSING, False
        self.before, self.is_near = [], False


def actual(site, value):
    key = (_thread.get_ident(), site)
    known = PENDING.get(key)
    if known is not None and known.actual is MISSING:
        known.actual = value
    else:
        PENDING[key] = Pending(value)
    return value


def expected(site, value):
    return compared(site, value, change, sys._getframe(1))


def near(site, value):
    """Return another number for one that is only to be close: no tolerance reaches it."""
    return compared(site, value, far, sys._getframe(1))


def compared(site, value, changing, frame):
    SITES.setdefault(site, (frame.f_code.co_filename, frame.f_globals))
    key = (_thread.get_ident(), site)
    known = PENDING.pop(key, None)
    # Where the text of the judge was changed, the value is another one by now.
    before = originals(site, value)
    try:
        changed = value if before else changing(value)
        if changed is value and not before and is_equal_to_much(site, value):
            seen()[2] += 1
        if changed is not value and (changed == value or value == changed):
            changed = value
    except Exception:
        changed = value
    if changed is value and not before:
        seen()[0] += 1
        return value
    seen()[1] += 1
    if site in FORKS:
        FORKED[STATE["test"] or ""] = FORKED.get(STATE["test"] or "", 0) + 1
    fresh = known is not None and known.changed is MISSING
    known = PENDING[key] = known if fresh else Pending()
    known.expected, known.changed, known.direct = (
        value,
        changed,
        site not in FORKS and is_direct(frame),
    )
    known.before, known.is_near = before, changing is far
    if before:
        known.expected = before[0]
    if type(known.expected) in ASKED:
        wanted = WANTED.setdefault(type(known.expected), {})
        if len(wanted) < 1000:
            wanted.setdefault(known.expected)
    return changed


def is_equal_to_much(site, value):
    """Say whether nothing can be told by an object; what it is made of has to be told, too."""
    try:
        return is_everything(value) or (site in BUILT and is_any_of_its_kind(value))
    except Exception:
        return False


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
    if known is not None:
        held(site, known)
        ask(site, known)


def held(site, known):
    if known.actual is MISSING or known.changed is MISSING:
        return
    one, two = known.actual, known.expected
    if known.is_near:
        # So far away is nothing: it is the comparison that does not compare.
        if is_mentioned(one, SITES[site][1]):
            seen()[1] -= 1
        else:
            seen()[2] += 1
        return
    if not same(site, one, known.changed):
        # Nobody says that they are equal: it is the assertion that does not assert.
        seen()[2] += 1
        return
    others = [each for each in (change(two) for _ in range(12 + some(5))) if each is not two]
    answers = [same(site, one, each) for each in others]
    # Who is equal to what is met first, or so many times, is not to what was right before. A plain
    # value that is not either is a wrong answer, which by chance is what is expected now.
    right = any(same(site, one, each) for each in known.before or [two])
    if known.before and not right and not all(answers):
        # It is what the text expects now. What is equal to both, such as hours, says nothing.
        note("taken", STATE["test"] or "")
        return
    wrong = not right and not is_plain(one)
    fickle = wrong or not same(site, one, known.changed)
    if (all(answers) or fickle) and not is_mentioned(one, SITES[site][1]):
        seen()[2] += 1
    else:
        seen()[1] -= 1


def ask(site, known):
    """Remember an object that is equal to several values, whatever this one is."""
    one, two = known.actual, known.expected
    if one is MISSING or type(two) not in ASKED or known.is_near or is_plain(one):
        return
    STATE["asked"] += 1
    if STATE["asked"] > 1000 or is_mentioned(one, SITES[site][1]):
        return
    asked = [change(two) for _ in range(12)]
    if type(two) is int:
        asked += [two + some(10**6) for _ in range(12)]
    others = {each for each in asked if each != two}
    if sum(same(site, one, each) for each in others) > 1:
        PARTLY.append((STATE["test"] or "", site, one, two))


def weigh():
    """Name the tests whose object is equal to all that is expected anywhere, and to more.

    A number modulo another is equal to many, too, but tests expect different ones of it.
    """
    for name, site, one, two in PARTLY:
        others = [each for each in WANTED.get(type(two), ()) if each != two]
        if others and all(same(site, one, each) for each in others):
            note("partly", name)
    PARTLY.clear()


STATE["ask"] = ask


def is_mentioned(value, names):
    """Say whether the judge itself brings an object that is equal to much."""
    kind = type(value)
    if kind.__module__ == "builtins" or is_product(file_of(kind)):
        return False
    return is_judge(file_of(kind)) or any(
        each is value or each is kind or getattr(each, "__name__", None) == kind.__module__
        for each in list(names.values())
    )
