"""A contract fetches something, and contracts have no network.

## What it does
Reports calls that download: installers (`pip install`, `npm ci`, `uv sync`, ...), programs that are
fetched to be run (`uvx`, `npx` of what is not in `node_modules`, `uv run` where the project has no
environment yet), runners that make their environments anew (`tox`, `nox`), `git clone` and `curl`
of another host, and what asks a service such as GitHub (`gh`, `glab`). With `[contracts] network =
true` nothing is reported.

## Why it matters
Contracts run without a network, so that what they say depends on the workspace alone. The contract
would end as `unrunnable`, and nothing that the agent does makes it pass.

## Example
```shell
npm ci && npm test
```

## Instead
Install before the run, by hand or with `[worktrees] setup`, and let the contract use what is there:
```shell
npm test
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planbound.plan.command.tree import Call
from planbound.plan.command.word import words
from planbound.source import Finding, Severity
from planbound.source.pattern import lazy_pattern
from planbound.verify.facts import Facts
from planbound.verify.quote import shortened
from planbound.verify.rule import Rule
from planbound.verify.subject import Subject
from planbound.verify.writing import shell_contracts

_OFFLINE = (
    *("--offline", "--no-index", "--no-sync", "--no-install", "--no-venv", "--help", "--version"),
    *("--dry-run", "--prefer-offline", "-h"),
)
_FETCHED = frozenset({"npx", "bunx"})
_SYNCED = frozenset({"uv", "poetry", "pdm", "pipenv"})
"""What runs a program in the project's environment, and makes that where there is none."""
_ADDED = frozenset({"--with", "--with-requirements", "--isolated"})
"""What lets `uv run` fetch more than the environment has."""
_URL = lazy_pattern(r"(?:https?|ftp|git|ssh)://(?:[^/@]*@)?([^/:]+|\[[^\]]*\])")
_HERE = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})  # noqa: S104 - a name, no socket
_BEFORE = (
    "install it before the run (`[worktrees] setup` does it for every worktree), or say"
    " `[contracts] network = true`"
)


def _first(*subcommands: str) -> Callable[[Call], bool]:
    """Judge by the words behind the program."""
    known = {tuple(each.split()) for each in subcommands}
    return lambda call: any(_operands(call)[: len(each)] == [*each] for each in known)


def _operands(call: Call) -> list[str]:
    return [word.value or "" for word in call.operands()]


def _yarn(call: Call) -> bool:
    found = _operands(call)
    return not found or found[0] in {"install", "add", "dlx", "up", "upgrade"}


def _elsewhere(call: Call) -> bool:
    hosts = [match[1] for value in call.values() if (match := _URL.match(value))]
    return any(host not in _HERE and not host.startswith("$") for host in hosts)


def _clones(call: Call) -> bool:
    return _operands(call)[:1] in (["clone"], ["ls-remote"]) and _elsewhere(call)


_INSTALLS: dict[str, Callable[[Call], bool]] = {
    "pip": _first("install", "download", "wheel"),
    "pipx": _first("install", "run", "upgrade"),
    "uv": _first("sync", "add", "lock", "pip install", "pip sync", "tool install", "tool run"),
    "uvx": lambda _call: True,
    "poetry": _first("install", "add", "update", "lock", "sync"),
    "pdm": _first("install", "sync", "add", "update", "lock"),
    "pipenv": _first("install", "sync", "update", "lock"),
    "hatch": _first("env create"),
    "conda": _first("install", "create", "update", "env create"),
    "mamba": _first("install", "create", "update", "env create"),
    "tox": lambda call: _operands(call)[:1] not in (["list"], ["l"], ["config"]),
    "nox": lambda call: not call.has("-l", "--list", "--list-sessions"),
    "npm": _first("ci", "install", "i", "add", "update", "clean-install", "install-test", "it"),
    "pnpm": _first("install", "i", "add", "update", "dlx", "fetch"),
    "yarn": _yarn,
    "bun": _first("install", "i", "add", "update"),
    "go": _first("get", "install", "mod download", "mod tidy"),
    "cargo": _first("install", "fetch", "add", "update"),
    "gem": _first("install", "update"),
    "bundle": _first("install", "update"),
    "composer": _first("install", "update", "require"),
    "apt": _first("install", "update"),
    "apt-get": _first("install", "update"),
    "brew": _first("install", "update"),
    "rustup": _first("update", "toolchain install", "component add"),
    "git": _clones,
    "curl": _elsewhere,
    "wget": _elsewhere,
}
_SERVICES = frozenset({"gh", "glab", "hub", "tea"})
"""What asks a service for everything that it says."""
_SIGNED_IN = "say `[contracts] network = true`, and name the variable of its token in `env`"
_ALIASES = dict.fromkeys(words("pip3"), "pip")


def check(subject: Subject) -> Iterable[Finding]:
    """Yield one finding for each call that downloads."""
    if subject.facts.network:
        return
    for case in shell_contracts(subject):
        for call in case.script.calls:
            text = case.script.text[call.start : call.end]
            if call.optional or call.name in case.script.functions:
                continue
            asks = call.program in _SERVICES and not any(each in text.split() for each in _OFFLINE)
            if asks or _fetches(call, text, subject.facts):
                message = f"`{shortened(text)}` needs the network, and contracts have none"
                hint = _SIGNED_IN if asks else _BEFORE
                yield Finding(case.command.locate(call.start, call.end), message, hint)


def _fetches(call: Call, text: str, facts: Facts) -> bool:
    if any(option in text.split() for option in _OFFLINE):
        return False
    for word in call.wrappers:
        name = word.value or ""
        if name == "uvx" or (name in {"npm", "pnpm", "yarn", "uv"} and _is_fetched(name, text)):
            return name in {"uvx", "uv"} or call.program not in facts.node_programs
        if name in _FETCHED:
            return call.program not in facts.node_programs
        if name in _SYNCED:
            return not facts.has_environment or any(each in _ADDED for each in _names(text))
    judge = _INSTALLS.get(_ALIASES.get(call.program, call.program))
    return judge is not None and judge(call)


def _names(text: str) -> list[str]:
    return [word.partition("=")[0] for word in text.split()]


def _is_fetched(name: str, text: str) -> bool:
    """Say whether a wrapper gets a program from elsewhere: `npm exec`, `pnpm dlx`."""
    behind = text.partition(name)[2].split()[:2]
    return behind[:1] in (["exec"], ["x"], ["dlx"]) or behind == ["tool", "run"]


RULE = Rule(code="PB616", name="needs-network", severity=Severity.WARNING, check=check)
