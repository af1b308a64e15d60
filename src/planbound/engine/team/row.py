"""Where the plans of a fleet are, and what the fleet says when it ends."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import ExitCode


class State(enum.Enum):
    """Where a plan of a fleet is, in the words of its table."""

    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"
    ASKING = "waits for you"
    FAILED = "failed"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    ELSEWHERE = "runs elsewhere"
    HELD = "held back"


class Row(NamedTuple):
    """What there is to say about one plan of a fleet."""

    plan: str
    state: State
    reason: str = ""
    """Why it is held back, failed, or waits."""
    proved: int = 0
    holds: int = 0
    attested: int = 0
    steps: int = 0
    current: str = ""
    """The step that is worked on."""
    seconds: float = 0.0
    """How long it was run by this fleet."""
    worktree: str | None = None
    branch: str | None = None
    exit_code: int | None = None
    log: str | None = None
    tail: tuple[str, ...] = ()
    """What it said last, where it did not end well."""
    needs_approval: bool = False


def exit_code_of(rows: Sequence[Row], *, started: bool, stopped: bool) -> ExitCode:
    """Return what a fleet says when it ends."""
    states = {row.state for row in rows}
    if stopped:
        return ExitCode.INTERRUPTED
    if states <= {State.DONE}:
        return ExitCode.DONE if started else ExitCode.NOTHING_TO_DO
    if states & {State.FAILED, State.REFUSED, State.INTERRUPTED}:
        return ExitCode.FAILED
    if State.ASKING in states or any(row.needs_approval for row in rows):
        return ExitCode.WAITING
    return ExitCode.FAILED
