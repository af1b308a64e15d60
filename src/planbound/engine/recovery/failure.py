"""The kinds of failure that recipes answer."""

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
