"""What tools have made for a project: virtual environments, `node_modules`, toolchains."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

_SIGNS = frozenset(
    "pyproject.toml setup.py setup.cfg uv.lock poetry.lock Pipfile requirements.txt package.json"
    " tox.ini noxfile.py manage.py".split()
)
_PLACES = 100
_NAME = re.compile(r"""(?m)^name\s*=\s*["']([^"'\n]+)["']""")


def made_folders(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the environments of a workspace's projects, seen from it; one outside by its path."""
    places = dict.fromkeys(
        folder for folder, _, name in (path.rpartition("/") for path in paths) if name in _SIGNS
    )
    for place in list(dict.fromkeys(("", *places)))[:_PLACES]:
        for name in _folders(os.path.join(root, place)):
            path = f"{place}/{name}" if place else name
            if name == "node_modules" or _is_environment(os.path.join(root, path)):
                yield path
    yield from _of_poetry(root)


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _is_environment(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "pyvenv.cfg"))


def _of_poetry(root: str) -> Iterator[str]:
    """Yield the environment that poetry keeps in its cache: by the project's name and place."""
    try:
        with open(os.path.join(root, "pyproject.toml"), encoding="utf-8") as file:
            text = file.read(1 << 20)
    except (OSError, ValueError):
        return
    named = _NAME.search(text)
    if named is None or "poetry" not in text:
        return
    cache = os.environ.get("POETRY_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pypoetry"
    )
    name = re.sub(r'[ $`!*@"\\\r\n\t]', "_", named[1].lower())[:42]
    digest = hashlib.sha256(os.fsencode(os.path.normcase(os.path.realpath(root)))).digest()
    start = f"{name}-{base64.urlsafe_b64encode(digest).decode()[:8]}-py"
    folder = os.path.join(cache, "virtualenvs")
    for each in reversed(_folders(folder)):
        if each.startswith(start) and _is_environment(os.path.join(folder, each)):
            yield _shown(os.path.join(folder, each))
            return


def program_folder(name: str, variables: Mapping[str, str]) -> str | None:
    """Return where the caller would find a program; nothing that a cell could not start."""
    own = os.path.realpath(os.path.dirname(sys.executable))
    for folder in variables.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if not os.path.isabs(folder) or not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        # What only asks another program which one is meant finds no home in a cell to look in.
        if os.path.realpath(folder) == own or os.path.basename(folder) == "shims":
            continue
        if os.path.basename(os.path.realpath(path)) == "rustup":
            return _toolchain(name, variables)
        return _shown(folder)
    return None


def _toolchain(name: str, variables: Mapping[str, str]) -> str | None:
    home = variables.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    try:
        with open(os.path.join(home, "settings.toml"), encoding="utf-8") as file:
            found = re.search(r'(?m)^default_toolchain = "([^"/\n]+)"', file.read(1 << 20))
    except (OSError, ValueError):
        return None
    folder = os.path.join(home, "toolchains", found[1], "bin") if found else ""
    return _shown(folder) if folder and os.path.exists(os.path.join(folder, name)) else None


def _shown(folder: str) -> str:
    """Return a folder as it is written down: without the name of somebody's home."""
    home = os.path.expanduser("~").rstrip("/")
    return f"~{folder.removeprefix(home)}" if folder.startswith(f"{home}/") else folder
