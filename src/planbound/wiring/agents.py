"""Puts agents together from their configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from planbound.agents.command import CommandAgent
from planbound.engine.agents import AgentRules
from planbound.engine.configuration import Configuration
from planbound.ports.agent import Agent

_KINDS: Mapping[str, Callable[[AgentRules, Mapping[str, str]], Agent]] = {
    "command": CommandAgent,
}


def make_agents(configuration: Configuration) -> dict[str, Agent]:
    """Return the agents that can be given a step, by name."""
    return {
        name: _KINDS[rules.kind](rules, os.environ)
        for name, rules in configuration.agents.items()
        if rules.command
    }
