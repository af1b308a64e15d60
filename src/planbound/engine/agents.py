"""Agents as the configuration names them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from planbound.engine.configuration_table import Table


class Home(enum.Enum):
    """What an agent finds as its home."""

    MASKED = "masked"
    """An empty one that is gone afterwards."""
    PASS = "pass"  # noqa: S105 - the user's own, as the configuration calls it


class AgentRules(NamedTuple):
    """One agent: what it is and what it may have."""

    name: str
    kind: str = "command"
    command: tuple[str, ...] = ()
    """Empty: it has a name, and cannot be given a step yet."""
    env: tuple[str, ...] = ()
    """Names of variables that are passed."""
    network: bool = True
    home: Home = Home.MASKED
    seconds: float | None = None
    """How long it may take for a step that does not say; None: ten minutes."""


KINDS = ("command",)


def read_agents(table: Table) -> dict[str, AgentRules]:
    """Return the agents by name."""
    return {name: _agent(name, table.table(name)) for name in table.values}


def read_roles(table: Table, agents: Mapping[str, AgentRules]) -> dict[str, str]:
    """Return for each role the agent that has it."""
    found: dict[str, str] = {}
    for name in table.values:
        role = table.table(name)
        role.allow("agent")
        agent = role.values.get("agent")
        if agent is None:
            continue
        if agent not in agents or not isinstance(agent, str):
            known = ", ".join(agents) or "none"
            role.refuse("agent", f"is {agent!r}", f"agents that are configured: {known}")
        found[name] = agent
    return found


def _agent(name: str, table: Table) -> AgentRules:
    table.allow("kind", "command", "env", "network", "home", "timeout")
    kind = table.values.get("kind", "command")
    if kind not in KINDS or not isinstance(kind, str):
        table.refuse("kind", f"is {kind!r}", f"kinds are {', '.join(KINDS)}")
    command = table.texts("command", "a list of words")
    if command and not command[0]:
        table.refuse(
            "command", "is empty", 'write `command = ["my-agent", "--prompt", "{prompt}"]`'
        )
    timeout = table.seconds("timeout", 0.0)
    return AgentRules(
        name=name,
        kind=kind,
        command=command,
        env=table.names("env"),
        network=table.flag("network", default=True),
        home=table.choice("home", Home, Home.MASKED) or Home.MASKED,
        seconds=timeout or None,
    )
