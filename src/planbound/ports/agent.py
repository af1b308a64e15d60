"""Who does the work of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import NamedTuple, Protocol

from planbound.engine.judging.outcome import Outcome
from planbound.ports.cell import Limits


class Usage(NamedTuple):
    """What an attempt used; None: nobody knows, which is not nothing."""

    tokens: int | None = None
    dollars: Decimal | None = None


class Dispatch(NamedTuple):
    """A command that does a step, and what it gets."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    limits: Limits = Limits(seconds=600.0)
    network: bool = True
    home: str | None = None
    """A home that is passed; None: an empty one."""
    stdin: bytes = b""
    exposed: tuple[str, ...] = ()
    """What it can read although it lies in a folder that a cell has of its own."""
    meter: Callable[[bytes], Usage | None] | None = None
    """Reads one line of output; returns what the attempt used so far, where the line says so."""


class Assignment(NamedTuple):
    """One attempt at one step, as the agent gets it."""

    prompt: str
    workspace: str
    """Where the agent finds the tree."""
    attempt: int
    seconds: float
    """How long it may take."""
    launch: Callable[[Dispatch], Outcome]
    """Runs a command in the agent's cell; everything that it started is dead when this returns."""


class Worked(NamedTuple):
    """What came of it, as far as the agent is concerned: it says nothing about the step."""

    outcome: Outcome
    usage: Usage = Usage()
    error: str | None = None
    """The kind of error that the agent reports of itself, such as `rate_limit`."""
    session: str | None = None


class Agent(Protocol):
    """Somebody who is given a step."""

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""

    def work(self, assignment: Assignment) -> Worked:
        """Do one attempt. Raise `CellProblem` where nothing could be started."""
