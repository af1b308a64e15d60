"""The agent that is any program: a prompt goes in, files change, its exit code says little."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from decimal import Decimal

from planbound.engine.agents import AgentRules, Home
from planbound.engine.judging.outcome import Captured, Ending, Outcome
from planbound.ports.agent import Assignment, Dispatch, Usage, Worked
from planbound.ports.cell import Limits

USAGE = b"planbound-usage:"
"""How a line begins with which a program says what it used: `planbound-usage: {"tokens": 12}`."""
_PROMPT, _PROMPT_FILE = "{prompt}", "{prompt_file}"
_MAX_LINE = 10_000
_MOST = 10**12


class CommandAgent:
    """A program that is started for every attempt."""

    def __init__(self, rules: AgentRules, environment: Mapping[str, str]) -> None:
        self.rules = rules
        self.environment = environment
        """All of this process's: only what is named is passed on."""

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""
        return self.rules.name

    def work(self, assignment: Assignment) -> Worked:
        """Start the program in its cell, and wait for its end."""
        program = self._program(assignment.workspace)
        if program is None:
            reason = f"`{self.rules.command[0]}` is not installed: it is not on PATH"
            return Worked(Outcome(Ending.NOT_STARTED, reason=reason), error="not-installed")
        with self._prompt_file(assignment.prompt) as prompt_file:
            words = tuple(
                self._filled(word, assignment, prompt_file) for word in self.rules.command[1:]
            )
            is_told = any(
                place in word for word in self.rules.command for place in (_PROMPT, _PROMPT_FILE)
            )
            outcome = assignment.launch(
                Dispatch(
                    command=(program, *words),
                    environment=self._environment(assignment),
                    limits=Limits(seconds=assignment.seconds, memory=16 << 30, processes=4096),
                    network=self.rules.network,
                    home=self.environment.get("HOME") if self._passes_home else None,
                    stdin=b"" if is_told else assignment.prompt.encode("utf-8", "replace"),
                    exposed=tuple(self._exposed(program, prompt_file)),
                    meter=read_usage,
                )
            )
        return Worked(outcome, usage=_last_usage(outcome))

    @property
    def _passes_home(self) -> bool:
        return self.rules.home is Home.PASS

    def _program(self, workspace: str) -> str | None:
        word = self.rules.command[0]
        if os.sep in word:
            path = os.path.join(workspace, os.path.expanduser(word))
            return path if os.access(path, os.X_OK) and os.path.isfile(path) else None
        import shutil  # noqa: PLC0415 - start-up

        return shutil.which(word, path=self.environment.get("PATH"))

    def _exposed(self, program: str, prompt_file: str | None) -> Iterator[str]:
        yield os.path.dirname(os.path.realpath(program))
        for word in (program, *self.rules.command):
            if os.path.isabs(word) and os.path.exists(word):
                yield word
        if prompt_file is not None:
            yield os.path.dirname(prompt_file)

    def _environment(self, assignment: Assignment) -> dict[str, str]:
        passed = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", *self.rules.env)
        found = {name: self.environment[name] for name in passed if name in self.environment}
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TERM": "dumb",
            **found,
            "HOME": "{home}",
            "PLANBOUND_ATTEMPT": str(assignment.attempt),
        }

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


def _last_usage(outcome: Outcome) -> Usage:
    found = Usage()
    for stream in (outcome.stdout, outcome.stderr):
        for line in _lines(stream):
            found = read_usage(line) or found
    return found


def _lines(stream: Captured) -> list[bytes]:
    return (stream.head + stream.tail).split(b"\n") if stream.length else []
