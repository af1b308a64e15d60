"""Starts a cell, drains its output, and waits until everything in it is dead."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import selectors
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from planbound.cells import launcher
from planbound.cells.cell import Captured, CommandEnding, Outcome, Overseer, Request
from planbound.cells.inside.order import Order, Report
from planbound.cells.launcher import CellEnds
from planbound.errors import CellProblem
from planbound.plan.model import Stream

if TYPE_CHECKING:
    from planbound.cells.egress import Destination
    from planbound.cells.proxy import Proxy

# -- output of a command: read as fast as it comes, kept at both ends ----------------------------


HEAD = 64 << 10
TAIL = 192 << 10


class BoundedOutput:
    """Takes a stream of any length and keeps a fixed amount of it."""

    def __init__(self, needles: tuple[bytes, ...] = ()) -> None:
        self._hash = hashlib.sha256()
        self._head = bytearray()
        self._tail = bytearray()
        self._length = 0
        self._needles = set(needles)
        self._found: set[bytes] = set()
        self._overlap = max((len(needle) for needle in needles), default=1) - 1
        self._last = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        self._hash.update(data)
        self._length += len(data)
        if self._needles:
            self._search(data)
        room = HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= TAIL:
            self._tail[:] = data[-TAIL:]
        elif data:
            self._tail += data
            # Cut only now and then: moving the rest at every small piece would cost more.
            if len(self._tail) > 2 * TAIL:
                del self._tail[:-TAIL]

    def _search(self, data: bytes) -> None:
        window = self._last + data
        for needle in tuple(self._needles):
            if needle in window:
                self._needles.discard(needle)
                self._found.add(needle)
        self._last = window[-self._overlap :] if self._overlap else b""

    def captured(self) -> Captured:
        """Return what is kept, and what is known of the whole."""
        return Captured(
            head=bytes(self._head),
            tail=bytes(self._tail[-TAIL:]),
            length=self._length,
            sha256=self._hash.hexdigest(),
            found=frozenset(self._found),
        )


# -- starts a cell, drains its output, and waits until everything in it is dead ------------------


_PIPE = 1 << 20
_GRACE = 30.0
"""How long a cell may need beyond its command's limit: to start, and to end everything."""
LOOK = 0.1
"""How often an overseer is asked, in seconds."""
_PATIENCE = 15.0
"""How long a cell that is let go may take to end everything."""
_F_SETPIPE_SZ = 1031
_F_ADD_SEALS = 1033
_ALL_SEALS = 0b1111


_Process = TypeVar("_Process")


class Started:
    """A cell that runs: its process, its pipes."""

    def __init__(
        self,
        order: Order,
        request: Request,
        overseer: Overseer | None,
        before: tuple[str, ...],
    ) -> None:
        self.overseer = overseer
        self.stopped: str | None = None
        """Why the overseer ended it."""
        self.rings = {stream: BoundedOutput(request.needles) for stream in Stream}
        self.timeout = order.timeout
        self.proxy = _proxy(request.egress)
        self.leash = self.report = -1
        self.outputs: list[int] = []
        try:
            process = None if before else self._start(order, request.stdin, launcher.forked)
            if process is None:
                afresh = partial(launcher.fresh, before)
                process = self._start(order, request.stdin, afresh)
            self.process = process
            if self.proxy is not None:
                self.proxy.cell_end.close()
                self.proxy.start()
        except BaseException:
            # It may have been started a moment ago; then it ends now, and all that it started.
            self._let_go()
            # Not for ever: a launcher that does not answer may hold the report, and begins nothing.
            if self.report >= 0 and launcher.is_ready(self.report, _PATIENCE):
                self._await_report()
            self.close()
            raise

    def _start(self, order: Order, stdin: bytes, how: Callable[[CellEnds], _Process]) -> _Process:
        """Start its first process in one of two ways, with pipes that nobody else has had.

        A launcher that does not answer may still have what it was given.
        """
        self._close_pipes()
        with contextlib.ExitStack() as theirs:
            leash, self.leash = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, leash)
            self.report, report = os.pipe2(os.O_CLOEXEC)
            theirs.callback(os.close, report)
            outputs: list[int] = []
            for _ in Stream:
                reading, writing = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, writing)
                self.outputs.append(reading)
                outputs.append(writing)
                _widen(reading)
            given = _memory_file(order.encode())
            theirs.callback(os.close, given)
            source = -1
            if stdin:
                source = _memory_file(stdin)
                theirs.callback(os.close, source)
            egress = -1 if self.proxy is None else self.proxy.cell_end.fileno()
            try:
                return how(CellEnds(given, report, leash, outputs[0], outputs[1], source, egress))
            except OSError as error:
                raise CellProblem(f"a cell cannot be started: {error.strerror}") from error

    def finish(self) -> Outcome:
        """Wait for the end; kill everything where this is interrupted."""
        begun = time.monotonic()
        try:
            said = self._drain(begun + self.timeout + _GRACE)
        except BaseException:
            self._kill()
            raise
        finally:
            self.close()
            self.process.close()
        traffic = () if self.proxy is None else self.proxy.traffic()
        return self._outcome(said, time.monotonic() - begun)._replace(traffic=traffic)

    def _drain(self, deadline: float) -> bytes:
        """Read output and report; return the report when all that could write is gone."""
        said = bytearray()
        with selectors.DefaultSelector() as selector:
            for reading, stream in zip(self.outputs, Stream, strict=True):
                selector.register(reading, selectors.EVENT_READ, stream)
            selector.register(self.report, selectors.EVENT_READ, None)
            reported = False
            # The report is closed when the last process that is not the command's has ended, and
            # by then everything of the command's is dead: no pipe of output is waited for.
            while not reported:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._kill()
                left = min(left, LOOK) if self.overseer else left
                for key, _ in selector.select(max(0.0, left)):
                    data = os.read(key.fd, _PIPE)
                    if key.data is not None and data:
                        self._take(key.data, data)
                    elif data:
                        said += data
                    else:
                        selector.unregister(key.fd)
                        reported = reported or key.data is None
                if not reported and self._has_to_stop():
                    self._kill()
                    break
        self.process.wait()
        for reading, stream in zip(self.outputs, Stream, strict=True):
            for data in rest(reading):
                self._take(stream, data)
        return bytes(said)

    def _take(self, stream: Stream, data: bytes) -> None:
        self.rings[stream].feed(data)
        if self.overseer is not None:
            self.overseer.saw(stream, data)

    def _has_to_stop(self) -> bool:
        self.stopped = (self.overseer and self.overseer.stop()) or None
        return self.stopped is not None

    def _kill(self) -> None:
        """Let go of the cell: its own process ends its family, and then itself.

        Whoever waits for that one ends when all of them are dead.
        """
        self._let_go()
        self.process.wait(_PATIENCE)
        self.process.kill()
        self.process.wait()
        # Its first process in the namespace holds the report open until it is dead.
        self._await_report()

    def _await_report(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(self.report, _PIPE):
                pass

    def _let_go(self) -> None:
        if self.leash >= 0:
            os.close(self.leash)
        self.leash = -1

    def close(self) -> None:
        """Close the pipes, and the way out."""
        self._close_pipes()
        if self.proxy is not None:
            self.proxy.stop()

    def _close_pipes(self) -> None:
        self._let_go()
        for descriptor in (self.report, *self.outputs):
            if descriptor >= 0:
                os.close(descriptor)
        self.report, self.outputs = -1, []

    def _outcome(self, said: bytes, elapsed: float) -> Outcome:
        stdout, stderr = (self.rings[stream].captured() for stream in Stream)
        if self.stopped is not None:
            return Outcome(
                ending=CommandEnding.STOPPED,
                duration=elapsed,
                stdout=stdout,
                stderr=stderr,
                reason=self.stopped,
            )
        try:
            report = Report.decode(said)
        except ValueError:
            if self.process.gave_up():
                raise CellProblem(f"no cell could be made: {stderr.text().strip()[:500]}") from None
            return Outcome(
                ending=CommandEnding.EXHAUSTED,
                duration=elapsed,
                stdout=stdout,
                stderr=stderr,
                reason="the cell itself was killed",
                could_meet=True,
            )
        if not report.made:
            raise CellProblem(f"no cell could be made: {report.reason}")
        if report.refused:
            _refusals.add(report.refused)
        ending, code, number = _ending(report)
        return Outcome(
            ending=ending,
            exit_code=code,
            signal=number,
            duration=report.duration,
            stdout=stdout,
            stderr=stderr,
            leftovers=report.leftovers,
            written=report.written,
            written_count=report.written_count,
            trespassed=report.trespassed,
            collected=dict(report.collected),
            reason=report.reason,
            could_meet=report.could_meet or bool(report.refused),
        )


_refusals: set[str] = set()


def unheard() -> str:
    """Return why nobody here hears of calls by which cells can meet; empty: as far as is known."""
    return ", ".join(sorted(_refusals))


def _proxy(allowed: tuple[Destination, ...] | None) -> Proxy | None:
    if allowed is None:
        return None
    from planbound.cells.proxy import Proxy  # noqa: PLC0415 - loads asyncio

    return Proxy(allowed)


def run_order(
    order: Order, request: Request, overseer: Overseer | None, before: tuple[str, ...] = ()
) -> Outcome:
    """Run a cell to its end; `before` is a program that starts the cell's own process."""
    return Started(order, request, overseer, before).finish()


def _ending(report: Report) -> tuple[CommandEnding, int | None, int | None]:
    if not report.started:
        return CommandEnding.NOT_STARTED, None, None
    if report.ended != "exited":
        timed_out = report.ended == "timed out"
        return (CommandEnding.TIMED_OUT if timed_out else CommandEnding.EXHAUSTED), None, None
    assert report.status is not None
    if os.WIFSIGNALED(report.status):
        return CommandEnding.SIGNALLED, None, os.WTERMSIG(report.status)
    return CommandEnding.EXITED, os.waitstatus_to_exitcode(report.status), None


def _memory_file(data: bytes) -> int:
    """Return a file that is only in memory, and that nobody can write to any more."""
    descriptor = os.memfd_create("planbound", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[os.write(descriptor, unwritten) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, _F_ADD_SEALS, _ALL_SEALS)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _widen(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # a user has only so much of this
        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _PIPE)


def rest(descriptor: int) -> Iterator[bytes]:
    """Yield what is still in a pipe, without waiting for anybody who might hold it."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, _PIPE):
            yield data
