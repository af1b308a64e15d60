"""What settings of hosts held before they were changed: a file each, outside of the workspace."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Iterable

from planbound.errors import FileProblem, Refused
from planbound.store.files import EXPECT_ABSENT, RealFiles, content_hash, problem
from planbound.usecases.hosts.install import Kept

_MAX_BYTES = 16 * 1024 * 1024


class SettingsFiles:
    """Settings on this machine; with a root, none outside of it is touched."""

    def __init__(self, root: str | None = None) -> None:
        self._root = os.path.realpath(root) if root is not None else None
        self._files = RealFiles()

    def read(self, path: str) -> bytes | None:
        """Return the content; None where there is no file."""
        self._refuse_outside(path)
        try:
            with open(path, "rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            if os.path.islink(path):
                raise Refused(f"`{path}` is a symbolic link to nothing") from None
            return None
        except OSError as error:
            raise problem("read", path, error) from error
        if len(data) > _MAX_BYTES:
            raise FileProblem(f"`{path}` is too large for a file of settings")
        return data

    def write(self, path: str, data: bytes, *, expected: bytes | None) -> tuple[str, ...]:
        """Write a file that still holds `expected`; return the folders that were made."""
        self._refuse_outside(path)
        made = []
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            made.append(folder)
            folder = os.path.dirname(folder)
        self._files.make_folder(os.path.dirname(path))
        hashed = EXPECT_ABSENT if expected is None else content_hash(expected)
        self._files.swap(path, data, expected=hashed)
        return tuple(made)

    def remove(self, path: str, *, expected: bytes) -> None:
        """Remove a file that still holds `expected`."""
        if self.read(path) != expected:
            raise Refused(f"`{path}` was changed meanwhile; nothing was removed")
        try:
            os.unlink(path)
        except OSError as error:
            raise problem("remove", path, error) from error

    def remove_folder(self, path: str) -> bool:
        """Remove an empty folder; return whether it is gone."""
        with contextlib.suppress(OSError):  # not empty: something else is in it by now
            os.rmdir(path)
        return not os.path.lexists(path)

    def hash(self, data: bytes) -> str:
        """Return what a content is known by."""
        return content_hash(data)

    def _refuse_outside(self, path: str) -> None:
        if self._root is None:
            return
        real = os.path.realpath(path)
        if os.path.commonpath([real, self._root]) != self._root:
            raise Refused(
                f"`{path}` leads out of the project, to `{real}`",
                hint="`--user` sets up what is not in the project",
            )


class KeptOriginals:
    """A folder with a file for each file that was changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files = RealFiles()

    def get(self, path: str) -> Kept | None:
        """Return what is known of a file."""
        try:
            with open(self._place(path), "rb") as file:
                found = json.load(file)
            before = found["before"]
            return Kept(
                before=None if before is None else base64.b64decode(before),
                after=str(found["after"]),
                hosts=tuple(found["hosts"]),
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            raise problem("read", self._place(path), error) from error
        except (ValueError, KeyError, TypeError):
            return None  # unreadable is as good as lost: our entries are taken out one by one

    def put(self, path: str, kept: Kept | None) -> None:
        """Remember it, or forget it."""
        place = self._place(path)
        if kept is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)
            return
        before = None if kept.before is None else base64.b64encode(kept.before).decode("ascii")
        self._write(place, {"path": path, **kept._asdict(), "before": before})

    def folders(self) -> tuple[str, ...]:
        """Return the folders that were made for files of ours."""
        try:
            with open(self._folders, "rb") as file:
                return tuple(str(each) for each in json.load(file))
        except (OSError, ValueError, TypeError):
            return ()  # an empty folder stays: that is all that is lost

    def keep_folders(self, folders: Iterable[str]) -> None:
        """Remember just these."""
        wanted = sorted(folders)
        if wanted != sorted(self.folders()):
            self._write(self._folders, wanted)

    @property
    def _folders(self) -> str:
        return os.path.join(self._folder, "folders.json")

    def _write(self, place: str, value: object) -> None:
        data = json.dumps(value).encode()
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                with open(place, "rb") as file:
                    old = file.read()
                self._files.replace(place, data, expected=old)
                return
        except OSError as error:
            raise problem("write", place, error) from error
        self._files.create(place, data)

    def _place(self, path: str) -> str:
        name = content_hash(os.fsencode(os.path.abspath(path)))[:32]
        return os.path.join(self._folder, f"{name}.json")
