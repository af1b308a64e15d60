"""Puts together what tells receivers of events."""

from __future__ import annotations

import contextlib
import html
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple, assert_never

from planbound.disk.files import problem, remove, sync_folder
from planbound.disk.lock import PATIENCE, kernel_lock
from planbound.errors import ConfigurationError, FileProblem, PlanboundError, Refused
from planbound.journal.redact import Redactor
from planbound.source import visible
from planbound.workspace.context import Context
from planbound.workspace.notify import (
    Cursor,
    Deliveries,
    Desktop,
    GivenUp,
    Message,
    Messenger,
    Notify,
    NotifyCommand,
    Reception,
    Response,
    Webhook,
    identity,
    troubles,
)
from planbound.workspace.root import is_below, path_outside
from planbound.workspace.told import QuestionLinks

if TYPE_CHECKING:
    from planbound.workspace.configuration import Configuration


# -- puts together what tells receivers of events ------------------------------------------------


_PASSED = ("HOME", "LANG")
_SHOWING = ("notify-send", "osascript")
_DESKTOP = (
    *("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
)
"""What a desktop is found by."""
_APPLE = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
"""What is shown comes as arguments: nothing of it is taken for a script."""
_LONGEST_NOTE = 400


class Outbox(NamedTuple):
    """What there is to deliver with."""

    deliveries: Deliveries
    entries: tuple[Notify, ...]
    """Those that can be delivered to."""
    obstacles: tuple[str, ...]
    """Why nothing can be delivered to the others."""
    new: tuple[Notify, ...]
    """Those that were never seen before."""


def make_courier(context: Context) -> DeliveryThreads | None:
    """Return what tells receivers while a run goes on, not yet started; None without any."""
    if not context.configuration.notify:
        return None

    outbox = make_outbox(context)
    return DeliveryThreads(outbox.deliveries, outbox.entries, obstacles=outbox.obstacles)


def make_outbox(context: Context) -> Outbox:
    """Return what delivers; entries that are new begin with what happens from now on."""
    entries = context.configuration.notify
    for entry in entries:
        _refuse_inside(context.root, entry)
    sender = Sender(context.root, os.environ, context.configuration)
    found = {entry: sender.obstacle(entry) for entry in entries}
    deliveries = Deliveries(
        context.journal(),
        _cursor_file(context),
        Messenger(sender, sender.redactor, context.state.project, QuestionLinks(context)),
        now=time.time,
        place=_place(),
    )
    return Outbox(
        deliveries,
        entries=tuple(entry for entry, obstacle in found.items() if obstacle is None),
        obstacles=tuple(obstacle for obstacle in found.values() if obstacle is not None),
        new=tuple(deliveries.enter(entries)),
    )


def receiver_troubles(context: Context) -> list[str]:
    """Return what is wrong with those who are told of events."""
    entries = context.configuration.notify
    sender = Sender(context.root, os.environ, context.configuration)
    obstacles = [obstacle for entry in entries if (obstacle := sender.obstacle(entry))]
    known = _cursor_file(context).all()
    names = dict.fromkeys(identity(entry, _place()) for entry in entries)
    return [*obstacles, *troubles(known[name] for name in names if name in known)]


def known_cursors(context: Context) -> dict[Notify, Cursor]:
    """Return how far each receiver of the configuration has been told that was told of anything."""
    known = _cursor_file(context).all()
    names = {entry: identity(entry, _place()) for entry in context.configuration.notify}
    return {entry: known[name] for entry, name in names.items() if name in known}


def _place() -> str:
    """Return what tells this journal from others that share its state home."""
    return os.environ.get("PLANBOUND_DATABASE_URL", "")


def _cursor_file(context: Context) -> CursorFile:

    state = context.state
    return CursorFile(os.path.join(state.folder, "notify.json"), locks=state.locks)


class Sender:
    """Starts commands and posts to addresses."""

    def __init__(
        self, root: str, environment: Mapping[str, str], configuration: Configuration
    ) -> None:
        self._root = root
        self._environment = environment
        targets = [entry.target for entry in configuration.notify]
        signing = [each.secret_env for each in targets if isinstance(each, Webhook)]
        # Whatever a variable is called: what messages are signed with is a secret.
        named = {f"{name}_SECRET": environment[name] for name in signing if name in environment}
        self.redactor = Redactor({**environment, **named}, configuration.redact)

    def obstacle(self, entry: Notify) -> str | None:
        """Return why nothing can be sent, whatever it is."""
        target = entry.target
        if isinstance(target, Webhook) and not self._environment.get(target.secret_env):
            return (
                f"`{target.secret_env}`, which signs what is sent to `{target.shown}`, is not set"
            )
        if isinstance(target, Desktop) and self._desktop_program() is None:
            return "nothing shows notifications here: there is no `notify-send` and no `osascript`"
        return None

    def _desktop_program(self) -> str | None:
        path = self._passed()["PATH"]
        return next(filter(None, (shutil.which(each, path=path) for each in _SHOWING)), None)

    def send(self, entry: Notify, message: Message, is_stopped: Callable[[], bool]) -> Response:
        """Hand one message over."""
        answer = self._answer(entry, message, is_stopped)
        return answer._replace(reason=self.redactor.redact(answer.reason).text)

    def _answer(self, entry: Notify, message: Message, is_stopped: Callable[[], bool]) -> Response:
        match entry.target:
            case NotifyCommand():
                return self._run(entry.target, entry, message, is_stopped)
            case Desktop():
                program = self._desktop_program()
                if program is None:
                    return Response(Reception.REFUSED, "there is no `notify-send` here any more")
                command = NotifyCommand(desktop_words(program, message))
                return self._run(command, entry, message, is_stopped, more=_DESKTOP)
            case Webhook():
                from planbound.workspace.webhook import post  # noqa: PLC0415 - TLS takes long to load

                return post(
                    entry.target,
                    message,
                    secret=self._environment[entry.target.secret_env],
                    timestamp=str(int(time.time())),
                    seconds=entry.seconds,
                )
            case _:
                assert_never(entry.target)

    def _run(
        self,
        command: NotifyCommand,
        entry: Notify,
        message: Message,
        is_stopped: Callable[[], bool],
        more: Sequence[str] = (),
    ) -> Response:
        return run_receiver(
            command,
            message,
            folder=self._root,
            environment=self._passed(more),
            seconds=entry.seconds,
            is_stopped=is_stopped,
        )

    def _passed(self, more: Sequence[str] = ()) -> dict[str, str]:
        named = (*_PASSED, *more)
        passed = {name: self._environment[name] for name in named if name in self._environment}
        path = self._environment.get("PATH", os.defpath)
        return {**passed, "PATH": path_outside(self._root, path)}


def desktop_words(program: str, message: Message) -> tuple[str, ...]:
    """Return how a program is called that shows a message on the desktop."""
    title = visible(f"Planbound: {message.plan or message.event}")
    said = visible(message.words)[:_LONGEST_NOTE]
    if os.path.basename(program) == "osascript":
        script = tuple(word for line in _APPLE for word in ("-e", line))
        return (program, *script, title, "\n".join(filter(None, (said, message.link))))
    # Its text may hold markup, and what agents say is none.
    body = "\n".join(filter(None, (html.escape(said), html.escape(message.link))))
    return (program, "--app-name=Planbound", "--", title, body)


def _refuse_inside(root: str, entry: Notify) -> None:
    if isinstance(entry.target, NotifyCommand) and os.path.isabs(entry.target.words[0]):
        program = entry.target.words[0]
        if is_below(root, program):
            raise ConfigurationError(
                f"`notify` starts `{program}`, which lies in the workspace",
                hint="agents can change it there: put it somewhere else",
            )


# -- tells receivers what happens while something else goes on -----------------------------------


LAST_SECONDS = 3.0
"""How many seconds receivers have at the end of a run."""
_LOOK = 2.0
"""How often to look for what other processes put into the journal, in seconds."""
_BRIEFLY = 0.05
"""How long to wait for another process that delivers just now, when the end has come."""
_GRACE = 0.5
"""How long a command that was broken off may take to be gone."""


class DeliveryThreads:
    """A thread for each entry, so that no receiver waits for another; nobody waits for them.

    `obstacles` says why some entries are left to a later process.
    """

    def __init__(
        self, deliveries: Deliveries, entries: Sequence[Notify], *, obstacles: Sequence[str] = ()
    ) -> None:
        self.obstacles = tuple(obstacles)
        self._deliveries = deliveries
        self._entries = tuple(entries)
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition()
        self._nudges = 0
        self._end: float | None = None

    def start(self) -> None:
        """Begin to deliver what is outstanding and what comes."""
        for entry in self._entries:
            thread = threading.Thread(target=self._work, args=(entry,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def nudge(self) -> None:
        """Say that there are new events."""
        with self._changed:
            self._nudges += 1
            self._changed.notify_all()

    def finish(self, seconds: float = LAST_SECONDS) -> bool:
        """Deliver what can be delivered in so many seconds, then stop.

        Return whether all threads ended; what was not delivered is left to the next courier.
        """
        with self._changed:
            self._end = time.monotonic() + seconds
            self._nudges += 1
            self._changed.notify_all()
        limit = self._end + _GRACE
        for thread in self._threads:
            thread.join(max(0.0, limit - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self, entry: Notify) -> None:
        while True:
            seen = self._nudges
            try:
                pause = self._deliver(entry)
            except PlanboundError:
                # The journal or the cursor cannot be had now. Whoever runs a plan hears of that
                # by itself; telling others is not worth a word.
                pause = _LOOK
            with self._changed:
                if self._is_over(pause, seen):
                    return
                limit = _LOOK if pause is None else min(pause, _LOOK)
                if self._nudges == seen:
                    self._changed.wait(limit)

    def _is_over(self, pause: float | None, seen: int) -> bool:
        if self._end is None or self._nudges != seen:  # the journal was read before the end
            return self._is_stopped()
        return pause is None or pause >= self._end - time.monotonic()

    def _deliver(self, entry: Notify) -> float | None:
        """Deliver what is due; return how long to wait for more, None where nothing is left."""
        with self._deliveries.alone(entry) as is_alone:
            while is_alone and not self._is_stopped():
                if self._deliveries.attempt(entry, is_stopped=self._is_stopped) is None:
                    break
        pause = self._deliveries.wait(entry)
        if pause is None or is_alone:
            return pause
        return max(pause, _LOOK if self._end is None else _BRIEFLY)

    def _is_stopped(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


# -- how far each receiver has been told: one JSON file, replaced as a whole ---------------------


_VERSION = 1
_KEPT = 50
"""So many of those that were given up are remembered for each receiver."""


class CursorFile:
    """For any number of threads and processes of one machine."""

    def __init__(self, path: str, *, locks: str) -> None:
        self._path = path
        self._locks = locks

    def all(self) -> Mapping[str, Cursor]:
        """Return every cursor by the identity of its entry."""
        try:
            with open(self._path, "rb") as file:
                return _decoded(file.read())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise problem("read", self._path, error) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileProblem(
                f"`{self._path}` does not say who was told of what",
                hint="remove it: receivers are then told of what happens from now on",
            ) from error

    def read(self, identity: str) -> Cursor | None:
        """Return the cursor of an entry."""
        return self.all().get(identity)

    def enter(self, identity: str, cursor: Cursor) -> bool:
        """Keep the cursor of an entry that has none; return whether it was kept."""
        if identity in self.all():
            return False
        with self._locked(f"{self._path}.lock", PATIENCE):
            known = self.all()
            if identity in known:
                return False
            self._store({**known, identity: cursor})
        return True

    def write(self, identity: str, cursor: Cursor) -> None:
        """Replace the cursor of an entry, durable on return."""
        with self._locked(f"{self._path}.lock", PATIENCE):
            self._store({**self.all(), identity: cursor})

    @contextlib.contextmanager
    def alone(self, identity: str) -> Iterator[bool]:
        """Keep all others from delivering for an entry; yield False where another does it now."""
        with contextlib.ExitStack() as stack:
            is_alone = True
            try:
                path = os.path.join(self._locks, f"notify-{identity[:32]}.lock")
                stack.enter_context(self._locked(path, 0.0))
            except Refused:
                is_alone = False
            yield is_alone

    @contextlib.contextmanager
    def _locked(self, path: str, seconds: float) -> Iterator[None]:
        for folder in (os.path.dirname(self._path), os.path.dirname(path)):
            try:
                os.makedirs(folder, mode=0o700, exist_ok=True)
            except OSError as error:
                raise problem("make", folder, error) from error
        with kernel_lock(path, mode=0o600, seconds=seconds, busy=_busy(path)):
            yield

    def _store(self, cursors: Mapping[str, Cursor]) -> None:
        content = {"version": _VERSION, "entries": dict(map(_encoded, cursors.items()))}
        # The lock is held: one name is enough, and what a crash leaves is written over.
        temporary = f"{self._path}.tmp"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(json.dumps(content, indent=1).encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except OSError as error:
            remove(temporary)
            raise problem("write", self._path, error) from error
        sync_folder(self._path)


def _busy(path: str) -> Callable[[], Refused]:
    return lambda: Refused(f"`{path}` is locked by another process", hint="wait for it")


def _encoded(item: tuple[str, Cursor]) -> tuple[str, dict[str, object]]:
    identity, cursor = item
    given_up = [each._asdict() for each in cursor.given_up[-_KEPT:]]
    return identity, {**cursor._asdict(), "given_up": given_up}


def _decoded(data: bytes) -> dict[str, Cursor]:
    content: Any = json.loads(data)
    if content["version"] != _VERSION:
        raise ValueError(content["version"])
    return {identity: _cursor(values) for identity, values in content["entries"].items()}


def _cursor(values: dict[str, Any]) -> Cursor:
    given_up = tuple(GivenUp(**each) for each in values.pop("given_up"))
    cursor = Cursor(**values, given_up=given_up)
    return cursor._replace(
        seq=int(cursor.seq),
        start=int(cursor.start),
        tries=int(cursor.tries),
        due=float(cursor.due),
        delivered=float(cursor.delivered),
    )


# -- starts a command that is told of an event ---------------------------------------------------


_LOOK_SECONDS = 0.05
_TAIL = 2000


def run_receiver(
    command: NotifyCommand,
    message: Message,
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float,
    is_stopped: Callable[[], bool],
) -> Response:
    """Run a command with the event on its standard input and its names in the environment."""
    told = {
        "PLANBOUND_EVENT": message.event,
        "PLANBOUND_PLAN": message.plan,
        "PLANBOUND_TASK": message.task,
    }
    if message.link:
        told["PLANBOUND_LINK"] = message.link
    # Files and not pipes: neither a command that does not read nor what it leaves in the
    # background holds us up.
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(message.body + b"\n")
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - the configuration's own words, no shell
                command.words,
                stdin=stdin,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=folder,
                env={**environment, **{name: _plain(text) for name, text in told.items()}},
                start_new_session=True,
            )
        except OSError as error:
            return Response(Reception.REFUSED, f"it cannot be started: {error.strerror}")
        try:
            return _wait(process, stderr, seconds, is_stopped)
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait(
    process: subprocess.Popen[bytes],
    stderr: IO[bytes],
    seconds: float,
    is_stopped: Callable[[], bool],
) -> Response:
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
        code = process.returncode
        if code == 0:
            return Response(Reception.TAKEN)
        if code is not None:
            how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
            return Response(Reception.REFUSED, f"{how}{_last_words(stderr)}")
        if time.monotonic() >= end:
            return Response(Reception.REFUSED, f"it did not end within {seconds:g} s")
        if is_stopped():
            return Response(Reception.BROKEN_OFF)


def _last_words(stderr: IO[bytes]) -> str:
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - _TAIL))
    lines = stderr.read(_TAIL).decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return f": {said[-1][:200]}" if said else ""


def _plain(text: str) -> str:
    return text.replace("\0", "")
