"""Runs `main(argv)` in a fork of a process that has imported the program.

Starting Python and importing the program takes ten times as long as most commands do. A fork has
done both already, and it is a process like any other: its folder, environment, streams, locks,
threads and open files end with it, and whoever kills it kills no test.

It is not a fork of the tests' own process: that one has imported all tests with their libraries,
and forking it takes longer than most commands. So each worker starts a process that is small,
`python -m tests.forked`, and asks it for forks.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import random
import re
import resource
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, NoReturn

if TYPE_CHECKING:
    from planbound.cells.cell import Cell
    from planbound.cells.probe import BreakOut

SECONDS = 300
ROOT = Path(__file__).parents[1]
_STREAMS = ("stdin", "stdout", "stderr")
_SLOW = re.compile(r"acp|dbos|mcp|model|postgres|pydantic")
"""In the names of modules that import a library which takes a while."""
_LIBRARIES = {
    "none": re.compile(r"(?!)"),
    "models": re.compile(r"dbos|[.]model|postgres"),
    "mcp": re.compile(r"[.]mcp"),
}
"""In the names of those among them whose libraries `Place.libraries` means."""
_METHODS = "findall finditer fullmatch match search split sub subn".split()
_DEFAULT = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD)
_starting = threading.Lock()


# -- in the tests --------------------------------------------------------------------------------


Libraries = Literal["none", "models", "mcp"]


class Place(NamedTuple):
    """What a fork finds."""

    cwd: Path
    environment: Mapping[str, str]
    stdin: bytes = b""
    libraries: Libraries = "none"
    """Which are imported that take longer than a command: those of models and DBOS, or of MCP."""
    walls: bool = True
    """Whether the machine has more than the weakest cell: a copy of the tree."""


def run_program(arguments: Sequence[str], place: Place) -> tuple[int, bytes, bytes]:
    """Run one command; return its exit code, or minus its signal, and what it wrote."""
    return _run("command", list(arguments), place)


def run_tool(
    session: str, tool: str, arguments: Mapping[str, Any], place: Place
) -> tuple[int, bytes, bytes]:
    """Call a tool of an agent's session; it prints whether it went, its text, and its data."""
    return _run("tool", [session, tool, dict(arguments)], place)


class Started(subprocess.Popen[bytes]):
    """A command that goes on beside the test, in a fork: whoever has it waits, reads and kills.

    It is not a child of this process, so what asks the system about one is done by the process
    that forked it.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        place: Place,
        streams: Sequence[int] | None = None,
        *,
        session: bool = False,
        talks: bool = False,
        module: bool = False,
    ) -> None:
        """Start it with these three streams, or with pipes for what it says.

        With `talks` there is one for what it hears, too. With `module` the first of `arguments` is
        that of Python which is run, and not a command of the program.
        """
        self.args = arguments
        self.stdin = self.stdout = self.stderr = None
        self.returncode: int | None = None
        self.encoding = self.errors = self.text_mode = None
        self._communication_started = False
        self._input = None
        self._child_created = False
        with ExitStack() as stack:
            if streams is None:
                heard = stack.enter_context(self._open_stdin(talks=talks))
                (out, out_side), (err, err_side) = os.pipe(), os.pipe()
                self.stdout, self.stderr = os.fdopen(out, "rb"), os.fdopen(err, "rb")
                stack.callback(os.close, out_side)
                stack.callback(os.close, err_side)
                streams = (heard.fileno(), out_side, err_side)
            what = "module" if module else "command"
            self._answers = _asked_for(what, list(arguments), place, streams, session=session)
        self._said = b""
        while b"\n" not in self._said:
            self._said += self._answers.recv(64)
        self.pid = int(self._said.split()[0])
        self._child_created = True

    def _open_stdin(self, *, talks: bool) -> BinaryIO:
        """Return what it reads; whoever talks to it does that by `stdin`."""
        if not talks:
            return open(os.devnull, "rb")
        theirs, mine = os.pipe()
        self.stdin = os.fdopen(mine, "wb")
        return os.fdopen(theirs, "rb")

    def _internal_poll(self, *_: object, **_more: object) -> int | None:
        """Return how it ended, if it has."""
        with contextlib.suppress(TimeoutError, BlockingIOError):
            return self._ended_within(0)
        return None

    def _wait(self, timeout: float | None) -> int:
        """Wait for its end."""
        try:
            return self._ended_within(timeout)
        except (TimeoutError, BlockingIOError):
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout) from None

    def _ended_within(self, seconds: float | None) -> int:
        while self.returncode is None:
            self._answers.settimeout(seconds)
            more = self._answers.recv(64)
            assert more, "the process that forks has ended"
            self._said += more
            if self._said.count(b"\n") == 2:
                self.returncode = int(self._said.split()[1])
                self._answers.close()
        return self.returncode


def lay_program(path: Path) -> int:
    """Write a program that has a fork do what it is called for, and ends as that did.

    Whoever calls it inherits what is returned, the way to the process that forks. It does not
    wait for signals: what kills it does not kill the fork.
    """
    with _starting:
        forker = _forker("none")
    path.write_text(_ASKING.format(python=sys.executable, forker=forker.fileno()))
    path.chmod(0o755)
    return forker.fileno()


_ASKING = """\
#!{python} -IS
import json, os, resource, socket, sys
mine, theirs = socket.socketpair()
socket.send_fds(socket.socket(fileno={forker}), [b"fork"], [theirs.fileno(), 0, 1, 2])
theirs.close()
umask = os.umask(0o022)
asked = {{
    "what": "command",
    "words": sys.argv[1:],
    "cwd": os.getcwd(),
    "environment": dict(os.environ),
    "umask": umask,
    "file_size": resource.getrlimit(resource.RLIMIT_FSIZE),
    "session": False,
    "walls": True,
}}
mine.sendall(json.dumps(asked).encode())
mine.shutdown(socket.SHUT_WR)
said = b""
while said.count(b"\\n") < 2:
    more = mine.recv(64)
    assert more, "the process that forks has ended"
    said += more
code = int(said.split()[1])
os._exit(code if code >= 0 else 128 - code)
"""


def _run(what: str, words: Sequence[Any], place: Place) -> tuple[int, bytes, bytes]:
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in _STREAMS]
        files[0].write(place.stdin)
        files[0].seek(0)
        answers = _asked_for(what, words, place, [file.fileno() for file in files])
        stack.enter_context(answers)
        return _end_of(answers), _content(files[1]), _content(files[2])


def _asked_for(
    what: str, words: Sequence[Any], place: Place, streams: Sequence[int], *, session: bool = False
) -> socket.socket:
    """Have a fork made; return what says its number, and later how it ended."""
    with _starting:
        forker = _forker(place.libraries)
    mine, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(forker, [b"fork"], [theirs.fileno(), *streams])
    asked = {
        "what": what,
        "words": words,
        "cwd": os.fspath(place.cwd),
        "environment": dict(place.environment),
        "umask": _umask(),
        "file_size": resource.getrlimit(resource.RLIMIT_FSIZE),
        "session": session,
        "walls": place.walls,
    }
    mine.sendall(json.dumps(asked).encode())
    mine.shutdown(socket.SHUT_WR)
    return mine


@cache
def _forker(libraries: Libraries) -> socket.socket:
    """Start the process that forks; return the way to it."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", str(theirs.fileno()), libraries],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        mine.close()
        process.wait()

    atexit.register(end)
    assert mine.recv(16), "it did not start"  # what it imports takes as long as it takes
    return mine


def _umask() -> int:
    (line,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if "Umask" in line
    )
    return int(line.split()[1], 8)


def _end_of(answers: socket.socket) -> int:
    """Wait for a process, and not for ever."""
    answers.settimeout(SECONDS)
    said = b""
    while said.count(b"\n") < 2:
        try:
            more = answers.recv(64)
        except TimeoutError:
            os.kill(int(said), signal.SIGKILL)
            raise AssertionError(f"the program did not end within {SECONDS} s") from None
        assert more, "the process that forks has ended"
        said += more
    return int(said.split()[1])


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


# -- in the process that forks -------------------------------------------------------------------


def serve(descriptor: int, libraries: str) -> None:
    """Fork whenever somebody asks for it, and say how each fork ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_the_program(libraries)
    _tried_walls()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as asked, selectors.DefaultSelector() as selector:
        selector.register(asked, selectors.EVENT_READ)
        asked.send(b"ready")
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    selector.unregister(key.fd)
                    _tell_end(key.fd, *key.data)
                    continue
                said, descriptors, _, _ = socket.recv_fds(asked, 16, 1 + len(_STREAMS))
                if not said:
                    return  # the tests are over
                child = _fork(descriptors)
                answers = socket.socket(fileno=descriptors[0])
                with contextlib.suppress(BrokenPipeError):  # nobody waits any more
                    answers.sendall(b"%d\n" % child)
                selector.register(os.pidfd_open(child), selectors.EVENT_READ, (child, answers))


def _tell_end(handle: int, child: int, answers: socket.socket) -> None:
    os.close(handle)
    _, status = os.waitpid(child, 0)
    with answers:
        try:
            answers.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        except BrokenPipeError:  # nobody waits any more
            return


def _fork(descriptors: Sequence[int]) -> int:
    child = os.fork()
    if child == 0:
        _become(descriptors)
    for descriptor in descriptors[1:]:
        os.close(descriptor)
    return child


def _import_the_program(libraries: str) -> None:
    """Import what every fork would have to; libraries that take a while are for those who ask."""
    import planbound  # noqa: PLC0415 - not for who runs no command

    for found in pkgutil.walk_packages(planbound.__path__, "planbound."):
        slow = _SLOW.search(found.name) and not _LIBRARIES[libraries].search(found.name)
        if not found.name.endswith("__main__") and not slow:
            importlib.import_module(found.name)
    _compile_patterns()
    _read_types()


def _compile_patterns() -> None:
    """Compile what every fork would compile again when it first looks for it."""
    from planbound.source import _Lazy  # noqa: PLC0415 - not for who runs no command

    for found in gc.get_objects():
        if isinstance(found, _Lazy):
            for method in _METHODS:
                getattr(found, method)


def _read_types() -> None:
    """Prepare what is kept once it was looked at."""
    from planbound.journal import event  # noqa: PLC0415 - not for who runs no command
    from planbound.script import read_script  # noqa: PLC0415
    from planbound.verify.vague import vague_phrase  # noqa: PLC0415

    for kind, found in event.EVENTS.items():
        event.fields_of(found)
        event._reader(kind, found.VERSION)
    vague_phrase("do it")
    read_script("true")


@cache
def _tried_walls() -> dict[tuple[type, bool], list[BreakOut]]:
    """Try once to break out of the strongest cell, for all forks of this process.

    The program does it anew whenever it starts, which takes as long as two contracts.
    """
    from planbound.cells.choose import NamespaceCell, _missing  # noqa: PLC0415
    from planbound.cells.probe import try_to_break_out  # noqa: PLC0415
    from planbound.cells.scratch import Scratch  # noqa: PLC0415
    from planbound.errors import CellProblem  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        cell = NamespaceCell(Scratch(f"{folder}/cells"))
        try:
            return {
                (NamespaceCell, writable): try_to_break_out(
                    cell, f"{folder}/probe", writable=writable
                )
                for writable in (False, True)
                if not _missing(cell)
            }
        except CellProblem:
            return {}  # each of them finds that out for itself


# -- in a fork -----------------------------------------------------------------------------------


def _become(descriptors: Sequence[int]) -> NoReturn:
    """Be a new process, as far as the program can see, and end."""
    code = 1
    try:
        with socket.socket(fileno=descriptors[0]) as asking, asking.makefile("rb") as file:
            asked = json.load(file)
        if asked["session"]:
            os.setsid()
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.umask(asked["umask"])
        resource.setrlimit(resource.RLIMIT_FSIZE, asked["file_size"])
        time.tzset()
        tempfile.tempdir = None  # it is looked up once, by the environment
        random.seed()
        warnings.simplefilter("ignore")
        _reset_signals()
        for number, descriptor in enumerate(descriptors[1:]):
            os.dup2(descriptor, number)
            os.close(descriptor)
            setattr(sys, _STREAMS[number], _stream(number))
        if not asked["walls"]:
            _take_walls_away()
        _KINDS[asked["what"]](*asked["words"])
        sys.stdout.flush()
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may go on as a second process that forks
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _command(*arguments: str) -> None:
    from planbound.cli.main import entry_point  # noqa: PLC0415 - not for who runs no command

    if arguments[:1] != ("selftest",):
        _remember_walls()
    sys.argv = ["planbound", *arguments]
    entry_point()


def _tool(session: str, tool: str, arguments: dict[str, Any]) -> None:
    from planbound.session.tools import open_tools  # noqa: PLC0415 - not for who runs no command

    _remember_walls()
    told = getattr(open_tools(session=session), tool)(**arguments)
    print(json.dumps([told.ok, told.text, dict(told.data)]))


def _module(name: str, *arguments: str) -> None:
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__")


_KINDS: Mapping[str, Callable[..., None]] = {"command": _command, "tool": _tool, "module": _module}


def _take_walls_away() -> None:
    """Let this fork be on a machine that has only the weakest cell."""
    from planbound.cells import choose  # noqa: PLC0415 - not for who runs no command
    from planbound.cells.choose import CopyCell  # noqa: PLC0415

    vars(choose)["_KINDS"] = (CopyCell,)


def _remember_walls() -> None:
    """Let this fork know what came of trying the cells."""
    from planbound.cells import choose  # noqa: PLC0415 - not for who runs no command

    vars(choose)["try_to_break_out"] = remembered_break_out


def remembered_break_out(cell: Cell, folder: str, *, writable: bool = False) -> list[BreakOut]:
    """Return what came of trying a cell when this process tried it first."""
    from planbound.cells.probe import try_to_break_out  # noqa: PLC0415 - as above

    found = _tried_walls().get((type(cell), writable))
    try:
        for made in (os.path.dirname(folder), folder):  # the program finds them there later
            os.makedirs(made, mode=0o700, exist_ok=True)
    except OSError:
        found = None  # the program says what is wrong
    return try_to_break_out(cell, folder, writable=writable) if found is None else found


def _reset_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in _DEFAULT:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _stream(number: int) -> io.TextIOWrapper:
    at_once = bool(number and os.environ.get("PYTHONUNBUFFERED"))
    return io.TextIOWrapper(
        open(number, "wb" if number else "rb", closefd=False, buffering=0 if at_once else -1),
        encoding="utf-8",
        errors="backslashreplace" if number == 2 else "surrogateescape",
        line_buffering=number == 2 or os.isatty(number),
        write_through=at_once,
    )


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
