"""Files in the home that an agent keeps between attempts: whatever it made of it meanwhile.

No link in it is followed: it may lead anywhere, and nothing confines what is done here.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from typing import Any

from planbound.agents.fields import inner

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe that nobody writes to is not waited for.
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGEST = 64 << 20


def put(home: str, path: str, content: bytes) -> None:
    """Write a file that is not there yet; one that is there, or cannot be made, is left."""
    with (
        contextlib.suppress(OSError),
        _folder(home, path, make=True) as (folder, name),
        open(os.open(name, _MAKING, 0o600, dir_fd=folder), "wb") as file,
    ):
        file.write(content)


def remove(home: str, path: str) -> None:
    """Remove a file; one that is not there is fine."""
    with contextlib.suppress(OSError), _folder(home, path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def read_object(home: str, path: str) -> dict[str, Any]:
    """Return the object of JSON in a file; an empty one where there is none."""
    try:
        with (
            _folder(home, path) as (folder, name),
            open(os.open(name, _READING, dir_fd=folder), "rb") as file,
        ):
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_size > _LARGEST:
                return {}
            return inner(json.loads(file.read(_LARGEST)))
    except (OSError, ValueError, RecursionError):
        return {}


@contextlib.contextmanager
def _folder(home: str, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    *above, name = path.split("/")
    with contextlib.ExitStack() as stack:
        folder = os.open(home, _FOLDER)
        stack.callback(os.close, folder)
        for part in above:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=folder)
            folder = os.open(part, _FOLDER, dir_fd=folder)
            stack.callback(os.close, folder)
        yield folder, name
