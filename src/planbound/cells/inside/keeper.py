"""Starts the command of a cell, watches it, ends everything that it started, and reports."""

from __future__ import annotations

import _signal as signal
import os
import resource
import time

from planbound.cells.inside import kernel, landlock, listener, seccomp, tree
from planbound.cells.inside.order import ROOMS, Order, Report

# -- the processes of a cell: counted, measured, ended -------------------------------------------


_PATIENCE = 10.0


class Family:
    """Everything that was started below this process."""

    def __init__(self, *, alone: bool) -> None:
        if alone and os.getpid() != 1:
            # To kill everybody is only right where everybody is in the cell.
            raise OSError(1, "this is not the first process of a namespace")
        self.alone = alone
        """Whether this is the first process of a PID namespace: all others are of the family."""

    def members(self) -> list[int]:
        """Return the processes that are there, this one left out."""
        if self.alone:
            own = os.getpid()
            return [
                int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own
            ]
        parents: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                parents.setdefault(_parent(name), []).append(int(name))
        found: list[int] = []
        heads = [os.getpid()]
        while heads:
            children = parents.get(heads.pop(), [])
            found += children
            heads += children
        return found

    def living(self) -> int:
        """Return how many have not ended; those that wait to be buried are none."""
        return sum(_state(member) not in {"Z", "X", ""} for member in self.members())

    def usage(self) -> tuple[int, int]:
        """Return how many threads there are, and how much memory; what is shared counts once."""
        found = [_usage(member) for member in self.members()]
        shared = max((usage[2] for usage in found), default=0)
        return sum(usage[0] for usage in found), sum(usage[1] for usage in found) + shared

    def end(self) -> int:
        """Kill all until none is left; return how many could not be."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            if self.alone:
                _kill(-1)
            else:
                for member in self.members():
                    _kill(member)
            if not self._reap_or_wait():
                return 0
            if time.monotonic() > deadline:
                return len(self.members())

    def _reap_or_wait(self) -> bool:
        """Reap what has ended; return False when there is nobody any more."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            signal.sigtimedwait({signal.SIGCHLD}, 0.005)
        except ChildProcessError:
            return False
        return True


def _kill(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except OSError:
        pass  # it has ended by itself


def _parent(name: str) -> int:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return -1


def _state(member: int) -> str:
    try:
        with open(f"/proc/{member}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode("ascii")
    except (OSError, IndexError):
        return ""


def _usage(member: int) -> tuple[int, int, int]:
    """Return the threads of a process, the bytes that it has for itself, and those it may share."""
    threads, own, shared = 1, 0, 0
    try:
        with open(f"/proc/{member}/status", "rb") as file:
            for line in file:
                if line.startswith(b"RssAnon:"):
                    own = int(line.split()[1]) << 10
                elif line.startswith(b"RssShmem:"):
                    shared = int(line.split()[1]) << 10
                elif line.startswith(b"Threads:"):
                    threads = int(line.split()[1])
                    break  # the last of the three
    except (OSError, IndexError):
        pass  # it has ended
    return threads, own, shared


# -- starts the command of a cell, watches it, ends everything that it started, and reports ------


_TICK = 0.05
_WEIGH_EVERY = 0.5
_DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts",
    "/dev/ptmx",
)  # fmt: skip


class Keeper:
    """The parent of the command."""

    def __init__(
        self,
        order: Order,
        *,
        alone: bool,
        room: int | None,
        space: int | None,
        proc: int | None = None,
    ) -> None:
        self.order = order
        self.family = Family(alone=alone)
        self.alone = alone
        self.room = room
        """The folder that what is written is found in."""
        self.spaces = [space] if space is not None else _rooms(order)
        """Folders whose file systems know how much may be written to them."""
        self.proc = proc
        """The folder /proc, where the command's own is read-only."""
        self.weighs = order.level != "I2" or order.stand_in is not None
        self.weighed = 0.0
        self.weight = (0, 0)
        self.listens = order.level in {"I2", "inner"} and not order.writable
        """Whether calls by which cells can meet are heard of: those of contracts, not of agents."""
        self.listener: listener.Listener | None = None
        self.refused = ""

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
        child, said = self._start()
        report = self._watch(child, start)
        report.could_meet = self.listener is not None and self.listener.heard
        report.refused = self.refused
        if said:
            report = Report(made=True, started=False, reason=said.decode("utf-8", "replace"))
        after = tree.marks(self.room) if self.room is not None else {}
        written = tree.written(before, after)
        report.written = tuple(sorted(written)[: tree.MAX_NAMES])
        report.written_count = len(written)
        report.trespassed = tuple(sorted(_reached(written, order.watched)))
        report.collected = tree.collect(order.workspace, order.collect)
        return report

    def _start(self) -> tuple[int, bytes]:
        """Start the command; return its number, and what it had to complain of."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        waiting, go = os.pipe2(os.O_CLOEXEC)
        child = os.fork()
        if child == 0:
            self._become_command(writing, waiting)
        os.close(writing)
        os.close(waiting)
        with open(reading, "rb") as pipe, open(go, "wb"):
            said = pipe.readline() if self.listens else b""
            if said.startswith(listener.DOOR):
                try:
                    self.listener = listener.Listener.of(child, said)
                except OSError as error:
                    self.refused = error.strerror or "its descriptor"
                    return self._start_again(child)
                os.write(go, b"x")
                said = b""
            elif said.startswith(listener.REFUSED):
                self.refused, said = said[1:].decode("utf-8", "replace").strip(), b""
            return child, said + pipe.read()

    def _start_again(self, child: int) -> tuple[int, bytes]:
        """Start it without a listener: nobody would let the first one go on."""
        _kill(child)
        os.waitpid(child, 0)
        self.listens = False
        return self._start()

    # -- the child -----------------------------------------------------------------------------

    def _become_command(self, complaints: int, waiting: int) -> None:
        try:
            self._prepare()
            self._walls(complaints, waiting)
            os.execve(self.order.command[0], self.order.command, self.order.environment)  # noqa: S606 - this is what a cell is for
        except BaseException as error:  # noqa: BLE001 - there is nobody above to handle it
            os.write(complaints, str(error).encode("utf-8", "replace"))
        finally:
            os._exit(127)

    def _prepare(self) -> None:
        order = self.order
        os.setsid()
        kernel.show_memory()
        self._offer_to_the_oom_killer()
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
        os.dup2(os.open("/dev/null", os.O_RDONLY) if given < 0 else given, 0)
        os.set_inheritable(0, True)  # noqa: FBT003 - it has no name; all else is closed by `exec`

    def _offer_to_the_oom_killer(self) -> None:
        """Let the kernel take the command first, where memory runs out on the whole machine."""
        name = "self/oom_score_adj"
        try:
            opened = os.open(name if self.proc is not None else f"/proc/{name}", os.O_WRONLY,
                             dir_fd=self.proc)  # fmt: skip
            os.write(opened, b"1000")
            os.close(opened)
        except OSError:
            pass

    def _walls(self, complaints: int, waiting: int) -> None:
        order = self.order
        if order.level == "I0":
            return
        kernel.keep_no_privileges()
        if order.level == "I1":
            shown = (*order.exposed, *order.tools, *order.caches, *order.shared, *_resolver(order))
            seen = [each for path in shown for each in landlock.around(path, order.masked)]
            landlock.confine(
                read=[*landlock.around("/", (*order.masked, *order.closed, *ROOMS)), *seen],
                write=(order.scratch, *((order.workspace,) if order.writable else ()),
                       *order.shared,
                       *((order.kept_home,) if order.kept_home else ())),
                devices=_DEVICES,
                network=order.network,
            )  # fmt: skip
            seccomp.install(sockets=order.network)
            return
        landlock.scope()
        if self.listens and listener.is_offered(complaints, waiting):
            return
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


def _resolver(order: Order) -> tuple[str, ...]:
    """Return where the address of the name server is, which is often a link into /run."""
    return (os.path.realpath("/etc/resolv.conf"),) if order.network else ()


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


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (allowed, allowed))
