"""Starts a cell, drains its output, and waits until everything in it is dead."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable

import planbound
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.errors import CellProblem
from planbound.ports.cell import Request
from planbound.shell.cell.inside.order import ROOMS, Order, Report
from planbound.shell.cell.output import Ring

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(planbound.__file__)))
_PIPE = 1 << 20
_GRACE = 30.0
"""How long a cell may need beyond its command's limit: to start, and to end everything."""
_F_SETPIPE_SZ = 1031


def launcher(order: int, report: int) -> list[str]:
    """Return the command that starts a cell's own process."""
    start = (
        f"import sys; sys.path.append({_PACKAGES!r}); "
        "from planbound.shell.cell.inside.launch import main; "
        f"main({order}, {report})"
    )
    # Isolated, and without site-packages: nothing that a user installed runs here.
    return [sys.executable, "-I", "-S", "-c", start]


def order_for(request: Request, *, level: str, workspace: str, scratch: str, home: str) -> Order:
    """Return what the cell's own process is told."""
    limits = request.limits
    places = {"{workspace}": workspace, "{home}": os.path.realpath(home)}
    kept = protected_paths(workspace, request.read_only) if request.writable else []
    absent = protected_paths(workspace, request.absent) if request.writable else []
    return Order(
        level=level,
        command=request.command,
        environment={name: _filled(value, places) for name, value in request.environment.items()},
        folder=workspace,
        workspace=workspace,
        scratch=scratch,
        timeout=limits.seconds,
        memory=limits.memory,
        processes=limits.processes,
        file_size=limits.file_size,
        temporary=limits.temporary,
        inodes=limits.inodes,
        network=request.network,
        stand_in=None,
        writable=request.writable,
        lay=tuple((item.path, item.content, item.mode) for item in request.lay),
        remove=request.remove,
        pinned=tuple(_above(workspace, (*kept, *absent))),
        read_only=tuple(kept),
        absent=tuple(absent),
        masked=tuple(dict.fromkeys(os.path.realpath(path) for path in request.masked)),
        exposed=tuple(in_rooms(request.exposed)),
        home=request.home and os.path.realpath(request.home),
        watched=request.watched,
        collect=request.collect,
    )


def in_rooms(paths: Iterable[str]) -> list[str]:
    """Return what lies in a folder that a cell has of its own.

    Everything else can be read anyway; and `/` over the cell's own root would bury its rooms.
    """
    real = dict.fromkeys(os.path.realpath(path) for path in paths)
    return [path for path in real if any(path.startswith(f"{room}/") for room in ROOMS)]


def protected_paths(workspace: str, names: tuple[str, ...]) -> list[str]:
    """Return what names of the workspace are really, where that is in the workspace and there.

    A link cannot be protected, only what it leads to; that it was replaced is seen afterwards.
    """
    real = (os.path.realpath(os.path.join(workspace, name)) for name in names)
    return [
        path
        for path in dict.fromkeys(real)
        if path.startswith(workspace + os.sep) and os.path.exists(path)
    ]


def _above(workspace: str, paths: tuple[str, ...]) -> list[str]:
    """Return the folders between the workspace and the paths, the upper ones first."""
    found: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder != workspace and folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return sorted(found)


def _filled(value: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        value = value.replace(name, path)
    return value


class Started:
    """A cell that runs: its process, its three pipes."""

    def __init__(self, order: Order, needles: tuple[bytes, ...], before: tuple[str, ...]) -> None:
        self.order = order
        self.rings = (Ring(needles), Ring(needles))
        with contextlib.ExitStack() as stack:
            given = os.memfd_create("planbound-order")
            stack.callback(os.close, given)
            os.write(given, b"")
            _write_all(given, order.encode())
            os.lseek(given, 0, os.SEEK_SET)
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
                    pass_fds=(given, report),
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
            for reading, ring in zip(self.outputs, self.rings, strict=True):
                selector.register(reading, selectors.EVENT_READ, ring)
            selector.register(self.report, selectors.EVENT_READ, None)
            reported = False
            # The report is closed when the last process that is not the command's has ended, and
            # by then everything of the command's is dead: no pipe of output is waited for.
            while not reported:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._kill()
                for key, _ in selector.select(max(0.0, left)):
                    data = os.read(key.fd, _PIPE)
                    if key.data is not None and data:
                        key.data.feed(data)
                    elif data:
                        said += data
                    else:
                        selector.unregister(key.fd)
                        reported = reported or key.data is None
        self.process.wait()
        for reading, ring in zip(self.outputs, self.rings, strict=True):
            _rest(reading, ring)
        return bytes(said)

    def _kill(self) -> None:
        """End the cell's own process; what is in the cell dies with it."""
        if self.order.level in {"I0", "I1"}:
            # It has to end its family first, and says so by ending itself.
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=15)
        self.process.kill()
        self.process.wait()
        # Its first process in the namespace holds the report open until it is dead.
        with contextlib.suppress(OSError):
            while os.read(self.report, _PIPE):
                pass

    def close(self) -> None:
        """Close the pipes."""
        for descriptor in (self.report, *self.outputs):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _outcome(self, said: bytes, elapsed: float) -> Outcome:
        stdout, stderr = (ring.captured() for ring in self.rings)
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
    order: Order, *, needles: tuple[bytes, ...] = (), before: tuple[str, ...] = ()
) -> Outcome:
    """Run a cell to its end; `before` is a program that starts the cell's own process."""
    return Started(order, needles, before).finish()


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


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _widen(descriptor: int) -> None:
    import fcntl  # noqa: PLC0415 - only where a cell runs

    with contextlib.suppress(OSError):  # a user has only so much of this
        fcntl.fcntl(descriptor, _F_SETPIPE_SZ, _PIPE)


def _rest(descriptor: int, ring: Ring) -> None:
    """Read what is still in a pipe, without waiting for anybody who might hold it."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(descriptor, _PIPE):
            ring.feed(data)
