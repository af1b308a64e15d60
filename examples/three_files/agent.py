"""A loop around a model, as anybody may have written one: no framework, and nothing of Planbound.

The model is a script: it yields what it says, and is sent what it is answered.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

CHARACTERS = 4
"""About so many characters are a token: no model is asked here, so it is an estimate."""


class Call(NamedTuple):
    """The model calls a tool."""

    tool: str
    arguments: dict[str, Any]


class Say(NamedTuple):
    """The model would end with these words."""

    text: str


Script = Generator[Call | Say, str, None]
Tool = Callable[..., str]


@dataclass
class Usage:
    """What a conversation costs."""

    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass
class Agent:
    """A scripted model with tools, in a conversation."""

    script: Script
    tools: dict[str, Tool]
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        described = "".join(
            f"{name}{inspect.signature(tool)}{tool.__doc__}" for name, tool in self.tools.items()
        )
        self._context = len(described)
        self._begun = False

    def turn(self, told: str | None) -> str:
        """Let the agent work until it would end; return its last message."""
        answer = told or "Verify that the three files exist, measure them, report the largest."
        while True:
            match self._ask(answer):
                case Say(text):
                    return text
                case Call(tool, arguments):
                    answer = self.tools[tool](**arguments)

    def _ask(self, told: str) -> Call | Say:
        """Ask the model once: it reads everything that was said so far."""
        self._context += len(told)
        self.usage.turns += 1
        self.usage.tokens_in += self._context // CHARACTERS
        reply = self.script.send(told) if self._begun else next(self.script)
        self._begun = True
        said = len(str(tuple(reply)))
        self._context += said
        self.usage.tokens_out += said // CHARACTERS
        return reply
