"""A connection to a journal's SQLite file that threads take turns with."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType

from planbound.store import sqlite_file
from planbound.store.sqlite_file import Opened

TRUST = 0.05
"""How many seconds to take it for granted that the open file is the one at the path."""


class SqliteDoor:
    """One connection, through which one thread goes at a time."""

    def __init__(self, path: str, opener: Callable[[str], Opened | None]) -> None:
        self._path = path
        self._opener = opener
        self._connection: sqlite3.Connection | None = None
        self._frozen = False
        self._file: tuple[int, int] | None = None
        self._trusted = 0.0
        self.lock = threading.Lock()
        _forks().add(self)

    def __enter__(self) -> sqlite3.Connection | None:
        """Give the connection; None where there is nothing to read."""
        self.lock.acquire()
        try:
            if self._connection is not None and time.monotonic() < self._trusted:
                return self._connection
            return self._opened()
        except BaseException as error:
            self._fail(error)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the next one in; what SQLite reports becomes a problem."""
        if error is not None:
            self._fail(error)
        else:
            self.lock.release()

    def close(self) -> None:
        """Close the connection when nobody uses it."""
        with self.lock:
            self.shut()

    def shut(self) -> None:
        """Close the connection; the caller has the lock."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _fail(self, error: BaseException) -> None:
        try:
            if isinstance(error, sqlite3.Error):
                self.shut()  # what state it is in after a failure nobody knows
                raise sqlite_file.problem(self._path, error) from error
            if isinstance(error, UnicodeDecodeError):  # a message that quotes what is damaged
                self.shut()
                damaged = sqlite3.DatabaseError("the file is damaged")
                raise sqlite_file.problem(self._path, damaged) from error
        finally:
            self.lock.release()

    def _opened(self) -> sqlite3.Connection | None:
        # A file that was put in the place of the open one, or took it away, counts.
        if self._connection is not None and (self._frozen or _identity(self._path) != self._file):
            self.shut()
        if self._connection is None:
            opened = self._opener(self._path)
            if opened is None:
                return None
            self._connection = opened.connection
            self._frozen = opened.frozen
            self._file = _identity(self._path)
        self._trusted = 0.0 if self._frozen else time.monotonic() + TRUST
        return self._connection


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


# -- forks -------------------------------------------------------------------------------------
# SQLite forbids a connection to live on in a forked process, and remembers its locks per process,
# where a fork does not have them. So everything is closed before a fork, and opened again after.


class _Doors:
    def __init__(self) -> None:
        self._all: weakref.WeakSet[SqliteDoor] = weakref.WeakSet()
        self._held: list[SqliteDoor] = []

    def add(self, door: SqliteDoor) -> None:
        self._all.add(door)

    def close(self) -> None:
        self._held = list(self._all)
        for door in self._held:
            door.lock.acquire()
            door.shut()

    def open(self) -> None:
        for door in self._held:
            door.lock.release()
        self._held = []


@functools.cache
def _forks() -> _Doors:
    doors = _Doors()
    os.register_at_fork(before=doors.close, after_in_parent=doors.open, after_in_child=doors.open)
    return doors
