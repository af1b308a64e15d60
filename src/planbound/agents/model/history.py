"""The history of a session: written after everything that was paid for, found after a crash."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from planbound.agents.agent import Usage
from planbound.errors import FileProblem
from planbound.workspace.agents import Price

_VERSION = 1
_NAME = "session.json"
_UNKNOWN = "Nobody saw the end of this call: it may have been done, wholly or in part, or not."


class History(NamedTuple):
    """What was said in a session so far."""

    session: str
    agent: str
    model: str
    attempt: int
    messages: Sequence[ModelMessage] = ()
    answers: Mapping[str, str] = {}
    """What tools have answered, by the id of the call; only those that no message has yet."""
    used: Usage = Usage()
    """What this attempt used."""
    pending: int = 0
    """How many characters a request has that nobody saw answered."""

    def spent(self, price: Price | None) -> Usage:
        """Return what an attempt used that was cut off: its last request is estimated."""
        if not self.pending:
            return self.used
        return self.used.cut_off(self.pending, None if price is None else price.input)

    @property
    def has_response(self) -> bool:
        """Say whether the model ever answered."""
        return any(isinstance(message, ModelResponse) for message in self.messages)

    def gone_on_with(self, text: str) -> list[ModelMessage]:
        """Return the messages with another one of the user; every call of a tool has its answer.

        What a tool answered is there; a call that was cut off is not made again by us: who called
        it is told, and looks for himself.
        """
        *before, last = self.messages
        prompt = UserPromptPart(text)
        if isinstance(last, ModelRequest):
            return [*before, ModelRequest([*last.parts, prompt])]
        answers = [
            ToolReturnPart(
                tool_name=call.tool_name,
                content=self.answers.get(call.tool_call_id, _UNKNOWN),
                tool_call_id=call.tool_call_id,
            )
            for call in last.tool_calls
        ]
        return [*self.messages, ModelRequest([*answers, prompt])]


class HistoryFile:
    """Where the history is kept: in the agent's home, which no tool of the model sees."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, _NAME) if home else None

    def read(self) -> History | None:
        """Return what is there; None where nothing is, or nothing that can be read."""
        if self._path is None:
            return None
        try:
            with open(self._path, "rb") as file:
                return _decoded(json.load(file))
        except (OSError, ValueError, KeyError, TypeError, InvalidOperation, RecursionError):
            return None

    def write(self, history: History) -> None:
        """Put it there, wholly or not at all."""
        if self._path is None:
            return
        try:
            content = json.dumps(_encoded(history))
        except ValueError:  # A model may say what is no text: half a surrogate pair.
            return
        new = f"{self._path}.new"
        try:
            with open(new, "w", encoding="utf-8", opener=_private) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self._path)
        except OSError as error:
            raise FileProblem(f"the session cannot be kept in `{self._path}`: {error}") from error

    def remove(self) -> None:
        """Forget it."""
        if self._path is not None and os.path.exists(self._path):
            os.unlink(self._path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _encoded(history: History) -> dict[str, Any]:
    dollars = history.used.dollars
    return {
        "version": _VERSION,
        **history._asdict(),
        "answers": dict(history.answers),
        "messages": ModelMessagesTypeAdapter.dump_python(list(history.messages), mode="json"),
        "used": [
            history.used.tokens,
            None if dollars is None else str(dollars),
            *((history.used.estimated,) if history.used.estimated else ()),
        ],
    }


def _decoded(data: dict[str, Any]) -> History | None:
    if data.pop("version") != _VERSION:
        return None
    tokens, dollars, *rest = data.pop("used")
    messages = ModelMessagesTypeAdapter.validate_python(data.pop("messages"))
    return History(
        **data,
        messages=messages,
        used=Usage(tokens, None if dollars is None else Decimal(dollars), *rest),
    )
