"""Qwen Code, by `qwen -o stream-json`, which is shaped after Claude Code's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from planbound.agents.cli import CliAgent, CliCall, Start, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.stream import ClaudeTranscript
from planbound.workspace.agents import AgentRules

_KEY = "OPENAI_API_KEY"
_DEFAULTS = "defaults.json"
_QUIET = {
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


class Qwen:
    """How Qwen Code is called: the prompt on stdin, no question about a tool."""

    program = ("qwen",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; `--resume` goes on with a session."""
        rules = call.rules
        is_openai = rules.base_url is not None or _KEY in rules.env
        words = (
            "--output-format",
            "stream-json",
            "--approval-mode",
            "yolo",
            *(("--auth-type", "openai") if is_openai else ()),
            *(() if rules.model is None else ("--model", rules.model)),
            *(() if call.session is None else ("--resume", call.session)),
        )
        environment = {
            "QWEN_CODE_NO_RELAUNCH": "1",
            "QWEN_DISABLE_AUTO_TITLE": "1",
            "QWEN_CODE_SYSTEM_DEFAULTS_PATH": os.path.join(call.folder, _DEFAULTS),
        }
        if rules.base_url is not None:
            environment["OPENAI_BASE_URL"] = rules.base_url
        return Start(
            words,
            environment,
            stdin=call.prompt.encode("utf-8", "replace"),
            files={_DEFAULTS: json.dumps(_QUIET).encode()},
            aliases={_KEY: call.credential} if rules.base_url and call.credential else {},
        )

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its events."""
        return QwenTranscript(call, note)


class QwenTranscript(ClaudeTranscript):
    """What Qwen Code tells: a result counts all that the session used, a message its own."""

    counts_cached = True
    result_is_of_process = False


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    return CliAgent(rules, environment, Qwen())


KIND = Kind(
    "qwen",
    "Qwen Code",
    _make,
    command=Qwen.program,
    credentials=(_KEY, "DASHSCOPE_API_KEY"),
    logins=(".qwen",),
    hosts=(
        "dashscope.aliyuncs.com:443",
        "dashscope-intl.aliyuncs.com:443",
        "portal.qwen.ai:443",
        "chat.qwen.ai:443",
        "api.openai.com:443",
    ),
)
