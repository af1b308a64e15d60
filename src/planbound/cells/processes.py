"""A process of ours that goes on when the terminal is closed."""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from planbound.errors import CellProblem, ExitCode, FileProblem, Refused

# -- A process of ours that goes on when the terminal is closed ----------------------------------


class StartedApart:
    """A planbound that was started apart from this one."""

    def __init__(self, arguments: Sequence[str], *, log: str) -> None:
        self.log = log
        try:
            os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise FileProblem(f"cannot write `{log}`: {error.strerror}") from error
        with open(descriptor, "wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "planbound", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return its number."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """Return how it ended; None while it goes on."""
        return self._process.poll()

    def said(self) -> str:
        """Return what it printed so far."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read(20_000)


# -- processes of ours that do not outlive this one: when it dies, however it dies, they stop ----


"""Processes of ours that do not outlive this one: when it dies, however it dies, they stop.

`python -m planbound.cells.processes PARENT WORDS...` is how one of them begins: it asks the kernel
for a signal at the death of its parent, then is `planbound WORDS...`.
"""


_TAIL = 16 * 1024
_LARGE = 1 << 20


class ChildProcess:
    """A planbound that this one started, with a session and a log of its own.

    The kernel watches the thread that started it: that has to be the main one.
    """

    def __init__(self, arguments: Sequence[str], *, log: str) -> None:
        self.log = log
        try:
            os.makedirs(os.path.dirname(log), mode=0o700, exist_ok=True)
            # Others may write into it: who is refused because they run it must not erase that.
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise FileProblem(f"cannot write `{log}`: {error.strerror}") from error
        with open(descriptor, "ab") as output:
            if output.tell() > _LARGE:
                output.truncate(0)
            self._begin = os.fstat(descriptor).st_size
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                # Safe path: a module in the current folder must not stand in for one of ours.
                [sys.executable, "-P", "-m", __name__, str(os.getpid()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def exit_code(self) -> int | None:
        """Return how it ended; None while it goes on."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to end in peace."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """End it at once; what it started dies with it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def last_lines(self, most: int) -> list[str]:
        """Return what it printed last."""
        try:
            with open(self.log, "rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(self._begin if end >= self._begin else 0, end - _TAIL))
                text = file.read(_TAIL).decode("utf-8", "replace")
        except OSError:
            return []
        return [line for line in text.splitlines() if line.strip()][-most:]


def begin(words: Sequence[str]) -> None:
    """Be a child of a process: `words` are its number and our own command line."""
    parent, *arguments = words
    if sys.platform.startswith("linux"):  # elsewhere runs go on, and a new fleet waits for them
        from planbound.cells.inside.kernel import die_with_parent  # noqa: PLC0415 - only here

        die_with_parent(signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before we could ask to be told
        sys.exit(ExitCode.INTERRUPTED)
    sys.argv = ["planbound", *arguments]
    runpy.run_module("planbound", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    begin(sys.argv[1:])


# -- the editor and the pager of whoever sits at the terminal ------------------------------------


_USUAL = ("editor", "nano", "vi")
_PAGERS = ("pager", "less", "more")
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


def page_text(text: str) -> None:
    """Show a text in the pager of whoever sits at the terminal, until they leave it."""
    command = _configured("PAGER") or _found(_PAGERS)
    if command is None:
        raise Refused("there is no pager", hint="set PAGER")
    data = text.encode("utf-8", "backslashreplace")
    try:
        # Who leaves the pager has seen enough: what it did not read is not missed.
        subprocess.run(command, input=data, check=False)  # noqa: S603 - the user's own
    except OSError as error:
        raise Refused(
            f"the pager `{command[0]}` cannot be started: {error.strerror}", hint="set PAGER"
        ) from error


def _command() -> list[str]:
    found = _configured("VISUAL") or _configured("EDITOR") or _found(_USUAL)
    if found is None:
        raise Refused("there is no editor", hint="set VISUAL or EDITOR")
    return found


def _configured(variable: str) -> list[str]:
    try:
        return shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise Refused(f"`{variable}` cannot be read: {error}") from error


def _found(names: Sequence[str]) -> list[str] | None:
    return next(([found] for name in names if (found := shutil.which(name))), None)


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


# -- looks for a pattern in a text that nobody answers for ---------------------------------------


_LOOKS = (
    "import json, re, sys; pattern, text = json.load(sys.stdin); "
    "sys.exit(0 if re.search(pattern, text) else 3)"
)
_NOT_FOUND = 3


def found_within(pattern: str, text: str, seconds: float) -> bool | None:
    """Say whether a pattern is in a text; None where looking takes longer than it may.

    In a process of its own: some patterns take for ever on some texts, and cannot be interrupted.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-I", "-S", "-c", _LOOKS],
            input=json.dumps([pattern, text]).encode("ascii"),
            capture_output=True,
            timeout=seconds,
            check=False,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        raise CellProblem(f"a pattern cannot be looked for: {error.strerror}") from error
    return {0: True, _NOT_FOUND: False}.get(done.returncode)


# -- asks a hook as its host does: a command line for the shell, an event on standard input ------


SECONDS = 20.0


def ask_hook(command: str, event: bytes, environment: Mapping[str, str]) -> str:
    """Return what a hook prints, asked where there is nothing to judge; raise FileProblem."""
    with tempfile.TemporaryDirectory(prefix="planbound-doctor-") as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 - the words of the settings, as a host runs them
                ["/bin/sh", "-c", command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise FileProblem(f"it cannot be started: {error.strerror}") from error
        try:
            printed, _ = process.communicate(event, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise FileProblem(f"it did not answer within {SECONDS:g} s") from error
    if process.returncode != 0:
        raise FileProblem(f"it ended with {process.returncode}, and a host ignores it then")
    return printed.decode("utf-8", "replace")
