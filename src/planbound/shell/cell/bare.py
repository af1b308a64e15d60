"""No cell at all: a plain child process in the workspace itself, as fast as one can be.

Nothing is walled off, laid, hidden or measured. What remains is a time limit, and that the
command's process group, its session and whoever holds its output are dead in the end. A process
that made a session of its own and gave up the output is not found: that takes a cell.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time

from planbound.engine.judging.level import Isolation
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.errors import CellProblem
from planbound.plan.model import Stream
from planbound.ports.cell import Overseer, Request
from planbound.shell.cell.host import LOOK, given_input
from planbound.shell.cell.inside import leftovers
from planbound.shell.cell.orders import filled
from planbound.shell.cell.output import Ring
from planbound.shell.cell.warden import Warden

_PIECE = 1 << 16
_PATIENCE = 5.0
_MOMENT = 2
"""Milliseconds in which a child of another thread has let go of what it inherited."""


class BareCell:
    """Plain processes; any number of threads may run some at once."""

    name = "no cell"
    isolation = Isolation.I0

    def __init__(self) -> None:
        self._warden: Warden | None = None
        self._lock = threading.Lock()

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `ports.cell.Cell`."""
        if request.lay:
            raise CellProblem(
                "without a cell nothing can be laid into the workspace",
                hint="take `bare` out of `[judging]`",
            )
        with contextlib.ExitStack() as stack:
            pipes = [os.pipe2(os.O_CLOEXEC) for _ in Stream]
            for reading, _ in pipes:
                stack.callback(os.close, reading)
            known = (os.fstat(pipes[0][0]).st_ino, os.fstat(pipes[1][0]).st_ino)
            place = stack.enter_context(self._watching().place(known))
            start = time.monotonic()
            try:
                process = _started(request, [writing for _, writing in pipes])
            except (OSError, ValueError) as error:
                return Outcome(ending=Ending.NOT_STARTED, reason=_reason(error))
            place.note(process.pid)
            running = _Running(process, request, overseer, [reading for reading, _ in pipes])
            try:
                ending, reason = running.watch(start + request.limits.seconds)
                duration = time.monotonic() - start
            finally:
                try:
                    left = running.end(set(known))
                finally:
                    place.clear()  # while the number is still ours
                    process.wait()
            return running.outcome(ending, reason, duration, left)

    def _watching(self) -> Warden:
        with self._lock:
            if self._warden is None or self._warden.harness != os.getpid():
                self._warden = Warden()
            return self._warden


class _Running:
    """A command that runs, and its output."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        request: Request,
        overseer: Overseer | None,
        outputs: list[int],
    ) -> None:
        self.process = process
        self.limit = request.limits.seconds
        self.overseer = overseer
        self.open = dict(zip(outputs, Stream, strict=True))
        self.rings = {stream: Ring(request.needles) for stream in Stream}

    def watch(self, deadline: float) -> tuple[Ending, str]:
        """Take the output until the command has ended, or has to."""
        poll = select.poll()
        ended = os.pidfd_open(self.process.pid)
        try:
            for descriptor in (ended, *self.open):
                poll.register(descriptor, select.POLLIN)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    return Ending.TIMED_OUT, f"ran past {self.limit:g} s"
                left = min(left, LOOK) if self.overseer else left
                for descriptor, _ in poll.poll(int(left * 1000) + 1):
                    if descriptor == ended:
                        return Ending.EXITED, ""
                    if not self._read(descriptor):
                        poll.unregister(descriptor)
                if self.overseer is not None and (reason := self.overseer.stop()):
                    return Ending.STOPPED, reason
        finally:
            os.close(ended)

    def _read(self, descriptor: int) -> bool:
        """Take a piece of output; return False at its end."""
        data = os.read(descriptor, _PIECE)
        if not data:
            del self.open[descriptor]
            return False
        stream = self.open[descriptor]
        self.rings[stream].feed(data)
        if self.overseer is not None:
            self.overseer.saw(stream, data)
        return True

    def end(self, pipes: set[int]) -> int:
        """Kill all that can be found; return how many had outlived the command."""
        session = self.process.pid
        found = set(leftovers.since(session))
        deadline = time.monotonic() + _PATIENCE
        left = list(found)
        while True:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(session, signal.SIGKILL)
            leftovers.kill(left)
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.001)
            left = leftovers.since(session)
        return len(found | self._take_rest(pipes, deadline))

    def _take_rest(self, pipes: set[int], deadline: float) -> set[int]:
        """Read what is still in the pipes; end and return whoever still holds them."""
        found: set[int] = set()
        for descriptor in self.open:
            os.set_blocking(descriptor, False)
        while not self._is_at_the_end() and time.monotonic() < deadline:
            left = leftovers.holding(pipes)
            if not left:
                break  # whoever it is, it cannot be looked at
            leftovers.kill(left)
            found.update(left)
        return found

    def _is_at_the_end(self) -> bool:
        self._empty()
        if self.open:
            poll = select.poll()
            for descriptor in self.open:
                poll.register(descriptor, select.POLLIN)
            poll.poll(_MOMENT)
            self._empty()
        return not self.open

    def _empty(self) -> None:
        for descriptor in list(self.open):
            with contextlib.suppress(BlockingIOError):
                while self._read(descriptor):
                    pass

    def outcome(self, ending: Ending, reason: str, duration: float, left: int) -> Outcome:
        """Return what came of it, now that it is dead."""
        code, number = self.process.returncode, None
        if ending is Ending.EXITED and code < 0:
            ending, number = Ending.SIGNALLED, -code
        return Outcome(
            ending=ending,
            exit_code=code if ending is Ending.EXITED else None,
            signal=number,
            duration=duration,
            stdout=self.rings[Stream.STDOUT].captured(),
            stderr=self.rings[Stream.STDERR].captured(),
            leftovers=left if ending in {Ending.EXITED, Ending.SIGNALLED} else 0,
            reason=reason,
        )


def _started(request: Request, outputs: list[int]) -> subprocess.Popen[bytes]:
    """Start the command; its ends of the pipes are its own then."""
    stdin = given_input(request.stdin)
    try:
        return subprocess.Popen(  # noqa: S603 - this is what a contract is for
            request.command,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=outputs[0],
            stderr=outputs[1],
            cwd=request.workspace,
            env=filled(request, request.workspace, _home(request)),
            start_new_session=True,
        )
    finally:
        for descriptor in (*outputs, *(() if stdin is None else (stdin,))):
            os.close(descriptor)


def _home(request: Request) -> str:
    return request.home or request.kept_home or os.path.expanduser("~")


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
