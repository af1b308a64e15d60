"""The kinds of failure that recipes answer, and what it was that failed."""

from __future__ import annotations

import enum


class FailureClass(enum.Enum):
    """What kind of failure it is."""

    TRANSIENT = "transient"
    """It may go by itself: a network, a service, a lock, memory."""
    PERMISSION = "permission"
    """Somebody has to allow it or to configure a credential."""
    INVALID_INPUT = "invalid-input"
    """The agent, or the service behind it, refuses what it was given."""
    AGENT = "agent"
    """The agent's own program broke down, or what it talks to its model with."""
    LOGIC = "logic"
    """The contract ran and failed."""
    UNRECOVERABLE = "unrecoverable"
    """No further attempt can help: a full disk, a broken repository."""
    BLOCKED = "blocked"
    """The agent said twice that it is blocked, and did nothing."""
    HUNG = "hung"
    """Ran past its time limit."""
    FLOODED = "flooded"
    """Printed more than anybody could read."""
    BUDGET = "budget"
    """A limit of what may be spent is reached."""
    WORKSPACE_MISMATCH = "workspace-mismatch"
    """The workspace is not the one that the run left."""
    DESTRUCTIVE = "destructive"
    """The agent destroyed commits, refs, stashes, the index, or most of the files; all is back."""
    TAMPERED = "tampered"
    OUT_OF_SCOPE = "out-of-scope"
    UNRUNNABLE = "unrunnable"
    """The contract or the agent could not be started."""
    VACUOUS = "vacuous"
    FLAKY = "flaky"
    UNKNOWN = "unknown"
    """Nobody knows what the agent failed of."""


class Failed(enum.Enum):
    """What it was that failed."""

    AGENT = "agent"
    TIME_LIMIT = "time limit"
    CONTRACT = "contract"


def trouble_words(failed: object, error: str, exit_code: object) -> str:
    """Return what failed and of what, as people read it; empty where it is the contract.

    Of a contract its verdict tells more.
    """
    if failed == Failed.TIME_LIMIT.value:
        return f"time limit: {error}"
    if failed != Failed.AGENT.value:
        return ""
    how = f" (exit {exit_code})" if exit_code else ""
    return f"agent failed{how}" + (f": {error}" if error != ended_with(exit_code) else "")


def ended_with(exit_code: object) -> str:
    """Return how an agent ended that said nothing about it."""
    return f"the agent ended with {exit_code}"
