"""The context that a step asks for, read when the step is given out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from planbound.engine.prompt import Context
from planbound.errors import FileProblem
from planbound.plan.model import Subscription, SubscriptionKind
from planbound.ports.files import Files

_LONGEST = 20_000


def read_subscriptions(wanted: Sequence[Subscription], root: str, files: Files) -> list[Context]:
    """Return the content of each subscription; one that is not there says so."""
    return [_context(item, root, files) for item in wanted]


def _context(item: Subscription, root: str, files: Files) -> Context:
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
    text = data.decode("utf-8", "replace")
    return Context(
        name, text[:_LONGEST], hashlib.sha256(data).hexdigest(), cut=len(text) > _LONGEST
    )
