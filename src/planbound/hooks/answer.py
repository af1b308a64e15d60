"""What a hook answers, in the shape that each host takes.

Each host drops an answer with a field that it does not know, or lets the agent stop: so the
answers have exactly the fields of their schemas, and no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planbound.hooks.event import Host, Moment

Answer = Mapping[str, object]
NOTHING: Answer = {}
_EVENTS = {
    Moment.SESSION_START: "SessionStart",
    Moment.PRE_TOOL_USE: "PreToolUse",
    Moment.USER_PROMPT_SUBMIT: "UserPromptSubmit",
    Moment.STOP: "Stop",
    Moment.SUBAGENT_STOP: "SubagentStop",
}
_GEMINI_EVENTS = {
    Moment.SESSION_START: "SessionStart",
    Moment.PRE_TOOL_USE: "BeforeTool",
    Moment.USER_PROMPT_SUBMIT: "BeforeAgent",
    Moment.STOP: "AfterAgent",
    Moment.SUBAGENT_STOP: "AfterAgent",
}


def host_event(host: Host, moment: Moment) -> str:
    """Return what a host calls the moment."""
    return (_GEMINI_EVENTS if host is Host.GEMINI else _EVENTS)[moment]


def go_on(host: Host, reason: str) -> Answer:
    """The agent may not stop."""
    word = "deny" if host is Host.GEMINI else "block"
    return {"decision": word, "reason": reason.strip() or "the plan is not done"}


def said(text: str) -> Answer:
    """The person reads it, and nothing is decided: the one way to give up that all hosts have."""
    return {"systemMessage": text}


def also_said(answer: Answer, lines: Sequence[str]) -> Answer:
    """The person reads this, too."""
    before = answer.get("systemMessage")
    text = "\n".join([*([str(before)] if before else []), *lines])
    return {**answer, **said(text)} if lines else answer


def context(host: Host, moment: Moment, text: str) -> Answer:
    """The agent reads it before it goes on."""
    event = host_event(host, moment)
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def deny(host: Host, reason: str) -> Answer:
    """The tool is not called."""
    if host is Host.GEMINI:
        return {"decision": "deny", "reason": reason}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
