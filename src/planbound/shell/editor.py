"""The editor of whoever sits at the terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile

from planbound.errors import FileProblem, Refused

_USUAL = ("editor", "nano", "vi")
_MOST_BYTES = 1 << 20


def edit_text(text: str, *, name: str = "step.md") -> str:
    """Return what somebody made of a text in their editor; raise Refused where it did not end well.

    The text is in a file that nobody else can read, and that is gone afterwards.
    """
    command = _command()
    with tempfile.TemporaryDirectory(prefix="planbound-") as folder:
        path = os.path.join(folder, name)
        _write(path, text)
        try:
            done = subprocess.run([*command, path], check=False)  # noqa: S603 - the user's own
        except OSError as error:
            raise FileProblem(
                f"the editor `{command[0]}` cannot be started: {error.strerror}",
                hint="set VISUAL or EDITOR",
            ) from error
        if done.returncode != 0:
            raise Refused(f"the editor ended with {done.returncode}: nothing was changed")
        return _read(path)


def _command() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError as error:
            raise Refused(f"`{variable}` cannot be read: {error}") from error
        if words:
            return words
    for name in _USUAL:
        if found := shutil.which(name):
            return [found]
    raise Refused("there is no editor", hint="set VISUAL or EDITOR")


def _write(path: str, text: str) -> None:
    # What was not UTF-8 in the plan goes out and comes back as it was.
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise FileProblem(f"the edited text is not there: {error.strerror}") from error
    if len(text) > _MOST_BYTES:
        raise Refused(f"the text is longer than {_MOST_BYTES:,} characters")
    return text
