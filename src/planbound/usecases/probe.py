"""Try whether an agent can do anything at all: start, edit a file, and be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from planbound.engine.judging.outcome import Ending
from planbound.errors import Refused
from planbound.ports.agent import Agent, Usage
from planbound.usecases.conversation import Conversation, Room, trouble_of

FILE = "probe.txt"
_EDIT = """\
Write the one word `{word}` into the file `{file}` in this folder, with an end of line, and do
nothing else. The file is not there yet.
"""
_WAIT = """\
Run the command `sleep 600` in this folder, wait until it has ended, and then say that it has.
"""
_STOP_AFTER = 4.0


class Finding(NamedTuple):
    """One part of a probe."""

    what: str
    """`speaks`, `starts`, `edits` or `stops`."""
    trouble: str | None
    """None: it can."""
    note: str = ""


class Probed(NamedTuple):
    """What came of probing one agent."""

    name: str
    findings: tuple[Finding, ...]
    usage: Usage

    @property
    def is_fit(self) -> bool:
        """Whether it can be given a step."""
        return all(finding.trouble is None for finding in self.findings)


def probe(agent: Agent, room: Room, word: str, read: Callable[[], bytes | None]) -> Probed:
    """Try an agent in a scratch repository; `read` returns what is in the file there."""
    talk = Conversation(agent, room)
    findings = tuple(_findings(talk, word, read))
    return Probed(agent.name, findings, talk.spent)


def _findings(talk: Conversation, word: str, read: Callable[[], bytes | None]) -> Iterator[Finding]:
    try:
        worked = talk.work(_EDIT.format(word=word, file=FILE))
    except Refused as problem:
        yield Finding("starts", problem.message)
        return
    outcome = worked.outcome
    if outcome.ending is Ending.NOT_STARTED:
        yield Finding("starts", outcome.reason)
        return
    yield Finding("starts", None, f"{outcome.duration:.1f} s")
    found = read()
    if found is None or found.split() != [word.encode()]:
        trouble = trouble_of(worked) or "it ended in peace"
        what = "is not there" if found is None else "holds something else"
        yield Finding("edits", f"{trouble}, and `{FILE}` {what}")
        return
    yield Finding("edits", None)
    yield _stop(talk)


def _stop(talk: Conversation) -> Finding:
    """Give it something long to do, and end it in the middle."""
    timer = threading.Timer(_STOP_AFTER, talk.control.stop, ["the probe is over"])
    timer.daemon = True
    timer.start()
    try:
        outcome = talk.work(_WAIT).outcome
    finally:
        timer.cancel()
    if outcome.ending is Ending.STOPPED:
        return Finding("stops", None, f"after {outcome.duration:.1f} s, nothing of it is left")
    if outcome.ending is Ending.EXITED:
        return Finding("stops", None, f"it ended by itself after {outcome.duration:.1f} s")
    return Finding("stops", outcome.reason or outcome.ending.value)
