"""What the harness changed in the text of a judge: lines, constants and variables say the same.

Who did the work gives the answer that was expected before. Who gives the one that is expected now
read it.
"""

import ast

from planbound.judging.inside.notes import place
from planbound.judging.inside.settings import RETOLD
from planbound.judging.inside.values import change, is_plain

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


def originals(site, value):
    """Return what was expected before; nothing where the text has what it had."""
    if site not in PLACES:
        return []
    found, before = PLACES[site]
    if before:
        return [ast.literal_eval(before)]
    kept = REBOUND.get(id(value))
    if kept is not None and kept[0] is value:
        return kept[1:]
    if not is_plain(value):
        return []
    try:
        return [ast.literal_eval(each) for each in found["values"].get(repr(value), ())]
    except Exception:
        return []
