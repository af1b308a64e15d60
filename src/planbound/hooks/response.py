"""Answers the moments of a host's session, by the one gate that all surfaces share."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, assert_never

from planbound.errors import BindingError, JournalProblem, PlanboundError
from planbound.hooks import tally
from planbound.hooks.answer import NOTHING, Answer, also_said, context, deny, go_on, said
from planbound.hooks.event import Event, Host, Moment
from planbound.hooks.place import Place, find_place, is_own_child

if TYPE_CHECKING:
    from planbound.engine.loop.finalization import Accept
    from planbound.usecases.loop.loop import Loop
    from planbound.usecases.loop.work import Work
    from planbound.wiring.glance import Seen


# Not at every call of a tool: these are answered as fast as can be.
_REMINDED = frozenset({Moment.SESSION_START, Moment.USER_PROMPT_SUBMIT, Moment.STOP})


def respond(moment: Moment, event: Event, *, workspace: str | None, state: str | None) -> Answer:
    """Return the answer to an event; raises nothing that could be told."""
    if is_own_child(os.environ):
        return NOTHING
    about_agent = moment is Moment.SUBAGENT_STOP or (moment is Moment.STOP and event.agent)
    try:
        place = find_place(event, workspace, state, agent_only=bool(about_agent))
    except PlanboundError as error:
        return without_gate(moment, event, state, _said(error))
    if place is None or (_is_stop(moment) and event.running and event.problem is None):
        return NOTHING
    try:
        answer = _answered(moment, event, place)
    except Exception as error:  # noqa: BLE001 - however a journal fails, nothing can be told
        return without_gate(moment, event, place.state, _said(error))
    return also_said(answer, _reminders(place)) if moment in _REMINDED else answer


def _reminders(place: Place) -> list[str]:
    """Return what people are told of approvals that are waited for too long."""
    from planbound.wiring.parts import Parts  # noqa: PLC0415 - start-up

    with contextlib.suppress(Exception):  # what the hook is for does not wait for it
        parts = Parts(workspace=place.workspace, state=place.given_state)
        if parts.configuration.gate.remind is not None:
            from planbound.wiring.reminding import remind_waiting, still_waits  # noqa: PLC0415

            return [f"Planbound: {still_waits(slug)}" for slug in remind_waiting(parts)]
    return []


def _answered(moment: Moment, event: Event, place: Place) -> Answer:
    os.chdir(place.folder)
    if moment is Moment.SESSION_START:
        return _told(moment, event, _oriented(place, event))
    # A look is often enough: all that an agent does waits for these answers.
    seen = _glance(place, event)
    if seen is None:
        return NOTHING
    match moment:
        case Moment.PRE_TOOL_USE:
            return _guarded(seen, event, place)
        case Moment.USER_PROMPT_SUBMIT:
            return _told(moment, event, _reminder(seen))
        case Moment.STOP | Moment.SUBAGENT_STOP:
            return _stop(_open(place, event), event, place)
        case _:
            assert_never(moment)


def _oriented(place: Place, event: Event) -> str | None:
    """Return the session's plan; which ones there are where it has none, or that cannot be told."""
    from planbound.wiring.glance import plans_here  # noqa: PLC0415 - start-up

    where = {"workspace": place.workspace, "state": place.given_state}
    try:
        if _glance(place, event) is None:
            return plans_here(**where)
    except BindingError as error:
        offered = plans_here(**where)
        why = f"Planbound cannot tell which plan is yours: {_said(error)}"
        return f"{why}\n\n{offered}" if offered else why
    return _open(place, event).orientation()


def _is_stop(moment: Moment) -> bool:
    return moment in {Moment.STOP, Moment.SUBAGENT_STOP}


def _glance(place: Place, event: Event) -> Seen | None:
    from planbound.wiring.glance import glance  # noqa: PLC0415 - start-up

    return glance(workspace=place.workspace, state=place.given_state, session=event.key)


def unheard(host: Host | None, why: str) -> Event:
    """Return what stands for an event that was never read."""
    session = f"unread:{os.getppid()}"
    return Event(host or Host.CLAUDE, session, None, "", (), "", {}, None, problem=why)


def _open(place: Place, event: Event) -> Loop:
    from planbound.wiring.loop import open_loop  # noqa: PLC0415 - start-up

    return open_loop(
        workspace=place.workspace,
        state=place.given_state,
        session=event.key,
        name=os.environ.get("PLANBOUND_PLAN") or None,
    )


def _stop(loop: Loop, event: Event, place: Place) -> Answer:
    from planbound.engine.loop.finalization import (  # noqa: PLC0415 - start-up
        Accept,
        Capped,
        Reject,
        Silent,
    )

    found: Accept | Reject | Capped | Silent
    try:
        trouble = event.problem
        found = loop.broken(trouble) if trouble is not None else loop.check(event.text)
    except JournalProblem as error:  # asked again, it would only wait again
        return without_gate(Moment.STOP, event, place.state, _said(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the agent is not let go unseen
        try:
            found = loop.broken(_said(error))
        except Exception as worse:  # noqa: BLE001 - the journal is out of reach
            return without_gate(Moment.STOP, event, place.state, _said(worse))
    tally.forget(event.key, tally.places(place.state, os.environ))
    match found:
        case Reject():
            return go_on(event.host, found.message)
        case Capped():
            return said(f"Planbound: {_not_done(found.message)}")
        case Accept():
            return said(_accepted(found))
        case Silent():
            return NOTHING
        case _:
            assert_never(found)


def _accepted(found: Accept) -> str:
    text = f"Planbound: the plan is {found.outcome}."
    if found.claimed:
        text += f" Only claimed, not proved: {'; '.join(found.claimed)}."
    if found.holds:
        text += f" Holds, and is not proved: {'; '.join(found.holds)}."
    if found.preconditions:
        text += f" Of the start: {'; '.join(found.preconditions)}."
    if found.blocked:
        text += f" Blocked: {'; '.join(found.blocked)}."
    return text


def _not_done(message: str) -> str:
    return message if "NOT DONE" in message else f"NOT DONE: {message}"


def _told(moment: Moment, event: Event, text: str | None) -> Answer:
    return context(event.host, moment, text) if text and text.strip() else NOTHING


def _reminder(seen: Seen) -> str | None:
    from planbound.engine.loop.state import INCOMPLETE  # noqa: PLC0415 - start-up

    if seen.state.outcome not in {None, INCOMPLETE}:
        return None
    return (
        f'The plan `{seen.file.slug}` is open. `plan_show(only="open")` shows what is missing; '
        "the harness says when it is done, not you."
    )


def _guarded(seen: Seen, event: Event, place: Place) -> Answer:
    from planbound.hooks.kept import kept_in  # noqa: PLC0415 - start-up
    from planbound.usecases.loop.guarding import (  # noqa: PLC0415
        denied,
        frozen_judges,
        unapproved,
    )

    def work() -> Work:
        from planbound.usecases.loop.work import Work  # noqa: PLC0415 - seldom needed

        return Work(_open(place, event).desk, seen.file)

    def find() -> list[str]:
        return frozen_judges(work())

    kept = kept_in(os.path.join(place.state, "hooks") if place.state else None)
    reason = denied(
        seen.state,
        event.tool,
        event.arguments,
        root=place.root,
        judges=lambda key: kept(key, find),
    ) or unapproved(seen.state, event.tool, event.arguments, root=place.root, work=work)
    return deny(event.host, f"Planbound: {reason}") if reason else NOTHING


def _always_denied(event: Event) -> str | None:
    from planbound.engine.loop.guard import denial  # noqa: PLC0415 - start-up

    return denial(event.tool, event.arguments, ())


def without_gate(moment: Moment, event: Event, state: str | None, why: str) -> Answer:
    """Answer where there is no gate to ask: hold the agent up a few times, then say NOT DONE."""
    match moment:
        case Moment.SESSION_START:
            return context(event.host, moment, f"Planbound cannot tell which plan is yours: {why}")
        case Moment.USER_PROMPT_SUBMIT:
            return NOTHING
        case Moment.PRE_TOOL_USE:
            reason = None
            with contextlib.suppress(Exception):
                reason = _always_denied(event)
            return deny(event.host, f"Planbound: {reason}") if reason else NOTHING
        case Moment.STOP | Moment.SUBAGENT_STOP:
            return _held(event, state, why)
        case _:
            assert_never(moment)


def _held(event: Event, state: str | None, why: str) -> Answer:
    often = tally.count(event.key, tally.places(state, os.environ))
    if often is None or often > tally.BOUND:
        return said(
            f"Planbound: NOT DONE: the gate does not work, so nothing is proved ({why}). "
            "`planbound doctor` tells more."
        )
    return go_on(
        event.host,
        f"Planbound's gate does not work, so nobody can tell whether the plan is done: {why}\n"
        "Tell the person so; do not say that the work is done. "
        f"This holds you up {tally.BOUND - often} more times at most.",
    )


def _said(error: BaseException) -> str:
    if isinstance(error, PlanboundError):
        return f"{error.message} (hint: {error.hint})" if error.hint else error.message
    return f"{type(error).__name__}: {error}"
