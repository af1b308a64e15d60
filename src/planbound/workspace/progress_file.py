"""Progress files: lines that are only ever added, by the harness and by people."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime

from planbound.disk.files import expect_regular, problem, shown
from planbound.disk.lock import PATIENCE, kernel_lock
from planbound.errors import FileProblem, Refused
from planbound.source import visible

MAX_TEXT = 500
"""How many characters of a text are kept."""
MAX_WHO = 80
"""How many characters of a name are kept."""
MAX_FOLDED = 4 << 20
"""How many bytes of one file are folded into another."""
TAIL_BYTES = 64 * 1024
"""How far from its end a file is read for its last line."""

_SPACE = re.compile(r"\s+")


class ProgressAppender:
    """Adds lines to one file, and does nothing else to it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def append(self, who: str, text: str, now: datetime) -> None:
        """Add the line `YYYY-MM-DD HH:MM <who> — text`; `now` is shown as it is."""
        self.append_all(who, [(text, now)])

    def append_all(self, who: str, said: Sequence[tuple[str, datetime]]) -> None:
        """Add several lines at once."""
        line = "".join(
            f"{now:%Y-%m-%d %H:%M} {_plain(who, MAX_WHO)} — {_plain(text, MAX_TEXT)}".rstrip()
            + "\n"
            for text, now in said
        )
        with kernel_lock(self._path, mode=0o644, seconds=PATIENCE, busy=self._busy) as descriptor:
            try:
                expect_regular(descriptor, self._path, expected="a progress file")
                # Somebody's editor, or a disk that was full, may have left half a line.
                before = b"" if _ends_with_newline(descriptor) else b"\n"
                self._write(descriptor, before + line.encode())
                os.fsync(descriptor)
            except OSError as error:
                raise problem("write", self._path, error) from error

    def fold_in(self, heading: str, path: str) -> bool:
        """Add all of another progress file under a heading, once; say whether that was done now."""
        try:
            with open(path, "rb") as file:
                expect_regular(file.fileno(), path, expected="a progress file")
                lines = file.read(MAX_FOLDED).rstrip()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise problem("read", path, error) from error
        title = visible(heading).encode()
        with kernel_lock(self._path, mode=0o644, seconds=PATIENCE, busy=self._busy) as descriptor:
            try:
                expect_regular(descriptor, self._path, expected="a progress file")
                size = os.fstat(descriptor).st_size
                if title in os.pread(descriptor, size, 0).splitlines():
                    return False
                gap = b"" if size == 0 else b"\n"
                gap += b"" if _ends_with_newline(descriptor) else b"\n"
                self._write(descriptor, gap + title + b"\n\n" + lines + b"\n")
                os.fsync(descriptor)
            except OSError as error:
                raise problem("write", self._path, error) from error
        return True

    def _write(self, descriptor: int, data: bytes) -> None:
        written = os.write(descriptor, data)
        if written < len(data):
            # Cutting it off again could cut off what somebody else has added since.
            raise FileProblem(f"cannot write all of a line to `{shown(self._path)}`")

    def _busy(self) -> Refused:
        return Refused(f"`{shown(self._path)}` is held by another process")


def last_line(path: str) -> str | None:
    """Return a file's last line that is not blank, None where there is none or no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise problem("read", path, error) from error
    try:
        expect_regular(descriptor, path, expected="a progress file")
        size = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, TAIL_BYTES, max(0, size - TAIL_BYTES)).rstrip()
    except OSError as error:
        raise problem("read", path, error) from error
    finally:
        os.close(descriptor)
    line = re.split(rb"[\r\n]", tail)[-1]
    return line.decode("utf-8", "replace") or None


def _ends_with_newline(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _plain(text: str, limit: int) -> str:
    """Return a text as one line in which nothing is hidden."""
    plain = visible(_SPACE.sub(" ", text).strip())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
