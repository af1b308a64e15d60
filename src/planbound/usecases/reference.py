"""A frozen tree that forgives what is not the work's doing."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from planbound.engine.judging.case import Case
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.protection import protect
from planbound.engine.judging.scope import Scope
from planbound.engine.manifest import Manifest, changes, manifest_of
from planbound.ports.tree import Vault
from planbound.usecases.frozen_judges import judges_of, read_frozen


def forgiving(
    frozen: Frozen, now: Manifest, cases: Iterable[Case], scope: Scope, vault: Vault
) -> Frozen:
    """Return the frozen tree with everything out of scope as it is now; judges stay as they were.

    What a step changed out of scope was seen and put back when the step was judged.
    """
    read = partial(read_frozen, frozen.manifest, vault)
    judges = judges_of(cases, frozen.manifest, read)
    beyond = protect(changes(frozen.manifest, now), judges, scope).outside
    entries = dict(frozen.manifest.entries)
    for path in beyond:
        key = path.encode("utf-8", "surrogateescape")
        entry = now.entries.get(key)
        if entry is None:
            entries.pop(key, None)
        else:
            entries[key] = entry
    return frozen._replace(manifest=manifest_of(entries, tagged=now.tagged))
