"""What ends the work of a run early: a person, a lost lease, a limit."""

from __future__ import annotations

from collections.abc import Callable

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Outcome
from planbound.plan.model import Stream
from planbound.ports.agent import Usage
from planbound.ports.cell import Cell, Overseer, Request

FLOODED = "flooded its output"
_LONGEST_LINE = 8 << 20
_MOST_PRINTED = 256 << 20
_MOST_LINES = 2_000_000


class Control:
    """Says to all threads of a run whether they have to stop, and why."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def stop(self, reason: str) -> None:
        """Ask everything to end; the first reason counts."""
        if self.reason is None:
            self.reason = reason

    def stopped(self) -> str | None:
        """Return why everything has to end; None where it need not."""
        return self.reason


class Watch:
    """Watches an agent: what it says, what it uses, and whether it has to end."""

    def __init__(
        self,
        control: Control,
        hear: Callable[[Stream, bytes], Usage | None] | None,
        over: Callable[[Usage], str | None],
    ) -> None:
        self.control = control
        self.hear = hear
        self.over = over
        self.excess: str | None = None
        self._rest = {Stream.STDOUT: b"", Stream.STDERR: b""}
        self._dropping: set[Stream] = set()
        self._printed = self._lines = 0

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take the output line by line."""
        self._printed += len(data)
        self._lines += data.count(b"\n")
        if self.excess is None and self._printed > _MOST_PRINTED:
            self.excess = f"{FLOODED}: more than {_MOST_PRINTED >> 20} MB"
        if self.excess is None and self._lines > _MOST_LINES:
            self.excess = f"{FLOODED}: more than {_MOST_LINES:,} lines"
        if self.hear is None or self.excess is not None:
            return
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            # The end of a line whose beginning was too long to be kept.
            if stream in self._dropping:
                self._dropping.discard(stream)
            else:
                self._heard(stream, line)
        if len(rest) > _LONGEST_LINE:
            self._dropping.add(stream)
        self._rest[stream] = b"" if stream in self._dropping else rest

    def finish(self) -> None:
        """Take what was printed last, without the end of a line."""
        for stream, rest in self._rest.items():
            if rest and self.hear is not None:
                self._heard(stream, rest)

    def _heard(self, stream: Stream, line: bytes) -> None:
        assert self.hear is not None
        usage = self.hear(stream, line.removesuffix(b"\r"))
        if usage is not None and self.excess is None:
            self.excess = self.over(usage)

    def stop(self) -> str | None:
        """Return why the agent has to end now."""
        return self.control.reason or self.excess


class _Stoppable:
    """Lets a contract end when everything has to."""

    def __init__(self, control: Control) -> None:
        self.control = control

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take no notice."""

    def stop(self) -> str | None:
        """Return why it has to end now."""
        return self.control.reason


class ControlledCell:
    """A cell whose commands end when the run has to, and show a copy at the original's place."""

    def __init__(self, cell: Cell, control: Control, shown_at: str | None = None) -> None:
        self.cell = cell
        self.overseer = _Stoppable(control)
        self.shown_at = shown_at

    @property
    def name(self) -> str:
        """Return what it is made of."""
        return self.cell.name

    @property
    def isolation(self) -> Isolation:
        """Return the level that it reaches."""
        return self.cell.isolation

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command."""
        if self.shown_at is not None:
            request = request._replace(shown_at=self.shown_at)
        return self.cell.run(request, overseer or self.overseer)
