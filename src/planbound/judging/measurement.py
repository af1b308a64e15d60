"""What the runs of a contract showed, kept: where nothing differs, it need not be run again.

Kept is what was measured, and never a verdict: that is decided anew each time, by what is demanded
and forbidden then. The key is a digest of everything that the runs could see and that says how they
are read. The journal has the digest of what is kept, in the event that told of it first: what no
event tells of does not count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from planbound.cells.cell import Captured, CommandEnding, Outcome
from planbound.cells.isolation import Isolation
from planbound.disk.decoders import msgpack_decoder
from planbound.disk.own_code import own_code
from planbound.journal.chain import is_whole
from planbound.journal.event import (
    BaselineObserved,
    ContractEvaluated,
    EventKind,
    GateApprovalRequested,
    VerdictKind,
)
from planbound.journal.log import broken_mark
from planbound.journal.record import Journal, Query, Record
from planbound.journal.words import SubjectKind
from planbound.judging.corroborate import Corroboration
from planbound.judging.outside import surroundings
from planbound.judging.verdict import Verdict
from planbound.plan.model import CaseTable
from planbound.workspace.manifest import digest_without
from planbound.workspace.measured import progress_files

if TYPE_CHECKING:
    from planbound.judging.contract import JudgedContract
    from planbound.judging.runs import ContractRuns

FOLDER = "measured"
"""In the state home."""
LASTS = timedelta(days=1)
"""So long something that was measured is taken over: some tests know what day it is."""
_FORM = 4
_CODE = (
    "cells", "cells/inside", "git", "judging", "judging/inside", "plan", "script",
    "script/runners", "workspace",
)  # fmt: skip
"""The features that run a contract and say what its runs show."""
_NEAR = 1_000
"""So many events after a measurement one of them tells of it."""
_LARGEST = 16 << 20
_AT_HAND = 50
"""So many are kept in memory: that a contract stands twice in a plan is seen there."""
_KINDS = (
    EventKind.BASELINE_OBSERVED,
    EventKind.CONTRACT_EVALUATED,
    EventKind.GATE_APPROVAL_REQUESTED,
)


class Measured(Struct, frozen=True):
    """What was seen of a contract that came to its own end."""

    key: str
    """The digest of all that it depends on."""
    made: str
    """When."""
    after: int
    """The last event before it."""
    exit_code: int | None
    duration: float
    stdout: Captured
    stderr: Captured
    leftovers: int
    written: tuple[str, ...]
    written_count: int
    report: bytes | None
    """The names of the tests, where the runner was made to write them down."""
    support: Corroboration
    counted: int | None
    """How many tests passed, where that was asked."""

    def outcome(self, report: str | None) -> Outcome:
        """Return it as a cell would; `report` is where the names of the tests are looked for."""
        found = {} if report is None or self.report is None else {report: self.report}
        return Outcome(
            CommandEnding.EXITED,
            exit_code=self.exit_code,
            duration=self.duration,
            stdout=self.stdout,
            stderr=self.stderr,
            leftovers=self.leftovers,
            written=self.written,
            written_count=self.written_count,
            collected=found,
        )


class Recalled(NamedTuple):
    """Something that was measured before."""

    measured: Measured
    digest: str
    seq: int | None
    """The event that told of it first; None: it was made here, and is not told yet."""


class Measurements:
    """What was measured in a project, in files of its state home."""

    def __init__(
        self,
        folder: str,
        journal: Callable[[], Journal | None],
        now: Callable[[], str],
        *,
        fresh: bool = False,
    ) -> None:
        self._folder = folder
        self._open = journal
        self._now = now
        self._fresh = fresh
        self._journal: Journal | None = None
        self._here: dict[str, Recalled] = {}
        self.told: dict[str, None] = {}
        """The digests of all that was measured or recalled here."""

    def recall(self, key: str) -> Recalled | None:
        """Return what was measured under a key, where an event in the journal tells of it."""
        if self._fresh or os.path.exists(broken_mark(os.path.dirname(self._folder))):
            return None
        here = self._here.get(key)
        if here is not None and self._is_recent(here.measured.made):
            return here._replace(seq=self._told_by(here.digest, here.measured.after))
        try:
            with open(self._path(key), "rb") as file:
                data = file.read(_LARGEST + 1)
            measured = msgpack_decoder(Measured).decode(data)
        except (OSError, msgspec.MsgspecError):
            return None
        if measured.key != key or not self._is_recent(measured.made):
            return None
        digest = hashlib.sha256(data).hexdigest()
        seq = self._told_by(digest, measured.after)
        if seq is None:
            return None
        self.told.setdefault(digest)
        return Recalled(measured, digest, seq)

    def keep(self, measured: Measured) -> str | None:
        """Keep what was measured; return its digest, None where it cannot be kept.

        It is a cache: that it is lost costs a run, and nothing else.
        """
        try:
            data = msgspec.msgpack.encode(measured)
        except UnicodeEncodeError:
            return None  # a name of a file that is no text
        if len(data) > _LARGEST:
            return None
        path = self._path(measured.key)
        draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with open(draft, "xb", opener=_private) as file:
                file.write(data)
            os.replace(draft, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            return None
        digest = hashlib.sha256(data).hexdigest()
        self.told.setdefault(digest)
        if len(self._here) >= _AT_HAND:
            self._here.clear()
        self._here[measured.key] = Recalled(measured, digest, None)
        return digest

    def forget(self, key: str) -> None:
        """Forget what was measured under a key: on the same it came out otherwise."""
        self._here.pop(key, None)
        with contextlib.suppress(OSError):
            os.unlink(self._path(key))

    def stamp(self) -> tuple[str, int]:
        """Return the time, and the last event that there is."""
        journal = self._reading()
        return self._now(), 0 if journal is None else journal.head().seq

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, key)

    def _is_recent(self, made: str) -> bool:
        age = datetime.fromisoformat(self._now()) - datetime.fromisoformat(made)
        return timedelta(0) <= age <= LASTS  # a clock that went back says nothing

    def _told_by(self, digest: str, after: int) -> int | None:
        """Return the first event that tells of a measurement, where it is as it was written."""
        journal = self._reading()
        if journal is None:
            return None
        for record in islice(journal.read(Query(after=after, events=_KINDS)), _NEAR):
            if digest in _digests(record):
                return record.seq if is_whole(record) else None
        return None

    def _reading(self) -> Journal | None:
        if self._journal is None:
            self._journal = self._open()
        return self._journal


def measured_outcome(folder: str, digest: str) -> Outcome | None:
    """Return what a run showed that an event tells of, as long as it is kept in a state home."""
    try:
        paths = sorted(each.path for each in os.scandir(os.path.join(folder, FOLDER)))
    except OSError:
        return None
    for path in paths:
        with contextlib.suppress(OSError, msgspec.MsgspecError), open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
            if hashlib.sha256(data).hexdigest() == digest:
                return msgpack_decoder(Measured).decode(data).outcome(None)
    return None


def outdated(folder: str, now: float) -> list[str]:
    """Return the files that are too old to be taken over; `now` is in seconds since 1970."""
    oldest = now - LASTS.total_seconds()
    try:
        entries = list(os.scandir(os.path.join(folder, FOLDER)))
    except OSError:
        return []
    return [each.path for each in entries if each.stat(follow_symlinks=False).st_mtime < oldest]


class Recalling:
    """What was measured of a contract before, or is kept for the next time."""

    def __init__(self, contract: JudgedContract, runs: ContractRuns) -> None:
        self._contract = contract
        self._kept, self._runs = contract.judging.measurements, runs
        self._observing = contract.setting.observing
        self._key = key_of(contract) if self._kept is not None else None
        self._found: Recalled | None = None
        if self._kept is not None and self._key is not None:
            self._stamp = self._kept.stamp()
            self._found = self._kept.recall(self._key)
            runs.known = self._found.measured if self._found is not None else None

    def noted_in(
        self, verdict: Verdict, support: Corroboration, counted: int | None, *, is_same: bool
    ) -> Verdict:
        """Return a verdict that says what it is founded on, which is kept from now on.

        What changed while it ran was perhaps seen, and is not what the key speaks of: then nothing
        is kept. `is_same` says so of the files; everything else is looked at once more.
        """
        if self._found is not None:
            return verdict._replace(measured=self._found.digest, reused=self._found.seq)
        if self._kept is None or self._key is None:
            return verdict
        if not _is_lasting(verdict.kind, observing=self._observing):
            self._kept.forget(self._key)
            return verdict
        if not is_same or key_of(self._contract) != self._key:
            return verdict
        report = None
        if verdict.outcome is not None and self._runs.report is not None:
            report = verdict.outcome.collected.get(self._runs.report)
        made = _measured_of(self._key, self._stamp, verdict, report, counted, support)
        return verdict if made is None else verdict._replace(measured=self._kept.keep(made))


# -- what it depends on --------------------------------------------------------------------------


def key_of(contract: JudgedContract) -> str | None:
    """Return a digest of all that the runs of a contract depend on; None: they are not taken over.

    Not: who wants it run several times, what asks the network, and what stands beside a plain
    process, which could do anything.
    """
    judging, case = contract.judging, contract.case
    rules, request = judging.configuration.judging, contract.request
    observing = contract.setting.observing
    if (
        not rules.reuse
        or case.repeat > 1
        or isinstance(contract.command, CaseTable)
        or (case.subject is SubjectKind.PRECONDITION and not observing)
        or judging.configuration.contracts.network
        or judging.fault is not None
        or contract.manifest.truncated
        or not judging.cell.isolation.reaches(Isolation.I1)
    ):
        return None
    outside = surroundings(contract)
    if outside is None:
        return None
    entries = contract.manifest.entries
    # A run is told of in these at every step; a look leaves all else as it was.
    told = progress_files(judging.tree.root)
    tree = digest_without(contract.manifest, told) if observing else contract.manifest.digest
    # What is taken out and not in the manifest either is seen by nobody.
    removed = (os.fsencode(path) for path in request.remove if path not in told)
    judges = contract.required_judges
    facts = (
        (_FORM, own_code(*_CODE), judging.cell.isolation.value, judging.cell.name, outside),
        (tree, contract.digest, observing, rules.canary, rules.mutate),
        request._replace(lay=(), remove=(), environment={}),
        sorted(request.environment.items()),
        [(item.path, _sha256(item.content), item.mode) for item in request.lay],
        sorted(path for path in removed if path in entries),
        [sorted(each) for each in contract.judges],
        sorted(contract.protection.own),
        [(path, _sha256(judges[path])) for path in sorted(judges)],
    )
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


def _measured_of(
    key: str, stamp: tuple[str, int], verdict: Verdict, report: bytes | None, counted: int | None,
    support: Corroboration,
) -> Measured | None:  # fmt: skip
    """Return what was measured; None where it must not be taken over.

    A look is kept whatever its colour. Of work only a pass is: what failed is always tried again.
    """
    outcome = verdict.outcome
    if outcome is None or outcome.ending is not CommandEnding.EXITED or outcome.trespassed:
        return None
    return Measured(
        key=key,
        made=stamp[0],
        after=stamp[1],
        exit_code=outcome.exit_code,
        duration=outcome.duration,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        leftovers=outcome.leftovers,
        written=outcome.written,
        written_count=outcome.written_count,
        report=report,
        support=support,
        counted=counted,
    )


def _is_lasting(kind: VerdictKind, *, observing: bool) -> bool:
    """Say whether what led to a verdict may lead to it once more."""
    return kind is VerdictKind.PASS or (observing and kind is VerdictKind.FAIL)


def _digests(record: Record) -> tuple[str, ...]:
    event = record.event
    match event:
        case BaselineObserved() | ContractEvaluated():
            return () if event.measured is None else (event.measured,)
        case GateApprovalRequested():
            return event.measured or ()
        case _:
            return ()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
