"""Starts a cell, drains its output, and waits until everything in it is dead."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator

import planbound
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.errors import CellProblem
from planbound.plan.model import Stream
from planbound.ports.cell import Overseer, Request
from planbound.shell.cell.inside.order import Order, Report
from planbound.shell.cell.output import Ring

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(planbound.__file__)))
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


def launcher(order: int, report: int) -> list[str]:
    """Return the command that starts a cell's own process."""
    return python_that(
        f"from planbound.shell.cell.inside.launch import main; main({order}, {report})"
    )


def python_that(code: str) -> list[str]:
    """Return the command of an interpreter for a line of our own code."""
    start = f"import sys; sys.path.append({_PACKAGES!r}); {code}"
    # Isolated, and without site-packages: nothing that a user installed runs here.
    return [sys.executable, "-I", "-S", "-c", start]


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
        self.rings = {stream: Ring(request.needles) for stream in Stream}
        with contextlib.ExitStack() as stack:
            leash, self.leash = os.pipe2(os.O_CLOEXEC)
            stack.callback(os.close, leash)
            stdin = given_input(request.stdin)
            if stdin is not None:
                stack.callback(os.close, stdin)
            self.order = order.but(stdin=stdin, leash=leash, harness=os.getpid())
            given = _memory_file(self.order.encode())
            stack.callback(os.close, given)
            self.report, report = os.pipe2(os.O_CLOEXEC)
            stack.callback(os.close, report)
            pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
            for _, writing in pipes:
                stack.callback(os.close, writing)
            self.outputs = [reading for reading, _ in pipes]
            for reading in self.outputs:
                _widen(reading)
            try:
                self.process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                    [*before, *launcher(given, report)],
                    stdin=subprocess.DEVNULL,
                    stdout=pipes[0][1],
                    stderr=pipes[1][1],
                    pass_fds=(given, report, leash, *(() if stdin is None else (stdin,))),
                    start_new_session=True,
                    env={"LC_ALL": "C.UTF-8"},
                    cwd="/",
                )
            except OSError as error:
                self.close()
                raise CellProblem(f"a cell cannot be started: {error.strerror}") from error

    def finish(self) -> Outcome:
        """Wait for the end; kill everything where this is interrupted."""
        start = time.monotonic()
        try:
            said = self._drain(start + self.order.timeout + _GRACE)
        except BaseException:
            self._kill()
            raise
        finally:
            self.close()
        return self._outcome(said, time.monotonic() - start)

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

        Whoever waits for that one is our child, and ends when all of them are dead.
        """
        self._let_go()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_PATIENCE)
        self.process.kill()
        self.process.wait()
        # Its first process in the namespace holds the report open until it is dead.
        with contextlib.suppress(OSError):
            while os.read(self.report, _PIPE):
                pass

    def _let_go(self) -> None:
        if self.leash >= 0:
            os.close(self.leash)
        self.leash = -1

    def close(self) -> None:
        """Close the pipes."""
        self._let_go()
        for descriptor in (self.report, *self.outputs):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _outcome(self, said: bytes, elapsed: float) -> Outcome:
        stdout, stderr = (self.rings[stream].captured() for stream in Stream)
        if self.stopped is not None:
            return Outcome(
                ending=Ending.STOPPED,
                duration=elapsed,
                stdout=stdout,
                stderr=stderr,
                reason=self.stopped,
            )
        try:
            report = Report.decode(said)
        except ValueError:
            if self.process.returncode > 0:  # whoever was to make the cell gave up
                raise CellProblem(f"no cell could be made: {stderr.text().strip()[:500]}") from None
            return Outcome(
                ending=Ending.EXHAUSTED,
                duration=elapsed,
                stdout=stdout,
                stderr=stderr,
                reason="the cell itself was killed",
            )
        if not report.made:
            raise CellProblem(f"no cell could be made: {report.reason}")
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
        )


def run_order(
    order: Order, request: Request, overseer: Overseer | None, before: tuple[str, ...] = ()
) -> Outcome:
    """Run a cell to its end; `before` is a program that starts the cell's own process."""
    return Started(order, request, overseer, before).finish()


def _ending(report: Report) -> tuple[Ending, int | None, int | None]:
    if not report.started:
        return Ending.NOT_STARTED, None, None
    if report.ended != "exited":
        timed_out = report.ended == "timed out"
        return (Ending.TIMED_OUT if timed_out else Ending.EXHAUSTED), None, None
    assert report.status is not None
    if os.WIFSIGNALED(report.status):
        return Ending.SIGNALLED, None, os.WTERMSIG(report.status)
    return Ending.EXITED, os.waitstatus_to_exitcode(report.status), None


def given_input(data: bytes) -> int | None:
    """Return a descriptor that the data can be read from; None where there is none."""
    return _memory_file(data) if data else None


def _memory_file(data: bytes) -> int:
    """Return a file that is only in memory, and that nobody can write to any more."""
    import fcntl  # noqa: PLC0415 - only where a cell runs

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
    import fcntl  # noqa: PLC0415 - only where a cell runs

    with contextlib.suppress(OSError):  # a user has only so much of this
        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _PIPE)


def rest(descriptor: int) -> Iterator[bytes]:
    """Yield what is still in a pipe, without waiting for anybody who might hold it."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, _PIPE):
            yield data
