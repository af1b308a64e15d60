"""A session: what the tools and the gate of one agent hold on to."""

from __future__ import annotations

import inspect
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, Literal, NamedTuple

from planbound.errors import ExitCode, PlanboundError, UsageError
from planbound.journal.event import EventKind, FinalizationAccepted, SessionOutcome
from planbound.journal.record import Json, Query
from planbound.session.answers import Told
from planbound.session.context import Probe, bound_plan, state_of
from planbound.session.decide import Accept, Capped, Decision, LoopOutcome, Reject, Silent
from planbound.session.given import compile_check
from planbound.session.shown import INSTRUCTIONS
from planbound.session.tools import PlanTools, open_tools

# -- A session: what the tools and the gate of one agent hold on to ------------------------------


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
_ACCEPTED = {
    SessionOutcome.DONE: LoopOutcome.DONE,
    SessionOutcome.FINISHED_BLOCKED: LoopOutcome.FINISHED_BLOCKED,
}


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
    loop = open_tools(
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

    def __init__(self, loop: PlanTools) -> None:
        self._loop = loop
        self._turn = threading.Lock()

    @property
    def name(self) -> str:
        """Return the session's name."""
        return self._loop.session.id

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
            what = f"{type(error).__name__}: {error}".replace("PlanTools.", "")
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
        session = self._loop.session
        file = bound_plan(session, ended=True)
        ended = state_of(session, file.slug).outcome if file is not None else None
        outcome = _ACCEPTED.get(ended) if ended is not None else None
        if file is None or outcome is None:
            return None
        kinds = (EventKind.FINALIZATION_ACCEPTED,)
        found = session.journal.read(Query(plan=file.slug, events=kinds, last=1))
        event = next((record.event for record in found), None)
        if not isinstance(event, FinalizationAccepted):
            return Accept(outcome, (), (), (), ())
        claimed, blocked = event.claimed or (), event.blocked or ()
        holds, start = event.holds or (), event.preconditions or ()
        return Accept(outcome, claimed, blocked, holds, start)


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


class IncompletePlan(PlanboundError):  # noqa: N818 - named for what is left, as its siblings are
    """An agent ended, and its plan is not done; `missing` says what is left."""

    code = "incomplete"
    exit_code = ExitCode.FAILED

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class FinalizationGate:
    """Decides whether an agent may end."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def check(
        self, final_text: str | None, *, waiting: str | None = None
    ) -> Accept | Reject | Capped | Silent:
        """Decide about the agent's last word.

        Ask it before anything else, also for an empty last message and when a limit ends the loop.
        What has a contract is judged on the files as they are now, and the decision is on record.

        Args:
            final_text: The last message, as it is.
            waiting: Why nothing is to be decided now, such as tasks in the background.

        Returns:
            `Accept`: it may end, as `outcome` says. `Reject`: tell the agent `message`, and go on.
            `Capped`: it may end, and is not done. `Silent`: nothing is demanded of it.
        """
        return self.session.check(final_text or "", waiting=waiting)


def gate(session: Session) -> FinalizationGate:
    """Return the gate of a session."""
    return FinalizationGate(session)


class Ending(NamedTuple):
    """How a gated loop ended."""

    outcome: LoopOutcome
    """`done`, `finished with blocked items`, `incomplete`, or `undecided`."""
    text: str
    """The agent's last message."""
    turns: int
    decision: Accept | Reject | Capped | Silent

    @property
    def is_done(self) -> bool:
        """Whether everything is done, with nothing blocked."""
        return self.outcome == LoopOutcome.DONE

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what is left of an incomplete plan."""
        return self.decision.missing if isinstance(self.decision, Reject | Capped) else ()


def run_gated(
    turn: Callable[[str | None], str | None], gate: FinalizationGate, *, max_turns: int = 50
) -> Ending:
    """Let an agent have turns until the gate lets it end, or the turns are used up.

    Args:
        turn: Lets the agent work until it would end, and returns its last message. It is given
            None the first time, and then why the gate refused.
        gate: The gate of the agent's session.
        max_turns: So many turns at most; the plan is then incomplete, whatever the agent said.
    """
    count, refusal = 0, None
    while True:
        count += 1
        text = turn(refusal) or ""
        decision = gate.check(text)
        if not isinstance(decision, Reject) or count >= max_turns:
            return Ending(_outcome(decision), text, count, decision)
        refusal = decision.message


def _outcome(decision: Accept | Reject | Capped | Silent) -> LoopOutcome:
    match decision:
        case Accept():
            return decision.outcome
        case Reject() | Capped():
            return LoopOutcome.INCOMPLETE
        case Silent():
            return LoopOutcome.UNDECIDED


_TEXTS = frozenset({"objective", "status", "evidence", "notes", "reason", "summary"})
_LISTS = frozenset({"steps", "preconditions", "postconditions", "add", "remove"})


def read_arguments(given: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of a call; raise UsageError that names the one which is wrong."""
    found: dict[str, object] = {}
    for name, value in given.items():
        if value is None:
            continue  # models write null for what they leave out
        if name in _TEXTS and not isinstance(value, str):
            raise UsageError(f"`{name}` is no text")
        if name in _LISTS:
            found[name] = _items(name, value)
        elif name == "edit":
            table = _unwritten(value)
            if not isinstance(table, Mapping):
                raise UsageError("`edit` is an object: by the id or number of a step what it is")
            found[name] = {str(key): _unwritten(item) for key, item in table.items()}
        else:
            found[name] = value
    return found


def _items(name: str, value: object) -> list[object]:
    items = _unwritten(value)
    if not isinstance(items, list | tuple):
        raise UsageError(f"`{name}` is a list")
    if name == "remove":
        return [str(item) for item in items]
    return [_unwritten(item) for item in items]


def _unwritten(value: object) -> object:
    """Return a value; a list or an object that a model wrote as a text is one again."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return read if isinstance(read, dict | list) else value


# -- the plan tools as plain functions: frameworks make schemas of their types and docstrings ----


Item = str | dict[str, Any]
Status = Literal["pending", "in_progress", "done", "blocked"]


def tools(session: Session) -> list[Callable[..., str]]:
    """Return the plan tools of a session, for any loop.

    Each is a plain function with types and a docstring, and answers with a text for the model,
    also where the call is wrong.
    """
    found = _ToolFunctions(session)
    return [_plain(getattr(found, name)) for name in TOOLS]


class _ToolFunctions:
    """What each tool is for, as a model reads it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def plan_create(
        self,
        objective: str,
        steps: list[Item],
        postconditions: list[Item] | None = None,
        name: str | None = None,
        preconditions: list[Item] | None = None,
    ) -> str:
        """Write down the plan before you begin any task of more than one step.

        Give a step a contract or a check wherever one is possible: only those can be proved.
        Called again this rewrites the plan: what is proved and unchanged stays proved, dropped
        steps stay visible.

        Args:
            objective: What is to be reached, in a sentence.
            steps: The work in its order. Each is a title, or an object with `title` and, as
                needed, `task` (what is to be done, in full), `contract` (a shell command that
                exits with 0 exactly when this is really done), `expect` (more that must hold, such
                as `stdout contains "ok"`), `rejects` (wrong work that the contract must fail with:
                unified diffs, or paths of files with one), `touches` (patterns of the files that it
                may change), `depends` (numbers of the steps before it), and `check` instead of a
                contract (such as {"file_exists": {"path": "a.txt", "contains": "x"}}; others are
                command(cmd), http_ok(url), json_path(file, path, equals), git_committed(paths),
                tests_pass(selector)).
            postconditions: What must be true at the end, whatever was done. Each is a statement,
                or an object with `statement` and, as needed, `contract`, `expect` or `check`.
            name: A short name for the plan.
            preconditions: What must be true before the first step, in the same form: no step may
                begin while one of them does not hold.
        """
        return self._say("plan_create", locals())

    def plan_show(self, only: Literal["open", "all"] = "all") -> str:
        """Show the plan: `[ ]` open, `[.]` begun, `[x]` proved, `[=]` holds, `[~]` claimed.

        `[!]` is blocked; what holds is green now and was so before the work.
        Call it whenever you are not sure what is next.

        Args:
            only: `open` leaves out what is settled.
        """
        return self._say("plan_show", locals())

    def step_update(
        self,
        *,
        step: str | int | None = None,
        status: Status,
        evidence: str = "",
        notes: str = "",
        step_number: str | int | None = None,
    ) -> str:
        """Say where a step is: `in_progress` when you begin it, `done` when it is done.

        `done` makes the harness run the step's contract at once; the answer says whether it is
        proved, or holds (it was green before), or what failed. Then mend the work and call this
        again. `blocked` is for what is missing outside of the workspace, never for tests that fail;
        it demands the reason.

        Args:
            step: The step's number or id.
            status: Where it is now.
            evidence: For `done`, what you ran or looked at and what you saw, demanded where the
                step has no contract; for `blocked`, why.
            notes: Whatever helps later.
            step_number: The same as `step`; one of them is enough.
        """
        return self._say("step_update", locals())

    def postcondition_verify(
        self,
        *,
        postcondition: str | int | None = None,
        evidence: str = "",
        postcondition_number: str | int | None = None,
    ) -> str:
        """Have a postcondition judged when the steps are done.

        Where it has a contract the harness runs it; where it has none, evidence is demanded, and
        it counts as claimed.

        Args:
            postcondition: Its number.
            evidence: How it can be seen that it holds.
            postcondition_number: The same as `postcondition`; one of them is enough.
        """
        return self._say("postcondition_verify", locals())

    def postcondition_block(
        self,
        *,
        postcondition: str | int | None = None,
        reason: str,
        postcondition_number: str | int | None = None,
    ) -> str:
        """Say that a postcondition cannot be reached, and why.

        The plan then ends as `finished with blocked items`, never as `done`.

        Args:
            postcondition: Its number.
            reason: Why it cannot be reached.
            postcondition_number: The same as `postcondition`; one of them is enough.
        """
        return self._say("postcondition_block", locals())

    def plan_amend(
        self,
        reason: str,
        add: list[Item] | None = None,
        edit: dict[str, Item] | None = None,
        remove: list[str] | None = None,
    ) -> str:
        """Change some steps when the work shows that the plan was wrong.

        What is changed or dropped stays on record for ever.

        Args:
            reason: Why the plan has to be another one.
            add: Steps that are added at the end, as in `plan_create`.
            edit: By the number or id of a step, the step as it is to be.
            remove: Numbers or ids of steps that are dropped.
        """
        return self._say("plan_amend", locals())

    def plan_request_approval(self) -> str:
        """Ask a person to approve the plan, where a tool answers that it waits for that.

        You cannot approve it yourself: tell the person which command to run, and wait.
        """
        return self._say("plan_request_approval", locals())

    def plan_finish(self, summary: str) -> str:
        """Call this before you say that you are done.

        Where it refuses, the answer lists exactly what is missing and the calls that settle it: do
        the work, then call this again.

        Args:
            summary: What you would say as your last word.
        """
        return self._say("plan_finish", locals())

    def plan_status(self) -> str:
        """Say in a line where the plan is."""
        return self._say("plan_status", locals())

    def plan_log(self, last: int = 20) -> str:
        """Show the last events of the plan: what was judged when, and how it went.

        Args:
            last: How many events.
        """
        return self._say("plan_log", locals())

    def _say(self, tool: str, given: dict[str, object]) -> str:
        arguments = {name: value for name, value in given.items() if name != "self"}
        return self._session.call(tool, **arguments).text


def _plain(method: Callable[..., str]) -> Callable[..., str]:
    """Return a plain function of a method: some frameworks take nothing else."""
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: object, **arguments: object) -> str:
        # Models give names, people may leave them out, also where one of two names is enough.
        by_place = dict(zip(signature.parameters, args, strict=False))
        try:
            if len(args) > len(signature.parameters) or by_place.keys() & arguments.keys():
                signature.bind(*args, **arguments)
            signature.bind(**by_place, **arguments)
        except TypeError as error:
            return f"`{method.__name__}` was called wrongly: {error}"
        return method(**by_place, **arguments)

    del call.__wrapped__  # nobody is to find the method behind it
    call.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` looks for
    return call
