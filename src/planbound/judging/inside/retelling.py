"""Whether answers follow the text of a judge that expects other values.

The harness has changed that text, so file, lines, constants and variables say the same. Who did
the work gives the answer that was expected before. Who gives the one that is expected now read it.
"""

import _thread
import ast
import sys

from planbound.judging.inside.comparing import SITES, Pending, same
from planbound.judging.inside.notes import MISSING, PENDING, STATE, note, place
from planbound.judging.inside.settings import RETOLD
from planbound.judging.inside.values import change

PLACES = {}
"""By site: the judge, and what stood there before; an empty text: it has a name."""
REBOUND = {}
"""By the identity of a changed value: that value, and what it was."""


def retold(path):
    """Return what was changed in the text of a judge."""
    return RETOLD.get(place(path))


def place_of(site, path, node):
    found = retold(path)
    if found is not None:
        before = found["places"].get(f"{node.lineno}:{node.col_offset}")
        if before is not None:
            PLACES[site] = found, before


def expected_now(site, value):
    frame = sys._getframe(1)
    SITES.setdefault(site, (frame.f_code.co_filename, frame.f_globals))
    known = PENDING.setdefault((_thread.get_ident(), site), Pending())
    known.changed = value
    return value


def rebound(_site, value):
    """Return another value for a variable that is only compared with."""
    try:
        changed = change(value)
        if changed is value or changed == value or value == changed:
            return value
    except Exception:
        return value
    REBOUND.setdefault(id(changed), [changed]).append(value)
    return changed


def passed_now(site):
    """Note that an assertion passed whose expected value was changed, and why."""
    known = PENDING.pop((_thread.get_ident(), site), None)
    if known is None or known.actual is MISSING or known.changed is MISSING or site not in PLACES:
        return
    before = originals(site, known.changed)
    if not before or not same(site, known.actual, known.changed):
        return
    # What is equal to both, such as hours on a clock, says nothing.
    if not any(same(site, known.actual, each) for each in before):
        note("taken", STATE["test"] or "")


def originals(site, changed):
    found, before = PLACES[site]
    if before:
        return [ast.literal_eval(before)]
    kept = REBOUND.get(id(changed))
    if kept is not None and kept[0] is changed:
        return kept[1:]
    try:
        return [ast.literal_eval(each) for each in found["values"].get(repr(changed), ())]
    except Exception:
        return []
