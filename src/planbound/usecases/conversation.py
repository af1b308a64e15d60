"""A talk with an agent about the workspace: it reads, it answers, and nothing that it writes stays.

For drafting and reviewing plans. The work of a step is another matter: see `usecases.run`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.prompt import fenced
from planbound.errors import CellProblem, Refused
from planbound.ports.agent import Agent, Assignment, Dispatch, Usage, Worked
from planbound.ports.cell import Cell
from planbound.usecases.confine import Protected, agent_request
from planbound.usecases.run.control import Control, ControlledCell, Watch

_MOST_TOKENS = 2_000_000
_LONGEST_END = 600


class Room(NamedTuple):
    """Where an agent talks: a copy of the workspace, and a home for as long as the talk is."""

    cell: Cell
    copy: str
    shown_at: str
    """The path of the workspace, at which the copy appears where a cell has mounts."""
    home: Callable[[], str]
    masked: tuple[str, ...]
    exposed: tuple[str, ...]
    seconds: float
    """For each answer."""
    max_cost: Decimal | None
    """For the whole talk."""
    note: Callable[[str], None]
    clean: Callable[[str], str] = str
    """Takes secrets out of a text."""


class Conversation:
    """See `ports.drafter.Drafter`."""

    def __init__(self, agent: Agent, room: Room) -> None:
        self.agent = agent
        self.room = room
        self.control = Control()
        self._said: list[tuple[str, str]] = []
        self._session: str | None = None
        self._session_usage = Usage()
        self._spent = Usage(0, Decimal(0))

    @property
    def name(self) -> str:
        """Return how the configuration calls the agent."""
        return self.agent.name

    @property
    def spent(self) -> Usage:
        """Return what all answers together used, as far as that is known."""
        return self._spent

    def ask(self, text: str) -> str:
        """Say something, and return the answer in words; raise Refused where there is none."""
        worked = self.work(text)
        answer = _answer(worked)
        trouble = trouble_of(worked)
        if trouble is None and not answer:
            trouble = "it said nothing"
        if trouble is not None:
            raise Refused(f"`{self.name}` gave no answer: {trouble}", hint=_hint(worked))
        self._said.append((text, answer))
        return answer

    def work(self, text: str) -> Worked:
        """Say something, and return what came of it; raise Refused where nothing could start."""
        try:
            worked = self.agent.work(self._assignment(text))
        except CellProblem as problem:
            raise Refused(f"`{self.name}` cannot be started: {problem.message}") from problem
        self._count(worked)
        return worked

    def _assignment(self, text: str) -> Assignment:
        room = self.room
        return Assignment(
            prompt=self._whole(text),
            workspace=room.shown_at,
            attempt=len(self._said) + 1,
            seconds=room.seconds,
            launch=self._launch,
            follow_up=text,
            session=self._session,
            session_usage=self._session_usage,
            home=room.home,
            spend=self._over,
            stopped=self.control.stopped,
            limit=Usage(_MOST_TOKENS, room.max_cost),
            note=room.note,
        )

    def _whole(self, text: str) -> str:
        """Return all that was said, for an agent that remembers nothing."""
        if not self._said:
            return text
        parts = []
        for asked, answered in self._said:
            parts += [asked, f"You answered:\n\n{fenced(self.room.clean(answered))}"]
        return "\n\n".join([*parts, text])

    def _launch(self, dispatch: Dispatch) -> Outcome:
        room = self.room
        cell = ControlledCell(room.cell, self.control, room.shown_at)
        nothing = Protected((), ())
        request = agent_request(dispatch, room.copy, nothing, room.masked, room.exposed)
        watch = Watch(self.control, dispatch.hear, self._over)
        try:
            return cell.run(request, watch)
        finally:
            watch.finish()

    def _over(self, usage: Usage) -> str | None:
        most = self.room.max_cost
        dollars = (self._spent.dollars or Decimal(0)) + (usage.dollars or Decimal(0))
        if most is not None and dollars > most:
            return f"`max_cost` of ${most} is reached"
        tokens = (self._spent.tokens or 0) + (usage.tokens or 0)
        return f"{_MOST_TOKENS:,} tokens are used up" if tokens > _MOST_TOKENS else None

    def _count(self, worked: Worked) -> None:
        used = worked.usage
        tokens, dollars = used.tokens or 0, used.dollars or Decimal(0)
        self._spent = Usage(
            (self._spent.tokens or 0) + tokens, (self._spent.dollars or Decimal(0)) + dollars
        )
        if worked.session != self._session:
            self._session, self._session_usage = worked.session, Usage(0, Decimal(0))
        self._session_usage = Usage(
            (self._session_usage.tokens or 0) + tokens,
            (self._session_usage.dollars or Decimal(0)) + dollars,
        )


def _answer(worked: Worked) -> str:
    return (worked.outcome.stdout.text() if worked.said is None else worked.said).strip()


def trouble_of(worked: Worked) -> str | None:
    """Return what an agent failed of; None where it came to its end in peace."""
    outcome = worked.outcome
    if outcome.ending is not Ending.EXITED:
        return outcome.reason or outcome.ending.value
    if worked.error:
        return worked.error[:_LONGEST_END]
    if outcome.exit_code:
        end = (outcome.stderr.text().strip() or _answer(worked))[-_LONGEST_END:]
        return f"it ended with {outcome.exit_code}: {end}".rstrip(" :")
    return None


def _hint(worked: Worked) -> str:
    if worked.missing is not None:
        return f"set `{worked.missing}` in the environment"
    return "`planbound agents --probe` tries all agents"
