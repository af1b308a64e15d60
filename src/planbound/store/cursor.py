"""How far each receiver has been told: one JSON file, replaced as a whole."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from planbound.errors import FileProblem, Refused
from planbound.ports.notify import Cursor, GivenUp
from planbound.store.files import problem, remove, sync_folder
from planbound.store.lock import PATIENCE, kernel_lock

_VERSION = 1
_KEPT = 50
"""So many of those that were given up are remembered for each receiver."""


class CursorFile:
    """For any number of threads and processes of one machine."""

    def __init__(self, path: str, *, locks: str) -> None:
        self._path = path
        self._locks = locks

    def all(self) -> Mapping[str, Cursor]:
        """Return every cursor by the identity of its entry."""
        try:
            with open(self._path, "rb") as file:
                return _decoded(file.read())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise problem("read", self._path, error) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileProblem(
                f"`{self._path}` does not say who was told of what",
                hint="remove it: receivers are then told of what happens from now on",
            ) from error

    def read(self, identity: str) -> Cursor | None:
        """Return the cursor of an entry."""
        return self.all().get(identity)

    def enter(self, identity: str, cursor: Cursor) -> bool:
        """Keep the cursor of an entry that has none; return whether it was kept."""
        if identity in self.all():
            return False
        with self._locked(f"{self._path}.lock", PATIENCE):
            known = self.all()
            if identity in known:
                return False
            self._store({**known, identity: cursor})
        return True

    def write(self, identity: str, cursor: Cursor) -> None:
        """Replace the cursor of an entry, durable on return."""
        with self._locked(f"{self._path}.lock", PATIENCE):
            self._store({**self.all(), identity: cursor})

    @contextlib.contextmanager
    def alone(self, identity: str) -> Iterator[bool]:
        """Keep all others from delivering for an entry; yield False where another does it now."""
        with contextlib.ExitStack() as stack:
            is_alone = True
            try:
                path = os.path.join(self._locks, f"notify-{identity[:32]}.lock")
                stack.enter_context(self._locked(path, 0.0))
            except Refused:
                is_alone = False
            yield is_alone

    @contextlib.contextmanager
    def _locked(self, path: str, seconds: float) -> Iterator[None]:
        for folder in (os.path.dirname(self._path), os.path.dirname(path)):
            try:
                os.makedirs(folder, mode=0o700, exist_ok=True)
            except OSError as error:
                raise problem("make", folder, error) from error
        with kernel_lock(path, mode=0o600, seconds=seconds, busy=_busy(path)):
            yield

    def _store(self, cursors: Mapping[str, Cursor]) -> None:
        content = {"version": _VERSION, "entries": dict(map(_encoded, cursors.items()))}
        # The lock is held: one name is enough, and what a crash leaves is written over.
        temporary = f"{self._path}.tmp"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(json.dumps(content, indent=1).encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except OSError as error:
            remove(temporary)
            raise problem("write", self._path, error) from error
        sync_folder(self._path)


def _busy(path: str) -> Callable[[], Refused]:
    return lambda: Refused(f"`{path}` is locked by another process", hint="wait for it")


def _encoded(item: tuple[str, Cursor]) -> tuple[str, dict[str, object]]:
    identity, cursor = item
    given_up = [each._asdict() for each in cursor.given_up[-_KEPT:]]
    return identity, {**cursor._asdict(), "given_up": given_up}


def _decoded(data: bytes) -> dict[str, Cursor]:
    content: Any = json.loads(data)
    if content["version"] != _VERSION:
        raise ValueError(content["version"])
    return {identity: _cursor(values) for identity, values in content["entries"].items()}


def _cursor(values: dict[str, Any]) -> Cursor:
    given_up = tuple(GivenUp(**each) for each in values.pop("given_up"))
    cursor = Cursor(**values, given_up=given_up)
    return cursor._replace(
        seq=int(cursor.seq),
        tries=int(cursor.tries),
        due=float(cursor.due),
        delivered=float(cursor.delivered),
    )
