"""Puts together what setting up agent hosts needs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping

from planbound.engine.hosts.fragment import Part
from planbound.engine.hosts.host import AgentHost, Homes, parts_of
from planbound.shell.hook_probe import ask_hook
from planbound.store.originals import KeptOriginals, SettingsFiles
from planbound.usecases.hosts.health import HookReport, Looks, examine

_OWN = frozenset({"PLANBOUND_ATTEMPT", "PLANBOUND_PLAN"})


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
) -> list[Part]:
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


def hook_findings(root: str, environment: Mapping[str, str]) -> HookReport:
    """Look at the hooks of all hosts, and ask those that are installed."""
    # What a host's child inherits from us must not make the hook think that it is ours.
    clean = {name: value for name, value in environment.items() if name not in _OWN}
    looks = Looks(
        read=SettingsFiles().read,
        exists=lambda word: shutil.which(word, path=environment.get("PATH")) is not None,
        ask=lambda command, event: ask_hook(command, event, clean),
    )
    return examine(os.path.realpath(root), homes_of(environment), looks)
