"""How each Python of a contract comes to load what is laid for a run, and where none may.

It is told by `PYTHONPATH`, which contracts set for themselves: then what is laid stands in the
folders that they name, too. Besides, a line among the installed packages leads to it. That can be
laid where an environment is in the workspace, and for a Python without any, by the folder of the
user's packages. An environment elsewhere has only the first way.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from posixpath import basename
from typing import TYPE_CHECKING

from planbound.script import Script
from planbound.script.runners import programs
from planbound.script.runners.runner import Language, joined
from planbound.script.runners.watched import Reach
from planbound.script.tree import below, words
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.watched import WalkedContract

_PATHS = lazy_pattern(r"\bPYTHONPATH=([\"']?)([^\s;&|\"']*)")
_SETS = lazy_pattern(r"(?m)^(?!\t)(?!.*PYTHONPATH.*PYTHONPATH).*\bPYTHONPATH\b")
"""A line of a file that is no script: it says PYTHONPATH once, so what was there is not kept."""
_HERE = lazy_pattern(r"\A(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`)(?:/|\Z)")
_OLD = lazy_pattern(r'"version":\s*"[01]\.')
_PYTHONS = words("python python3 python2 pypy pypy3")
_BASE = "PYTHONUSERBASE"
_SITES = "lib/py*/site-packages"


def _places(walked: WalkedContract) -> tuple[str, ...]:
    """Return the folders that Python is told to look for modules in, instead of elsewhere."""
    found = (place for text, script in _texts(walked) for place in _named(walked, text, script))
    return tuple(dict.fromkeys(place for each in found for place in each))


def reach(walked: WalkedContract) -> Reach:
    """Return by which ways each Python finds what is laid."""
    root = os.path.realpath(walked.contract.judging.tree.root)
    found: dict[str, None] = {}
    for prefix in _environments(walked):
        for site in glob.glob(os.path.join(glob.escape(prefix), _SITES)):
            place = os.path.relpath(os.path.realpath(site), root)
            if not place.startswith(os.pardir):
                found.setdefault(place)
    return Reach(
        _places(walked), tuple(found), has_base=_BASE in walked.contract.judging.environment
    )


def unreached(walked: WalkedContract) -> str:
    """Return why a Python may not find what is laid; empty: each one does."""
    if not walked.pythons or not _is_elsewhere(walked):
        return ""
    is_set = any(
        not each for text, script in _texts(walked) for each in _named(walked, text, script)
    )
    others = (*walked.makers(), *(walked.text(path) for path in walked.mains))
    if not is_set and not any(map(_SETS.search, others)):
        return ""
    return (
        "`PYTHONPATH` is set in a way that keeps Python from being watched:"
        " add `:$PYTHONPATH` to it, or have the environment in the workspace (`.venv`)"
    )


def unchanged(walked: WalkedContract) -> str:
    """Return why the values that a runner expects cannot be changed; empty: they can be."""
    if "vitest" not in walked.others:
        return ""
    root = walked.contract.judging.tree.root
    try:
        with open(os.path.join(root, "node_modules/vitest/package.json"), encoding="utf-8") as file:
            old = _OLD.search(file.read(100_000))
    except (OSError, UnicodeDecodeError):
        return ""
    why = "what tests expect cannot be changed under vitest before 2: install a newer one"
    return why if old is not None else ""


def _texts(walked: WalkedContract) -> Iterator[tuple[str, Script]]:
    """Yield the texts that a shell runs, with the scripts that they run in."""
    for script in walked.scripts:
        yield script.text, script
        for call in script.calls:
            for value in call.values()[:1] if call.program in {".", "source"} else ():
                path = below(call.directory or "", value) if value else None
                if path is not None:
                    yield walked.text(path), script


def _named(walked: WalkedContract, text: str, script: Script) -> Iterator[tuple[str, ...]]:
    """Yield for each time that PYTHONPATH is set the folders that may be meant; none: unknown."""
    folders = {call.directory for call in script.calls if call.directory is not None} | {""}
    for match in _PATHS.finditer(text):
        if "PYTHONPATH" in match[2]:
            continue
        first = _HERE.sub("./", match[2].partition(":")[0])
        found = (below(each, first) for each in sorted(folders)) if "$" not in first else ()
        plain = ("" if place == "." else place for place in found if place is not None and first)
        yield tuple(place for place in plain if _is_there(walked, place))


def _is_there(walked: WalkedContract, place: str) -> bool:
    """Say whether there is such a folder, also in one that is summarised."""
    root = walked.contract.judging.tree.root
    return walked.project.holds(place) or os.path.isdir(os.path.join(root, place))


def _environments(walked: WalkedContract) -> Iterator[str]:
    """Yield the folders that programs of Python belong to."""
    root, judging = walked.contract.judging.tree.root, walked.contract.judging
    for folder in judging.environment.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder):
            yield os.path.dirname(os.path.normpath(folder))
    known = _PYTHONS | programs(Language.PYTHON)
    for call in walked.calls:
        name = (call.word.value if call.word is not None else None) or ""
        if "/" in name and (call.program in known or basename(name) in known):
            place = os.path.join(root, joined(call.directory or "", name))
            yield os.path.dirname(os.path.dirname(os.path.normpath(place)))


def _is_elsewhere(walked: WalkedContract) -> bool:
    """Say whether some Python looks for packages only where nothing can be laid."""
    root = os.path.realpath(walked.contract.judging.tree.root)
    has_base = _BASE in walked.contract.judging.environment
    for prefix in _environments(walked):
        is_environment = os.path.isfile(os.path.join(prefix, "pyvenv.cfg"))
        inside = os.path.realpath(prefix).startswith(root + os.sep)
        has_python = os.path.lexists(os.path.join(prefix, "bin", "python3"))
        if (is_environment and not inside) or (has_python and not is_environment and has_base):
            return True
    return False
