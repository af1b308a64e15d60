"""Reads `planbound.toml`, or `[tool.planbound]` in `pyproject.toml`."""

from __future__ import annotations

import os

from planbound.engine.configuration import Configuration, read_configuration
from planbound.errors import ConfigurationError

_MAX_BYTES = 1024 * 1024


def load_configuration(root: str) -> Configuration:
    """Return the configuration of a workspace; the defaults where it has none."""
    own = os.path.join(root, "planbound.toml")
    if os.path.lexists(own):
        return read_configuration(_load(own, "planbound.toml"), path="planbound.toml")
    project = os.path.join(root, "pyproject.toml")
    if os.path.isfile(project):
        with open(project, "rb") as file:
            mentioned = b"planbound" in file.read(_MAX_BYTES)
        if mentioned:
            tools = _load(project, "pyproject.toml").get("tool", {})
            table = tools.get("planbound", {}) if isinstance(tools, dict) else {}
            if isinstance(table, dict) and table:
                return read_configuration(table, path="pyproject.toml [tool.planbound]")
    return Configuration()


def _load(path: str, shown: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - most workspaces have no configuration

    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ConfigurationError(f"{shown} is larger than {_MAX_BYTES:,} bytes")
        return tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read {shown}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{shown} is not valid TOML: {error}") from error
