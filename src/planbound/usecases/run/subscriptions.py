"""The context that a step asks for, read when the step is given out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

from planbound.engine.prompt import Context
from planbound.errors import FileProblem
from planbound.plan.model import Subscription, SubscriptionKind
from planbound.ports.files import Files

_LONGEST = 20_000
_MOST_TOPICS = 5


def read_subscriptions(
    wanted: Sequence[Subscription], root: str, files: Files, clean: Callable[[str], str]
) -> list[Context]:
    """Return the content of each subscription without secrets; one that is missing says so."""
    found: list[Context] = []
    topics = 0
    for item in wanted:
        topics += item.kind is SubscriptionKind.TOPIC
        if item.kind is SubscriptionKind.TOPIC and topics > _MOST_TOPICS:
            found.append(Context(f"{item.kind.value}:{item.name}", None, left_out=True))
        else:
            found.append(_context(item, root, files, clean))
    return found


def _context(item: Subscription, root: str, files: Files, clean: Callable[[str], str]) -> Context:
    name = f"{item.kind.value}:{item.name}"
    inside = item.name
    if item.kind is SubscriptionKind.TOPIC:
        inside = f".harness/topics/{item.name}.md"
    path = os.path.realpath(os.path.join(root, inside))
    if not path.startswith(os.path.realpath(root) + os.sep):
        return Context(name, None)
    try:
        data = files.read(path)
    except FileProblem:
        return Context(name, None)
    # Before it is cut: half a secret would not be recognised.
    text = clean(data.decode("utf-8", "replace"))
    return Context(
        name, text[:_LONGEST], hashlib.sha256(data).hexdigest(), cut=len(text) > _LONGEST
    )
