"""Which plan an agent in the loop works on: never a guess."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from planbound.engine.fold import fold
from planbound.engine.loop.owner import TOOLS
from planbound.engine.loop.state import INCOMPLETE, LoopState
from planbound.errors import BindingError, PlanboundError, Refused
from planbound.journal.event import EventKind
from planbound.plan.model import PlanStatus
from planbound.plan.parse import parse
from planbound.plan.slug import UNNAMED, file_name
from planbound.ports.files import PlanFile, Shelf, Workspace
from planbound.ports.journal import Journal, Query
from planbound.usecases.resolve import resolve_active_plan

if TYPE_CHECKING:
    from planbound.engine.loop.orientation import Choice
    from planbound.usecases.loop.desk import LoopDesk
    from planbound.usecases.overview import PlanLine

MOST_PLANS = 150
"""So many plans are read for a session that is bound to none: it waits for that."""
_NO_PLAN = "there is no plan yet: `plan_create(objective, steps, postconditions)`"
_UNDER_WAY = {PlanStatus.APPROVED, PlanStatus.IN_PROGRESS}


class Sight(Protocol):
    """All that it takes to tell; hooks have no more, since they are asked at every call."""

    @property
    def session(self) -> str:
        """Return the session's name."""

    @property
    def name(self) -> str | None:
        """Return the plan that the session is bound to by name."""

    @property
    def workspace(self) -> Workspace:
        """Return the plans of the workspace."""

    @property
    def journal(self) -> Journal:
        """Return the journal."""


class Made(NamedTuple):
    """A plan that agents made by the tools, and where it is."""

    file: PlanFile
    state: LoopState


def bound_plan(desk: Sight, *, ended: bool = False) -> PlanFile | None:
    """Return the plan of a session; None where there is none; raise where it cannot be told.

    That is the plan that is named, else the one that the worktree's marker names, else the one
    that agents made here and that is not at its end, the session's own before others, else an
    approved `PLAN.md`. What ended as incomplete is owed still, unless there is something newer.
    With `ended` also a plan of this session that is at its end.
    """
    if desk.name is not None or desk.workspace.marker() is not None:
        binding = resolve_active_plan(desk.name, desk.workspace)
        return binding.plan if binding is not None else None
    made = list(_made_by_tools(desk))
    found = _only([each for each in made if each.state.is_open], desk.session)
    if found is None:
        found = _unnamed(desk)
    if found is None:
        left = [each for each in made if each.state.outcome == INCOMPLETE]
        own = [each for each in left if each.state.session == desk.session]
        found = own[-1].file if own else left[0].file if len(left) == 1 else None
    if found is None and ended:
        mine = [each.file for each in made if each.state.session == desk.session]
        found = mine[-1] if mine else None
    return found


def _only(made: list[Made], session: str) -> PlanFile | None:
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


def _unnamed(desk: Sight) -> PlanFile | None:
    """Return `PLAN.md` where it was approved and is not at its end, whatever it says since."""
    folded = fold(desk.journal.read(Query(plan=UNNAMED))).get(UNNAMED)
    if folded is None or folded.archived:
        return None
    state = state_of(desk, UNNAMED)
    if state.outcome is not None:
        return None
    owed = folded.standing in _UNDER_WAY or state.was_changed or state.approved is not None
    if not owed:
        return None
    gone = file_name(UNNAMED) not in desk.workspace.names(Shelf.ACTIVE)
    if gone and not state.is_owed:
        return None
    return desk.workspace.planned_path(UNNAMED)


def is_absent(desk: Sight) -> bool:
    """Say whether the session is bound by name to a plan that is still to be written."""
    if desk.name is None:
        return False
    return file_name(desk.workspace.planned_path(desk.name).slug) not in desk.workspace.names(
        Shelf.ACTIVE
    )


def unbound(desk: LoopDesk) -> Refused:
    """Return what a session is told that is bound to no plan: which there are, and who binds."""
    from planbound.engine.loop.orientation import OWN, offer  # noqa: PLC0415 - seldom needed
    from planbound.usecases.overview import glimpse  # noqa: PLC0415

    lines, more = glimpse(desk.workspace, desk.files, lambda: desk.journal, MOST_PLANS)
    if not more and all(_is_finished(line) for line in lines):
        return Refused(_NO_PLAN)
    message, _, hint = offer(choices(lines), more).partition(". ")
    return Refused(message[0].lower() + message[1:], hint=f"{hint}\n{OWN}")


def choices(lines: Sequence[PlanLine]) -> list[Choice]:
    """Return plans as what a session could be bound to, those at their end last."""
    from planbound.engine.loop.orientation import Choice  # noqa: PLC0415 - start-up

    return [
        Choice(
            line.file.slug,
            line.status.value if line.status else "cannot be read",
            line.steps,
            line.done,
        )
        for line in sorted(lines, key=_is_finished)
    ]


def _is_finished(line: PlanLine) -> bool:
    return line.status is not None and line.status.is_finished


def state_of(desk: Sight, slug: str) -> LoopState:
    """Return where a plan is."""
    state = LoopState()
    state.apply_all(desk.journal.read(Query(plan=slug)))
    return state


def see_plans(desk: LoopDesk) -> None:
    """Note the plans that were written by hand, so that an agent cannot make them its own.

    Whatever their mark says: an agent may have written it.
    """
    for file in desk.workspace.plans():
        last = list(desk.journal.read(Query(plan=file.slug, last=1)))
        if last and last[0].draft.event is not EventKind.PLAN_ARCHIVED:
            continue
        with suppress(PlanboundError):  # whoever works with it is told what is wrong with it
            plan = parse(desk.files.read(file.path), path=file.shown)
            if plan.source.text.strip():
                desk.recorder.first_seen(file.slug, plan, path=desk.relative(file.path))


def _made_by_tools(desk: Sight) -> Iterator[Made]:
    slugs: dict[str, bool] = {}
    kinds = (EventKind.PLAN_CREATED, EventKind.PLAN_ARCHIVED)
    for record in desk.journal.read(Query(events=kinds)):
        slug, made = record.draft.plan, record.draft.event is EventKind.PLAN_CREATED
        slugs.pop(slug, None)  # so that the newest is the last
        slugs[slug] = made and record.draft.details.get("origin") == TOOLS
    active = set(desk.workspace.names(Shelf.ACTIVE))
    for slug, made in slugs.items():
        if not made:
            continue
        state = state_of(desk, slug)
        if file_name(slug) in active or state.is_owed:
            yield Made(desk.workspace.planned_path(slug), state)
