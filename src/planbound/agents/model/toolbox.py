"""What the tools of the model do: each call is one command in the agent's cell."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping

from planbound.agents.model import inside
from planbound.agents.program import Program
from planbound.engine.agents import AgentRules
from planbound.engine.command_limit import command_objection
from planbound.engine.judging.outcome import Captured, Ending, Outcome
from planbound.engine.recovery.credential import is_credential
from planbound.ports.agent import Assignment

SHELL_SECONDS = 120.0
MOST_SECONDS = 1800.0
MOST_ALIKE = 3
"""So many calls in a row that are the same, and the attempt ends before the last one is made."""
_FILE_SECONDS = 60.0
_LEAST = 0.5
_NOTE = 120
# Both streams in one, in the order in which they were written; what it runs is its argument.
_MERGED = 'exec "$0" -c "$1" 2>&1'


class HaltedError(Exception):
    """The attempt has to end, in the middle of a tool."""


class BlockedError(Exception):
    """The model says that the task cannot be done."""


class RepeatedError(Exception):
    """The model makes the same call again and again."""


class Toolbox:
    """Runs tools for one attempt, and remembers what they answered."""

    def __init__(
        self,
        assignment: Assignment,
        rules: AgentRules,
        environment: Mapping[str, str],
        deadline: float,
    ) -> None:
        names = tuple(name for name in rules.env if not is_credential(name))
        self.assignment = assignment
        self.deadline = deadline
        self.remember: Callable[[str, str], None] = lambda call, answer: None  # noqa: ARG005
        """Takes the id of a call, and its answer."""
        # A credential is for the model's service, which is asked from outside of the cell.
        self._program = Program(rules._replace(env=names, command=()), environment)
        self._environment = environment
        self._last = ""
        self._times = 0

    def file(self, call: str | None, note: str, request: Mapping[str, object]) -> str:
        """Run one of the file tools."""
        self._compare(json.dumps(request, sort_keys=True), note)
        python = os.path.realpath(sys.executable)
        outcome = self._launch(
            note,
            (python, "-I", "-S", os.path.abspath(inside.__file__)),
            seconds=_FILE_SECONDS,
            stdin=json.dumps(request).encode(),
        )
        return self._done(call, _answer(outcome))

    def shell(self, call: str | None, command: str, seconds: float) -> str:
        """Run a command line; return how it ended, and the ends of what it printed."""
        self._compare(json.dumps([command, seconds]), f"runs {command}")
        bash = self._program.find("bash", self.assignment.workspace) or "/bin/sh"
        if "\0" in command:
            return self._done(call, "refused: the command has a zero byte in it")
        role = self.assignment.role
        if role is not None and role.commands is not None:
            why = command_objection(command, role.commands)
            if why is not None:
                self._note(f"may not run {command}")
                return self._done(call, f"refused: {why}")
        outcome = self._launch(
            f"runs {command}",
            (bash, "-c", _MERGED, bash, command),
            seconds=min(max(seconds, 1.0), MOST_SECONDS),
        )
        return self._done(call, f"[{_ended(outcome)}]\n{shortened(outcome.stdout)}".rstrip())

    def block(self, reason: str) -> None:
        """End the attempt, because the model cannot do the task."""
        self._note(f"is blocked: {reason}")
        raise BlockedError(reason)

    def _compare(self, call: str, note: str) -> None:
        """End the attempt where a call is made for the third time in a row."""
        self._times = self._times + 1 if call == self._last else 1
        self._last = call
        if self._times >= MOST_ALIKE:
            what = " ".join(note.split())[:_NOTE]
            raise RepeatedError(
                f"the model made the same call {self._times} times in a row: {what}"
            )

    def _done(self, call: str | None, answer: str) -> str:
        answer = plain(answer)
        if call is not None:
            self.remember(call, answer)
        if self.assignment.stopped() is not None or time.monotonic() >= self.deadline:
            raise HaltedError
        return answer

    def _launch(
        self, note: str, command: tuple[str, ...], *, seconds: float, stdin: bytes = b""
    ) -> Outcome:
        self._note(note)
        left = max(self.deadline - time.monotonic(), _LEAST)
        dispatch = self._program.dispatch(
            self.assignment,
            command,
            own={},
            stdin=stdin,
            exposed=(sys.base_prefix, os.path.abspath(inside.__file__)),
        )
        limits = dispatch.limits._replace(seconds=min(seconds, left))
        return self.assignment.launch(dispatch._replace(limits=limits))

    def _note(self, text: str) -> None:
        self.assignment.note(" ".join(text.split())[:_NOTE])


def plain(text: str) -> str:
    """Return a text that can be sent and stored: a file's name need not be UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _answer(outcome: Outcome) -> str:
    """Return what a file tool says; what it prints is data, whoever printed it."""
    if outcome.ending is Ending.EXITED and not outcome.stdout.dropped:
        try:
            said = json.loads(outcome.stdout.head + outcome.stdout.tail)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict):
            if isinstance(refused := said.get("refused"), str):
                return f"refused: {refused}"
            if isinstance(text := said.get("text"), str):
                return text
    trouble = shortened(outcome.stderr)[-500:]
    return f"refused: the tool did not come to its end ({_ended(outcome)}) {trouble}".rstrip()


def _ended(outcome: Outcome) -> str:
    match outcome.ending:
        case Ending.EXITED:
            return f"exit code {outcome.exit_code}"
        case Ending.SIGNALLED:
            return f"ended by signal {outcome.signal}"
        case Ending.TIMED_OUT:
            return f"timed out after {outcome.duration:.0f} seconds; everything of it was ended"
        case Ending.EXHAUSTED | Ending.NOT_STARTED | Ending.STOPPED:
            return f"{outcome.ending.value}: {outcome.reason}"


def shortened(output: Captured) -> str:
    """Return the two ends of an output, and how much was cut out between them."""
    text = (output.head + output.tail).decode("utf-8", "replace")
    if len(text) <= inside.MOST and not output.dropped:
        return text
    head, tail = text[: inside.MOST // 3], text[-(inside.MOST * 2 // 3) :]
    cut = output.length - len(head.encode()) - len(tail.encode())
    return f"{head}\n[cut: about {max(cut, 0)} bytes]\n{tail}"
