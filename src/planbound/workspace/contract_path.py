"""Where contracts find their programs: fixed, whatever the caller's PATH is."""

from __future__ import annotations

import os
import sys

from planbound.engine.configuration import Configuration

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def contract_path(configuration: Configuration, root: str) -> list[str]:
    """Return the folders, in order: what is configured, the harness's own, the system's."""
    contracts = configuration.contracts
    if "PATH" in contracts.env and os.environ.get("PATH"):
        return os.environ["PATH"].split(os.pathsep)
    own = os.path.dirname(os.path.abspath(sys.executable))
    named = [os.path.join(root, os.path.expanduser(path)) for path in contracts.path]
    return list(dict.fromkeys((*named, own, *SYSTEM_PATH)))
