"""What happened to the tree since it was frozen, as far as it concerns a contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planbound.engine.judging.caches import is_cache, is_disguised
from planbound.engine.judging.judges import Judges
from planbound.engine.judging.planted import runs_by_itself
from planbound.engine.judging.scope import Scope, covers, may_add, outside
from planbound.engine.judging.verdict import Tampering
from planbound.engine.manifest import (
    Change,
    ChangeKind,
    Entry,
    EntryType,
    Manifest,
    path_text,
)

_HARNESS = ".harness/"
_MARKER = ".harness/active-plan"
_BY_ITSELF = "added: "
_DISGUISED = "added: it is called as a cache is, and is none"
_BUILT = frozenset(
    b"target build dist out coverage htmlcov .cache .gradle zig-cache .zig-cache .uv-cache".split()
)
"""What tools that tag their folders call them."""


class Protection(NamedTuple):
    """What a contract is judged by instead of what is there, and what is wrong with that."""

    tampered: tuple[Tampering, ...] = ()
    outside: tuple[str, ...] = ()
    restored: tuple[tuple[str, Entry], ...] = ()
    """Judges that are laid from their frozen copies."""
    removed: tuple[str, ...] = ()
    """What is taken out of the contract's tree."""
    own: tuple[str, ...] = ()
    """Judges that changed, as `touches` allows."""
    flagged: tuple[Tampering, ...] = ()
    """What runs by itself and came to be where nothing says what may: only taken out."""


def protect(changes: Sequence[Change], judges: Judges, scope: Scope) -> Protection:
    """Return what has to be done about the changes since the tree was frozen."""
    tampered: list[Tampering] = []
    restored: list[tuple[str, Entry]] = []
    removed: list[str] = []
    own: list[str] = []
    flagged: list[Tampering] = []
    rest: list[Change] = []
    for change in changes:
        reason = None if _is_cache(change) else _concern(change, judges)
        if reason is None:
            rest.append(change)
        elif reason == _DISGUISED and not outside((change,), scope):
            flagged.append(Tampering(change.path, reason))
            removed.append(change.path)
        elif _is_own(change, scope):
            own.append(change.path)
        elif _is_only_flagged(change, reason, scope):
            flagged.append(Tampering(change.path, reason))
            removed.append(change.path)
        else:
            tampered.append(Tampering(change.path, reason))
            if change.before is None:
                removed.append(change.path)
            else:
                restored.append((change.path, change.before))
    beyond = outside([item for item in rest if _counts(item)], scope)
    return Protection(
        tampered=tuple(tampered),
        outside=tuple(item.path for item in beyond),
        restored=tuple(restored),
        removed=tuple(removed),
        own=tuple(own),
        flagged=tuple(flagged),
    )


def new_caches(before: Manifest, after: Manifest) -> Iterator[Change]:
    """Yield new folders that say they are caches, and are not called as any tool's are."""
    for path in sorted(after.tagged - before.tagged):
        if path.rpartition(b"/")[2] not in _BUILT:
            entry = Entry(EntryType.SUMMARY, 0, 0, b"CACHEDIR.TAG")
            yield Change(path_text(path), ChangeKind.ADDED, None, entry)


def _concern(change: Change, judges: Judges) -> str | None:
    """Return how a change concerns the judges, where it does."""
    path = change.path
    if change.kind is not ChangeKind.ADDED:
        if path in judges.files or _holds(path, change, judges):
            return "changed" if change.kind is ChangeKind.CHANGED else "removed"
        return runs_by_itself(path) if path.startswith(".git/") else None
    if is_disguised(path, change.after):
        return _DISGUISED
    if change.after is not None and change.after.type is EntryType.DIRECTORY:
        return None  # what is in it is a change of its own
    if path in judges.names or any(path.startswith(f"{each}/") for each in judges.directories):
        return "added"
    reason = runs_by_itself(path)
    return f"{_BY_ITSELF}{reason}" if reason else None


def _is_own(change: Change, scope: Scope) -> bool:
    """Say whether a step may change a judge: by touches, or where there are none by its task."""
    if scope.patterns is not None:
        return not outside((change,), scope)
    if outside((change,), scope):
        return False
    if covers(scope, change.path):
        return True
    is_new = change.kind is ChangeKind.ADDED and runs_by_itself(change.path) is None
    return is_new and may_add(scope, change.path)


def _is_only_flagged(change: Change, reason: str, scope: Scope) -> bool:
    """Say whether what runs by itself came to be where nothing says that it may not."""
    if scope.patterns is not None or not reason.startswith(_BY_ITSELF):
        return False
    return scope.also is None or not outside((change,), scope)


def _holds(path: str, change: Change, judges: Judges) -> bool:
    """Say whether a folder of judges became something else, such as a link."""
    was_folder = change.before is not None and change.before.type is EntryType.DIRECTORY
    is_folder = change.after is not None and change.after.type is EntryType.DIRECTORY
    return was_folder and not is_folder and path in judges.directories


def _counts(change: Change) -> bool:
    """Say whether a change can be outside of the scope at all.

    People stage, archive and note progress in `.harness/` between a baseline and a look; the plan
    itself is compared by its digest. The marker alone says whose plan this is.
    """
    if change.path.startswith(_HARNESS) or change.path == _HARNESS.rstrip("/"):
        return change.path == _MARKER
    return not _is_cache(change)


def _is_cache(change: Change) -> bool:
    """Say whether only a cache changed: a real one, for anything can be hidden behind a link."""
    disguised = any(is_disguised(change.path, each) for each in (change.before, change.after))
    return is_cache(change.path) and not disguised
