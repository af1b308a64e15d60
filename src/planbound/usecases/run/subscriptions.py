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
    wanted: Sequence[Subscription],
    root: str,
    harness: str,
    files: Files,
    clean: Callable[[str], str],
) -> list[Context]:
    """Return the content of each subscription without secrets; one that is missing says so.

    A topic is looked for in the workspace, where a step may have written it, then in `harness`,
    the folder of the plans: in a linked worktree that is another one.
    """
    found: list[Context] = []
    topics = 0
    for item in wanted:
        topics += item.kind is SubscriptionKind.TOPIC
        if item.kind is SubscriptionKind.TOPIC and topics > _MOST_TOPICS:
            found.append(Context(f"{item.kind.value}:{item.name}", None, left_out=True))
        else:
            places = [(root, item.name)]
            if item.kind is SubscriptionKind.TOPIC:
                topic = f"topics/{item.name}.md"
                places = [(root, f".harness/{topic}"), (harness, topic)]
            found.append(_context(item, places, files, clean))
    return found


def _context(
    item: Subscription,
    places: Sequence[tuple[str, str]],
    files: Files,
    clean: Callable[[str], str],
) -> Context:
    name = f"{item.kind.value}:{item.name}"
    data = next((found for place in places if (found := _read(*place, files)) is not None), None)
    if data is None:
        return Context(name, None)
    # Before it is cut: half a secret would not be recognised.
    text = clean(data.decode("utf-8", "replace"))
    return Context(
        name, text[:_LONGEST], hashlib.sha256(data).hexdigest(), cut=len(text) > _LONGEST
    )


def _read(root: str, inside: str, files: Files) -> bytes | None:
    path = os.path.realpath(os.path.join(root, inside))
    if not path.startswith(os.path.realpath(root) + os.sep):
        return None
    try:
        return files.read(path)
    except FileProblem:
        return None
