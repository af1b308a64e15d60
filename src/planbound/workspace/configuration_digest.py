"""A digest of what contracts depend on in the configuration, which an approval is bound to.

The form is canonical JSON of what is configured, without what is as it always was. So a setting
that is new changes no digest of who does not use it. A usual value that changes later does, since
contracts then run otherwise: what is left out is written down here, and never follows the code.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict

from planbound.workspace.configuration import Configuration, HeldOut

_FORM = "v2:"
"""How a digest of this form begins; one of the first form is 64 hex digits and nothing else."""
USUAL: dict[str, dict[str, object]] = {
    "contracts": {
        "env": [],
        "path": [],
        "read": [],
        "network": False,
        "seconds": 300.0,
        "memory": 4 << 30,
        "processes": 1024,
        "file_size": 2 << 30,
        "temporary": 2 << 30,
    },
    "judging": {
        "evidence": None,
        "isolation": "I0",
        "canary": True,
        "held_out": [],
        "baseline": None,
        "mutate": True,
        "reuse": True,
        "jobs": None,
    },
    "workspace": {"summarise": [], "caches": []},
}
"""The value that each setting had when it came. A line is added, and never changed."""


def configuration_digest(configuration: Configuration, like: str | None = None) -> str:
    """Return the digest, in the form of another one where that is to be compared with it."""
    if like is not None and not like.startswith(_FORM):
        first = _first_form(configuration)
        if first is not None:
            return first
    text = json.dumps(_said(configuration), sort_keys=True, separators=(",", ":"))
    return _FORM + hashlib.sha256(text.encode("ascii")).hexdigest()


def _said(configuration: Configuration) -> dict[str, dict[str, object]]:
    tables: dict[str, Struct] = {
        "contracts": configuration.contracts,
        "judging": configuration.judging,
        "workspace": configuration.tree,
    }
    said = {name: _unusual(table, USUAL[name]) for name, table in tables.items()}
    return {name: values for name, values in said.items() if values}


def _unusual(table: Struct, usual: Mapping[str, object]) -> dict[str, object]:
    shipped = type(table)()
    found: dict[str, object] = {}
    for name, value in asdict(table).items():
        plain = _plain(value)
        if plain != usual.get(name, _plain(getattr(shipped, name))):
            found[name] = plain
    return found


def _plain(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, HeldOut):
        return {"source": value.source, "target": value.target}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a `{type(value).__name__}` has no canonical form yet")


# -- the first form: how Python showed the tuples, with the fields that there were ---------------

_FIRST: dict[str, tuple[str, ...]] = {
    "Contracts": (
        *("env", "path", "read", "network", "seconds"),
        *("memory", "processes", "file_size", "temporary"),
    ),
    "Judging": ("evidence", "isolation", "canary", "held_out", "bare"),
    "TreeRules": ("summarise", "caches"),
    "HeldOut": ("source", "target"),
}
_GONE = {"bare": False}
"""Fields that there are no more, with what everybody has now."""


def _first_form(configuration: Configuration) -> str | None:
    """Return the digest as it was taken first; None where more is set than it could say."""
    tables = (configuration.contracts, configuration.judging, configuration.tree)
    said = _said(configuration)
    for name, table in zip(USUAL, tables, strict=True):
        if not set(said.get(name, ())) <= set(_FIRST[type(table).__name__]):
            return None
    return hashlib.sha256(_shown(tables).encode()).hexdigest()


def _shown(value: object) -> str:
    fields = _FIRST.get(type(value).__name__)
    if fields is not None:
        inner = ", ".join(
            f"{name}={_shown(_GONE.get(name, getattr(value, name, None)))}" for name in fields
        )
        return f"{type(value).__name__}({inner})"
    if isinstance(value, enum.Enum):
        return f"<{type(value).__name__}.{value.name}: {value.value!r}>"
    if type(value) is tuple:
        inner = ", ".join(map(_shown, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)
