"""What all agents share that are programs: how one is found, what it gets, and its home."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from planbound.agents.agent import Assignment, Dispatch, Usage, Worked
from planbound.agents.kind import destinations, logins_of
from planbound.agents.output import inner
from planbound.agents.signs import is_credential
from planbound.cells.cell import CommandEnding, Limits, Outcome
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules, Home
from planbound.workspace.home import named_paths

_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME")
_OF_PROJECT = ("VIRTUAL_ENV", "CONDA_PREFIX")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_LIMITS = Limits(memory=16 << 30, processes=4096, file_size=8 << 30)


class Program:
    """The program of an agent, and what of this process it gets."""

    def __init__(self, rules: AgentRules, environment: Mapping[str, str]) -> None:
        self.rules = rules
        self.environment = environment
        """All of this process's: only what is named is passed on."""

    def trouble(self) -> Worked | None:
        """Return how an attempt ends at once, because a credential is not set; None: it is."""
        for name in self.rules.env:
            if is_credential(name) and not self.environment.get(name):
                reason = f"`{name}` is not set, and `[agents.{self.rules.name}]` passes it"
                return Worked(Outcome(CommandEnding.NOT_STARTED, reason=reason), missing=name)
        return None

    def find(self, word: str, workspace: str) -> str | None:
        """Return where a program is; None where it is not installed."""
        if os.sep in word:
            path = os.path.join(workspace, os.path.expanduser(word))
            return path if os.access(path, os.X_OK) and os.path.isfile(path) else None
        import shutil  # noqa: PLC0415 - start-up

        folders = self.environment.get("PATH", _PATH).split(os.pathsep)
        # An agent can write to the project's folders: no step puts another agent in one's place.
        folders.sort(key=lambda folder: self._is_of_project(folder, workspace))
        found = shutil.which(word, path=os.pathsep.join(folders))
        if found is not None or word.startswith("python"):
            return found
        # An agent may be installed beside Planbound; it is started by its path, and its PATH does
        # not lead there. But our Python is nobody's agent.
        return shutil.which(word, path=os.path.dirname(sys.executable))

    def _is_of_project(self, folder: str, workspace: str) -> bool:
        own = [self.environment[name] for name in _OF_PROJECT if self.environment.get(name)]
        places = (workspace, *own)
        return folder.endswith("/node_modules/.bin") or any(
            folder == place or folder.startswith(place.rstrip("/") + "/") for place in places
        )

    def passed(self, assignment: Assignment, own: Mapping[str, str]) -> dict[str, str]:
        """Return all variables that it sees: those named, and the kind's own."""
        names = (*_PASSED, *_OF_PROJECT, *self.rules.env)
        found = {name: self.environment[name] for name in names if name in self.environment}
        return {
            "PATH": _PATH,
            "TERM": "dumb",
            **own,
            **found,
            "HOME": "{home}",
            "PLANBOUND_ATTEMPT": str(assignment.attempt),
        }

    def dispatch(
        self,
        assignment: Assignment,
        command: tuple[str, ...],
        *,
        own: Mapping[str, str],
        stdin: bytes = b"",
        exposed: Iterable[str] = (),
        hear: Callable[[Stream, bytes], Usage | None] | None = None,
    ) -> Dispatch:
        """Return how a command is started; its first word is the path of the program."""
        return Dispatch(
            command=command,
            environment=self.passed(assignment, own),
            limits=_LIMITS._replace(seconds=assignment.seconds),
            network=self.rules.network,
            egress=destinations(self.rules),
            shared=tuple(self._login()),
            shown=tuple(os.path.expanduser(path) for path in self.rules.shown),
            stdin=stdin,
            exposed=(
                *self._exposed(command),
                *named_paths(self.rules.env, self.environment),
                *exposed,
            ),
            hear=hear,
        )

    def _login(self) -> Iterator[str]:
        """Yield where in the user's home the agent has its log-in, where it is passed."""
        home = self.environment.get("HOME")
        if self.rules.home is Home.PASS and home:
            yield from (os.path.join(home, name) for name in logins_of(self.rules.kind))

    def _exposed(self, command: tuple[str, ...]) -> Iterator[str]:
        """Yield what has to be seen for it to start, wherever it is installed."""
        program = command[0]
        yield from surroundings(program)
        for word in (program, *self.rules.command):
            if os.path.isabs(word) and os.path.exists(word):
                yield word


def surroundings(program: str) -> Iterator[str]:
    """Yield the folders that a program comes with: its own, its packages, its environment."""
    packages = f"{os.sep}node_modules{os.sep}"
    for path in dict.fromkeys((program, os.path.realpath(program))):
        folder = os.path.dirname(path)
        yield folder
        if packages in path:
            yield path.partition(packages)[0] + packages.rstrip(os.sep)
        if os.path.isfile(os.path.join(os.path.dirname(folder), "pyvenv.cfg")):
            yield os.path.dirname(folder)


def not_installed(word: str) -> Worked:
    """Return how an attempt ends whose program is not there."""
    reason = f"`{word}` is not installed: it is not on PATH"
    if os.sep in word:
        reason = f"`{word}` is not installed: there is no such program"
    return Worked(Outcome(CommandEnding.NOT_STARTED, reason=reason), error="not-installed")


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
