"""The journal as a receipt has it: a checkpoint, and proofs of what it holds."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from planbound.disk.files import write_whole
from planbound.errors import FileProblem, Refused
from planbound.journal.record import Record
from planbound.receipts.merkle import ORIGIN, MerkleTree, checkpoint_text
from planbound.receipts.predicate import CitedEvent, EarlierCheckpoint, RunJournal
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.journal.postgres import PostgresJournal
    from planbound.journal.sqlite import SqliteJournal

_MOST_BYTES = 10_000


class NotedCheckpoint(NamedTuple):
    """The checkpoint of the last receipt that was made here."""

    size: int
    root: bytes


class CheckpointFile:
    """Where the checkpoint of the last receipt is noted, in the state home."""

    def __init__(self, context: Context) -> None:
        self.path = os.path.join(context.state.folder, "receipts", "checkpoint.json")

    def read(self) -> NotedCheckpoint | None:
        """Return what was noted; None where nothing was."""
        try:
            with open(self.path, "rb") as file:
                said = json.loads(file.read(_MOST_BYTES))
            size, root = said["size"], base64.b64decode(said["root"], validate=True)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileProblem(f"cannot read `{self.path}`: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error
        if type(size) is not int or size < 1 or len(root) != 32:
            raise self._damaged()
        return NotedCheckpoint(size, root)

    def note(self, noted: NotedCheckpoint) -> None:
        """Note the checkpoint of a receipt, whole or not at all."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        except OSError as error:
            raise FileProblem(f"cannot write `{self.path}`: {error.strerror}") from error
        said = {"size": noted.size, "root": base64.b64encode(noted.root).decode("ascii")}
        write_whole(self.path, json.dumps(said).encode("ascii") + b"\n", private=True)

    def _damaged(self) -> FileProblem:
        return FileProblem(
            f"`{self.path}` is damaged",
            hint="remove it: the next receipt then says nothing of the one before",
        )


class JournalProof:
    """The tree over all events up to now."""

    def __init__(self, context: Context, journal: PostgresJournal | SqliteJournal) -> None:
        self.size = journal.head().seq
        self._tree = MerkleTree(journal.hashes(self.size))
        self._root = self._tree.root()
        self._origin = ORIGIN + context.state.project
        self._file = CheckpointFile(context)

    def cite(self, records: Iterable[Record]) -> RunJournal:
        """Return the checkpoint, with the proofs that these events are among those it covers."""
        places: dict[bytes, int] = {}
        events = []
        for record in sorted({each.seq: each for each in records}.values(), key=_number):
            path = self._tree.path(record.seq - 1)
            at = tuple(places.setdefault(node, len(places)) for node in path)
            kind = record.kind.value
            events.append(CitedEvent(seq=record.seq, event=kind, hash=record.hash, path=at))
        return RunJournal(
            checkpoint=checkpoint_text(self._origin, self.size, self._root),
            nodes=tuple(_base64(node) for node in places),
            events=tuple(events),
            earlier=self._earlier(),
        )

    def note(self) -> None:
        """Note this checkpoint for the next receipt: this one is written."""
        self._file.note(NotedCheckpoint(self.size, self._root))

    def _earlier(self) -> EarlierCheckpoint | None:
        noted = self._file.read()
        if noted is None:
            return None
        if noted.size > self.size or self._tree.root(noted.size) != noted.root:
            raise Refused(
                "the journal is not the one that the last receipt speaks of: events that were in"
                f" it, up to number {noted.size}, are gone or are others now",
                hint="`planbound log --verify` looks at the journal; who knows why it is another"
                f" one removes `{self._file.path}`, and begins anew",
            )
        proof = tuple(_base64(node) for node in self._tree.consistency(noted.size))
        return EarlierCheckpoint(size=noted.size, root=_base64(noted.root), proof=proof)


def _number(record: Record) -> int:
    return record.seq


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
