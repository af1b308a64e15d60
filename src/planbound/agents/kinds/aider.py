"""aider, by `aider --message-file`: it prints text, and its log of events is made to join it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from planbound.agents.cli import CliAgent, CliCall, Start, Tokens, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.output import count, dollars, inner, service_error
from planbound.agents.stream import QUIET, key_of, model_of, server_of
from planbound.cells.cell import Outcome
from planbound.plan.model import Stream
from planbound.source import lazy_pattern
from planbound.workspace.agents import AgentRules

# Variables, not words: what the user's `command` says wins over them.
_SETTINGS = {
    "AIDER_ANALYTICS": "false",
    "AIDER_ANALYTICS_LOG": "/dev/stdout",
    "AIDER_AUTO_COMMITS": "false",
    "AIDER_CHAT_HISTORY_FILE": "{home}/.aider.chat.history.md",
    "AIDER_CHECK_UPDATE": "false",
    "AIDER_DETECT_URLS": "false",
    "AIDER_DIRTY_COMMITS": "false",
    "AIDER_DISABLE_PLAYWRIGHT": "true",
    "AIDER_FANCY_INPUT": "false",
    "AIDER_GITIGNORE": "false",
    "AIDER_INPUT_HISTORY_FILE": "{home}/.aider.input.history",
    # The cache of a map is put into the workspace, where it would be out of scope.
    "AIDER_MAP_TOKENS": "0",
    # Summaries of the chat are made by requests that it does not report.
    "AIDER_MAX_CHAT_HISTORY_TOKENS": "1000000000",
    "AIDER_NOTIFICATIONS": "false",
    "AIDER_PRETTY": "false",
    "AIDER_SHOW_MODEL_WARNINGS": "false",
    "AIDER_SHOW_RELEASE_NOTES": "false",
    "AIDER_STREAM": "false",
    "AIDER_SUGGEST_SHELL_COMMANDS": "false",
}
_ERROR = lazy_pattern(r"litellm\.\w{3,60}: .{0,2000}")
_APPLIED = "Applied edit to "
_LIMIT = "has hit a token limit!"
_MOST = 5000

_IDENTITY = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "aider",
    "GIT_CONFIG_KEY_1": "user.email",
    "GIT_CONFIG_VALUE_1": "aider@localhost",
}
"""A name for git, without which aider writes one into the repository."""


class Aider:
    """How aider is called: the prompt on stdin, yes to every question, no commits."""

    program = ("aider",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; there is no session to go on with."""
        model = model_of(call)
        words = (
            "--yes-always",
            *(() if _is_repository(call.workspace) else ("--no-git",)),
            *(() if model is None else ("--model", model)),
            "--message-file",
            "/dev/stdin",
        )
        return Start(
            words,
            {**QUIET, **_SETTINGS, **_IDENTITY, **server_of(call)},
            stdin=call.prompt.encode("utf-8", "replace"),
            aliases=key_of(call),
        )

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its output."""
        return AiderTranscript(call, note)


def _is_repository(workspace: str) -> bool:
    """Say whether there is a repository: where there is none, aider would make one."""
    place = os.path.join(workspace, ".git")
    return os.path.isfile(place) or os.path.isfile(os.path.join(place, "HEAD"))


class AiderTranscript(Transcript):
    """What aider tells. It ends with exit code 0 also where its model could not be reached."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        super().__init__(call, note)
        self._reply: list[str] | None = None
        """What it says since it began to ask its model; None: it has not."""

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of its log."""
        told = inner(event.get("properties"))
        match event.get("event"):
            case "message_send_starting":
                self._replied()
                self._reply = []
            case "message_send":
                # What was reported before was tried again, and went well.
                self.error = None
                self._replied()
                self._used(told)
            case _:
                pass

    def line(self, stream: Stream, line: str) -> None:
        """Take a line of text."""
        del stream
        if _ERROR.fullmatch(line):
            self.error = service_error(line)
        elif line.rstrip().endswith(_LIMIT):
            self.error = "context-length"
        elif line.startswith(_APPLIED):
            self.note(f"edits {line.removeprefix(_APPLIED)}")
        elif self._reply is not None and len(self._reply) < _MOST:
            self._reply.append(line)
            self.printed.add(line)

    def end(self, outcome: Outcome) -> None:
        """Take the last of its words."""
        del outcome
        self._replied()

    def _replied(self) -> None:
        if self._reply:
            self.say("\n".join(line for line in self._reply if not line.startswith("Tokens: ")))
        self._reply = None

    def _used(self, told: dict[str, Any]) -> None:
        given, made = count(told.get("prompt_tokens")), count(told.get("completion_tokens"))
        before = self.tokens
        if given is None and made is None:
            return
        self.tokens = Tokens(
            input=(before.input or 0) + (given or 0),
            output=(before.output or 0) + (made or 0),
            # All of this process; 0 where it does not know a price.
            dollars=dollars(told.get("total_cost")) or before.dollars,
        )


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    return CliAgent(rules, environment, Aider())


KIND = Kind(
    "aider",
    "aider",
    _make,
    command=Aider.program,
    credentials=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    logins=(".aider.conf.yml", ".aider.model.settings.yml", ".aider"),
    hosts=(
        "api.openai.com:443",
        "api.anthropic.com:443",
        "generativelanguage.googleapis.com:443",
        "api.deepseek.com:443",
        "openrouter.ai:443",
    ),
)
