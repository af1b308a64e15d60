"""What agents say that they are doing now: no event, but a note for whoever looks on elsewhere."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import Struct

from planbound.disk.decoders import json_decoder

if TYPE_CHECKING:
    from planbound.state.run import Slot

_EVERY = 0.5
"""In seconds: so often it is written at most, however much an agent prints."""
_LONGEST = 400
_LARGEST = 1024 * 1024


class DoingNow(Struct, frozen=True):
    """What the agent of a step said last, which nobody checked."""

    text: str
    at: float
    """In seconds since 1970."""

    def is_since(self, when: str) -> bool:
        """Say whether it was said since a time of the journal, and not in an attempt before."""
        try:
            return self.at >= datetime.fromisoformat(when).timestamp()
        except ValueError:  # an event whose time somebody changed
            return False


class DoingNotes:
    """The notes of one run, in a file of the state home that is gone when the run is.

    Nothing depends on it: where it cannot be written the run goes on without it.
    """

    def __init__(self, state: str, slug: str) -> None:
        self._path = _path(state, slug)
        self._steps: dict[str, DoingNow] = {}
        self._lock = threading.Lock()
        self._due: threading.Timer | None = None
        self._is_over = False

    def tell(self, slot: Slot, text: str) -> None:
        """Take notice of what the agent of a step says, without its secrets."""
        said = " ".join(text.split())[:_LONGEST]
        with self._lock:
            if not said or self._is_over:
                return
            self._steps[slot.id] = DoingNow(said, time.time())
            if self._due is None:
                self._due = threading.Timer(_EVERY, self._write)
                self._due.daemon = True
                self._due.start()

    def end(self) -> None:
        """Remove the file."""
        with self._lock:
            self._is_over = True
            if self._due is not None:
                self._due.cancel()
            with suppress(OSError):
                os.unlink(self._path)

    def _write(self) -> None:
        with self._lock:
            self._due = None
            if self._is_over:
                return
            beside = f"{self._path}.{os.getpid()}"
            with suppress(OSError):
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
                opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(opened, "wb") as file:
                    file.write(msgspec.json.encode(self._steps))
                os.replace(beside, self._path)


def doing_now(state: str, slug: str) -> Mapping[str, DoingNow]:
    """Return by step what agents of a run said last; of one that was killed it may be old."""
    try:
        with open(_path(state, slug), "rb") as file:
            data = file.read(_LARGEST)
        return json_decoder(dict[str, DoingNow]).decode(data)
    except (OSError, msgspec.MsgspecError):
        return {}


def _path(state: str, slug: str) -> str:
    return os.path.join(state, "doing", f"{quote(slug, safe='')}.json")
