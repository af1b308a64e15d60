"""What all agents share that are programs: how one is found, what it gets, how it is heard."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from planbound.engine.agents import AgentRules, Home
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.recovery.credential import is_credential
from planbound.plan.model import Stream
from planbound.ports.agent import Assignment, Dispatch, Usage, Worked
from planbound.ports.cell import Limits

_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME")
_OF_PROJECT = ("VIRTUAL_ENV", "CONDA_PREFIX")
_PATH = "/usr/local/bin:/usr/bin:/bin"
LOGINS = ".claude .claude.json .codex .gemini .qwen .config/opencode .config/goose".split()
"""Where coding agents have their log-in, seen from the home."""
_LONGEST_NOTE = 160
_BURST, _A_SECOND = 100.0, 20.0
"""So many lines at once are passed on, and so many a second."""
_LIMITS = Limits(memory=16 << 30, processes=4096, file_size=8 << 30)


class Murmur:
    """Passes on what an agent prints, line by line, and not faster than somebody can follow."""

    def __init__(self, note: Callable[[str], None] = lambda text: None) -> None:  # noqa: ARG005 - nobody looks
        self._note = note
        self._room, self._since, self._left_out = _BURST, time.monotonic(), 0

    def hear(self, line: str) -> None:
        """Take a line."""
        # Of a bar that is drawn over and over, what stands at last; code keeps its indentation.
        text = line.rstrip().rpartition("\r")[2].expandtabs(4)[:_LONGEST_NOTE]
        if not text.strip():
            return
        now = time.monotonic()
        self._room = min(_BURST, self._room + (now - self._since) * _A_SECOND)
        self._since = now
        if self._room < 1:
            self._left_out += 1
            return
        self._room -= 1
        if self._left_out:
            self._note(f"[{self._left_out} lines are left out]")
            self._left_out = 0
        self._note(text)


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
                return Worked(Outcome(Ending.NOT_STARTED, reason=reason), missing=name)
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
        home = self.environment.get("HOME") if self.rules.home is Home.PASS else None
        return Dispatch(
            command=command,
            environment=self.passed(assignment, own),
            limits=_LIMITS._replace(seconds=assignment.seconds),
            network=self.rules.network,
            home=home,
            unmasked=() if home is None else tuple(os.path.join(home, name) for name in LOGINS),
            stdin=stdin,
            exposed=(*self._exposed(command), *exposed),
            hear=hear,
        )

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
    return Worked(Outcome(Ending.NOT_STARTED, reason=reason), error="not-installed")
