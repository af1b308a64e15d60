"""Attempts to break out of a cell, made in the cell, by the program that runs in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from planbound.cells.cell import Cell, CommandEnding, HostView, Limits, Request
from planbound.cells.isolation import Isolation
from planbound.cells.scratch import held, mark
from planbound.errors import FileProblem

PROBE = "probe-"
_BASH = "/bin/bash"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Probe(NamedTuple):
    """One attempt: a line of bash that is true when it got out."""

    name: str
    attempt: str
    needed: Isolation
    """The lowest level that must withstand it."""


class BreakOut(NamedTuple):
    """What came of an attempt."""

    probe: Probe
    held: bool


# Where a line sets a variable aside, the host looks whether it came true as well.
CONTRACT_PROBES = (
    Probe("writes a file outside the tree", "echo x > $OUTSIDE/new", Isolation.I1),
    Probe("overwrites a file outside the tree", "echo x > $OUTSIDE/file", Isolation.I1),
    Probe("writes to the workspace itself", "echo x > $WORKSPACE_ON_HOST; false", Isolation.I1),
    Probe("changes the mode of a file outside", "chmod 777 $OUTSIDE/file", Isolation.I2),
    Probe("changes the times of a file outside", "touch -d 2001-01-01 $OUTSIDE/file", Isolation.I2),
    Probe("reads a masked folder", "read -r _ < $MASKED/secret", Isolation.I1),
    Probe(
        "reads a masked folder by /proc", "read -r _ < /proc/self/root$MASKED/secret", Isolation.I1
    ),
    Probe("reads a folder that is closed", "read -r _ < $CLOSED/secret", Isolation.I1),
    Probe("writes to a masked folder", "echo x > $MASKED/new", Isolation.I1),
    Probe("reads the harness's environment", "read -r _ < /proc/$HARNESS/environ", Isolation.I1),
    Probe("signals a process outside", "kill -USR1 $DECOY", Isolation.I2),
    Probe("reads another process's memory", "exec 9< /proc/$DECOY/mem", Isolation.I1),
    Probe("writes to the memory of a process beside it", "exec 9<> /proc/$$/mem", Isolation.I1),
    Probe("reaches the host's network", "exec 9<> /dev/tcp/127.0.0.1/$PORT", Isolation.I1),
    Probe("mounts a file system", "mount -t tmpfs none /mnt", Isolation.I1),
    Probe("makes the root writable", "mount -o remount,rw /", Isolation.I1),
    Probe("makes a user namespace", "unshare -U true", Isolation.I1),
    Probe("writes the kernel's settings", "exec 9<> /proc/sys/kernel/core_pattern", Isolation.I1),
    Probe(
        "opens the disk",
        "for d in /dev/[svx]d[a-z] /dev/nvme*n1; do exec 9< $d && break; done",
        Isolation.I1,
    ),
    Probe(
        "has capabilities",
        "grep -qE '^Cap(Eff|Prm):\\s*0*[1-9a-f]' /proc/self/status",
        Isolation.I1,
    ),
    Probe(
        "outlives the verdict", "(setsid nohup sleep $NAP > /dev/null 2>&1 &); false", Isolation.I0
    ),
)
AGENT_PROBES = (
    *(
        probe
        for probe in CONTRACT_PROBES
        if "WORKSPACE_ON_HOST" not in probe.attempt and "PORT" not in probe.attempt
    ),
    Probe("changes a judge", "echo x > judge", Isolation.I2),
    Probe("replaces a judge", "mv -f writable judge", Isolation.I2),
    Probe("removes a judge", "rm -f judge", Isolation.I2),
    Probe("writes to a protected folder", "echo x > protected/new", Isolation.I2),
    Probe(
        "plants a name that is not there yet",
        "rm -f planted; echo 'x' > planted && [ -s planted ]",
        Isolation.I2,
    ),
    Probe("cannot write to its workspace", "! echo x > writable", Isolation.I0),
)


class _World:
    """What a probe tries to reach: made for the time of one run."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.nap = f"300.{secrets.randbelow(10**9):09d}"
        self.port = 0
        self.decoy = 0

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def make(self) -> None:
        for name in ("outside", "masked", "closed", "workspace", "workspace/protected"):
            os.mkdir(self.path(name), 0o755)
        files = ("outside/file", "masked/secret", "closed/secret")
        for name in (*files, "workspace/judge", "workspace/writable"):
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write("as it was\n")

    def environment(self) -> dict[str, str]:
        return {
            "PATH": _PATH,
            "OUTSIDE": self.path("outside"),
            "MASKED": self.path("masked"),
            "CLOSED": self.path("closed"),
            "WORKSPACE_ON_HOST": self.path("workspace/writable"),
            "HARNESS": str(os.getpid()),
            "DECOY": str(self.decoy),
            "PORT": str(self.port),
            "NAP": self.nap,
        }

    def breaches(self, *, writable: bool) -> Iterator[str]:
        """Yield the names of probes that the host saw come true, whatever the cell said."""
        if sorted(os.listdir(self.path("outside"))) != ["file"]:
            yield "writes a file outside the tree"
        if not self._is_as_it_was("outside/file"):
            yield "overwrites a file outside the tree"
        if stat.S_IMODE(os.stat(self.path("outside/file")).st_mode) & 0o022:
            yield "changes the mode of a file outside"
        if os.stat(self.path("outside/file")).st_mtime < 10**9:
            yield "changes the times of a file outside"
        if not writable and not self._is_as_it_was("workspace/writable"):
            yield "writes to the workspace itself"
        if _is_running(self.nap):
            yield "outlives the verdict"

    def _is_as_it_was(self, name: str) -> bool:
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read() == "as it was\n"


def try_to_break_out(cell: Cell, folder: str, *, writable: bool = False) -> list[BreakOut]:
    """Return what came of every attempt; `folder` is where things to reach may be put."""
    probes = AGENT_PROBES if writable else CONTRACT_PROBES
    # Without walls the attempts would succeed on the host itself: they are not made.
    made = tuple(
        probe for probe in probes if cell.isolation.value > "I0" or probe.needed.value == "I0"
    )
    with _world(folder) as world:
        request = Request(
            command=(_BASH, "-c", _script(made)),
            workspace=world.path("workspace"),
            environment=world.environment(),
            limits=Limits(seconds=20, memory=1 << 30, temporary=64 << 20),
            writable=writable,
            network=writable,
            read_only=("judge", "protected") if writable else (),
            absent=("planted",) if writable else (),
            masked=(world.path("masked"),),
            exposed=(world.path("outside"),),
            view=HostView(closed=(world.path("closed"),)),
        )
        outcome = cell.run(request)
        seen = set(world.breaches(writable=writable))
    if outcome.ending is not CommandEnding.EXITED or outcome.exit_code != 0:
        return [BreakOut(probe, held=False) for probe in probes]
    said = outcome.stdout.text().splitlines()
    held = {probe.name for number, probe in enumerate(made) if f"held {number}" in said} - seen
    return [BreakOut(probe, held=probe.name in held) for probe in probes]


def _script(probes: tuple[Probe, ...]) -> str:
    lines = [
        f"if ( {probe.attempt} ) > /dev/null 2>&1; then echo got out {number}; "
        f"else echo held {number}; fi"
        for number, probe in enumerate(probes)
    ]
    return "\n".join([*lines, "exit 0"])


@contextlib.contextmanager
def _world(folder: str) -> Iterator[_World]:
    try:
        # The state home is made by this, too: a mode is not for parents.
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(prefix=f"{PROBE}{mark()}-", dir=folder)
    except OSError as error:
        raise FileProblem(
            f"cells cannot be tried out in `{folder}`: {error.strerror}",
            hint="the state home must be writable; `--state` names another one",
        ) from error
    with temporary as made, held(made):
        world = _World(os.path.realpath(made))
        world.make()
        with socket.socket() as listener, _decoy() as decoy:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            world.port, world.decoy = listener.getsockname()[1], decoy
            yield world


@contextlib.contextmanager
def _decoy() -> Iterator[int]:
    with subprocess.Popen(["/bin/sleep", "60"], env={"SECRET": "x"}) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _is_running(word: str) -> bool:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                if word.encode() in file.read():
                    return True
    return False
