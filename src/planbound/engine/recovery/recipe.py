"""Recipes: how each kind of failure is answered."""

from __future__ import annotations

import enum
from typing import NamedTuple

from planbound.engine.recovery.failure import FailureClass


class Action(enum.Enum):
    """What a recipe does."""

    RETRY = "retry"
    RESTORE = "restore"
    """Before a retry: put back what the attempt must not have changed."""
    WARN = "warn"
    """With a retry: tell the agent what it did wrong."""
    ESCALATE = "escalate"
    ABORT = "abort"
    ASK = "ask"
    """Stop until a person has configured what is missing."""


class Recipe(NamedTuple):
    """The answer to some classes of failure, or to outputs that hold a pattern."""

    name: str
    classes: frozenset[FailureClass]
    patterns: tuple[str, ...] = ()
    """Regular expressions; a failure with a line that one is found in is this recipe's."""
    actions: tuple[Action, ...] = (Action.RETRY,)
    backoff: tuple[float, ...] = ()
    """Seconds to wait before each retry; the last one also counts for all that follow."""
    max: int | None = None
    """How many retries; None: as many as the step's `on_fail` says."""
    escalate: bool = True
    """Whether a person is asked when the retries are used up; else the plan fails."""
    question: str = ""
    """What a person is asked in words of the project's own, in front of what went wrong."""

    @property
    def retries(self) -> bool:
        """Whether it tries again at all."""
        return Action.RETRY in self.actions


def _recipe(
    kind: FailureClass,
    *actions: Action,
    backoff: tuple[float, ...] = (),
    max: int | None = 0,  # noqa: A002 - the key of the configuration
) -> Recipe:
    return Recipe(kind.value, frozenset((kind,)), (), actions, backoff, max)


DEFAULT_RECIPES: tuple[Recipe, ...] = (
    _recipe(FailureClass.TRANSIENT, Action.RETRY, backoff=(5.0, 30.0, 300.0), max=2),
    _recipe(FailureClass.PERMISSION, Action.ASK),
    _recipe(FailureClass.INVALID_INPUT, Action.ESCALATE),
    _recipe(FailureClass.AGENT, Action.WARN, Action.RETRY, max=2),
    _recipe(FailureClass.LOGIC, Action.RETRY, max=None),
    _recipe(FailureClass.HUNG, Action.WARN, Action.RETRY, max=None),
    _recipe(FailureClass.FLOODED, Action.WARN, Action.RETRY, max=1),
    _recipe(FailureClass.TAMPERED, Action.RESTORE, Action.WARN, Action.RETRY, max=1),
    _recipe(FailureClass.OUT_OF_SCOPE, Action.RESTORE, Action.WARN, Action.RETRY, max=None),
    _recipe(FailureClass.UNRUNNABLE, Action.ESCALATE),
    _recipe(FailureClass.VACUOUS, Action.ESCALATE),
    _recipe(FailureClass.FLAKY, Action.ESCALATE),
    _recipe(FailureClass.UNRECOVERABLE, Action.ESCALATE),
    _recipe(FailureClass.BLOCKED, Action.ESCALATE),
    _recipe(FailureClass.BUDGET, Action.ESCALATE),
    _recipe(FailureClass.WORKSPACE_MISMATCH, Action.ESCALATE),
    _recipe(FailureClass.DESTRUCTIVE, Action.ESCALATE),
    _recipe(FailureClass.UNKNOWN, Action.ESCALATE),
)
"""One for each class; a configuration changes them by name, and puts its own in front."""
