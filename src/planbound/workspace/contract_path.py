"""Where contracts find their programs: fixed, whatever the caller's PATH is."""

from __future__ import annotations

from planbound.engine.configuration import Configuration
from planbound.workspace.project_environment import SYSTEM_PATH, find_environment

__all__ = ["SYSTEM_PATH", "contract_path"]


def contract_path(configuration: Configuration, root: str) -> list[str]:
    """Return the folders, in order: what is configured, the project's own, the system's."""
    return list(find_environment(configuration, root).path)
