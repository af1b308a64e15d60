"""The files that the text of a test or script speaks of: imported, sourced or named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname

from planbound.engine.judging.listing import Listing, joined
from planbound.engine.judging.places import is_judging, is_source
from planbound.plan.command.directory import below
from planbound.source.pattern import lazy_pattern

_MAXIMUM_LENGTH = 400_000
_NAME = lazy_pattern(r"(?:\.{1,2}/)*[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*")
_PYTHON_IMPORT = lazy_pattern(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+([\w, \t(]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_ENDINGS = ("", ".py", ".js", ".ts", ".mjs", ".cjs", ".sh", ".rb", ".tsx", ".jsx", ".json")
_SHELL = (".sh", ".bash")


def mentioned(path: str, data: bytes, listing: Listing) -> Iterator[str]:
    """Yield the judges that a judge speaks of.

    Only what lies where tests and scripts are: a test names the product too.
    """
    text = data[:_MAXIMUM_LENGTH].decode("utf-8", "replace")
    found = _named(path, text, listing)
    if path.endswith(".py"):
        found |= _imported(path, text, listing)
    for each in sorted(found - {path}):
        sourced = each.endswith(_SHELL) and path.endswith(_SHELL) and not is_source(each)
        if is_judging(each) or sourced:
            yield each


def _named(path: str, text: str, listing: Listing) -> set[str]:
    folder = dirname(path)
    found: set[str] = set()
    for name in set(_NAME.findall(text)):
        if "/" not in name and "." not in name:
            continue
        for place in {folder, ""}:
            seen = below(place, name)
            if seen:
                found |= {seen + end for end in _ENDINGS if seen + end in listing.files}
    return found


def _imported(path: str, text: str, listing: Listing) -> set[str]:
    folder = dirname(path)
    modules: set[str] = set()
    for dots, module, names, plain in _PYTHON_IMPORT.findall(text):
        place = folder
        for _ in dots[1:]:
            place = dirname(place)
        places = [place] if dots else ["", folder]
        given = [module] if module or dots else re.findall(r"[\w.]+", plain)
        for each in given:
            start = each.replace(".", "/")
            found = [joined(where, start) if start else where for where in places]
            modules.update(found)
            modules.update(joined(f, name) for f in found for name in re.findall(r"\w+", names))
    files = {end for each in modules for end in (f"{each}.py", f"{each}/__init__.py")}
    return files & listing.files
