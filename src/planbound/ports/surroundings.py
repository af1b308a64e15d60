"""What static verification wants to know about the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # hooks verify nothing
    from planbound.verify.facts import Facts, Questions, SyntaxFault


class Surroundings(Protocol):
    """The world around a plan, read and never changed."""

    def answer(self, questions: Questions) -> Facts:
        """Return what is known about what was asked."""


class ShellSyntax(Protocol):
    """The shell's own opinion of a command that it does not run."""

    def faults(self, commands: Sequence[str]) -> Mapping[str, SyntaxFault]:
        """Return the commands that do not parse, with what is wrong."""
