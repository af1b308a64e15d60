"""Claude Code, by `claude -p --output-format stream-json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planbound.agents.cli import CliAgent, CliCall, Start, Transcript, refuse_options
from planbound.agents.kind import Kind
from planbound.agents.stream import ClaudeTranscript
from planbound.workspace.agents import AgentRules

_QUIET = {
    # It refuses to work without asking where it is root, unless it is told of the cell.
    "IS_SANDBOX": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
}


class Claude:
    """How Claude Code is called: the prompt on stdin, no question about a tool."""

    program = ("claude",)

    def start(self, call: CliCall) -> Start:
        """Return how it is started; `--resume` goes on with a session."""
        rules = call.rules
        words = (
            "--print",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "bypassPermissions",
            *(() if call.session is None else ("--resume", call.session)),
            *(() if rules.model is None else ("--model", rules.model)),
            *(() if rules.max_cost is None else ("--max-budget-usd", str(rules.max_cost))),
        )
        environment = dict(_QUIET)
        if rules.base_url is not None:
            environment["ANTHROPIC_BASE_URL"] = rules.base_url
        return Start(words, environment, stdin=call.prompt.encode("utf-8", "replace"))

    def transcript(self, call: CliCall, note: Callable[[str], None]) -> Transcript:
        """Return what reads its events."""
        return ClaudeTranscript(call, note)


def _make(rules: AgentRules, environment: Mapping[str, str]) -> CliAgent:
    refuse_options(rules)
    return CliAgent(rules, environment, Claude())


KIND = Kind(
    "claude",
    "Claude Code",
    _make,
    command=Claude.program,
    credentials=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
    logins=(".claude", ".claude.json"),
    hosts=(
        "api.anthropic.com:443",
        "console.anthropic.com:443",
        "claude.ai:443",
        "platform.claude.com:443",
    ),
)
