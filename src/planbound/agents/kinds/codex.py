"""OpenAI's Codex CLI, by `codex exec --json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from planbound.agents.cli import CliAgent, CliCall, Start, Tokens, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.output import (
    count,
    inner,
    number,
    objects,
    service_error,
    session_name,
    shown,
    text,
    without_shell,
)
from planbound.workspace.agents import AgentRules

_PROVIDER = "planbound"


class Codex:
    """How Codex is called: the prompt on stdin, its sandbox off, since it runs in a cell."""

    program = ("codex",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; `exec resume` goes on with a thread."""
        rules = call.rules
        thread = () if call.session is None else ("resume", call.session)
        words = (
            "exec",
            *thread,
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            *_setting("check_for_update_on_startup", value=False),
            *_setting("analytics.enabled", value=False),
            *(() if rules.model is None else ("--model", rules.model)),
            *(() if rules.base_url is None else _provider(rules.base_url, call.credential)),
            "-",
        )
        return Start(words, stdin=call.prompt.encode("utf-8", "replace"))

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its events."""
        return CodexTranscript(call, note)


def _setting(name: str, value: object) -> tuple[str, str]:
    # What JSON writes of a text or a truth value, TOML reads as the same.
    return ("-c", f"{name}={json.dumps(value)}")


def _provider(url: str, credential: str | None) -> tuple[str, ...]:
    place = f"model_providers.{_PROVIDER}"
    settings = {"name": _PROVIDER, "base_url": url, "wire_api": "responses"}
    if credential is not None:
        settings["env_key"] = credential
    words: tuple[str, ...] = _setting("model_provider", _PROVIDER)
    for name, value in settings.items():
        words += _setting(f"{place}.{name}", value)
    return words


class CodexTranscript(Transcript):
    """What Codex tells. Its usage counts all of the thread, also what was before a resume."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        super().__init__(call, note)
        self.is_cumulative = True

    def event(self, event: dict[str, Any]) -> None:
        """Take an event of its stream."""
        match event.get("type"):
            case "thread.started":
                self.session = session_name(event.get("thread_id"))
            case "item.started":
                self._begun(inner(event.get("item")))
            case "item.updated" | "item.completed":
                self._done(inner(event.get("item")))
            case "turn.completed":
                # What was reported before was tried again, and went well.
                self.error = None
                self._used(inner(event.get("usage")))
            case "turn.failed":
                self.error = service_error(text(inner(event.get("error")).get("message")))
            case "error":
                self.error = service_error(text(event.get("message")))
            case _:
                pass

    def _begun(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "command_execution":
                self.note(f"runs {without_shell(text(item.get('command')))}")
            case "mcp_tool_call":
                self.note(f"uses {text(item.get('server'))} {text(item.get('tool'))}")
            case "web_search":
                self.note(f"searches for {text(item.get('query'))}")
            case _:
                pass

    def _done(self, item: dict[str, Any]) -> None:
        match item.get("type"):
            case "agent_message":
                self.say(text(item.get("text")))
            case "file_change":
                for change in objects(item.get("changes"))[:3]:
                    path = shown(text(change.get("path")), self.call.workspace)
                    self.note(f"edits {path}")
            case "todo_list":
                self.plan = tuple(text(each.get("text")) for each in objects(item.get("items")))
            case _:
                pass

    def _used(self, usage: dict[str, Any]) -> None:
        given, made = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        if given is not None or made is not None:
            cached = number(usage.get("cached_input_tokens"))
            self.tokens = Tokens(given, made, cached)


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    return CliAgent(rules, environment, Codex())


KIND = Kind(
    "codex",
    "OpenAI's Codex CLI",
    _make,
    command=Codex.program,
    credentials=("OPENAI_API_KEY", "CODEX_API_KEY"),
    logins=(".codex",),
    hosts=("api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443"),
)
