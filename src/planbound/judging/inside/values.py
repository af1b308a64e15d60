"""Other values of the same type."""

import os
import sys

from planbound.judging.inside.notes import is_judge, is_product


INFINITE = float("inf")


def some(most):
    return 1 + int.from_bytes(os.urandom(4), "big") % most


def shuffled(items):
    return sorted(items, key=lambda _item: os.urandom(8))


def change(value, depth=0):
    """Return another value of the same type; the same one where there is none."""
    kind = type(value)
    sign = 1 if some(2) == 1 else -1
    if kind is bool:
        return not value
    if value is None:
        return some(10**9)
    if kind is int:
        return value + sign * some(9)
    if kind in (float, complex):
        if value != value or value in (float("inf"), float("-inf")):
            return float(some(99))
        return value + sign * (abs(value) + 1) * (1 + some(9))
    if kind in (str, bytes, bytearray):
        place = some(len(value) + 1) - 1
        more = "abcdefghijklmnopqrstuvwxyz"[some(26) - 1]
        return value[:place] + (more if kind is str else more.encode()) + value[place:]
    if kind in (list, tuple, dict, set, frozenset):
        return change_inside(value, kind, depth)
    return change_object(value, kind, depth)


def far(value):
    """Return a number that no tolerance reaches; the same value where it is none."""
    if type(value) not in (int, float) or value != value or value in (INFINITE, -INFINITE):
        return value
    size = value if value > 0 else -value
    sign = 1 if some(2) == 1 else -1
    changed = value + sign * (size + 1) * (10**6 + some(10**6) + some(10**6) / 1000003)
    return value if changed in (INFINITE, -INFINITE) else changed


def change_inside(value, kind, depth):
    if kind in (set, frozenset):
        return kind([*value, "".join(chr(96 + some(26)) for _ in range(12))])
    places = list(value) if kind is dict else range(len(value))
    for place in shuffled(places) if depth < 4 else ():
        inner = change(value[place], depth + 1)
        if inner is not value[place]:
            copied = dict(value) if kind is dict else list(value)
            copied[place] = inner
            return copied if kind is not tuple else tuple(copied)
    if kind is dict:
        return {**value, "".join(chr(96 + some(26)) for _ in range(12)): None}
    return kind([*value, some(10**9)])


def change_object(value, kind, depth):
    name = (kind.__module__, kind.__name__)
    if name in (("decimal", "Decimal"), ("fractions", "Fraction")):
        return value + some(9)
    if kind.__module__ == "datetime" and kind.__name__ in ("date", "datetime", "timedelta"):
        return value + sys.modules["datetime"].timedelta(some(9))
    if kind.__module__.startswith("_pytest.") and kind.__name__.startswith("Approx"):
        return change_approx(value, kind)
    if isinstance(value, tuple) and hasattr(value, "_fields") and value._fields and depth < 4:
        return change_fields(value, depth)
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(value, enum.Enum):
        others = [each for each in type(value) if each is not value and each != value]
        return others[some(len(others)) - 1] if others else value
    return change_attributes(value, kind, depth) if is_ours(kind) and depth < 4 else value


def change_fields(value, depth):
    for name in shuffled(value._fields):
        inner = change(getattr(value, name), depth + 1)
        if inner is not getattr(value, name):
            return value._replace(**{name: inner})
    return value


def change_approx(value, kind):
    inner = value.expected
    if kind.__name__ in ("ApproxScalar", "ApproxDecimal"):
        if type(inner) not in (int, float, complex):
            return value
        tolerance = value.tolerance
        changed = inner + (abs(inner) + 1 + 10 * abs(tolerance)) * (1 + some(9))
        if changed != changed or abs(changed - inner) <= abs(tolerance):
            return value
    elif type(inner) in (list, tuple, dict):
        last = type(inner)
        more = {"".join(chr(96 + some(26)) for _ in range(12)): 0}
        changed = {**inner, **more} if last is dict else last([*inner, some(9)])
    else:
        return value
    copied = kind.__new__(kind)
    vars(copied).update(vars(value))
    copied.expected = changed
    return copied


def change_attributes(value, kind, depth):
    """Return a copy of an object of the project with another attribute, where that matters."""
    held = held_by(value)
    if kind.__eq__ is not object.__eq__ and not value == copy(value, held):
        # A copy shares what the object holds, a file for example, and is another one by that.
        return value
    for name in shuffled(held):
        inner = change(held[name], depth + 1)
        if inner is held[name]:
            continue
        copied = copy(value, {**held, name: inner})
        if not value == copied:
            return copied
    return value


def members(kind):
    """Return the slots of a class, by name."""
    return {
        name: member
        for each in kind.__mro__
        for name, member in vars(each).items()
        if type(member).__name__ == "member_descriptor"
    }


def held_by(value):
    """Return what an object holds, by name: in its dictionary and in its slots."""
    found = dict(getattr(value, "__dict__", ()))
    for name, member in members(type(value)).items():
        try:
            found[name] = member.__get__(value)
        except AttributeError:
            pass
    return found


def copy(value, held):
    """Return an object of the same class that holds something else."""
    kind = type(value)
    made = kind.__new__(kind)
    slots = members(kind)
    for name, each in held.items():
        if name in slots:
            slots[name].__set__(made, each)
        else:
            vars(made)[name] = each
    return made


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


def file_of(kind):
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ""


def is_ours(kind):
    path = file_of(kind)
    return bool(path) and (is_judge(path) or is_product(path))


def is_everything(value):
    """Say whether an object of the product is equal to whatever there is."""
    if not is_product(file_of(type(value))):
        return False
    others = (object(), some(10**9), str(some(10**9)), None, [some(9)])
    return all(are_equal(value, each) for each in others)


def is_any_of_its_kind(value):
    """Say whether an object of the product is equal to others of its class, whatever they hold."""
    kind = type(value)
    if not is_product(file_of(kind)) or kind.__new__ is not object.__new__:
        return False
    held = held_by(value)
    if are_equal(value, copy(value, {})):
        return True
    others = {name: far(change(each, 1)) for name, each in held.items()}
    if not held or any(others[name] is each for name, each in held.items()):
        return False
    alone = (copy(value, {**held, name: each}) for name, each in others.items())
    return all(are_equal(value, each) for each in (copy(value, others), *alone))


def are_equal(one, two):
    """Say whether the first says so; what holds nothing may not even be asked."""
    try:
        return bool(one == two)
    except Exception:
        return False
