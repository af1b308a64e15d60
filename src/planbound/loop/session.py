"""A session: what the tools and the gate of one agent hold on to."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from planbound.engine.loop.checks import compile_check
from planbound.engine.loop.finalization import Accept, Decision, Silent
from planbound.engine.loop.instructions import INSTRUCTIONS
from planbound.engine.loop.state import INCOMPLETE, RELEASED
from planbound.errors import PlanboundError, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.loop.arguments import read_arguments
from planbound.ports.journal import Query
from planbound.usecases.loop.binding import bound_plan, state_of
from planbound.usecases.loop.desk import Probe
from planbound.usecases.loop.loop import Loop
from planbound.usecases.loop.told import Told
from planbound.wiring.loop import open_loop

Verifier = Callable[..., str | bool | None]
"""A verifier of one's own: None or True where it is so, else False or what is found instead."""
TOOLS = (
    "plan_create",
    "plan_show",
    "step_update",
    "postcondition_verify",
    "postcondition_block",
    "plan_amend",
    "plan_request_approval",
    "plan_finish",
    "plan_status",
    "plan_log",
)
_NOT_DONE = frozenset({INCOMPLETE, RELEASED})


def open_session(
    workspace: str | None = None,
    session: str | None = None,
    plan: str | None = None,
    verifiers: Mapping[str, Verifier] | None = None,
) -> Session:
    """Open a session of one agent on a workspace.

    Args:
        workspace: The folder that the agent works in; without it, the nearest workspace.
        session: A name that is the same after a restart; without it, a new one.
        plan: The name of the plan that the session is bound to; without it, the one that agents
            made here and that is not at its end, or else the one that the agent makes.
        verifiers: Verifiers of one's own, by the name that a `check` calls them with.

    Raises:
        PlanboundError: The workspace cannot be used.
    """
    loop = open_loop(
        workspace=workspace,
        session=session or f"python-{secrets.token_hex(4)}",
        name=plan,
        probes=dict(_probes(verifiers or {})),
    )
    with suppress(PlanboundError):  # the first call tries again, and says what is wrong
        loop.look_around()
    return Session(loop)


class Session:
    """One agent at work on one workspace; calls from several threads come one after the other."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """Return the session's name."""
        return self._loop.session

    def call(self, tool: str, /, **arguments: object) -> Told:
        """Call a plan tool by its name; whatever is wrong with the call is an answer."""
        if tool not in TOOLS:
            return Told(ok=False, text=f"there is no tool `{tool}`; there are {', '.join(TOOLS)}")
        try:
            given = read_arguments(arguments)
            with self._turn:
                told: Told = getattr(self._loop, tool)(**given)
        except PlanboundError as error:
            text = f"{error.message}. {error.hint}" if error.hint else error.message
            return Told(ok=False, text=text, data={"error": error.message, "hint": error.hint})
        except Exception as error:  # noqa: BLE001 - an agent mends its call; a loop does not die
            what = f"{type(error).__name__}: {error}".replace("Loop.", "")
            return Told(ok=False, text=f"`{tool}` could not be called so: {what}")
        return told

    def check(self, final_text: str, *, waiting: str | None = None) -> Decision | Silent:
        """Decide about the agent's last word, also about an empty one; see `FinalizationGate`."""
        with self._turn:
            try:
                decision = self._loop.check(final_text, waiting=waiting)
            except PlanboundError as error:
                # Raises again where not even the plan can be told: that is nobody's `done` either.
                return self._loop.broken(error.message)
            if isinstance(decision, Silent) and waiting is None:
                return self._accepted() or decision
            return decision

    def orientation(self) -> str | None:
        """Return what an agent has to know that begins, or begins anew; None without a plan."""
        with self._turn:
            return self._loop.orientation()

    def _accepted(self) -> Accept | None:
        """Return how the plan was accepted, if it was: asking again does not undo that."""
        desk = self._loop.desk
        file = bound_plan(desk, ended=True)
        if file is None or (outcome := state_of(desk, file.slug).outcome) in {None, *_NOT_DONE}:
            return None
        kinds = (EventKind.FINALIZATION_ACCEPTED,)
        found = desk.journal.read(Query(plan=file.slug, events=kinds, last=1))
        details = next((record.draft.details for record in found), {})
        claimed, blocked = _texts(details.get("claimed")), _texts(details.get("blocked"))
        holds, start = _texts(details.get("holds")), _texts(details.get("preconditions"))
        return Accept(str(outcome), claimed, blocked, holds, start)


def instructions(session: Session | None = None) -> str:
    """Return how an agent is to work with the plan tools, for the system prompt of your own loop.

    It is what MCP and the skill tell, and holds before there is a plan, too.

    Args:
        session: With a session that has a plan, also where that plan is.
    """
    plan = session.orientation() if session is not None else None
    return f"{INSTRUCTIONS}\n{plan}\n" if plan else INSTRUCTIONS


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _probes(verifiers: Mapping[str, Verifier]) -> Iterator[tuple[str, Probe]]:
    for name, verifier in verifiers.items():
        if not name.isidentifier():
            raise UsageError(f"a verifier cannot be called `{name}`", hint="give it a plain name")
        try:
            taken = compile_check({name: {}}).probe is None
        except UsageError:
            taken = True  # it is one of ours, and complains about its arguments
        if taken:
            raise UsageError(f"there is a verifier `{name}` already", hint="give it another name")
        yield name, _probe(name, verifier)


def _probe(name: str, verifier: Verifier) -> Probe:
    def look(**arguments: object) -> str | None:
        found: object = verifier(**arguments)
        if found is None or found is True:
            return None
        if found is False:
            return f"`{name}` does not hold"
        if isinstance(found, str):
            return found or f"`{name}` does not hold"
        # Such as a coroutine that nobody waits for: whatever it would say, it was not looked.
        return f"`{name}` answered with a {type(found).__name__}, not with None, a bool or a text"

    return look
