"""Applies what a step did in its copy of the workspace to the workspace itself."""

from __future__ import annotations

from planbound.engine.manifest import EntryType, changes
from planbound.errors import FileProblem
from planbound.usecases.run.attempt import Attempted, Order
from planbound.usecases.run.session import Session


def bring_home(session: Session, order: Order, attempted: Attempted) -> str | None:
    """Apply what a step did in its copy to the workspace; return why that cannot be."""
    frozen, manifest = order.setting.frozen, attempted.manifest
    home, copy = session.bench.tree, order.bench.tree
    if frozen is None or manifest is None:
        return "nothing is known of the copy's tree"
    found = [
        change
        for change in changes(frozen.manifest, manifest)
        if (entry := change.after or change.before) is not None
        and entry.type in {EntryType.FILE, EntryType.DIRECTORY, EntryType.LINK}
    ]
    now = home.manifest(session.bench.rules)
    for change in found:
        path = change.path.encode("utf-8", "surrogateescape")
        there = now.entries.get(path)
        if there not in {change.before, change.after}:
            return f"`{change.path}` changed in the workspace meanwhile"
    removed = [change for change in found if change.after is None]
    try:
        for change in (*(item for item in found if item.after is not None), *removed[::-1]):
            content = None
            if change.after is not None and change.after.type is EntryType.FILE:
                content = copy.content(change.path, change.after)
                if content is None:
                    return f"`{change.path}` is not as it was judged any more"
            path = change.path.encode("utf-8", "surrogateescape")
            home.put_back(path, change.after, content)
    except FileProblem as problem:
        return f"`{change.path}` cannot be written: {problem.message}"
    return None
