"""What the harness makes of the lines of the client."""

from __future__ import annotations

import enum
import json
import sys
from decimal import Decimal
from typing import Any, NamedTuple

from planbound.agents.agent import Usage
from planbound.agents.cli import Tokens, Transcript
from planbound.agents.output import dollars, find_sign, number, text
from planbound.cells.cell import Outcome
from planbound.plan.model import Stream

# -- the lines that the client prints, and that the transcript reads -----------------------------


KEY = "acp"
"""The field of a line that says what it tells of."""


def tell(what: str, /, **fields: object) -> None:
    """Print a line. What cannot be said in JSON is said in words."""
    line = json.dumps({KEY: what, **fields}, default=str)
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# -- what the harness makes of the lines of the client -------------------------------------------


_STOPS = {
    "max_tokens": "max-tokens: the model reached the limit of its answer",
    "max_turn_requests": "max-turns: the agent asked the model as often as it may in a turn",
    "refusal": "invalid-request: the agent refuses to go on",
    "cancelled": "the agent says that its turn was cancelled",
}
_NAMES = {
    "authentication": "authentication",
    "version": "unsupported-version",
    "start": "not-executable",
    "request": "invalid-request",
    "model": "model-not-found",
    "crashed": "crashed",
}
_VERBS = {
    "read": "reads",
    "edit": "edits",
    "delete": "deletes",
    "move": "moves",
    "search": "searches",
    "execute": "runs",
    "fetch": "fetches",
}
_STEPS = {"completed": "done", "in_progress": "begun", "pending": "open"}
_LAST_LINES = 40
_LONGEST_SESSION = 500


class AcpTranscript(Transcript):
    """What an agent has told so far, over its client."""

    goes_on = False
    """Whether the session is the one of the attempt before."""
    is_prompted = False
    cost_before: Decimal | None = None
    """What the session had cost when it was loaded, where the agent said so."""
    cost: Decimal | None = None
    """What it has cost at last."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._message: list[str] = []
        self._stop: str | None = None
        self._crash: str | None = None
        self._last_note: dict[str, str] = {}
        self._errors: list[str] = []

    def event(self, event: dict[str, Any]) -> None:
        """Take a line of the client."""
        match event.get(KEY):
            case "session":
                self.session = text(event.get("id"))[:_LONGEST_SESSION] or None
                self.goes_on = event.get("goes_on") is True
            case "prompted":
                self.is_prompted = True
            case "said":
                if event.get("begins") is True:
                    self._finish()
                self._message.append(text(event.get("text")))
            case "tool":
                self._tool(event)
            case "plan":
                self._plan(event.get("entries"))
            case "permission":
                self._permission(event)
            case "context" | "call" | "usage":
                self._count(event)
            case "log":
                self.note(text(event.get("text")))
            case "stopped":
                self._stop = text(event.get("reason"))
                self.error = _STOPS.get(self._stop)
            case "error":
                self._trouble(text(event.get("kind")), text(event.get("message")))

    def line(self, stream: Stream, line: str) -> None:
        """Keep the end of what the agent complains of."""
        if stream is Stream.STDERR:
            self._errors = [*self._errors[1 - _LAST_LINES :], line]

    def end(self, outcome: Outcome) -> None:  # noqa: ARG002 - the client told all
        """Finish the last message, and find out why an agent ended that did not say it."""
        self._finish()
        if self._crash is not None:
            # Its last words may say more than that it is gone: then they decide.
            if find_sign(self._errors) is not None:
                self.error = self._crash
                return
            words = [line.strip() for line in self._errors if "rror" in line]
            self.error = f"crashed: {self._crash}" + (f": {words[-1]}" if words else "")

    def used(self, before: Usage) -> Usage:
        """Return what this attempt used alone; `before`: what its session had used already.

        A cost is of the whole session by the protocol; an agent that counts each process anew is
        known by naming less than before. Tokens should be of the session, too, and are of the turn
        with all agents that were tried, so the configuration has to say where it is otherwise.
        """
        usage = self.tokens.usage(self.call.rules.price)
        if not self.goes_on:
            return usage
        tokens, spent = usage.tokens, usage.dollars
        of_session = self.call.rules.options.get("usage") == "session"
        if tokens is not None and of_session:
            tokens = max(0, tokens - (before.tokens or 0))
        if spent is not None and (of_session or self.cost is not None):
            told = None if self.cost is None else self.cost_before
            earlier = (before.dollars or Decimal(0)) if told is None else told
            spent -= earlier if spent >= earlier else 0
        return Usage(tokens, spent)

    @property
    def is_worth_going_on(self) -> bool:
        """Whether the session knows what was said: a refusal makes the agent forget it."""
        return self.is_prompted and (self.has_begun or self.goes_on) and self._stop != "refusal"

    # -- pieces --------------------------------------------------------------------------------

    def _finish(self) -> None:
        self.say("".join(self._message))
        self._message.clear()

    def _tool(self, event: dict[str, Any]) -> None:
        name = text(event.get("id"))
        told = _doing(event)
        if event.get("status") == "failed":
            told = f"{told or self._last_note.get(name, 'a tool')} failed"
        if told and self._last_note.get(name) != told:
            self._last_note[name] = told
            self.note(told)

    def _plan(self, entries: object) -> None:
        listed = entries if isinstance(entries, list) else []
        found = [entry for entry in listed if isinstance(entry, list) and len(entry) == 2]
        self.plan = tuple(
            f"{_STEPS.get(text(status), text(status))}: {' '.join(text(content).split())}"
            for status, content in found
        )
        if begun := [step for step in self.plan if step.startswith("begun")]:
            self.note(f"plans: {begun[0].partition(': ')[2]}")

    def _permission(self, event: dict[str, Any]) -> None:
        what = _doing(event) or "do something"
        why = text(event.get("why"))
        told = f"asks for permission: {what}: {'allowed' if not why else f'refused, {why}'}"
        self.note(told)
        self._finish()
        self.say(f"[{told}]")

    def _count(self, event: dict[str, Any]) -> None:
        """Take a count of the turn, of one call of the model, or of what the model has before it.

        Each of them is less than the whole with some agents: the largest counts.
        """
        told = self.tokens
        if event[KEY] != "context":
            given, produced, cached, total = (
                number(event.get(name)) for name in ("input", "output", "cached", "total")
            )
            # Some count what was cached beside the input, and all count it in the total.
            given = max(given, total - produced)
            if event[KEY] == "call":
                given, produced = given + (told.input or 0), produced + (told.output or 0)
                cached += told.cached
            total = max(given + produced, told.total or 0)
            self.tokens = Tokens(given, produced, cached, total, told.dollars)
            return
        cost = dollars(event.get("cost")) if event.get("currency") == "USD" else None
        if not self.is_prompted:
            self.cost_before = cost
            return
        self.cost = cost if cost is not None else self.cost
        total = max(number(event.get("used")), told.total or 0)
        self.tokens = told._replace(total=total, dollars=self.cost)

    def _trouble(self, kind: str, message: str) -> None:
        program = self.call.rules.command[0]
        said = f"`{program}`: {message}"
        if kind == "crashed":
            self._crash = said
        else:
            self.error = f"{_NAMES[kind]}: {said}" if kind in _NAMES else message


def _doing(event: dict[str, Any]) -> str:
    """Return what a tool does, in a few words."""
    kind, title = text(event.get("kind")), text(event.get("title"))
    paths = event.get("paths")
    place = text(paths[0]) if isinstance(paths, list) and paths else ""
    if kind == "execute":
        place = text(event.get("command")) or title
    if kind in _VERBS and place:
        return f"{_VERBS[kind]} {place}"
    return title


# -- what agents tell about the tokens that they use: in the protocol's own fields or beside them


_METER_NAMES = {
    "total": ("totalTokens", "total_tokens"),
    "input": ("inputTokens", "input_tokens"),
    "output": ("outputTokens", "output_tokens"),
    "cached": ("cachedReadTokens", "cached_tokens"),
}


def turn_usage(ended: Any) -> dict[str, int] | None:
    """Return what a turn used, by the answer to its prompt; None where it does not say."""
    if ended.usage is not None:
        return _counts(ended.usage.model_dump(by_alias=True))
    # Gemini CLI.
    quota = _inner(ended.field_meta, "quota")
    return _counts(_inner(quota, "token_count"))


def call_usage(update: Any) -> dict[str, int] | None:
    """Return what one call of the model used; None where an update does not say."""
    # Qwen Code.
    return _counts(_inner(update.field_meta, "usage"))


def _inner(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _counts(given: object) -> dict[str, int] | None:
    if not isinstance(given, dict):
        return None
    found = {}
    for name, spellings in _METER_NAMES.items():
        value = next((given[each] for each in spellings if each in given), None)
        if isinstance(value, int):
            found[name] = value
    return found or None


# -- what the client in the cell is told: one object of JSON on its standard input ---------------


class Permissions(enum.Enum):
    """How the requests of an agent for permission are answered."""

    POLICY = "policy"
    """What stays in the workspace is allowed, and what names a place elsewhere is refused."""
    ALLOW = "allow"
    REJECT = "reject"


class Job(NamedTuple):
    """One turn of an agent."""

    command: tuple[str, ...]
    """The agent; the first word is the path of its program."""
    prompt: str
    """What it is told in a new session."""
    follow_up: str = ""
    """What it is told in the session that is gone on with."""
    session: str | None = None
    """The session to go on with, where the agent can."""
    model: str | None = None
    mode: str | None = None
    """The agent's name for the mode that it works in; None: its usual one."""
    authentication: str | None = None
    """The agent's name for the way to log in that is chosen; None: it is logged in already."""
    permissions: Permissions = Permissions.POLICY
    protected: tuple[str, ...] = ()
    """What in the workspace is not written to, seen from there."""
    commands: tuple[str, ...] | None = None
    """The programs that may be called; None: any."""

    def to_json(self) -> bytes:
        """Return it for the client's standard input."""
        fields = {**self._asdict(), "permissions": self.permissions.value}
        return json.dumps(fields).encode("ascii")


def read_job(text: bytes) -> Job:
    """Return a job as `to_json` wrote it."""
    fields = json.loads(text)
    return Job(
        **{
            **fields,
            "command": tuple(fields["command"]),
            "protected": tuple(fields["protected"]),
            "commands": None if fields["commands"] is None else tuple(fields["commands"]),
            "permissions": Permissions(fields["permissions"]),
        }
    )
