"""The stream of events that Claude Code prints, and others after its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planbound.agents.cli import CliCall, Tokens, Transcript
from planbound.agents.output import (
    activity,
    count,
    dollars,
    inner,
    number,
    objects,
    service_error,
    session_name,
    text,
)
from planbound.plan.model import Stream
from planbound.source import lazy_pattern

# -- the stream of events that Claude Code prints, and others after its model --------------------


_ENDINGS = {
    "error_max_turns": "max-turns",
    "error_max_budget_usd": "budget",
    "error_max_structured_output_retries": "max-iterations",
}
_API_ERROR = lazy_pattern(r"\[?API Error: ?(?P<message>[^\n]{1,2000}?)\]?\s*\Z")
_LOST = ("No conversation found", "No saved session found")
_MOST_MESSAGES = 100_000


class ClaudeTranscript(Transcript):
    """What is told in events of the types `system`, `assistant`, `user` and `result`."""

    counts_cached = False
    """Whether `input_tokens` holds what was cached."""
    result_is_of_process = True
    """Whether the usage of a result is that of this process; else it is that of the session."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        super().__init__(call, note)
        self._total = Tokens(0, 0)
        self._messages: dict[str, Tokens] = {}
        """Of each message what was said last: it comes once for every part of its content."""

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of the stream."""
        match event.get("type"):
            case "system" if event.get("subtype") == "init":
                # Not from other events: an error before the session began names one as well.
                self.session = session_name(event.get("session_id"))
            case "assistant":
                self._message(inner(event.get("message")))
            case "result":
                self._result(event)
            case _:
                pass

    def line(self, stream: Stream, line: str) -> None:
        """Take a line that is no event."""
        super().line(stream, line)
        self._look_lost(line)

    def _message(self, message: dict[str, Any]) -> None:
        for part in objects(message.get("content")):
            if part.get("type") == "text":
                self.say(_API_ERROR.sub("", text(part.get("text"))))
            elif part.get("type") == "tool_use":
                name, given = text(part.get("name")), inner(part.get("input"))
                self.note(activity(name, given, self.call.workspace))
                self._todo(given)
        used = self._tokens(inner(message.get("usage")))
        name = text(message.get("id"))
        if used is not None and len(self._messages) < _MOST_MESSAGES:
            name = name or f"message {len(self._messages)}"
            self._total = _added(self._total, used, self._messages.get(name, Tokens()))
            self._messages[name] = used
            self.tokens = self._total._replace(dollars=self.tokens.dollars)

    def _todo(self, given: dict[str, Any]) -> None:
        if todos := objects(given.get("todos")):
            self.plan = tuple(text(each.get("content")) for each in todos)

    def _result(self, event: dict[str, Any]) -> None:
        said = text(event.get("result"))
        cost = dollars(event.get("total_cost_usd"))
        used = self._of_models(inner(event.get("modelUsage")))
        if used is None and (self.result_is_of_process or not self._messages):
            used = self._tokens(inner(event.get("usage")))
        # Each result counts all before it, so the last one is the whole.
        self.tokens = (used or self.tokens)._replace(dollars=cost)
        self.error = None
        subtype = text(event.get("subtype"))
        if event.get("is_error") is True or subtype.startswith("error"):
            told = text(inner(event.get("error")).get("message")) or said
            told = told or "; ".join(text(each) for each in _texts(event.get("errors")))
            self.error = _ENDINGS.get(subtype) or _service_error(_message_of(told) or subtype)
            self._look_lost(told)
        elif match := _API_ERROR.search(said[-2000:]):
            # Some say `success` here, and end with exit code 0.
            self.error = _service_error(match["message"])
        elif not self._said:
            self.say(said)

    def _look_lost(self, told: str) -> None:
        if self.call.session is not None and any(words in told for words in _LOST):
            self.is_lost = True

    def _tokens(self, usage: dict[str, Any]) -> Tokens | None:
        given, made = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        if given is None and made is None:
            return None
        cached = number(usage.get("cache_read_input_tokens"))
        if not self.counts_cached:
            given = (given or 0) + cached + number(usage.get("cache_creation_input_tokens"))
        return Tokens(given, made, cached)

    def _of_models(self, models: dict[str, Any]) -> Tokens | None:
        """Return what all models used together, also those of subagents."""
        found = [inner(usage) for usage in models.values()]
        if not found:
            return None
        cached = sum(number(usage.get("cacheReadInputTokens")) for usage in found)
        written = sum(number(usage.get("cacheCreationInputTokens")) for usage in found)
        given = sum(number(usage.get("inputTokens")) for usage in found)
        made = sum(number(usage.get("outputTokens")) for usage in found)
        return Tokens(given + cached + written, made, cached)


def _service_error(message: str) -> str:
    """Return an error of the service, which some begin with the status of HTTP."""
    start = message[:4]
    is_status = start[:3].isascii() and start[:3].isdigit() and not start[3:].strip()
    return service_error(message, int(start[:3]) if is_status else None)


def _message_of(told: str) -> str:
    match = _API_ERROR.search(told[-2000:])
    return match["message"] if match else told


def _texts(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _added(total: Tokens, used: Tokens, before: Tokens) -> Tokens:
    """Return a total in which a message counts what it says now, not what it said before."""
    return Tokens(
        input=(total.input or 0) + (used.input or 0) - (before.input or 0),
        output=(total.output or 0) + (used.output or 0) - (before.output or 0),
        cached=total.cached + used.cached - before.cached,
    )


# -- what agents share that reach their model through LiteLLM ------------------------------------


_KEY = "OPENAI_API_KEY"
QUIET = {
    # Nothing is fetched at the start, and no line is broken at the edge of a terminal.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "COLUMNS": "1000",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def model_of(call: CliCall) -> str | None:
    """Return the model as LiteLLM names it: its provider goes first."""
    model = call.rules.model
    if model is None or call.rules.base_url is None or model.startswith("openai/"):
        return model
    return f"openai/{model}"


def server_of(call: CliCall) -> dict[str, str]:
    """Return the variables that name an OpenAI-compatible server."""
    return {} if call.rules.base_url is None else {"OPENAI_API_BASE": call.rules.base_url}


def key_of(call: CliCall) -> Mapping[str, str]:
    """Return the variable that the key of such a server goes into."""
    return {_KEY: call.credential} if call.rules.base_url and call.credential else {}
