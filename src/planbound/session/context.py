"""One agent's session on a workspace: what it works with, and which plan is its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from planbound.disk.files import PlanFile, Shelf
from planbound.errors import BindingError, Refused
from planbound.journal.event import (
    EventKind,
    FinalizationDeferred,
    PlanCreated,
    SessionOutcome,
)
from planbound.journal.record import Journal, Query
from planbound.plan.model import PlanStatus
from planbound.plan.slug import UNNAMED, file_name
from planbound.state.owner import TOOLS
from planbound.state.plan import PlanState, known_plan
from planbound.state.session import LoopState
from planbound.workspace.context import Context
from planbound.workspace.locate import resolve_active_plan

if TYPE_CHECKING:
    from planbound.journal.leases import Leases
    from planbound.judging.context import JudgingContext
    from planbound.session.shown import PlanChoice
    from planbound.state.append import Recorder
    from planbound.workspace.overview import PlanLine
    from planbound.workspace.vault import Vault


# -- one agent's session on a workspace: who it is, and what it works with -----------------------


PLAN_VARIABLE = "PLANBOUND_PLAN"
"""Names the plan that a session is bound to."""

Probe = Callable[..., str | None]
"""Looks at something itself: returns None where it is so, else what is found instead."""


class SessionContext:
    """The workspace's context, and what is the session's own.

    Each part is made when it is first asked for: hooks are asked at every call of a tool.
    """

    def __init__(
        self,
        context: Context,
        session: str,
        plan: str | None,
        *,
        journal: Journal,
        probes: Mapping[str, Probe],
    ) -> None:
        self.context = context
        self.id = session
        self.bound_to = plan or os.environ.get(PLAN_VARIABLE) or None
        """The plan that the session is bound to by name; None: see `binding`."""
        self.journal = journal
        self.probes = probes
        self.patience = 10.0
        """How many seconds a call waits for another agent's call on the same plan."""

    @cached_property
    def recorder(self) -> Recorder:
        """What puts events into the journal."""
        return self.context.recorder(self.journal)

    @cached_property
    def leases(self) -> Leases:
        """The leases of the journal's plans."""
        return self.context.leases()

    @cached_property
    def vault(self) -> Vault:
        """What keeps frozen files and the texts of plans."""
        from planbound.workspace.vault import Vault  # noqa: PLC0415 - start-up

        return Vault(os.path.join(self.context.state.folder, "vault.sqlite"))

    @cached_property
    def judging(self) -> JudgingContext:
        """What is needed for judging."""
        from planbound.judging.context import judging_context  # noqa: PLC0415 - not every call

        return judging_context(self.context, beside_agent=True)


# -- which plan an agent in the loop works on: never a guess -------------------------------------


_SAID = 500
MOST_PLANS = 150
"""So many plans are read for a session that is bound to none: it waits for that."""
_NO_PLAN = "there is no plan yet: `plan_create(objective, steps, postconditions)`"
_UNDER_WAY = {PlanStatus.APPROVED, PlanStatus.IN_PROGRESS}


class BoundPlan(Struct, frozen=True):
    """A plan of a session, or of several, and where it is."""

    file: PlanFile
    known: PlanState

    @property
    def state(self) -> LoopState:
        """What the agent in the loop has come to."""
        return self.known.session


def bound_plan(session: SessionContext, *, ended: bool = False) -> PlanFile | None:
    """Return the plan of a session; None where there is none; raise where it cannot be told.

    That is the plan that is named, else the one that the worktree's marker names, else the one
    that agents made here and that is not at its end, the session's own before others, else an
    approved `PLAN.md`. What ended as incomplete is owed still, unless there is something newer.
    With `ended` also a plan of this session that is at its end.
    """
    if session.bound_to is not None or session.context.tree.marker() is not None:
        binding = resolve_active_plan(session.bound_to, session.context.tree)
        return binding.plan if binding is not None else None
    made = list(_made_by_tools(session))
    found = _only([each for each in made if each.state.is_open], session.id)
    if found is None:
        found = _unnamed(session)
    if found is None:
        left = [each for each in made if each.state.outcome is SessionOutcome.INCOMPLETE]
        own = [each for each in left if each.state.session == session.id]
        found = own[-1].file if own else left[0].file if len(left) == 1 else None
    if found is None and ended:
        mine = [each.file for each in made if each.state.session == session.id]
        found = mine[-1] if mine else None
    return found


def _only(made: list[BoundPlan], session: str) -> PlanFile | None:
    own = [each for each in made if each.state.session == session]
    if own:
        return own[-1].file
    if len(made) > 1:
        names = ", ".join(f"`{each.file.slug}`" for each in made)
        raise BindingError(
            f"agents are at work on {names} here, and this session is bound to none of them",
            hint="name one: `PLANBOUND_PLAN`, `--plan`, or `.harness/active-plan`",
        )
    return made[0].file if made else None


def _unnamed(session: SessionContext) -> PlanFile | None:
    """Return `PLAN.md` where it was approved and is not at its end, whatever it says since."""
    folded = known_plan(session.journal, UNNAMED)
    if folded.archived:
        return None
    state = folded.session
    if state.outcome is not None:
        return None
    owed = folded.decided_status in _UNDER_WAY or state.was_changed or state.approved is not None
    if not owed:
        return None
    gone = file_name(UNNAMED) not in session.context.tree.names(Shelf.ACTIVE)
    if gone and not state.is_owed:
        return None
    return session.context.tree.planned_path(UNNAMED)


def is_absent(session: SessionContext) -> bool:
    """Say whether the session is bound by name to a plan that is still to be written."""
    if session.bound_to is None:
        return False
    return file_name(
        session.context.tree.planned_path(session.bound_to).slug
    ) not in session.context.tree.names(Shelf.ACTIVE)


def unbound(session: SessionContext) -> Refused:
    """Return what a session is told that is bound to no plan: which there are, and who binds."""
    from planbound.session.shown import OWN, offer  # noqa: PLC0415 - seldom needed
    from planbound.workspace.overview import glimpse  # noqa: PLC0415 - seldom needed

    lines, more = glimpse(
        session.context.tree, session.context.files, lambda: session.journal, MOST_PLANS
    )
    if not more and all(_is_finished(line) for line in lines):
        return Refused(_NO_PLAN)
    message, _, hint = offer(choices(lines), more).partition(". ")
    return Refused(message[0].lower() + message[1:], hint=f"{hint}\n{OWN}")


def choices(lines: Sequence[PlanLine]) -> list[PlanChoice]:
    """Return plans as what a session could be bound to, those at their end last."""
    from planbound.session.shown import PlanChoice  # noqa: PLC0415 - start-up

    return [
        PlanChoice(line.file.slug, line.status, line.steps, line.done)
        for line in sorted(lines, key=_is_finished)
    ]


def _is_finished(line: PlanLine) -> bool:
    return line.status is not None and line.status.is_finished


def state_of(session: SessionContext, slug: str) -> LoopState:
    """Return where a plan is."""
    return known_plan(session.journal, slug).session


def _made_by_tools(session: SessionContext) -> Iterator[BoundPlan]:
    slugs: dict[str, bool] = {}
    kinds = (EventKind.PLAN_CREATED, EventKind.PLAN_ARCHIVED)
    for record in session.journal.read(Query(events=kinds)):
        slug, event = record.draft.plan, record.event
        slugs.pop(slug, None)  # so that the newest is the last
        slugs[slug] = isinstance(event, PlanCreated) and event.origin == TOOLS
    active = set(session.context.tree.names(Shelf.ACTIVE))
    for slug, made in slugs.items():
        if not made:
            continue
        known = known_plan(session.journal, slug)
        if file_name(slug) in active or known.session.is_owed:
            yield BoundPlan(session.context.tree.planned_path(slug), known)


def plans_here(*, workspace: str | None, state: str | None) -> str | None:
    """Return which plans a session without one could be bound to; None where none has a name."""
    from planbound.session.shown import offer  # noqa: PLC0415 - start-up
    from planbound.workspace.overview import (  # noqa: PLC0415 - start-up
        glimpse,
        notice_lines,
    )

    context = Context(workspace=workspace, state=state)
    lines, more = glimpse(context.tree, context.reader, context.existing_journal, MOST_PLANS)
    if all(line.file.slug == UNNAMED for line in lines):
        return None
    with suppress(Exception):  # what is told does not wait for what is written
        notice_lines(context, lines)
    return offer(choices(lines), more)


def session_plan(*, workspace: str | None, state: str | None, session: str) -> BoundPlan | None:
    """Return the plan of a session; None where there is none; raises as `open_tools` does."""
    context = Context(workspace=workspace, state=state)
    journal: Journal | None = context.existing_journal()
    if journal is None:
        if not os.environ.get(PLAN_VARIABLE) and context.tree.marker() is None:
            return None
        journal = context.journal()
    return plan_of(SessionContext(context, session, None, journal=journal, probes={}))


def plan_of(session: SessionContext) -> BoundPlan | None:
    """Return the plan of a session, and where it is; None and raises as `bound_plan` does."""
    file = bound_plan(session)
    return BoundPlan(file, known_plan(session.journal, file.slug)) if file is not None else None


def defer(session: SessionContext, slug: str, state: LoopState, runs: str) -> bool:
    """Put on record that an agent stops unasked, while something of its own runs; or say no."""
    from planbound.session.decide import line_of, may_wait  # noqa: PLC0415 - start-up

    if state.is_over or not may_wait(state, session.recorder.now()):
        return False
    event = FinalizationDeferred(
        waits_for=line_of(runs, _SAID), stops=state.deferred.stops + 1, session=session.id
    )
    # No lease is taken: it changes nothing that a call under way could be about.
    session.journal.append([session.recorder.draft(event, slug)])
    return True
