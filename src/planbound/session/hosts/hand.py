"""Whose hand is at the command line: a person's, or that of an agent in a host that we set up.

A guard reads what an agent is about to run, and words can be disguised. Who started a process
cannot: the kernel knows its parents, its session and its terminal.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from planbound.cells.isolation import AGENT_MARK, KEEPER_MARK
from planbound.cells.signatures import COMMON_SIGNERS, SIGNERS, allowed_signers
from planbound.errors import Refused
from planbound.session.hosts.host import AgentHost
from planbound.session.hosts.install import OriginalFile, host_parts, originals

_PROC = "/proc"
_DEEPEST = 200
_ENTRY = b"planbound"


class HostSigns(NamedTuple):
    """By what the processes of a host are known."""

    names: tuple[str, ...]
    packages: tuple[str, ...]
    """Parts of the path of its script, where an interpreter runs it."""
    variables: tuple[str, ...]
    """What it puts into the environment of what its agents run."""


SIGNS: Mapping[AgentHost, HostSigns] = {
    AgentHost.CLAUDE: HostSigns(
        ("claude", "claude-code"), ("@anthropic-ai/claude-code",), ("CLAUDECODE",)
    ),
    AgentHost.CODEX: HostSigns(
        ("codex", "codex-cli"),
        ("@openai/codex",),
        ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
    ),
    AgentHost.GEMINI: HostSigns(("gemini", "gemini-cli"), ("@google/gemini-cli",), ("GEMINI_CLI",)),
    AgentHost.QWEN: HostSigns(("qwen", "qwen-code"), ("@qwen-code/qwen-code",), ("QWEN_CODE",)),
    AgentHost.OPENCODE: HostSigns(("opencode",), ("opencode-ai",), ("OPENCODE",)),
    AgentHost.GOOSE: HostSigns(("goose", "goosed"), (), ("GOOSE_TERMINAL",)),
}
_PRETENDERS = frozenset({"script", "expect", "unbuffer", "socat"})
"""Programs that give a terminal to what nobody sits at."""


class Process(NamedTuple):
    """What the kernel knows of a process."""

    number: int
    parent: int
    group: int
    session: int
    terminal: int
    """Its controlling terminal; 0: none."""
    name: str
    words: tuple[str, ...]
    """How it was called."""

    @property
    def names(self) -> set[str]:
        """What it may be called, without folders."""
        return {self.name, *(os.path.basename(word) for word in self.words[:1])}


def refuse_agents(
    root: str, state: str | None, environment: Mapping[str, str], *, signed: bool = False
) -> None:
    """Refuse to let an agent decide what is a person's to decide.

    `signed`: a signature says whose decision it is, whoever hands it in; but then nobody else says
    by variables of the environment who may sign.
    """
    found = agents_hand(root, state, environment)
    if found is not None and not (signed and _is_of_account(allowed_signers())):
        raise Refused(
            f"this is for a person to decide, and an agent's hand is in it: {found}",
            hint="decide in a terminal of your own, which no agent's host has started; from inside"
            " of one a plan is approved by a signature: `planbound approve PLAN --statement`",
        )


def agents_hand(root: str, state: str | None, environment: Mapping[str, str]) -> str | None:
    """Return how it shows that an agent is behind this process; None where nothing shows it."""
    own = _process(os.getpid())
    if own is None:
        return None  # nobody can tell: there is no /proc
    family = list(_family(own))
    for each in family:
        if AGENT_MARK in _variables(each.number) or _is_keeper(each):
            return f"process {each.number} is an agent's of `planbound run`"
    suspects = {host: said for each in family for host, said in _signs_of(each)}
    faked = next((each for each in family if each.names & _PRETENDERS), None)
    alone = faked is not None or not own.terminal
    ours = set_up_hosts(root, state, environment) if suspects or alone else set()
    said = next((said for host, said in suspects.items() if host in ours), None)
    if said is None and alone and (working := _at_work(ours, root)) is not None:
        how = f"its terminal is made by `{faked.name}`" if faked else "it has no terminal"
        return f"{how}, while {working} is at work here"
    return said


def _is_of_account(signers: str) -> bool:
    home = pwd.getpwuid(os.getuid()).pw_dir
    return signers in {COMMON_SIGNERS, os.path.join(home, ".config", "planbound", SIGNERS)}


def set_up_hosts(root: str, state: str | None, environment: Mapping[str, str]) -> set[AgentHost]:
    """Return the hosts that have entries of ours, or were given some that somebody took away."""
    # Variables are anybody's, so that the account's own home counts, too.
    account = {**environment, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "PLANBOUND_STATE", "CLAUDE_CONFIG_DIR"):
        account.pop(name, None)
    kept = [originals(state, environment), originals(None, environment), originals(None, account)]
    return {
        host
        for host in AgentHost
        if any(
            _is_ours(path) or any(_was_ours(host, each.get(path)) for each in kept)
            for path in _settings(host, root, (environment, account))
        )
    }


def _settings(
    host: AgentHost, root: str, environments: Iterable[Mapping[str, str]]
) -> Iterator[str]:
    for known in environments:
        for place in (None, root) if host.has_project else (None,):
            yield from (part.path for part in host_parts(host, place, ["planbound"], known))


def _was_ours(host: AgentHost, original: OriginalFile | None) -> bool:
    return original is not None and host.value in original.hosts


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return _ENTRY in file.read()
    except OSError:
        return False


# -- processes -------------------------------------------------------------------------------------


def _family(own: Process) -> Iterator[Process]:
    """Yield this process and all above it, and those above the leaders of its group and session.

    Whoever is left by its parent is still of the session that it was started in.
    """
    seen: set[int] = set()
    for start in (own.number, own.group, own.session):
        number = start
        while number > 0 and number not in seen and len(seen) < _DEEPEST:
            seen.add(number)
            found = _process(number)
            if found is None:
                break
            yield found
            number = found.parent


def _signs_of(process: Process) -> Iterator[tuple[AgentHost, str]]:
    variables = _variables(process.number)
    for host, signs in SIGNS.items():
        if _is_host(process, signs):
            yield host, f"`{host.value}` (process {process.number}) started it"
        for name in variables & set(signs.variables):
            yield host, f"`{name}` is in the environment of process {process.number}"


def _is_keeper(process: Process) -> bool:
    """Say whether it keeps the processes of a cell: whoever is left by its parent comes to it."""
    return any(KEEPER_MARK in word for word in process.words)


def _is_host(process: Process, signs: HostSigns) -> bool:
    if process.names & set(signs.names):
        return True
    # An interpreter with a script: `node /usr/lib/node_modules/@openai/codex/bin/codex.js`.
    for word in process.words[1:4]:
        if any(f"/{package}/" in word for package in signs.packages):
            return True
        if "/" in word and os.path.splitext(os.path.basename(word))[0] in signs.names:
            return True
    return False


def _at_work(hosts: Iterable[AgentHost], root: str) -> str | None:
    """Return a host whose process is in the workspace now, above it, or in its repository."""
    inside = os.path.realpath(root)
    whole = _repository(inside)
    for name in os.listdir(_PROC):
        found = _process(int(name)) if name.isdigit() else None
        host = found and next((each for each in hosts if _is_host(found, SIGNS[each])), None)
        if host:
            try:
                folder = os.readlink(f"{_PROC}/{name}/cwd")
            except OSError:
                continue
            if f"{folder}/".startswith(f"{whole}/") or f"{inside}/".startswith(f"{folder}/"):
                return f"`{host.value}` (process {name})"
    return None


def _repository(folder: str) -> str:
    """Return the top of the repository that a folder is in; the folder itself without one."""
    top = folder
    while top != os.path.dirname(top):
        if os.path.lexists(f"{top}/.git"):
            return top
        top = os.path.dirname(top)
    return folder


def _process(number: int) -> Process | None:
    try:
        with open(f"{_PROC}/{number}/stat", "rb") as file:
            name, _, rest = file.read().decode("utf-8", "replace").rpartition(")")
        with open(f"{_PROC}/{number}/cmdline", "rb") as file:
            words = file.read(65_536).decode("utf-8", "replace").rstrip("\0").split("\0")
        _, parent, group, session, terminal = rest.split()[:5]
        return Process(
            number,
            int(parent),
            int(group),
            int(session),
            int(terminal),
            name.partition("(")[2],
            tuple(words),
        )
    except (OSError, ValueError):
        return None  # it has ended, or is hidden


def _variables(number: int) -> set[str]:
    """Return the names of the variables that a process was started with, of those that are set."""
    try:
        with open(f"{_PROC}/{number}/environ", "rb") as file:
            entries = file.read().decode("utf-8", "replace").split("\0")
    except OSError:
        return set()
    pairs = (entry.partition("=") for entry in entries)
    return {name for name, _, value in pairs if value}
