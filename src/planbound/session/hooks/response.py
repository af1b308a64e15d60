"""Answers the moments of a host's session, by the one gate that all surfaces share."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

from planbound.errors import BindingError, JournalProblem, PlanboundError
from planbound.session.hooks.event import (
    NOTHING,
    Answer,
    HookCall,
    HookMoment,
    HookWorkspace,
    Host,
    also_said,
    context,
    deny,
    find_place,
    go_on,
    is_own_child,
    said,
    session_at,
)

if TYPE_CHECKING:
    from planbound.session.context import BoundPlan
    from planbound.session.decide import Accept, Capped, Reject, Silent
    from planbound.session.tools import PlanTools


# -- how often a session was held up by a gate that did not work, where no journal can say it ----


BOUND = 3
"""So often is an agent held up by a gate that cannot tell anything."""


def count(session: str, places: list[str]) -> int | None:
    """Add one; return how often it is now, None where nothing can be written anywhere."""
    for place in places:
        with contextlib.suppress(OSError):
            return _grow(_path(place, session))
    return None


def forget(session: str, places: list[str]) -> None:
    """Begin anew: the gate works again."""
    for place in places:
        with contextlib.suppress(OSError):
            os.unlink(_path(place, session))


def places(state: str | None, environment: Mapping[str, str]) -> list[str]:
    """Return the folders that may hold it, the best one first."""
    found = [os.path.join(state, "hooks")] if state else []
    home = environment.get("HOME") or os.path.expanduser("~")
    states = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    temporary = environment.get("TMPDIR") or "/tmp"  # noqa: S108 - looked at before it is used
    return [
        *found,
        os.path.join(states, "planbound", "hooks"),
        os.path.join(temporary, f"planbound-hooks-{os.geteuid()}"),
    ]


def _path(place: str, session: str) -> str:
    name = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(place, f"{name}.tally")


def _grow(path: str) -> int:
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    # Somebody else's folder in a place for all could hold a file that never grows.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b".")
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


# -- answers the moments of a host's session, by the one gate that all surfaces share ------------


# Not at every call of a tool: these are answered as fast as can be.
_REMINDED = frozenset({HookMoment.SESSION_START, HookMoment.USER_PROMPT_SUBMIT, HookMoment.STOP})


def respond(
    moment: HookMoment, event: HookCall, *, workspace: str | None, state: str | None
) -> Answer:
    """Return the answer to an event; raises nothing that could be told."""
    if is_own_child(os.environ):
        return NOTHING
    about_agent = moment is HookMoment.SUBAGENT_STOP or (moment is HookMoment.STOP and event.agent)
    try:
        place = find_place(event, workspace, state, agent_only=bool(about_agent))
    except PlanboundError as error:
        return without_gate(moment, event, state, _said(error))
    if place is None:
        return NOTHING
    try:
        answer = _answered(moment, event, place)
    except Exception as error:  # noqa: BLE001 - however a journal fails, nothing can be told
        return without_gate(moment, event, place.state, _said(error))
    return also_said(answer, _reminders(place)) if moment in _REMINDED else answer


def _reminders(place: HookWorkspace) -> list[str]:
    """Return what people are told of approvals that are waited for too long."""
    from planbound.workspace.context import Context  # noqa: PLC0415 - start-up

    with contextlib.suppress(Exception):  # what the hook is for does not wait for it
        context = Context(workspace=place.workspace, state=place.given_state)
        if context.configuration.gate.remind is not None:
            from planbound.approval.remind import remind_waiting, still_waits  # noqa: PLC0415 - few want it

            return [f"Planbound: {still_waits(slug)}" for slug in remind_waiting(context)]
    return []


def _answered(moment: HookMoment, event: HookCall, place: HookWorkspace) -> Answer:
    os.chdir(place.folder)
    if moment is HookMoment.SESSION_START:
        return _as_context(moment, event, _oriented(place, event))
    # A look is often enough: all that an agent does waits for these answers.
    seen = _plan_of(place, event)
    if seen is None:
        return NOTHING
    match moment:
        case HookMoment.PRE_TOOL_USE:
            return _guarded(seen, event, place)
        case HookMoment.USER_PROMPT_SUBMIT:
            return _as_context(moment, event, _reminder(seen))
        case HookMoment.STOP | HookMoment.SUBAGENT_STOP:
            if _waits(seen, event, place):
                return NOTHING
            return _stop(_open(place, event), event, place)
        case _:
            assert_never(moment)


def _oriented(place: HookWorkspace, event: HookCall) -> str | None:
    """Return the session's plan; which ones there are where it has none, or that cannot be told."""
    from planbound.session.context import plans_here  # noqa: PLC0415 - start-up
    from planbound.session.view import orientation  # noqa: PLC0415 - start-up

    where = {"workspace": place.workspace, "state": place.given_state}
    try:
        bound = _plan_of(place, event)
    except BindingError as error:
        offered = plans_here(**where)
        why = f"Planbound cannot tell which plan is yours: {_said(error)}"
        return f"{why}\n\n{offered}" if offered else why
    if bound is None:
        return plans_here(**where)
    return orientation(session_at(place, event), bound)


def _plan_of(place: HookWorkspace, event: HookCall) -> BoundPlan | None:
    from planbound.session.context import session_plan  # noqa: PLC0415 - start-up

    return session_plan(workspace=place.workspace, state=place.given_state, session=event.key)


def unread_call(host: Host | None, why: str) -> HookCall:
    """Return what stands for an event that was never read."""
    session = f"unread:{os.getppid()}"
    return HookCall(host or Host.CLAUDE, session, None, "", (), "", {}, None, problem=why)


def _open(place: HookWorkspace, event: HookCall) -> PlanTools:
    from planbound.session.tools import open_tools  # noqa: PLC0415 - start-up

    return open_tools(
        workspace=place.workspace,
        state=place.given_state,
        session=event.key,
        name=os.environ.get("PLANBOUND_PLAN") or None,
    )


def _stop(loop: PlanTools, event: HookCall, place: HookWorkspace) -> Answer:
    from planbound.session.decide import Accept, Capped, Reject, Silent  # noqa: PLC0415 - start-up

    found: Accept | Reject | Capped | Silent
    try:
        trouble = event.problem
        found = loop.broken(trouble) if trouble is not None else _checked(loop, event)
    except JournalProblem as error:  # asked again, it would only wait again
        return without_gate(HookMoment.STOP, event, place.state, _said(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the agent is not let go unseen
        try:
            found = loop.broken(_said(error))
        except Exception as worse:  # noqa: BLE001 - the journal is out of reach
            return without_gate(HookMoment.STOP, event, place.state, _said(worse))
    forget(event.key, places(place.state, os.environ))
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


def _waits(seen: BoundPlan, event: HookCall, place: HookWorkspace) -> bool:
    """Say whether it is not asked yet, because something of its own still runs."""
    runs = _runs(event)
    # Where a person is asked first, the gate knows what is waited for.
    if runs is None or event.problem is not None or seen.state.asked:
        return False
    from planbound.session.context import defer  # noqa: PLC0415 - start-up

    found = defer(session_at(place, event), seen.file.slug, seen.state, runs)
    if found:
        forget(event.key, places(place.state, os.environ))
    return found


def _runs(event: HookCall) -> str | None:
    return f"in the background: {'; '.join(event.running)}" if event.running else None


def _checked(loop: PlanTools, event: HookCall) -> Accept | Reject | Capped | Silent:
    return loop.check(event.text, waiting=_runs(event))


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


def _as_context(moment: HookMoment, event: HookCall, text: str | None) -> Answer:
    return context(event.host, moment, text) if text and text.strip() else NOTHING


def _reminder(seen: BoundPlan) -> str | None:
    if seen.state.is_over:
        return None
    return (
        f'The plan `{seen.file.slug}` is open. `plan_show(only="open")` shows what is missing; '
        "the harness says when it is done, not you."
    )


def _guarded(seen: BoundPlan, event: HookCall, place: HookWorkspace) -> Answer:
    from planbound.session.hooks.tool_call import refused_call  # noqa: PLC0415 - start-up

    reason = refused_call(seen, event, place)
    return deny(event.host, f"Planbound: {reason}") if reason else NOTHING


def _always_denied(event: HookCall) -> str | None:
    from planbound.session.guard import denial  # noqa: PLC0415 - start-up

    return denial(event.call, ())


def without_gate(moment: HookMoment, event: HookCall, state: str | None, why: str) -> Answer:
    """Answer where there is no gate to ask: hold the agent up a few times, then say NOT DONE."""
    match moment:
        case HookMoment.SESSION_START:
            return context(event.host, moment, f"Planbound cannot tell which plan is yours: {why}")
        case HookMoment.USER_PROMPT_SUBMIT:
            return NOTHING
        case HookMoment.PRE_TOOL_USE:
            reason = None
            with contextlib.suppress(Exception):
                reason = _always_denied(event)
            return deny(event.host, f"Planbound: {reason}") if reason else NOTHING
        case HookMoment.STOP | HookMoment.SUBAGENT_STOP:
            return _held(event, state, why)
        case _:
            assert_never(moment)


def _held(event: HookCall, state: str | None, why: str) -> Answer:
    often = count(event.key, places(state, os.environ))
    if often is None or often > BOUND:
        return said(
            f"Planbound: NOT DONE: the gate does not work, so nothing is proved ({why}). "
            "`planbound doctor` tells more."
        )
    return go_on(
        event.host,
        f"Planbound's gate does not work, so nobody can tell whether the plan is done: {why}\n"
        "Tell the person so; do not say that the work is done. "
        f"This holds you up {BOUND - often} more times at most.",
    )


def _said(error: BaseException) -> str:
    if isinstance(error, PlanboundError):
        return f"{error.message} (hint: {error.hint})" if error.hint else error.message
    return f"{type(error).__name__}: {error}"
