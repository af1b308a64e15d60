"""The recorded streams of `tests/agents/streams/`, as programs that our kinds start print them."""

import json
from pathlib import Path

from tests.agents.fake_cli import Turn

STREAMS = Path(__file__).parent / "streams"
TRAJECTORY = ".config/mini-swe-agent/last_mini_run.traj.json"
CLAUDE_SESSION = "5f0c7a7e-5d7c-4d0b-8c54-6c6ac1a1a001"


def stream(kind: str, story: str) -> str:
    """What a program prints in a story."""
    if kind == "claude":
        return CLAUDE[story]
    if kind not in {"aider", "mini"}:
        return (STREAMS / f"{kind}-{story}.jsonl").read_text(encoding="utf-8")
    printed = (STREAMS / f"{kind}-{story}.txt").read_text(encoding="utf-8")
    return printed if kind == "mini" else _with_log(story, printed)


def turn(kind: str, story: str, *, exit_code: int = 0, shell: str = "") -> Turn:
    """What a program does in a story."""
    home = {}
    if kind == "mini":
        home = {TRAJECTORY: (STREAMS / f"mini-{story}.trajectory.json").read_text(encoding="utf-8")}
    return Turn(stream(kind, story), shell, exit_code, home=home)


def _with_log(story: str, printed: str) -> str:
    """Put aider's log of events where it comes when it is written to stdout as well."""
    log = (STREAMS / f"aider-{story}.analytics.jsonl").read_text(encoding="utf-8").splitlines()
    head, mark, rest = printed.partition("HISTORY.html#release-notes\n")
    asked = next(i for i, line in enumerate(log) if "message_send_starting" in line) + 1
    reply, tokens, after = rest.partition("Tokens: ")
    sent = [*log[:asked], reply]
    if not tokens:
        return "\n".join([head + mark, *sent, *log[asked:]]) + "\n"
    report, _, after = after.partition("\n")
    return "\n".join([head + mark, *sent, tokens + report, *log[asked:-1], after, log[-1]]) + "\n"


def _claude(*events: dict[str, object]) -> str:
    return "".join(f"{json.dumps(event)}\n" for event in events)


_INIT: dict[str, object] = {
    "type": "system",
    "subtype": "init",
    "session_id": CLAUDE_SESSION,
    "model": "claude-sonnet-4-5",
    "tools": ["Bash"],
}
_SHELL = {"type": "tool_use", "name": "Bash", "input": {"command": "make"}}


def _said(name: str, given: int, made: int, cached: int, *parts: object) -> dict[str, object]:
    usage = {
        "input_tokens": given - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": made,
    }
    message = {"id": name, "role": "assistant", "content": list(parts), "usage": usage}
    return {"type": "assistant", "message": message, "session_id": CLAUDE_SESSION}


def _result(said: str, cost: float, given: int, made: int, cached: int) -> dict[str, object]:
    model = {
        "inputTokens": given - cached,
        "outputTokens": made,
        "cacheReadInputTokens": cached,
        "cacheCreationInputTokens": 0,
        "costUSD": cost,
    }
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": said,
        "total_cost_usd": cost,
        "modelUsage": {"claude-sonnet-4-5": model},
        "session_id": CLAUDE_SESSION,
    }


def _words(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def _failed(subtype: str, **more: object) -> dict[str, object]:
    failed = {"type": "result", "subtype": subtype, "is_error": True, "total_cost_usd": 0}
    return {**failed, "session_id": CLAUDE_SESSION, **more}


CLAUDE = {
    # The message comes twice, once for each part of its content, with the same usage.
    "lie": _claude(
        _INIT,
        _said("m1", 1000, 50, 400, _words("All done!")),
        _result("All done!", 0.004, 1000, 50, 400),
    ),
    "resume": _claude(
        _INIT,
        _said("m2", 1200, 30, 1000, _words("Let me see.")),
        _said("m2", 1200, 30, 1000, _SHELL),
        _said("m3", 1500, 10, 1200, _words("Now it is really done.")),
        _result("Now it is really done.", 0.003, 2700, 40, 2200),
    ),
    "edit": _claude(
        _INIT,
        _said("m1", 1000, 50, 400, _SHELL),
        _said("m2", 1200, 30, 1000, _words("I changed greeting.txt.")),
        _result("An intermediate result", 0.002, 1000, 50, 400),
        _result("I changed greeting.txt.", 0.005, 2200, 80, 1400),
    ),
    "401": _claude(
        _INIT,
        _said("m1", 0, 0, 0, _words("Invalid API key · Please run /login")),
        _failed("success", result="Invalid API key · Please run /login"),
    ),
    "529": _claude(
        _INIT,
        _failed("success", result='API Error: 529 {"type":"error","error":{"type":"overloaded"}}'),
    ),
    "turns": _claude(_INIT, _failed("error_max_turns")),
    "budget": _claude(_INIT, _failed("error_max_budget_usd")),
    "lost": _claude(
        _failed("error_during_execution", errors=["No conversation found with session ID: x"])
    ),
}
"""Written from the declarations of its stream: it cannot be had here."""
