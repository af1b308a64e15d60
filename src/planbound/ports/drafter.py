"""Who writes plans and comments on them: a model, by whatever agent it is reached."""

from __future__ import annotations

from typing import Protocol


class Drafter(Protocol):
    """Somebody to talk with; what it says is a proposal and decides nothing."""

    @property
    def name(self) -> str:
        """Return how the configuration calls the agent."""

    def ask(self, text: str) -> str:
        """Say something in one conversation and return the answer in words.

        What was said before is known to it: an agent that forgets between two calls is told again.
        Raise `Refused` with a hint where the agent failed.
        """
