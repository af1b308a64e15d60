"""The tools as the model sees them. Their docstrings are what it is told about them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec.structs import replace
from pydantic_ai import RunContext, Tool

from planbound.agents.agent import Assignment
from planbound.agents.model import inside
from planbound.agents.program import Program
from planbound.agents.signs import is_credential
from planbound.cells.cell import Captured, CommandEnding, Outcome
from planbound.source import lazy_pattern
from planbound.workspace.agents import AgentRules, command_objection

# -- what the tools of the model do: each call is one command in the agent's cell ----------------


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
        self._program = Program(replace(rules, env=names, command=()), environment)
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
    if outcome.ending is CommandEnding.EXITED and not outcome.stdout.dropped:
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
        case CommandEnding.EXITED:
            return f"exit code {outcome.exit_code}"
        case CommandEnding.SIGNALLED:
            return f"ended by signal {outcome.signal}"
        case CommandEnding.TIMED_OUT:
            return f"timed out after {outcome.duration:.0f} seconds; everything of it was ended"
        case CommandEnding.EXHAUSTED | CommandEnding.NOT_STARTED | CommandEnding.STOPPED:
            return f"{outcome.ending.value}: {outcome.reason}"


def shortened(output: Captured) -> str:
    """Return the two ends of an output, and how much was cut out between them."""
    text = (output.head + output.tail).decode("utf-8", "replace")
    if len(text) <= inside.MOST and not output.dropped:
        return text
    head, tail = text[: inside.MOST // 3], text[-(inside.MOST * 2 // 3) :]
    cut = output.length - len(head.encode()) - len(tail.encode())
    return f"{head}\n[cut: about {max(cut, 0)} bytes]\n{tail}"


# -- the tools as the model sees them. Their docstrings are what it is told about them -----------


# Not `from __future__ import annotations`: the library reads the annotations.


Context = RunContext[Toolbox]


async def list_files(ctx: Context, path: str = ".", depth: int = 1) -> str:
    """List a folder of the workspace.

    Args:
        ctx: The attempt.
        path: The folder, seen from the workspace.
        depth: How many levels of folders are listed.
    """
    request = {"tool": "list", "path": path, "depth": depth}
    return ctx.deps.file(ctx.tool_call_id, f"lists {path}", request)


async def read(ctx: Context, path: str, start: int = 1, lines: int = 400) -> str:
    """Read lines of a text file, each with its number and a tab before it.

    Args:
        ctx: The attempt.
        path: The file, seen from the workspace.
        start: The number of the first line.
        lines: How many lines at most.
    """
    request = {"tool": "read", "path": path, "start": start, "lines": lines}
    return ctx.deps.file(ctx.tool_call_id, f"reads {path}", request)


async def search(ctx: Context, pattern: str, path: str = ".", glob: str = "") -> str:
    """Search the text files of the workspace for lines that a pattern matches.

    Args:
        ctx: The attempt.
        pattern: A regular expression, as Python knows them.
        path: A folder or a file to search in.
        glob: Only files with such a name, for example `*.py`.
    """
    request = {"tool": "search", "pattern": pattern, "path": path, "glob": glob}
    return ctx.deps.file(ctx.tool_call_id, f"searches for {pattern}", request)


async def edit(ctx: Context, path: str, old: str, new: str, *, everywhere: bool = False) -> str:
    """Replace a text in a file by another. It must be there exactly once.

    Args:
        ctx: The attempt.
        path: The file, seen from the workspace.
        old: What is there, exactly, with its indentation and without the numbers of its lines.
        new: What shall be there instead.
        everywhere: Replace it wherever it is, however often.
    """
    request = {"tool": "edit", "path": path, "old": old, "new": new, "everywhere": everywhere}
    return ctx.deps.file(ctx.tool_call_id, f"edits {path}", request)


async def write(ctx: Context, path: str, content: str) -> str:
    """Write a whole file, new or instead of the one that is there.

    Args:
        ctx: The attempt.
        path: The file, seen from the workspace.
        content: All of it.
    """
    request = {"tool": "write", "path": path, "content": content}
    return ctx.deps.file(ctx.tool_call_id, f"writes {path}", request)


async def shell(ctx: Context, command: str, seconds: float = SHELL_SECONDS) -> str:
    """Run a command line with bash in the workspace; nothing of it lives on when it ends.

    Args:
        ctx: The attempt.
        command: The command line. It has no terminal and no input.
        seconds: How long it may take.
    """
    return ctx.deps.shell(ctx.tool_call_id, command, seconds)


async def blocked(ctx: Context, reason: str) -> str:
    """Stop, because something is missing that is not in the workspace and that you cannot make.

    A credential, a service, a person's decision. Never because of tests that fail or code that is
    not there yet: that is the task. You are not called again.

    Args:
        ctx: The attempt.
        reason: What is missing, so that somebody who was not here understands it.
    """
    ctx.deps.block(reason)
    return ""


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "list": list_files,
    "read": read,
    "search": search,
    "edit": edit,
    "write": write,
    "shell": shell,
    "blocked": blocked,
}
_CALL_KEYS = r'["\'](?:name|tool|tool_name|function|action)["\']\s{0,8}:\s{0,8}["\']'
_MARKS = lazy_pattern(
    r"</?\|?tool_call|</?function_call|<function=|\[TOOL_CALLS?\]|<\|python_tag\|>|<tools?>\s*\{"
)
_CORRECTION = (
    "Nothing was done: your answer holds the call of a tool as text, which nobody reads. Call the"
    " tool itself, as the interface for tool calls wants it. If you are done, say so in plain"
    " words, without the call of a tool."
)


def miswritten_call(text: str) -> str | None:
    """Return what a model is told that answers with a call as text; None where it does not."""
    names = "|".join(_FUNCTIONS)
    arguments = r"[^{}]{0,200}[\"'](?:arguments|parameters|args|input|params)[\"']"
    as_object = lazy_pattern(rf"\{{\s{{0,20}}{_CALL_KEYS}(?:{names})[\"']{arguments}")
    as_code = lazy_pattern(rf"\s*(?:`{{3}}\w*\s+)?(?:\w+\.)?(?:{names})\([^\n]*\)\s*(?:`{{3}}\s*)?")
    if _MARKS.search(text) or as_object.search(text) or as_code.fullmatch(text):
        return _CORRECTION
    return None


def tools_for(names: Collection[str]) -> list[Tool[Toolbox]]:
    """Return the tools of these names."""
    return [
        Tool(function, name=name, takes_ctx=True, sequential=True)
        for name, function in _FUNCTIONS.items()
        if name in names
    ]
