"""What processes left in the state home that were killed: found, shown, and removed.

Nothing goes that a living process has, or that a run can go on with.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from planbound.engine.run.runs import EVENTS, runs_that_are_over
from planbound.errors import PlanboundError
from planbound.ports.journal import Query
from planbound.shell.cell.copies import WorkspaceCopies
from planbound.shell.cell.holding import held, is_abandoned, mark
from planbound.shell.cell.inside.tree import remove_entry
from planbound.shell.cell.probe import PROBE
from planbound.shell.cell.scratch import clear
from planbound.wiring.judging import scratch
from planbound.wiring.parts import Parts
from planbound.workspace.homes import FolderHomes

_TALK = "talk-"


class Leftover(NamedTuple):
    """Something that nobody needs any more."""

    kind: str
    path: str
    remove: Callable[[], None]


def talk_name() -> str:
    """Return a name for the copy in which this process lets an agent talk, and for its home."""
    return f"{_TALK}{mark()}-{secrets.token_hex(4)}"


@contextlib.contextmanager
def talk_at(copies: WorkspaceCopies, homes: FolderHomes, copy: str) -> Iterator[None]:
    """Have a copy for the time of a talk."""
    try:
        with held(copy):
            yield
    finally:
        homes.remove(os.path.basename(copy))
        copies.remove(copy)


def sweep(parts: Parts) -> None:
    """Remove what nobody needs any more, as far as that can be done."""
    for leftover in leftovers(parts):
        # What cannot be removed is in nobody's way; `doctor` tells of it.
        with contextlib.suppress(OSError, PlanboundError):
            leftover.remove()


def leftovers(parts: Parts) -> list[Leftover]:
    """Return what nobody needs any more."""
    found = [*_rooms(parts), *_copies(parts), *_homes(parts), *_merges(parts)]
    return sorted(found, key=lambda each: each.path)


def _rooms(parts: Parts) -> Iterator[Leftover]:
    rooms = scratch(parts)
    for path in rooms.abandoned():
        yield Leftover("room of a cell", path, partial(clear, path))
    for path in _named(f"{rooms.folder}-probe"):
        owner = os.path.basename(path).removeprefix(PROBE).partition("-")[0]
        if is_abandoned(path, owner):
            yield Leftover("room of a cell", path, partial(remove_entry, path))


def _copies(parts: Parts) -> Iterator[Leftover]:
    copies = WorkspaceCopies(os.path.join(parts.state.folder, "copies"))
    whole = [path for path in _named(copies.root) if not os.path.basename(path).startswith(".")]
    for path in (*copies.abandoned(), *_of_nobody(parts, whole)):
        yield Leftover("copy of the workspace", path, partial(copies.clear, path))


def _homes(parts: Parts) -> Iterator[Leftover]:
    homes = FolderHomes(os.path.join(parts.state.folder, "homes"))
    copies = os.path.join(parts.state.folder, "copies")
    for path in _of_nobody(parts, _named(homes.root)):
        name = os.path.basename(path)
        # A talk has its home for as long as its copy.
        if not (name.startswith(_TALK) and os.path.lexists(os.path.join(copies, name))):
            yield Leftover("home of an agent", path, partial(homes.remove, name))


def _merges(parts: Parts) -> Iterator[Leftover]:
    if not _named(os.path.join(parts.state.folder, "scratch")):
        return
    from planbound.wiring.merge_scratch import abandoned_merges  # noqa: PLC0415 - needs git

    for path, remove in abandoned_merges(parts):
        yield Leftover("scratch worktree", path, remove)


def _of_nobody(parts: Parts, paths: list[str]) -> list[str]:
    """Return those that belong to a run that is over, or to a talk whose process is no more."""
    over: frozenset[str] | None = None
    found = []
    for path in paths:
        name = os.path.basename(path)
        if name.startswith(_TALK):
            if is_abandoned(path, name.removeprefix(_TALK).partition("-")[0]):
                found.append(path)
            continue
        over = _over(parts) if over is None else over
        if name.partition("-")[0] in over:
            found.append(path)
    return found


def _over(parts: Parts) -> frozenset[str]:
    """Return the runs that nobody can go on with; one that the journal does not know is none."""
    journal = parts.existing_journal()
    if journal is None:
        return frozenset()
    working = {each.claim.plan for each in parts.leases().held() if not each.expired}
    return runs_that_are_over(journal.read(Query(events=EVENTS)), working)


def _named(folder: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))
    except OSError:
        return []
