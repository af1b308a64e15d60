"""A journal's SQLite file: made, opened, brought up to date, and its errors in words.

A new file is made complete under another name and then linked to its own: there is no moment in
which a second process sees half of it. The database file is never opened but by SQLite itself:
closing any other descriptor of it would drop SQLite's locks (a rule of POSIX).
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from planbound.disk.space import ROOM
from planbound.errors import JournalProblem
from planbound.journal.sql import Migration, migrations, pending

# -- the address of a SQLite file ----------------------------------------------------------------


_SPECIAL = {b"%": b"%25", b"?": b"%3f", b"#": b"%23"}


def file_address(path: str, options: str) -> str:
    """Return a file's address with options, such as `mode=ro`; any path can be written so.

    `urllib` could do it, and takes longer to load than a small journal takes to read.
    """
    name = os.fsencode(os.path.abspath(path))
    for plain, written in _SPECIAL.items():
        name = name.replace(plain, written)
    # SQLite reads bytes; those that are no text are written as the numbers that they are.
    text = "".join(chr(byte) if byte < 0x80 else f"%{byte:02x}" for byte in name)
    return f"file:{text}?{options}"


# -- A journal's SQLite file: made, opened, brought up to date, and its errors in words ----------


T = TypeVar("T")

PATIENCE = 30.0
"""How many seconds to wait for another process that holds the file."""

TURN = 1.0
"""How many of them within SQLite, where no signal can interrupt the waiting."""


class Opened(Struct, frozen=True):
    """A connection, and whether the file is taken as one that nobody changes.

    Such a file has to be opened again for every look.
    """

    connection: sqlite3.Connection
    frozen: bool


def open_writable(path: str) -> Opened:
    """Open for appending; make the file and its folders where there is none."""
    if not os.path.lexists(path):
        _create(path)
    _check_kind(path)
    connection = _connect(path, "mode=rw")
    try:
        # FULL: a commit is on the disk when it returns.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if _missing(connection, path):
            _complete(connection, path)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, frozen=False)


def open_readable(path: str) -> Opened | None:
    """Open for reading without changing anything; None where there is no journal yet."""
    if not os.path.lexists(path):
        return None
    _check_kind(path)
    opened = _connect_reader(path)
    try:
        missing = _missing(opened.connection, path)
    except BaseException:
        opened.connection.close()
        raise
    if len(missing) == len(migrations("sqlite")):
        opened.connection.close()
        return None  # an empty file: nothing was ever appended
    # What is read is the same in all schemas: an older one is left as it is.
    return opened


def _connect_reader(path: str) -> Opened:
    connection = _connect(path, "mode=ro")
    try:
        _column(connection, "SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        connection.close()
        # Without write permission, or room, the index of the write-ahead log cannot be made. If
        # there is no log, nothing but the file itself needs to be read.
        if _name(error) not in _NO_INDEX:
            raise
        for log in (f"{path}-wal", f"{path}-journal"):
            if _size(log):
                raise JournalProblem(
                    f"`{path}` cannot be read here: its latest events are in `{log}`, "
                    "and reading that needs a writable folder with some room",
                    hint="make room there, or copy the folder to where you may write",
                ) from error
        return Opened(_connect(path, "mode=ro&immutable=1"), frozen=True)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, frozen=False)


_NO_INDEX = {
    *("SQLITE_CANTOPEN", "SQLITE_READONLY_DIRECTORY", "SQLITE_FULL"),
    *("SQLITE_IOERR_SHMOPEN", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_SHMMAP"),
}


def _connect(path: str, mode: str) -> sqlite3.Connection:
    # Threads take turns by a lock of ours. No `mode` creates: SQLite would not make it 0600.
    return sqlite3.connect(
        file_address(path, mode),
        uri=True,
        timeout=TURN,
        isolation_level=None,
        check_same_thread=False,
    )


# -- making ------------------------------------------------------------------------------------


def _create(path: str) -> None:
    folder, name = os.path.split(os.path.abspath(path))
    _make_folders(folder)
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    try:
        _make_file(temporary)
        connection = _connect(temporary, "mode=rw")
        try:
            connection.execute("PRAGMA synchronous = FULL")
            _complete(connection, temporary)
        finally:
            connection.close()
        try:
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError:
            pass  # another process was first: that one counts
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _make_file(path)  # empty, and completed when it is opened
        _sync(folder)
    except OSError as error:
        raise JournalProblem(f"cannot make `{path}`: {error.strerror or error}") from error
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(temporary + suffix)


_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK}


def _make_file(path: str) -> None:
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)  # whatever the umask is; SQLite's other files follow it
        finally:
            os.close(descriptor)


def _make_folders(folder: str) -> None:
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    for each in reversed(missing):
        try:
            os.mkdir(each, 0o700)
            os.chmod(each, 0o700)
            _sync(os.path.dirname(each))
        except FileExistsError:
            if not os.path.isdir(each):
                raise JournalProblem(f"cannot make `{each}`: it is not a directory") from None
        except OSError as error:
            raise JournalProblem(f"cannot make `{each}`: {error.strerror or error}") from error


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that has no such thing
            raise
    finally:
        os.close(descriptor)


def _check_kind(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise JournalProblem(f"cannot open `{path}`: {error.strerror or error}") from error
    if not stat.S_ISREG(mode):
        raise JournalProblem(f"`{path}` is not a file, expected a journal")


# -- the schema --------------------------------------------------------------------------------


def _missing(connection: sqlite3.Connection, path: str) -> Sequence[Migration]:
    tables = _column(connection, "SELECT name FROM sqlite_master")
    applied: set[object] = set()
    if {"migration", "journal"} <= tables:
        applied = _column(connection, "SELECT number FROM migration")
    elif tables:
        raise JournalProblem(f"`{path}` is the database of something else, not a journal")
    return pending(applied, migrations("sqlite"), where=f"`{path}`")


def _column(connection: sqlite3.Connection, text: str) -> set[object]:
    return {value for (value,) in patiently(lambda: connection.execute(text).fetchall())}


def _complete(connection: sqlite3.Connection, path: str) -> None:
    _migrate(connection, path)
    # Only now: what a new file holds is in the file, not in a log that is merged when it is
    # closed, as nobody tells when that fails. Where there can be no log it is left without.
    patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())


def _migrate(connection: sqlite3.Connection, path: str) -> None:
    begin(connection, "EXCLUSIVE")
    try:
        # Asked again under the lock: another process may have done it meanwhile.
        for migration in _missing(connection, path):
            for statement in _statements(migration.script):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO migration (number, name) VALUES (?, ?)",
                (migration.number, migration.name),
            )
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _statements(script: str) -> Iterator[str]:
    # Not `executescript`: that would end the transaction first.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


# -- transactions ------------------------------------------------------------------------------


def patiently(action: Callable[..., T], *arguments: object) -> T:
    """Do what another process may be in the way of, again and again for a while."""
    end = None
    while True:
        try:
            return action(*arguments)
        except sqlite3.OperationalError as error:
            now = time.monotonic()
            end = now + PATIENCE - TURN if end is None else end
            if not _is_busy(error) or now >= end:
                raise
            time.sleep(0.005)  # there are locks for which SQLite itself does not wait


def begin(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> None:
    """Begin a transaction that may write, when nobody else is in one."""
    patiently(connection.execute, f"BEGIN {kind}")


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction, whatever state a failure left it in."""
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


# -- errors ------------------------------------------------------------------------------------


def _is_busy(error: sqlite3.Error) -> bool:
    """Tell whether another connection is in the way."""
    return _name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def problem(path: str, error: sqlite3.Error) -> JournalProblem:
    """Say what SQLite reports in words that help."""
    name = _name(error)
    if _is_busy(error):
        return JournalProblem(
            f"`{path}` is locked by another process; waited {PATIENCE:.0f} seconds",
            hint="look for a program that has the file open, a backup or a database browser",
        )
    if name.startswith("SQLITE_NOTADB"):
        return JournalProblem(f"`{path}` is not a journal: {error}", hint=_DAMAGED)
    if name.startswith("SQLITE_CORRUPT"):
        return JournalProblem(f"`{path}` is damaged: {error}", hint=_DAMAGED)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return JournalProblem(f"cannot open `{path}` for writing: {_reason(path)} ({error})")
    if name.startswith("SQLITE_FULL"):
        return JournalProblem(f"cannot write `{path}`: no space left ({error})", hint=ROOM)
    hint = "`planbound doctor` names the disk" if name.startswith("SQLITE_IOERR") else None
    named = f" ({name})" if name else ""
    return JournalProblem(f"`{path}` cannot be used: {error}{named}", hint=hint)


_DAMAGED = "put it aside and restore a copy; `planbound log --verify` tells what a copy holds"


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def _reason(path: str) -> str:
    folder = os.path.dirname(os.path.abspath(path))
    with contextlib.suppress(OSError):
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return "read-only file system"
    for each in (path, folder):
        if not os.access(each, os.W_OK):
            return f"no permission to write `{each}`"
    return "it cannot be opened"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


# -- do the triggers that keep the journal append-only still stand as they were made? ------------


_GUARDS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"


def guards_stand(path: str) -> bool | None:
    """Say whether the schema is the one that we made; None where it cannot be told."""
    try:
        address = file_address(path, "mode=ro")
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            applied = {number for (number,) in connection.execute("SELECT number FROM migration")}
            known = migrations("sqlite")
            if not applied <= {migration.number for migration in known}:
                return None
            made = [migration for migration in known if migration.number in applied]
            return _schema(connection) == _made(made)
    except sqlite3.Error:
        return None


def _made(steps: Sequence[Migration]) -> tuple[object, ...]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for migration in steps:
            connection.executescript(migration.script)
        return _schema(connection)


def _schema(connection: sqlite3.Connection) -> tuple[object, ...]:
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    return (version, *connection.execute(_GUARDS).fetchall())
