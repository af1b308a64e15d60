"""Files in memory: a workspace, copies of it, and a vault."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator

from planbound.cells.copies import WorkspaceCopies
from planbound.disk.files import Files
from planbound.disk.lock import FileLock
from planbound.errors import AlreadyExists, ConcurrentModification, FileProblem
from planbound.workspace.manifest import Entry, EntryType, Manifest, ScanRules, manifest_of
from planbound.workspace.vault import Vault

_FOLDER = Entry(EntryType.DIRECTORY, 0o755, 0, b"")


class Disk(Files, WorkspaceCopies):
    """Folders by their path, each with its files; every call of the harness is noticed."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self.notice = notice
        self.folders: dict[str, dict[str, bytes]] = {}
        self.versions: dict[str, int] = {}

    def split(self, path: str) -> tuple[dict[str, bytes], str]:
        """Return the folder that a path lies in, and the rest of the path."""
        for root, files in self.folders.items():
            if path.startswith(f"{root}/"):
                return files, path.removeprefix(f"{root}/")
        raise FileProblem(f"there is no `{path}`")

    def write(self, path: str, data: bytes | None) -> None:
        """Write or remove a file, as anybody can."""
        files, name = self.split(path)
        if data is None:
            files.pop(name, None)
        else:
            files[name] = data
        self.versions[path] = self.versions.get(path, 0) + 1

    # -- files ---------------------------------------------------------------------------------

    def read(self, path: str) -> bytes:
        self.notice("read")
        files, name = self.split(path)
        if name not in files:
            raise FileProblem(f"there is no `{path}`")
        return files[name]

    def create(self, path: str, data: bytes, *, lock: FileLock | None = None) -> None:
        del lock
        files, name = self.split(path)
        if name in files:
            raise AlreadyExists(f"there is a `{path}`")
        self.write(path, data)

    def replace(
        self, path: str, data: bytes, *, expected: bytes, lock: FileLock | None = None
    ) -> None:
        del lock
        self.notice("replace")
        files, name = self.split(path)
        if files.get(name) != expected:
            raise ConcurrentModification(f"`{path}` is another")
        self.write(path, data)
        self.notice("replaced")

    def stamp(self, path: str) -> tuple[int, int, int] | None:
        return (self.versions.get(path, 0), 0, 0)

    # -- copies --------------------------------------------------------------------------------

    def make(self, source: str, name: str) -> str:
        self.notice("copy")
        path = f"/copies/{name}"
        if path in self.folders:
            raise AlreadyExists(f"there is a copy called `{name}`")
        self.folders[path] = dict(self.folders[source])
        self.notice("copied")
        return path

    def find(self, name: str) -> str | None:
        path = f"/copies/{name}"
        return path if path in self.folders else None

    def remove(self, path: str) -> None:
        self.notice("remove copy")
        assert path.startswith("/copies/")
        self.folders.pop(path, None)

    def sweep(self, keep: Container[str]) -> list[str]:
        gone = [path for path in self.folders if path.startswith("/copies/") and path not in keep]
        for path in gone:
            self.remove(path)
        return gone


class MemoryTree:
    """One folder of a disk."""

    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root

    @property
    def root(self) -> str:
        return self._root

    @property
    def _files(self) -> dict[str, bytes]:
        return self._disk.folders[self._root]

    def manifest(self, rules: ScanRules) -> Manifest:
        del rules
        self._disk.notice("manifest")
        entries: dict[bytes, Entry] = {}
        for path, data in self._files.items():
            entries[path.encode()] = _entry(data)
            folder = path.rpartition("/")[0]
            while folder:
                entries[folder.encode()] = _FOLDER
                folder = folder.rpartition("/")[0]
        return manifest_of(entries)

    def contents(
        self, manifest: Manifest, wanted: Container[bytes] | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        for path, entry in manifest.entries.items():
            if wanted is not None and entry.content not in wanted:
                continue
            found = self.content(path.decode(), entry)
            if found is not None:
                yield entry.content, found

    def content(self, path: str, entry: Entry) -> bytes | None:
        data = self._files.get(path)
        return data if data is not None and _entry(data) == entry else None

    def put_back(self, path: bytes, entry: Entry | None, content: bytes | None) -> None:
        self._disk.notice("put back")
        name = path.decode()
        if entry is None or entry.type is EntryType.FILE:
            self._disk.write(f"{self._root}/{name}", None if entry is None else content)


class MemoryVault(Vault):
    """Contents by their SHA-256."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        super().__init__("in memory")
        self._notice = notice
        self._contents: dict[bytes, bytes] = {}

    def missing(self, digests: Iterable[bytes]) -> set[bytes]:
        return set(digests) - set(self._contents)

    def keep(self, contents: Iterable[tuple[bytes, bytes]]) -> int:
        self._notice("keep")
        before = len(self._contents)
        for sha256, data in contents:
            assert hashlib.sha256(data).digest() == sha256
            self._contents[sha256] = data
        return len(self._contents) - before

    def content(self, sha256: bytes) -> bytes | None:
        return self._contents.get(sha256)


def _entry(data: bytes) -> Entry:
    return Entry(EntryType.FILE, 0o644, len(data), hashlib.sha256(data).digest())
