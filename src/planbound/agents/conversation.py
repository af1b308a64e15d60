"""A talk with an agent about the workspace: it reads, it answers, and nothing that it writes stays.

For drafting and reviewing plans. The work of a step is another matter: see `run/attempt.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.agents.agent import Agent, Assignment, Dispatch, Usage, Worked
from planbound.agents.control import (
    AgentWatch,
    ControlledCell,
    Protected,
    StopSignal,
    agent_request,
)
from planbound.cells.cell import Cell, CommandEnding, HostView, Outcome
from planbound.cells.egress import Traffic
from planbound.errors import CellProblem, Refused
from planbound.source import fenced

if TYPE_CHECKING:
    from planbound.journal.redact import Redactor
    from planbound.workspace.state_home import AgentHomes


_MOST_TOKENS = 2_000_000
_LONGEST_END = 600


class TalkPlace(NamedTuple):
    """Where an agent talks: a copy of the workspace, and a home for as long as the talk is."""

    cell: Cell
    copy: str
    shown_at: str
    """The path of the workspace, at which the copy appears where a cell has mounts."""
    homes: AgentHomes
    masked: tuple[str, ...]
    exposed: tuple[str, ...]
    view: HostView
    seconds: float
    """For each answer."""
    max_cost: Decimal | None
    """For the whole talk."""


class Conversation:
    """A talk with one agent; what it says is a proposal and decides nothing.

    What was said before is known to it: an agent that forgets between two calls is told again.
    """

    def __init__(
        self,
        agent: Agent,
        place: TalkPlace,
        *,
        redactor: Redactor | None = None,
        note: Callable[[str], None] = lambda text: None,  # noqa: ARG005 - nobody looks
    ) -> None:
        self.agent = agent
        self.place = place
        self.redactor = redactor
        """Takes secrets out of what the agent said, before it is told that again."""
        self.note = note
        self.control = StopSignal()
        self.traffic: list[Traffic] = []
        """What was sent where, and refused, where the agent has a list of hosts."""
        self._said: list[tuple[str, str]] = []
        self._session: str | None = None
        self._session_usage = Usage()
        self._spent = Usage(0, Decimal(0))

    @property
    def name(self) -> str:
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
        place = self.place
        return Assignment(
            prompt=self._whole(text),
            workspace=place.shown_at,
            attempt=len(self._said) + 1,
            seconds=place.seconds,
            launch=self._launch,
            follow_up=text,
            session=self._session,
            session_usage=self._session_usage,
            home=partial(place.homes.of, os.path.basename(place.copy)),
            spend=self._over,
            stopped=self.control.stopped,
            limit=Usage(_MOST_TOKENS, place.max_cost),
            note=self.note,
        )

    def _whole(self, text: str) -> str:
        """Return all that was said, for an agent that remembers nothing."""
        if not self._said:
            return text
        parts = []
        for asked, answered in self._said:
            clean = self.redactor.redact(answered).text if self.redactor is not None else answered
            parts += [asked, f"You answered:\n\n{fenced(clean)}"]
        return "\n\n".join([*parts, text])

    def _launch(self, dispatch: Dispatch) -> Outcome:
        place = self.place
        cell = ControlledCell(place.cell, self.control, place.shown_at)
        nothing = Protected((), ())
        # What it leaves there says where it looks for its settings.
        kept = dispatch.kept_home or place.homes.of(os.path.basename(place.copy))
        request = agent_request(
            dispatch._replace(kept_home=kept),
            place.copy,
            nothing,
            place.masked,
            place.exposed,
            place.view,
        )
        watch = AgentWatch(self.control, dispatch.hear, self._over)
        try:
            outcome = cell.run(request, watch)
            self.traffic += outcome.traffic
            return outcome
        finally:
            watch.finish()

    def _over(self, usage: Usage) -> str | None:
        most = self.place.max_cost
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
    """Return what an agent failed of; None where it ended without an error."""
    outcome = worked.outcome
    if outcome.ending is not CommandEnding.EXITED:
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
