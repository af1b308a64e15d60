"""What a step's prompt shows of files: what it asks for, and what it is judged by."""

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
_MOST_JUDGES = 30
_JUDGES_TEXT = 12_000
"""So many characters of all judges together are shown."""
_JUDGE_TEXT = 8_000
"""So many of one judge: the next one is shown, too."""
_WORTH = 200
_SETTINGS = (".toml", ".cfg", ".ini", ".json", ".lock", ".yaml", ".yml")


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
    data = next(
        (
            found
            for place in places
            if (found := read_inside(place[0], files, place[1])) is not None
        ),
        None,
    )
    if data is None:
        return Context(name, None)
    # Before it is cut: half a secret would not be recognised.
    text = clean(data.decode("utf-8", "replace"))
    return Context(
        name, text[:_LONGEST], hashlib.sha256(data).hexdigest(), cut=len(text) > _LONGEST
    )


def read_inside(root: str, files: Files, inside: str) -> bytes | None:
    """Return a file below a folder; None where there is none, or a link leads out of it."""
    path = os.path.realpath(os.path.join(root, inside))
    if not path.startswith(os.path.realpath(root) + os.sep):
        return None
    try:
        return files.read(path)
    except FileProblem:
        return None


def read_judges(
    paths: Sequence[str],
    named: Sequence[str],
    read: Callable[[str], bytes | None],
    clean: Callable[[str], str],
) -> list[Context]:
    """Return the judges of a step without secrets: so many paths, and of those so much text.

    Those that its command names come first, and settings of tools last.
    """
    found: list[Context] = []
    room = _JUDGES_TEXT
    for path in sorted(paths, key=lambda each: _rank(each, named))[:_MOST_JUDGES]:
        data = read(path) if room >= _WORTH else None
        if data is None or b"\0" in data:
            found.append(Context(path, None))
            continue
        text = clean(data.decode("utf-8", "replace"))
        digest = hashlib.sha256(data).hexdigest()
        most = min(room, _JUDGE_TEXT)
        found.append(Context(path, text[:most], digest, cut=len(text) > most))
        room -= min(len(text), most)
    return found


def _rank(path: str, named: Sequence[str]) -> tuple[int, int, str]:
    if path in named:
        return (0, named.index(path), path)
    if path.endswith(_SETTINGS):
        return (3, 0, path)
    return (1 if any(path.startswith(f"{each}/") for each in named) else 2, 0, path)
