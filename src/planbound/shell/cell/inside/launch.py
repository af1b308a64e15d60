"""The first process of a cell: makes the walls, keeps the command, writes the report."""

from __future__ import annotations

import _signal as signal
import os
import sys

from planbound.shell.cell.inside import kernel
from planbound.shell.cell.inside.keeper import Keeper
from planbound.shell.cell.inside.order import Order, Report
from planbound.shell.cell.inside.root import Root


def main(order_descriptor: int, report_descriptor: int) -> None:
    """Run a cell. Never returns."""
    code = 0
    try:
        with open(order_descriptor, "rb") as file:
            order = Order.decode(file.read())
        os.set_inheritable(report_descriptor, False)  # noqa: FBT003 - it has no name
        if order.level == "I2":
            _in_namespaces(order, report_descriptor)
        else:
            _in_place(order, report_descriptor)
    except BaseException as error:  # noqa: BLE001 - the harness has to be told, whatever it is
        _report(report_descriptor, Report(made=False, reason=_sentence(error)))
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
    _die_with_harness()
    child = os.fork()
    if child:
        os.close(report)
        os.waitpid(child, 0)
        return
    try:
        kernel.die_with_parent()
        root = Root(order)
        root.build()
        kernel.keep_no_privileges()
        kernel.hide_memory()
        kernel.die_with_parent()
        _report(report, Keeper(order, alone=True, room=root.upper, space=root.space).run())
    except BaseException as error:  # noqa: BLE001 - as above
        _report(report, Report(made=False, reason=_sentence(error)))
    os._exit(0)


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
        _die_with_harness(signal.SIGTERM)
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


def _die_with_harness(number: int = signal.SIGKILL) -> None:
    harness = os.getppid()
    kernel.die_with_parent(number)
    if os.getppid() != harness:
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


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
