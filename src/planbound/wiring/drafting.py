"""Puts the parts together for talking with an agent about the workspace."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial

from planbound.engine.agents import seats_of
from planbound.engine.configuration import Configuration
from planbound.errors import Refused
from planbound.shell.cell.copies import WorkspaceCopies
from planbound.usecases.conversation import Conversation, Room
from planbound.wiring.agents import make_agents
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.wiring.sweeping import talk_at, talk_name
from planbound.workspace.homes import FolderHomes

_SECONDS = 600.0


@contextlib.contextmanager
def open_drafter(
    parts: Parts,
    role: str,
    note: Callable[[str], None] = lambda text: None,  # noqa: ARG005
) -> Iterator[Conversation]:
    """Yield a talk with the agent of a role; raise Refused where there is none."""
    configuration = parts.configuration
    name = find_agent(configuration, role)
    agent = make_agents(configuration, parts.root).get(name or "")
    if agent is None:
        raise Refused(
            f"no agent is configured for `{role}`",
            hint=f"name one in planbound.toml, such as `[agents.{role}]`, `kind = "
            '"model"`, `model = "anthropic:claude-sonnet-4-5"`; `planbound agents` lists what there'
            " is",
        )
    rules = configuration.agents[agent.name]
    bench = make_bench(parts)
    folder = parts.state.folder
    copies = WorkspaceCopies(os.path.join(folder, "copies"))
    homes = FolderHomes(os.path.join(folder, "homes"))
    name = talk_name()
    copy = copies.make(bench.tree.root, name)
    with talk_at(copies, homes, copy):
        yield Conversation(
            agent,
            Room(
                cell=bench.cell,
                copy=copy,
                shown_at=bench.tree.root,
                home=partial(homes.of, name),
                masked=bench.masked,
                exposed=bench.exposed,
                seconds=rules.seconds or _SECONDS,
                max_cost=rules.max_cost,
                note=note,
                clean=lambda text: parts.redactor.redact(text).text,
            ),
        )


def find_agent(configuration: Configuration, role: str) -> str | None:
    """Return who is asked in a role; None where nobody can be."""
    agents = configuration.agents
    able = [name for name, rules in agents.items() if rules.command or rules.kind != "command"]
    for name in seats_of(role, agents, configuration.seats):
        if name in able:
            return name
    if configuration.run.agent in able:
        return configuration.run.agent
    models = [name for name in able if agents[name].kind == "model"]
    return next(iter(models or (able if len(able) == 1 else [])), None)
