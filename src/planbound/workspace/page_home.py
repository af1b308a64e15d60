"""What the server of a page keeps in the state home: its key, and where it listens.

Who tells people of a question reads it, too: a link leads to the page that runs.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from planbound.disk.decoders import json_decoder
from planbound.errors import FileProblem, UsageError

_KEY_BYTES = 32


class RunningPage(Struct, frozen=True):
    """A server that runs, or ran until it was cut off."""

    port: int
    host: str
    pid: int
    start: str
    """What this start of it is called: tokens for an earlier one are dead."""
    decides: bool = False
    """Whether a person may decide there."""

    @property
    def address(self) -> str:
        """Return where a browser on this machine finds it."""
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        host = f"[{local}]" if ":" in local else local
        return f"http://{host}:{self.port}"


class PageFolder:
    """A folder of the state home that nobody else can read."""

    def __init__(self, state: str) -> None:
        self._folder = os.path.join(state, "page")

    def key(self) -> bytes:
        """Return the key that tokens, cookies and forms are sealed with; made where it lacks.

        It outlives a server, so that a tab that is open stays who it was.
        """
        path = os.path.join(self._folder, "key")
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            os.chmod(self._folder, 0o700)
            try:
                opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return self._read_key(path)
            key = secrets.token_bytes(_KEY_BYTES)
            with os.fdopen(opened, "wb") as file:
                file.write(key)
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be used: {error.strerror}") from error
        return key

    def _read_key(self, path: str) -> bytes:
        with open(path, "rb") as file:
            key = file.read(1024)
            others = os.fstat(file.fileno()).st_mode & 0o077
        if others or len(key) != _KEY_BYTES:
            raise FileProblem(
                f"`{path}` is not the key that was made: others can read it, or it is cut short",
                hint="remove it: the next page makes a new one, and browsers have to enter again",
            )
        return key

    def note(self, running: RunningPage) -> None:
        """Note where a server listens."""
        path = self._path(running.port)
        try:
            with open(f"{path}.{os.getpid()}", "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(msgspec.json.encode(running))
            os.replace(f"{path}.{os.getpid()}", path)
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be written: {error.strerror}") from error

    def forget(self, running: RunningPage) -> None:
        """Forget a server that ended."""
        if self._read(self._path(running.port)) == running:
            os.unlink(self._path(running.port))

    def running(self) -> list[RunningPage]:
        """Return the servers whose process is there."""
        return [each for each in self._noted() if _is_alive(each.pid)]

    def _noted(self) -> Iterator[RunningPage]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return
        for name in names:
            found = self._read(os.path.join(self._folder, name)) if name.endswith(".json") else None
            if found is not None:
                yield found

    def _read(self, path: str) -> RunningPage | None:
        try:
            with open(path, "rb") as file:
                return json_decoder(RunningPage).decode(file.read(10_000))
        except (OSError, msgspec.MsgspecError):
            return None

    def _path(self, port: int) -> str:
        return os.path.join(self._folder, f"{port}.json")


def find_running(folder: PageFolder, port: int | None) -> RunningPage:
    """Return the server that is meant; raise UsageError where none or several are."""
    running = folder.running()
    found = [each for each in running if port is None or each.port == port]
    if running and not found:
        raise UsageError(
            f"no page of this workspace is served at port {port}",
            hint=f"one is at {_ports(running)}",
        )
    if not found:
        raise UsageError("no page is served for this workspace", hint="`planbound page` starts one")
    if len(found) > 1:
        raise UsageError(f"several pages are served: {_ports(found)}",
                         hint="name one with `--port`")  # fmt: skip
    return found[0]


def _ports(found: Iterable[RunningPage]) -> str:
    return ", ".join(str(each.port) for each in found)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:  # it is gone, or another user's by now: no link may lead there
        return False
    return True
