"""What a kind of agent is, and how agents are made from their configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planbound.agents.agent import Agent
from planbound.errors import ConfigurationError
from planbound.plan.vocabulary import nearest
from planbound.workspace.agents import AgentRules, Home

if TYPE_CHECKING:
    from planbound.agents.probe import ProbeResult
    from planbound.cells.egress import Destination
    from planbound.workspace.configuration import Configuration


GROUP = "planbound.agents"
"""The group of entry points by which other packages offer kinds."""


class Kind(NamedTuple):
    """One kind of agent."""

    name: str
    summary: str
    """What it is, in one line."""
    make: Callable[[AgentRules, Mapping[str, str]], Agent]
    """Makes an agent from its rules and from the variables of this process.

    Raises `ConfigurationError` where the rules do not fit the kind. Nothing is started, and nothing
    is looked for: that is what `work` is for.
    """
    command: tuple[str, ...] = ()
    """What is started where the configuration names no command; the first word is the program."""
    credentials: tuple[str, ...] = ()
    """Variables of which it usually needs one."""
    logins: tuple[str, ...] | None = None
    """Where in the home it has its log-in and its settings; None: it may be any program."""
    hosts: tuple[str, ...] = ()
    """Where its service is, as `host:port`: what it can reach where `network` is a list."""
    extra: str | None = None
    """The extra of this package that has to be installed for it."""
    modules: tuple[str, ...] = ()
    """What has to be importable for it."""
    examine: Callable[[AgentRules, Mapping[str, str]], ProbeResult | None] | None = None
    """Asks the service behind an agent, before it is probed, whether it is spoken to rightly."""


_KINDS = "planbound.agents.kinds"


def make_agents(configuration: Configuration, root: str) -> dict[str, Agent]:
    """Return the agents that can be given a step in a workspace, by name."""
    from planbound.workspace.environment import agent_variables  # noqa: PLC0415 - start-up

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


def logins_of(name: str) -> tuple[str, ...]:
    """Return where agents of a kind have their log-in; where it may be any agent, of all kinds."""
    kind = find_kind(name)
    if kind is not None and kind.logins is not None:
        return kind.logins
    return tuple(dict.fromkeys(path for each in all_kinds() for path in each.logins or ()))


def shown_of(rules: AgentRules) -> tuple[str, ...]:
    """Return what an agent is shown of the home that no other is: its log-in, and what is named."""
    login = logins_of(rules.kind) if rules.home is Home.PASS else ()
    return (*(f"~/{name}" for name in login), *rules.shown)


def destinations(rules: AgentRules) -> tuple[Destination, ...] | None:
    """Return all that an agent can connect to: its service and what is named; None: no list.

    Where a `base_url` is named, that is its service.
    """
    if rules.hosts is None:
        return None
    from planbound.cells.egress import parse_destination  # noqa: PLC0415 - start-up

    kind = find_kind(rules.kind)
    own = () if kind is None else kind.hosts
    if rules.base_url is not None:
        own = _host_of(rules.base_url)
    return tuple(dict.fromkeys(parse_destination(text) for text in (*own, *rules.hosts)))


def _host_of(url: str) -> tuple[str, ...]:
    from urllib.parse import urlsplit  # noqa: PLC0415 - start-up

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        return ()  # told by who connects
    return () if host is None else (f"[{host}]:{port}" if ":" in host else f"{host}:{port}",)


def all_kinds() -> Iterator[Kind]:
    """Yield every kind that there is."""
    for name in _own_names():
        kind = find_kind(name)
        assert kind is not None
        yield kind
    yield from _offered()


def kind_names() -> list[str]:
    return [*_own_names(), *(kind.name for kind in _offered())]


def _own_names() -> list[str]:
    import pkgutil  # noqa: PLC0415 - start-up

    from planbound.agents import kinds  # noqa: PLC0415 - start-up

    return sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


def _offered() -> Iterator[Kind]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - most kinds are ours

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
