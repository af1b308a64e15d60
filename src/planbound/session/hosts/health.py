"""Health of hooks: whether what is installed would really be asked, and answers.

A hook that a host skips is the commonest failure, and a silent one.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planbound.cells.processes import ask_hook
from planbound.errors import FileProblem
from planbound.session.hosts.host import AgentHost, Homes, events_of, settings_path, unit_of
from planbound.session.hosts.install import SettingsFiles, homes_of
from planbound.session.hosts.settings import Unmergeable, are_switched_off, our_commands

_PROBED = ("session-start", "stop")
_OWN = frozenset({"PLANBOUND_ATTEMPT", "PLANBOUND_PLAN"})
_LEAST = 60
"""A host that waits for fewer seconds than this lets the agent go before anything is judged."""


class HookFault(NamedTuple):
    """What is wrong, and what cures it."""

    problem: str
    cure: str


class HookReport(NamedTuple):
    """How it is with the hooks."""

    installed: tuple[str, ...]
    """The hosts whose settings hold hooks of ours."""
    findings: tuple[HookFault, ...]


def hook_findings(root: str, environment: Mapping[str, str]) -> HookReport:
    """Look at the hooks of every host that has a gate; ask each command once."""
    root, homes = os.path.realpath(root), homes_of(environment)
    installed, findings = [], []
    for host in AgentHost:
        for base in (root, None) if host.has_gate else ():
            path = settings_path(host, root=base, homes=homes)
            try:
                text = _text(path)
                commands = our_commands(text) if text is not None else []
            except (Unmergeable, FileProblem) as error:
                if _mentions_us(path):
                    findings.append(HookFault(f"`{path}`: {error.message}", "mend the file"))
                continue
            if commands:
                installed.append(host.value)
                findings += _found(host, path, commands, environment)
                findings += _switched_off(host, path, root, homes)
                if host is AgentHost.CODEX:
                    findings += _distrusted(path, root if base else None, homes)
    return HookReport(tuple(dict.fromkeys(installed)), tuple(dict.fromkeys(findings)))


def _mentions_us(path: str) -> bool:
    """Say whether a file that cannot be read as settings has to do with us."""
    try:
        return b"planbound" in (SettingsFiles().read(path) or b"")
    except FileProblem:
        return False


def _found(
    host: AgentHost,
    path: str,
    commands: list[tuple[str, str, object]],
    environment: Mapping[str, str],
) -> Iterator[HookFault]:
    again = f"`planbound install {host.value}` writes it anew"
    there = {event for event, _, _ in commands}
    for event in events_of(host):
        if event not in there:
            yield HookFault(f"`{path}` has no hook of ours for `{event}`", again)
    for event, command, timeout in commands:
        word, seconds = events_of(host).get(event, ("", 0))
        least = min(seconds, _LEAST) * unit_of(host)
        if isinstance(timeout, int | float) and timeout < least:
            unit = "milliseconds" if unit_of(host) == 1000 else "seconds"
            yield HookFault(
                f"`{host.value}` waits only {timeout} {unit} for `{event}`, then lets the agent go",
                again,
            )
        if not _starts(command, environment):
            yield HookFault(
                f"the hook for `{event}` of `{host.value}` cannot be started: `{command}`",
                "put `planbound` on the PATH, or install the hooks anew",
            )
        elif word in _PROBED:
            yield from _probed(host, event, command, environment)


def _starts(command: str, environment: Mapping[str, str]) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return bool(words) and shutil.which(words[0], path=environment.get("PATH")) is not None


def _probed(
    host: AgentHost, event: str, command: str, environment: Mapping[str, str]
) -> Iterator[HookFault]:
    """Ask the hook as the host would."""
    sample = {"session_id": "planbound-doctor", "hook_event_name": event, "cwd": "/nonexistent"}
    # What a host's child inherits from us must not make the hook think that it is ours.
    clean = {name: value for name, value in environment.items() if name not in _OWN}
    try:
        answer = json.loads(ask_hook(command, json.dumps(sample).encode(), clean))
    except FileProblem as error:
        found = error.message
    except ValueError:
        found = "it printed something that is not JSON"
    else:
        if isinstance(answer, dict):
            return
        found = "it printed JSON that is no object"
    yield HookFault(
        f"the hook for `{event}` of `{host.value}` does not answer: {found}",
        f"run `{command}` with `{{}}` on its standard input to see it",
    )


def _switched_off(host: AgentHost, path: str, root: str, homes: Homes) -> Iterator[HookFault]:
    paths = [path, settings_path(host, root=root, homes=homes)]
    paths.append(settings_path(host, root=None, homes=homes))
    if host is AgentHost.CLAUDE:
        paths.append(f"{root}/.claude/settings.local.json")
    for each in dict.fromkeys(paths):
        try:
            text = _text(each)
            setting = are_switched_off(text) if text is not None else None
        except (Unmergeable, FileProblem):
            continue
        if setting is not None:
            problem = f"`{each}` switches all hooks off by `{setting}`"
            yield HookFault(problem, "remove the setting: without hooks nothing refuses an end")


def _distrusted(path: str, root: str | None, homes: Homes) -> Iterator[HookFault]:
    """Tell where Codex does not trust the hooks; it skips those without a word."""
    settings = f"{homes.codex}/config.toml"
    try:
        text = _text(settings)
        table = tomllib.loads(text) if text is not None else {}
    except (tomllib.TOMLDecodeError, FileProblem):
        yield HookFault(
            f"`{settings}` cannot be read, so nothing says that hooks are trusted", "mend it"
        )
        return
    projects = table.get("projects", {})
    project = projects.get(root, {}) if isinstance(projects, dict) else {}
    if root is not None and project.get("trust_level") != "trusted":
        cure = "open the project in Codex once and trust it"
        yield HookFault(f"Codex does not trust the project `{root}`", cure)
    hooks = table.get("hooks", {})
    states = hooks.get("state", {}) if isinstance(hooks, dict) else {}
    trusted = any(
        str(key).startswith(f"{path}:stop:")
        and isinstance(value, dict)
        and value.get("trusted_hash")
        for key, value in (states.items() if isinstance(states, dict) else ())
    )
    if not trusted:
        cure = "review and trust the hooks in Codex (`/hooks`)"
        yield HookFault(
            f"Codex does not trust the hooks of `{path}`, and skips them silently", cure
        )


def _text(path: str) -> str | None:
    data = SettingsFiles().read(path)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem("it is not text in UTF-8") from error
