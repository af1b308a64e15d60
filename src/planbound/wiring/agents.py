"""Puts agents together from their configuration: finds the kind by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from planbound.errors import ConfigurationError
from planbound.plan.suggest import nearest

if TYPE_CHECKING:
    from planbound.agents.kind import Kind
    from planbound.engine.agents import AgentRules
    from planbound.engine.configuration import Configuration
    from planbound.ports.agent import Agent

_KINDS = "planbound.agents.kinds"


def make_agents(configuration: Configuration, root: str) -> dict[str, Agent]:
    """Return the agents that can be given a step in a workspace, by name."""
    from planbound.workspace.project_environment import agent_variables  # noqa: PLC0415 - start-up

    variables = agent_variables(configuration, root, os.environ)
    return {
        name: make_agent(rules, variables)
        for name, rules in configuration.agents.items()
        # An agent without a command has a name, so that plans can be written for it.
        if rules.command or rules.kind != "command"
    }


def misfits(configuration: Configuration) -> Iterator[ConfigurationError]:
    """Yield why agents of the configuration could never be made, whatever is installed here."""
    for rules in configuration.agents.values():
        if rules.command or rules.kind != "command":
            try:
                make_agent(rules, {})
            except ConfigurationError as error:
                yield error


def make_agent(rules: AgentRules, variables: Mapping[str, str]) -> Agent:
    """Return one agent; raise ConfigurationError where its kind is not known or does not fit."""
    kind = find_kind(rules.kind)
    if kind is None:
        near = nearest(rules.kind, kind_names())
        hint = f"did you mean `{near}`?" if near else f"kinds are {', '.join(kind_names())}"
        raise ConfigurationError(
            f"`agents.{rules.name}.kind` is `{rules.kind}`, and there is no such kind", hint=hint
        )
    return kind.make(rules, variables)


def find_kind(name: str) -> Kind | None:
    """Return a kind: one of ours, or one that another package offers."""
    import importlib  # noqa: PLC0415 - start-up

    if name in _own_names():
        found: Kind = importlib.import_module(f"{_KINDS}.{name}").KIND
        return found
    return next((kind for kind in _offered() if kind.name == name), None)


def all_kinds() -> Iterator[Kind]:
    """Yield every kind that there is."""
    for name in _own_names():
        kind = find_kind(name)
        assert kind is not None
        yield kind
    yield from _offered()


def kind_names() -> list[str]:
    """Return the names of all kinds."""
    return [*_own_names(), *(kind.name for kind in _offered())]


def _own_names() -> list[str]:
    import pkgutil  # noqa: PLC0415 - start-up

    from planbound.agents import kinds  # noqa: PLC0415 - start-up

    return sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


def _offered() -> Iterator[Kind]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - most kinds are ours

    from planbound.agents.kind import GROUP, Kind  # noqa: PLC0415

    for point in entry_points(group=GROUP):
        try:
            kind = point.load()
        except Exception as error:
            raise ConfigurationError(
                f"the kind of agent `{point.name}` of `{point.value}` cannot be loaded: {error}",
                hint="update or remove the package that offers it",
            ) from error
        if not isinstance(kind, Kind):
            raise ConfigurationError(
                f"`{point.value}` is offered as a kind of agent and is none",
                hint="the entry point must name a `planbound.agents.kind.Kind`",
            )
        yield kind._replace(name=point.name)
