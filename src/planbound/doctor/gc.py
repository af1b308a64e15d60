"""Clears the state home of what no run and no approval needs."""

from __future__ import annotations

import contextlib
import enum
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from planbound.agents.probe import TALK
from planbound.cells.copies import WorkspaceCopies
from planbound.cells.inside.tree import remove_entry
from planbound.cells.isolation import refuse_in_cell
from planbound.cells.probe import PROBE
from planbound.cells.scratch import clear, is_abandoned
from planbound.disk.space import Disk, disk_of, size_text
from planbound.errors import PlanboundError
from planbound.git.guard import idle_copies
from planbound.journal.event import (
    BaselineObserved,
    EventKind,
    ExecutionComplete,
    ExecutionStarted,
    PlanCreated,
    RunOutcome,
)
from planbound.journal.record import Json, Query, Record
from planbound.judging.context import scratch
from planbound.judging.measurement import outdated
from planbound.team.health import HealthFinding
from planbound.workspace.context import Context
from planbound.workspace.manifest import EntryType
from planbound.workspace.manifest_file import base_of, decode
from planbound.workspace.state_home import AgentHomes
from planbound.workspace.vault import Vault, belongs_elsewhere, open_vault

# -- which runs are over, so that nothing of theirs is needed to go on ---------------------------


EVENTS = (EventKind.PLAN_CREATED, EventKind.EXECUTION_STARTED, EventKind.EXECUTION_COMPLETE)
"""What tells of the beginning and the end of runs."""
_RESUMABLE = RunOutcome.FAILED


def runs_that_are_over(records: Iterable[Record], working: Container[str]) -> frozenset[str]:
    """Return the runs that cannot go on: they ended, or their plan has another one.

    A plan that somebody works on has none of them.
    """
    plans: dict[str, str] = {}
    current: dict[str, str] = {}
    for record in records:
        plan = record.draft.plan
        match record.event:
            case ExecutionStarted(run=run):
                plans[run] = plan
                current[plan] = run
            case PlanCreated():
                current.pop(plan, None)  # another plan by the same name
            case ExecutionComplete(status=status) if status not in {None, _RESUMABLE}:
                current.pop(plan, None)
    going_on = set(current.values())
    return frozenset(
        run for run, plan in plans.items() if run not in going_on and plan not in working
    )


# -- what processes left in the state home that were killed: found, shown, and removed -----------


class UnneededKind(enum.Enum):
    """What somebody may have left behind, as it is called for people."""

    ROOM = "room of a cell"
    COPY = "copy of the workspace"
    HOME = "home of an agent"
    WORKTREE = "scratch worktree"
    HALF = "half of a file"
    SHOWN = "what a contract showed long ago"
    REPOSITORY = "copy of a repository"


class Leftover(NamedTuple):
    """Something that nobody needs any more."""

    kind: UnneededKind
    path: str
    remove: Callable[[], None]


def sweep(context: Context) -> None:
    """Remove what nobody needs any more, as far as that can be done."""
    for leftover in leftovers(context):
        # What cannot be removed is in nobody's way; `doctor` tells of it.
        with contextlib.suppress(OSError, PlanboundError):
            leftover.remove()


def leftovers(context: Context) -> list[Leftover]:
    """Return what nobody needs any more."""
    found = [*_rooms(context), *_copies(context), *_homes(context), *_merges(context)]
    return sorted(found, key=lambda each: each.path)


def _rooms(context: Context) -> Iterator[Leftover]:
    rooms = scratch(context)
    for path in rooms.abandoned():
        yield Leftover(UnneededKind.ROOM, path, partial(clear, path))
    for path in _named(f"{rooms.folder}-probe"):
        owner = os.path.basename(path).removeprefix(PROBE).partition("-")[0]
        if is_abandoned(path, owner):
            yield Leftover(UnneededKind.ROOM, path, partial(remove_entry, path))


def _copies(context: Context) -> Iterator[Leftover]:
    copies = WorkspaceCopies(os.path.join(context.state.folder, "copies"))
    whole = [path for path in _named(copies.root) if not os.path.basename(path).startswith(".")]
    for path in (*copies.abandoned(), *_of_nobody(context, whole)):
        yield Leftover(UnneededKind.COPY, path, partial(copies.clear, path))


def _homes(context: Context) -> Iterator[Leftover]:
    homes = AgentHomes(os.path.join(context.state.folder, "homes"))
    copies = os.path.join(context.state.folder, "copies")
    for path in _of_nobody(context, _named(homes.root)):
        name = os.path.basename(path)
        # A talk has its home for as long as its copy.
        if not (name.startswith(TALK) and os.path.lexists(os.path.join(copies, name))):
            yield Leftover(UnneededKind.HOME, path, partial(homes.remove, name))


def _merges(context: Context) -> Iterator[Leftover]:
    if not _named(os.path.join(context.state.folder, "scratch")):
        return
    from planbound.team.judge_merge import abandoned_merges  # noqa: PLC0415 - needs git

    for path, remove in abandoned_merges(context):
        yield Leftover(UnneededKind.WORKTREE, path, remove)


def _spare(context: Context) -> Iterator[Leftover]:
    """Yield what spares the next merge some time, and takes much room."""
    if not _named(os.path.join(context.state.folder, "merged")):
        return
    from planbound.team.judge_merge import left_merge  # noqa: PLC0415 - needs git

    left = left_merge(context)
    if left is not None:
        yield Leftover(UnneededKind.WORKTREE, *left)


def _of_nobody(context: Context, paths: list[str]) -> list[str]:
    """Return those that belong to a run that is over, or to a talk whose process is no more."""
    over: frozenset[str] | None = None
    found = []
    for path in paths:
        name = os.path.basename(path)
        if name.startswith(TALK):
            if is_abandoned(path, name.removeprefix(TALK).partition("-")[0]):
                found.append(path)
            continue
        over = _over(context) if over is None else over
        if name.partition("-")[0] in over:
            found.append(path)
    return found


def _over(context: Context) -> frozenset[str]:
    """Return the runs that nobody can go on with; one that the journal does not know is none."""
    journal = context.existing_journal()
    if journal is None:
        return frozenset()
    working = {each.claim.plan for each in context.leases().held() if not each.expired}
    return runs_that_are_over(journal.read(Query(events=EVENTS)), working)


def _named(folder: str) -> list[str]:
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))
    except OSError:
        return []


# -- what the state home holds, how large it is, and the disks that are written to ---------------


def disk_findings(context: Context) -> list[HealthFinding]:
    """Return every disk that a command writes to, with what is wrong with it."""
    used: dict[Disk, list[str]] = {}
    places = {
        "the state home": context.state.folder,
        "the workspace": context.root,
        "temporary files": tempfile.gettempdir(),
    }
    found: list[HealthFinding] = []
    for name, path in places.items():
        try:
            used.setdefault(disk_of(path), []).append(name)
        except OSError as error:
            cure = f"look at what the system says of the disk below {path}"
            found.append(HealthFinding(f"{name}: {error.strerror}", cure))
    return [*(_finding(disk, " and ".join(names)) for disk, names in used.items()), *found]


def _finding(disk: Disk, names: str) -> HealthFinding:
    room = f"{size_text(disk.free)} of {size_text(disk.size)} are free"
    message = f"{names}: {disk.mount} ({disk.device}), {room}"
    if disk.trouble is None:
        return HealthFinding(message, None)
    cure = f"make room on {disk.mount}; `planbound gc` removes what no run or approval needs"
    if disk.is_read_only:
        cure = f"mount {disk.mount} so that it can be written"
    return HealthFinding(f"{message}: {disk.trouble}", cure)


def size_of(path: str) -> int:
    """Return how many bytes a file or folder takes on the disk, as far as that can be told."""
    try:
        total = os.lstat(path).st_blocks * 512
    except OSError:
        return 0
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def left_findings(context: Context) -> list[HealthFinding]:
    """Return what killed processes left in the state home."""
    kinds = Counter(each.kind for each in leftovers(context))
    if not kinds:
        return [HealthFinding("nothing that nobody needs")]
    listed = ", ".join(f"{count} × {kind.value}" for kind, count in kinds.items())
    cure = "the next command that opens the state home removes it, as `planbound gc` does"
    return [HealthFinding(f"{listed}, of processes that are no more", cure)]


# -- which kept contents the journal still needs: for a run that can go on, or for an approval ---


_KEY = re.compile(r"[0-9a-f]{64}")
_OF_A_RUN = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.EXECUTION_PAUSED,
        EventKind.TASK_STARTED,
        EventKind.ATTEMPT_ENDED,
    }
)
"""What names trees that are needed only until the run is over."""


def needed_keys(records: Iterable[Record]) -> frozenset[str]:
    """Return the keys of everything that an event names and somebody may still ask for.

    Needed are the last baseline of a plan, what its runs compare with as long as they can go on,
    and whatever else any event names. Trees of runs that are over, and baselines that were
    followed by another, are not.
    """
    always: set[str] = set()
    baselines: dict[str, tuple[str | None, set[str]]] = {}
    runs: dict[str, set[str]] = {}
    for record in records:
        plan, event = record.draft.plan, record.event
        # Also what a newer version tells, and somebody's own.
        keys = set(_keys(record.draft.details.json().values()))
        if isinstance(event, BaselineObserved) and event.tests is not None:
            keys |= set(_keys([event.tests.names]))  # what later runs are compared with, by name
        if isinstance(event, BaselineObserved) and event.manifest is not None:
            known = baselines.get(plan)
            if known is None or known[0] != event.baseline:
                known = baselines[plan] = (event.baseline, set())
            known[1].update(keys)
        elif record.kind in _OF_A_RUN:
            runs.setdefault(plan, set()).update(keys)
        else:
            always |= keys
            if isinstance(event, PlanCreated):
                runs.pop(plan, None)  # another plan by the same name
                baselines.pop(plan, None)
            elif isinstance(event, ExecutionComplete) and event.status not in {None, _RESUMABLE}:
                runs.pop(plan, None)
    found = [always, *runs.values(), *(keys for _, keys in baselines.values())]
    return frozenset().union(*found)


def _keys(values: Iterable[Json]) -> Iterator[str]:
    return (each for each in values if isinstance(each, str) and _KEY.fullmatch(each))


# -- clears the state home of what no run and no approval needs ----------------------------------


_DAY = 86_400.0


class Unneeded(NamedTuple):
    """One thing that nobody needs."""

    kind: UnneededKind
    path: str
    size: int


class Cleared(NamedTuple):
    """What was removed, or would be."""

    items: tuple[Unneeded, ...]
    contents: int
    """How many kept contents nobody needs."""
    contents_size: int
    kept: int
    """How many contents somebody needs."""
    busy: bool
    """Whether somebody uses the contents now, so that they are not touched."""
    size: int
    """How large the state home is afterwards."""
    elsewhere: bool = False
    """Whether a journal that cannot be read from here may need any content."""


def clear_out(context: Context, *, dry: bool) -> Cleared:
    """Remove what nobody needs; with `dry` only say what that is."""
    refuse_in_cell()
    items: list[Unneeded] = []
    for leftover in (*leftovers(context), *_spare(context)):
        size = size_of(leftover.path)
        if dry or _removed(leftover.remove):
            items.append(Unneeded(leftover.kind, leftover.path, size))
    for path in _half_made(context.state.folder):
        size = size_of(path)
        if dry or _removed(partial(remove_entry, path)):
            items.append(Unneeded(UnneededKind.HALF, path, size))
    for path in outdated(context.state.folder, time.time()):
        size = size_of(path)
        if dry or _removed(partial(remove_entry, path)):
            items.append(Unneeded(UnneededKind.SHOWN, path, size))
    kept = open_vault(context)
    try:
        with kept.alone() as alone:
            known = kept.sizes() if not belongs_elsewhere(context) else {}
            garbage = set(known) - _needed(context, kept, set(known))
            if garbage and alone and not dry:
                kept.discard(garbage)
            for path in idle_copies(os.path.join(context.state.folder, "gits")) if alone else ():
                size = size_of(path)
                if dry or _removed(partial(remove_entry, path)):
                    items.append(Unneeded(UnneededKind.REPOSITORY, path, size))
    finally:
        kept.close()
    return Cleared(
        items=tuple(items),
        contents=len(garbage),
        contents_size=sum(known[each] for each in garbage),
        kept=len(known) - len(garbage),
        busy=not alone and bool(garbage),
        size=size_of(context.state.folder),
        elsewhere=belongs_elsewhere(context),
    )


def _needed(context: Context, kept: Vault, known: set[bytes]) -> set[bytes]:
    """Return every content that a journal leads to."""
    journals = context.journals()
    if not journals:
        return known  # whoever lost the journal may find it again
    keys = {key for journal in journals for key in needed_keys(journal.read(Query()))}
    roots = {bytes.fromhex(key) for key in keys} & known
    found = set(roots)
    for root in roots:
        content = kept.content(root)
        # A text that is kept is no manifest, and leads nowhere.
        with contextlib.suppress(ValueError):
            base = base_of(content or b"")
            if base is not None:
                found.add(base)
            entries = decode(content or b"", kept.content).entries.values()
            found |= {entry.content for entry in entries if entry.type is EntryType.FILE}
    return found & known


def _removed(remove: Callable[[], None]) -> bool:
    try:
        remove()
    except (OSError, PlanboundError):
        return False
    return True


def _half_made(folder: str) -> list[str]:
    """Return files that nobody finished for a day."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            half = entry.name.startswith(".") and ".tmp" in entry.name
            if half and time.time() - entry.stat(follow_symlinks=False).st_ctime > _DAY:
                found.append(entry.path)
    return found
