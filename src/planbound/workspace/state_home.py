"""Where the harness keeps its own things: outside the workspace, one place per repository."""

import hashlib
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from planbound.errors import FileProblem

# -- where the harness keeps its own things: outside the workspace, one place per repository -----


class StateHome(NamedTuple):
    """The places of one project."""

    project: str
    folder: str
    """The journal, locks, outputs, frozen judges."""
    anchor: str
    """The head of the journal, away from the journal itself."""

    @property
    def journal(self) -> str:
        """The journal's file."""
        return os.path.join(self.folder, "journal.sqlite")

    @property
    def locks(self) -> str:
        """The folder of locks."""
        return os.path.join(self.folder, "locks")


def find_state_home(root: str, *, given: str | None, environment: Mapping[str, str]) -> StateHome:
    """Return the places for the repository at a root (the main worktree of it)."""
    project = _project(root)
    home = environment.get("HOME") or os.path.expanduser("~")
    states = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    shares = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    chosen = given or environment.get("PLANBOUND_STATE")
    folder = os.path.abspath(chosen) if chosen else os.path.join(states, "planbound", project)
    # Two journals of one project (another `--state`) have two heads.
    name = project if not chosen else f"{project}-{_short(folder)}"
    return StateHome(
        project=project,
        folder=folder,
        anchor=os.path.join(shares, "planbound", "anchors", f"{name}.json"),
    )


def _project(root: str) -> str:
    """Return a name for a repository: readable, and unlike that of any other path."""
    real = os.path.realpath(root)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(real)).strip("-.") or "root"
    return f"{name[:40]}-{_short(real)}"


def _short(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


# -- homes of agents in a folder of the state home -----------------------------------------------


class AgentHomes:
    """The homes of agents, which last as long as a step: folders directly below `root`."""

    def __init__(self, root: str) -> None:
        self.root = root

    def of(self, name: str) -> str:
        """Return the path of a home, made where it is not there."""
        path = os.path.join(self.root, name)
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise FileProblem(f"`{path}` cannot be made: {error.strerror}") from error
        return path

    def names(self) -> set[str]:
        """Return which homes there are."""
        try:
            return set(os.listdir(self.root))
        except OSError:
            return set()

    def remove(self, name: str) -> None:
        """Remove a home with all that is in it; one that is not there is fine."""
        path = os.path.join(self.root, name)
        if not os.path.lexists(path):
            return
        import shutil  # noqa: PLC0415 - start-up

        # What an agent made unreadable stays until somebody removes it: that harms nobody.
        shutil.rmtree(path, ignore_errors=True)
