"""What the scripted model says: replies, and how the next one is chosen."""

import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# Programs ask the model for more than the work: a title, a summary of the session, what the
# user might type next, what is worth remembering. Those questions are answered aside, at no
# cost, and use up nothing of a script.
SIDE_QUESTIONS = (
    "title generator",
    "concise title",
    "4 words or less",
    "four words or less",
    "next_speaker",
    "Managed memory directory:",
    "what the user might naturally type next",
    "Suggest the next",
)
SIDE_ANSWER = "A small change"
ACP_AGENT = str(Path(__file__).with_name("acp_agent.py"))
"""The agent that follows a script: it is run, and not imported, for its library takes a while."""


class Usage(NamedTuple):
    """The tokens that a reply says it has cost."""

    input: int = 100
    output: int = 20
    cached: int = 0


class Reply(NamedTuple):
    """One answer of the model. What is not set does not happen."""

    text: str = ""
    shell: str | None = None
    """A command line for whatever shell tool the request offers."""
    tool: str | None = None
    """The name of a tool that is called with `arguments`."""
    arguments: Mapping[str, Any] = {}
    status: int = 200
    message: str | None = None
    """What an error says, where the usual words will not do."""
    retry_after: int | None = None
    delay: float = 0.0
    """Seconds before the first byte."""
    stall: float = 0.0
    """Seconds in the middle of the stream."""
    cut: bool = False
    """Whether the connection breaks in the middle of the answer."""
    usage: Usage = Usage()
    when: str | None = None
    """Only for a request whose last user message contains this."""


class Asked(NamedTuple):
    """What a request said, in whatever dialect it came."""

    dialect: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    system: str
    users: tuple[str, ...]
    """The texts of the user, first to last."""
    tools: tuple[str, ...]
    results: tuple[str, ...]
    """What tools have answered, first to last."""

    @property
    def last_user(self) -> str:
        return self.users[-1] if self.users else ""

    @property
    def everything(self) -> str:
        """All that the model was told, to be searched."""
        return "\n".join((self.system, *self.users, *self.results))


class Script:
    """Gives the replies in order, each once, and the last one again for ever.

    Replies with a `when` that fits the last user message go before those without. With
    `per_conversation`, every conversation (told apart by its first user message) starts anew.
    """

    def __init__(self, replies: Iterable[Reply], *, per_conversation: bool = False) -> None:
        self.replies = tuple(replies)
        assert self.replies, "a script without replies says nothing"
        self._per_conversation = per_conversation
        self._used: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def next(self, asked: Asked) -> Reply:
        """Return the reply to a request, and count it as said."""
        if any(
            words in text for words in SIDE_QUESTIONS for text in (asked.system, asked.last_user)
        ):
            return Reply(SIDE_ANSWER, usage=Usage(0, 0, 0))
        conversation = asked.users[0] if self._per_conversation and asked.users else ""
        with self._lock:
            used = self._used.setdefault(conversation, set())
            fitting = self._fitting(asked.last_user)
            if not fitting:
                return Reply(status=500, message=f"no reply is scripted for {asked.last_user!r}")
            index = next((index for index in fitting if index not in used), fitting[-1])
            used.add(index)
            return self.replies[index]

    def _fitting(self, last_user: str) -> list[int]:
        told = [(index, reply.when) for index, reply in enumerate(self.replies)]
        return [index for index, when in told if when is not None and when in last_user] or [
            index for index, when in told if when is None
        ]


def reply_from(fields: Mapping[str, Any] | str) -> Reply:
    """Return the reply that a script file describes; plain text is text."""
    if isinstance(fields, str):
        return Reply(fields)
    known = dict(fields)
    if "usage" in known:
        known["usage"] = Usage(**known["usage"])
    return Reply(**known)


def script_from(path: Path) -> Script:
    """Read a script: a list of replies, or `{"replies": [...], "per_conversation": true}`."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, list):
        content = {"replies": content}
    return Script(
        [reply_from(fields) for fields in content["replies"]],
        per_conversation=bool(content.get("per_conversation")),
    )
