"""Why a change of a plan is refused."""

from __future__ import annotations

from planbound.plan.model import Step


class RevisionError(ValueError):
    """A change that cannot be made; `reason` says why, for the person who asked for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def name_of(step: Step) -> str:
    """Return how a person knows a step: `step 3`, or by its title where it has no number."""
    return f"step {step.label}" if step.label else f"step `{step.title or step.id}`"
