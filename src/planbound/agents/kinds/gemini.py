"""Google's Gemini CLI, by `gemini -o stream-json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from planbound.agents.cli import CliAgent, CliCall, Start, Tokens, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.output import (
    activity,
    count,
    inner,
    number,
    service_error,
    session_name,
    text,
)
from planbound.cells.cell import CommandEnding, Outcome
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules

_KEY = "GEMINI_API_KEY"
_SETTINGS = ".gemini/settings.json"
_QUIET: dict[str, object] = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
# With an address of another server it would take another way to log in.
_BY_KEY: dict[str, object] = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
_EXITS = {
    41: "authentication",
    42: "invalid-request",
    52: "invalid-input",
    53: "max-turns",
    55: "permission-denied",
}
"""Of its own exit codes those that tell more than that it failed."""
_LOST = ("Error resuming session", "Invalid session identifier", "No previous sessions found")


class Gemini:
    """How Gemini CLI is called: the prompt on stdin, no question about a tool or about trust."""

    program = ("gemini",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; `--resume` goes on with a session."""
        rules = call.rules
        words = (
            "--output-format",
            "stream-json",
            "--approval-mode",
            "yolo",
            "--skip-trust",
            *(() if rules.model is None else ("--model", rules.model)),
            *(() if call.session is None else ("--resume", call.session)),
        )
        environment = {
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "NO_BROWSER": "true",
        }
        if rules.base_url is not None:
            environment["GOOGLE_GEMINI_BASE_URL"] = rules.base_url
        has_key = _KEY in rules.env or (rules.base_url is not None and call.credential is not None)
        settings = {**_QUIET, **_BY_KEY} if has_key else _QUIET
        return Start(
            words,
            environment,
            stdin=call.prompt.encode("utf-8", "replace"),
            home_files={_SETTINGS: json.dumps(settings).encode()},
            aliases={_KEY: call.credential} if rules.base_url and call.credential else {},
        )

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its events."""
        return GeminiTranscript(call, note)


class GeminiTranscript(Transcript):
    """What Gemini CLI tells. Its words come in pieces."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        super().__init__(call, note)
        self._pieces: list[str] = []

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of its stream."""
        kind = event.get("type")
        if kind == "message" and event.get("role") == "assistant":
            self.has_begun = True
            self._pieces.append(text(event.get("content")))
            if event.get("delta") is True:
                return
        self._spoken()
        match kind:
            case "init":
                self.session = session_name(event.get("session_id"))
            case "tool_use":
                given = inner(event.get("parameters"))
                self.note(activity(text(event.get("tool_name")), given, self.call.workspace))
            case "error" if event.get("severity") != "warning":
                self.error = service_error(text(event.get("message")))
            case "result":
                self._result(event)
            case _:
                pass

    def line(self, stream: Stream, line: str) -> None:
        """Take a line that is no event."""
        super().line(stream, line)
        if self.call.session is not None and any(words in line for words in _LOST):
            self.is_lost = True

    def _spoken(self) -> None:
        if self._pieces:
            self.say("".join(self._pieces))
            self._pieces = []

    def _result(self, event: dict[str, Any]) -> None:
        self.error = None
        if event.get("status") != "success":
            error = inner(event.get("error"))
            told = text(error.get("message"))
            self.error = service_error(told or text(error.get("type")), _status(told))
        stats = inner(event.get("stats"))
        given, made = count(stats.get("input_tokens")), count(stats.get("output_tokens"))
        total = count(stats.get("total_tokens"))
        if total is not None or given is not None or made is not None:
            # The total also holds what it thought, which is in neither part.
            self.tokens = Tokens(given, made, number(stats.get("cached")), total)

    def end(self, outcome: Outcome) -> None:
        """Take its exit code, where it said nothing else of an error."""
        self._spoken()
        if outcome.ending is CommandEnding.EXITED and self.error is None:
            self.error = _EXITS.get(outcome.exit_code or 0)
            is_unset = "environment variable" in outcome.stderr.text()
            if outcome.exit_code == 41 and is_unset:
                self.error = "missing-credential"


def _status(message: str) -> int | None:
    """Return the status of HTTP in an error, which is JSON in brackets."""
    start, end = message.find("{"), message.rfind("}")
    try:
        error = inner(inner(json.loads(message[start : end + 1])).get("error"))
    except (ValueError, RecursionError):
        return None
    return count(error.get("code"))


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    return CliAgent(rules, environment, Gemini())


KIND = Kind(
    "gemini",
    "Google's Gemini CLI",
    _make,
    command=Gemini.program,
    credentials=(_KEY, "GOOGLE_API_KEY"),
    logins=(".gemini",),
    hosts=(
        "generativelanguage.googleapis.com:443",
        "cloudcode-pa.googleapis.com:443",
        "oauth2.googleapis.com:443",
        "*.aiplatform.googleapis.com:443",
    ),
)
