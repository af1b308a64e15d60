"""The first process of a cell: makes the walls, keeps the command, writes the report."""

from __future__ import annotations

import _signal as signal
import fcntl
import os

from planbound.cells.inside import kernel
from planbound.cells.inside.keeper import Keeper
from planbound.cells.inside.order import Order, Report
from planbound.cells.inside.root import Root, open_doors


def main(given: int, report: int, leash: int, stdin: int, egress: int, parent: int) -> None:
    """Run a cell: an order and descriptors for it, below 0 where there is none. Never returns."""
    code = 0
    try:
        for descriptor in (report, leash, stdin, egress):
            if descriptor >= 0:
                os.set_inheritable(descriptor, False)  # noqa: FBT003 - it has no name
        with open(given, "rb") as file:
            order = Order.decode(file.read())
        order = order.but(leash=leash, stdin=stdin, egress=egress, parent=parent)
        if order.level == "I2":
            _in_namespaces(order, report)
        else:
            _in_place(order, report)
    except BaseException as error:  # noqa: BLE001 - the harness has to be told, whatever it is
        _report(report, Report(made=False, reason=_sentence(error)))
        code = 1
    os._exit(code)


def _in_namespaces(order: Order, report: int) -> None:
    user, group = os.getuid(), os.getgid()
    mapper = _Mapper() if user == 0 else None
    flags = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC
    kernel.unshare(flags | (0 if order.network else kernel.CLONE_NEWNET))
    if mapper is not None:
        mapper.map()
    else:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    _die_with(order.parent)
    child = os.fork()
    if child:
        os.close(report)
        os.waitpid(child, 0)
        return
    try:
        kernel.die_with_parent()
        root = Root(order)
        root.build()
        _open_doors(order)
        kernel.keep_no_privileges()
        kernel.hide_memory()
        kernel.die_with_parent()
        keeper = Keeper(order, alone=True, room=root.upper, space=root.space, proc=root.proc)
        _heed_harness(keeper)
        _report(report, keeper.run())
    except BaseException as error:  # noqa: BLE001 - as above
        _report(report, Report(made=False, reason=_sentence(error)))
    os._exit(0)


def _open_doors(order: Order) -> None:
    """Have the only way out that there is, and tell the command of it."""
    if order.egress < 0:
        return
    proxy = f"http://127.0.0.1:{open_doors(order.egress, order.doors)}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        order.environment |= {name: proxy, name.lower(): proxy}
    own = "localhost,127.0.0.1,::1"
    order.environment |= {"NO_PROXY": own, "no_proxy": own, "NODE_USE_ENV_PROXY": "1"}


class _Mapper:
    """A process that stays outside and maps every user there is into the namespace.

    Only root may do that, and only from outside. Without it an overlay could not take over a
    file that belongs to anybody else.
    """

    def __init__(self) -> None:
        maps = {name: _same(f"/proc/self/{name}") for name in ("uid_map", "gid_map")}
        launcher = os.getpid()
        waiting, self._go = os.pipe2(os.O_CLOEXEC)
        self._process = os.fork()
        if self._process:
            os.close(waiting)
            return
        os.close(self._go)
        code = 1
        try:
            if os.read(waiting, 1):
                for name, text in maps.items():
                    _write(f"/proc/{launcher}/{name}", text)
                code = 0
        finally:
            os._exit(code)

    def map(self) -> None:
        """Have it done, now that this process is in its namespace."""
        os.write(self._go, b"x")
        os.close(self._go)
        if os.waitpid(self._process, 0)[1]:
            raise OSError(1, "the users of this machine cannot be mapped")


def _same(path: str) -> str:
    """Return a map in which everybody is who they are in this namespace."""
    with open(path, encoding="ascii") as file:
        lines = (line.split() for line in file)
        return "".join(f"{inside} {inside} {count}\n" for inside, _, count in lines)


def _in_place(order: Order, report: int) -> None:
    """Keep the command where this process already is; `inner` means that is a namespace."""
    alone = order.level == "inner"
    _open_doors(order)
    kernel.adopt_orphans()
    room = None
    if not order.writable:
        room = os.open(order.workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    keeper = Keeper(order, alone=alone, room=room, space=None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        # The command may know its parent's number.
        signal.signal(number, signal.SIG_IGN)
    if not alone:
        # Told by a signal that can be answered: what was started has to end first.
        signal.signal(signal.SIGTERM, lambda *_: _end(keeper))
        _die_with(order.parent, signal.SIGTERM)
    _heed_harness(keeper)
    kernel.hide_memory()
    try:
        said = keeper.run()
    finally:
        keeper.family.end()
    _report(report, said)


def _end(keeper: Keeper) -> None:
    keeper.family.end()
    # Ended by a signal, and not because no cell could be made.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
    os._exit(0)  # the first process of a namespace cannot be killed from inside


def _heed_harness(keeper: Keeper) -> None:
    """End everything as soon as the harness lets go, or is no more, however it ended.

    The signal that one is sent when a parent ends is not enough: it comes too early where the
    parent ended before it was asked for, and through bubblewrap it does not say so.
    """
    leash = keeper.order.leash
    os.set_blocking(leash, False)
    # Whoever is in the cell may send the signal, too: what counts is the pipe.
    signal.signal(signal.SIGIO, lambda *_: _end(keeper) if _is_let_go(leash) else None)
    fcntl.fcntl(leash, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(leash, fcntl.F_SETFL, fcntl.fcntl(leash, fcntl.F_GETFL) | os.O_ASYNC)
    if _is_let_go(leash):
        _end(keeper)


def _is_let_go(leash: int) -> bool:
    try:
        return not os.read(leash, 1)
    except BlockingIOError:
        return False


def _die_with(parent: int, number: int = signal.SIGKILL) -> None:
    kernel.die_with_parent(number)
    if os.getppid() != parent:
        os._exit(1)  # it ended just before


def _report(descriptor: int, report: Report) -> None:
    data = memoryview(report.encode())
    while data:
        data = data[os.write(descriptor, data) :]


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"
