"""Health of hooks: whether what is installed would really be asked, and answers.

A hook that a host skips is the commonest failure, and a silent one.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from planbound.engine.hosts.fragment import Unmergeable
from planbound.engine.hosts.host import AgentHost, Homes, events_of, settings_path, unit_of
from planbound.engine.hosts.json_fragment import are_switched_off, our_commands
from planbound.errors import FileProblem

_PROBED = ("session-start", "stop")
_LEAST = 60
"""A host that waits for fewer seconds than this lets the agent go before anything is judged."""


class Finding(NamedTuple):
    """What is wrong, and what cures it."""

    problem: str
    cure: str


class HookReport(NamedTuple):
    """How it is with the hooks."""

    installed: tuple[str, ...]
    """The hosts whose settings hold hooks of ours."""
    findings: tuple[Finding, ...]


class Looks(NamedTuple):
    """What cannot be looked at from here."""

    read: Callable[[str], bytes | None]
    exists: Callable[[str], bool]
    """Whether a program would be found."""
    ask: Callable[[str, bytes], str]
    """Runs a command line with an event on its standard input, returns what it printed; raises
    FileProblem where it does not end with 0, or too late."""


def examine(root: str, homes: Homes, looks: Looks) -> HookReport:
    """Look at the hooks of every host that has a gate; ask each command once."""
    installed, findings = [], []
    for host in AgentHost:
        for base in (root, None) if host.has_gate else ():
            path = settings_path(host, root=base, homes=homes)
            try:
                text = _text(looks, path)
                commands = our_commands(text) if text is not None else []
            except (Unmergeable, FileProblem) as error:
                if text_mentions(looks, path):
                    findings.append(Finding(f"`{path}`: {error.message}", "mend the file"))
                continue
            if commands:
                installed.append(host.value)
                findings += _found(host, path, commands, looks)
                findings += _switched_off(host, path, root, homes, looks)
                if host is AgentHost.CODEX:
                    findings += _distrusted(path, root if base else None, homes, looks)
    return HookReport(tuple(dict.fromkeys(installed)), tuple(dict.fromkeys(findings)))


def text_mentions(looks: Looks, path: str) -> bool:
    """Say whether a file that cannot be read as settings has to do with us."""
    try:
        return b"planbound" in (looks.read(path) or b"")
    except FileProblem:
        return False


def _found(
    host: AgentHost, path: str, commands: list[tuple[str, str, object]], looks: Looks
) -> Iterator[Finding]:
    again = f"`planbound install {host.value}` writes it anew"
    there = {event for event, _, _ in commands}
    for event in events_of(host):
        if event not in there:
            yield Finding(f"`{path}` has no hook of ours for `{event}`", again)
    for event, command, timeout in commands:
        word, seconds = events_of(host).get(event, ("", 0))
        least = min(seconds, _LEAST) * unit_of(host)
        if isinstance(timeout, int | float) and timeout < least:
            unit = "milliseconds" if unit_of(host) == 1000 else "seconds"
            yield Finding(
                f"`{host.value}` waits only {timeout} {unit} for `{event}`, then lets the agent go",
                again,
            )
        if not _starts(command, looks):
            yield Finding(
                f"the hook for `{event}` of `{host.value}` cannot be started: `{command}`",
                "put `planbound` on the PATH, or install the hooks anew",
            )
        elif word in _PROBED:
            yield from _probed(host, event, command, looks)


def _starts(command: str, looks: Looks) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return bool(words) and looks.exists(words[0])


def _probed(host: AgentHost, event: str, command: str, looks: Looks) -> Iterator[Finding]:
    """Ask the hook as the host would."""
    sample = {"session_id": "planbound-doctor", "hook_event_name": event, "cwd": "/nonexistent"}
    try:
        answer = json.loads(looks.ask(command, json.dumps(sample).encode()))
    except FileProblem as error:
        found = error.message
    except ValueError:
        found = "it printed something that is not JSON"
    else:
        if isinstance(answer, dict):
            return
        found = "it printed JSON that is no object"
    yield Finding(
        f"the hook for `{event}` of `{host.value}` does not answer: {found}",
        f"run `{command}` with `{{}}` on its standard input to see it",
    )


def _switched_off(
    host: AgentHost, path: str, root: str, homes: Homes, looks: Looks
) -> Iterator[Finding]:
    paths = [path, settings_path(host, root=root, homes=homes)]
    paths.append(settings_path(host, root=None, homes=homes))
    if host is AgentHost.CLAUDE:
        paths.append(f"{root}/.claude/settings.local.json")
    for each in dict.fromkeys(paths):
        try:
            text = _text(looks, each)
            setting = are_switched_off(text) if text is not None else None
        except (Unmergeable, FileProblem):
            continue
        if setting is not None:
            problem = f"`{each}` switches all hooks off by `{setting}`"
            yield Finding(problem, "remove the setting: without hooks nothing refuses an end")


def _distrusted(path: str, root: str | None, homes: Homes, looks: Looks) -> Iterator[Finding]:
    """Tell where Codex does not trust the hooks; it skips those without a word."""
    settings = f"{homes.codex}/config.toml"
    try:
        text = _text(looks, settings)
        table = tomllib.loads(text) if text is not None else {}
    except (tomllib.TOMLDecodeError, FileProblem):
        yield Finding(
            f"`{settings}` cannot be read, so nothing says that hooks are trusted", "mend it"
        )
        return
    projects = table.get("projects", {})
    project = projects.get(root, {}) if isinstance(projects, dict) else {}
    if root is not None and project.get("trust_level") != "trusted":
        cure = "open the project in Codex once and trust it"
        yield Finding(f"Codex does not trust the project `{root}`", cure)
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
        yield Finding(f"Codex does not trust the hooks of `{path}`, and skips them silently", cure)


def _text(looks: Looks, path: str) -> str | None:
    data = looks.read(path)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileProblem("it is not text in UTF-8") from error
