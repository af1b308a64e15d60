"""What a kind of agent is: a value that its file, or another package, offers.

Another package registers one by an entry point of the group `planbound.agents`:

    [project.entry-points."planbound.agents"]
    mine = "my_package.agent:KIND"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from planbound.engine.agents import AgentRules
from planbound.ports.agent import Agent

if TYPE_CHECKING:
    from planbound.usecases.probe import Finding

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
    extra: str | None = None
    """The extra of this package that has to be installed for it."""
    modules: tuple[str, ...] = ()
    """What has to be importable for it."""
    examine: Callable[[AgentRules, Mapping[str, str]], Finding | None] | None = None
    """Asks the service behind an agent, before it is probed, whether it is spoken to rightly."""
