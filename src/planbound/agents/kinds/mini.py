"""mini-SWE-agent, by `mini --yolo`: what it did is in the trajectory that it writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from planbound.agents.cli import CliAgent, CliCall, Start, Tokens, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.output import count, dollars, inner, number, objects, service_error, text
from planbound.agents.program import read_object, remove
from planbound.agents.stream import QUIET, key_of, model_of, server_of
from planbound.cells.cell import Outcome
from planbound.plan.model import Stream
from planbound.source import lazy_pattern
from planbound.workspace.agents import AgentRules, Home

_SETTINGS = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_SILENT_STARTUP": "1",
    # Else it ends where it does not know the price of a model.
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "5",
}
_TASK = "task.yaml"
_CONFIG = ("-c", "--config")
_FINE = ("", "Submitted")
_ENDINGS = {"LimitsExceeded": "budget", "TimeExceeded": "timeout"}
_STEP = "mini-swe-agent (step "
_UNPLAIN = lazy_pattern("[^ -~\xa0-\u2027\u202a-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class Mini:
    """How mini is called: the task in a file of configuration, which can be of any length."""

    program = ("mini",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; there is no session to go on with."""
        rules, model = call.rules, model_of(call)
        # With a configuration of the user's, its own is not used.
        has_own = any(word in _CONFIG for word in rules.command)
        trajectory = (
            ("--output", os.path.join(call.home, _trajectory(call)))
            if rules.home is Home.PASS
            else ()
        )
        words = (
            "--yolo",
            "--exit-immediately",
            *(() if model is None else ("--model", model)),
            "--cost-limit",
            str(rules.max_cost or 0),
            *(() if has_own else ("--config", "mini.yaml")),
            "--config",
            os.path.join(call.folder, _TASK),
            *trajectory,
        )
        return Start(
            words,
            {**QUIET, **_SETTINGS, **server_of(call)},
            files={_TASK: _yaml({"run": {"task": call.prompt}})},
            aliases=key_of(call),
        )

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its output."""
        return MiniTranscript(call, note)


def _yaml(value: object) -> bytes:
    """Return JSON that YAML reads as the same.

    Pairs of escapes for one character are two there, and some characters would end a line.
    """
    written = json.dumps(value, ensure_ascii=False)
    escaped = _UNPLAIN.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
    return escaped.encode("utf-8", "replace")


def _trajectory(call: CliCall) -> str:
    """Return where in the home it writes what it did; in the user's, where nobody else does."""
    is_passed = call.rules.home is Home.PASS
    name = f"planbound-{call.fresh}" if is_passed else "last_mini_run"
    return f".config/mini-swe-agent/{name}.traj.json"


class MiniTranscript(Transcript):
    """What mini did. Its output repeats the prompt, so no word of that is taken for its own."""

    def __init__(self, call: CliCall, note: Callable[[str], None]) -> None:
        super().__init__(call, note)
        self.path = _trajectory(call)
        self._seen = 0
        # That of the attempt before would be taken for this one's.
        remove(call.home, self.path)

    def line(self, stream: Stream, line: str) -> None:
        """Take a line of text: where a step begins, the one before is written."""
        del stream
        if line.startswith(_STEP):
            self.has_begun = True
            self._look()

    def end(self, outcome: Outcome) -> None:
        """Read all that it wrote."""
        del outcome
        trajectory = self._look()
        info = inner(trajectory.get("info"))
        self.say(text(info.get("submission")))
        status = text(info.get("exit_status"))
        if status not in _FINE:
            last = (objects(trajectory.get("messages")) or [{}])[-1]
            told = text(inner(last.get("extra")).get("exception_str"))
            self.error = _ENDINGS.get(status) or service_error(told or status)
        if self.call.rules.home is Home.PASS:
            remove(self.call.home, self.path)

    def _look(self) -> dict[str, Any]:
        # In the user's home only where it has its log-in there.
        trajectory = read_object(self.call.home, self.path) or read_object(
            self.call.kept_home, self.path
        )
        messages = objects(trajectory.get("messages"))
        for message in messages[self._seen :]:
            extra = inner(message.get("extra"))
            if message.get("role") == "assistant":
                self.say(text(message.get("content")))
            for action in objects(extra.get("actions")):
                self.note(f"runs {text(action.get('command'))}")
        self._seen = max(self._seen, len(messages))
        self._count(messages, inner(inner(trajectory.get("info")).get("model_stats")))
        return trajectory

    def _count(self, messages: list[dict[str, Any]], stats: dict[str, Any]) -> None:
        used = [
            inner(inner(inner(message.get("extra")).get("response")).get("usage"))
            for message in messages
        ]
        used = [usage for usage in used if count(usage.get("prompt_tokens")) is not None]
        if used:
            details = [inner(usage.get("prompt_tokens_details")) for usage in used]
            self.tokens = Tokens(
                input=sum(number(usage.get("prompt_tokens")) for usage in used),
                output=sum(number(usage.get("completion_tokens")) for usage in used),
                cached=sum(number(each.get("cached_tokens")) for each in details),
                # 0 where it does not know a price.
                dollars=dollars(stats.get("instance_cost")) or None,
            )


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    return CliAgent(rules, environment, Mini())


KIND = Kind(
    "mini",
    "mini-SWE-agent",
    _make,
    command=Mini.program,
    credentials=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
    logins=(".config/mini-swe-agent",),
    hosts=(
        "api.openai.com:443",
        "api.anthropic.com:443",
        "generativelanguage.googleapis.com:443",
        "openrouter.ai:443",
    ),
)
