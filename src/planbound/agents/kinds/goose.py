"""goose, by `goose run --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from planbound.agents.cli import CliAgent, CliCall, Start, Tokens, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.output import activity, count, inner, number, objects, service_error, text
from planbound.cells.cell import Outcome
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules

_KEY = "OPENAI_API_KEY"
_QUIET = {
    "GOOSE_MODE": "auto",
    "GOOSE_DISABLE_KEYRING": "1",
    "GOOSE_DISABLE_SESSION_NAMING": "true",
    "GOOSE_TELEMETRY_OFF": "1",
    "GOOSE_TELEMETRY_ENABLED": "false",
    "GOOSE_CLI_BELL": "false",
}
_TROUBLE = {
    "Ran into this error": None,
    "Network error": None,
    "I've reached the maximum number of actions": "max-turns",
}
"""How words begin that are no model's: goose says them in its place, and ends with exit code 0."""
_LOST = ("Cannot find session", "No session found", "Could not find session")


class Goose:
    """How goose is called: the prompt on stdin, in a session whose name we give."""

    program = ("goose",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; `--resume` goes on with a named session."""
        rules, environment = call.rules, dict(_QUIET)
        provider = rules.options.get("provider")
        if rules.base_url is not None:
            provider = provider or "openai"
            environment.update(_server(rules.base_url))
        words = (
            "run",
            "--name",
            call.session or _name(call),
            *(() if call.session is None else ("--resume",)),
            "--with-builtin",
            "developer",
            "--quiet",
            "--output-format",
            "stream-json",
            *(() if provider is None else ("--provider", str(provider))),
            *(() if rules.model is None else ("--model", rules.model)),
            "--instructions",
            "-",
        )
        return Start(
            words,
            environment,
            stdin=call.prompt.encode("utf-8", "replace"),
            aliases={_KEY: call.credential} if rules.base_url and call.credential else {},
        )

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its events."""
        return GooseTranscript(call, note)


def _name(call: CliCall) -> str:
    return f"planbound-{call.fresh}"


def _server(url: str) -> dict[str, str]:
    """Return where an OpenAI-compatible server is, in the two parts that goose wants."""
    parts = urlsplit(url)
    path = parts.path.strip("/")
    return {
        "OPENAI_HOST": f"{parts.scheme}://{parts.netloc}",
        "OPENAI_BASE_PATH": f"{path}/chat/completions" if path else "v1/chat/completions",
    }


class GooseTranscript(Transcript):
    """What goose tells. Its words come in pieces, its usage is that of the whole session."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        super().__init__(call, note)
        self.is_cumulative = True
        self._speaking: object = None
        self._pieces: list[str] = []

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of its stream."""
        match event.get("type"):
            case "message":
                self.session = self.call.session or _name(self.call)
                self._message(inner(event.get("message")))
            case "error":
                self._spoken()
                self.error = self.error or service_error(text(event.get("error")))
            case "complete":
                self._spoken()
                self._used(event)
            case _:
                pass

    def line(self, stream: Stream, line: str) -> None:
        """Take a line that is no event."""
        super().line(stream, line)
        if self.call.session is not None and any(words in line for words in _LOST):
            self.is_lost = True

    def end(self, outcome: Outcome) -> None:
        """Take the last of its words."""
        del outcome
        self._spoken()

    def _message(self, message: dict[str, Any]) -> None:
        if message.get("role") != "assistant":
            return
        is_model = "inference" in inner(message.get("metadata"))
        for part in objects(message.get("content")):
            match part.get("type"):
                case "text" if is_model or not self._is_trouble(text(part.get("text"))):
                    self._speak(message.get("id"), text(part.get("text")))
                case "error":
                    kind, told = text(part.get("kind")), text(part.get("message"))
                    self.error = service_error(told or kind)
                case "toolRequest":
                    self._spoken()
                    asked = inner(inner(part.get("toolCall")).get("value"))
                    given = inner(asked.get("arguments"))
                    self.note(activity(text(asked.get("name")), given, self.call.workspace))
                case _:
                    pass

    def _is_trouble(self, told: str) -> bool:
        for words, name in _TROUBLE.items():
            if told.startswith(words):
                self.error = name or service_error(told)
                return True
        return False

    def _speak(self, message: object, piece: str) -> None:
        if message != self._speaking:
            self._spoken()
        self._speaking = message
        self.has_begun = True
        self._pieces.append(piece)

    def _spoken(self) -> None:
        if self._pieces:
            self.say("".join(self._pieces))
            self._pieces = []

    def _used(self, event: dict[str, Any]) -> None:
        given, made = count(event.get("input_tokens")), count(event.get("output_tokens"))
        total = count(event.get("total_tokens"))
        if total is not None or given is not None or made is not None:
            cached = number(event.get("cache_read_input_tokens"))
            self.tokens = Tokens(given, made, cached, total)


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules, "provider")
    return CliAgent(rules, environment, Goose())


KIND = Kind(
    "goose",
    "goose",
    _make,
    command=Goose.program,
    credentials=(_KEY, "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"),
    logins=(".config/goose", ".local/share/goose", ".local/state/goose"),
    hosts=(
        "api.openai.com:443",
        "api.anthropic.com:443",
        "generativelanguage.googleapis.com:443",
        "openrouter.ai:443",
    ),
)
