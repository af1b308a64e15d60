"""Starts the command of a cell, watches it, ends everything that it started, and reports."""

from __future__ import annotations

import _signal as signal  # without the enums, which take longer to make than a cell
import os
import resource
import time

from planbound.shell.cell.inside import kernel, landlock, seccomp, tree
from planbound.shell.cell.inside.order import ROOMS, Order, Report
from planbound.shell.cell.inside.processes import Family

_TICK = 0.05
_WEIGH_EVERY = 0.5
_DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts",
    "/dev/ptmx",
)  # fmt: skip


class Keeper:
    """The parent of the command."""

    def __init__(self, order: Order, *, alone: bool, room: int | None, space: int | None) -> None:
        self.order = order
        self.family = Family(alone=alone)
        self.alone = alone
        self.room = room
        """The folder that what is written is found in."""
        self.spaces = [space] if space is not None else _rooms(order)
        """Folders whose file systems know how much may be written to them."""
        self.weighs = order.level != "I2" or order.stand_in is not None
        self.weighed = 0.0
        self.weight = (0, 0)

    def run(self) -> Report:
        """Do all of it."""
        order = self.order
        if not order.writable:
            for path in order.remove:
                tree.take_out(order.workspace, path)
            for path, content, mode in order.lay:
                tree.lay(order.workspace, path, content, mode)
        before = tree.marks(self.room) if self.room is not None else {}
        self.weight = self._weigh() if self.weighs else (0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        start = time.monotonic()
        reading, writing = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            self._become_command(writing)
        os.close(writing)
        with open(reading, "rb") as pipe:
            said = pipe.read()
        report = self._watch(child, start)
        if said:
            report = Report(made=True, started=False, reason=said.decode("utf-8", "replace"))
        after = tree.marks(self.room) if self.room is not None else {}
        written = tree.written(before, after)
        report.written = tuple(sorted(written)[: tree.MAX_NAMES])
        report.written_count = len(written)
        report.trespassed = tuple(sorted(_reached(written, order.watched)))
        report.collected = tree.collect(order.workspace, order.collect)
        return report

    # -- the child -----------------------------------------------------------------------------

    def _become_command(self, complaints: int) -> None:
        try:
            self._prepare()
            os.execve(self.order.command[0], self.order.command, self.order.environment)  # noqa: S606 - this is what a cell is for
        except BaseException as error:  # noqa: BLE001 - there is nobody above to handle it
            os.write(complaints, str(error).encode("utf-8", "replace"))
        finally:
            os._exit(127)

    def _prepare(self) -> None:
        order = self.order
        os.setsid()
        kernel.show_memory()
        _offer_to_the_oom_killer()
        for number in signal.valid_signals():
            if number not in {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.umask(0o022)
        os.chdir(order.workspace)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, order.file_size)
        if self.alone:
            # Counted in this namespace only; and the host's root is not bound by it at all.
            _limit(resource.RLIMIT_NPROC, order.processes * 4)
        given = order.stdin
        os.dup2(os.open("/dev/null", os.O_RDONLY) if given is None else given, 0)
        os.set_inheritable(0, True)  # noqa: FBT003 - it has no name; all else is closed by `exec`
        self._walls()

    def _walls(self) -> None:
        order = self.order
        if order.level == "I0":
            return
        kernel.keep_no_privileges()
        if order.level == "I1":
            hidden = order.masked
            landlock.confine(
                read=landlock.around("/", hidden),
                write=(order.scratch, *((order.workspace,) if order.writable else ()),
                       *((order.home,) if order.home else ()),
                       *((order.kept_home,) if order.kept_home else ())),
                devices=_DEVICES,
                network=order.network,
            )  # fmt: skip
            seccomp.install(sockets=order.network)
            return
        landlock.scope()
        seccomp.install(sockets=True)

    # -- the parent ----------------------------------------------------------------------------

    def _watch(self, child: int, start: float) -> Report:
        deadline = start + self.order.timeout
        status: int | None = None
        ended, reason = "exited", ""
        while status is None:
            status = self._reap(child)
            if status is not None:
                break
            now = time.monotonic()
            if now >= deadline:
                ended, reason = "timed out", f"ran past {self.order.timeout:g} s"
                break
            reason = self._used_up()
            if reason:
                ended = "exhausted"
                break
            signal.sigtimedwait({signal.SIGCHLD}, min(_TICK, deadline - now))
        duration = time.monotonic() - start
        if ended == "exited":
            reason = self._no_space(last=True)
            ended = "exhausted" if reason else ended
        leftovers = self.family.living() if ended == "exited" else 0
        survivors = self.family.end()
        if survivors:
            ended, reason = "exhausted", f"{survivors} processes could not be ended"
        return Report(
            started=True,
            status=status,
            ended=ended,
            reason=reason,
            duration=duration,
            leftovers=leftovers,
        )

    def _reap(self, child: int) -> int | None:
        """Reap whatever has ended; return the status of the command, once it has."""
        try:
            while True:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if ended == child:
                    return status
                if ended == 0:
                    return None
        except ChildProcessError:
            return None

    def _used_up(self) -> str:
        processes, memory = self.family.usage()
        if processes > self.order.processes:
            return f"more than {self.order.processes} processes"
        if memory > self.order.memory:
            return f"more than {self.order.memory >> 20} MiB of memory"
        return self._no_space()

    def _no_space(self, *, last: bool = False) -> str:
        for opened in self.spaces:
            space = os.fstatvfs(opened)
            if space.f_bavail == 0:
                return f"more than {self.order.temporary >> 20} MiB of temporary space"
            if space.f_files and space.f_ffree == 0:
                return f"more than {self.order.inodes} files"
        return self._too_heavy(last=last) if self.weighs else ""

    def _weigh(self) -> tuple[int, int]:
        """Return the bytes and the number of files in what the command writes to."""
        if self.order.writable and self.order.level == "inner":
            return 0, 0  # an agent's workspace may grow
        # In a root of its own the scratch folder is out of sight.
        hidden = self.order.level in {"I2", "inner"}
        return tree.weight(self.order.workspace if hidden else self.order.scratch)

    def _too_heavy(self, *, last: bool) -> str:
        """Weigh the folder now and then: that takes longer than asking a file system."""
        now = time.monotonic()
        if not last and now - self.weighed < _WEIGH_EVERY:
            return ""
        weight, count = self._weigh()
        # A large tree is weighed less often: at most a fifth of the time goes into it.
        self.weighed = time.monotonic() + 4 * (time.monotonic() - now)
        if weight - self.weight[0] > self.order.temporary:
            return f"more than {self.order.temporary >> 20} MiB of files"
        if count - self.weight[1] > self.order.inodes:
            return f"more than {self.order.inodes} files"
        return ""


def _rooms(order: Order) -> list[int]:
    """Return the cell's own folders, where bubblewrap made them with a size."""
    if order.level != "inner":
        return []
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    return [os.open(path, flags) for path in ROOMS if os.path.isdir(path)]


def _reached(written: set[str], watched: tuple[str, ...]) -> set[str]:
    """Return the watched files that were written, or that lie in a folder which was removed."""
    found = written.intersection(watched)
    for path in watched:
        folder = path.rpartition("/")[0]
        while folder:
            if folder in written:
                found.add(path)
            folder = folder.rpartition("/")[0]
    return found


def _offer_to_the_oom_killer() -> None:
    """Let the kernel take the command first, where memory runs out on the whole machine."""
    try:
        with open("/proc/self/oom_score_adj", "wb") as file:
            file.write(b"1000")
    except OSError:
        pass


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (allowed, allowed))
