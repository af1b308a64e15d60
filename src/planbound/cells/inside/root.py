"""The file system that a cell sees: the host's, read-only, with holes and rooms of its own."""

from __future__ import annotations

import _socket
import fcntl
import os
import stat
import struct

from planbound.cells.inside import kernel, tree
from planbound.cells.inside.order import ROOMS, Order

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_HIDDEN_PROC = ("kcore", "keys", "timer_list", "sched_debug", "scsi", "acpi")
_ROOMS = dict(zip(ROOMS, ("tmp", "vartmp", "run", "shm"), strict=True))
_WAITING = 256
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 0x41


class Root:
    """Builds the root of a cell in a scratch folder, then moves into it."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.scratch = order.scratch
        self.root = os.path.join(order.scratch, "root")
        self.masks: list[str] = []
        self.upper: int | None = None
        """The folder with what is written over the workspace, where it is an overlay."""
        self.space: int | None = None
        """A folder of the file system that everything of the cell's own is in."""
        self.proc: int | None = None
        """The cell's /proc, as nobody but its own process can write to it."""

    def build(self) -> None:
        """Make everything, and move in. What fails here is an OSError with its place."""
        kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        options = f"size={self.order.temporary},nr_inodes={self.order.inodes},mode=0755"
        kernel.mount(
            "planbound", self.scratch, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options
        )
        for name in ("root", "upper", "work", "dev", "masks", "private", "home", *_ROOMS.values()):
            os.mkdir(os.path.join(self.scratch, name))
        self.space = os.open(self.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        kernel.mount("/", self.root, None, kernel.MS_BIND | kernel.MS_REC)
        kernel.make_read_only(self.root, recursive=True)
        self._proc()
        for path in self.order.closed:
            self._close(path)
        self._rooms()
        self._home()
        self._shown()
        workspace = self.order.workspace
        masked = dict.fromkeys([*self.order.masked, *map(self.order.shown, self.order.masked)])
        inside = [path for path in masked if _is_below(path, workspace)]
        for path in masked:
            if path not in inside:
                self._mask(path)
        self._workspace()
        for path in inside:
            self._mask(path)
        for path in self.masks:
            # A mask over its folder may have covered it: that one is made read-only, too.
            if os.path.lexists(path):
                kernel.make_read_only(path, recursive=False)
        if not self.order.network:
            raise_loopback()
        self._move_in()

    # -- rooms ---------------------------------------------------------------------------------

    def _proc(self) -> None:
        proc = self._inside("/proc")
        kernel.mount("proc", proc, "proc", kernel.MS_NOSUID | kernel.MS_NODEV)
        self.proc = os.open(proc, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # The processes of a cell are one user's, so that each could write to the memory of the
        # others, of who judges it, too; and one with the host root's number to the kernel's
        # settings, without any capability. What lies below this mount stays writable.
        kernel.mount(proc, proc, None, kernel.MS_BIND)
        kernel.make_read_only(proc, recursive=False)
        for name in _HIDDEN_PROC:
            path = os.path.join(proc, name)
            if os.path.isfile(path):
                kernel.mount("/dev/null", path, None, kernel.MS_BIND)

    def _rooms(self) -> None:
        self._devices()
        for path, name in _ROOMS.items():
            room = os.path.join(self.scratch, name)
            os.chmod(room, 0o755 if path == "/run" else 0o1777)
            if os.path.isdir(path) and not os.path.islink(path):
                kernel.mount(room, self._place(path, folder=True), None, kernel.MS_BIND)
        with open(os.path.join(self.scratch, "run", "planbound-cell"), "w", encoding="ascii"):
            pass
        # The name server's address is often a link into /run.
        resolver = os.path.realpath("/etc/resolv.conf")
        if self.order.network and resolver.startswith("/run/") and os.path.isfile(resolver):
            self._bind(resolver, read_only=True)

    def _home(self) -> None:
        os.mkdir(os.path.join(self.scratch, "tmp", "home"), 0o700)
        os.chmod(os.path.join(self.scratch, "home"), 0o700)
        home, kept = self.order.home, self.order.kept_home
        if home is None and kept is None:
            return
        place = self._place(home or f"{ROOMS[0]}/home", folder=True)
        kernel.mount(kept or os.path.join(self.scratch, "home"), place, None, kernel.MS_BIND)

    def _close(self, path: str) -> None:
        """Let a folder be empty; its links, such as /var/run, are known to everybody."""
        if not os.path.isdir(path) or os.path.islink(path):
            return
        room = self._empty_room()
        for name in os.listdir(path) if path == "/var" else ():
            if os.path.islink(os.path.join(path, name)):
                os.symlink(os.readlink(os.path.join(path, name)), os.path.join(room, name))
        self._cover(path, room)

    def _shown(self) -> None:
        """Put into rooms and closed folders what is shown of the host, parents first."""
        order = self.order
        private = {*order.tools, *order.caches}
        for path in sorted({*order.exposed, *private, *order.shared}):
            if path in order.shared:
                self._bind(path, read_only=False)
            elif path in private and os.path.isdir(path) and self._is_in_home(path):
                self._show_privately(path, needed=path in order.tools)
            else:
                self._bind(path, read_only=True)

    def _is_in_home(self, path: str) -> bool:
        return self.order.home is not None and _is_below(path, self.order.home)

    def _show_privately(self, path: str, *, needed: bool) -> None:
        """Show a folder of the host; what is written to it stays in the cell."""
        own = os.path.join(self.scratch, "private")
        own = os.path.join(own, str(len(os.listdir(own))))
        upper, work = os.path.join(own, "upper"), os.path.join(own, "work")
        for each in (own, upper, work):
            os.mkdir(each, 0o755)
        target = self._place(path, folder=True)
        try:
            tree.take_over(path, upper)
            self._mount_overlay(path, target, upper, work)
        except OSError:
            # Not every file system can lie under an overlay.
            if needed:
                self._bind(path, read_only=True)

    def _devices(self) -> None:
        folder = os.path.join(self.scratch, "dev")
        kernel.mount(folder, self._inside("/dev"), None, kernel.MS_BIND)
        for name in _DEVICES:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="ascii"):
                pass
            kernel.mount(f"/dev/{name}", self._inside(f"/dev/{name}"), None, kernel.MS_BIND)
        for name, target in (
            ("fd", "fd"),
            ("stdin", "fd/0"),
            ("stdout", "fd/1"),
            ("stderr", "fd/2"),
        ):
            os.symlink(f"/proc/self/{target}", os.path.join(folder, name))
        os.symlink("pts/ptmx", os.path.join(folder, "ptmx"))
        os.mkdir(os.path.join(folder, "pts"))
        os.mkdir(os.path.join(folder, "shm"))
        kernel.mount(
            "devpts",
            self._inside("/dev/pts"),
            "devpts",
            kernel.MS_NOSUID,
            "newinstance,ptmxmode=0666,mode=620",
        )

    # -- the workspace -------------------------------------------------------------------------

    def _workspace(self) -> None:
        workspace = self.order.workspace
        if self.order.stand_in is not None:
            target = self._place(workspace, folder=True)
            kernel.mount(self.order.stand_in, target, None, kernel.MS_BIND)
            self.upper = os.open(self.order.stand_in, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            return
        if not self.order.writable:
            self._overlay(workspace)
            return
        self._show(self.order.source, read_only=False)
        for path in self.order.pinned:
            # What is mounted on cannot be moved away with what it holds.
            self._show(path, read_only=False)
        for path in self.order.read_only:
            self._show(path, read_only=True)
        for path in self.order.absent:
            # The harness put a placeholder there.
            target = self._inside(self.order.shown(path))
            kernel.mount("/dev/null", target, None, kernel.MS_BIND)
            kernel.make_read_only(target, recursive=False)
        if self.order.untracked is not None:
            self._say_instead(*self.order.untracked)

    def _say_instead(self, path: str, content: bytes) -> None:
        """Let a file of the host say something else in the cell."""
        other = os.path.join(self.scratch, "masks", "untracked")
        with open(other, "wb") as file:
            file.write(content)
        target = self._inside(self.order.shown(path))
        kernel.mount(other, target, None, kernel.MS_BIND)
        kernel.make_read_only(target, recursive=False)

    def _overlay(self, workspace: str) -> None:
        source = self.order.source
        target = self._place(workspace, folder=True)
        upper, work = (os.path.join(self.scratch, name) for name in ("upper", "work"))
        os.chmod(upper, stat.S_IMODE(os.stat(source).st_mode))
        tree.white_out(source, upper, self.order.remove)
        self._mount_overlay(source, target, upper, work)
        self.upper = os.open(upper, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    # -- pieces --------------------------------------------------------------------------------

    def _mount_overlay(self, source: str, target: str, upper: str, work: str) -> None:
        # By descriptor: a path may hold `:` and `,`, which mean something here.
        lower = os.open(source, os.O_PATH | os.O_CLOEXEC)
        options = f"lowerdir=/proc/self/fd/{lower},upperdir={upper},workdir={work},userxattr"
        try:
            flags = kernel.MS_NOSUID | kernel.MS_NODEV
            kernel.mount("planbound", target, "overlay", flags, options)
        finally:
            os.close(lower)

    def _empty_room(self) -> str:
        room = os.path.join(self.scratch, "masks", str(len(self.masks)))
        os.mkdir(room, 0o755)
        return room

    def _cover(self, path: str, room: str) -> None:
        """Put a room over a folder; what else is put into it comes before it is read-only."""
        target = self._inside(path)
        kernel.mount(room, target, None, kernel.MS_BIND)
        self.masks.append(target)

    def _inside(self, path: str) -> str:
        return self.root + path

    def _place(self, path: str, *, folder: bool) -> str:
        """Return where a path of the host is in the new root, made where it is missing."""
        target = self._inside(path)
        if not os.path.lexists(target):
            os.makedirs(target if folder else os.path.dirname(target), exist_ok=True)
            if not folder:
                with open(target, "w", encoding="ascii"):
                    pass
        return target

    def _bind(self, path: str, *, read_only: bool) -> None:
        """Put something of the host at its own path."""
        if os.path.exists(path):
            self._put(path, path, read_only=read_only)

    def _show(self, path: str, *, read_only: bool) -> None:
        """Put a part of the workspace where the command is to see it."""
        self._put(path, self.order.shown(path), read_only=read_only)

    def _put(self, path: str, place: str, *, read_only: bool) -> None:
        target = self._place(place, folder=os.path.isdir(path))
        kernel.mount(path, target, None, kernel.MS_BIND | kernel.MS_REC)
        if read_only:
            kernel.make_read_only(target, recursive=True)

    def _mask(self, path: str) -> None:
        target = self._inside(path)
        if not os.path.lexists(target):
            return  # not in the host, or in a room of ours
        if os.path.isdir(target):
            self._cover(path, self._empty_room())
        else:
            kernel.mount("/dev/null", target, None, kernel.MS_BIND)

    def _move_in(self) -> None:
        os.chdir(self.root)
        kernel.pivot_root(".", ".")
        kernel.unmount(".")
        os.chdir("/")


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def raise_loopback() -> None:
    """Bring the loopback interface up: tests talk to themselves."""
    channel = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
    request = struct.pack("16sh14x", b"lo", 0)
    flags = struct.unpack("16sh14x", fcntl.ioctl(channel.fileno(), _SIOCGIFFLAGS, request))[1]
    fcntl.ioctl(channel.fileno(), _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _UP))
    channel.close()


def open_doors(channel: int, ports: tuple[int, ...]) -> int:
    """Hand the harness sockets that it serves in this network; return the port of its proxy.

    A socket belongs to the network that it was made in, whoever has it.
    """
    doors = []
    for port in (0, *ports):
        door = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        door.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
        door.bind(("127.0.0.1", port))
        door.listen(_WAITING)
        doors.append(door)
    number: int = doors[0].getsockname()[1]
    numbers = struct.pack(f"{len(doors)}i", *(door.fileno() for door in doors))
    harness = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fileno=channel)
    harness.sendmsg([b"x"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    for each in (harness, *doors):
        each.close()
    return number
