"""A look at the journal that costs little: for hooks, which are asked at every call of a tool."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from planbound.engine.loop.state import LoopState
from planbound.plan.slug import UNNAMED
from planbound.ports.files import PlanFile, Workspace
from planbound.ports.journal import Journal
from planbound.usecases.loop.binding import MOST_PLANS, bound_plan, choices, state_of
from planbound.wiring.parts import Parts


class Glance(NamedTuple):
    """What is needed to tell which plan is a session's."""

    session: str
    name: str | None
    workspace: Workspace
    journal: Journal


class Seen(NamedTuple):
    """A session's plan, and where it is."""

    file: PlanFile
    state: LoopState


def plans_here(*, workspace: str | None, state: str | None) -> str | None:
    """Return which plans a session without one could be bound to; None where none has a name."""
    from planbound.engine.loop.orientation import offer  # noqa: PLC0415 - start-up
    from planbound.usecases.overview import glimpse  # noqa: PLC0415
    from planbound.wiring.marking import notice_lines  # noqa: PLC0415

    parts = Parts(workspace=workspace, state=state)
    lines, more = glimpse(parts.tree, parts.reader, parts.existing_journal, MOST_PLANS)
    if all(line.file.slug == UNNAMED for line in lines):
        return None
    with suppress(Exception):  # what is told does not wait for what is written
        notice_lines(parts, lines)
    return offer(choices(lines), more)


def glance(*, workspace: str | None, state: str | None, session: str) -> Seen | None:
    """Return the plan of a session; None where there is none; raises as `open_loop` does."""
    parts = Parts(workspace=workspace, state=state)
    name = os.environ.get("PLANBOUND_PLAN") or None
    journal: Journal | None = parts.existing_journal()
    if journal is None:
        if name is None and parts.tree.marker() is None:
            return None
        journal = parts.journal()
    sight = Glance(session, name, parts.tree, journal)
    file = bound_plan(sight)
    return Seen(file, state_of(sight, file.slug)) if file is not None else None
