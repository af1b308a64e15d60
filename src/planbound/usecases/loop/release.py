"""A person, never an agent, ends what an agent owes to a plan."""

from __future__ import annotations

from planbound.engine.loop.state import INCOMPLETE, LoopState
from planbound.errors import NothingToDo
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.usecases.answer import Person
from planbound.usecases.record import Recorder


def refuse_idle(slug: str, state: LoopState) -> None:
    """Raise NothingToDo where no agent in the loop can owe anything to a plan."""
    if state.outcome not in {None, INCOMPLETE}:
        raise NothingToDo(f"nobody owes anything to `{slug}`: it ended as {state.outcome}")
    if not state.is_known:
        raise NothingToDo(f"no agent works on `{slug}` by itself, so there is nothing to end")


def release(recorder: Recorder, slug: str, state: LoopState, person: Person, reason: str) -> None:
    """Put on record who lets the agent go, and why; what is not done stays not done."""
    refuse_idle(slug, state)
    details: dict[str, Json] = {"by": person.name, "method": person.method, "reason": reason}
    if state.session is not None:
        details["session"] = state.session
    recorder.record(EventKind.SESSION_RELEASED, slug, details)
