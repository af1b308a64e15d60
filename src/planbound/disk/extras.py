"""How an extra of ours is installed: by the program that installed us, not into the project."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

_EXTRAS = re.compile(r"\[([\w, -]*)\]$")


def install_extra(extra: str, prefix: str | None = None) -> str:
    """Return the command that adds an extra to this installation, and keeps those that it has."""
    home = Path(prefix or sys.prefix)
    try:
        if (receipt := home / "uv-receipt.toml").exists():
            return f"uv tool install {_wanted(*_of_uv(receipt.read_text()), extra)}"
        if (receipt := home / "pipx_metadata.json").exists():
            return f"pipx install --force {_wanted(*_of_pipx(receipt.read_text()), extra)}"
    except (OSError, ValueError, LookupError, TypeError):
        pass  # a receipt of another version: what follows is true of every environment
    return f"pip install 'planbound[{extra}]'"


def _wanted(source: str, extras: list[str], extra: str) -> str:
    return f"'{source}[{','.join(sorted({*extras, extra}))}]'"


def _of_uv(text: str) -> tuple[str, list[str]]:
    (ours,) = (
        each for each in tomllib.loads(text)["tool"]["requirements"] if each["name"] == "planbound"
    )
    source = ours.get("directory") or ours.get("editable") or ours.get("path") or "planbound"
    return str(source), [str(name) for name in ours.get("extras", [])]


def _of_pipx(text: str) -> tuple[str, list[str]]:
    spec = str(json.loads(text)["main_package"]["package_or_url"])
    found = _EXTRAS.search(spec)
    names = found[1].split(",") if found else []
    return _EXTRAS.sub("", spec), [name.strip() for name in names if name.strip()]
