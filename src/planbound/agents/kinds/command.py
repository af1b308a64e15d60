"""The agent that is any program: a prompt goes in, files change, its exit code says little."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from planbound.agents.agent import Assignment, Usage, Worked
from planbound.agents.cli import PrintedLines
from planbound.agents.kind import Kind
from planbound.agents.program import Program, not_installed
from planbound.errors import ConfigurationError
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules

USAGE = b"planbound-usage:"
"""How a line begins with which a program says what it used: `planbound-usage: {"tokens": 12}`."""
_PROMPT, _PROMPT_FILE = "{prompt}", "{prompt_file}"
_MAX_LINE = 10_000
_MOST = 10**12


class CommandAgent:
    """A program that is started for every attempt."""

    def __init__(self, rules: AgentRules, environment: Mapping[str, str]) -> None:
        if not rules.command:
            raise ConfigurationError(
                f"`agents.{rules.name}` has no `command`",
                hint='write `command = ["my-agent", "--prompt", "{prompt}"]`',
            )
        self.rules = rules
        self.program = Program(rules, environment)

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""
        return self.rules.name

    def work(self, assignment: Assignment) -> Worked:
        """Start the program in its cell, and wait for its end."""
        if (trouble := self.program.trouble()) is not None:
            return trouble
        word = self.rules.command[0]
        path = self.program.find(word, assignment.workspace)
        if path is None:
            return not_installed(word)
        meter = _Meter(assignment.printed)
        with self._prompt_file(assignment.prompt) as prompt_file:
            words = (self._filled(word, assignment, prompt_file) for word in self.rules.command[1:])
            is_told = any(
                place in word for word in self.rules.command for place in (_PROMPT, _PROMPT_FILE)
            )
            outcome = assignment.launch(
                self.program.dispatch(
                    assignment,
                    (path, *words),
                    own={},
                    stdin=b"" if is_told else assignment.prompt.encode("utf-8", "replace"),
                    exposed=() if prompt_file is None else (os.path.dirname(prompt_file),),
                    hear=meter.hear,
                )
            )
        return Worked(outcome, usage=meter.usage)

    def _filled(self, word: str, assignment: Assignment, prompt_file: str | None) -> str:
        # What was filled in is not looked through again: a prompt may speak of `{workspace}`.
        places = {
            _PROMPT: assignment.prompt,
            _PROMPT_FILE: prompt_file or "",
            "{workspace}": assignment.workspace,
            "{attempt}": str(assignment.attempt),
        }
        filled, rest = "", word
        while rest:
            found = [(rest.find(name), name) for name in places if name in rest]
            if not found:
                return filled + rest
            start, name = min(found)
            filled += rest[:start] + places[name]
            rest = rest[start + len(name) :]
        return filled

    @contextlib.contextmanager
    def _prompt_file(self, prompt: str) -> Iterator[str | None]:
        if not any(_PROMPT_FILE in word for word in self.rules.command):
            yield None
            return
        import tempfile  # noqa: PLC0415 - start-up

        with tempfile.TemporaryDirectory(prefix="planbound-prompt-") as folder:
            path = os.path.join(folder, "prompt.md")
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(prompt)
            yield path


def read_usage(line: bytes) -> Usage | None:
    """Return what a line of output says about what was used so far."""
    if not line.startswith(USAGE) or len(line) > _MAX_LINE:
        return None
    try:
        said = json.loads(line[len(USAGE) :])
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    tokens, dollars = _amount(said.get("tokens")), _amount(said.get("dollars"))
    return Usage(
        tokens=None if tokens is None else int(tokens),
        dollars=None if dollars is None else Decimal(str(dollars)),
    )


def _amount(value: object) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < _MOST else None


class _Meter:
    """Remembers what was said last about what was used, and passes on all else."""

    def __init__(self, printed: Callable[[str], None]) -> None:
        self.usage = Usage()
        # What floods one stream hides nothing of the other.
        self._printed = {stream: PrintedLines(printed) for stream in Stream}

    def hear(self, stream: Stream, line: bytes) -> Usage | None:
        """Take a line of output."""
        if (said := read_usage(line)) is None:
            self._printed[stream].add(line[:_MAX_LINE].decode("utf-8", "replace"))
            return None
        self.usage = said
        return said


KIND = Kind("command", "any program or script", CommandAgent)
