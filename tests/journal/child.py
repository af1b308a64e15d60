"""A process of its own that uses a journal: `python -m tests.journal.child PLACE MODE ...`.

Each append that returned is acknowledged by a line on standard output.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from planbound.errors import JournalProblem, LeaseLost, Refused, Stale
from planbound.journal.event import EventKind
from planbound.journal.leases import Claim, Leases
from planbound.journal.record import Details, Draft, Journal, Json, Query
from planbound.journal.repository import RepositoryName, schema_name

ROOT = Path(__file__).parents[2]

PROBLEM = 3
"""The exit code for a `JournalProblem`."""


class OpenJournal(Journal, Protocol):
    """A journal that can let go of what it holds."""

    def close(self) -> None:
        """Let go."""

    def leases(self) -> Leases:
        """Return the leases beside the events."""


@dataclass(frozen=True)
class Place:
    """Where a journal is, in words that another process understands."""

    kind: str
    address: str
    name: str = ""

    @property
    def schema(self) -> str:
        """Where the journal is in its database."""
        return schema_name(self.name)

    def open(self) -> OpenJournal:
        """Return the journal there."""
        if self.kind == "postgres":
            from planbound.journal.postgres import PostgresJournal  # noqa: PLC0415 - slow

            return PostgresJournal(self.address, RepositoryName(self.name, self.name))
        from planbound.journal.sqlite import SqliteJournal  # noqa: PLC0415 - not for all

        return SqliteJournal(self.address)

    def command(self, mode: str, *arguments: object) -> list[str]:
        """Return how to start a process on it."""
        program = [sys.executable, "-m", "tests.journal.child", json.dumps(asdict(self)), mode]
        return [*program, *map(str, arguments)]

    @contextmanager
    def start(
        self,
        mode: str,
        *arguments: object,
        under: Sequence[str] = (),
        before: Callable[[], None] | None = None,
    ) -> Iterator[subprocess.Popen[str]]:
        """Start a process on it, which does not outlive the block."""
        with subprocess.Popen(
            [*under, *self.command(mode, *arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,  # noqa: PLW1509 - it does nothing but two system calls
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def draft(
    name: str,
    *,
    at: int = 0,
    event: EventKind = EventKind.TASK_STARTED,
    plan: str = "round",
    task: str | None = "s1",
    **details: Json,
) -> Draft:
    """Return an event, so many seconds after nine o'clock."""
    hours, seconds = divmod(at, 3600)
    return Draft(
        id=name,
        timestamp=f"2026-11-15T{9 + hours:02}:{seconds // 60:02}:{seconds % 60:02}.000000Z",
        kind=event,
        plan=plan,
        task_id=task,
        task_name="Round once, at the end",
        details=Details.of(details or {"attempt": 1}),
    )


def claim(
    holder: str = "process 1 on `box`",
    *,
    plan: str = "round",
    worktree: str = "/repository",
    touches: tuple[str, ...] | None = None,
    process: str | None = None,
) -> Claim:
    """Return what somebody asks for who wants to run a plan."""
    return Claim(plan, worktree, touches, holder, process)


def main(arguments: list[str]) -> int:
    """Do what the arguments say."""
    place = Place(**json.loads(arguments[0]))
    mode, *rest = arguments[1:]
    modes: dict[str, Callable[..., None]] = {
        "append": append,
        "stubborn": stubborn,
        "crowd": crowd,
        "faulty": faulty,
        "read": read,
        "race": race,
        "later": later,
        "endless": endless,
        "limited": limited,
        "contend": contend,
        "overtaken": overtaken,
    }
    try:
        modes[mode](place, *rest)
    except JournalProblem as error:
        say(f"problem {error.message}")
        return PROBLEM
    return 0


def say(line: str) -> None:
    """Write a line at once: who is killed next has still said it."""
    os.write(1, f"{line}\n".encode())


def append(place: Place, prefix: str, count: str) -> None:
    """Append so many events, one by one."""
    journal = place.open()
    for number in range(int(count)):
        (record,) = journal.append([draft(f"{prefix}-{number}")])
        say(f"ack {record.draft.id}")


def stubborn(place: Place, prefix: str, count: str) -> None:
    """Append so many events, and try again what fails."""
    journal = place.open()
    for number in range(int(count)):
        for _ in range(3):
            try:
                journal.append([draft(f"{prefix}-{number}")])
            except JournalProblem as error:
                say(f"problem {error.message}")
            else:
                say(f"ack {prefix}-{number}")
                break


def crowd(place: Place, size: str) -> None:
    """Let so many processes append one event each, at the same time."""
    begin, together = os.pipe()
    children = []
    for number in range(int(size)):
        child = os.fork()
        if child == 0:
            os.close(together)
            os.read(begin, 1)  # until all of them are there
            _end_with(place, "append", f"p{number}", "1")
        children.append(child)
    os.close(together)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * int(size)


def faulty(place: Place, mode: str, *calls: str) -> None:
    """For each number, append in a fork whose call of that number is the first to fail.

    Whoever injects the faults does so at the greatest of the numbers: the others begin with calls
    that come to nothing. What a fork says is in a file beside its journal.
    """
    first = max(map(int, calls))
    for call in calls:
        folder = os.path.join(place.address, call)
        os.makedirs(folder)
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.path.join(folder, "said"), os.O_WRONLY | os.O_CREAT, 0o600), 1)
            for _ in range(first - int(call)):
                with suppress(OSError):
                    os.ftruncate(-1, 0)
            _end_with(Place("sqlite", os.path.join(folder, "journal.db")), mode, "a", "12")
        say(f"end {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")


def _end_with(place: Place, *arguments: str) -> NoReturn:
    """Do one thing, and end."""
    code = 1
    try:
        code = main([json.dumps(asdict(place)), *arguments])
    except BaseException:  # noqa: BLE001 - nothing goes on as a second process that forks
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def read(place: Place) -> None:
    """Tell how many records there are."""
    say(f"read {sum(1 for _ in place.open().read(Query()))}")


def race(place: Place, prefix: str, threads: str, count: str, at_once: str) -> None:
    """Append from several threads, every tenth time only behind the head that was seen."""
    journal = place.open()

    def work(name: str) -> None:
        for number in range(0, int(count), int(at_once)):
            new = [
                draft(f"{name}-{each}", plan=f"plan-{each % 5}")
                for each in range(number, number + int(at_once))
            ]
            appended = number // int(at_once) % 10 > 0 and bool(journal.append(new))
            while not appended:
                try:
                    journal.append(new, expected=journal.head())
                except Stale:
                    continue
                appended = True

    workers = [
        threading.Thread(target=work, args=(f"{prefix}-{each}",)) for each in range(int(threads))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def later(place: Place) -> None:
    """Append an event when a line comes in; tell when that was done."""
    journal = place.open()
    journal.append([draft("before")])
    say("ready")
    sys.stdin.readline()
    journal.append([draft("after")])
    say(repr(time.time()))


def endless(place: Place, prefix: str) -> None:
    """Append three events at a time until killed."""
    journal = place.open()
    for number in range(1_000_000):
        batch = [draft(f"{prefix}-{number}-{part}") for part in range(3)]
        journal.append(batch)
        say(f"ack {prefix}-{number}")


def limited(place: Place, prefix: str, size: str, count: str) -> None:
    """Append while no file may grow beyond a size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    append(place, prefix, count)


def contend(place: Place, name: str) -> None:
    """Try to get the lease at every line that comes in; who has it lets go of it first."""
    leases = place.open().leases()
    leases.held()
    say("ready")
    held_lease = None
    for _ in sys.stdin:
        if held_lease is not None:
            leases.release(held_lease)
            held_lease = None
            say("released")
            continue
        try:
            held_lease = leases.acquire(claim(name), seconds=600)
        except Refused as error:
            say(f"refused {error.message}")
        else:
            say(f"won {held_lease.number}")


def overtaken(place: Place) -> None:
    """Hold a lease for a moment; when a line comes in try everything that needs it."""
    journal = place.open()
    leases = journal.leases()
    held_lease = leases.acquire(claim("the paused one"), seconds=0.2)
    journal.append([draft("paused-1")], held_lease=held_lease)
    journal.append([draft("paused-2")], held_lease=held_lease)
    say("holds it")
    sys.stdin.readline()
    attempts: list[Callable[[], object]] = [
        lambda: journal.append([draft("late-1")], held_lease=held_lease),
        lambda: journal.append([draft("late-2"), draft("late-3")], held_lease=held_lease),
        lambda: leases.renew(held_lease, seconds=600),
    ]
    for attempt in attempts:
        try:
            attempt()
        except LeaseLost as error:
            say(error.message)
    leases.release(held_lease)
    say("done")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
