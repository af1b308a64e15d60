"""Install: puts our entries into a host's settings, and takes them out again.

What a file held before is kept, so that it is put back byte for byte. Where somebody edited it
since, only our entries are taken out.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from planbound.disk.files import EXPECT_ABSENT, Files, content_hash, problem
from planbound.errors import FileProblem, NothingToDo, Refused
from planbound.session.hosts.host import AgentHost, Homes, parts_of
from planbound.session.hosts.settings import HostFile, Unmergeable

# -- install: puts our entries into a host's settings, and takes them out again ------------------


class OriginalFile(NamedTuple):
    """What is known of a file that was changed."""

    before: bytes | None
    """What it held; None: it was not there."""
    after: str
    """The hash of what was written."""
    hosts: tuple[str, ...]
    """Whose setting up it belongs to."""


class FileChange(NamedTuple):
    """What becomes of a file."""

    path: str
    before: bytes | None
    after: bytes | None
    note: str = ""


def install(
    host: str, parts: Sequence[HostFile], files: SettingsFiles, originals: KeptOriginals
) -> list[FileChange]:
    """Set a host up; return what was changed. Nothing is written where one file cannot be."""
    planned = []
    for part in parts:
        before = files.read(part.path)
        after = _added(part, before)
        planned.append((FileChange(part.path, before, after), part))
    done = []
    for change, part in planned:
        known = originals.get(change.path)
        hosts = tuple(sorted({*(known.hosts if known else ()), host}))
        if change.before == change.after:
            if known is not None and known.hosts != hosts:
                originals.put(change.path, known._replace(hosts=hosts))
            continue
        assert change.after is not None
        kept = _kept(change, part, known, files)._replace(hosts=hosts)
        originals.put(change.path, kept)  # first: a crash in between must not lose what was there
        made = files.write(change.path, change.after, expected=change.before)
        if made:
            originals.keep_folders({*originals.folders(), *made})
        done.append(change)
    if not done:
        raise NothingToDo(f"`{host}` is set up already")
    return done


def _kept(
    change: FileChange, part: HostFile, known: OriginalFile | None, files: SettingsFiles
) -> OriginalFile:
    assert change.after is not None
    after = files.hash(change.after)
    before = change.before
    if known is not None:
        same = change.before is not None and files.hash(change.before) == known.after
        before = known.before if same else _stripped(part, change.before)
    elif change.before is not None:
        before = _stripped(part, change.before)
    return OriginalFile(before, after, ())


def _stripped(part: HostFile, data: bytes | None) -> bytes | None:
    """Return a file as it was without us: its bytes where there is nothing of ours in it."""
    return None if data is None else _removed(part, data)


def uninstall(
    host: str, parts: Sequence[HostFile], files: SettingsFiles, originals: KeptOriginals
) -> list[FileChange]:
    """Take everything of ours out of a host's settings; return what was changed."""
    done = []
    for part in parts:
        now, known = files.read(part.path), originals.get(part.path)
        others = tuple(each for each in known.hosts if each != host) if known else ()
        if known is not None and others:
            originals.put(part.path, known._replace(hosts=others))
            continue
        if now is None:
            originals.put(part.path, None)
            continue
        untouched = known is not None and files.hash(now) == known.after
        after = known.before if known is not None and untouched else _removed(part, now)
        edited = "edited since: only our entries were taken out" if not untouched else ""
        if after == now:
            continue
        if after is None:
            files.remove(part.path, expected=now)
        else:
            files.write(part.path, after, expected=now)
        originals.put(part.path, None)
        done.append(FileChange(part.path, now, after, edited if after is not None else ""))
    ours = sorted(originals.folders(), key=len, reverse=True)
    originals.keep_folders([folder for folder in ours if not files.remove_folder(folder)])
    if not done:
        raise NothingToDo(f"nothing of ours is in the settings of `{host}`")
    return done


def _added(part: HostFile, before: bytes | None) -> bytes:
    try:
        text = None if before is None else before.decode("utf-8")
        return part.fragment.added(text).encode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem(f"`{part.path}` is not text in UTF-8; nothing was changed") from error
    except Unmergeable as error:
        raise _about(part, error) from error


def _removed(part: HostFile, data: bytes) -> bytes | None:
    try:
        text = part.fragment.removed(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FileProblem(f"`{part.path}` is not text in UTF-8; nothing was changed") from error
    except Unmergeable as error:
        raise _about(part, error) from error
    return None if text is None else text.encode("utf-8")


def _about(part: HostFile, error: Unmergeable) -> Unmergeable:
    named = Unmergeable(f"`{part.path}` cannot be changed: {error.message}")
    named.hint = error.hint
    return named


# -- what settings of hosts held before they were changed: a file each, outside of the workspace -


_MAX_BYTES = 16 * 1024 * 1024


class SettingsFiles:
    """Settings on this machine; with a root, none outside of it is touched."""

    def __init__(self, root: str | None = None) -> None:
        self._root = os.path.realpath(root) if root is not None else None
        self._files = Files()

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
        self._files = Files()

    def get(self, path: str) -> OriginalFile | None:
        """Return what is known of a file."""
        try:
            with open(self._place(path), "rb") as file:
                found = json.load(file)
            before = found["before"]
            return OriginalFile(
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

    def put(self, path: str, kept: OriginalFile | None) -> None:
        """Remember it, or forget it."""
        place = self._place(path)
        if kept is None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)
            return
        before = None if kept.before is None else base64.b64encode(kept.before).decode("ascii")
        self._write(place, {"path": path, **kept._asdict(), "before": before})

    def folders(self) -> tuple[str, ...]:
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


# -- puts together what setting up agent hosts needs ---------------------------------------------


def homes_of(environment: Mapping[str, str]) -> Homes:
    """Return where hosts keep what belongs to the user."""
    user = environment.get("HOME") or os.path.expanduser("~")
    claude = environment.get("CLAUDE_CONFIG_DIR")
    return Homes(
        user=user,
        claude=claude or os.path.join(user, ".claude"),
        claude_servers=os.path.join(claude or user, ".claude.json"),
        codex=environment.get("CODEX_HOME") or os.path.join(user, ".codex"),
        configuration=environment.get("XDG_CONFIG_HOME") or os.path.join(user, ".config"),
    )


def program_words(environment: Mapping[str, str]) -> list[str]:
    """Return how a host starts us: by our name where it would find us, else by our path."""
    found = shutil.which("planbound", path=environment.get("PATH"))
    beside = os.path.join(os.path.dirname(sys.executable), "planbound")
    if found is not None:
        return ["planbound"]
    return [beside] if os.access(beside, os.X_OK) else [sys.executable, "-m", "planbound"]


def host_parts(
    host: AgentHost, root: str | None, program: list[str], environment: Mapping[str, str]
) -> list[HostFile]:
    """Return what is to be set up; for the user where no root is given."""
    return parts_of(host, program, root=root, homes=homes_of(environment))


def settings_files(root: str | None) -> SettingsFiles:
    """Return the settings of hosts; with a root those of a project alone."""
    return SettingsFiles(root)


def originals(state: str | None, environment: Mapping[str, str]) -> KeptOriginals:
    """Return what settings held before."""
    chosen = state or environment.get("PLANBOUND_STATE")
    home = environment.get("HOME") or os.path.expanduser("~")
    states = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    folder = os.path.abspath(chosen) if chosen else os.path.join(states, "planbound")
    return KeptOriginals(os.path.join(folder, "originals"))
