"""The tree before the work, and what its contracts said then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planbound.engine.manifest import Manifest


class Frozen(NamedTuple):
    """What a baseline remembers."""

    id: str
    manifest: Manifest
    plan: str
    """The digest of the plan."""
    configuration: str
    """The digest of the configuration that contracts run under."""
    verdicts: Mapping[str, str]
    """By the digest of the contract."""
