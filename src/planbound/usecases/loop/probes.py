"""What the harness looks at itself, where a contract in a cell could not."""

from __future__ import annotations

from collections.abc import Mapping

from planbound.engine.loop.checks import unknown_probe
from planbound.journal.record import Json
from planbound.usecases.loop.desk import Probe


def look(probes: Mapping[str, Probe], wanted: Mapping[str, Json]) -> str | None:
    """Return what is found instead; None where it is so."""
    name, arguments = str(wanted.get("name")), wanted.get("arguments")
    probe = probes.get(name)
    if probe is None:
        return unknown_probe(name, tuple(probes))
    try:
        return probe(**(arguments if isinstance(arguments, dict) else {}))
    except Exception as error:  # noqa: BLE001 - somebody's own code: whatever it raises is no pass
        return f"`{name}` failed: {type(error).__name__}: {error}"
