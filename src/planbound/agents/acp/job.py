"""What the client in the cell is told: one object of JSON on its standard input."""

from __future__ import annotations

import enum
import json
from typing import NamedTuple


class Permissions(enum.Enum):
    """How the requests of an agent for permission are answered."""

    POLICY = "policy"
    """What stays in the workspace is allowed, and what names a place elsewhere is refused."""
    ALLOW = "allow"
    REJECT = "reject"


class Job(NamedTuple):
    """One turn of an agent."""

    command: tuple[str, ...]
    """The agent; the first word is the path of its program."""
    prompt: str
    """What it is told in a new session."""
    follow_up: str = ""
    """What it is told in the session that is gone on with."""
    session: str | None = None
    """The session to go on with, where the agent can."""
    model: str | None = None
    mode: str | None = None
    """The agent's name for the mode that it works in; None: its usual one."""
    authentication: str | None = None
    """The agent's name for the way to log in that is chosen; None: it is logged in already."""
    permissions: Permissions = Permissions.POLICY
    protected: tuple[str, ...] = ()
    """What in the workspace is not written to, seen from there."""
    commands: tuple[str, ...] | None = None
    """The programs that may be called; None: any."""

    def to_json(self) -> bytes:
        """Return it for the client's standard input."""
        fields = {**self._asdict(), "permissions": self.permissions.value}
        return json.dumps(fields).encode("ascii")


def read_job(text: bytes) -> Job:
    """Return a job as `to_json` wrote it."""
    fields = json.loads(text)
    return Job(
        **{
            **fields,
            "command": tuple(fields["command"]),
            "protected": tuple(fields["protected"]),
            "commands": None if fields["commands"] is None else tuple(fields["commands"]),
            "permissions": Permissions(fields["permissions"]),
        }
    )
