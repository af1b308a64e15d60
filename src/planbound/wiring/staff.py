"""What is known about agents without asking them: installed, configured, ready; and the probe."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from planbound.agents.kind import Kind
from planbound.agents.program import Program
from planbound.engine.agents import AgentRules
from planbound.engine.recovery.credential import is_credential
from planbound.errors import CellProblem, ConfigurationError, FileProblem, Refused
from planbound.ports.agent import Usage
from planbound.ports.cell import Request
from planbound.shell.cell.copies import WorkspaceCopies
from planbound.usecases.conversation import Room
from planbound.usecases.extras import install_extra
from planbound.usecases.probe import FILE, Finding, Probed, probe
from planbound.wiring.agents import all_kinds, find_kind, make_agent
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.wiring.sweeping import talk_at, talk_name
from planbound.workspace.homes import FolderHomes
from planbound.workspace.project_environment import agent_variables

_PROBE_SECONDS = 180.0


class Installed(NamedTuple):
    """A kind, and whether this machine has what it needs."""

    kind: Kind
    program: str | None
    """Where its program is; None: it has none, or it is not there."""
    missing: str | None
    """What has to be installed first; None: nothing."""
    credentials: tuple[str, ...]
    """Those of its variables that are set."""


class Standing(NamedTuple):
    """A configured agent, and whether it could be given a step."""

    rules: AgentRules
    roles: tuple[str, ...]
    program: str | None
    problems: tuple[str, ...]


def installed_kinds() -> Iterator[Installed]:
    """Yield every kind with what this machine has of it."""
    for kind in all_kinds():
        program = shutil.which(kind.command[0]) if kind.command else None
        missing = _not_importable(kind)
        if missing is None and kind.command and program is None:
            missing = f"`{kind.command[0]}` is not on PATH"
        found = tuple(name for name in kind.credentials if os.environ.get(name))
        yield Installed(kind, program, missing, found)


def standings(parts: Parts) -> Iterator[Standing]:
    """Yield every configured agent."""
    configuration = parts.configuration
    variables = agent_variables(configuration, parts.root, os.environ)
    for name, rules in configuration.agents.items():
        roles = tuple(role for role, seats in configuration.seats.items() if name in seats)
        program, problems = _look(rules, parts.root, variables)
        yield Standing(rules, roles, program, tuple(problems))


def probe_agents(parts: Parts, names: tuple[str, ...]) -> Iterator[Probed]:
    """Try agents one after the other, each in a scratch repository of its own."""
    agents = parts.configuration.agents
    for name in names:
        if name not in agents:
            known = ", ".join(agents) or "none"
            raise Refused(f"there is no agent `{name}`", hint=f"configured are: {known}")
    for name in names or tuple(agents):
        try:
            yield _probe(parts, agents[name])
        except (CellProblem, ConfigurationError, FileProblem) as problem:
            yield Probed(name, (Finding("starts", problem.message),), Usage())


def _probe(parts: Parts, rules: AgentRules) -> Probed:
    agent = make_agent(rules, agent_variables(parts.configuration, parts.root, os.environ))
    kind = find_kind(rules.kind)
    seen = kind.examine(rules, os.environ) if kind is not None and kind.examine else None
    if seen is not None and seen.trouble is not None:
        return Probed(rules.name, (seen,), Usage())
    bench = make_bench(parts)
    folder = parts.state.folder
    copies = WorkspaceCopies(os.path.join(folder, "copies"))
    homes = FolderHomes(os.path.join(folder, "homes"))
    name = talk_name()
    scratch = copies.make_empty(name)
    with talk_at(copies, homes, scratch):
        git = shutil.which("git", path=os.environ.get("PATH"))
        if git is not None:
            environment = {"HOME": "{home}", "PATH": os.path.dirname(git)}
            words = (git, "init", "--quiet", "--template=")
            bench.cell.run(Request(words, scratch, environment, writable=True))
        room = Room(
            cell=bench.cell,
            copy=scratch,
            shown_at=scratch,
            home=partial(homes.of, name),
            masked=bench.masked,
            exposed=bench.exposed,
            seconds=rules.seconds or _PROBE_SECONDS,
            max_cost=rules.max_cost,
            note=lambda text: None,  # noqa: ARG005 - what came of it is shown
        )
        word = f"probe-{secrets.token_hex(4)}"
        found = probe(agent, room, word, partial(_read, os.path.join(scratch, FILE)))
        return found if seen is None else found._replace(findings=(seen, *found.findings))


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1000)
    except OSError:
        return None


def _look(
    rules: AgentRules, workspace: str, variables: Mapping[str, str]
) -> tuple[str | None, list[str]]:
    problems: list[str] = []
    try:
        kind = find_kind(rules.kind)
        make_agent(rules, variables)
    except ConfigurationError as error:
        return None, [error.message]
    assert kind is not None
    if (missing := _not_importable(kind)) is not None:
        problems.append(missing)
    program = None
    words = rules.command or kind.command
    if words:
        program = Program(rules, variables).find(words[0], workspace)
        if program is None:
            problems.append(f"`{words[0]}` is not installed")
    problems += [
        f"`{name}` is not set"
        for name in rules.env
        if is_credential(name) and not os.environ.get(name)
    ]
    if not words:
        problems += _no_credential(rules, kind)
    return program, problems


def _no_credential(rules: AgentRules, kind: Kind) -> Iterator[str]:
    """Yield that a service which usually wants a credential would be asked without one."""
    provider = (rules.model or "").partition(":")[0].partition("-")[0].upper()
    usual = [name for name in kind.credentials if provider and name.startswith(provider)]
    named = rules.base_url is not None or any(is_credential(name) for name in rules.env)
    if usual and not named and not any(os.environ.get(name) for name in kind.credentials):
        yield f"`{usual[0]}` is not set"


def _not_importable(kind: Kind) -> str | None:
    for module in kind.modules:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            return f"`{install_extra(str(kind.extra))}`"
    return None
