"""Agents that are command lines of their own: what is the same for all of them.

A kind says which words its program takes (`CliKind`), and how its output is read (`Transcript`).
The rest is here: sessions that go on, what is counted, and how an attempt ends.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from planbound.agents.agent import Assignment, Usage, Worked
from planbound.agents.output import is_broken_off
from planbound.agents.program import Program, not_installed, put
from planbound.agents.signs import is_credential
from planbound.cells.cell import CommandEnding, Outcome
from planbound.errors import ConfigurationError
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules, Home, Price

_LONGEST_NOTE = 160
_BURST, _A_SECOND = 100.0, 20.0
"""So many lines at once are passed on, and so many a second."""


class PrintedLines:
    """Passes on what an agent prints, line by line, and not faster than somebody can follow."""

    def __init__(self, note: Callable[[str], None] = lambda text: None) -> None:  # noqa: ARG005 - nobody looks
        self._note = note
        self._room, self._since, self._left_out = _BURST, time.monotonic(), 0

    def add(self, line: str) -> None:
        # Of a bar that is drawn over and over, what stands at last; code keeps its indentation.
        text = line.rstrip().rpartition("\r")[2].expandtabs(4)[:_LONGEST_NOTE]
        if not text.strip():
            return
        now = time.monotonic()
        self._room = min(_BURST, self._room + (now - self._since) * _A_SECOND)
        self._since = now
        if self._room < 1:
            self._left_out += 1
            return
        self._room -= 1
        if self._left_out:
            self._note(f"[{self._left_out} lines are left out]")
            self._left_out = 0
        self._note(text)


_MILLION = Decimal(1_000_000)
_MOST_SAID = 200_000
_MOST_PLAIN, _LONGEST_PLAIN = 200, 2000
_DIGITS = Decimal("0.000001")


class CliCall(NamedTuple):
    """One start of the program."""

    rules: AgentRules
    prompt: str
    """What it is told: all, or what is new where a session goes on."""
    session: str | None
    """The session to go on with; None: a new one."""
    attempt: int
    workspace: str
    seconds: float
    fresh: str = ""
    """A name for a new session, which no other has."""
    home: str = ""
    """Where its home is, seen from here."""
    kept_home: str = ""
    """Where what it writes to its home is kept, but for its log-in where that is passed."""
    folder: str = ""
    """Where the files of the start are found, at the same path here and in the cell."""

    @property
    def credential(self) -> str | None:
        """Return the first variable with a credential that the configuration passes."""
        return next((name for name in self.rules.env if is_credential(name)), None)


class Start(NamedTuple):
    """How a call is made."""

    words: tuple[str, ...]
    """What follows the program and its first words."""
    environment: Mapping[str, str] = {}
    """Variables that the kind sets; one that the configuration passes wins."""
    stdin: bytes = b""
    files: Mapping[str, bytes] = {}
    """Files that it can read in the folder of the call; they are gone afterwards."""
    home_files: Mapping[str, bytes] = {}
    """Files that it finds in a home that is not the user's, where it made none of that name."""
    aliases: Mapping[str, str] = {}
    """Variables that get the value of another one, which the configuration passes."""


class Tokens(NamedTuple):
    """What was used so far; None: not said."""

    input: int | None = None
    """All of it, with what was cached."""
    output: int | None = None
    cached: int = 0
    total: int | None = None
    """Where only this is said."""
    dollars: Decimal | None = None

    def usage(self, price: Price | None) -> Usage:
        """Return it as it is counted; the cost by a price, where the agent names none."""
        parts = [part for part in (self.input, self.output) if part is not None]
        tokens = self.total if self.total is not None else (sum(parts) if parts else None)
        dollars = self.dollars
        if dollars is None and price is not None and parts:
            fresh = max(0, (self.input or 0) - self.cached)
            dollars = (
                price.input * fresh + price.cached * self.cached + price.output * (self.output or 0)
            ) / _MILLION
        return Usage(tokens, None if dollars is None else dollars.quantize(_DIGITS))


class Transcript:
    """What a program has told so far. A kind reads its lines in `event` or `line`."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        self.call = call
        self._note = note
        self.printed = PrintedLines()
        self.session: str | None = None
        self.tokens = Tokens()
        """Of this process alone, unless `is_cumulative`."""
        self.is_cumulative = False
        """Whether the tokens count all that the session ever used."""
        self.error: str | None = None
        """The kind of error that it ended with, as `agent_error` knows it, or its message."""
        self.plan: tuple[str, ...] = ()
        self.is_lost = False
        """Whether the session to go on with is not there any more."""
        self.has_begun = False
        """Whether the agent did or said something."""
        self._plain: list[str] = []
        self._said: list[str] = []
        self._length = 0

    def hear(self, stream: Stream, line: bytes) -> bool:
        """Take a line of output; say whether it told something new about what was used."""
        before = self.tokens
        if stream is Stream.STDOUT and line.lstrip()[:1] == b"{":
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                event = None
            if isinstance(event, dict):
                self.event(event)
                return self.tokens != before
        self.line(stream, line.decode("utf-8", "replace"))
        return self.tokens != before

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of the program's stream of JSON."""

    def line(self, stream: Stream, line: str) -> None:
        """Take a line that is none; those of stdout are its words where it has no others."""
        self.printed.add(line[:_LONGEST_PLAIN])
        if stream is Stream.STDOUT and len(self._plain) < _MOST_PLAIN:
            self._plain.append(line[:_LONGEST_PLAIN])

    def end(self, outcome: Outcome) -> None:
        """Look at how the program ended, where that tells more than what it printed."""

    def say(self, text: str) -> None:
        """Keep what the agent said in words."""
        if text.strip() and self._length < _MOST_SAID:
            self.has_begun = True
            self._said.append(text.strip())
            self.printed.add(text.strip().splitlines()[-1])
            self._length += len(text)

    def note(self, text: str) -> None:
        """Tell whoever looks on what the agent is doing."""
        self.has_begun = True
        self._note(" ".join(text.split())[:_LONGEST_NOTE])

    @property
    def said(self) -> str:
        """Return all that the agent said."""
        return "\n\n".join(self._said) if self._said else "\n".join(self._plain).strip()


class CliKind(Protocol):
    """How one kind of program is called and read; most files of `kinds/` have one."""

    @property
    def program(self) -> tuple[str, ...]:
        """Return the program and its first words, where the configuration names none."""

    def start(self, call: CliCall) -> Start:
        """Return how the program is started."""

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its output."""


class CliAgent:
    """An agent that is a command line of its own."""

    def __init__(self, rules: AgentRules, environment: Mapping[str, str], kind: CliKind) -> None:
        self.rules = rules
        self.kind = kind
        self.program = Program(rules, environment)

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""
        return self.rules.name

    def work(self, assignment: Assignment) -> Worked:
        """Start it in its cell, in the session of the attempt before where there is one."""
        if (trouble := self.program.trouble()) is not None:
            return trouble
        first = self.rules.command or self.kind.program
        path = self.program.find(first[0], assignment.workspace)
        if path is None:
            return not_installed(first[0])
        command = (path, *first[1:])
        if assignment.session is not None:
            worked, is_lost = self._called(assignment, command, assignment.session)
            if not is_lost:
                return worked
        return self._called(assignment, command, None)[0]

    def _called(
        self, assignment: Assignment, command: tuple[str, ...], session: str | None
    ) -> tuple[Worked, bool]:
        import tempfile  # noqa: PLC0415 - start-up

        with tempfile.TemporaryDirectory(prefix="planbound-agent-") as folder:
            return self._call(assignment, command, session, folder)

    def _call(
        self, assignment: Assignment, command: tuple[str, ...], session: str | None, folder: str
    ) -> tuple[Worked, bool]:
        """Start it once; also say whether the session to go on with is not there any more."""
        is_passed = self.rules.home is Home.PASS
        kept = assignment.home()
        home = self.program.environment.get("HOME", "") if is_passed else kept
        call = CliCall(
            rules=self.rules,
            prompt=assignment.prompt if session is None else assignment.follow_up,
            session=session,
            attempt=assignment.attempt,
            workspace=assignment.workspace,
            seconds=assignment.seconds,
            fresh=secrets.token_hex(8),
            home=home,
            kept_home=kept,
            folder=folder,
        )
        transcript = self.kind.transcript(call, assignment.note)
        transcript.printed = PrintedLines(assignment.printed)
        before = assignment.session_usage if session is not None else Usage()

        def used() -> Usage:
            usage = transcript.tokens.usage(self.rules.price)
            return _without(usage, before) if transcript.is_cumulative else usage

        def hear(stream: Stream, line: bytes) -> Usage | None:
            return used() if transcript.hear(stream, line) else None

        start = self.kind.start(call)
        for name, content in start.files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        dispatch = self.program.dispatch(
            assignment,
            (*command, *start.words),
            own={**start.environment, **self._aliases(start)},
            stdin=start.stdin,
            exposed=(folder,) if start.files else (),
            hear=hear,
        )
        dispatch = dispatch._replace(kept_home=kept)
        if not is_passed:
            for name, content in start.home_files.items():
                put(home, name, content)
        outcome = assignment.launch(dispatch)
        transcript.end(outcome)
        # A session in which the agent never came to a word has nothing to go on with.
        is_worth = transcript.has_begun or session is not None
        worked = Worked(
            outcome,
            usage=with_cut_off(used(), transcript, outcome),
            error=transcript.error,
            session=transcript.session if is_worth else None,
            # Never what it printed: that is a stream of events, and may hold the prompt.
            said=transcript.said,
            told=call.prompt,
            plan=transcript.plan,
        )
        return worked, session is not None and _is_lost(transcript, outcome)

    def _aliases(self, start: Start) -> dict[str, str]:
        given = self.program.environment
        return {name: given[other] for name, other in start.aliases.items() if given.get(other)}


def with_cut_off(usage: Usage, transcript: Transcript, outcome: Outcome) -> Usage:
    """Return what was used, with an estimate of the request that was cut off.

    Who is ended in the middle was waiting for its model, with all that was said so far; so was who
    reports that the connection broke.
    """
    if outcome.ending is CommandEnding.NOT_STARTED:
        return usage
    if outcome.ending is CommandEnding.EXITED and not is_broken_off(transcript.error):
        return usage
    price = transcript.call.rules.price
    said = len(transcript.call.prompt) + len(transcript.said)
    return usage.cut_off(said, None if price is None else price.input)


def _is_lost(transcript: Transcript, outcome: Outcome) -> bool:
    """Say whether a session was not found: then it failed, and was never said to go on."""
    if transcript.is_lost:
        return True
    failed = outcome.ending is CommandEnding.EXITED and outcome.exit_code != 0
    return failed and transcript.session is None


def _without(usage: Usage, before: Usage) -> Usage:
    """Return what was used since."""
    tokens, dollars = usage.tokens, usage.dollars
    if tokens is not None:
        tokens = max(0, tokens - (before.tokens or 0))
    if dollars is not None:
        dollars = max(Decimal(0), dollars - (before.dollars or Decimal(0)))
    return Usage(tokens, dollars)


def refuse_options(rules: AgentRules, *known: str) -> None:
    """Raise ConfigurationError where `options` says something that the kind does not know."""
    for name in rules.options:
        if name not in known:
            hint = f"it knows {', '.join(f'`{each}`' for each in known)}" if known else "remove it"
            raise ConfigurationError(
                f"`agents.{rules.name}.options.{name}` is nothing that `{rules.kind}` knows",
                hint=hint,
            )
