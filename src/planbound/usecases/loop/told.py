"""What a tool answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planbound.journal.record import Json


class Told(NamedTuple):
    """An answer to an agent, in words and for programs."""

    ok: bool
    """False: refused, or not proved; the text says why, and what to do."""
    text: str
    data: Mapping[str, Json] = {}
