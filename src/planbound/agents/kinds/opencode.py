"""opencode, by `opencode run --format json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from planbound.agents.cli import CliAgent, CliCall, Start, Tokens, Transcript, refuse_options
from planbound.agents.kind import Kind
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
from planbound.errors import ConfigurationError
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules

_PROVIDER = "planbound"
_QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
}
_TITLE = "task"
_LOST = ("Session not found", "session not found", "NotFoundError")


class Opencode:
    """How opencode is called: the prompt on stdin, permissions given unless they are denied."""

    program = ("opencode",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; `--session` goes on with one."""
        rules, environment = call.rules, dict(_QUIET)
        model = rules.model
        if rules.base_url is not None:
            environment["OPENCODE_CONFIG_CONTENT"] = json.dumps(_provider(call))
            model = f"{_PROVIDER}/{rules.model}"
        words = (
            "run",
            "--format",
            "json",
            "--auto",
            *(() if model is None else ("--model", model)),
            # A session without a title asks the model for one, and does not say what that used.
            *(("--title", _TITLE) if call.session is None else ("--session", call.session)),
        )
        return Start(words, environment, stdin=call.prompt.encode("utf-8", "replace"))

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its events."""
        return OpencodeTranscript(call, note)


def _provider(call: CliCall) -> dict[str, object]:
    """Return a configuration with an OpenAI-compatible server."""
    options = {"baseURL": call.rules.base_url}
    if call.credential is not None:
        options["apiKey"] = f"{{env:{call.credential}}}"
    served = {
        "npm": "@ai-sdk/openai-compatible",
        "name": _PROVIDER,
        "options": options,
        "models": {call.rules.model: {"name": call.rules.model, "tool_call": True}},
    }
    return {"provider": {_PROVIDER: served}}


class OpencodeTranscript(Transcript):
    """What opencode tells: each step of the loop says what it used."""

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of its stream."""
        part = inner(event.get("part"))
        match event.get("type"):
            case "text":
                self.say(text(part.get("text")))
            case "tool_use":
                given = inner(inner(part.get("state")).get("input"))
                self.note(activity(text(part.get("tool")), given, self.call.workspace))
                if todos := objects(given.get("todos")):
                    self.plan = tuple(text(each.get("content")) for each in todos)
            case "step_start" | "step_finish":
                # What was reported before was tried again, and went well.
                self.error = None
                self._used(part)
            case "error":
                self._failed(inner(event.get("error")))
                if self.is_lost:
                    return
            case _:
                return
        self.session = session_name(event.get("sessionID")) or self.session

    def line(self, stream: Stream, line: str) -> None:
        """Take a line that is no event."""
        super().line(stream, line)
        self._look_lost(line)

    def _used(self, part: dict[str, Any]) -> None:
        tokens = inner(part.get("tokens"))
        cache = inner(tokens.get("cache"))
        given, made = count(tokens.get("input")), count(tokens.get("output"))
        before = self.tokens
        if given is not None or made is not None:
            cached = number(cache.get("read"))
            given = (given or 0) + cached + number(cache.get("write"))
            made = (made or 0) + number(tokens.get("reasoning"))
            before = before._replace(
                input=(before.input or 0) + given,
                output=(before.output or 0) + made,
                cached=before.cached + cached,
            )
        cost = dollars(part.get("cost"))
        # A model whose price it does not know costs 0 dollars there: that is not known.
        if cost:
            before = before._replace(dollars=(before.dollars or Decimal(0)) + cost)
        self.tokens = Tokens(*before)

    def _failed(self, error: dict[str, Any]) -> None:
        data = inner(error.get("data"))
        told = text(data.get("message")) or text(error.get("message")) or text(error.get("name"))
        self.error = service_error(told, count(data.get("statusCode")))
        self._look_lost(f"{text(error.get('name'))} {told}")

    def _look_lost(self, told: str) -> None:
        if self.call.session is not None and any(words in told for words in _LOST):
            self.is_lost = True


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    if rules.base_url is not None and rules.model is None:
        raise ConfigurationError(
            f"`agents.{rules.name}` has a `base_url` and no `model`",
            hint="write the `model` that is served there",
        )
    return CliAgent(rules, environment, Opencode())


KIND = Kind(
    "opencode",
    "opencode",
    _make,
    command=Opencode.program,
    credentials=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"),
    logins=(".config/opencode", ".local/share/opencode", ".local/state/opencode"),
    hosts=(
        "opencode.ai:443",
        "models.dev:443",
        "api.openai.com:443",
        "api.anthropic.com:443",
        "generativelanguage.googleapis.com:443",
        "openrouter.ai:443",
    ),
)
