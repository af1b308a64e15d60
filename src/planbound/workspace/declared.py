"""Which packages a project says it depends on."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any


def declared_by_python(read: Callable[[str], bytes | None]) -> frozenset[str]:
    """Return the packages that a Python project says it depends on."""
    found = set(_of_pyproject(_toml(read("pyproject.toml"))))
    for name in ("requirements.txt", "requirements-dev.txt", "requirements/dev.txt"):
        lines = (read(name) or b"").decode("utf-8", "replace").splitlines()
        found.update(_names(line for line in lines if not line.startswith(("-", "#"))))
    return frozenset(found)


def _of_pyproject(document: Mapping[str, Any]) -> Iterator[str]:
    project, tool = _table(document, "project"), _table(document, "tool")
    groups = (
        project.get("dependencies"),
        *_table(project, "optional-dependencies").values(),
        *_table(document, "dependency-groups").values(),
        *_table(_table(tool, "pdm"), "dev-dependencies").values(),
        _table(tool, "uv").get("dev-dependencies"),
    )
    for group in groups:
        if isinstance(group, list):
            yield from _names(item for item in group if isinstance(item, str))
    poetry = _table(tool, "poetry")
    tables = [poetry, *(_table(_table(poetry, "group"), name) for name in _table(poetry, "group"))]
    for table in tables:
        for key in ("dependencies", "dev-dependencies"):
            yield from (normal_name(name) for name in _table(table, key) if name != "python")


def _names(requirements: Iterable[str]) -> Iterator[str]:
    for text in requirements:
        if match := re.match(r"\s*([A-Za-z0-9][\w.-]*)", text):
            yield normal_name(match[1])


def normal_name(name: str) -> str:
    """Return a package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _toml(data: bytes | None) -> Mapping[str, Any]:
    try:
        return tomllib.loads((data or b"").decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return {}


def declared_by_node(read: Callable[[str], bytes | None]) -> frozenset[str]:
    """Return the packages that a `package.json` says it depends on."""
    try:
        document = json.loads(read("package.json") or b"{}")
    except ValueError:
        return frozenset()
    keys = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
    return frozenset(name for key in keys for name in _table(document, key))


def _table(document: object, key: str) -> Mapping[str, Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}
