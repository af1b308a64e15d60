"""Contents of files by their SHA-256, in one SQLite file: what is needed to put a tree back."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import sqlite3
import stat
import time
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING

from planbound.disk.space import ROOM
from planbound.errors import FileProblem
from planbound.journal import sqlite_file
from planbound.journal.sqlite import SqliteHandle
from planbound.journal.sqlite_file import Opened, file_address, patiently
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.workspace.manifest import Manifest
    from planbound.workspace.summaries import Summaries

MAX_KEPT = 64 * 2**20
"""A larger file is not kept."""

_VERSION = 1
_INCREMENTAL = 2
_DAMAGED = "put it aside: a new one is made when needed"
_AT_ONCE = 500
_LARGE = 1000
"""Of so many entries only what differs is kept, once they were kept in full."""
_FEW = 20
"""One in so many may differ for that."""
_REMEMBERED = 2
"""So many manifests need not be kept again: the tree that was frozen, and the one as it is now."""

# With a row id: large rows are slow without one.
_TABLE = """
CREATE TABLE object (
    sha256 BLOB NOT NULL PRIMARY KEY CHECK (length(sha256) = 32),
    content BLOB NOT NULL
)
"""

# One that was damaged is mended when its content comes again.
_KEEP = """
INSERT INTO object (sha256, content) VALUES (?, ?)
ON CONFLICT (sha256) DO UPDATE SET content = excluded.content WHERE content <> excluded.content
"""


class Vault:
    """Any number of threads and processes of one machine may use one file.

    Nothing is made before the first content is kept.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = _VaultHandle(path, _opened)
        self._used: IO[bytes] | None = None
        self._manifests: list[tuple[Manifest, str]] = []
        self._full: tuple[Manifest, bytes] | None = None
        """The last one that was kept in full, and its SHA-256."""
        self._whole: Manifest | None = None

    @property
    def summaries(self) -> Summaries:
        """Return where is kept what was in folders that are summarised."""
        from planbound.workspace.summaries import Summaries  # noqa: PLC0415 - start-up

        return Summaries(os.path.join(os.path.dirname(self._path), "summaries"))

    def missing(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those whose content is not here."""
        wanted = set(digests)
        if not wanted or not os.path.lexists(self._path):
            return wanted
        self._use()
        missing: set[bytes] = set()
        rest = iter(wanted)
        with self._handle as connection:
            assert connection is not None
            while some := list(islice(rest, _AT_ONCE)):
                places = ",".join("?" * len(some))
                question = f"SELECT sha256 FROM object WHERE sha256 IN ({places})"  # noqa: S608
                rows = patiently(lambda q, s: connection.execute(q, s).fetchall(), question, some)
                missing.update(set(some).difference([sha256 for (sha256,) in rows]))
        return missing

    def keep(self, contents: Iterable[tuple[bytes, bytes]]) -> int:
        """Keep all or none, durable on return; return how many are new.

        What is larger than MAX_KEPT is left out.
        """
        new = 0
        self._use()
        with self._handle as connection:
            assert connection is not None
            sqlite_file.begin(connection)
            try:
                for sha256, content in contents:
                    _check(sha256, content)
                    if len(content) <= MAX_KEPT:
                        new += connection.execute(_KEEP, (sha256, content)).rowcount
                connection.execute("COMMIT")
            except BaseException:
                sqlite_file.roll_back(connection)
                raise
        return new

    # -- what was kept since the vault is open, and so still is: trees that did not change ---------

    def keep_manifest(self, manifest: Manifest) -> str:
        """Keep a manifest, durable on return; return the SHA-256 by which it is found."""
        for kept, key in self._manifests:
            if _is_same(kept, manifest):
                return key
        data = self._changes(manifest)
        is_full = data is None
        if data is None:
            from planbound.workspace.manifest_file import encode  # noqa: PLC0415 - start-up

            data = encode(manifest)
        digest = hashlib.sha256(data)
        self.keep([(digest.digest(), data)])
        if is_full:
            self._full = (manifest, digest.digest())
        self._manifests = [(manifest, digest.hexdigest()), *self._manifests[: _REMEMBERED - 1]]
        return digest.hexdigest()

    def _changes(self, manifest: Manifest) -> bytes | None:
        """Return in what a manifest differs from one that is kept; None where that is too much."""
        if self._full is None or len(manifest.entries) < _LARGE:
            return None
        from planbound.workspace.entries import differing  # noqa: PLC0415 - start-up
        from planbound.workspace.manifest_file import encode_changes  # noqa: PLC0415 - start-up

        full, digest = self._full
        paths = differing(full.entries, manifest.entries)
        if paths is None or len(paths) * _FEW > len(manifest.entries):
            return None
        changed = {
            path: now
            for path in paths
            if (now := manifest.entries.get(path)) != full.entries.get(path)
        }
        return encode_changes(manifest, digest, changed)

    def manifest(self, key: str, like: Manifest | None = None) -> Manifest | None:
        """Return a manifest by its key; None where it is not here; raises ValueError if damaged.

        With another one that it resembles it shares what is the same in both.
        """
        from planbound.workspace.manifest_file import decode  # noqa: PLC0415 - start-up

        data = self.content(bytes.fromhex(key))
        return None if data is None else decode(data, self.content, like)

    def lacks(self, manifest: Manifest) -> set[bytes]:
        """Return the contents of a tree's files that are not here."""
        from planbound.workspace.entries import EntryType  # noqa: PLC0415 - start-up

        found = self.unsure(manifest).entries.values()
        missing = self.missing(entry.content for entry in found if entry.type is EntryType.FILE)
        if not missing and self._used is not None:
            self._whole = manifest
        return missing

    def unsure(self, manifest: Manifest) -> Manifest:
        """Return the part of a tree that is another one than in the last tree that is all here."""
        from planbound.workspace.entries import differing  # noqa: PLC0415 - start-up

        whole, entries = self._whole, manifest.entries
        paths = None if whole is None else differing(whole.entries, entries)
        if paths is None:
            return manifest
        part = {path: entry for path in paths if (entry := entries.get(path)) is not None}
        return manifest._replace(entries=part)

    def content(self, sha256: bytes) -> bytes | None:
        """Return what has that hash, None where it is not here."""
        if not os.path.lexists(self._path):
            return None
        self._use()
        question = "SELECT content FROM object WHERE sha256 = ?"
        with self._handle as connection:
            assert connection is not None
            row = patiently(lambda: connection.execute(question, (sha256,)).fetchone())
        if row is None:
            return None
        content = row[0]
        if not isinstance(content, bytes) or hashlib.sha256(content).digest() != sha256:
            raise FileProblem(f"`{self._path}` is damaged: {sha256.hex()} has another content")
        return content

    def close(self) -> None:
        """Let go of the file; the vault can still be used and opens it again."""
        self._handle.close()
        self._manifests, self._full, self._whole = [], None, None
        if self._used is not None:
            self._used.close()
            self._used = None

    # -- clearing out ----------------------------------------------------------------------------

    def sizes(self) -> dict[bytes, int]:
        """Return how large every content is that is here."""
        if not os.path.lexists(self._path):
            return {}
        question = "SELECT sha256, length(content) FROM object"
        with self._handle as connection:
            assert connection is not None
            return dict(patiently(lambda: connection.execute(question).fetchall()))

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Say whether nobody else uses the vault, and keep everybody out as long as it is so.

        Who looks whether a content is here goes on to rely on it: nothing may vanish meanwhile.
        """
        try:
            file = _lock_file(self._path)
        except OSError:
            yield False
            return
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            self._used = file  # this one may go on looking
            try:
                yield True
            finally:
                self._used = None

    def discard(self, digests: Iterable[bytes]) -> None:
        """Remove contents, all or none, and give their room back; only `alone`."""
        self._manifests, self._full, self._whole = [], None, None
        with self._handle as connection:
            assert connection is not None
            sqlite_file.begin(connection)
            try:
                statement = "DELETE FROM object WHERE sha256 = ?"
                connection.executemany(statement, [(each,) for each in digests])
                connection.execute("COMMIT")
            except BaseException:
                sqlite_file.roll_back(connection)
                raise
            _shrink(connection)

    def _use(self) -> None:
        """Keep contents from being cleared out, as long as this vault is open."""
        if self._used is not None:
            return
        try:
            file = _lock_file(self._path)
        except OSError:
            return  # where nothing can be written nothing is cleared out
        end = time.monotonic() + sqlite_file.PATIENCE
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(0.01)
                    continue
                file.close()
                raise FileProblem(
                    f"`{self._path}` is being cleared out by another process",
                    hint="wait for `planbound gc` to end",
                ) from None
            except OSError:
                pass  # a file system without locks
            self._used = file
            # Who does not close a vault lets go of it when nobody has it any more.
            weakref.finalize(self, file.close)
            return


def _lock_file(path: str) -> IO[bytes]:
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    return open(os.open(f"{path}.lock", flags, 0o600), "r+b", buffering=0)


def _shrink(connection: sqlite3.Connection) -> None:
    """Give room back to the disk; where there is not enough to do that, it is used again."""
    with contextlib.suppress(sqlite3.OperationalError):
        if _number(connection, "PRAGMA auto_vacuum") == _INCREMENTAL:
            # Not `execute`, which would give back one page.
            connection.executescript("PRAGMA incremental_vacuum")
        else:  # made by an earlier version
            connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
            connection.execute("VACUUM")


def _is_same(one: Manifest, other: Manifest) -> bool:
    """Say whether two manifests are the same bytes; known by their entries, which never change."""
    return one.entries is other.entries and one[1:4] == other[1:4]


def _check(sha256: bytes, content: bytes) -> None:
    if hashlib.sha256(content).digest() != sha256:
        raise FileProblem(f"a content that was to be kept does not have the hash {sha256.hex()}")


class _VaultHandle(SqliteHandle):
    """A handle whose problems are those of a file."""

    def _fail(self, error: BaseException) -> None:
        try:
            if isinstance(error, sqlite3.Error):
                self.shut()  # what state it is in after a failure nobody knows
                raise _problem(self._path, error) from error
            if isinstance(error, UnicodeDecodeError):  # a message that quotes what is damaged
                self.shut()
                raise FileProblem(f"`{self._path}` is damaged", hint=_DAMAGED) from error
        finally:
            self.lock.release()


# -- opening -------------------------------------------------------------------------------------


def _opened(path: str) -> Opened:
    try:
        _make(path)
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileProblem(f"`{path}` is not a file, expected kept contents")
    except OSError as error:
        raise FileProblem(f"cannot open `{path}`: {error.strerror or error}") from error
    connection = sqlite3.connect(
        file_address(path, "mode=rw"),
        uri=True,
        timeout=sqlite_file.TURN,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # FULL: a commit is on the disk when it returns.
        connection.execute("PRAGMA synchronous = FULL")
        # Takes hold of a new file only.
        connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
        _complete(connection, path)
        _keep_once(connection)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, frozen=False)


def _make(path: str) -> None:
    if os.path.lexists(path):
        return
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except FileExistsError as error:
            raise FileProblem(f"cannot make `{folder}`: it is not a directory") from error
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _complete(connection: sqlite3.Connection, path: str) -> None:
    """Make the table in a new file."""
    if _number(connection, "PRAGMA user_version") == _VERSION:
        return
    sqlite_file.begin(connection, "EXCLUSIVE")
    try:
        # Asked again under the lock: another process may have done it meanwhile.
        version = _number(connection, "PRAGMA user_version")
        if version == 0 and _number(connection, "SELECT count(*) FROM sqlite_master") == 0:
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        sqlite_file.roll_back(connection)
        raise
    if _number(connection, "PRAGMA user_version") != _VERSION:
        raise FileProblem(f"`{path}` is the database of something else or of a later version")


def _keep_once(connection: sqlite3.Connection) -> None:
    """Let what is new go into the file itself.

    A write-ahead log would hold every content a second time, for as long as nobody closes the
    file, and on a full disk for ever. So what fails is taken back, and the file is as it was.
    """
    # One that was made with a log keeps it until nobody else has the file open.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = TRUNCATE").fetchone()


def _number(connection: sqlite3.Connection, question: str) -> int:
    return int(patiently(lambda: connection.execute(question).fetchone())[0])


def _problem(path: str, error: sqlite3.Error) -> FileProblem:
    name = getattr(error, "sqlite_errorname", None) or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return FileProblem(f"`{path}` is locked by another process")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return FileProblem(f"`{path}` is damaged: {error}", hint=_DAMAGED)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return FileProblem(f"cannot open `{path}`: no permission to write there ({error})")
    if name.startswith("SQLITE_FULL"):
        return FileProblem(f"cannot write `{path}`: no space left ({error})", hint=ROOM)
    if name.startswith(("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC")):
        return FileProblem(f"cannot write `{path}`: the disk does not take it ({error})")
    return FileProblem(f"`{path}` cannot be used: {error}" + (f" ({name})" if name else ""))


# -- the one of a workspace ----------------------------------------------------------------------


_DATABASE = "PLANBOUND_DATABASE_URL"


def open_vault(context: Context) -> Vault:
    """Return where copies of files are kept."""
    if os.environ.get(_DATABASE):
        # The journal is not beside it: without this nobody could tell what is still needed.
        with contextlib.suppress(OSError):
            os.makedirs(context.state.folder, mode=0o700, exist_ok=True)
            os.close(os.open(_elsewhere(context), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return Vault(os.path.join(context.state.folder, "vault.sqlite"))


def belongs_elsewhere(context: Context) -> bool:
    """Say whether kept contents belong to a journal that is not at hand."""
    return os.path.exists(_elsewhere(context)) and not os.environ.get(_DATABASE)


def _elsewhere(context: Context) -> str:
    return os.path.join(context.state.folder, "journal.elsewhere")
